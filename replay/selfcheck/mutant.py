"""A mutant of the harness: what puts something in the place of something, and takes it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch

Patches = Sequence[AbstractContextManager[Any]]


@dataclass(frozen=True)
class Mutant:
    """How an operator is applied.

    Attributes:
        patches: what puts something in the place of something, made anew for each application.
        form: of the adapter (`replay.selfcheck.mutated`), None where it is as it is.
        walks: whether it can change what a system does or what is observed of it. Where it
            cannot, the runs of the baseline are compared and judged again.
    """

    patches: Callable[[], Patches] = lambda: ()
    form: str | None = None
    walks: bool = True

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Be in force."""
        with ExitStack() as stack:
            for each in self.patches():
                stack.enter_context(each)
            yield


def put(owner: object, name: str, instead: Any) -> AbstractContextManager[Any]:
    """Put something in the place of an attribute of a class or a module."""
    return cast(AbstractContextManager[Any], patch.object(owner, name, instead))


def original(module: ModuleType, name: str) -> Any:
    """What a module calls by a name that it imported."""
    return getattr(module, name)
