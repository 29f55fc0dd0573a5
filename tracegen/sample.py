"""Sampling the paths of a state graph: seeded walks, each choice uniform or weighted.

A walk starts in an initial state that something leaves, takes at most `depth` steps, and is
shorter only where it comes to a state that nothing leaves. Of the methods of `random.Random`
random() alone is promised to give the same numbers in each release of Python, so it alone is used:
equal graphs and seeds give equal walks, on each machine.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from tracegen.errors import MbtError
from tracegen.graph import Edge, StateGraph, distances

NEARER = 4
"""How many times likelier a step is than one that comes a step less near to what is not taken.

A power of two, so that sums of weights are exact. On ResumeContract at reference bounds (86
transitions, 40 walks at least) any from 2 to 1024 covers all in 41 to 47 walks over ten seeds,
where uniform walks take 199 to 1,403; so a small one, which leaves much to chance.
"""
_FARTHEST = 12  # steps; what is farther is alike, so that all weights sum up without a loss


def random_walks(graph: StateGraph, number: int, depth: int, seed: int) -> list[list[int]]:
    """A number of walks of up to `depth` steps, each choice uniform; paths as numbers of edges."""

    def uniform(edges: Sequence[Edge], chance: float) -> Edge:
        return edges[int(chance * len(edges))]

    return _walks(graph, number, depth, seed, uniform)


def weighted_walks(graph: StateGraph, number: int, depth: int, seed: int) -> list[list[int]]:
    """A number of walks of up to `depth` steps that prefer what no earlier step of theirs took.

    A transition not yet taken is likeliest, then those that lead to one by fewer steps; once all
    that can be reached is taken, choices are uniform. None is impossible at any time.
    """
    return _walks(graph, number, depth, seed, _Preference(graph).choose)


def _walks(
    graph: StateGraph,
    number: int,
    depth: int,
    seed: int,
    choose: Callable[[Sequence[Edge], float], Edge],
) -> list[list[int]]:
    for name, count in (("number", number), ("depth", depth)):
        if count < 1:
            raise MbtError(f"the {name} of walks must be at least 1, not {count}")
    chance = random.Random(seed).random
    starts = [state for state in graph.initial if graph.out(state)]
    walks: list[list[int]] = []
    for _ in range(number if starts else 0):
        walk: list[int] = []
        edges = graph.out(starts[int(chance() * len(starts))])
        while edges and len(walk) < depth:
            edge = choose(edges, chance())
            walk.append(edge.id)
            edges = graph.out(edge.target)
        walks.append(walk)
    return walks


class _Preference:
    """What was taken so far, and how near each state is to what was not."""

    def __init__(self, graph: StateGraph) -> None:
        self._sources = graph.sources
        self._open = np.ones(graph.transitions, dtype=bool)
        # The graph turned round, as compressed rows: the states that lead to each state.
        order = np.argsort(graph.targets, kind="stable")
        self._before = graph.sources[order]
        self._offsets = np.searchsorted(graph.targets[order], np.arange(len(graph) + 1))
        self._measure()

    def _measure(self) -> None:
        """Steps from each state to one that an open transition leaves, -1 where there is no way."""
        self._near = distances(self._offsets, self._before, self._sources[self._open])

    def choose(self, edges: Sequence[Edge], chance: float) -> Edge:
        """One of the edges that leave a state; it is taken from now on."""
        # Distances are measured anew only where they are seen to be out of date: this state was
        # the nearest to something open, and what was open here is taken.
        if self._near[edges[0].source] == 0 and not any(self._open[edge.id] for edge in edges):
            self._measure()
        sums = list(accumulate(float(NEARER) ** -self._steps(edge) for edge in edges))
        edge = edges[bisect(sums, chance * sums[-1], hi=len(edges) - 1)]
        self._open[edge.id] = False
        return edge

    def _steps(self, edge: Edge) -> int:
        """Steps that an edge is short of an open transition; 0 for one that is open itself."""
        if self._open[edge.id]:
            return 0
        near = int(self._near[edge.target])
        return _FARTHEST if near < 0 else min(near + 1, _FARTHEST)
