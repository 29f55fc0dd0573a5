"""LangGraph, graph API: a graph of nodes over a checkpointer, its gate an `interrupt()`.

Each superstep that ends leaves a checkpoint in the run's thread.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from adapters.base import Option
from adapters.langgraph_calls import INTERRUPT, LangGraphCalls


def _node(task: int, gate: int) -> Callable[..., dict[str, Any]]:
    """The node of a task; its adapter comes in as the context of the call."""

    def node(_state: Any, runtime: Any) -> dict[str, Any]:
        adapter: LangGraph = runtime.context
        return adapter.perform(task, runtime.execution_info.checkpoint_id, gated=task == gate)

    return node


class LangGraph(LangGraphCalls):
    """LangGraph's graph API under the vocabulary of the resume plane.

    Store: SQLite, PostgreSQL, or memory. Crash: SIGKILL, in memory an exception. The state's
    schema is a pydantic model, which LangGraph holds against what a node reads and not against
    what it writes. Observes pc, frontier, waiting, consumedVal, ckpts, outcome.

    Notes: those of its base.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **LangGraphCalls.options,
        "crash_at": Option(
            "body",
            ("body", "boundary"),
            "where a kill lands: inside a node's body, or between calls of one superstep each",
        ),
    }
    INPUT: ClassVar[Any] = {"log": []}

    _schema: ClassVar[Any]

    @classmethod
    def build(cls, workflow: Mapping[str, Any]) -> Any:
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
        for task, name in enumerate(names, 1):
            graph.add_node(name, _node(task, workflow["gate"]))
        for source, target in zip([START, *names], [*names, END], strict=True):
            graph.add_edge(source, target)
        return graph.compile()

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
