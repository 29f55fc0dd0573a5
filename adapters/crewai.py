"""CrewAI: a Flow under `@persist`, its gate a `@human_feedback` method.

A persisted flow writes its state each time a method completes, under the flow's id; recovery is
`kickoff` with that id, which restores the state and begins at the first method. A pending
question is a row of its own, gone before the method that listens to the answer runs.
"""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from adapters.base import Option, Run
from adapters.resume import RE_ANSWER, STRAY, ResumeAdapter

#: The method that asks. The task behind the gate is the method that listens to it.
GATE = "gate"


def _method(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the name under which CrewAI is to know it.

    Its first parameter has to be called self: CrewAI counts those of other names.
    """
    body.__name__ = name
    body.__qualname__ = f"Workflow.{name}"
    return body


def _task(task: int) -> Callable[..., Any]:
    """The method of a task; the adapter of the run is an attribute of the flow."""

    def body(self: Any) -> int:
        self.adapter.perform(self.state, task)
        return task

    return _method(f"t{task}", body)


def _gated_task(task: int) -> Callable[..., Any]:
    """The method of the gated task: what listens to the answer, and is handed it."""

    def body(self: Any, feedback: Any) -> int:
        self.adapter.perform(self.state, task, feedback.feedback)
        return task

    return _method(f"t{task}", body)


def _gate(task: int) -> Callable[..., Any]:
    """The method that asks. CrewAI runs its body first and asks then."""

    def body(self: Any) -> str:
        self.adapter.enter(task)
        return f"may task {task} go on?"

    return _method(GATE, body)


class CrewAI(ResumeAdapter):
    """CrewAI's `@human_feedback` over SQLiteFlowPersistence, recovered by a re-kick.

    Store: SQLite. Crash: SIGKILL. The state's schema is a pydantic model, which CrewAI holds
    against what it restores and not against what it stores. A fork is a copy of the database
    as it was while the run was parked, and a flow resumed from that copy. Observes pc,
    frontier, waiting, consumedVal, ckpts, outcome.

    Notes: `flow`, the id of the flow.
    """

    distributions: ClassVar[tuple[str, ...]] = ("crewai",)
    extra: ClassVar[str | None] = "crewai"
    options: ClassVar[Mapping[str, Option]] = {**RE_ANSWER, **STRAY}

    # The framework, as `prepare` found it.
    _persistence: ClassVar[Any]
    _asked: ClassVar[type[BaseException]]
    _state: ClassVar[Any]
    _workflow: ClassVar[Any]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import CrewAI and build the flow's class; a run's process attaches its database.

        A process that ran a flow has threads and must not be forked: no flow is made here.
        """
        from crewai.flow import human_feedback
        from crewai.flow.async_feedback import HumanFeedbackPending
        from crewai.flow.flow import Flow, FlowState, listen, start
        from crewai.flow.persistence import SQLiteFlowPersistence, persist
        from pydantic import create_model
        from rich.console import Console
        from rich.panel import Panel

        class Ask:
            """A provider that leaves the answer to a later resume."""

            def request_feedback(self, context: Any, flow: Any) -> str:
                raise HumanFeedbackPending(context=context)

        tasks, gate = workflow["tasks"], workflow["gate"]
        asks: Any = human_feedback(message="approve?", llm=None, provider=Ask())
        methods: dict[str, Any] = {"t1": start()(_task(1))}
        for task in range(2, tasks + 1):
            before = f"t{task - 1}"
            if task == gate:
                methods[GATE] = listen(before)(asks(_gate(task)))
                methods[f"t{task}"] = listen(GATE)(_gated_task(task))
            else:
                methods[f"t{task}"] = listen(before)(_task(task))
        # A memory of the flow's own would start a vector store, and with it a thread.
        plain = {"_skip_auto_memory": True, "__module__": __name__}
        flow: Any = Flow
        cls._state = create_model(
            "State", __base__=FlowState, done=(list[int], []), consumed=(str | None, None)
        )
        cls._workflow = type(flow)("Workflow", (flow[cls._state],), {**plain, **methods})
        # What a flow is constructed with goes before what its class is decorated with.
        persist(SQLiteFlowPersistence(":memory:"))(cls._workflow)
        cls._persistence, cls._asked = SQLiteFlowPersistence, HumanFeedbackPending
        # Once here, and not in each process: the flow's definition, and the tables that rich
        # loads to print what CrewAI prints when a flow parks.
        cls._workflow.flow_definition()
        Console(file=io.StringIO()).print(Panel("⏳ :zzz:"))

    def __init__(self, run: Run) -> None:
        """Open the database; a branch opens its copy."""
        super().__init__(run)
        self.parked = run.folder / "parked.db"
        path = run.folder / "crewai.db"
        if run.branch:
            path = run.folder / f"fork-{run.branch}.db"
            _copy(self.parked, path)
        self.persistence: Any = self._persistence(str(path))
        # CrewAI runs methods in threads, and a gate answers from the one it is reached in.
        self._rows = sqlite3.connect(
            path, isolation_level=None, timeout=60, check_same_thread=False
        )

    # -- the workflow ------------------------------------------------------------------

    def perform(self, state: Any, task: int, answer: str | None = None) -> None:
        """Be the body of a task's method."""
        self.enter(task)
        self.effect(task, answer)
        state.done.append(self.output(task))
        if answer is not None:
            state.consumed = answer

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        flow = self.system(self._flow)
        self.run.notes["flow"] = flow.flow_id
        return self._go(flow.kickoff)

    def resume(self, v: str) -> Any:
        """Answer the pending question; without one CrewAI raises ValueError."""
        flow = self.system(
            lambda: self._workflow.from_pending(
                self.run.notes["flow"], self.persistence, suppress_flow_events=True
            )
        )
        flow.adapter = self
        # The pending question is loaded, and not yet taken away: whoever else loads it now
        # will consume it too.
        self.enter(self.gated)
        return self._go(lambda: flow.resume(v))

    def fork(self, v: str) -> Any:
        """Answer the question on this branch's copy of the database."""
        return self.resume(v)

    def recover(self) -> Any:
        """Kick the flow off again with its id."""
        flow = self.system(self._flow)
        return self._go(lambda: flow.kickoff(inputs={"id": self.run.notes["flow"]}))

    def _flow(self) -> Any:
        flow = self._workflow(persistence=self.persistence, suppress_flow_events=True)
        flow.adapter = self
        return flow

    def _go(self, call: Callable[[], Any]) -> Any:
        parked = isinstance(self.system(call), self._asked)
        if parked and not self.parked.exists():
            _copy(self.run.folder / "crewai.db", self.parked)
        return self.stopped(parked=parked)

    # -- what can be seen --------------------------------------------------------------

    def history(self) -> list[tuple[str, dict[str, Any]]]:
        """What is stored of the flow, oldest first: which method completed, with what state."""
        rows = self._rows.execute(
            "SELECT method_name, state_json FROM flow_states WHERE flow_uuid = ? ORDER BY id",
            (self.run.notes.get("flow"),),
        ).fetchall()
        return [(name, json.loads(state)) for name, state in rows]

    def pending(self) -> bool:
        """Whether the flow waits for an answer."""
        flow = self.run.notes.get("flow")
        return flow is not None and self.persistence.load_pending_feedback(flow) is not None

    def public_state(self) -> dict[str, Any]:
        """What the database says of the flow; its newest state is what `load_state` returns."""
        history = self.history()
        done = [(int(name[1:]), state) for name, state in history if name != GATE]
        consumed = history[-1][1]["consumed"] if history else None
        seen: dict[str, Any] = {
            "frontier": max((task for task, _ in done), default=0),
            "waiting": self.pending(),
            "consumedVal": consumed,
            "ckpts": [{"task": task, "valid": self._accepts(state)} for task, state in done],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def _accepts(self, state: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._state.model_validate(state)
        except ValueError:
            return False
        return True

    def canonical_store(self) -> Any:
        """The states as they were stored, and whether a question is pending."""
        history = [
            [name, {field: value for field, value in state.items() if field != "id"}]
            for name, state in self.history()
        ]
        return {"states": history, "pending": self.pending()}

    def close(self) -> None:
        """Close the connection that observes."""
        self._rows.close()


def _copy(source: Path, target: Path) -> None:
    """Copy a database by SQLite's backup; a copy of the file would miss its write-ahead log."""
    with (
        contextlib.closing(sqlite3.connect(source, timeout=60)) as original,
        contextlib.closing(sqlite3.connect(target, timeout=60)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")  # outlives processes, not machines
        original.backup(copy)
