"""TLC configuration files: which behaviours to explore, the constants, what to check.

Read strictly: what TLC 2.15 drops or misreads in silence (a constant given twice, a comma taken for
an invariant's name) is an error here, with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from tracegen.errors import MbtError
from tracegen.module import end_of_comment

_SINGLE = {
    "SPECIFICATION": "specification",
    "INIT": "init",
    "NEXT": "next",
    "SYMMETRY": "symmetry",
    "VIEW": "view",
    "ALIAS": "alias",
    "POSTCONDITION": "postcondition",
}
_SEVERAL = {
    "INVARIANT": "invariants",
    "INVARIANTS": "invariants",
    "PROPERTY": "properties",
    "PROPERTIES": "properties",
    "CONSTRAINT": "constraints",
    "CONSTRAINTS": "constraints",
    "ACTION_CONSTRAINT": "action_constraints",
    "ACTION_CONSTRAINTS": "action_constraints",
}
_KEYWORDS = {*_SINGLE, *_SEVERAL, "CONSTANT", "CONSTANTS", "CHECK_DEADLOCK"}

_TOKEN = re.compile(
    r"""(?P<space>\s+|\\\*[^\n]*)
      | (?P<comment>\(\*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>[0-9]+(?![A-Za-z0-9_]))
      | (?P<name>[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*)
      | (?P<symbol><-|[={}(),\[\]])""",
    re.VERBOSE,
)
_VALUES = (
    "a number from 0, a string, TRUE, FALSE, a model value or a set of these "
    "(for any other, define it in the module and write NAME <- Definition)"
)


class ConfigError(MbtError):
    """A configuration cannot mean anything to TLC, or not what it seems to."""


@dataclass(frozen=True)
class Config:
    """What a .cfg file says.

    `constants` maps a name to the text of its value (`3`, `{"v1", "v2"}`, `NoVal`), or, for an
    operator given point by point, `Op(1)`; `substitutions` maps a name to a definition (`X <- Y`).
    `check_deadlock` is None where the file does not say; `tracegen.tlc` honours it itself, since
    TLC 2.15 does not know the keyword.
    """

    specification: str | None = None
    init: str | None = None
    next: str | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    substitutions: Mapping[str, str] = field(default_factory=dict)
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    action_constraints: tuple[str, ...] = ()
    symmetry: str | None = None
    view: str | None = None
    alias: str | None = None
    postcondition: str | None = None
    check_deadlock: bool | None = None
    source: str = field(default="", compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    """Where `source` gives each constant and substitution."""

    @property
    def text(self) -> str:
        """The configuration as TLC reads it, without comments and without CHECK_DEADLOCK.

        Constants stay in the order given: TLC orders model values by it, and with them its search.
        """
        single = {keyword: getattr(self, attribute) for keyword, attribute in _SINGLE.items()}
        lines = [f"{keyword} {name}" for keyword, name in single.items() if name]
        if self.constants or self.substitutions:
            lines.append("CONSTANTS")
            lines += [f"    {name} = {value}" for name, value in self.constants.items()]
            lines += [f"    {name} <- {to}" for name, to in self.substitutions.items()]
        for key in ("INVARIANT", "PROPERTY", "CONSTRAINT", "ACTION_CONSTRAINT"):
            lines += [f"{key} {name}" for name in getattr(self, _SEVERAL[key])]
        return "\n".join(lines) + "\n"

    @property
    def partial(self) -> tuple[str, ...]:
        """The keywords that keep TLC from exploring the whole state space."""
        given = {
            "CONSTRAINT": self.constraints,
            "ACTION_CONSTRAINT": self.action_constraints,
            "VIEW": self.view,
        }
        return tuple(keyword for keyword, names in given.items() if names)

    def place(self, name: str) -> str:
        """`file:line` of a constant, or the file, or nothing known."""
        line = self.lines.get(name)
        return f"{self.source or 'configuration'}{f':{line}' if line else ''}"

    def with_constants(
        self, constants: Mapping[str, str | int | bool] | None = None, /, **more: str | int | bool
    ) -> Config:
        """The same with these constants set. A str is the text of a value: '"v1"' is a string.

        Raises ConfigError for a value that no .cfg can hold.
        """
        given = {
            name: _constant(name, value) for name, value in {**(constants or {}), **more}.items()
        }
        kept = {name: to for name, to in self.substitutions.items() if name not in given}
        return replace(self, constants={**self.constants, **given}, substitutions=kept)

    def with_invariants(self, *names: str) -> Config:
        """The same with these invariants in place of its own."""
        return replace(self, invariants=names)

    def with_properties(self, *names: str) -> Config:
        """The same with these temporal properties in place of its own."""
        return replace(self, properties=names)


def read_config(path: Path) -> Config:
    """The configuration in a file. Raises ConfigError, which names the file and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a text file ({error.reason} at {error.start})") from None
    return parse_config(text, str(path))


def write_config(path: Path, config: Config) -> None:
    """Write a configuration for any TLC, its CHECK_DEADLOCK included."""
    deadlock = {None: "", True: "CHECK_DEADLOCK TRUE\n", False: "CHECK_DEADLOCK FALSE\n"}
    path.write_text(config.text + deadlock[config.check_deadlock], encoding="utf-8")


def parse_config(text: str, source: str = "configuration") -> Config:
    """The configuration in a text; `source` names it in errors. Raises ConfigError."""
    reader = _Reader(_tokens(text, source), source)
    found: dict[str, object] = {}
    while keyword := reader.next():
        if keyword.text not in _KEYWORDS:
            reader.fail(keyword, f"a keyword ({', '.join(sorted(_KEYWORDS))})")
        elif keyword.text == "CHECK_DEADLOCK":
            reader.put_once(found, "check_deadlock", keyword, reader.truth())
        elif keyword.text in _SINGLE:
            name = reader.name(f"a name after {keyword.text}")
            reader.put_once(found, _SINGLE[keyword.text], keyword, name)
        elif keyword.text in _SEVERAL:
            attribute = _SEVERAL[keyword.text]
            earlier = found.get(attribute, ())
            assert isinstance(earlier, tuple)
            found[attribute] = (*earlier, *reader.names())
        else:
            reader.constants()
    config = Config(
        **found,  # type: ignore[arg-type]
        constants=reader.values,
        substitutions=reader.substitutions,
        source=source,
        lines=reader.lines,
    )
    if config.specification and (config.init or config.next):
        raise ConfigError(f"{source}: give SPECIFICATION or INIT and NEXT, not both")
    return config


def _constant(name: str, value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    reader = _Reader(_tokens(str(value), f"constant {name}"), f"constant {name}")
    text = reader.value()
    if extra := reader.next():
        reader.fail(extra, "the end")
    return text


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def _tokens(text: str, source: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ConfigError(
                f"{source}:{line}: {text[at]!r} has no place in a .cfg; a value is {_VALUES}"
            )
        end = match.end()
        if match.lastgroup == "comment":
            if (comment_end := end_of_comment(text, end)) is None:
                raise ConfigError(f"{source}:{line}: the comment that starts here does not end")
            end = comment_end
        elif match.lastgroup != "space":
            yield _Token(str(match.lastgroup), match.group(), line)
        line += text.count("\n", at, end)
        at = end


class _Reader:
    """Walks the tokens once; `values`, `substitutions` and `lines` gather as it goes."""

    def __init__(self, tokens: Iterator[_Token], source: str) -> None:
        self._tokens = [*tokens]
        self._source = source
        self._at = 0
        self.values: dict[str, str] = {}
        self.substitutions: dict[str, str] = {}
        self.lines: dict[str, int] = {}

    def next(self) -> _Token | None:
        token = self._peek()
        self._at += 1
        return token

    def fail(self, token: _Token | None, expected: str) -> NoReturn:
        line = token.line if token else (self._tokens[-1].line if self._tokens else 1)
        found = repr(token.text) if token else "the end"
        raise ConfigError(f"{self._source}:{line}: expected {expected}, found {found}")

    def put_once(
        self, found: dict[str, object], attribute: str, keyword: _Token, value: object
    ) -> None:
        if attribute in found:
            raise ConfigError(f"{self._source}:{keyword.line}: {keyword.text} is given twice")
        found[attribute] = value

    def truth(self) -> bool:
        token = self.next()
        if token is None or token.text not in ("TRUE", "FALSE"):
            self.fail(token, "TRUE or FALSE after CHECK_DEADLOCK")
        return token.text == "TRUE"

    def name(self, expected: str) -> str:
        token = self.next()
        if token is None or token.kind != "name" or token.text in _KEYWORDS:
            self.fail(token, expected)
        return token.text

    def names(self) -> Iterator[str]:
        while (token := self._peek()) and token.text not in _KEYWORDS:
            yield self.name("names separated by spaces")

    def constants(self) -> None:
        while (token := self._peek()) and token.text not in _KEYWORDS:
            name = self.name("the name of a constant")
            if self._takes("("):
                name += f"({', '.join(self._list(')'))})"
            if name in self.lines:
                raise ConfigError(
                    f"{self._source}:{token.line}: {name} was given before, "
                    f"in line {self.lines[name]}"
                )
            self.lines[name] = token.line
            if self._takes("<-"):
                self.substitutions[name] = self._definition()
            elif self._takes("="):
                self.values[name] = self.value()
            else:
                self.fail(self.next(), f"= or <- after {name}")

    def value(self) -> str:
        token = self.next()
        if token and token.text == "{":
            return "{" + ", ".join(self._list("}")) + "}"
        if token is None or token.kind == "symbol" or token.text in _KEYWORDS:
            self.fail(token, f"a value: {_VALUES}")
        return token.text

    def _definition(self) -> str:
        module = ""
        if self._takes("["):
            module = f"[{self.name('the name of a module')}]"
            if not self._takes("]"):
                self.fail(self.next(), "]")
        return module + self.name("the name of a definition")

    def _list(self, closing: str) -> list[str]:
        """Values between commas, up to and with the closing sign."""
        if self._takes(closing):
            return []
        items = [self.value()]
        while self._takes(","):
            items.append(self.value())
        if not self._takes(closing):
            self.fail(self.next(), f"{closing} or a comma")
        return items

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _takes(self, symbol: str) -> bool:
        token = self._peek()
        taken = token is not None and token.kind == "symbol" and token.text == symbol
        self._at += taken
        return taken
