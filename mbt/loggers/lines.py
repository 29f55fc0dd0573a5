"""The file that the loggers write: JSON lines that outlive the process that wrote them.

Each line is one `write` to a file opened for appending, so that a killed process leaves no half of
one, and several processes may write to one file. What a logger has to know of a run's past it
reads back from there: a run goes on in another process than the one that began it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Naming = Callable[[Any], Any]
"""From an answer that the application was given to what the model calls it."""

RECORDS = ("ExecTask", "EmitInterrupt", "Consume", "ForkResume", "CrashRecover", "ExtraResume")
"""The actions of ResumeContract: all that a logger here sees, or would see if it happened."""


@dataclass
class Progress:
    """How far a run has come, as the log tells it.

    `effects` counts by task, from task 1 on; `begun` is whether any action was taken, since what
    starts again before the first one only begins once more.
    """

    effects: list[int]
    parked: bool = False
    answered: bool = False
    complete: bool = False
    begun: bool = False

    def after(self, line: dict[str, Any]) -> None:
        """Take in a line."""
        note = line["note"] if isinstance(line.get("note"), dict) else {}
        self.begun |= "action" in line
        self.complete |= "complete" in note
        if "effect" in note:
            self.effects[note["effect"] - 1] += 1
        match line.get("action"):
            case "EmitInterrupt":
                self.parked = True
            case "Consume":
                self.parked, self.answered = False, True
            case "CrashRecover":
                self.parked = False


class Lines:
    """The log of runs of one workflow of so many tasks."""

    def __init__(self, path: str | Path, tasks: int) -> None:
        """Open the file, or make it."""
        self._path, self._tasks = Path(path), tasks
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.runs: dict[str, Progress] = {}

    def begin(self, run: str) -> Progress:
        """What the file knows of a run, which begins or goes on now."""
        self.runs[run] = Progress([0] * self._tasks)
        with self._path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if line.get("run") == run:
                    self.runs[run].after(line)
        return self.runs[run]

    def action(self, run: str, action: str, **params: Any) -> None:
        """Write that an action was taken, and what is known of the state after it."""
        line: dict[str, Any] = {"run": run, "action": action, "params": params}
        self.runs[run].after(line)
        state: dict[str, Any] = {}
        if action != "CrashRecover":  # whether it waits is what a recovery has yet to show
            state["waiting"] = self.runs[run].parked
        if any(self.runs[run].effects):
            state["effects"] = self.runs[run].effects
        self._write({**line, "state": state})

    def note(self, run: str, **fields: Any) -> None:
        """Write what is no action: that a run begins, an effect, that it is complete."""
        line = {"run": run, **fields}
        self.runs[run].after(line)
        self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
