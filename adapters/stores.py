"""A store beside the run: what the framework's own reads say of it, and how it is tampered with.

An adapter names both (`Adapter.reads`, `Adapter.tamperings`); nothing here knows a framework.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.base import Adapter

#: One of the framework's calls that read a run, of its adapter; returns JSON, None where nothing
#: is stored.
Read = Callable[[Any], Any]
#: Of the text of a file.
Tampering = Callable[[str], str]

OURS = Path(__file__).parent


def readings(adapter: Adapter) -> dict[str, Any]:
    """What each of the framework's reads says, by name: {"says": JSON} or {"error": {...}}.

    Raises:
        Exception: an error of the adapter's own code, which no read of the framework made.
    """
    found: dict[str, Any] = {}
    for name, read in adapter.reads.items():
        try:
            found[name] = {"says": read(adapter)}
        except Exception as error:
            # Raised in a file of ours, it is no word of the framework.
            if Path(traceback.extract_tb(error.__traceback__)[-1].filename).parent == OURS:
                raise
            message = adapter.anonymous(str(error))[:300]
            found[name] = {"error": {"type": type(error).__name__, "message": message}}
    return found


def truncated(text: str) -> str:
    """The first half of a file, as a write leaves it that was cut short."""
    return text[: len(text) // 2]


def edited(change: Callable[[Any], object]) -> Tampering:
    """A tampering that changes the JSON of a file in place."""

    def tamper(text: str) -> str:
        content = json.loads(text)
        change(content)
        return json.dumps(content)

    return tamper


def put(value: Any, *path: str | int) -> Tampering:
    """A tampering that puts a value where a path leads."""

    def change(content: Any) -> None:
        _follow(content, path[:-1])[path[-1]] = value

    return edited(change)


def drop(*path: str | int) -> Tampering:
    """A tampering that takes away what a path leads to."""
    return edited(lambda content: _follow(content, path[:-1]).pop(path[-1]))


def _follow(content: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        content = content[step]
    return content
