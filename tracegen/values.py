"""TLA+ values, with TLA+'s own equality: strict in kind, blind to notation.

TRUE is not 1 and a model value is not a string; sets are unordered; and a tuple, a record and a
function are one thing, a function, so that <<1>> = [x \\in 1..1 |-> 1]. All values are immutable,
hashable and totally ordered (by kind, then by content: the order is ours, not TLA+'s).

`str` of a value is its TLA+ text: one text for equal values, another for different ones, and one
that TLC 2.15 reads back where strings are ASCII and integers fit 32 bits, as TLC demands.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Literal

from tracegen.errors import MbtError

_IDENTIFIER = re.compile(r"[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*", re.ASCII)

# Names that TLA+ keeps for itself, so that no field or model value can be written with them.
_RESERVED_WORDS = """
    ASSUME ASSUMPTION AXIOM BOOLEAN BY CASE CHOOSE CONSTANT CONSTANTS CORE DEF DEFINE DEFS
    DOMAIN ELSE ENABLED EXCEPT EXTENDS FALSE HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL
    MODULE NEW OBVIOUS OMITTED ONLY OTHER PICK PROOF PROPOSITION PROVE QED RECURSIVE SF_
    STATE STRING SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM TRUE UNCHANGED UNION USE
    VARIABLE VARIABLES WF_ WITH WITNESS
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())
# Sets that TLC prints by name, since it cannot enumerate them.
_NAMED_SETS = frozenset({"Int", "Nat", "Real", "STRING"})

# A sequence, a tuple, a record and a map are one thing to TLA+ and four to typed formats.
Notation = Literal["[]", "#tup", "{}", "#map"]

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\f": "\\f", "\r": "\\r"}
_ESCAPED = str.maketrans(_ESCAPES)


class ValueFormatError(MbtError):
    """What was given does not stand for a TLA+ value."""


def _excerpt(obj: Any) -> str:
    text = repr(obj)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _demand(holds: bool, given: object, kind: str) -> None:
    if not holds:
        raise ValueFormatError(f"{_excerpt(given)} (a {type(given).__name__}) is not {kind}")


class Value(ABC):
    """A TLA+ value: one of Bool, Int, Str, ModelValue, Set and Function."""

    __slots__ = ()

    @abstractmethod
    def sort_key(self) -> tuple[Any, ...]:
        """A key that orders all values, equal only for equal ones."""

    def __lt__(self, other: Value) -> bool:
        """The order of this module: by kind, then by content."""
        return self.sort_key() < other.sort_key()

    def __repr__(self) -> str:
        """The kind and the TLA+ text."""
        return f"{type(self).__name__}({self})"


@dataclass(frozen=True, slots=True, repr=False)
class Bool(Value):
    """TRUE or FALSE."""

    value: bool

    def __post_init__(self) -> None:
        """Refuse anything but a bool."""
        _demand(type(self.value) is bool, self.value, "a Boolean")

    def __str__(self) -> str:
        """TRUE or FALSE."""
        return "TRUE" if self.value else "FALSE"

    def sort_key(self) -> tuple[Any, ...]:
        """First among the kinds."""
        return (0, self.value)


@dataclass(frozen=True, slots=True, repr=False)
class Int(Value):
    """An integer of any size (TLC's own have 32 bits)."""

    value: int

    def __post_init__(self) -> None:
        """Refuse anything but an int, so a bool too."""
        _demand(type(self.value) is int, self.value, "an integer")

    def __str__(self) -> str:
        """The decimal digits, after a minus where it is negative."""
        return str(self.value)

    def sort_key(self) -> tuple[Any, ...]:
        """Second among the kinds."""
        return (1, self.value)


@dataclass(frozen=True, slots=True, repr=False)
class Str(Value):
    """A string."""

    value: str

    def __post_init__(self) -> None:
        """Refuse anything but a str."""
        _demand(type(self.value) is str, self.value, "a string")

    def __str__(self) -> str:
        """The string in quotes, escaped as TLC does it."""
        return f'"{self.value.translate(_ESCAPED)}"'

    def sort_key(self) -> tuple[Any, ...]:
        """Third among the kinds."""
        return (2, self.value)


