"""What the tests of Apalache share: the stand-in as a launcher, its texts, and traces for it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tracegen.apalache import find
from tracegen.itf import to_itf
from tracegen.tools import Tool, find_java
from tracegen.values import Function, ModelValue, Str, Value

_SCRIPT = Path(__file__).with_name("stand_in_apalache.py")
OK = ["The outcome is: NoError", "Checker reports no error up to computation length 10"]
NO_ERROR = {"out": [*OK, "EXITCODE: OK"], "exit": 0}


def violation(*states: dict[str, Any], number: int = 0, **more: Any) -> dict[str, Any]:
    """The answer of a check that finds an invariant violated by the last of these states."""
    found = itf(*states)
    return {
        "out": [
            f"State {len(states) - 1}: state invariant {number} violated.",
            "Found 1 error(s)",
            "The outcome is: Error",
            "EXITCODE: ERROR (12)",
        ],
        "exit": 12,
        "files": {"violation.itf.json": found, "violation1.itf.json": found},
        **more,
    }


def itf(*states: dict[str, Any]) -> dict[str, Any]:
    """A trace as Apalache writes it, of values in JSON."""
    named = [{"#meta": {"index": i}, **state} for i, state in enumerate(states)]
    return {"#meta": {"format": "ITF"}, "vars": sorted(states[0]), "states": named}


def encoded(state: Mapping[str, Value]) -> dict[str, Any]:
    """A state of ResumeContract as Apalache would write it.

    It has no model values, and a function of integers (`effects`) is no sequence to it.
    """
    plain = {
        name: to_itf(Str(f"ModelValue_{value}") if isinstance(value, ModelValue) else value)
        for name, value in state.items()
    }
    effects = state["effects"]
    assert isinstance(effects, Function)
    return plain | {"effects": {"#map": [[to_itf(k), to_itf(v)] for k, v in effects.items()]}}


@dataclass
class StandIn:
    """The stand-in, installed as a launcher in a folder of its own."""

    folder: Path

    @property
    def launcher(self) -> Path:
        return self.folder / "bin" / "apalache-mc"

    def install(self, monkeypatch: pytest.MonkeyPatch) -> StandIn:
        """Put it there as a release that APALACHE_HOME names, and let it find no error."""
        monkeypatch.delenv("APALACHE_JAR", raising=False)
        monkeypatch.setenv("APALACHE_HOME", str(self.folder))
        self.launcher.parent.mkdir(parents=True)
        # A digest of its own, so that no test is answered from what another kept.
        own = f"#!{sys.executable}\n# {self.folder}\n"
        self.launcher.write_text(own + _SCRIPT.read_text())
        self.launcher.chmod(0o755)
        self.answers(NO_ERROR)
        return self

    def answers(self, *answers: dict[str, Any]) -> None:
        self.launcher.with_name("scenario.json").write_text(json.dumps(answers))

    @property
    def calls(self) -> list[dict[str, Any]]:
        notes = self.launcher.with_name("calls.jsonl")
        return (
            [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
        )

    @property
    def processes(self) -> list[int]:
        notes = self.launcher.with_name("pids")
        return [int(number) for number in notes.read_text().split()] if notes.exists() else []

    def tool(self) -> Tool:
        return find(find_java())


def gone(number: int) -> bool:
    """Whether a process has ended, if nobody has asked how yet."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def eventually(condition: Callable[[], Any]) -> bool:
    """Whether it comes true in twenty seconds."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())
