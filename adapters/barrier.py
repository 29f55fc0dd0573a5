"""Barriers: a process that stops after each operation of a framework's persistence.

An adapter puts the public persistence object of its framework behind a `Barrier`; what the driver
does not let go is then killed with exactly so many operations durable.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

OPERATION, BEFORE_EFFECT, EFFECT = "operation", "before effect", "effect"
"""What a process stops at: an operation became durable, an effect is about to fire, it fired."""
Name = Callable[..., str]


class Barrier:
    """One process's barrier.

    Attributes:
        lock: held by whoever performs an operation or stands at a stop. Bodies and effects wait
            for it, so that nothing goes on beside a process that is stopped.
    """

    def __init__(self, stop: Callable[[str, str], None]) -> None:
        """Take what tells the driver of a stop (its kind, its name) and waits there."""
        self.lock = threading.RLock()
        self._stop = stop

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Perform one operation, with no other beside it, and stop once it is durable."""
        with self.lock:
            yield
            self._stop(OPERATION, name)

    @contextmanager
    def effect(self, task: int) -> Iterator[None]:
        """Fire one effect, and stop before it and after it."""
        with self.lock:
            self._stop(BEFORE_EFFECT, f"t{task}")
            yield
            self._stop(EFFECT, f"t{task}")

    def guard(self, persistence: Any, **operations: Name | None) -> None:
        """Put methods of a persistence object, plain or async, behind the barrier.

        Args:
            operations: the methods, each with what names a call from its arguments; None where
                the method's own name will do.
        """
        for method, name in operations.items():
            guarded = self.guarded(getattr(persistence, method), name)
            # Not setattr: models of pydantic take no attribute that they do not declare.
            vars(persistence)[method] = guarded

    def guarded(self, method: Callable[..., Any], name: Name | None = None) -> Callable[..., Any]:
        """A method behind the barrier."""
        named = name or (lambda *_, **__: method.__name__)
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def perform_async(*arguments: Any, **more: Any) -> Any:
                with self.operation(named(*arguments, **more)):
                    return await method(*arguments, **more)

            return perform_async

        @functools.wraps(method)
        def perform(*arguments: Any, **more: Any) -> Any:
            with self.operation(named(*arguments, **more)):
                return method(*arguments, **more)

        return perform

    def guard_span(self, persistence: Any, method: str, enters: str, leaves: str) -> None:
        """Put an async context manager behind the barrier: entering and leaving both store."""
        opening: Callable[..., AbstractAsyncContextManager[None]] = getattr(persistence, method)

        @asynccontextmanager
        async def span(*arguments: Any) -> AsyncIterator[None]:
            manager = opening(*arguments)
            with self.operation(enters):
                await manager.__aenter__()
            try:
                yield
            except BaseException as error:
                await manager.__aexit__(type(error), error, error.__traceback__)
                raise
            with self.operation(leaves):
                await manager.__aexit__(None, None, None)

        vars(persistence)[method] = span
