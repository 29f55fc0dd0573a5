"""LangGraph's checkpointer behind a barrier: operations one at a time, in the order submitted.

LangGraph hands `put` and `put_writes` to an executor and waits for the first alone, with
durability="sync" too; nothing orders a task's writes and the checkpoint behind them (its issue
#8039). A run that is to be stopped at the same operation each time needs an order: the one in which
the executor was given them.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from adapters.barrier import Barrier


class Submissions:
    """What LangGraph submits to its executor of the checkpointer's operations, and in which order.

    Attributes:
        names: "put" or "put_writes" for each whose turn has come, in the order submitted.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._changed = threading.Condition()
        self._here = threading.local()
        self._came: set[int] = set()
        self._over: set[int] = set()
        self._turn = 0
        self._given: list[str] = []

    def watch(self, executor: type[Any]) -> None:
        """Number what executors of a class are given from now on, in this process."""
        submit = executor.submit

        def submit_in_turn(pool: Any, call: Callable[..., Any], *rest: Any, **more: Any) -> Any:
            given = next(filter(None, map(_operation, rest)), None)
            if given is None:
                return submit(pool, call, *rest, **more)
            with self._changed:
                ticket = len(self._given)
                self._given.append(given)

            def numbered(*arguments: Any, **named: Any) -> Any:
                self._here.ticket = ticket
                try:
                    return call(*arguments, **named)
                finally:
                    self._here.ticket = None
                    self._end(ticket)

            return submit(pool, numbered, *rest, **more)

        executor.submit = submit_in_turn

    def in_turn(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the checkpointer that waits for those that were submitted before it."""

        @functools.wraps(method)
        def perform(*arguments: Any) -> Any:
            ticket = getattr(self._here, "ticket", None)  # none where LangGraph calls it itself
            if ticket is not None:
                with self._changed:
                    self._changed.wait_for(lambda: self._turn == ticket)
                    self._come(ticket)
            return method(*arguments)

        return perform

    def _come(self, ticket: int) -> None:
        if ticket not in self._came:  # where one method calls another, both wait for the turn
            self._came.add(ticket)
            self.names.append(self._given[ticket])

    def _end(self, ticket: int) -> None:
        with self._changed:
            self._over.add(ticket)
            while self._turn in self._over:
                self._turn += 1
            self._changed.notify_all()


def put_behind(barrier: Barrier, saver: Any, submitted: list[str]) -> Submissions:
    """Put a checkpointer behind a barrier; return what keeps the order before it.

    Args:
        submitted: where the names of what is submitted are put.
    """
    from langchain_core.runnables.config import ContextThreadPoolExecutor

    submissions = Submissions(submitted)
    submissions.watch(ContextThreadPoolExecutor)
    barrier.guard(saver, put=_checkpoint, put_writes=_writes)
    saver.put = submissions.in_turn(saver.put)
    saver.put_writes = submissions.in_turn(saver.put_writes)
    return submissions


def _operation(argument: Any) -> str | None:
    """The operation that a submitted function performs, None where it performs none."""
    name = getattr(argument, "__name__", "") if callable(argument) else ""
    return next((kind for kind in ("put_writes", "put") if kind in name), None)


def _checkpoint(_config: Any, _checkpoint: Any, metadata: Any, *_: Any) -> str:
    return f"put({metadata['source']} {metadata['step']})"


def _writes(_config: Any, writes: Sequence[tuple[str, Any]], *_: Any) -> str:
    return f"put_writes({', '.join(sorted(channel for channel, _ in writes))})"
