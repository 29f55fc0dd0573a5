"""Traces in the Informal Trace Format (ITF), as Apalache, Quint and others exchange them.

Source: Apalache's ADR 015, and real files of Apalache 0.19 to 0.44, Quint 0.22 to 0.33 and tools
around them. Written back, a file says the same: numbers come as {"#bigint": ".."}, as Apalache
writes them since 0.43; elements of sets and pairs of maps in the order of `tracegen.values`; an
empty `params` is left out; nothing else differs.

ITF has no model values: they are written as strings, as Apalache does. It has no actions either:
those of a trace of ours are written as Quint does, in `mbt::actionTaken` and `mbt::nondetPicks`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tracegen.encoding import Flaw, check_json, excerpt, from_json, parse_json
from tracegen.errors import MbtError
from tracegen.files import read_limited, written_whole
from tracegen.trace import Trace
from tracegen.values import (
    Bool,
    Function,
    Int,
    ModelValue,
    Set,
    Str,
    Value,
    ValueFormatError,
    parts,
    record,
    seq,
)

ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"
"""The variables in which Quint says which action led to a state, and with which choices."""

_FIELDS = ("#meta", "params", "vars", "states", "loop")
_DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
_UNIT = seq([])


class ItfError(MbtError):
    """A file is not a trace in ITF, or a trace cannot be said in it."""


@dataclass(frozen=True, slots=True, repr=False)
class Unserializable(Value):
    """What Apalache could not write as a value (the set of all integers, say): its text alone."""

    text: str

    def __str__(self) -> str:
        """The text, in the syntax of the tool that wrote it."""
        return self.text

    def sort_key(self) -> tuple[Any, ...]:
        """After all values of TLA+."""
        return (6, self.text)


@dataclass(frozen=True)
class ItfTrace:
    """A trace as a file has it.

    Attributes:
        variables: those that the file declares. A state may have others, and may lack some.
        states: from the first on; there may be none.
        loop: the place in `states` (from 0) that the last state goes back to.
        params: the constants among the variables of the states.
        meta: JSON about the trace.
        state_meta: JSON about each state, None where there is none; empty where no state has any.
    """

    variables: tuple[str, ...]
    states: tuple[Mapping[str, Value], ...]
    loop: int | None = None
    params: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    state_meta: tuple[Mapping[str, Any] | None, ...] = ()


def is_itf(path: Path) -> bool:
    """Whether a file is in ITF, by its name: x.itf.json, with or without something in between."""
    return path.suffix == ".json" and ".itf" in path.suffixes


def read_itf(path: Path) -> ItfTrace:
    """Read a file.

    Raises ItfError, or MbtError where it cannot be read; the message names the file and the place:
    the state (counted from 0, as ITF does), the variable, and the path in the JSON.
    """
    try:
        return _trace(parse_json(read_limited(path)))
    except (ItfError, ValueFormatError) as error:
        raise ItfError(f"{path}: {error}") from None


def write_itf(path: Path, trace: ItfTrace) -> None:
    """Write a file, whole or not at all.

    Raises ItfError where a model value and a string of the same text would become one.
    """
    try:
        _require_distinct(trace.states)
    except ItfError as error:
        raise ItfError(f"{path}: {error}") from None
    states = [
        ({} if meta is None else {"#meta": meta}) | {name: to_itf(v) for name, v in state.items()}
        for state, meta in zip_longest(trace.states, trace.state_meta)
    ]
    content: dict[str, Any] = {"#meta": trace.meta} if trace.meta else {}
    content |= {"params": trace.params} if trace.params else {}
    content |= {"vars": trace.variables, "states": states}
    content |= {} if trace.loop is None else {"loop": trace.loop}
    with written_whole(path) as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.write("\n")


def itf_of_trace(trace: Trace) -> ItfTrace:
    """A trace of ours for other tools, its actions and parameters in the variables of Quint.

    The first state's action is "init", as Quint has it; every parameter of any step is in each
    state's picks, {"tag": "Some", "value": v} where the step has it, else {"tag": "None", ..}.
    """
    names = sorted({name for step in trace.steps for name in step.params})

    def marked(state: Mapping[str, Value], action: str, params: Mapping[str, Value]) -> Any:
        picks = {
            name: record({"tag": Str("Some"), "value": params[name]})
            if name in params
            else record({"tag": Str("None"), "value": _UNIT})
            for name in names
        }
        return {**state, ACTION: Str(action), PICKS: Function(record(picks).pairs, "{}")}

    states = [marked(trace.initial, "init", {})]
    states += [marked(step.state, step.action, step.params) for step in trace.steps]
    return ItfTrace(
        variables=(*trace.initial, ACTION, PICKS),
        states=tuple(states),
        meta={
            "format": "ITF",
            "format-description": _DESCRIPTION,
            "source": f"{trace.module}.tla",
            "description": f"Created by mbt: trace {trace.name} of model {trace.model}",
        },
        state_meta=tuple({"index": number} for number in range(len(states))),
    )


def to_itf(value: Value) -> Any:
    """A value for `json.dumps`, in the notation that it was read in, where it was read.

    Where it was not, a sequence is a #tup, a function of names an object, another a #map.
    """
    match value:
        case Bool(value=plain) | Str(value=plain):
            return plain
        case Int(value=number):
            return {"#bigint": str(number)}
        case ModelValue(name=name):
            return name
        case Unserializable(text=text):
            return {"#unserializable": text}
        case Set():
            return {"#set": [to_itf(item) for item in value]}
        case Function(notation="[]"):
            return [to_itf(item) for item in value.as_list()]
        case Function(notation=None | "#tup") if value.is_seq:
            return {"#tup": [to_itf(item) for item in value.as_list()]}
        case Function() if value.notation == "{}" or (not value.notation and value.is_record):
            return {_field(key): to_itf(item) for key, item in value.items()}
        case Function():
            return {"#map": [[to_itf(key), to_itf(item)] for key, item in value.items()]}
    raise TypeError(f"not a value: {value!r}")


# --- reading


def _trace(content: Any) -> ItfTrace:
    if not isinstance(content, dict):
        raise _odd("not a trace", "an object with vars and states", content)
    for name in content:
        if name not in _FIELDS:
            raise ItfError(f"unknown field {excerpt(name)} (known: {', '.join(_FIELDS)})")
    for name in ("vars", "states"):
        if name not in content:
            raise ItfError(f"not a trace: there is no field {name!r}")
    meta = _metadata(content.get("#meta", {}), "#meta")
    if meta.get("format", "ITF") != "ITF":
        raise ItfError(f'#meta.format: "ITF" expected, found {excerpt(meta["format"])}')
    states = content["states"]
    if not isinstance(states, list):
        raise _odd("states", "a list", states)
    for number, state in enumerate(states):
        if not isinstance(state, dict):
            raise _odd(f"state {number}: states[{number}]", "an object", state)
    metas = [_state_metadata(state, number) for number, state in enumerate(states)]
    return ItfTrace(
        variables=_names(content["vars"], "vars"),
        states=tuple(_state(state, number) for number, state in enumerate(states)),
        loop=_loop(content["loop"], len(states)) if "loop" in content else None,
        params=_names(content.get("params", []), "params"),
        meta=meta,
        state_meta=tuple(metas) if any(meta is not None for meta in metas) else (),
    )


def _names(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise _odd(where, "a list of names", given)
    for number, name in enumerate(given):
        place = f"{where}[{number}]"
        check_json(name, place)
        if not isinstance(name, str):
            raise _odd(place, "a name", name)
        if not name or name.startswith("#"):
            raise ItfError(f"{place}: {name!r} is no name of a variable")
    for name, count in Counter(given).items():
        if count > 1:
            raise ItfError(f"{where}: {name!r} is there twice")
    return tuple(given)


def _loop(given: Any, states: int) -> int:
    if type(given) is not int:
        raise _odd("loop", "a state's place", given)
    if not 0 <= given < states:
        raise ItfError(f"loop: there is no state {given} among the {states} (counted from 0)")
    return given


def _state(given: dict[str, Any], number: int) -> dict[str, Value]:
    state = {}
    for name, obj in given.items():
        if name == "#meta":
            continue
        check_json(name, f"state {number}: the name of a variable")
        if not name or name.startswith("#"):
            raise ItfError(f"state {number}: states[{number}]: {name!r} is no name of a variable")
        where = f"states[{number}]" + (f".{name}" if name.isidentifier() else f'["{name}"]')
        try:
            state[name] = from_json(obj, where, {"#unserializable": Unserializable})
        except ValueFormatError as error:
            raise ItfError(f"state {number}, variable {name}: {error}") from None
    return state


def _state_metadata(state: dict[str, Any], number: int) -> Mapping[str, Any] | None:
    if "#meta" not in state:
        return None
    where = f"state {number}: states[{number}].#meta"
    meta = _metadata(state["#meta"], where)
    index = meta.get("index", number)
    if type(index) is not int or index != number:
        raise ItfError(
            f"{where}.index is {excerpt(index)}: states are missing, or not in their order"
        )
    return meta


def _metadata(given: Any, where: str) -> Mapping[str, Any]:
    check_json(given, where)
    if not isinstance(given, dict):
        raise _odd(where, "an object", given)
    return given


def _odd(where: str, expected: str, found: Any) -> ItfError:
    if isinstance(found, Flaw):
        return ItfError(f"{where}: {found.what}")
    return ItfError(f"{where}: {expected} expected, found {excerpt(found)}")


# --- writing


def _field(key: Value) -> str:
    assert isinstance(key, Str), f"a record has no field {key}"
    return key.value


def _require_distinct(states: Iterable[Mapping[str, Value]]) -> None:
    """Refuse a trace in which a model value and a string have the same text."""
    seen = {part for state in states for value in state.values() for part in parts(value)}
    for value in seen:
        if isinstance(value, ModelValue) and Str(value.name) in seen:
            raise ItfError(
                f"the trace has the model value {value} and the string {Str(value.name)}, which "
                "are one in ITF; write the trace as JSON lines"
            )
