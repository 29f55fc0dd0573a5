"""CrewAI: a Flow under `@persist` alone, without a way to park it.

`@persist` stores a flow's state each time a method completes, under the flow's id; recovery is
`kickoff` with that id, which restores the state and begins at the first method. It has no question
and no pending row: what comes nearest to an interrupt is a gated method that ends the run while
nobody has answered, and a kickoff under the flow's id that brings the answer along.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

from adapters.base import Option, Run
from adapters.crewai_barrier import holdings, put_behind
from adapters.crewai_flow import GATE, GATES, FlowAdapter, without_gate, without_id
from adapters.resume import RE_ANSWER, STRAY
from adapters.stores import Read


class PersistedFlow(FlowAdapter):
    """Base of the adapters of flows under `@persist`: SQLiteFlowPersistence, and a re-kick.

    Observes frontier, consumedVal, ckpts and outcome from the rows of the flow. The state's
    schema is a pydantic model, which CrewAI holds against what it restores and not against what
    it stores.
    """

    reads: ClassVar[Mapping[str, Read]] = {
        "load_state": lambda self: _done(self.persistence.load_state(self.run.notes["flow"])),
    }

    _decorated: ClassVar[Any]

    @classmethod
    def attach(cls, options: Mapping[str, str]) -> None:
        """Persist the flow; a run's process brings its database."""
        from crewai.flow.persistence import persist

        # What a flow is constructed with goes before what its class is decorated with; up to
        # CrewAI 1.14.7 states are stored by the latter all the same.
        cls._decorated = cls._persistence(":memory:")
        persist(cls._decorated)(cls._workflow)

    def __init__(self, run: Run) -> None:
        """Open the database."""
        super().__init__(run)
        path = self.database()
        self.persistence: Any = self._persistence(str(path))
        self._decorated.db_path = str(path)
        put_behind(run.barrier, self.persistence)
        # CrewAI runs methods in threads, and a gate answers from the one it is reached in.
        self._rows = sqlite3.connect(
            path, isolation_level=None, timeout=60, check_same_thread=False
        )

    def database(self) -> Path:
        """Where this process's flow is kept."""
        return self.run.folder / "crewai.db"

    def flow(self) -> Any:
        """A new instance of the flow, over the database."""
        return self.system(
            lambda: self._workflow(persistence=self.persistence, suppress_flow_events=True)
        )

    def start(self) -> Any:
        """Begin the run."""
        return self.go(self.flow().kickoff)

    def recover(self) -> Any:
        """Kick the flow off again with its id."""
        flow = self.flow()
        return self.go(lambda: flow.kickoff(inputs={"id": self.run.notes["flow"]}))

    # -- what can be seen --------------------------------------------------------------

    def history(self) -> list[tuple[str, dict[str, Any]]]:
        """What is stored of the flow, oldest first: which method completed, with what state."""
        rows = self._rows.execute(
            "SELECT method_name, state_json FROM flow_states WHERE flow_uuid = ? ORDER BY id",
            (self.run.notes.get("flow"),),
        ).fetchall()
        return [(name, json.loads(state)) for name, state in rows]

    def public_state(self) -> dict[str, Any]:
        """What the database says of the flow; its newest state is what `load_state` returns."""
        history = self.history()
        done = [(int(name[1:]), state) for name, state in history if name != GATE]
        consumed = history[-1][1]["consumed"] if history else None
        seen: dict[str, Any] = {
            "frontier": max((task for task, _ in done), default=0),
            "consumedVal": consumed,
            "ckpts": [{"task": task, "valid": self.accepts(state)} for task, state in done],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def canonical_store(self) -> Any:
        """The states as they were stored."""
        return {"states": [[name, without_id(state)] for name, state in self.history()]}

    def holdings(self) -> Any:
        """The methods whose states are stored, and those that asked and were not answered."""
        return holdings(self._rows)

    def close(self) -> None:
        """Close the connection that observes."""
        self._rows.close()


class CrewAIPersist(PersistedFlow):
    """CrewAI's `@persist` over SQLiteFlowPersistence, gone on with by a re-kick.

    Store: SQLite. Crash: SIGKILL. Whatever goes on with a flow is `kickoff` with its id, which
    restores the state and begins at the first method: an answer, a recovery and a stray alike.
    With `answer=none` the gated task needs no answer; nothing is then consumed, forked or raced
    for. A fork is `kickoff(restore_from_state_id=...)`, which gives the flow's *newest* state to
    a flow with a new id: there is no address for the state at the gate. Releases without that
    parameter (1.14.3 is one) cannot be prepared but with `answer=none`. Observes pc, frontier,
    consumedVal, ckpts, outcome; that a flow waits, `@persist` does not show.

    Notes: `flow`, the id of the flow.
    """

    options: ClassVar[Mapping[str, Option]] = {
        "answer": Option(
            "inputs",
            ("inputs", "none"),
            "; ".join(f"{form}: {GATES[form]}" for form in ("inputs", "none")),
        ),
        **RE_ANSWER,
        **STRAY,
    }

    @classmethod
    def unsupported(cls, options: Mapping[str, str]) -> dict[str, str]:
        """Without a gate there is nothing to answer."""
        return super().unsupported(options) | without_gate(options)

    @classmethod
    def attach(cls, options: Mapping[str, str]) -> None:
        """See that a flow can be forked, where forks will be asked for."""
        super().attach(options)
        kickoff, fork = cls._workflow.kickoff, "restore_from_state_id"
        if options["answer"] != "none" and fork not in signature(kickoff).parameters:
            raise AttributeError(f"Flow.kickoff has no parameter {fork}", name=fork, obj=kickoff)

    def resume(self, v: str) -> Any:
        """Kick the flow off again with its id, the answer among the inputs."""
        flow = self.flow()
        inputs = {"id": self.run.notes["flow"], "answer": v}
        return self.go(lambda: flow.kickoff(inputs=inputs))

    def fork(self, v: str) -> Any:
        """Kick a new flow off from the newest state of this one."""
        flow, source = self.flow(), self.run.notes["flow"]
        return self.go(lambda: flow.kickoff(inputs={"answer": v}, restore_from_state_id=source))


def _done(state: Mapping[str, Any] | None) -> Any:
    """What the tasks put out, by a stored state; None where there is none."""
    return state and state["done"]
