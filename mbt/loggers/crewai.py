"""An event listener that logs the runs of a CrewAI flow as actions of ResumeContract.

    log = CrewAILog("runs.jsonl", "Order", tasks={"draft": 1, "pay": 2, "send": 3}, gate="approve")
    Order(persistence=...).kickoff()

A flow's id is a run. A start under a known id is the resume of a flow that waits, a stray one of a
flow that is complete, and else a recovery. `gate` is the @human_feedback method; the task that
finishes next after its answer ends the action Consume. Other methods are not logged.

CrewAI hands events to a thread of its own. Handlers that are coroutines run there one after the
other, in the order of the events, but a killed process loses those that had not got there: `effect`
and `flush` wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crewai.events import BaseEventListener, crewai_event_bus
from crewai.events.types.flow_events import (
    FlowFinishedEvent,
    FlowPausedEvent,
    FlowStartedEvent,
    MethodExecutionFinishedEvent,
)

from mbt.loggers.lines import RECORDS, Lines, Naming


class CrewAILog(BaseEventListener):
    """Writes one line an action; for flows that run a task at a time."""

    def __init__(
        self, path: str | Path, flow: str, tasks: Mapping[str, int], gate: str, name: Naming = str
    ) -> None:
        """Log a flow by its name: which method is which task, what the model calls an answer."""
        self._lines = Lines(path, max(tasks.values()))
        self._flow, self._tasks, self._gate, self._name = flow, tasks, gate, name
        self._answers: dict[str, Any] = {}
        self._strays: set[str] = set()
        super().__init__()

    def flush(self) -> None:
        """Wait until what has happened is in the file."""
        crewai_event_bus.flush()

    def effect(self, flow: Any, task: int) -> None:
        """Count an effect of a task; to be called right after the effect."""
        self.flush()
        self._lines.note(flow.flow_id, note={"effect": task})

    def setup_listeners(self, crewai_event_bus: Any) -> None:
        """Listen; CrewAI calls this."""
        on = crewai_event_bus.on
        on(FlowStartedEvent)(self._handler(self._started))
        on(MethodExecutionFinishedEvent)(self._handler(self._finished))
        on(FlowPausedEvent)(self._handler(self._paused))
        on(FlowFinishedEvent)(self._handler(self._ended))

    def _handler(self, handle: Callable[[str, Any], None]) -> Callable[..., Any]:
        async def handler(source: Any, event: Any) -> None:
            if event.flow_name == self._flow:
                handle(source.flow_id, event)

        return handler

    def _started(self, run: str, event: FlowStartedEvent) -> None:
        known = self._lines.begin(run)
        self._answers.pop(run, None)
        self._strays.discard(run)
        if not known.begun:
            self._lines.note(run, records=RECORDS)
        elif known.complete:
            self._strays.add(run)
        elif event.inputs or not known.parked:
            self._lines.action(run, "CrashRecover")

    def _finished(self, run: str, event: MethodExecutionFinishedEvent) -> None:
        if event.method_name == self._gate:
            self._answers[run] = getattr(event.result, "feedback", event.result)
        elif event.method_name in self._tasks and run not in self._strays:
            if run in self._answers:
                self._lines.action(run, "Consume", v=self._name(self._answers.pop(run)))
            else:
                self._lines.action(run, "ExecTask", t=self._tasks[event.method_name])

    def _paused(self, run: str, event: FlowPausedEvent) -> None:
        self._lines.action(run, "ExtraResume" if run in self._strays else "EmitInterrupt")

    def _ended(self, run: str, event: FlowFinishedEvent) -> None:
        if run in self._strays:
            self._lines.action(run, "ExtraResume")
        else:
            self._lines.note(run, note={"complete": True})
