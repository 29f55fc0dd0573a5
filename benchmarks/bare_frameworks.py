"""The frameworks that the bare driver drives: the workflow and the calls, and nothing else.

Import, graph and settings are those of mbt's adapters, so that both sides do the same work.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import operator
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

if TYPE_CHECKING:
    from benchmarks.bare import Framework, Process


class System(Protocol):
    """A framework as one process of a run has it; made after the fork."""

    def __init__(self, process: Process) -> None: ...

    def start(self) -> None:
        """Begin the run."""

    def resume(self, value: str) -> None:
        """Answer the question, or deliver to a run that asks none."""

    def fork(self, value: str) -> None:
        """Answer the question again, on the branch that this process is."""

    def recover(self) -> None:
        """Go on after a kill, in a process that never saw the run."""

    def close(self) -> None:
        """Close the store."""


def langgraph(tasks: int, gate: int, route: str | None) -> type[System]:
    """LangGraph's graph API over its SQLite saver; `route` is command or update-state."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt
    from pydantic import create_model

    for tracer in ("context", "stdout"):  # else the first call of each process imports them
        importlib.import_module(f"langchain_core.tracers.{tracer}")
    completion: Any = create_model("Completion", task=(int, ...), output=(int, ...))
    state: Any = create_model(
        "State",
        log=(Annotated[list[completion], operator.add], []),
        consumed=(str | None, None),
    )

    def node(task: int) -> Callable[..., dict[str, Any]]:
        def body(_state: Any, runtime: Any) -> dict[str, Any]:
            process: Process = runtime.context.process
            process.enter(task)
            update: dict[str, Any] = {}
            if task == gate:
                update["consumed"] = interrupt({"task": task})
            process.effect(task, update.get("consumed"))
            return update | {"log": [{"task": task, "output": task}]}

        return body

    thread: Any = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}

    def at(checkpoint: str) -> Any:
        return {"configurable": {**thread["configurable"], "checkpoint_id": checkpoint}}

    class LangGraph:
        def __init__(self, process: Process) -> None:
            self.process = process
            self.connection = sqlite3.connect(
                process.folder / "langgraph.db", timeout=60, check_same_thread=False
            )
            self.connection.execute("PRAGMA synchronous=OFF")
            compiled.checkpointer = self.saver = SqliteSaver(self.connection)
            process.note = self.note_head

        def head(self) -> str:
            record = self.saver.get_tuple(thread)
            assert record is not None
            return str(record.checkpoint["id"])

        def note_head(self) -> None:
            self.process.notes["head"] = self.head()

        def invoke(self, payload: Any, config: Any) -> None:
            result = compiled.invoke(payload, config, context=self, durability="sync")
            if "__interrupt__" in result:
                self.process.notes.setdefault("interrupt", self.head())

        def start(self) -> None:
            self.invoke({"log": []}, thread)

        def resume(self, value: str) -> None:
            self.invoke(Command(resume=value), thread)

        def fork(self, value: str) -> None:
            source = at(self.process.notes["interrupt"])
            if route == "update-state":
                source = compiled.update_state(source, None)
            self.invoke(Command(resume=value), source)

        def recover(self) -> None:
            noted = self.process.notes["head"]  # which a branch may have moved the thread from
            self.invoke(None, thread if self.head() == noted else at(noted))

        def close(self) -> None:
            self.connection.close()

    builder: Any = StateGraph(state, context_schema=LangGraph)
    names = [f"t{task}" for task in range(1, tasks + 1)]
    for task, name in enumerate(names, 1):
        builder.add_node(name, node(task))
    for source, target in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(source, target)
    compiled: Any = builder.compile()
    return LangGraph


