"""Traces: what a system is driven through, step by step, and how they are kept in files.

A step names an action, its parameters, and the state after it. TLC's dumps carry no parameters;
a value path says where in the state after the step one can be read (`forkVals[-1]`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tracegen.encoding import from_json, to_json
from tracegen.errors import MbtError
from tracegen.files import written_whole
from tracegen.graph import StateGraph
from tracegen.parser import parse_value
from tracegen.values import Function, Int, Str, Value

_NAME = re.compile(r"[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*")
_KEY = re.compile(
    r"""\.(?P<field>[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*)
    | \[(?P<argument> -?[0-9]+ | "(?:[^"\\]|\\.)*" | [A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]* )\]""",
    re.VERBOSE,
)


class TraceFileError(MbtError):
    """A file of traces cannot be read, or a line of it is not a trace."""


class ValuePathError(MbtError):
    """A value path is malformed, or leads nowhere in a state."""


@dataclass(frozen=True)
class Step:
    """One action taken: its name, its parameters by name, and the state after it."""

    action: str
    params: Mapping[str, Value]
    state: Mapping[str, Value]


@dataclass(frozen=True)
class Trace:
    """A behaviour of a named model of a module, from an initial state on."""

    name: str
    module: str
    model: str
    initial: Mapping[str, Value]
    steps: tuple[Step, ...]

    @cached_property
    def line(self) -> str:
        """The trace as JSON in one line, the same for equal traces; ASCII, without a line end."""
        steps = [
            {"action": step.action, "params": _encoded(step.params), "state": _encoded(step.state)}
            for step in self.steps
        ]
        record = {
            "name": self.name,
            "module": self.module,
            "model": self.model,
            "initial": _encoded(self.initial),
            "steps": steps,
        }
        return json.dumps(record, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of `line`."""
        return hashlib.sha256(self.line.encode()).hexdigest()


@dataclass(frozen=True)
class ValuePath:
    """Where a value is found in a state: a variable, then fields and arguments of functions."""

    text: str
    variable: str
    keys: tuple[Value, ...]

    @classmethod
    def parse(cls, text: str) -> ValuePath:
        """Read a path such as `consumedVal`, `ckpts[-1].task` or `owner["db"]`.

        Square brackets hold an integer, a string or the name of a model value. In a sequence 1
        is the first element, and negative numbers count from the end: -1 is the last.
        Raises ValuePathError.
        """
        variable = _NAME.match(text)
        keys, end = [], variable.end() if variable else 0
        while key := _KEY.match(text, end):
            keys.append(Str(key["field"]) if key["field"] else parse_value(key["argument"]))
            end = key.end()
        if variable is None or end < len(text):
            raise ValuePathError(
                f"{text!r} is not a path to a value; write a variable, then .field or [argument] "
                "as often as needed, like ckpts[-1].task"
            )
        return cls(text, variable[0], tuple(keys))

    def read(self, state: Mapping[str, Value]) -> Value:
        """The value in a state. Raises ValuePathError where the path leads nowhere."""
        if self.variable not in state:
            raise ValuePathError(f"{self.text}: no variable {self.variable} in {sorted(state)}")
        value = state[self.variable]
        for key in self.keys:
            if not isinstance(value, Function):
                raise ValuePathError(f"{self.text}: {value} is not a function, nothing is at {key}")
            place = key
            if value.is_seq and isinstance(key, Int) and key.value < 0:
                place = Int(len(value) + 1 + key.value)
            try:
                value = value[place]
            except KeyError:
                raise ValuePathError(f"{self.text}: {value} has nothing at {key}") from None
        return value


def trace_of_path(
    graph: StateGraph,
    edge_ids: Sequence[int],
    *,
    name: str,
    module: str,
    model: str,
    params: Mapping[str, Mapping[str, ValuePath]],
) -> Trace:
    """The trace along a path of a state graph, given by the numbers of its edges.

    `params` says, by action and parameter, where in the state after the step the parameter is
    read; an action that it does not name has none. A path without edges is the initial state of
    a graph that has one alone.

    Raises ValueError when the edges do not join or do not start in an initial state, and
    ValuePathError when a parameter is not where `params` says.
    """
    edges = [graph.edges[number] for number in edge_ids]
    start = edges[0].source if edges else 0
    # The initial states of a graph are its first ones.
    if start >= len(graph.initial) or (not edges and len(graph.initial) > 1):
        raise ValueError(f"path {list(edge_ids)} does not say which initial state it starts in")
    at, steps = start, []
    for edge in edges:
        if edge.source != at:
            raise ValueError(f"{edge} of a path does not start in state {at}, where it had come to")
        at, state = edge.target, graph.state(edge.target)
        paths = params.get(edge.action, {})
        values = {parameter: path.read(state) for parameter, path in paths.items()}
        steps.append(Step(edge.action, values, state))
    return Trace(name, module, model, graph.state(start), tuple(steps))


def write_traces(path: Path, traces: Iterable[Trace]) -> None:
    """Write traces as JSON lines, a trace a line; values in the encoding of `encoding.to_json`.

    The file appears whole or not at all.
    """
    with written_whole(path) as lines:
        lines.writelines(f"{trace.line}\n" for trace in traces)


def read_traces(path: Path) -> list[Trace]:
    """Read a file of traces, in the order of its lines.

    Raises TraceFileError, which names file and line, for anything that `write_traces` does not
    write: a line cut short, an unknown or missing field, a value outside the encoding, a name
    given twice, a state with other variables than the initial one.
    """
    traces: dict[str, Trace] = {}
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                trace = _trace(line, f"{path}:{number}")
                if traces.setdefault(trace.name, trace) is not trace:
                    raise TraceFileError(f"{path}:{number}: there was a trace {trace.name} before")
    except OSError as error:
        raise TraceFileError(f"{path}: cannot be read: {error.strerror}") from None
    return list(traces.values())


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _StepRecord(_Record):
    action: str
    params: dict[str, Any]
    state: dict[str, Any]


class _TraceRecord(_Record):
    name: str
    module: str
    model: str
    initial: dict[str, Any]
    steps: list[_StepRecord]


def _trace(line: bytes, where: str) -> Trace:
    try:
        record = _TraceRecord.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise TraceFileError(
            f"{where}: not a trace: {f'{field}: ' if field else ''}{first['msg']}"
        ) from None
    try:
        steps = [
            Step(step.action, _decoded(step.params), _decoded(step.state)) for step in record.steps
        ]
        initial = _decoded(record.initial)
    except MbtError as error:
        raise TraceFileError(f"{where}: {error}") from None
    for number, step in enumerate(steps, 1):
        if step.state.keys() != initial.keys():
            odd = ", ".join(sorted(step.state.keys() ^ initial.keys()))
            raise TraceFileError(
                f"{where}: step {number} has other variables than the initial state: {odd}"
            )
    return Trace(record.name, record.module, record.model, initial, tuple(steps))


def _encoded(values: Mapping[str, Value]) -> dict[str, Any]:
    return {name: to_json(value) for name, value in values.items()}


def _decoded(values: Mapping[str, Any]) -> dict[str, Value]:
    return {name: from_json(value) for name, value in values.items()}
