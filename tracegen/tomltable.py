"""A TOML file as a table of `tracegen.spec_tables`' kind: strictly read, with file and line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tracegen.errors import MbtError
from tracegen.spec_tables import Table
from tracegen.tomlplace import line_of

Place = tuple[str | int, ...]
_Root = TypeVar("_Root", bound=Table)


def read_table(
    path: Path, root: type[_Root], inner: Mapping[str, type[Table]], error: type[MbtError]
) -> tuple[_Root, str]:
    """The table in a file, and the file's text, in which `place_of` finds the line of a key.

    `inner` names the classes of the tables inside, by the key that leads to them. Raises `error`,
    which names the file, the line and what is known there.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return root.model_validate(_frozen(tomllib.loads(text))), text
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}") from None
    except tomllib.TOMLDecodeError as problem:
        reason, _, where = str(problem).rpartition(" (at line ")
        line = f":{where.partition(',')[0]}" if reason else ""
        raise error(f"{path}{line}: not TOML: {problem}") from None
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not a text file: {problem.reason}") from None
    except ValidationError as problem:
        raise error(_first_problem(path, text, problem, root, inner)) from None


def place_of(path: Path, text: str, place: Place) -> str:
    """`file:line: keys` of a place in a table."""
    line = line_of(text, place)
    return f"{path}{f':{line}' if line else ''}: {'.'.join(map(str, place))}"


def _first_problem(
    path: Path,
    text: str,
    error: ValidationError,
    root: type[Table],
    inner: Mapping[str, type[Table]],
) -> str:
    errors = error.errors(include_url=False)
    # A key that is misspelt is missing too; the first says more.
    first = min(errors, key=lambda each: each["type"] != "extra_forbidden")
    place: Place = first["loc"]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        keys = (inner[str(part)] for part in reversed(place[:-1]) if part in inner)
        fields = next(keys, root).model_fields
        known = ", ".join(entry.alias or name for name, entry in fields.items())
        message = f"unknown key{f' (known: {known})' if known else ''}"
    return f"{place_of(path, text, place)}: {message}"


def _frozen(data: object) -> object:
    """The same with tuples for lists."""
    if isinstance(data, dict):
        return {key: _frozen(value) for key, value in data.items()}
    return tuple(map(_frozen, data)) if isinstance(data, list) else data
