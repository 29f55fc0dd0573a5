"""LangGraph, graph API: a graph of nodes over a checkpointer, its gate an `interrupt()`.

Each superstep that ends leaves a checkpoint in the run's thread.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from adapters.base import AdapterFault, Option, gated_tasks
from adapters.langgraph_calls import INTERRUPT, ROUTE, LangGraphCalls
from adapters.langgraph_thread import Config

if TYPE_CHECKING:  # LangGraph goes by the name of the annotation
    from langchain_core.runnables import RunnableConfig


def _node(task: int, *, gated: bool) -> Callable[..., dict[str, Any]]:
    """The node of a task; its adapter comes in as the context of the call."""

    def node(_state: Any, runtime: Any, config: RunnableConfig) -> dict[str, Any]:
        adapter: LangGraph = runtime.context
        # The thread's own checkpoint, from within a subgraph too.
        return adapter.perform(task, config["configurable"]["checkpoint_map"][""], gated=gated)

    return node


class LangGraph(LangGraphCalls):
    """LangGraph's graph API under the vocabulary of the resume plane.

    Store: SQLite, PostgreSQL, or memory. Crash: SIGKILL, in memory an exception. The state's
    schema is a pydantic model, which LangGraph holds against what a node reads and not against
    what it writes. Observes pc, frontier, waiting, consumedVal, ckpts, outcome.

    Notes: those of its base; `within`, the address of the subgraph's own checkpoint, as it was
    where the run first parked in it.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **LangGraphCalls.options,
        "route": replace(
            ROUTE,
            choices=(*ROUTE.choices, "within"),
            about=f"{ROUTE.about}; a Command(resume) at the subgraph's own checkpoint",
        ),
        "crash_at": Option(
            "body",
            ("body", "boundary"),
            "where a kill lands: inside a node's body, or between calls of one superstep each",
        ),
        "subgraph": Option(
            "no",
            ("no", "first"),
            "whether the first gated node is one of a subgraph that keeps checkpoints of its own",
        ),
    }
    INPUT: ClassVar[Any] = {"log": []}

    _schema: ClassVar[Any]

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> str | None:
        """Between calls a run is held in front of a node of the graph."""
        if options["subgraph"] == "first" and options["crash_at"] == "boundary":
            return "subgraph=first needs crash_at=body: a call could stop within the subgraph"
        if options["route"] == "within" and options["subgraph"] == "no":
            return "route=within needs subgraph=first: it addresses a checkpoint of the subgraph"
        return super().check_options(options)

    @classmethod
    def build(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> Any:
        """The graph: a node a task, one after the other."""
        from langgraph.graph import END, START, StateGraph
        from pydantic import create_model

        completion: Any = create_model("Completion", task=(int, ...), output=(int, ...))
        cls._schema = create_model(
            "State",
            log=(Annotated[list[completion], operator.add], []),
            consumed=(str | None, None),
        )
        graph: Any = StateGraph(cls._schema, context_schema=cls)
        names = [f"t{task}" for task in range(1, workflow["tasks"] + 1)]
        gates = gated_tasks(workflow)
        for task, name in enumerate(names, 1):
            node: Any = _node(task, gated=task in gates)
            if options["subgraph"] == "first" and task == gates[0]:
                # What it puts out replaces what it put out before: it keeps its state.
                asking = create_model(
                    "Asking", log=(list[completion], []), consumed=(str | None, None)
                )
                given = create_model("Given", consumed=(str | None, None))
                inner: Any = StateGraph(asking, context_schema=cls, input_schema=given)
                inner.add_node(name, node).set_entry_point(name)
                node = inner.compile(checkpointer=True)
            graph.add_node(name, node)
        for source, target in cls.edges(names, START, END):
            graph.add_edge(source, target)
        return graph.compile()

    @classmethod
    def edges(cls, names: Sequence[str], start: str, end: str) -> list[tuple[str, str]]:
        """The edges between the nodes of the tasks: one after the other."""
        return [*zip([start, *names], [*names, end], strict=True)]

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

    def _stand(self) -> Any:
        """Note where the subgraph is parked: it is not shown once it went on."""
        stood = super()._stand()
        in_subgraph = self.run.options["subgraph"] == "first" and self.pc == self.gates[0]
        if stood == "parked" and in_subgraph and "within" not in self.run.notes:
            (task,) = self._state(subgraphs=True).tasks
            self.run.notes["within"] = dict(task.state.config["configurable"])
        return stood

    def forking(self, config: Config) -> Config:
        """A fork from within the subgraph is addressed to its checkpoint."""
        if self.run.options["route"] != "within":
            return super().forking(config)
        if self.gates[0] != self.gated:
            raise AdapterFault("route=within: the gate to be forked stands outside the subgraph")
        return {"configurable": self.run.notes["within"]}

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

    def told(self, state: Any) -> list[Any]:
        """What the tasks put out: the entries of the log."""
        return [entry["output"] for entry in state.values.get("log", [])]

    def _accepts(self, values: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._schema.model_validate(values)
        except ValueError:
            return False
        return True
