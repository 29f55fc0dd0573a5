"""The smallest set of paths that covers what is wanted of a graph.

Paths start in initial states, may end anywhere, and may use an edge again. How often each edge is
used is a flow: what enters a vertex leaves it or ends there, each wanted edge is used at least
once, and a path is what the root sends in. The cheapest such flow, where a new path costs more
than any detour, is a *minimum path cover*; an Euler circuit through the root and back then reads
the paths off it.

A flow can also go round a cycle that no path comes near. That happens inside a strongly connected
component alone, and only where not all of its edges are wanted or nothing wanted joins it to the
rest. Such a component is contracted to a gate that some path must pass; the first to do so covers
what is wanted inside. Walking inside is free in the flow, so the number of paths stays the least
possible; the least number of steps is not asked for, since inside one component that is the rural
postman problem, which is NP-hard. A component of one state has no inside but its self-loops, so on
graphs without longer cycles, and whenever all edges are wanted, steps are the fewest too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tracegen.flow import Ints, cheapest_flow
from tracegen.graph import distances
from tracegen.inside import Inside, Mask, demand_short, rows


class Digraph(Protocol):
    """What a tour needs of a graph: `len` is the number of vertices, an edge's number its place."""

    @property
    def initial(self) -> Sequence[int]:
        """The vertices where a path may start, ascending."""

    @property
    def sources(self) -> npt.NDArray[np.integer[Any]]:
        """Shape (edges,)."""

    @property
    def targets(self) -> npt.NDArray[np.integer[Any]]:
        """Shape (edges,)."""

    def __len__(self) -> int:
        """The number of vertices."""


@dataclass(frozen=True)
class Tour:
    """Paths that cover what was wanted, as few as possible."""

    paths: list[list[int]]
    """The numbers of the edges of each path, ordered by start, then lexicographically."""
    starts: list[int]
    """Where each path starts: a path that only visits an initial vertex has no edges."""
    least_steps: int
    """A proven lower bound on the steps of as few paths that cover as much."""
    unreachable: list[int]
    """The wanted edges that no path can reach, ascending."""

    @property
    def steps(self) -> int:
        """The number of edges of all paths."""
        return sum(map(len, self.paths))

    @property
    def minimal(self) -> bool:
        """Whether the steps are proven to be the fewest (the paths always are)."""
        return self.steps == self.least_steps


def minimum_tour(
    graph: Digraph,
    *,
    edges: Iterable[int] | None = None,
    vertices: Iterable[int] = (),
    avoid: Iterable[int] = (),
) -> Tour:
    """The fewest paths that use all `edges` (None: every edge) and visit all `vertices`.

    No path uses an edge of `avoid`; what cannot be reached without them is left out. Second to the
    number of paths, steps are the fewest wherever `Tour.minimal` says so (see the module's text for
    when). Of several such tours it is the one that `tracegen.flow.cheapest_flow` singles out; how
    its edges are joined to paths is settled by the numbers of the edges. So equal graphs have equal
    tours, on each machine.

    Raises MbtError when the tour would take more than STEP_LIMIT steps (`tracegen.inside`).
    """
    problem = _Problem.of(graph, edges, vertices, avoid)
    network = _Network.of(problem)
    uses = network.uses()
    inside = np.count_nonzero(problem.wanted & network.contracted)
    least_steps = int(uses[: len(network.moves)].sum() + inside)
    demand_short(least_steps)
    walks = sorted(_expand(problem, network, _trails(network, uses)))
    return Tour(
        paths=[path for _, path in walks],
        starts=[start for start, _ in walks],
        least_steps=least_steps,
        unreachable=np.flatnonzero(problem.missed).tolist(),
    )


@dataclass(frozen=True)
class _Problem:
    """The part of the graph that paths can reach, and what is wanted of it."""

    sources: Ints
    targets: Ints
    initial: Ints
    live: Mask  # edges that a path can use
    wanted: Mask  # of the live edges
    missed: Mask  # wanted edges that are not live
    visits: Mask  # vertices to visit, of those in reach
    component: Ints  # the strongly connected component of each vertex

    @classmethod
    def of(
        cls,
        graph: Digraph,
        edges: Iterable[int] | None,
        vertices: Iterable[int],
        avoid: Iterable[int],
    ) -> _Problem:
        size = len(graph)
        sources, targets = graph.sources.astype(np.int64), graph.targets.astype(np.int64)
        initial = np.array(graph.initial, dtype=np.int64)
        allowed = ~_mask(avoid, len(sources))
        asked = ~_mask((), len(sources)) if edges is None else _mask(edges, len(sources))
        offsets, order = rows(sources, np.flatnonzero(allowed), size)
        reached = distances(offsets, targets[order], initial) >= 0
        live = allowed & reached[sources]
        links = csr_array((np.ones(live.sum()), (sources[live], targets[live])), shape=(size, size))
        _, component = connected_components(links, connection="strong")
        return cls(
            sources=sources,
            targets=targets,
            initial=initial,
            live=live,
            wanted=asked & live,
            missed=asked & ~live,
            visits=_mask(vertices, size) & reached,
            component=component.astype(np.int64),
        )

    @cached_property
    def inner(self) -> Mask:
        """Live edges inside a component."""
        inner: Mask = self.component[self.sources] == self.component[self.targets]
        return self.live & inner

    def touching(self, edges: Mask) -> Mask:
        """The components that one of the edges starts or ends in."""
        ends = np.r_[self.component[self.sources[edges]], self.component[self.targets[edges]]]
        return _mask(ends, len(self.component))


