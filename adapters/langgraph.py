"""LangGraph: a graph of nodes over a checkpointer, its gate an `interrupt()`.

Each superstep that ends leaves a checkpoint in the run's thread; a run goes on from its thread,
or from a checkpoint of it that the caller addresses.
"""

from __future__ import annotations

import copy
import importlib
import operator
import sqlite3
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from adapters.base import Option, Run
from adapters.langgraph_thread import THREAD, Config, Place, at_checkpoint
from adapters.resume import RE_ANSWER, STRAY, ResumeAdapter

#: The channel on which a pending interrupt is written, and the key under which a call returns it.
INTERRUPT = "__interrupt__"


def _node(task: int, gate: int) -> Callable[..., dict[str, Any]]:
    """The node of a task; its adapter comes in as the context of the call."""

    def node(_state: Any, runtime: Any) -> dict[str, Any]:
        adapter: LangGraph = runtime.context
        return adapter.perform(task, runtime.execution_info.checkpoint_id, gated=task == gate)

    return node


class LangGraph(ResumeAdapter):
    """LangGraph's graph API under the vocabulary of the resume plane.

    Store: SQLite, PostgreSQL, or memory. Crash: SIGKILL, in memory an exception. The state's schema is a
    pydantic model, which LangGraph holds against what a node reads and not against what it
    writes. Observes pc, frontier, waiting, consumedVal, ckpts, outcome.

    Notes: `head`, the checkpoint that the run's own processes wrote last; `interrupt`, the one
    at which it parked first.
    """

    distributions: ClassVar[tuple[str, ...]] = (
        "langgraph",
        "langgraph-checkpoint",
        "langgraph-checkpoint-sqlite",
        "langgraph-checkpoint-postgres",
    )
    extra: ClassVar[str | None] = "langgraph"
    options: ClassVar[Mapping[str, Option]] = {
        "saver": Option("sqlite", ("sqlite", "postgres", "memory"), "the checkpointer"),
        "recover": Option(
            "resume",
            ("resume", "resubmit"),
            "the recovery call: invoke(None), which continues, or the original input once more",
        ),
        "route": Option(
            "command",
            ("command", "replay", "update-state"),
            "how a fork is made at the interrupt's checkpoint: a second Command(resume) there;"
            " invoke(None) there, then a resume on the thread; update_state there, then a resume",
        ),
        "address": Option(
            "auto",
            ("auto", "thread", "address"),
            "what a call that goes on is addressed to: the thread, the run's own last checkpoint,"
            " or the thread only while its head is that checkpoint",
        ),
        "crash_at": Option(
            "body",
            ("body", "boundary"),
            "where a kill lands: inside a node's body, or between calls of one superstep each",
        ),
        **RE_ANSWER,
        **STRAY,
    }

    # The framework, as `prepare` found it.
    _interrupt: ClassVar[Any]
    _command: ClassVar[Any]
    _sqlite: ClassVar[Any]
    _memory: ClassVar[Any]
    _postgres: ClassVar[Any]
    _psycopg: ClassVar[Any]
    _schema: ClassVar[Any]
    _compiled: ClassVar[Any]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import LangGraph and compile the graph; a run's process attaches its checkpointer."""
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, StateGraph
        from langgraph.types import Command, interrupt
        from pydantic import create_model

        for tracer in ("context", "stdout"):  # else the first call of each process imports them
            importlib.import_module(f"langchain_core.tracers.{tracer}")
        completion: Any = create_model("Completion", task=(int, ...), output=(int, ...))
        cls._schema = create_model(
            "State",
            log=(Annotated[list[completion], operator.add], []),
            consumed=(str | None, None),
        )
        graph: Any = StateGraph(cls._schema, context_schema=cls)
        names = [f"t{task}" for task in range(1, workflow["tasks"] + 1)]
        for task, name in enumerate(names, 1):
            graph.add_node(name, _node(task, workflow["gate"]))
        for source, target in zip([START, *names], [*names, END], strict=True):
            graph.add_edge(source, target)
        cls._interrupt, cls._command = staticmethod(interrupt), Command
        cls._compiled, cls._sqlite = graph.compile(), SqliteSaver
        if options["saver"] == "postgres":
            cls._postgres = importlib.import_module("langgraph.checkpoint.postgres").PostgresSaver
            cls._psycopg = importlib.import_module("psycopg")
        cls._memory = InMemorySaver()  # a fork of this process has an empty one of its own

    @classmethod
    def services(cls, options: Mapping[str, str]) -> tuple[str, ...]:
        """A PostgreSQL server, for the saver of that name."""
        return ("postgres",) if options["saver"] == "postgres" else ()

    @classmethod
    def crash_form(cls, options: Mapping[str, str]) -> Literal["kill", "exception"]:
        """A memory store does not outlive its process."""
        return "exception" if options["saver"] == "memory" else "kill"

    def __init__(self, run: Run) -> None:
        """Open the store."""
        super().__init__(run)
        self._connections: list[Any] = []
        self.place = Place(self._saver(), run.notes)
        self.graph: Any = copy.copy(self._compiled)
        self.graph.checkpointer = self.place.follow(self._saver())
        if run.recovery:
            self._address()  # by the thread, a recovery finds what is at its head

    def _saver(self) -> Any:
        """A checkpointer of one's own, with a connection of its own.

        SQLite does not wait for the disk: what is written outlives the process, which is what
        gets killed here, not the machine.
        """
        if self.run.options["saver"] == "memory":
            return copy.copy(self._memory)  # which shares what it stores
        if self.run.options["saver"] == "postgres":
            dsn, rows = self.run.services["postgres"], self._psycopg.rows.dict_row
            server = self._psycopg.connect(dsn, autocommit=True, row_factory=rows)
            self._connections.append(server)
            return self._postgres(server)
        path = self.run.folder / "langgraph.db"
        connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
        connection.execute("PRAGMA synchronous=OFF")
        self._connections.append(connection)
        return self._sqlite(connection)

    # -- the workflow ------------------------------------------------------------------

    def perform(self, task: int, checkpoint: str, *, gated: bool) -> dict[str, Any]:
        """Be the body of a node, executed from a checkpoint; return its update of the state."""
        if self.run.options["crash_at"] == "body":
            with self.run.ours():
                self.place.arrive(checkpoint)
                self.enter(task)
        update: dict[str, Any] = {}
        if gated:
            update["consumed"] = self._interrupt({"task": task})
        self.effect(task, update.get("consumed"))
        update["log"] = [{"task": task, "output": self.output(task)}]
        return update

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        if self.run.options["saver"] == "postgres":
            self.system(self.graph.checkpointer.setup)
        return self._invoke({"log": []}, THREAD)

    def advance(self, poison: bool) -> Any:
        """Take one superstep from a boundary."""
        self.let_pass({"poison": poison})
        return self._invoke(None, self._address())

    def resume(self, v: str) -> Any:
        """Answer the interrupt; on a completed run, deliver to it once more."""
        return self._invoke(self._command(resume=v), THREAD)

    def fork(self, v: str) -> Any:
        """Answer the interrupt again, by the route that the options name."""
        interrupt = self.run.notes["interrupt"]
        self.place.move(interrupt)
        source = at_checkpoint(interrupt)
        if self.run.options["route"] == "replay":
            self._invoke(None, source)
            source = self.place.address("thread")
        elif self.run.options["route"] == "update-state":
            source = self.system(lambda: self.graph.update_state(source, None))
        return self._invoke(self._command(resume=v), source)

    def recover(self) -> Any:
        """Go on from the store, by the call that the options name.

        At a boundary, to go on is the next step's affair: the state says which task that is.
        """
        address = self._address()
        if self.run.options["recover"] == "resubmit":
            return self._invoke({"log": []}, address)
        if self.stepwise and self._state().next:
            return self._stand()
        return self._invoke(None, address)

    @property
    def stepwise(self) -> bool:
        """Whether a call takes one superstep; a branch runs to its end in one call."""
        return self.run.options["crash_at"] == "boundary" and self.run.branch == 0

    def _address(self) -> Config:
        return self.place.address(self.run.options["address"])

    def _invoke(self, payload: Any, config: Config) -> Any:
        self.system(
            lambda: self.graph.invoke(
                payload,
                config,
                context=self,
                durability="sync",
                interrupt_before="*" if self.stepwise else None,
            )
        )
        return self._stand()

    def _state(self) -> Any:
        """LangGraph's public state of the run's own last checkpoint."""
        return self.system(lambda: self.graph.get_state(self.place.head()))

    def _stand(self) -> Any:
        """Where a call left the run: parked, at the boundary before a task, or complete."""
        state = self._state()
        if any(task.interrupts for task in state.tasks):
            self.run.notes.setdefault("interrupt", self.run.notes["head"])
            return self.stopped(parked=True)
        if state.next:
            return self.at_boundary(int(state.next[0].removeprefix("t")))
        return self.stopped(parked=False)

    # -- what can be seen --------------------------------------------------------------

    def public_state(self) -> dict[str, Any]:
        """What the checkpoints of the run's own lineage hold.

        They are read from the checkpointer: `get_state` and the history raise where a node
        could not read what is stored.
        """
        line = self.place.lineage()
        values = [record.checkpoint["channel_values"] for record in line]
        logs = [value.get("log", []) for value in values]
        consumed = values[-1].get("consumed") if line else None
        seen: dict[str, Any] = {
            "frontier": max((entry["task"] for entry in logs[-1]), default=0) if line else 0,
            "waiting": bool(line) and any(w[1] == INTERRUPT for w in line[-1].pending_writes),
            "consumedVal": consumed,
            "ckpts": [
                {"task": log[-1]["task"], "valid": self._accepts(value)}
                for before, log, value in zip([[], *logs], logs, values, strict=False)
                if len(log) > len(before)
            ],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def _accepts(self, values: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._schema.model_validate(values)
        except ValueError:
            return False
        return True

    def canonical_store(self) -> Any:
        """What the checkpoints of the lineage hold, oldest first, and the last one's writes.

        The writes of earlier ones are left out: no recovery reads them, and a fork by
        Command(resume) adds to those of the interrupt's checkpoint.
        """
        line = self.place.lineage()
        held = [[record.metadata["source"], record.checkpoint["channel_values"]] for record in line]
        writes = [
            [channel, [asked.value for asked in value] if channel == INTERRUPT else value]
            for _, channel, value in (line[-1].pending_writes if line else ())
        ]
        return {"checkpoints": held, "writes": sorted(writes, key=str)}

    def close(self) -> None:
        """Close the store."""
        for connection in self._connections:
            connection.close()
