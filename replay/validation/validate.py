"""Trace validation: whether a model explains a log of a real run, hidden steps in between allowed.

The states that the model may be in are tracked from line to line. Before each line any number of
*hidden* steps may be taken: steps of actions that the log does not record. A line with an action
is one step of that action, to a state that has the line's values; a line without an action is a
state that has them. What is found is exact: a run is explained where, and only where, some path of
the model from an initial state passes through all its lines.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from replay.compare import Difference, Model
from replay.validation.log import Line, LoggedRun
from tracegen.errors import MbtError
from tracegen.graph import Edge
from tracegen.trace import Trace, ValuePathError, trace_of_path
from tracegen.values import Value

Values = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Taken:
    """A step of the model in an explanation; `line` is None where it was hidden."""

    edge: Edge
    line: int | None


@dataclass(frozen=True)
class Allowed:
    """A step that the model would have allowed, and what it would have shown.

    Attributes:
        action: None where it stands for no step: the states that the line could have observed.
        values: variable of the line -> all values it may have then.
    """

    action: str | None
    params: Values
    values: Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class Stop:
    """The first line that the model does not explain.

    Attributes:
        differences: the variables by which the nearest states miss the line; empty where the
            action, or the action with these parameters, is not allowed there at all.
        allowed: what is allowed there, of the actions that the log records.
        states: in how many states the model may have been before the line.
    """

    line: Line
    differences: tuple[Difference, ...]
    allowed: tuple[Allowed, ...]
    states: int

    def sentence(self) -> str:
        """Say it in one sentence."""
        what = step_text(self.line.action, self.line.params.items())
        if self.differences:
            after = f"after {what}" if self.line.action else "here"
            model = " and ".join(f"{d.variable} = {' or '.join(d.model)}" for d in self.differences)
            log = " and ".join(f"{d.variable} = {d.observed}" for d in self.differences)
            return f"{after} the model has {model}; the log has {log}"
        steps = dict.fromkeys(step_text(a.action, a.params) for a in self.allowed if a.action)
        return f"{what} is not allowed here; allowed is {', '.join(steps) or 'no logged action'}"


@dataclass(frozen=True)
class Validation:
    """One run against one model.

    Attributes:
        explained: how many of its lines are explained.
        stop: the line after them, None where all are.
        left: in how many states the model may be after the explained lines.
        path: a path through the explained lines with the fewest hidden steps.
    """

    run: LoggedRun
    explained: int
    stop: Stop | None
    left: int
    path: tuple[Taken, ...]


def step_text(action: str | None, params: Iterable[tuple[str, Value]]) -> str:
    """A step as people read it: `Consume(v="v1")`."""
    inside = ", ".join(f"{name}={value}" for name, value in params)
    return f"{action}({inside})" if inside else action or "what was observed"


def follow(run: LoggedRun, model: Model, hidden: frozenset[str]) -> Validation:
    """Follow a run over a model, up to the first line that it does not explain.

    Args:
        hidden: the actions that may be taken between two lines.
    """
    return _Tracking(run, model, hidden).result


def params_of(edge: Edge, model: Model) -> Values:
    """The parameters of a step, as far as the TOML says where they are.

    Raises MbtError where they are not there.
    """
    paths = model.spec.params.get(edge.action, {})
    if not paths:
        return ()
    state = model.graph.state(edge.target)
    try:
        return tuple((name, path.read(state)) for name, path in paths.items())
    except ValuePathError as error:
        raise _misplaced(model, error) from None


def trace_of(found: Validation, model: Model, name: str) -> Trace:
    """The explanation of a run as a trace of a named model, for `mbt replay --traces`.

    Raises MbtError where it has no step, or a parameter is not where the TOML says.
    """
    spec, path = model.spec, [taken.edge.id for taken in found.path]
    if not path:
        raise MbtError(f"run {found.run.name}: its explanation has no step, so it is no trace")
    try:
        return trace_of_path(
            model.graph,
            path,
            name=found.run.name,
            module=spec.module,
            model=name,
            params=spec.params,
        )
    except ValuePathError as error:
        raise _misplaced(model, error) from None


@dataclass(frozen=True)
class _Way:
    """How a state was come to: the number of hidden steps, the state before, the step."""

    hidden: int
    before: int | None
    edge: Edge | None


class _Tracking:
    """The states after each line, with the cheapest way to each."""

    def __init__(self, run: LoggedRun, model: Model, hidden: frozenset[str]) -> None:
        self._run, self._model, self._hidden = run, model, hidden
        self._params: dict[int, Values] = {}
        # For each line that is explained: the ways of the hidden steps before it, and its own.
        self._layers: list[tuple[dict[int, _Way], dict[int, _Way]]] = []
        arrived = {state: _Way(0, None, None) for state in model.graph.initial}
        stop = None
        for line in run.lines:
            closed = self._closure(arrived)
            after = self._agreeing(line, closed)
            if not after:
                stop = self._stop(line, sorted(closed))
                break
            self._layers.append((closed, after))
            arrived = after
        self.result = Validation(
            run, len(self._layers), stop, len(arrived), tuple(self._path(arrived))
        )

    def _closure(self, arrived: Mapping[int, _Way]) -> dict[int, _Way]:
        """All states within hidden steps, each with a way of the fewest (a state itself: none)."""
        edges, ways = self._model.edges, dict.fromkeys(arrived, _Way(0, None, None))
        costs = {state: way.hidden for state, way in arrived.items()}
        todo = sorted((cost, state) for state, cost in costs.items())
        while todo:
            cost, state = heapq.heappop(todo)
            if cost > costs[state]:
                continue
            for action in self._hidden & edges[state].keys():
                for edge in edges[state][action]:
                    known = costs.get(edge.target)
                    if known is None or cost + 1 < known:
                        costs[edge.target] = cost + 1
                        ways[edge.target] = _Way(cost + 1, state, edge)
                        heapq.heappush(todo, (cost + 1, edge.target))
        return {
            state: _Way(costs[state], way.before, way.edge) for state, way in sorted(ways.items())
        }

    def _agreeing(self, line: Line, closed: Mapping[int, _Way]) -> dict[int, _Way]:
        """The states after a line, each with the cheapest way."""
        view = self._view(line)
        after: dict[int, _Way] = {}
        for state, way in closed.items():
            for edge, target in self._steps(line, state):
                known = after.get(target)
                if (known is None or way.hidden < known.hidden) and self._model.matches(
                    target, view
                ):
                    after[target] = _Way(way.hidden, state, edge)
        return after

    def _steps(self, line: Line, state: int) -> Iterator[tuple[Edge | None, int]]:
        if line.action is None:
            yield None, state
            return
        for edge in self._model.edges[state].get(line.action, ()):
            params = dict(self._params_of(edge)) if line.params else {}
            if all(params.get(name, value) == value for name, value in line.params.items()):
                yield edge, edge.target

    def _view(self, line: Line) -> list[tuple[int, int]]:
        """Column and value id of each variable of a line; -1 for a value that no state has."""
        model = self._model
        return [
            (model.column[name], model.value_ids.get(value, -1))
            for name, value in line.state.items()
        ]

    def _params_of(self, edge: Edge) -> Values:
        if edge.id not in self._params:
            self._params[edge.id] = params_of(edge, self._model)
        return self._params[edge.id]

    def _path(self, arrived: Mapping[int, _Way]) -> list[Taken]:
        """The cheapest explanation of the lines so far, steps in their order."""
        if not self._layers:
            return []
        state = min(arrived, key=lambda s: (arrived[s].hidden, s))
        steps: list[Taken] = []
        for line, (closed, after) in zip(
            reversed(self._run.lines[: len(self._layers)]), reversed(self._layers), strict=True
        ):
            way = after[state]
            assert way.before is not None
            if way.edge is not None:
                steps.append(Taken(way.edge, line.number))
            state = way.before
            while (edge := closed[state].edge) is not None:
                steps.append(Taken(edge, None))
                state = edge.source
        return steps[::-1]

    # -- where the model does not go on ----------------------------------------------------

    def _stop(self, line: Line, states: list[int]) -> Stop:
        targets = {target for state in states for _, target in self._steps(line, state)}
        return Stop(
            line, self._differences(line, targets), tuple(self._allowed(line, states)), len(states)
        )

    def _differences(self, line: Line, targets: Iterable[int]) -> tuple[Difference, ...]:
        """The variables by which the nearest states miss a line."""
        rows, values = self._model.rows, self._model.graph.values
        columns = dict(zip(line.state, self._view(line), strict=True))
        missed = {
            state: [
                name for name, (column, value) in columns.items() if rows[state][column] != value
            ]
            for state in targets
        }
        fewest = min(map(len, missed.values()), default=0)
        nearest = [state for state, names in missed.items() if len(names) == fewest]
        return tuple(
            Difference(name, tuple(sorted(shown)), str(line.state[name]))
            for name, (column, _) in columns.items()
            if (
                shown := {
                    str(values[rows[state][column]]) for state in nearest if name in missed[state]
                }
            )
        )

    def _allowed(self, line: Line, states: list[int]) -> Iterator[Allowed]:
        found: dict[tuple[str | None, Values], set[int]] = {}
        if line.action is None:
            found[None, ()] = {*states}
        for state in states if line.action else ():
            for action, edges in self._model.edges[state].items():
                for edge in edges if action not in self._hidden else ():
                    found.setdefault((action, self._params_of(edge)), set()).add(edge.target)
        for step, targets in sorted(found.items(), key=lambda entry: step_text(*entry[0])):
            yield Allowed(*step, {name: self._values_in(name, targets) for name in line.state})

    def _values_in(self, name: str, states: Iterable[int]) -> tuple[Value, ...]:
        column = self._model.column[name]
        shown = sorted({self._model.rows[state][column] for state in states})
        return tuple(self._model.graph.values[number] for number in shown)


def _misplaced(model: Model, error: ValuePathError) -> MbtError:
    toml = model.spec.path.with_suffix(".toml")
    return MbtError(f"{toml}: a parameter's path leads nowhere: {error}")