@dataclass(frozen=True)
class _Network:
    """The flow problem: arcs are moves (edges of the graph), then gates, then starts."""

    moves: Ints  # the edge of each of the first arcs
    contracted: Mask  # edges inside a gate
    starts: Ints  # the initial vertex of each of the last arcs
    tails: Ints
    heads: Ints
    costs: Ints
    required: Mask
    demand: Ints  # its length is the number of nodes, and of the root

    @classmethod
    def of(cls, problem: _Problem) -> _Network:
        size, component, inner = len(problem.component), problem.component, problem.inner
        border = problem.live & ~inner
        inhabited = problem.touching(problem.wanted & inner)
        joined = problem.touching(problem.wanted & border)
        whole = ~problem.touching(inner & ~problem.wanted)
        alone = ~problem.touching(border)
        # With all of its edges wanted, a component holds together, and what joins it to the rest
        # brings a path; one that nothing joins to the rest must be given its path below.
        given = inhabited & whole & alone
        needed = inhabited | _mask(component[problem.visits], size)
        gated = needed & ~(whole & (joined | given))

        gates = np.flatnonzero(gated)
        entry = np.arange(size, dtype=np.int64)
        exit_ = entry.copy()
        place = np.cumsum(gated) - 1
        within = gated[component]
        entry[within] = size + 2 * place[component[within]]
        exit_[within] = entry[within] + 1
        givers = np.flatnonzero(given)
        first_giver = size + 2 * len(gates)
        root = first_giver + len(givers)

        contracted = inner & gated[component[problem.sources]]
        moves = np.flatnonzero(problem.live & ~contracted)
        gate_nodes = size + 2 * np.arange(len(gates), dtype=np.int64)
        home = component[problem.initial]
        giver = np.where(given[home], first_giver + np.searchsorted(givers, home), root)
        tails = np.r_[exit_[problem.sources[moves]], gate_nodes, giver]
        heads = np.r_[entry[problem.targets[moves]], gate_nodes + 1, entry[problem.initial]]
        required = np.r_[
            problem.wanted[moves], np.ones(len(gates), bool), np.zeros(len(giver), bool)
        ]
        # Rerouting flow so as to save a path adds at most a step for each node.
        new_path = root + 1
        costs = np.r_[
            np.ones(len(moves), np.int64),
            np.zeros(len(gates), np.int64),
            np.where(giver == root, new_path, 0),
        ]
        demand = np.bincount(tails[required], minlength=root)
        demand -= np.bincount(heads[required], minlength=root)
        demand[first_giver:] = -1
        return cls(moves, contracted, problem.initial, tails, heads, costs, required, demand)

    def uses(self) -> Ints:
        """How often each arc is used; a given path that the flow does not need is begun too."""
        uses = cheapest_flow(self.tails, self.heads, self.costs, self.demand) + self.required
        starts = slice(len(self.tails) - len(self.starts), None)
        begun = np.bincount(self.tails[starts], uses[starts], len(self.demand) + 1)
        givers, first = np.unique(self.tails[starts], return_index=True)
        idle = (begun[givers] == 0) & (givers < len(self.demand))
        uses[starts][first[idle]] = 1
        return uses


def _trails(network: _Network, uses: Ints) -> Iterator[list[int]]:
    """The flow taken apart into trails of arcs, each from a start arc to where it ends."""
    root, starts = len(network.demand), len(network.tails) - len(network.starts)
    tails, heads = network.tails.copy(), network.heads
    tails[starts:] = root
    balance = np.bincount(heads, uses, root + 1) - np.bincount(tails, uses, root + 1)
    ends = np.flatnonzero(balance[:root] > 0)
    left = np.r_[uses, balance[ends].astype(np.int64)].tolist()
    heads_of = np.r_[heads, np.full(len(ends), root)].tolist()
    offsets, order = rows(np.r_[tails, ends], np.arange(len(left)), root + 1)
    arcs, next_arc, stop = order.tolist(), offsets[:-1].tolist(), offsets[1:].tolist()

    # Hierholzer's circuit through the root; it comes out backwards.
    circuit, stack = [], [(root, -1)]
    while stack:
        node, arrived = stack[-1]
        while next_arc[node] < stop[node] and not left[arcs[next_arc[node]]]:
            next_arc[node] += 1
        if next_arc[node] < stop[node]:
            arc = arcs[next_arc[node]]
            left[arc] -= 1
            stack.append((heads_of[arc], arc))
        else:
            circuit.append(arrived)
            stack.pop()
    trail: list[int] = []
    for arc in reversed(circuit[:-1]):
        if heads_of[arc] == root:
            yield trail
            trail = []
        else:
            trail.append(arc)


def _expand(
    problem: _Problem, network: _Network, trails: Iterable[list[int]]
) -> Iterator[tuple[int, list[int]]]:
    """The start and the edges of each trail, gates replaced by walks inside the component."""
    moves, starts = network.moves.tolist(), network.starts.tolist()
    first_start = len(network.tails) - len(starts)
    sources, targets = problem.sources.tolist(), problem.targets.tolist()
    inside = Inside(
        problem.sources,
        problem.targets,
        network.contracted,
        problem.wanted,
        problem.visits,
        problem.component,
    )
    for trail in trails:
        at = start = starts[trail[0] - first_start]
        path: list[int] = []
        for place, arc in enumerate(trail[1:], 1):
            if arc < len(moves):
                walk = [moves[arc]]
            else:
                walk = inside.cover(at)
                if place + 1 < len(trail):
                    last = targets[walk[-1]] if walk else at
                    walk += inside.route(last, {sources[moves[trail[place + 1]]]})
            path += walk
            at = targets[walk[-1]] if walk else at
        yield start, path


def _mask(places: Iterable[int], size: int) -> Mask:
    mask = np.zeros(size, dtype=np.bool_)
    mask[places if isinstance(places, np.ndarray) else list(places)] = True
    return mask