@dataclass(frozen=True, slots=True, repr=False)
class ModelValue(Value):
    """A model value: equal to itself alone. TLC prints an unassigned variable as one named null."""

    name: str

    def __post_init__(self) -> None:
        """Refuse what TLA+ has no such name for."""
        if type(self.name) is not str or not is_identifier(self.name) or self.name in _NAMED_SETS:
            raise ValueFormatError(f"{self.name!r} cannot be the name of a model value")

    def __str__(self) -> str:
        """The name."""
        return self.name

    def sort_key(self) -> tuple[Any, ...]:
        """Fourth among the kinds."""
        return (3, self.name)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Set(Value):
    """A finite set. Iterates in the order of this module."""

    items: frozenset[Value]

    def __init__(self, items: Iterable[Value] = ()) -> None:
        """Make a set of the given values, of which equal ones count once."""
        object.__setattr__(self, "items", frozenset(items))

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.items)

    def __iter__(self) -> Iterator[Value]:
        """The elements in the order of this module."""
        return iter(sorted(self.items))

    def __contains__(self, value: object) -> bool:
        """Whether a value is an element."""
        return value in self.items

    def __str__(self) -> str:
        """The elements in the order of this module, in braces."""
        return f"{{{', '.join(map(str, self))}}}"

    def sort_key(self) -> tuple[Any, ...]:
        """Fifth among the kinds; smaller sets first."""
        return (4, len(self), tuple(value.sort_key() for value in self))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Function(Value):
    """A function with a finite domain; TLA+'s tuples, sequences and records are such."""

    pairs: tuple[tuple[Value, Value], ...]
    """Arguments and their values, in the order of this module."""
    notation: Notation | None = field(default=None, compare=False)
    """How a file has it that it was read from, and no part of the value: see `encoding`."""

    def __init__(
        self, pairs: Iterable[tuple[Value, Value]] = (), notation: Notation | None = None
    ) -> None:
        """Make a function of (argument, value) pairs.

        Raises ValueFormatError where an argument has two values.
        """
        ordered: dict[Value, Value] = {}
        for argument, value in sorted(pairs, key=_argument):
            if ordered.setdefault(argument, value) != value:
                raise ValueFormatError(f"a function cannot map {argument} to two values")
        object.__setattr__(self, "pairs", tuple(ordered.items()))
        object.__setattr__(self, "notation", notation)

    def __len__(self) -> int:
        """The size of the domain."""
        return len(self.pairs)

    def __getitem__(self, argument: Value) -> Value:
        """The value at an argument. Raises KeyError outside the domain."""
        place = bisect_left(self.pairs, argument.sort_key(), key=_argument)
        if place == len(self.pairs) or self.pairs[place][0] != argument:
            raise KeyError(argument)
        return self.pairs[place][1]

    def items(self) -> tuple[tuple[Value, Value], ...]:
        """The pairs of argument and value, in the order of this module."""
        return self.pairs

    @property
    def is_seq(self) -> bool:
        """Whether the domain is 1..n, as it is of tuples and sequences; the empty one's is."""
        # The arguments are distinct and in order, so the two ends settle it.
        return not self.pairs or (
            self.pairs[0][0] == Int(1) and self.pairs[-1][0] == Int(len(self.pairs))
        )

    @property
    def is_record(self) -> bool:
        """Whether there are arguments, all of them strings that are names of fields."""
        return bool(self.pairs) and all(
            isinstance(key, Str) and _IDENTIFIER.fullmatch(key.value) for key, _ in self.pairs
        )

    def as_list(self) -> list[Value]:
        """The elements of a sequence. Raises ValueFormatError when it is none."""
        if not self.is_seq:
            raise ValueFormatError(f"{self} is not a sequence")
        return [value for _, value in self.pairs]

    def __str__(self) -> str:
        """As a tuple where the domain is 1..n, a record where it can be, else with :> and @@."""
        if self.is_seq:
            return f"<<{', '.join(map(str, self.as_list()))}>>"
        # TLC itself prints [IF |-> 1], which no TLA+ parser reads.
        if all(isinstance(key, Str) and is_identifier(key.value) for key, _ in self.pairs):
            fields = (f"{_text(key)} |-> {value}" for key, value in self.pairs)
            return f"[{', '.join(fields)}]"
        return f"({' @@ '.join(f'{key} :> {value}' for key, value in self.pairs)})"

    def sort_key(self) -> tuple[Any, ...]:
        """Last among the kinds; smaller domains first."""
        return (5, len(self), tuple((k.sort_key(), v.sort_key()) for k, v in self.pairs))


