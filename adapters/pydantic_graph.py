"""pydantic-graph 1.x: a graph of nodes whose run is kept in a JSON file.

A snapshot is written before each node, with a status that goes from created to running to
success or error. What recovers a run takes the first snapshot that is still "created", and marks
it; of one whose node was running when its process died it takes nothing.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from adapters.barrier import Barrier
from adapters.base import Option, Run
from adapters.resume import POISON, STRAY, ResumeAdapter
from adapters.stores import Read, Tampering, drop, edited, put, truncated

#: The node that asks, and the node at which a run stands parked: its answer is the caller's.
ASK, ANSWER = "Ask", "Answer"


@dataclass
class Completion:
    """What a task writes into the state of the graph."""

    task: int
    output: int


@dataclass
class State:
    """The state of the graph, and with it the schema."""

    log: list[Completion] = field(default_factory=list)
    consumed: str | None = None


def _node(
    base: Any, name: str, successor: Any, body: Callable[[Any, Any], Any], **fields: Any
) -> Any:
    """The class of a node; the adapter of the run is the dependency of its context."""

    async def run(self: Any, context: Any) -> Any:
        return body(self, context)

    run.__annotations__ = {"return": successor}  # pydantic-graph reads the edges here
    members = {"run": run, "__annotations__": fields, "__module__": __name__}
    return dataclass(type(name, (base,), members))


def _nodes(tasks: int, gate: int) -> dict[str, Any]:
    """The nodes by name, made from the last to the first: each has to name its successor."""
    from pydantic_graph import BaseNode, End

    def performing(task: int, successor: Any) -> Callable[[Any, Any], Any]:
        def body(node: Any, context: Any) -> Any:
            context.deps.perform(context.state, task, getattr(node, "answer", None))
            return successor() if task < tasks else successor("done")

        return body

    def asking(node: Any, context: Any) -> Any:
        context.deps.enter_node(gate)
        return nodes[ANSWER]()

    def unanswered(node: Any, context: Any) -> Any:
        raise RuntimeError("nobody answered")

    nodes: dict[str, Any] = {}
    following: Any = End
    for task in range(tasks, 0, -1):
        fields = {"answer": str} if task == gate else {}
        edge = End[str] if task == tasks else following
        body = performing(task, following)
        following = nodes[f"T{task}"] = _node(BaseNode, f"T{task}", edge, body, **fields)
        if task == gate:
            nodes[ANSWER] = _node(BaseNode, ANSWER, following, unanswered)
            following = nodes[ASK] = _node(BaseNode, ASK, nodes[ANSWER], asking)
    return nodes


class PydanticGraph(ResumeAdapter):
    """pydantic-graph under FileStatePersistence, parked between two nodes.

    Store: a JSON file. Crash: SIGKILL. The gate: a node that asks returns the node that stands
    for the answer; there the caller stops running nodes, and goes on later with the node behind
    it, made from the answer. The state's schema is a dataclass, which pydantic holds against what
    it reads and not against what it writes. A fork is a copy of the file as it was while the run
    was parked. What is observed is read from the file, never by `iter_from_persistence`, which
    marks what it opens. Observes pc, frontier, waiting, consumedVal, ckpts, outcome.
    """

    distributions: ClassVar[tuple[str, ...]] = ("pydantic-graph", "pydantic")
    extra: ClassVar[str | None] = "pydantic-graph"
    options: ClassVar[Mapping[str, Option]] = {
        "crash_at": Option(
            "body",
            ("body", "boundary"),
            "where a kill lands: inside a node, or between calls of one node each",
        ),
        "recover": Option(
            "restore",
            ("restore", "history"),
            "the recovery call: iter_from_persistence; or iter, given the node and the state of"
            " the last snapshot that load_all returns",
        ),
        "invalid": Option(
            "mistyped",
            ("mistyped", "unserialisable"),
            "what a poisoned output is: of the wrong type, or nothing that JSON can hold",
        ),
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "load_all": lambda self: [_put_out(snapshot) for snapshot in self.looked("load_all")],
        "load_next": lambda self: _put_out(self.looked("load_next")),
    }

    # The framework, as `prepare` found it.
    _file_persistence: ClassVar[Any]
    _graph: ClassVar[Any]
    _nodes: ClassVar[dict[str, Any]]
    _schema: ClassVar[Any]

    @classmethod
    def tamperings(cls, options: Mapping[str, str]) -> Mapping[str, Tampering]:
        """The JSON file, a list of snapshots."""
        state, node = (-1, "state"), (-1, "node", "node_id")
        return {
            "truncated": truncated,
            "no snapshot left": edited(lambda snapshots: snapshots.clear()),
            "newest snapshot removed": drop(-1),
            "completed T2 removed": drop(-2),
            "status unknown": put("nothing", -1, "status"),
            "kind unknown": put("nothing", -1, "kind"),
            "state emptied": put({}, *state),
            "output of another type": put("x", *state, "log", 0, "output"),
            "next node T9, which is no node": put("T9", *node),
            "next node T1, which is done": put("T1", *node),
        }

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import pydantic-graph and build the graph; a run's process attaches its file."""
        from pydantic import TypeAdapter
        from pydantic_graph import Graph
        from pydantic_graph.persistence.file import FileStatePersistence

        cls._nodes = _nodes(workflow["tasks"], workflow["gate"])
        cls._graph = Graph(
            nodes=tuple(cls._nodes.values()),
            name="workflow",
            state_type=State,
            run_end_type=str,
            auto_instrument=False,
        )
        cls._schema = TypeAdapter(State)
        cls._file_persistence = FileStatePersistence

    def __init__(self, run: Run) -> None:
        """Name the file; a branch copies it."""
        super().__init__(run)
        self.loop = asyncio.new_event_loop()
        self.parked = run.folder / "parked.json"
        self.file = run.folder / "run.json"
        if run.branch:
            self.file = run.folder / f"fork-{run.branch}.json"
            shutil.copy(self.parked, self.file)
        self.persistence: Any = self._file_persistence(self.file)
        self.persistence.set_graph_types(self._graph)
        if run.barrier is not None:
            self._put_behind(run.barrier)

    def _put_behind(self, barrier: Barrier) -> None:
        """Put the persistence behind a barrier."""
        barrier.guard(
            self.persistence,
            snapshot_node=lambda _, node: f"snapshot_node({type(node).__name__})",
            snapshot_node_if_new=lambda *a: f"snapshot_node_if_new({type(a[-1]).__name__})",
            snapshot_end=None,
            load_next=None,
        )
        barrier.guard_span(self.persistence, "record_run", "record_run begins", "record_run ends")

    # -- the workflow ------------------------------------------------------------------

    def enter_node(self, task: int) -> None:
        """Be held at the entry of a node's body, where that is where kills land."""
        if self.run.options["crash_at"] == "body":
            self.enter(task)

    def perform(self, state: State, task: int, answer: str | None) -> None:
        """Be the body of a task's node."""
        self.enter_node(task)
        self.effect(task, answer)
        output = self.output(task)
        if output == POISON and self.run.options["invalid"] == "unserialisable":
            output = object()
        state.log.append(Completion(task, output))
        if answer is not None:
            state.consumed = answer

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        first = self._nodes[ASK if self.gated == 1 else "T1"]
        self._wait(self._graph.initialize(first(), self.persistence, state=State()))
        return self._stand(first.get_node_id()) if self.stepwise else self._go()

    def advance(self, poison: bool) -> Any:
        """Run one node from a boundary."""
        self.let_pass({"poison": poison})
        return self._go()

    def resume(self, v: str) -> Any:
        """Go on with the gated task's node, made from the answer."""
        return self._go(v)

    def fork(self, v: str) -> Any:
        """Answer on this branch's copy of the file."""
        return self.resume(v)

    def recover(self) -> Any:
        """Go on from the file.

        Where the run is parked, and at a boundary, to go on is the next step's affair: the file
        says which that is, and opening it without a step would leave nothing to restore.
        """
        if not self.run.observes:
            return self._go()  # no look of ours comes before the framework's
        last = self.snapshots()[-1]
        name = last.get("node", {}).get("node_id", "")
        if last.get("status") == "created" and (self.stepwise or name == ANSWER):
            return self._stand(name)
        if self.run.options["recover"] == "restore":
            return self._go()
        return self._wait(self._rerun())

    @property
    def stepwise(self) -> bool:
        """Whether a call runs one node; a branch runs to its end in one call."""
        return self.run.options["crash_at"] == "boundary" and self.run.branch == 0

    def _go(self, answer: str | None = None) -> Any:
        return self._wait(self._restore(answer))

    async def _restore(self, answer: str | None) -> Any:
        """Go on from the first snapshot that is created, or past it with an answer."""
        async with self._graph.iter_from_persistence(self.persistence, deps=self) as run:
            node = run.next_node
            if answer is not None:
                node = self._nodes[f"T{self.gated}"](answer)
            return await self._run(run, node)

    async def _rerun(self) -> Any:
        """Go on from the last snapshot, whatever became of it."""
        last = (await self.persistence.load_all())[-1]
        name = last.node.get_snapshot_id().partition(":")[0]
        if name not in self._nodes or name == ANSWER:
            return self._stand(name)  # it ended, or whoever goes on has to answer
        async with self._graph.iter(
            last.node, state=last.state, deps=self, persistence=self.persistence
        ) as run:
            return await self._run(run, last.node)

    async def _run(self, run: Any, node: Any) -> Any:
        """Run a node, and those after it up to where the caller stops."""
        while True:
            node = await run.next(node)
            name = node.get_snapshot_id().partition(":")[0]
            if self.stepwise or name not in self._nodes or name == ANSWER:
                return self._stand(name)

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.system(lambda: self.loop.run_until_complete(coroutine))

    def _stand(self, name: str) -> Any:
        """Where the run stands, by the node that comes next."""
        if name not in self._nodes:
            return self.stopped(parked=False)
        if name == ANSWER:
            if not self.parked.exists():
                shutil.copy(self.file, self.parked)
            return self.stopped(parked=True)
        return self.at_boundary(self.gated if name == ASK else int(name.removeprefix("T")))

    # -- what can be seen --------------------------------------------------------------

    def looked(self, call: str) -> Any:
        """What a read of the file returns; made on a copy, since `load_next` marks the file."""
        if not self.file.exists():
            return None if call == "load_next" else []
        copy = self.run.folder / f"look-{self.run.process}.json"
        shutil.copy(self.file, copy)
        persistence = self._file_persistence(copy)
        persistence.set_graph_types(self._graph)
        return self.loop.run_until_complete(getattr(persistence, call)())

    def store_file(self) -> Path:
        """The run's file."""
        return self.file

    def snapshots(self) -> list[dict[str, Any]]:
        """What the file holds, oldest first."""
        if not self.file.exists():
            return []
        stored: list[dict[str, Any]] = json.loads(self.file.read_text())
        return stored

    def public_state(self) -> dict[str, Any]:
        """What the file says of the run; a snapshot's state is that before its node."""
        line = self.snapshots()
        logs = [snapshot["state"]["log"] for snapshot in line]
        consumed = line[-1]["state"]["consumed"] if line else None
        seen: dict[str, Any] = {
            "frontier": max((entry["task"] for entry in logs[-1]), default=0) if line else 0,
            "waiting": bool(line) and self._is_parked(line[-1]),
            "consumedVal": consumed,
            "ckpts": [
                {"task": log[-1]["task"], "valid": self._accepts(snapshot["state"])}
                for before, log, snapshot in zip([[], *logs], logs, line, strict=False)
                if len(log) > len(before)
            ],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def _is_parked(self, snapshot: Mapping[str, Any]) -> bool:
        """Whether a snapshot waits for an answer that nobody has come with."""
        node = snapshot.get("node", {}).get("node_id")
        return bool(node == ANSWER and snapshot["status"] == "created")

    def _accepts(self, state: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._schema.validate_python(state)
        except ValueError:
            return False
        return True

    def canonical_store(self) -> Any:
        """The snapshots, oldest first: node, status, state.

        A recovery by the history reads the last one alone, and not its status.
        """
        line = self.snapshots()
        if self.run.options["recover"] == "history":
            return [[snapshot.get("node"), snapshot["state"]] for snapshot in line[-1:]]
        return [[stored.get("node"), stored.get("status"), stored["state"]] for stored in line]

    def holdings(self) -> Any:
        """The snapshots, oldest first: node and status."""
        return [
            [stored.get("node", {}).get("node_id", "End"), stored.get("status")]
            for stored in self.snapshots()
        ]

    def close(self) -> None:
        """Close the event loop."""
        self.loop.close()


def _put_out(snapshot: Any) -> Any:
    """What the tasks had put out by a snapshot; None where there is none."""
    return snapshot and [entry.output for entry in snapshot.state.log]
