"""LangGraph raced at real times: bodies are not held, and the gated one takes a given time.

For the studies that measure races (`mbt race timing`, `mbt race hosts`). They decide nothing:
what is replayed from a model goes through the adapters that these derive from.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from adapters.base import Run
from adapters.langgraph import LangGraph
from adapters.langgraph_calls import INTERRUPT
from adapters.langgraph_remit import LangGraphRemit
from adapters.langgraph_thread import THREAD
from adapters.namespaces import enter

TRIPS = 5
"""How often a server is asked for nothing; the least time is noted."""


class Timed(LangGraph):
    """LangGraph's graph API, whose calls are made at the times that the driver gives.

    Notes: those of its base; `place`, where the process is to be: the path of a network namespace,
    and the host and port of the server from there; `times`, when it did what, by name, in
    nanoseconds of the monotonic clock, which all processes of a machine share; `trip`, how long
    the server takes to answer it, in nanoseconds.
    """

    def __init__(self, run: Run) -> None:
        """Be where the driver says, before anything is connected to."""
        if place := run.notes.get("place"):
            enter(Path(place["network"]))
            # Of two hosts in an address, libpq takes the last.
            address = f"{run.services['postgres']} {place['address']}"
            run.services = {**run.services, "postgres": address}
        super().__init__(run)
        self._lasts = 0.0  # seconds
        run.notes["times"] = {}

    def look(self) -> Any:
        """Find the run as its caller would, before it answers: connections are warm then."""
        if self._savers.kind == "postgres":
            self.run.notes["trip"] = min(self._trip() for _ in range(TRIPS))
        return self._stand()

    def deliver(self, v: str, due: int, lasts: float) -> str:
        """Answer the interrupt at a time.

        Args:
            due: when to call, in nanoseconds of the monotonic clock.
            lasts: how long the gated body then takes before its effect, in milliseconds.
        """
        self._lasts = lasts / 1000
        answer = self._command(resume=v)
        time.sleep(max(due - time.monotonic_ns(), 0) / 1e9)
        self._note("called")
        result = self.system(
            lambda: self.graph.invoke(answer, THREAD, context=self, durability="sync")
        )
        self._note("back")
        return "parked" if INTERRUPT in result else "complete"

    def perform(self, task: int, checkpoint: str, *, gated: bool) -> dict[str, Any]:
        """Be the body of a node: it is held by nobody."""
        update: dict[str, Any] = {}
        if gated:
            update["consumed"] = self._interrupt({"task": task})
            self._note("past the read")
            time.sleep(self._lasts)
        self.effect(task, update.get("consumed"))
        if gated:
            self._note("fired")
        update["log"] = [{"task": task, "output": task}]
        return update

    def _trip(self) -> int:
        began = time.monotonic_ns()
        self._opened[0].execute("SELECT 1")
        return time.monotonic_ns() - began

    def _note(self, what: str) -> None:
        self.run.notes["times"][what] = time.monotonic_ns()


class TimedGate(Timed, LangGraphRemit):
    """The same over remit-contract's wrapper, whose gate is one of the options."""
