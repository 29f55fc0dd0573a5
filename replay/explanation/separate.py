"""What tells two models apart: the shortest walk of one that the other does not admit.

A subset construction: along each walk of one graph go the states of the other that agree with all
that would be observed of it. Where none is left, the walk separates the two; where the search ends
without such a walk, the second model admits every run of the first, within the bounds of the
graphs. Each pair of a state and such a set is visited once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replay.compare import Model
from tracegen.values import Value

_View = tuple[tuple[Value, ...], bool]
"""The values that a state shows, and whether no run stands in it."""


class _Seen(NamedTuple):
    """What a tester knows of a step: the action, what was chosen for it, what is shown after it."""

    action: str
    chosen: tuple[Value, ...]
    view: _View


@dataclass(frozen=True)
class Containment:
    """Whether one model admits all runs of another.

    Attributes:
        walk: ids of the edges of the other's graph along a shortest walk that it does not admit;
            None where it admits all.
        pairs: how many pairs of a state and a set of states were visited.
    """

    walk: tuple[int, ...] | None
    pairs: int


def containment(
    inner: Model, outer: Model, observed: Collection[str], merges: Mapping[str, Sequence[str]]
) -> Containment:
    """Whether `outer` admits every run that `inner` can show.

    Args:
        observed: the variables that a run shows; those that only one of the models has are
            compared with nothing, as in `replay.compare.track`.
        merges: actions that the system takes in one go, observed action -> the model's path.
    """
    names = [n for n in inner.graph.variables if n in observed and n in outer.column]
    mine, theirs = _Shown(inner, names, merges), _Shown(outer, names, merges)
    beginnings: dict[_View, set[int]] = {}
    for state in outer.graph.initial:
        beginnings.setdefault(theirs.view(state), set()).add(state)
    start = [
        (state, frozenset(beginnings.get(mine.view(state), ()))) for state in inner.graph.initial
    ]
    if not all(states for _, states in start):
        return Containment((), len(start))
    came: dict[
        tuple[int, frozenset[int]], tuple[tuple[int, frozenset[int]], tuple[int, ...]] | None
    ] = dict.fromkeys(start)
    queue = deque(start)
    while queue:
        here = queue.popleft()
        state, others = here
        for seen, ways in mine.steps(state).items():
            after = frozenset(
                target for other in others for _, target in theirs.steps(other).get(seen, ())
            )
            for edges, target in ways:
                if not after:
                    return Containment(_walk(came, here) + edges, len(came))
                there = (target, after)
                if there not in came:
                    came[there] = (here, edges)
                    queue.append(there)
    return Containment(None, len(came))


def _walk(
    came: Mapping[
        tuple[int, frozenset[int]], tuple[tuple[int, frozenset[int]], tuple[int, ...]] | None
    ],
    end: tuple[int, frozenset[int]],
) -> tuple[int, ...]:
    parts: list[tuple[int, ...]] = []
    step = came[end]
    while step is not None:
        before, edges = step
        parts.append(edges)
        step = came[before]
    return tuple(edge for edges in reversed(parts) for edge in edges)


class _Shown:
    """A model as a tester sees it: its steps by what is seen of them."""

    def __init__(
        self, model: Model, names: Sequence[str], merges: Mapping[str, Sequence[str]]
    ) -> None:
        self._model = model
        self._columns = [model.column[name] for name in names]
        self._paths = {
            action: tuple(merges.get(action, (action,))) for action in model.graph.actions
        }
        self._steps: dict[int, dict[_Seen, list[tuple[tuple[int, ...], int]]]] = {}

    def view(self, state: int) -> _View:
        """What a state shows."""
        row, values = self._model.rows[state], self._model.graph.values
        return tuple(values[row[column]] for column in self._columns), self._model.dead(state)

    def steps(self, state: int) -> Mapping[_Seen, list[tuple[tuple[int, ...], int]]]:
        """The steps from a state: what is seen -> (edge ids, state after it), in their order."""
        if state not in self._steps:
            found: dict[_Seen, list[tuple[tuple[int, ...], int]]] = {}
            for action, path in self._paths.items():
                for edges, target in self._model.steps([state], path, {}):
                    chosen = tuple(value for edge in edges for value in self._chosen(edge))
                    seen = _Seen(action, chosen, self.view(target))
                    found.setdefault(seen, []).append((edges, target))
            self._steps[state] = found
        return self._steps[state]

    def _chosen(self, number: int) -> list[Value]:
        edge, actions = self._model.graph.edges[number], self._model.spec.actions
        tester = actions[edge.action].tester if edge.action in actions else {}
        return [path.read(self._model.graph.state(edge.target)) for path in tester.values()]
