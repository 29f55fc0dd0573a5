"""LangGraph, graph API: two nodes of one superstep, each behind a gate, or one of them unlucky.

The graph is that of the models ParallelGates and FanOut: a node, then two at once, then one that
joins them. A method of an adapter is a call that a user of LangGraph makes.
"""

from __future__ import annotations

import copy
import hashlib
import json
import operator
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from threading import Event
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from adapters.base import Adapter, AdapterFault, Option, Refused, Run
from adapters.langgraph_savers import DISTRIBUTIONS, SAVER, Savers, services
from adapters.langgraph_thread import THREAD, Place

CALLS = ("resume", "resubmit")


class State(TypedDict, total=False):
    """The tasks that are complete, and the value that each branch went on with."""

    log: Annotated[list[int], operator.add]
    left: str | None
    right: str | None


INPUT: State = {"log": [], "left": None, "right": None}


class TaskFailed(Exception):
    """Raised by the body of a task that is to fail."""


def _node(task: int) -> Callable[..., Any]:
    """The node of a task; its adapter comes in as the context of the call."""

    def node(_state: State, runtime: Any) -> Any:
        adapter: Parallel = runtime.context
        return adapter.perform(task)

    return node


class Parallel(Adapter):
    """Base of both adapters: the graph, its store, the calls, and the public state.

    Store: SQLite, PostgreSQL, or memory. Crash: SIGKILL, in memory an exception.
    """

    distributions: ClassVar[tuple[str, ...]] = DISTRIBUTIONS
    #: It is said of the last call alone.
    volatile: ClassVar[tuple[str, ...]] = ("refused",)
    extra: ClassVar[str | None] = "langgraph"
    options: ClassVar[Mapping[str, Option]] = {
        **SAVER,
        "recover": Option(
            "resume",
            CALLS,
            "the recovery call: invoke(None), which continues, or the original input once more",
        ),
    }

    _interrupt: ClassVar[Any]
    _command: ClassVar[Any]
    _savers: ClassVar[Savers]
    _compiled: ClassVar[Any]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import LangGraph and build the graph; a run's process attaches its checkpointer."""
        from langgraph.graph import StateGraph
        from langgraph.types import Command, interrupt

        cls._interrupt, cls._command = staticmethod(interrupt), Command
        cls._savers = Savers(options)
        graph: Any = StateGraph(State, context_schema=cls)
        parallel = [f"t{workflow['left']}", f"t{workflow['right']}"]
        for task in range(1, workflow["tasks"] + 1):
            graph.add_node(f"t{task}", _node(task))
        graph.set_entry_point("t1")
        for name in parallel:
            graph.add_edge("t1", name)
        graph.add_edge(parallel, f"t{workflow['tasks']}")
        cls._compiled = graph.compile()

    @classmethod
    def services(cls, options: Mapping[str, str]) -> tuple[str, ...]:
        """A PostgreSQL server, for the saver of that name."""
        return services(options)

    @classmethod
    def crash_form(cls, options: Mapping[str, str]) -> Literal["kill", "exception"]:
        """A memory store does not outlive its process."""
        return "exception" if options["saver"] == "memory" else "kill"

    def __init__(self, run: Run) -> None:
        """Open the store, once to observe it and once for the graph."""
        super().__init__(run)
        self._opened: list[Any] = []
        self.branches: tuple[int, int] = (run.workflow["left"], run.workflow["right"])
        self.refused = False
        self.saver = self._savers.open(run, self._opened)
        self.place = Place(self.saver, run.notes)
        self.graph: Any = copy.copy(self._compiled)
        self.graph.checkpointer = self.place.follow(self._savers.open(run, self._opened))

    def perform(self, task: int) -> dict[str, Any]:
        """Be the body of a node; return its update of the state."""
        raise NotImplementedError

    def start(self) -> None:
        """Make the tables of a PostgreSQL database."""
        if self._savers.kind == "postgres":
            self.system(self.graph.checkpointer.setup)

    def call(self, payload: Any, *, workers: int | None = 1) -> None:
        """Invoke the graph.

        Args:
            workers: how many threads it may use; with one, the effects of two branches fire in
                the order of the branches, and a run's ledger is the same each time.
        """
        self.refused = False
        config = {**THREAD, "max_concurrency": workers}
        try:
            self.system(lambda: self.graph.invoke(payload, config, context=self, durability="sync"))
        except Refused:
            self.refused = True
            raise

    def go_on(self, call: str) -> None:
        """Go on by the call that an option names."""
        self.call(None if call == "resume" else INPUT)

    def Crash(self) -> None:
        """Recover, in a process that never saw the run."""
        self.go_on(self.run.options["recover"])

    def state(self) -> Any:
        """LangGraph's public state."""
        return self.system(lambda: self.graph.get_state(THREAD))

    def store_digest(self) -> str | None:
        """Digest of the thread's head and of the names of the channels written there."""
        record = self.saver.get_tuple(THREAD)
        if record is None:
            return None
        values = record.checkpoint["channel_values"]
        written = sorted(channel for _, channel, _ in record.pending_writes)
        stored = {"values": {name: values.get(name) for name in INPUT}, "written": written}
        return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()[:16]

    def close(self) -> None:
        """Close the store."""
        for connection in self._opened:
            connection.close()


