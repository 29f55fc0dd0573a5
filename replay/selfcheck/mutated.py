"""Adapters with one thing of the harness's own side broken, or out of sight (`mbt selfcheck`).

The processes of a run import their adapter by name. `replay.selfcheck.mutated:FORM__ADAPTER` is
the class of that adapter with a form of this module put over it, so that what is broken in those
processes is broken by an adapter of their own, and nothing in `adapters` has to know.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from adapters.registry import load_adapter, locate

_SEPARATOR = "__"


def reference_of(form: str, adapter: str) -> str:
    """MODULE:CLASS of an adapter in a form."""
    return f"{__name__}:{form}{_SEPARATOR}{adapter.replace('-', '_')}"


def __getattr__(name: str) -> Any:
    """The class FORM__ADAPTER; Python asks for it, since nothing of that name is defined."""
    form, found, adapter = name.partition(_SEPARATOR)
    if not found or form not in FORMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return FORMS[form](load_adapter(locate(adapter.replace("_", "-"))))


def _every_second_lost(kind: Any) -> Any:
    class Lossy(kind):  # type: ignore[misc]
        def __init__(self, run: Any) -> None:
            super().__init__(run)
            self._fired = itertools.count(1)

        def effect(self, task: int, value: str | None = None) -> None:
            if next(self._fired) % 2:
                super().effect(task, value)

    return Lossy


def _recovered_lost(kind: Any) -> Any:
    class Lossy(kind):  # type: ignore[misc]
        def effect(self, task: int, value: str | None = None) -> None:
            if not self.run.recovery:
                super().effect(task, value)

    return Lossy


def _twice(kind: Any) -> Any:
    class Double(kind):  # type: ignore[misc]
        def effect(self, task: int, value: str | None = None) -> None:
            super().effect(task, value)
            super().effect(task, value)

    return Double


def _one_digest(kind: Any) -> Any:
    class Constant(kind):  # type: ignore[misc]
        def store_digest(self) -> str | None:
            return "the one digest"

    return Constant


def _a_digest_each(kind: Any) -> Any:
    class Fickle(kind):  # type: ignore[misc]
        def store_digest(self) -> str | None:
            return f"process {self.run.process} in {self.run.folder}"

    return Fickle


def _passing(kind: Any, action: str) -> Any:
    """The gated task's gate does not hold a process that takes an action."""

    def begin(self: Any, v: str) -> Any:
        self.unheld = True
        return getattr(kind, action)(self, v)

    def enter(self: Any, task: int) -> None:
        if self.unheld and task == self.gated:
            self.unheld, self.pc = False, task
        else:
            kind.enter(self, task)

    return type("Passing", (kind,), {"unheld": False, action: begin, "enter": enter})


def _second_unheld(kind: Any) -> Any:
    return _passing(kind, "RaceConsume")


def _first_unheld(kind: Any) -> Any:
    return _passing(kind, "Consume")


def _without_checkpoints(kind: Any) -> Any:
    class Blind(kind):  # type: ignore[misc]
        def public_state(self) -> dict[str, Any]:
            seen: dict[str, Any] = super().public_state()
            return {name: value for name, value in seen.items() if name != "ckpts"}

    return Blind


def _own_frontier(kind: Any) -> Any:
    class Rebuilt(kind):  # type: ignore[misc]
        completed = 0

        def _complete(self, task: int, consumed: str | None) -> None:
            super()._complete(task, consumed)
            self.completed = max(self.completed, task)

        def public_state(self) -> dict[str, Any]:
            seen: dict[str, Any] = super().public_state()
            return seen | {"frontier": self.completed}

    return Rebuilt


FORMS: dict[str, Callable[[Any], Any]] = {
    "every_second_lost": _every_second_lost,
    "recovered_lost": _recovered_lost,
    "twice": _twice,
    "one_digest": _one_digest,
    "a_digest_each": _a_digest_each,
    "second_unheld": _second_unheld,
    "first_unheld": _first_unheld,
    "without_checkpoints": _without_checkpoints,
    "own_frontier": _own_frontier,
}
"""Name of a form -> what makes the class of it from an adapter's. The last two are of rows."""
