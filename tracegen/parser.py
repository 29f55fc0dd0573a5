"""Reading TLA+ values and states from the text that TLC prints.

The grammar is `tla.lark`. The same few texts make up most of what a checker prints (809 distinct
values in 101,302 states of the resume model), so each distinct one is parsed once and its value
shared. The output of a whole run is read by `tracegen.output`, a dump by `tracegen.dot`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, UnexpectedToken

from tracegen.errors import MbtError
from tracegen.values import (
    FALSE,
    TRUE,
    Function,
    Int,
    ModelValue,
    Set,
    Str,
    Value,
    ValueFormatError,
    seq,
)

INTERVAL_LIMIT = 1_000_000
"""The longest interval (TLC prints 1..3 for {1, 2, 3}) whose elements are held."""

_CACHED = 2**16
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "f": "\f", "r": "\r"}


class ParseError(MbtError):
    """A text is not what TLC prints."""


@lru_cache(maxsize=_CACHED)
def parse_value(text: str) -> Value:
    """The value that a TLA+ text stands for.

    Raises ParseError, which quotes the place.
    """
    value: Value = _parse("value", text)
    return value


@lru_cache(maxsize=_CACHED)
def parse_conjunct(text: str) -> tuple[str, Value]:
    r"""One variable and its value: `/\ x = 1`, or `x = 1` as TLC prints a state's only variable.

    Raises ParseError, which quotes the place.
    """
    name, value = _parse("conjunct", text)
    return name, value


def parse_arguments(text: str) -> tuple[Value, ...]:
    """The arguments of an action, as newer builds than 2.15 print them: `1, "a"`.

    Raises ParseError, which quotes the place.
    """
    arguments: tuple[Value, ...] = _parse("arguments", text)
    return arguments


def parse_state(text: str) -> dict[str, Value]:
    r"""A state, in the order in which TLC prints the variables.

    The text is a conjunction with a line or more for each variable (`/\ x = 1`), or `x = 1` where
    there is but one. Raises ParseError, which quotes the place.
    """
    state: dict[str, Value] = {}
    # A value goes on in indented lines, and no string holds a raw line break.
    for conjunct in text.strip().split("\n/\\ "):
        name, value = parse_conjunct(conjunct)
        if name in state:
            raise ParseError(f"variable {name} has two values in one state: {_excerpt(text)}")
        state[name] = value
    return state


class _ToValues(Transformer[Token, Any]):
    """Turns each rule of the grammar into what it stands for, as it is recognised."""

    def conjunct(self, children: list[Any]) -> tuple[str, Value]:
        return str(children[0]), children[1]

    def true(self, _: list[Any]) -> Value:
        return TRUE

    def false(self, _: list[Any]) -> Value:
        return FALSE

    def integer(self, children: list[Token]) -> Value:
        return _integer(children[0])

    def interval(self, children: list[Token]) -> Value:
        first, last = (_integer(end).value for end in children)
        if last - first >= INTERVAL_LIMIT:
            raise ValueFormatError(f"the interval {first}..{last} is too long to hold")
        return Set(map(Int, range(first, last + 1)))

    def string(self, children: list[Token]) -> Value:
        return Str(_ESCAPE.sub(_unescaped, children[0][1:-1]))

    def model_value(self, children: list[Token]) -> Value:
        return ModelValue(str(children[0]))

    def set(self, children: list[Value]) -> Value:
        return Set(children)

    def sequence(self, children: list[Value]) -> Value:
        return seq(children)

    def record(self, children: list[tuple[Value, Value]]) -> Value:
        return Function(children)

    function = record

    def field(self, children: list[Any]) -> tuple[Value, Value]:
        return Str(str(children[0])), children[1]

    def mapping(self, children: list[Value]) -> tuple[Value, Value]:
        return children[0], children[1]

    def arguments(self, children: list[Value]) -> tuple[Value, ...]:
        return (*children,)


@cache
def _grammar() -> Lark:
    return Lark.open(
        "tla.lark",
        rel_to=__file__,
        parser="lalr",
        start=["value", "conjunct", "arguments"],
        maybe_placeholders=False,
        transformer=_ToValues(),
    )


def _parse(start: str, text: str) -> Any:
    try:
        return _grammar().parse(text, start=start)
    except UnexpectedInput as unexpected:
        ended = isinstance(unexpected, UnexpectedToken) and unexpected.token.type == "$END"
        found = "the end" if ended else _excerpt(text[unexpected.pos_in_stream :])
        raise ParseError(f"TLA+ text expected, found {found} in {_excerpt(text)}") from None
    except ValueFormatError as wrong:
        raise ParseError(f"{wrong}, in {_excerpt(text)}") from None


def _integer(token: Token) -> Int:
    try:
        return Int(int(token))
    except ValueError:  # Python's own limit on digits
        raise ValueFormatError(f"an integer of {len(token)} digits is too long to read") from None


def _unescaped(escape: re.Match[str]) -> str:
    try:
        return _ESCAPED[escape[1]]
    except KeyError:
        raise ValueFormatError(f"TLC escapes nothing as {escape[0]}") from None


def _excerpt(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}..."
