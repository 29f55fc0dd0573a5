"""Which call into the system is under way: written where it outlives a process that hangs or dies.

A process writes the place of the call, which costs a microsecond or two. Only a driver that
reports a failure reads it, and looks up in the adapter's source how the call is written there.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_LONGEST = 120  # characters of a call that are quoted


def _file(folder: Path, process_id: int) -> Path:
    return folder / f".call-{process_id}"


class Calls:
    """The calls into the system that a process is in, one within the other."""

    def __init__(self, folder: Path) -> None:
        self._end = os.open(_file(folder, os.getpid()), os.O_WRONLY | os.O_CREAT, 0o600)
        self._open: list[bytes] = []

    @contextlib.contextmanager
    def during(self, call: Callable[[], Any]) -> Iterator[None]:
        """Say that a call is under way until the context ends."""
        self._open.append(json.dumps(_place(call)).encode())
        self._say()
        try:
            yield
        finally:
            self._open.pop()
            self._say()

    def _say(self) -> None:
        # One write, and the reader takes the first line: whenever a kill comes, it is whole.
        os.pwrite(self._end, (self._open[-1] if self._open else b"") + b"\n", 0)


def _place(call: Any) -> list[Any]:
    """Name, file and line of a callable, and the coroutines that it is going to run."""
    call = getattr(call, "func", call)  # of a partial
    code = getattr(getattr(call, "__func__", call), "__code__", None)
    name = getattr(call, "__qualname__", type(call).__qualname__)
    if code is None:
        return [name, "", 0, []]
    running = []
    for cell in getattr(call, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # nothing is in it yet
            if inspect.iscoroutine(cell.cell_contents):
                running.append(cell.cell_contents.__qualname__)
    return [name, code.co_filename, code.co_firstlineno, running]


def call_under_way(folder: Path, process_id: int) -> str | None:
    """The call that a process of a run is in, or was in when it died; None where in none.

    As it is written in the adapter, with its file and line.
    """
    try:
        line = _file(folder, process_id).read_bytes().partition(b"\n")[0]
        name, file, number, running = json.loads(line)
    except (OSError, ValueError):
        return None
    text = _source(Path(file), number) if name.endswith("<lambda>") else None
    text = text or name.replace("<locals>.", "")
    if running:
        text += f" of {', '.join(running)}"
    return f"{text} ({Path(file).name}, line {number})" if file else str(text)


def _source(file: Path, line: int) -> str | None:
    """The call that the lambda in a line of a file makes, None where it cannot be read."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == line:
            text = ast.unparse(node.body)
            return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return None
