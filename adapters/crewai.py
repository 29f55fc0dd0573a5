"""CrewAI: a Flow under `@persist`, its gate a `@human_feedback` method.

To what `@persist` stores comes a pending question, a row of its own, which is gone before the
method that listens to the answer runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from adapters.base import Option
from adapters.crewai_persist import PersistedFlow
from adapters.resume import RE_ANSWER, STRAY
from adapters.stores import Read


class CrewAI(PersistedFlow):
    """CrewAI's `@human_feedback` over SQLiteFlowPersistence, recovered by a re-kick.

    Store: SQLite. Crash: SIGKILL. A fork is a copy of the database as it was while the run was
    parked, and a flow resumed from that copy. Observes pc, frontier, waiting, consumedVal,
    ckpts, outcome.

    A second consumer that loaded the pending question before the first one was let go fires the
    gated effect too, and its completion is stored under the same flow id: CrewAI keeps one
    history a flow. So `ckpts` then shows the gated task twice, which no switch of R11 explains
    (there a race leaves the records alone); and `consumedVal` is then the second one's answer,
    because what a flow restores is its newest state.

    Notes: `flow`, the id of the flow.
    """

    options: ClassVar[Mapping[str, Option]] = {**RE_ANSWER, **STRAY}
    reads: ClassVar[Mapping[str, Read]] = {
        **PersistedFlow.reads,
        "load_pending_feedback": lambda self: _asked(
            self.persistence.load_pending_feedback(self.run.notes["flow"])
        ),
    }

    @property
    def parked(self) -> Path:
        """The database as it was when the run first parked."""
        return self.run.folder / "parked.db"

    def database(self) -> Path:
        """Where this process's flow is kept: for a branch, a copy made from the parked run's."""
        if not self.run.branch:
            return super().database()
        path = self.run.folder / f"fork-{self.run.branch}.db"
        _copy(self.parked, path)
        return path

    def resume(self, v: str) -> Any:
        """Answer the pending question; without one CrewAI raises ValueError."""
        flow = self.system(
            lambda: self._workflow.from_pending(
                self.run.notes["flow"], self.persistence, suppress_flow_events=True
            )
        )
        # The pending question is loaded, and not yet taken away: whoever else loads it now
        # will consume it too.
        self.enter(self.gated)
        return self.go(lambda: flow.resume(v))

    def reopen(self) -> Any:
        """A flow whose question is stored still waits."""
        return self.stopped(parked=True) if self.pending() else self.recover()

    def fork(self, v: str) -> Any:
        """Answer the question on this branch's copy of the database."""
        return self.resume(v)

    def stopped(self, *, parked: bool) -> str:
        """Keep the database that forks start from."""
        if parked and not self.parked.exists():
            _copy(super().database(), self.parked)
        return super().stopped(parked=parked)

    # -- what can be seen --------------------------------------------------------------

    def pending(self) -> bool:
        """Whether the flow waits for an answer."""
        flow = self.run.notes.get("flow")
        return flow is not None and self.persistence.load_pending_feedback(flow) is not None

    def public_state(self) -> dict[str, Any]:
        """What the database says of the flow, and whether a question is pending."""
        return super().public_state() | {"waiting": self.pending()}

    def canonical_store(self) -> Any:
        """The states as they were stored, and whether a question is pending."""
        return super().canonical_store() | {"pending": self.pending()}


def _copy(source: Path, target: Path) -> None:
    """Copy a database by SQLite's backup; a copy of the file would miss its write-ahead log."""
    with (
        closing(sqlite3.connect(source, timeout=60)) as original,
        closing(sqlite3.connect(target, timeout=60)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")  # outlives processes, not machines
        original.backup(copy)


def _asked(pending: Any) -> Any:
    """What the tasks had put out when a question was stored; None where none is pending."""
    return pending and pending[0]["done"]
