"""Runs that stop at each operation of a framework's persistence, and are killed at one of them.

The workflow is that of the resume plane; whenever it parks it is given the same answer.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.barrier import OPERATION
from adapters.host import Host, HostError, Process
from adapters.ledger import Ledger, Row

ANSWER = "v1"
RELEASES = 200
"""How often a run may be let go on after a recovery; one that needs more goes round in circles."""


@dataclass(frozen=True)
class Stop:
    """Where a process stopped.

    Attributes:
        kind: that of `adapters.barrier`: an operation became durable, an effect is to fire, or did.
        name: of the operation, or the task of the effect.
        holds: what the store held then, by the adapter; None at an effect.
    """

    kind: str
    name: str
    holds: Any = None


@dataclass(frozen=True)
class Recovered:
    """What became of a run that was killed.

    Attributes:
        held: what its store held when the process that recovers had opened it.
        decision: the task whose gate was reached first; None where none was.
        answers: how often it was answered in this life.
        end: complete, or refused.
        error: the error that refused, its type and message; None where none did.
        ledger: all effects of the run, in order.
    """

    held: Any
    decision: int | None
    answers: int
    end: str
    error: Mapping[str, str] | None
    ledger: tuple[Row, ...]


class Life:
    """A run's first process, which stops at every point, and the processes that recover it."""

    def __init__(self, host: Host, folder: Path, services: Mapping[str, str]) -> None:
        """Start a run in an empty folder of its own."""
        self._host = host
        self.folder = folder
        self._place = {"folder": str(folder), "services": dict(services), "branch": 0}
        self._process: Process | None = None
        self.notes: dict[str, Any] = {}
        self.answers = 0

    def stops(self) -> Iterator[Stop]:
        """Begin the run and go on with it, from stop to stop, to its end.

        Raises:
            HostError: it did not end complete.
        """
        self._process = process = self._spawn(process=1, recovery=0, stops=True)
        report = process.call("start", {})
        while report["at"] in {"stopped", "parked"}:
            self.notes = report["notes"]
            if report["at"] == "stopped":
                yield Stop(report["kind"], report["name"], report.get("holds"))
                report = process.ask({"op": "release"})
            else:
                self.answers += 1
                report = process.call("Consume", {"v": ANSWER})
        if report["at"] != "complete":
            raise HostError(f"a run that nobody killed was {report['at']}: {report.get('error')}")

    def kill(self) -> int:
        """SIGKILL the process where it is stopped, and reap it; return its wait status."""
        assert self._process is not None
        status, self._process = self._process.kill(), None
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            raise HostError(f"the run's process was gone before it was killed ({status})")
        return status

    def recover(self, *, stops: bool = False) -> Recovered:
        """Recover in a process that never saw the run, and let it go on to its end.

        Args:
            stops: let the process stop at each operation, with the bodies not held: for a workflow
                with several bodies at a time. There is no decision then.
        """
        self._process = process = self._spawn(process=2, recovery=1, stops=stops)
        held = process.ask({"op": "holdings"})["holds"]
        report = process.call("CrashRecover", {})
        decision = report["task"] if report["at"] == "held" else None
        answers = 0
        for _ in range(RELEASES):
            if report["at"] in {"held", "stopped"}:
                report = process.ask({"op": "release", "poison": False})
            elif report["at"] == "parked":
                answers += 1
                report = process.call("Consume", {"v": ANSWER})
            else:
                break
        else:
            raise HostError(f"a recovered run goes round in circles ({RELEASES} releases)")
        end, error = report["at"], report.get("error")
        return Recovered(held, decision, answers, end, error, self.ledger())

    def ledger(self) -> tuple[Row, ...]:
        """The effects that fired until now, in order."""
        ledger = Ledger(self.folder / "ledger.db")
        try:
            return tuple(ledger.new_rows())
        finally:
            ledger.close()

    def close(self) -> None:
        """End the process that is left."""
        if self._process is not None:
            self._process.kill()

    def _spawn(self, **context: Any) -> Process:
        return self._host.fork({**self._place, "notes": self.notes, **context})


def until(life: Life, chosen: Callable[[Stop], bool]) -> list[Stop]:
    """Go on to the stop that is chosen, and stay there; return all stops up to it.

    Raises:
        HostError: the run ended before.
    """
    passed = []
    for stop in life.stops():
        passed.append(stop)
        if chosen(stop):
            return passed
    raise HostError(f"the run ended after {len(passed)} stops, before the one it was to be killed")


def operations(stops: Sequence[Stop]) -> list[Stop]:
    """Those of the stops at which an operation had become durable."""
    return [stop for stop in stops if stop.kind == OPERATION]
