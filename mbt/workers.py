"""Processes that run commands of `mbt` one after the other, and so load everything once.

A worker reads a command a line, a JSON list of words, and answers each with its exit code and what
it said on standard error. It ends where its input does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, and what it said on standard error."""

    code: int
    said: str


class Worker:
    """One such process, started at once; a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mbt.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self, words: Sequence[str]) -> Done | None:
        """Run a command to its end; None where the worker is ended meanwhile."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([*words]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (BrokenPipeError, ValueError):
            return None
        return Done(**json.loads(line)) if line.endswith("\n") else None

    def interrupt(self) -> None:
        """Have it clean up after what it does, and end."""
        self._process.terminate()

    def end(self) -> None:
        """Interrupt it, and wait until it is gone."""
        self.interrupt()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()


def serve() -> None:
    """Be a worker. A command that is interrupted or terminated is the last one."""
    from mbt.cli import INTERRUPTED, TERMINATED, main

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for line in sys.stdin:
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main(json.loads(line))
        if code in {INTERRUPTED, TERMINATED}:
            return
        answers.write(json.dumps({"code": code, "said": said.getvalue()}) + "\n")
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve()
