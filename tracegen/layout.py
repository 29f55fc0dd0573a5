"""Where the states of a graph stand in a picture: layers by distance, few crossings between them.

A state's layer is the number of steps from the nearest initial state, so a transition leads at most
one layer down; those that stay or lead back are drawn as bows. Within the layers, states are
ordered by the barycentre heuristic (Sugiyama, Tagawa and Toda 1981): each goes to the mean place of
its neighbours in the layer before, then after, as long as crossings become fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracegen.graph import StateGraph, distances

_SWEEPS = 24
Layers = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layout:
    """States by layer, from the initial ones on, each layer from left to right."""

    layers: Layers
    crossings: int
    """Pairs of transitions from one layer to the next that cross."""

    @property
    def width(self) -> int:
        """States in the largest layer."""
        return max(map(len, self.layers), default=0)

    @property
    def places(self) -> dict[int, tuple[float, float]]:
        """State -> (x, y): layers are 1 apart and centred on x = 0, y goes down from 0."""
        return {
            state: (place - (len(layer) - 1) / 2, -float(depth))
            for depth, layer in enumerate(self.layers)
            for place, state in enumerate(layer)
        }


def layered(graph: StateGraph) -> Layout:
    """The layout of a graph all of whose states can be reached; the same for equal graphs."""
    depth = distances(graph.offsets, graph.targets, np.array(graph.initial))
    layers = tuple(
        tuple(np.flatnonzero(depth == level).tolist()) for level in range(int(depth.max()) + 1)
    )
    down: dict[int, list[int]] = {state: [] for state in range(len(graph))}
    up: dict[int, list[int]] = {state: [] for state in range(len(graph))}
    for source, target in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        if depth[target] == depth[source] + 1:
            down[source].append(target)
            up[target].append(source)
    best = Layout(layers, _crossings(layers, down))
    for sweep in range(_SWEEPS):
        if not best.crossings:
            break
        layers = _swept(layers, up) if sweep % 2 == 0 else _swept(layers[::-1], down)[::-1]
        crossings = _crossings(layers, down)
        if crossings < best.crossings:
            best = Layout(layers, crossings)
    return best


def _swept(layers: Layers, neighbours: dict[int, list[int]]) -> Layers:
    """Each layer but the first in the order of the mean places of neighbours in the one before."""
    swept = [layers[0]]
    for layer in layers[1:]:
        # Places are told in the layer's own width, so that a state without neighbours stays.
        scale = len(layer) / len(swept[-1])
        place = {state: (at + 0.5) * scale for at, state in enumerate(swept[-1])}
        own = {state: at + 0.5 for at, state in enumerate(layer)}

        def centre(
            state: int, place: dict[int, float] = place, own: dict[int, float] = own
        ) -> float:
            near = [place[other] for other in neighbours[state] if other in place]
            return sum(near) / len(near) if near else own[state]

        swept.append(tuple(sorted(layer, key=centre)))
    return tuple(swept)


def _crossings(layers: Layers, down: dict[int, list[int]]) -> int:
    return sum(_between(upper, lower, down) for upper, lower in pairwise(layers))


def _between(upper: Sequence[int], lower: Sequence[int], down: dict[int, list[int]]) -> int:
    """Inversions among the lower ends of the edges, taken by their upper ends."""
    place = {state: at for at, state in enumerate(lower)}
    seen = np.zeros(len(lower) + 1, dtype=np.int64)
    crossings = 0
    for state in upper:
        ends = [place[target] for target in down[state]]
        crossings += sum(int(seen[end + 1 :].sum()) for end in ends)
        for end in ends:
            seen[end] += 1
    return crossings