def crewai(tasks: int, gate: int, _route: str | None) -> type[System]:
    """CrewAI's `@human_feedback` over SQLiteFlowPersistence, recovered by a re-kick."""
    from crewai.flow import human_feedback
    from crewai.flow.async_feedback import HumanFeedbackPending
    from crewai.flow.flow import Flow, FlowState, listen, start
    from crewai.flow.persistence import SQLiteFlowPersistence, persist
    from pydantic import create_model
    from rich.console import Console
    from rich.panel import Panel

    class Ask:
        def request_feedback(self, context: Any, flow: Any) -> str:
            raise HumanFeedbackPending(context=context)

    def named(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        body.__name__, body.__qualname__ = name, f"Workflow.{name}"
        return body

    def perform(flow: Any, task: int, answer: str | None = None) -> int:
        process: Process = flow.process
        process.enter(task)
        process.effect(task, answer)
        flow.state.done.append(task)
        if answer is not None:
            flow.state.consumed = answer
        return task

    def plain(task: int) -> Callable[..., Any]:
        return named(f"t{task}", lambda self: perform(self, task))

    def gated(task: int) -> Callable[..., Any]:
        return named(f"t{task}", lambda self, feedback: perform(self, task, feedback.feedback))

    def asking(task: int) -> Callable[..., Any]:
        def body(self: Any) -> str:
            self.process.enter(task)
            return f"may task {task} go on?"

        return named("gate", body)

    asks: Any = human_feedback(message="approve?", llm=None, provider=Ask())
    methods: dict[str, Any] = {"t1": start()(plain(1))}
    for task in range(2, tasks + 1):
        before = f"t{task - 1}"
        if task == gate:
            methods["gate"] = listen(before)(asks(asking(task)))
            methods[f"t{task}"] = listen("gate")(gated(task))
        else:
            methods[f"t{task}"] = listen(before)(plain(task))
    flow_class: Any = Flow
    state = create_model(
        "State", __base__=FlowState, done=(list[int], []), consumed=(str | None, None)
    )
    settings = {"_skip_auto_memory": True, "__module__": __name__}
    workflow: Any = type(flow_class)("Workflow", (flow_class[state],), {**settings, **methods})
    persist(SQLiteFlowPersistence(":memory:"))(workflow)
    # Once here, as it would be in each process.
    workflow.flow_definition()
    Console(file=io.StringIO()).print(Panel("⏳ :zzz:"))

    def copy(source: Path, target: Path) -> None:
        with (
            contextlib.closing(sqlite3.connect(source, timeout=60)) as original,
            contextlib.closing(sqlite3.connect(target, timeout=60)) as twin,
        ):
            twin.execute("PRAGMA synchronous=OFF")
            original.backup(twin)

    class CrewAI:
        def __init__(self, process: Process) -> None:
            self.process = process
            self.parked = process.folder / "parked.db"
            self.path = process.folder / "crewai.db"
            if process.life.branch:
                self.path = process.folder / f"fork-{process.life.branch}.db"
                copy(self.parked, self.path)
            self.persistence: Any = SQLiteFlowPersistence(str(self.path))
            # CrewAI opens and closes a connection for each of its statements, and SQLite
            # checkpoints and syncs at the last close. A replay, which observes, has one open all
            # the time; with one here too, both sides sync equally often.
            self.open = sqlite3.connect(self.path)
            self.open.execute("SELECT 1 FROM flow_states").fetchone()

        def flow(self) -> Any:
            flow = workflow(persistence=self.persistence, suppress_flow_events=True)
            flow.process = self.process
            return flow

        def park(self, result: Any) -> None:
            if isinstance(result, HumanFeedbackPending) and not self.parked.exists():
                copy(self.path, self.parked)

        def start(self) -> None:
            flow = self.flow()
            self.process.notes["flow"] = flow.flow_id
            self.park(flow.kickoff())

        def resume(self, value: str) -> None:
            # Where no question is pending: that is how CrewAI answers a stray resume.
            with contextlib.suppress(ValueError):
                flow = workflow.from_pending(
                    self.process.notes["flow"], self.persistence, suppress_flow_events=True
                )
                flow.process = self.process
                self.park(flow.resume(value))

        def fork(self, value: str) -> None:
            self.resume(value)

        def recover(self) -> None:
            self.park(self.flow().kickoff(inputs={"id": self.process.notes["flow"]}))

        def close(self) -> None:
            self.open.close()

    return CrewAI


FRAMEWORKS: dict[Framework, Callable[[int, int, str | None], type[System]]] = {
    "langgraph": langgraph,
    "crewai": crewai,
}
