"""LangGraph over a checkpointer that stores a task's writes after the checkpoint behind them.

LangGraph orders a checkpoint after the one before it, and nothing else, so a checkpointer may. What
a crash leaves is then the checkpoint without the writes that it was made of, where another order
leaves the writes without the checkpoint.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from adapters.base import AdapterFault, Option, Run
from adapters.langgraph import LangGraph
from adapters.langgraph_barrier import Submissions


class LangGraphOrder(LangGraph):
    """The chain of tasks of `adapters.langgraph`, its writes stored in one of two orders.

    The order is that of the first process, the one that is behind a barrier.
    """

    #: Seconds that a body may wait for the writes of another.
    LIMIT = 30.0

    options: ClassVar[Mapping[str, Option]] = {
        **LangGraph.options,
        "order": Option(
            "submitted",
            ("submitted", "deferred"),
            "when put_writes stores: as it was submitted, or once the following put has stored",
        ),
    }

    def __init__(self, run: Run) -> None:
        """Put the order between LangGraph and the barrier."""
        super().__init__(run)
        self._finished: set[int] = set()
        self.written = threading.Event()  # what the first task wrote was given to us
        self._first = not run.recovery
        if self._first and self.submissions is not None:
            self._reorder(self.graph.checkpointer, self.submissions)

    def _reorder(self, saver: Any, submissions: Submissions) -> None:
        put, put_writes = saver.put, saver.put_writes
        deferred: list[tuple[Any, ...]] = []

        def put_first(*arguments: Any) -> Any:
            stored = put(*arguments)
            while deferred:
                put_writes(*deferred.pop(0))
            return stored

        def put_writes_later(config: Any, writes: Sequence[Any], *rest: Any) -> None:
            if self.run.options["order"] == "deferred":
                deferred.append((config, writes, *rest))
            else:
                put_writes(config, writes, *rest)
            if 1 in self._finished:
                self.written.set()

        saver.put = submissions.in_turn(put_first)
        saver.put_writes = submissions.in_turn(put_writes_later)

    def effect(self, task: int, value: str | None = None) -> None:
        """Fire the effect of a task, and remember that it did."""
        super().effect(task, value)
        self._finished.add(task)


class LangGraphFanOut(LangGraphOrder):
    """The first two tasks in one superstep, the others behind both; nothing is asked.

    The second task waits, in the first process, until what the first one wrote was handed to the
    checkpointer: which of the two is done is then no matter of luck.
    """

    @classmethod
    def edges(cls, names: Sequence[str], start: str, end: str) -> list[tuple[str, str]]:
        """Both from the start, and the rest a chain behind them."""
        first, second, *rest = names
        fan = [(start, first), (start, second), (first, rest[0]), (second, rest[0])]
        return [*fan, *zip(rest, [*rest[1:], end], strict=True)]

    def perform(self, task: int, checkpoint: str, *, gated: bool) -> dict[str, Any]:
        """Be the body of a node."""
        if task == 2 and self._first:
            with self.run.ours():
                if not self.written.wait(self.LIMIT):
                    raise AdapterFault("the first task's writes did not reach the checkpointer")
        return super().perform(task, checkpoint, gated=gated)
