"""The steps of a behaviour that names no actions get them from the state graph of its model.

Apalache's traces and TLC's simulation files are states alone. The rules:

- A step from one state to the next is the action that joins them in the graph. Where several do,
  it is the first of them by name: whichever it was, the trace is one of the model. This is noted.
- A step that changes nothing, and is no action's, stutters: every specification allows it
  anywhere, and no system could be made to take it. It is left out, which is noted.
- A state that is not in the graph, or not one step away from the one before, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tracegen.errors import MbtError
from tracegen.graph import Edge, StateGraph
from tracegen.values import Value

_SHOWN = 4  # differences in a message
_WIDTH = 60  # characters of a value in a message


class NamingError(MbtError):
    """A behaviour is none of the model; the message names its file, the state and the variables."""


@dataclass(frozen=True)
class Behaviour:
    """States in a row as another tool left them, from an initial one on.

    Attributes:
        name: for the trace that becomes of it.
        source: the file it is from, for messages.
        states: at least one.
        actions: of the steps, so one fewer than states; None where the file does not say.
        params: of the steps, as far as the file gives them, by name.
        first: the number of the first state, as the file counts them.
        loop: the place in `states` that the last one goes back to.
        notes: what a person should know of how it was read.
    """

    name: str
    source: str
    states: tuple[Mapping[str, Value], ...]
    actions: tuple[str | None, ...]
    params: tuple[Mapping[str, Value], ...]
    first: int = 1
    loop: int | None = None
    notes: tuple[str, ...] = ()

    def number(self, place: int) -> str:
        """How a message calls a state."""
        return f"state {self.first + place}"


def name_steps(behaviour: Behaviour, graph: StateGraph, model: str) -> Behaviour:
    """The behaviour with an action for every step, by the rules of this module.

    Steps that have a name keep it, and have to be in the graph under it. Raises NamingError;
    `model` is how it calls the model.
    """
    require_variables(behaviour, graph.variables)
    rows = _Rows(graph)
    walk = _Walk(behaviour, rows, model)
    here = walk.start()
    kept, actions = [0], []
    doubtful: dict[tuple[str, ...], list[int]] = {}
    for place in range(1, len(behaviour.states)):
        edges = walk.edges(here, place)
        if edges is None:
            continue
        here = edges[0].target
        kept.append(place)
        actions.append(edges[0].action)
        if len(edges) > 1:
            doubtful.setdefault(tuple(edge.action for edge in edges), []).append(place)
    dropped = sorted(set(range(len(behaviour.states))) - {*kept})
    loop = behaviour.loop
    return replace(
        behaviour,
        states=tuple(behaviour.states[place] for place in kept),
        actions=tuple(actions),
        params=tuple(behaviour.params[place - 1] for place in kept[1:]),
        loop=None if loop is None else sum(place <= loop for place in kept) - 1,
        notes=(
            *behaviour.notes,
            *(_doubt(behaviour, names, places) for names, places in doubtful.items()),
            *([_stutter(behaviour, dropped)] if dropped else []),
        ),
    )


def trace_name(text: str) -> str:
    """A name for a trace, from that of a file: what is no word of a shell's becomes a hyphen."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII) or "trace"


def require_variables(behaviour: Behaviour, variables: Sequence[str]) -> None:
    """Raise NamingError where a state lacks a variable of the module or has another one."""
    for place, state in enumerate(behaviour.states):
        for odd, complaint in (
            (state.keys() - {*variables}, "has what the module does not declare"),
            ({*variables} - state.keys(), "has no value of"),
        ):
            if odd:
                raise NamingError(
                    f"{behaviour.source}: {behaviour.number(place)} {complaint}: "
                    f"{', '.join(sorted(odd))} (its variables: {', '.join(variables)})"
                )


class _Rows:
    """The states of a graph as rows of numbers, and the row that a state would be."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        self._numbers = {value: number for number, value in enumerate(graph.values)}

    def of(self, state: Mapping[str, Value]) -> npt.NDArray[np.int32]:
        """The row of a state; -1 stands for a value that is nowhere in the graph."""
        numbers = [self._numbers.get(state[name], -1) for name in self.graph.variables]
        return np.array(numbers, dtype=np.int32)

    def is_state(self, number: int, row: npt.NDArray[np.int32]) -> bool:
        return bool((self.graph.columns[number] == row).all())

    def nearest(self, row: npt.NDArray[np.int32]) -> int:
        """The state that differs in the fewest variables, the first of those."""
        return int((self.graph.columns == row).sum(axis=1).argmax())


@dataclass(frozen=True)
class _Walk:
    behaviour: Behaviour
    rows: _Rows
    model: str

    def start(self) -> int:
        row = self.rows.of(self.behaviour.states[0])
        for number in self.rows.graph.initial:
            if self.rows.is_state(number, row):
                return number
        self._require_known(0, row)
        raise self._error(0, f"is a state of {self.model}, but not an initial one")

    def edges(self, here: int, place: int) -> list[Edge] | None:
        """The edges that can be the step to the state at a place; None where it stutters."""
        states, wanted = self.behaviour.states, self.behaviour.actions[place - 1]
        row = self.rows.of(states[place])
        leaving = self.rows.graph.out(here)
        edges = [edge for edge in leaving if self.rows.is_state(edge.target, row)]
        if wanted is not None:
            edges = [edge for edge in edges if edge.action == wanted]
        elif not edges and states[place] == states[place - 1]:
            return None
        if edges:
            return edges
        self._require_known(place, row)
        names = ", ".join(dict.fromkeys(edge.action for edge in leaving))
        raise self._error(
            place,
            f"does not follow {self.behaviour.number(place - 1)} in {self.model} by "
            f"{f'the action {wanted}' if wanted else 'any action'} "
            f"(enabled there: {names or 'none'})",
        )

    def _require_known(self, place: int, row: npt.NDArray[np.int32]) -> None:
        nearest = self.rows.graph.state(number := self.rows.nearest(row))
        if self.rows.is_state(number, row):
            return
        state = self.behaviour.states[place]
        odd = [name for name in nearest if nearest[name] != state[name]]
        shown = [f"{n} = {_short(state[n])}, not {_short(nearest[n])}" for n in odd[:_SHOWN]]
        more = f"; and {len(odd) - _SHOWN} more" if len(odd) > _SHOWN else ""
        raise self._error(
            place,
            f"is no state of {self.model}; it differs from the nearest in {'; '.join(shown)}{more}",
        )

    def _error(self, place: int, complaint: str) -> NamingError:
        return NamingError(f"{self.behaviour.source}: {self.behaviour.number(place)} {complaint}")


def _doubt(behaviour: Behaviour, names: Sequence[str], places: Sequence[int]) -> str:
    several = f"{', '.join(names[:-1])} or {names[-1]}"
    return (
        f"{behaviour.source}: the step to {_numbers(behaviour, places)} can be {several}; "
        f"taken as {names[0]}, the first by name"
    )


def _stutter(behaviour: Behaviour, places: Sequence[int]) -> str:
    return (
        f"{behaviour.source}: the step to {_numbers(behaviour, places)} changes nothing and is "
        "no action's; left out"
    )


def _numbers(behaviour: Behaviour, places: Sequence[int]) -> str:
    numbers = ", ".join(str(behaviour.first + place) for place in places)
    return f"state{'s' if len(places) > 1 else ''} {numbers}"


def _short(value: Value) -> str:
    text = str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
