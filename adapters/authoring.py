"""What an author of an adapter did wrong, in a sentence that names the file and the method."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType
from typing import Any

from adapters.base import Adapter, AdapterFault


def place(method: Callable[..., Any]) -> str:
    """A method with the file and line where it is written."""
    code: CodeType | None = getattr(inspect.unwrap(method), "__code__", None)
    where = f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else ""
    return f"{method.__qualname__}(){where}"


def mismatch(adapter: type[Adapter], action: str, params: Iterable[str]) -> str | None:
    """Why an adapter's method cannot be called with these parameters; None where it can."""
    wanted = [*params]
    method = getattr(adapter, action, None)
    if not callable(method):
        signature = ", ".join(["self", *wanted])
        return (
            f"{adapter.__name__} has no method {action}; add `def {action}({signature})`: "
            "an adapter has one for each action that is delivered (docs/adapters.md)"
        )
    try:
        inspect.signature(method).bind(None, **dict.fromkeys(wanted))
    except TypeError as error:
        names = ", ".join(wanted) or "no parameters"
        return (
            f"{place(method)} has to take {names} by name, as the model's action does: {error}; "
            f"write it as `def {action}({', '.join(['self', *wanted])})`"
        )
    return None


def unspeakable(adapter: Adapter, observed: Any) -> str | None:
    """Why an observation, and the notes with it, cannot be told to the driver; None where they can.

    Args:
        observed: what `observe()` returned.
    """
    observe = place(type(adapter).observe)
    if not isinstance(observed, dict) or not all(isinstance(name, str) for name in observed):
        return (
            f"{observe} has to return a dictionary of variables by name, and returned "
            f"{observed!r:.80}"
        )
    for source, values in (
        (f"{observe} returned", observed),
        ("run.notes holds", adapter.run.notes),
    ):
        for name, value in values.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError) as error:
                return (
                    f"{source} {name} = {value!r:.80}, which is no JSON ({error}); it has to be "
                    "None, a boolean, a number, a string, a list or a dictionary of these"
                )
    return None


def sentence(error: BaseException, adapter: type[Adapter]) -> str:
    """An error in an adapter: what it is and where in the adapter's own file it came from."""
    if isinstance(error, AdapterFault):
        if error.__cause__ is None:
            return str(error)
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, NotImplementedError) and not str(error) and frames:
        name = frames[-1].name
        return f"{adapter.__name__} has no method {name}, which is to be written: docs/adapters.md"
    own = {inspect.getfile(kind) for kind in adapter.__mro__[:-1] if kind is not Adapter}
    frame = next((frame for frame in reversed(frames) if frame.filename in own), None)
    where = f" ({Path(frame.filename).name}, line {frame.lineno}, {frame.name})" if frame else ""
    return f"{type(error).__name__}: {error}{where}"