class LangGraphParallelGates(Parallel):
    """Two gates in one superstep, under the vocabulary of ParallelGates.

    Observes waits (whether LangGraph says that the node comes next), served and refused; beside
    them `asks`, the tasks whose question the public state shows, which is not compared.

    Notes: `ids`, the ids of the questions by task; `answered`, the tasks that were answered.
    """

    beside: ClassVar[tuple[str, ...]] = ("asks",)
    options: ClassVar[Mapping[str, Option]] = {
        **Parallel.options,
        "rest": Option(
            "map",
            ("map", "bare"),
            "how the one question that is left is answered: by a map too, or Command(resume=v)",
        ),
    }
    STRAY_VALUE: ClassVar[str] = "stray"

    def perform(self, task: int) -> dict[str, Any]:
        """Ask, in a branch."""
        if task not in self.branches:
            self.run.effect(task)
            return {"log": [task]}
        value = self._interrupt({"task": task})
        self.run.effect(task, value)
        return {"log": [task], ("left", "right")[self.branches.index(task)]: value}

    def start(self) -> None:
        """Begin the run, which asks twice."""
        super().start()
        self.call(INPUT)

    def AnswerLeft(self, v: str) -> None:
        """Answer the left branch alone."""
        self.answer({self.branches[0]: v})

    def AnswerRight(self, v: str) -> None:
        """Answer the right branch alone."""
        self.answer({self.branches[1]: v})

    def AnswerBoth(self, v: str, w: str) -> None:
        """Answer both by one map."""
        self.answer(dict(zip(self.branches, (v, w), strict=True)))

    def BareResume(self) -> None:
        """Resume without saying whose the value is."""
        self.call(self._command(resume=self.STRAY_VALUE))

    def StrayMap(self) -> None:
        """Answer again all that was answered."""
        ids, answered = self.run.notes["ids"], self.run.notes["answered"]
        self.call(self._command(resume={ids[task]: self.STRAY_VALUE for task in answered}))

    def answer(self, values: Mapping[int, str]) -> None:
        """Answer branches, each by the id of its question."""
        notes, asked = self.run.notes, self.questions()
        ids = notes["ids"] = {**notes.get("ids", {}), **asked}
        notes["answered"] = [*notes.get("answered", []), *(str(task) for task in values)]
        if self.run.options["rest"] == "bare" and len(asked) == 1:
            (value,) = values.values()
            self.call(self._command(resume=value))
        else:
            self.call(self._command(resume={ids[str(t)]: v for t, v in values.items()}))

    def questions(self) -> dict[str, str]:
        """The ids of the questions of the nodes that come next, by task."""
        state = self.state()
        return {
            str(question.value["task"]): question.id
            for task in state.tasks
            if task.name in state.next
            for question in task.interrupts
        }

    def observe(self) -> dict[str, Any]:
        """What the public state says of both branches."""
        state = self.state()
        asks = [question.value["task"] for task in state.tasks for question in task.interrupts]
        return {
            "waits": [f"t{task}" in state.next for task in self.branches],
            "served": [state.values.get(name) for name in ("left", "right")],
            "refused": self.refused,
            "asks": sorted(asks),
        }


class LangGraphFanOut(Parallel):
    """Two tasks in one superstep, one of them unlucky, under the vocabulary of FanOut.

    The unlucky one fails, or is held in its body, once what its sibling did is stored. Store:
    SQLite or PostgreSQL; crash: SIGKILL. Observes durable (which tasks the public state shows as
    done) and refused.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **Parallel.options,
        # The thread of a task that is held would outlive a crash by exception.
        "saver": replace(SAVER["saver"], choices=("sqlite", "postgres")),
        "retry": Option("resume", CALLS, "the call that retries in the same process, as `recover`"),
    }

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.unlucky: int | None = None
        self.fails = False
        self.held: SimpleQueue[bool] = SimpleQueue()  # whether the task is, or the call is over
        self.let_go = Event()
        self.running: Future[None] | None = None

    def perform(self, task: int) -> dict[str, Any]:
        """Fail or be held, where that is what the task is to do."""
        if task == self.unlucky:
            with self.run.ours():
                self.place.until(self._sibling_is_stored, f"what the sibling of task {task} did")
            if self.fails:
                raise TaskFailed(f"task {task} fails")
            self.held.put(True)
            self.let_go.wait()
        self.run.effect(task)
        return {"log": [task]}

    def _sibling_is_stored(self) -> bool:
        (sibling,) = (task for task in self.branches if task != self.unlucky)
        writes = self.saver.get_tuple(THREAD).pending_writes
        return any(channel == "log" and value == [sibling] for _, channel, value in writes)

    def RunFails(self, task: int) -> None:
        """Begin a run whose task fails."""
        self.unlucky, self.fails = task, True
        try:
            self.call(INPUT, workers=None)
        finally:
            self.unlucky = None

    def RunHeld(self, task: int) -> None:
        """Begin a run that is held in the body of a task, in a thread of its own."""
        self.unlucky = task
        self.running = ThreadPoolExecutor().submit(self.call, INPUT, workers=None)
        self.running.add_done_callback(lambda _: self.held.put(False))
        if not self.held.get():
            raise AdapterFault(f"the call came back before task {task} was held")

    def Proceed(self) -> None:
        """Let the task go that is held."""
        assert self.running is not None
        self.let_go.set()
        self.running.result()

    def Retry(self) -> None:
        """Go on in the process in which the run failed."""
        self.go_on(self.run.options["retry"])

    def observe(self) -> dict[str, Any]:
        """Which tasks are complete, by the public state."""
        done = self.state().values.get("log", [])
        tasks = range(1, self.run.workflow["tasks"] + 1)
        return {"durable": [task in done for task in tasks], "refused": self.refused}
