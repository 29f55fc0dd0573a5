"""TLA+ values as JSON: the encoding of the Informal Trace Format (ITF), Apalache's ADR 015.

Integers are numbers or {"#bigint": "..."}; a record is an object, a sequence a list, a tuple
{"#tup": [..]}, another function {"#map": [[argument, value], ..]}, a set {"#set": [..]}. To TLA+ a
sequence, a tuple, a record and a map are all functions; a `Function` remembers which it was read
as. Trace files of ours have one encoding a value, so that equal traces are equal bytes
(`to_json`); ITF files are written in the form that they were read in (`tracegen.itf`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from tracegen.values import (
    Bool,
    Function,
    Int,
    ModelValue,
    Notation,
    Set,
    Str,
    Value,
    ValueFormatError,
)

# JSON readers that know only doubles keep integers up to here.
_PLAIN_JSON = 2**53
# Python's own limit on converting decimal digits is 4,300.
_DIGITS = 4000
_DEPTH = 64
"""How deep values may stand in values: real ones have under 10; Python's stack ends at 1,000."""

_PATH = 160  # characters of a place in a message

_INTEGER = re.compile(r"-?[0-9]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Leaves = Mapping[str, Callable[[str], Value]]
"""What an object of one key stands for besides the kinds of ITF: key -> of its text, the value."""
_OURS: Leaves = {"#model": ModelValue}


def to_json(value: Value) -> Any:
    """A value for `json.dumps`, the same for equal values, as our trace files hold it.

    Integers are plain up to 2^53; a function is a #tup where it is a sequence, an object where its
    arguments are names, else a #map. A model value is {"#model": "name"}, which is no ITF.
    """
    match value:
        case Bool(value=plain) | Str(value=plain):
            return plain
        case Int(value=number):
            return number if abs(number) <= _PLAIN_JSON else {"#bigint": str(number)}
        case ModelValue(name=name):
            return {"#model": name}
        case Set():
            return {"#set": [to_json(item) for item in value]}
        case Function() if value.is_seq:
            return {"#tup": [to_json(item) for item in value.as_list()]}
        case Function() if value.is_record:
            return {_name(key): to_json(item) for key, item in value.items()}
        case Function():
            return {"#map": [[to_json(key), to_json(item)] for key, item in value.items()]}
    raise TypeError(f"not a value: {value!r}")


def from_json(obj: Any, at: str = "", leaves: Leaves = _OURS) -> Value:
    """The value that parsed JSON stands for; `at` is where it was found, for errors.

    Strict where JSON is not: null, a fraction, an element that a set has already, an argument that
    a map has already, and what `parse_json` found amiss raise ValueFormatError, which says where.
    """
    try:
        return _Reader(leaves).value(obj, _Place(None, at, 0))
    except RecursionError:
        raise ValueFormatError(f"{at}: JSON nested too deeply for a TLA+ value") from None


# --- JSON


@dataclass(frozen=True)
class Flaw:
    """Stands in parsed JSON for what JSON forbids, so that it is refused where it is met."""

    what: str


def parse_json(data: bytes) -> Any:
    """Parse JSON strictly; an object with a key given twice, a number too large become a `Flaw`.

    Raises ValueFormatError, with line and column, for anything that is not JSON in UTF-8.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueFormatError("starts with a byte order mark, which JSON has not; save it without")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=lambda text: Flaw(f"{text} is no number of JSON"),
            parse_float=_fraction,
            parse_int=_integer,
        )
    except UnicodeDecodeError as error:
        raise ValueFormatError(f"not UTF-8: byte {error.start} is {error.reason}") from None
    except json.JSONDecodeError as error:
        raise ValueFormatError(
            f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise ValueFormatError("JSON nested too deeply to be read") from None


def check_json(obj: Any, at: str) -> None:
    """Refuse JSON that holds a `Flaw` or half a character; for what is kept and not understood.

    Raises ValueFormatError.
    """
    todo = [(obj, _Place(None, at, 0))]
    while todo:
        item, place = todo.pop()
        place = place.deeper()
        if isinstance(item, Flaw):
            place.fail(item.what)
        elif isinstance(item, str):
            _text(item, place)
        elif isinstance(item, list | dict):
            pairs = item.items() if isinstance(item, dict) else enumerate(item)
            for key, inner in pairs:
                todo.append((inner, place.down(_text(key, place) if isinstance(key, str) else key)))


def excerpt(obj: Any) -> str:
    """Parsed JSON as a message quotes it: at most 80 characters, all of them ASCII."""
    try:
        text = json.dumps(obj, default=lambda flaw: flaw.what)
    except RecursionError:
        return "JSON nested too deeply to be shown"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Flaw:
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        return Flaw(f"the key {excerpt(key)} is there twice in one object")
    return found


def _fraction(text: str) -> float | Flaw:
    number = float(text)
    return number if math.isfinite(number) else Flaw(f"{text} is too large a number")


def _integer(text: str) -> int | Flaw:
    if len(text) > _DIGITS:
        return Flaw(f"an integer of {len(text)} digits is too long")
    return int(text)


# --- values


class _Place(NamedTuple):
    """Where in a JSON text something is, as a chain up to the root."""

    parent: _Place | None
    key: str | int
    depth: int

    def down(self, key: str | int) -> _Place:
        return _Place(self, key, self.depth)

    def deeper(self) -> _Place:
        """The same for the values in a value. Raises ValueFormatError where that is too deep."""
        if self.depth == _DEPTH:
            self.fail(f"nested deeper than {_DEPTH} values in one another")
        return self._replace(depth=self.depth + 1)

    def fail(self, reason: str) -> NoReturn:
        parts = []
        place = self
        while place.parent is not None:
            plain = isinstance(place.key, str) and _PLAIN_KEY.fullmatch(place.key)
            parts.append(f".{place.key}" if plain else f"[{excerpt(place.key)}]")
            place = place.parent
        text = f"{place.key}{''.join(reversed(parts))}"
        if len(text) > _PATH:
            text = f"{text[: _PATH - 20]}...{text[-17:]}"
        raise ValueFormatError(f"{text}: {reason}" if text else reason)


class _Reader:
    """Turns parsed JSON into values; `leaves` are the kinds of values that are one text."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves

    def value(self, obj: Any, place: _Place) -> Value:
        place = place.deeper()
        match obj:
            case bool():
                return Bool(obj)
            case int():
                return Int(obj)
            case str():
                return Str(_text(obj, place))
            case list():
                return _sequence(self._values(obj, place), "[]")
            case dict() if any(key.startswith("#") for key in obj):
                return self._marked(obj, place)
            case dict():
                fields = [
                    (Str(_text(key, place)), self.value(item, place.down(key)))
                    for key, item in obj.items()
                ]
                return Function(fields, "{}")
            case Flaw():
                place.fail(obj.what)
        place.fail(f"not the JSON of a TLA+ value: {excerpt(obj)}")

    def _marked(self, obj: dict[str, Any], place: _Place) -> Value:
        kind = next(key for key in obj if key.startswith("#"))
        content, inner = obj[kind], place.down(kind)
        if len(obj) > 1:
            inner.fail("it stands beside other fields")
        match kind, content:
            case "#set", list():
                elements = self._values(content, inner)
                _no_twins(elements, inner, "the element {} is there twice")
                return Set(elements)
            case "#tup", list():
                return _sequence(self._values(content, inner), "#tup")
            case "#map", list():
                return self._map(content, inner)
            case "#bigint", str() if _INTEGER.fullmatch(content) and len(content) <= _DIGITS:
                return Int(int(content))
            case _, str() if kind in self._leaves:
                try:
                    return self._leaves[kind](_text(content, inner))
                except ValueFormatError as error:
                    inner.fail(str(error))
        place.fail(f"not the JSON of a TLA+ value: {excerpt(obj)}")

    def _values(self, items: list[Any], place: _Place) -> list[Value]:
        return [self.value(item, place.down(number)) for number, item in enumerate(items)]

    def _map(self, items: list[Any], place: _Place) -> Function:
        pairs = []
        for number, item in enumerate(items):
            if not isinstance(item, list) or len(item) != 2:
                place.down(number).fail(f"not a pair of argument and value: {excerpt(item)}")
            argument, value = self._values(item, place.down(number))
            pairs.append((argument, value))
        _no_twins([argument for argument, _ in pairs], place, "the argument {} is there twice")
        return Function(pairs, "#map")


def _sequence(items: Iterable[Value], notation: Notation) -> Function:
    return Function(((Int(place), value) for place, value in enumerate(items, 1)), notation)


def _no_twins(values: list[Value], place: _Place, complaint: str) -> None:
    seen: set[Value] = set()
    for number, value in enumerate(values):
        if value in seen:
            place.down(number).fail(complaint.format(excerpt(to_json(value))))
        seen.add(value)


def _text(text: str, place: _Place) -> str:
    if _SURROGATE.search(text):
        place.fail(f"half a character (a lone surrogate) in {excerpt(text)}")
    return text


def _name(key: Value) -> str:
    return key.value if isinstance(key, Str) else str(key)
