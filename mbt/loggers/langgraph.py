"""A callback handler that logs the runs of a LangGraph graph as actions of ResumeContract.

    log = LangGraphLog("runs.jsonl", tasks={"draft": 1, "approve": 2, "send": 3}, gate="approve")
    graph.invoke(inputs, {"configurable": {"thread_id": "7"}, "callbacks": [log]})

A thread is a run. A call on one that neither waits nor is complete is a recovery, on a complete one
a stray resume, and one that names a checkpoint after the answer a branch. Only `tasks` are logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent
from langgraph.types import Command

from mbt.loggers.lines import RECORDS, Lines, Naming, Progress


@dataclass
class _Call:
    """One call of the graph; a "branch" and a "stray" resume are one action each, at its end."""

    thread: str
    run: Progress
    kind: str
    given: dict[str, Any]
    asked: bool = False


class LangGraphLog(GraphCallbackHandler):
    """Writes one line an action; for graphs that run one task of a thread at a time."""

    run_inline = True  # in an async graph too, a line is written before the graph goes on

    def __init__(
        self, path: str | Path, tasks: Mapping[str, int], gate: str, name: Naming = str
    ) -> None:
        """Log to a file: which node is which task, which asks, what the model calls an answer."""
        self._tasks, self._gate, self._name = tasks, gate, name
        self._lines = Lines(path, max(tasks.values()))
        self._calls: dict[Any, _Call] = {}
        self._nodes: dict[Any, tuple[_Call, str]] = {}

    def effect(self, config: Mapping[str, Any]) -> None:
        """Count an effect of the node that is running; to be called right after the effect."""
        thread, node = str(config["metadata"]["thread_id"]), config["metadata"]["langgraph_node"]
        if not any(c.kind == "branch" for c in [*self._calls.values()] if c.thread == thread):
            self._lines.note(thread, note={"effect": self._tasks[node]})

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **more: Any) -> None:
        """A call of the graph begins, or a node in one."""
        metadata, parent = more.get("metadata") or {}, more.get("parent_run_id")
        if parent in self._calls and metadata.get("langgraph_node") in self._tasks:
            self._nodes[run_id] = self._calls[parent], metadata["langgraph_node"]
        elif parent is None and "thread_id" in metadata:
            thread = str(metadata["thread_id"])
            answer = inputs.resume if isinstance(inputs, Command) else None
            given = {} if answer is None else {"v": self._name(answer)}
            run = self._lines.begin(thread)
            branch = run.answered and "checkpoint_id" in metadata
            kind = "branch" if branch else "stray" if run.complete else "run"
            self._calls[run_id] = _Call(thread, run, kind, given)
            if not run.begun:
                self._lines.note(thread, records=RECORDS)
            elif kind == "run" and not (run.parked and given):
                self._lines.action(thread, "CrashRecover")

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """The graph waits for an answer."""
        call = self._calls.get(event.run_id) if event.run_id else None
        if call and not event.checkpoint_ns:
            call.asked = True
            if call.kind == "run":
                self._lines.action(call.thread, "EmitInterrupt")

    def on_chain_end(self, outputs: Any, *, run_id: Any, **more: Any) -> None:
        """A node ends, or a call of the graph."""
        if run_id in self._nodes:
            call, node = self._nodes.pop(run_id)
            consumes = node == self._gate and (call.run.parked or not call.run.answered)
            params = call.given if consumes else {"t": self._tasks[node]}
            if call.kind == "run":
                self._lines.action(call.thread, "Consume" if consumes else "ExecTask", **params)
        elif ended := self._calls.pop(run_id, None):
            if ended.kind == "stray":
                self._lines.action(ended.thread, "ExtraResume")
            elif ended.kind == "run" and not ended.asked:
                self._lines.note(ended.thread, note={"complete": True})
            elif ended.given and not ended.asked:
                self._lines.action(ended.thread, "ForkResume", **ended.given)

    def on_chain_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        """A node, or a call, ends without a result."""
        self._nodes.pop(run_id, None)
        self._calls.pop(run_id, None)
