"""Choosing the paths of a state graph to walk, by what they are to cover.

Every function gives paths as lists of edge numbers, each from an initial state on and at least
one step long, in an order that follows from the graph alone. An initial state that nothing leaves
has no path. `tracegen.tour` says what minimal means here and why it can be proven.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.tour import minimum_tour

PATH_LIMIT = 1_000_000
"""Paths, or pairs of transitions, above which a cover is refused rather than enumerated."""


def transition_tour(
    graph: StateGraph, *, targets: Iterable[int] | None = None, avoid: Iterable[int] = ()
) -> list[list[int]]:
    """The fewest paths over every transition, and of such the fewest steps.

    With `targets` the paths cover those edges alone, and with `avoid` they use none of those
    edges; what can then not be reached is left out. Fewest steps are then proven only where
    `tracegen.tour.minimum_tour`, which also lists what is left out, says so.
    """
    return minimum_tour(graph, edges=targets, avoid=avoid).paths


def state_cover(graph: StateGraph) -> list[list[int]]:
    """The fewest paths that visit every state."""
    tour = minimum_tour(graph, edges=(), vertices=range(len(graph)))
    return [path for path in tour.paths if path]


def transition_pairs(graph: StateGraph) -> list[list[int]]:
    """The fewest paths in which every transition follows every one that leads to its source.

    A transition that is in no such pair gets a path of its own, so all transitions are covered.
    Raises MbtError above PATH_LIMIT pairs.
    """
    successors = np.diff(graph.offsets)[graph.targets]
    count = int(successors.sum())
    if count > PATH_LIMIT:
        raise MbtError(
            f"{count:,} pairs of transitions are too many to cover (at most {PATH_LIMIT:,}); "
            "use smaller bounds, or cover transitions"
        )
    first = np.repeat(np.arange(graph.transitions), successors)
    within = np.arange(count) - np.repeat(np.cumsum(successors) - successors, successors)
    second = graph.offsets[graph.targets[first]] + within
    starts = np.flatnonzero(np.isin(graph.sources, graph.initial)).tolist()
    pairs = _Pairs(graph.transitions, starts, first, second)
    tour = minimum_tour(pairs, vertices=range(len(pairs)))
    return [
        [start, *second[path].tolist()] for start, path in zip(tour.starts, tour.paths, strict=True)
    ]


def bounded_paths(graph: StateGraph, depth: int) -> list[list[int]]:
    """All paths of `depth` steps, and the shorter ones that end where nothing leaves.

    So each path of at most `depth` steps is one of them or begins one. Raises MbtError, before
    any is made, when there are more than PATH_LIMIT.
    """
    if depth < 1:
        raise MbtError(f"the depth of paths must be at least 1, not {depth}")
    if _count_paths(graph, depth) > PATH_LIMIT:
        raise MbtError(
            f"there are more than {PATH_LIMIT:,} paths of up to {depth} steps; "
            "take a smaller depth, or random walks"
        )
    paths: list[list[int]] = []
    open_paths: list[tuple[int, list[int]]] = [(state, []) for state in reversed(graph.initial)]
    while open_paths:
        state, path = open_paths.pop()
        edges = graph.out(state) if len(path) < depth else []
        if path and not edges:
            paths.append(path)
        open_paths += ((edge.target, [*path, edge.id]) for edge in reversed(edges))
    return paths


@dataclass(frozen=True)
class _Pairs:
    """The line graph: its vertices are the transitions, its edges the pairs of them."""

    transitions: int
    initial: list[int]
    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return self.transitions


def _count_paths(graph: StateGraph, depth: int) -> int:
    """How many paths `bounded_paths` would give, counted up to above PATH_LIMIT alone."""
    ends = np.diff(graph.offsets) == 0
    counts = np.ones(len(graph))
    for _ in range(depth):
        onward = np.bincount(graph.sources, counts[graph.targets], len(graph))
        longer = np.minimum(np.where(ends, 1, onward), PATH_LIMIT + 1)
        if (longer == counts).all():
            break
        counts = longer
    starts = [state for state in graph.initial if not ends[state]]
    return int(counts[starts].sum())
