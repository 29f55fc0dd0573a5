"""Logs of real runs: JSON lines of the actions that a system took and of what it showed.

A line is an object with any of these fields:

    action   the action of the model that was taken; without one the line is an observation
    params   its parameters by name, as many as are known
    state    variables of the model by name, as they are right after the action
    run      which run the line belongs to; a file may hold several, their lines mixed
    records  the actions that whoever writes the log would have logged
    note     anything; not read here

Values are written as in trace files (`tracegen.encoding`), and null is the model's "nothing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tracegen.encoding import check_json, from_json, parse_json
from tracegen.errors import MbtError
from tracegen.files import read_limited
from tracegen.spec import Spec
from tracegen.values import Value, ValueFormatError

LONGEST_LINE = 2**20
"""Bytes of a line."""


class LogError(MbtError):
    """A log cannot be read, or a line of it is none; the message names file and line."""


@dataclass(frozen=True)
class Line:
    """An action, or an observation where `action` is None; `number` counts the file's lines."""

    number: int
    action: str | None
    params: Mapping[str, Value]
    state: Mapping[str, Value]


@dataclass(frozen=True)
class LoggedRun:
    """The lines of one run, in their order."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Log:
    """A file of logged runs.

    Attributes:
        runs: in the order of their first lines.
        named: the actions that the file names, in a line or as those that it records.
        unread: actions whose logged parameters cannot be compared, because no TOML says where.
    """

    path: Path
    runs: tuple[LoggedRun, ...]
    named: frozenset[str]
    unread: frozenset[str]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    action: str | None = None
    params: dict[str, Any] = {}
    state: dict[str, Any] = {}
    run: str | None = None
    records: list[str] = []
    note: Any = None


def read_log(path: Path, spec: Spec) -> Log:
    """Read a log of runs of a specification.

    Lines without a `run` belong to a run that is called like the file, without its extension.

    Raises LogError for what cannot be read, is no line of a log, or names an action, parameter
    or variable that the specification has not.
    """
    runs: dict[str, list[Line]] = {}
    named: set[str] = set()
    for number, text in enumerate(read_limited(path).split(b"\n"), 1):
        if not text.strip():
            continue
        where = f"{path}:{number}"
        record = _record(text, where)
        for action in (*record.records, *([record.action] if record.action else [])):
            _known(where, "action", action, spec.actions or spec.source.definitions)
            named.add(action)
        if record.run and not record.run.isprintable():
            raise LogError(f"{where}: run: {record.run!r} cannot be printed as it is")
        if record.params and record.action is None:
            raise LogError(f"{where}: parameters without an action")
        if spec.actions and record.action:
            for name in record.params:
                _known(
                    where, f"parameter of {record.action}", name, spec.params.get(record.action, {})
                )
        for name in record.state:
            _known(where, "variable", name, spec.source.variables)
        if record.action is None and not record.state:
            continue
        line = Line(
            number,
            record.action,
            _values(record.params, spec, f"{where}: params"),
            _values(record.state, spec, f"{where}: state"),
        )
        runs.setdefault(path.stem if record.run is None else record.run, []).append(line)
    if not runs:
        raise LogError(f"{path}: no line of it has an action or a state, so nothing can be checked")
    unread = {
        line.action
        for lines in runs.values()
        for line in lines
        if line.action and line.params and not spec.actions
    }
    found = tuple(LoggedRun(name, tuple(lines)) for name, lines in runs.items())
    return Log(path, found, frozenset(named), frozenset(unread))


def _record(text: bytes, where: str) -> _Record:
    if len(text) > LONGEST_LINE:
        raise LogError(f"{where}: a line of more than {LONGEST_LINE // 2**20} MB")
    try:
        parsed = parse_json(text)
        check_json(parsed, "")
        return _Record.model_validate(parsed)
    except ValueFormatError as error:
        raise LogError(f"{where}: {error}".replace("not JSON: line 1, ", "not JSON: ")) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        known = ", ".join(_Record.model_fields)
        if not field:
            message = f"a line of a log is an object; it may have {known}"
        elif first["type"] == "extra_forbidden":
            message = f"{field}: there is no field of this name; a line may have {known}"
        else:
            message = f"{field}: {first['msg']}"
        raise LogError(f"{where}: {message}") from None


def _known(where: str, what: str, name: str, known: Any) -> None:
    if name not in known:
        raise LogError(f"{where}: no {what} {name!r}; known: {', '.join(sorted(known)) or 'none'}")


def _values(given: Mapping[str, Any], spec: Spec, where: str) -> dict[str, Value]:
    try:
        return {
            name: from_json(_with_null(value, spec.null), name) for name, value in given.items()
        }
    except ValueFormatError as error:
        raise LogError(f"{where}: {error}") from None


def _with_null(value: Any, null: str | None) -> Any:
    """The same JSON with the model's "nothing" for each null."""
    match value:
        case None if null is not None:
            return {"#model": null}
        case list():
            return [_with_null(item, null) for item in value]
        case dict():
            return {key: _with_null(item, null) for key, item in value.items()}
    return value
