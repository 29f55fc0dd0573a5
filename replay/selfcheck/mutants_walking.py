"""Mutants of what walks a trace: the ledger, what is observed, the replayer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from adapters.host import Process
from adapters.ledger import Ledger
from replay import parallel
from replay.engine import _Walk
from replay.lives import Lives
from replay.primary import Primary
from replay.record import Event, MicroStep, RunRecord
from replay.selfcheck.mutant import Patches, original, put

# -- ledger ----------------------------------------------------------------------------


def state_as_oracle() -> Patches:
    """Count completions in the store for effects."""

    def read_ledger(self: Primary) -> list[int]:
        rows = self.ledger.new_rows()
        self.rows += rows
        completed = [c["task"] for c in self.report["observed"].get("ckpts", ())]
        for task in range(1, self.tasks + 1):
            while self.counts[task - 1] < completed.count(task):
                self.counts[task - 1] += 1
                self.pending.append(Event("effect", task))
        return [row.task for row in rows if row.branch]

    return [put(Primary, "read_ledger", read_ledger)]


def charge_branches() -> Patches:
    """Read each row of the ledger as the primary's."""
    real = Ledger.new_rows

    def new_rows(self: Ledger) -> list[Any]:
        return [replace(row, branch=0) for row in real(self)]

    return [put(Ledger, "new_rows", new_rows)]


# -- observation -----------------------------------------------------------------------


def believe_argument() -> Patches:
    """Take a branch's outcome from the value that it was given."""
    real = Primary.drive

    def drive(self: Primary, action: Any, params: Mapping[str, Any], outcome: Any) -> None:
        forked = action.delivery == "branch" and outcome is not None
        real(self, action, params, list(params.values()) if forked else outcome)

    return [put(Primary, "drive", drive)]


def of_records(change: Callable[[list[MicroStep]], list[MicroStep]]) -> Callable[[], Patches]:
    """Change the micro-steps of each run."""

    def patches() -> Patches:
        real = original(parallel, "replay_trace")

        def replay_trace(*arguments: Any) -> RunRecord:
            record: RunRecord = real(*arguments)
            return replace(record, micro=tuple(change([*record.micro])))

        return [put(parallel, "replay_trace", replay_trace)]

    return patches


def swapped(micro: list[MicroStep]) -> list[MicroStep]:
    """The micro-steps, with what was observed of the first two steps exchanged."""
    start, first, second, *others = micro
    exchanged = (
        replace(first, observed=second.observed),
        replace(second, observed=first.observed),
    )
    return [start, *exchanged, *others]


def late(micro: list[MicroStep]) -> list[MicroStep]:
    """The micro-steps, each with what was observed before it."""
    before = [micro[0], *micro]
    return [replace(m, observed=b.observed) for m, b in zip(micro, before, strict=False)]


def unanswered(micro: list[MicroStep]) -> list[MicroStep]:
    """The micro-steps, without those in which a gate was answered again."""
    return [m for m in micro if m.part != "re-answer"]


def filled(micro: list[MicroStep]) -> list[MicroStep]:
    """The micro-steps, with a valid checkpoint of each task done where nobody saw any."""

    def valid(m: MicroStep) -> dict[str, Any]:
        done = range(1, m.observed["pc"])
        return {"ckpts": [{"task": task, "valid": True} for task in done]} | dict(m.observed)

    return [replace(m, observed=valid(m)) for m in micro]


def current_frontier() -> Patches:
    """Let the frontier fall where the store's does."""
    real = Primary.take

    def take(self: Primary, report: dict[str, Any]) -> None:
        real(self, report)
        shown = self.shown_frontier(report)
        self.frontier = self.frontier if shown is None else shown

    return [put(Primary, "take", take)]


# -- replayer --------------------------------------------------------------------------


def fork_with_the_consumed() -> Patches:
    """Hand every fork the value that was consumed."""
    real = Lives.branch

    def branch(
        self: Lives, number: int, action: str, params: Mapping[str, Any], notes: Mapping[str, Any]
    ) -> Any:
        return real(self, number, action, dict.fromkeys(params, notes["answer"]), notes)

    return [put(Lives, "branch", branch)]


def no_crash() -> Patches:
    """Note a crash and a recovery, and let the run stand where it stands."""

    def crash(self: _Walk, index: int, name: str, params: Mapping[str, Any]) -> None:
        run = self.run
        run.take(self.process.ask({"op": "observe"}))
        digest = self.process.ask({"op": "digest"})["digest"]
        run.pending.append(Event("crash"))
        entered, frontier = run.point[0], run.frontier
        run.pending.append(Event("recover", entered, frontier, store=digest or ""))
        run.drive(self.spec.actions[name], params, None)
        self.note(index, "step", name, params)

    return [put(_Walk, "crash", crash)]


def no_kill() -> Patches:
    """Send no signal, and wait for nothing."""
    return [put(Process, "kill", lambda self: 0)]


def kill_late() -> Patches:
    """Let the run go on to its next point before it is killed."""
    real = _Walk.crash

    def crash(self: _Walk, index: int, name: str, params: Mapping[str, Any]) -> None:
        self.run.take(self.release())
        real(self, index, name, params)

    return [put(_Walk, "crash", crash)]


def no_catch_up() -> Patches:
    """Deliver a stimulus wherever the run stands."""
    return [put(_Walk, "catch_up", lambda self, index, point: None)]


def no_drain() -> Patches:
    """Leave the run where it stands."""
    return [put(_Walk, "drain", lambda self, index: None)]


def no_poison() -> Patches:
    """Release a body that was to be poisoned like any other."""
    real = _Walk.release
    return [put(_Walk, "release", lambda self, poison=False: real(self))]