TRUE = Bool(True)
FALSE = Bool(False)


def seq(items: Iterable[Value]) -> Function:
    """The sequence (or tuple) of the given elements."""
    return Function((Int(place), value) for place, value in enumerate(items, 1))


def record(fields: Mapping[str, Value]) -> Function:
    """The record with the given fields."""
    return Function((Str(name), value) for name, value in fields.items())


def function(pairs: Mapping[Value, Value] | Iterable[tuple[Value, Value]]) -> Function:
    """The function with the given arguments and values."""
    return Function(pairs.items() if isinstance(pairs, Mapping) else pairs)


def parts(value: Value) -> Iterator[Value]:
    """The value itself and all values in it, at any depth."""
    todo = [value]
    while todo:
        part = todo.pop()
        yield part
        if isinstance(part, Set):
            todo += part.items
        elif isinstance(part, Function):
            todo += (each for pair in part.pairs for each in pair)


def is_identifier(name: str) -> bool:
    """Whether a name can stand in a module: TLA+'s form of identifiers, and not reserved."""
    return (
        _IDENTIFIER.fullmatch(name) is not None
        and name not in _RESERVED
        and not name.startswith(("WF_", "SF_"))
    )


def from_python(obj: Any, null: Value | None = None) -> Value:
    """The value that a Python object stands for.

    bool, int and str as themselves, a list or tuple as a sequence, a mapping as a record (or as a
    function, where keys are no names), a set as a set, None as `null`; a Value stays as it is.
    Raises ValueFormatError for anything else, a float and a None without `null` among it.
    """
    match obj:
        case Value():
            return obj
        case None if null is not None:
            return null
        case bool():
            return Bool(obj)
        case int():
            return Int(int(obj))
        case str():
            return Str(str.__str__(obj))
        case list() | tuple():
            return seq(from_python(item, null) for item in obj)
        case Mapping():
            return Function(
                (from_python(key, null), from_python(item, null)) for key, item in obj.items()
            )
        case AbstractSet():
            return Set(from_python(item, null) for item in obj)
    raise ValueFormatError(
        f"a {type(obj).__name__} does not stand for a TLA+ value: {_excerpt(obj)}"
    )


def to_python(value: Value) -> Any:
    """The plain Python object that says the same, where there is one: for people and reports.

    A sequence becomes a list, a set a sorted list, another function a dict whose keys are strings
    (a string's own text, the TLA+ text of anything else), and a model value None.
    """
    match value:
        case Bool(value=plain) | Int(value=plain) | Str(value=plain):
            return plain
        case ModelValue():
            return None
        case Set():
            return [to_python(item) for item in value]
        case Function() if value.is_seq:
            return [to_python(item) for item in value.as_list()]
        case Function():
            return {_text(key): to_python(item) for key, item in value.items()}
    raise TypeError(f"not a value: {value!r}")


def _argument(pair: tuple[Value, Value]) -> tuple[Any, ...]:
    return pair[0].sort_key()


def _text(key: Value) -> str:
    return key.value if isinstance(key, Str) else str(key)
