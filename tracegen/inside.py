"""Walks inside strongly connected components, each to the nearest thing that is left to cover.

They are part of a tour: `tracegen.tour` says which components are walked in this way, and why.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container

import numpy as np
import numpy.typing as npt

from tracegen.errors import MbtError
from tracegen.flow import Ints

Mask = npt.NDArray[np.bool_]

STEP_LIMIT = 20_000_000
"""Steps above which a tour is refused: a graph of 100,000 edges can need more than a billion."""


class Inside:
    """What is still to be covered inside some components, and the walks that do it."""

    def __init__(
        self,
        sources: Ints,
        targets: Ints,
        edges: Mask,
        wanted: Mask,
        visits: Mask,
        component: Ints,
    ) -> None:
        """Take the edges that walks may use, those of them and the vertices they are to cover.

        `sources`, `targets`, `edges` and `wanted` have an entry for each edge; `visits` and
        `component` (the component's number) one for each vertex.
        """
        self._sources, self._targets = sources.tolist(), targets.tolist()
        self._component = component.tolist()
        offsets, order = rows(sources, np.flatnonzero(edges), len(component))
        self._offsets, self._edges = offsets.tolist(), order.tolist()
        # The edges to cover from each vertex; an empty list where it is only to be visited.
        self._todo: dict[int, list[int]] = {v: [] for v in np.flatnonzero(visits).tolist()}
        loop = sources == targets
        # Self-loops first: once their vertex is left, they cost a way back.
        for kind in (loop, ~loop):
            for edge in np.flatnonzero(edges & wanted & kind).tolist():
                self._todo.setdefault(self._sources[edge], []).append(edge)
        self._left = Counter(self._component[vertex] for vertex in self._todo)

    def cover(self, at: int) -> list[int]:
        """A walk over all that is left to cover in a vertex's component, the nearest first.

        Raises MbtError when it takes more than STEP_LIMIT steps.
        """
        component = self._component[at]
        path: list[int] = []
        self._arrive(at)
        while self._left[component]:
            walk = self.route(at, self._todo)
            at = self._targets[walk[-1]] if walk else at
            walk += self._todo[at][:1]
            for edge in walk:
                self._take(edge)
            at = self._targets[walk[-1]]
            path += walk
            demand_short(len(path))
        return path

    def route(self, at: int, goals: Container[int]) -> list[int]:
        """A shortest walk from a vertex to one of the goals in its component."""
        arrived_by = {at: -1}
        queue = deque([at])
        while (vertex := queue.popleft()) not in goals:
            for edge in self._edges[self._offsets[vertex] : self._offsets[vertex + 1]]:
                if self._targets[edge] not in arrived_by:
                    arrived_by[self._targets[edge]] = edge
                    queue.append(self._targets[edge])
        walk: list[int] = []
        while vertex != at:
            walk.append(arrived_by[vertex])
            vertex = self._sources[arrived_by[vertex]]
        return walk[::-1]

    def _take(self, edge: int) -> None:
        wanted = self._todo.get(self._sources[edge], [])
        if edge in wanted:
            wanted.remove(edge)
            self._arrive(self._sources[edge])
        self._arrive(self._targets[edge])

    def _arrive(self, vertex: int) -> None:
        if self._todo.get(vertex) == []:
            del self._todo[vertex]
            self._left[self._component[vertex]] -= 1


def demand_short(steps: int) -> None:
    """Refuse a tour of more than STEP_LIMIT steps with an MbtError."""
    if steps > STEP_LIMIT:
        raise MbtError(
            f"the smallest tour takes {steps:,} steps or more, which is over {STEP_LIMIT:,}; "
            "use smaller bounds in the .cfg, or random walks"
        )


def rows(sources: Ints, edges: Ints, vertices: int) -> tuple[Ints, Ints]:
    """Some of the edges as compressed rows: those of vertex v stand from offsets[v] on."""
    order = edges[np.argsort(sources[edges], kind="stable")]
    return np.searchsorted(sources[order], np.arange(vertices + 1)).astype(np.int64), order
