"""The minimum tour: held against exhaustive search, against an antichain, and for its size."""

import heapq
import itertools
import random
import time

import networkx as nx
import numpy as np
import pytest
from graphs import Plain, plain_graphs, resume_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegen import inside
from tracegen.errors import MbtError
from tracegen.tour import minimum_tour


def walk(graph, tour):
    """Check that the paths are paths; the edges and vertices that they come by."""
    used, visited = set(), set()
    for start, path in zip(tour.starts, tour.paths, strict=True):
        assert start in graph.initial
        at = start
        visited.add(at)
        for edge in path:
            assert graph.sources[edge] == at
            at = int(graph.targets[edge])
            used.add(edge)
            visited.add(at)
    return used, visited


def reachable(graph, avoid=()):
    found = set(graph.initial)
    for _ in range(len(graph)):
        found |= {t for e, (s, t) in enumerate(graph.edges) if s in found and e not in avoid}
    return found


def least(graph, edges, vertices, avoid):
    """The fewest paths and then steps, by trying everything (Dijkstra over what is covered)."""
    near = reachable(graph, avoid)
    allowed = [(e, s, t) for e, (s, t) in enumerate(graph.edges) if s in near and e not in avoid]
    wanted = [("edge", e) for e, _, _ in allowed if e in edges]
    wanted += [("vertex", v) for v in vertices if v in near]
    bit = {thing: 1 << place for place, thing in enumerate(wanted)}
    everything = (1 << len(wanted)) - 1
    queue, done = [(0, 0, 0, -1)], set()
    while True:
        paths, steps, covered, at = heapq.heappop(queue)
        if covered == everything:
            return paths, steps
        if (covered, at) in done:
            continue
        done.add((covered, at))
        for start in graph.initial:
            seen = covered | bit.get(("vertex", start), 0)
            heapq.heappush(queue, (paths + 1, steps, seen, start))
        for edge, source, target in allowed:
            if source == at:
                seen = covered | bit.get(("edge", edge), 0) | bit.get(("vertex", target), 0)
                heapq.heappush(queue, (paths, steps + 1, seen, target))


@settings(max_examples=150)
@given(plain_graphs())
def test_over_all_edges_nothing_is_shorter(graph):
    tour = minimum_tour(graph)
    used, _ = walk(graph, tour)
    near = reachable(graph)
    assert used == {e for e, (s, _) in enumerate(graph.edges) if s in near}
    assert tour.unreachable == [e for e, (s, _) in enumerate(graph.edges) if s not in near]
    assert (len(tour.paths), tour.steps) == least(graph, range(len(graph.edges)), (), ())
    assert tour.minimal


@st.composite
def selections(draw, **kinds):
    """A graph, with some edges and vertices to cover and some edges to avoid."""
    graph = draw(plain_graphs(**kinds))
    edges = st.sets(st.sampled_from(range(len(graph.edges)))) if graph.edges else st.just(set())
    vertices = st.sets(st.sampled_from(range(len(graph))))
    return graph, draw(edges), draw(vertices), draw(edges.map(lambda e: set(sorted(e)[:2])))


@settings(max_examples=150)
@given(selections())
def test_over_some_edges_no_fewer_paths_do(selection):
    graph, edges, vertices, avoid = selection
    tour = minimum_tour(graph, edges=edges, vertices=vertices, avoid=avoid)
    used, visited = walk(graph, tour)
    assert not used & avoid
    assert edges - used == set(tour.unreachable)
    assert vertices - visited == vertices - reachable(graph, avoid)
    paths, steps = least(graph, edges, vertices, avoid)
    assert len(tour.paths) == paths
    assert tour.least_steps <= steps <= tour.steps


@settings(max_examples=100)
@given(selections(acyclic=True))
def test_without_cycles_over_some_edges_nothing_is_shorter(selection):
    graph, edges, vertices, avoid = selection
    tour = minimum_tour(graph, edges=edges, vertices=vertices, avoid=avoid)
    walk(graph, tour)
    assert (len(tour.paths), tour.steps) == least(graph, edges, vertices, avoid)
    assert tour.minimal


# A cycle that the cheapest flow would go round with no path near it.
@pytest.mark.parametrize(
    ("graph", "wanted", "paths"),
    [
        # Two initial states with a self-loop each: a path to each.
        (Plain(2, [0, 1], [(0, 0), (1, 1)]), None, [[0], [1]]),
        # A ring through the initial state.
        (Plain(3, [0], [(0, 1), (1, 2), (2, 0)]), None, [[0, 1, 2]]),
        # A ring that lies off the only wanted edge between components, behind or before it.
        (Plain(4, [0], [(0, 1), (0, 2), (2, 3), (3, 2)]), [0, 2, 3], [[0], [1, 2, 3]]),
        (Plain(4, [0], [(0, 1), (1, 2), (2, 1), (2, 3), (0, 3)]), [1, 2], [[0, 1, 2]]),
        # One path goes by the ring on a longer way; one path is still enough.
        (
            Plain(4, [0], [(0, 3), (0, 1), (1, 1), (1, 2), (2, 3), (3, 3)]),
            [2, 5],
            [[1, 2, 3, 4, 5]],
        ),
        # Part of a ring only.
        (Plain(3, [0], [(0, 1), (1, 2), (2, 0)]), [1], [[0, 1]]),
    ],
)
def test_cycles_that_no_path_comes_near(graph, wanted, paths):
    tour = minimum_tour(graph, edges=wanted)
    assert tour.paths == paths
    assert tour.minimal == (tour.steps == sum(map(len, paths)) == tour.least_steps)


@pytest.mark.parametrize(
    ("crashes", "fault", "paths", "steps"),
    [
        # Measured before this module was written, on a prototype that used another algorithm.
        (1, None, 40, 248),
        (2, None, 80, 552),
        (1, "Replay", 48, 336),
        (1, "PrefixReplay", 48, 336),
        (1, "NondetRecovery", 72, 476),
        (2, "Replay", 124, None),
        (2, "PrefixReplay", 124, None),
        (2, "NondetRecovery", 288, None),
    ],
)
def test_the_resume_contract(crashes, fault, paths, steps):
    graph = resume_graph(crashes=crashes, fault=fault)
    tour = minimum_tour(graph)
    used, _ = walk(graph, tour)
    assert len(used) == graph.transitions
    assert len(tour.paths) == paths == widest_antichain(graph)
    assert steps in (None, tour.steps)
    assert tour.steps == least_steps(graph, paths)
    assert tour.minimal


def widest_antichain(graph):
    """The most edges of an acyclic graph of which no two can be on one path (by Dilworth)."""
    after = nx.transitive_closure_dag(
        nx.DiGraph(
            (first.id, second.id) for first in graph.edges for second in graph.out(first.target)
        )
    )
    halves = nx.Graph()
    halves.add_nodes_from((("before", edge.id) for edge in graph.edges), bipartite=0)
    halves.add_edges_from((("before", a), ("after", b)) for a, b in after.edges)
    top = {node for node in halves if node[0] == "before"}
    matching = nx.bipartite.hopcroft_karp_matching(halves, top)
    return graph.transitions - len(matching) // 2


def least_steps(graph, paths):
    """The fewest steps of so many paths over all edges, by networkx's network simplex."""
    network = nx.DiGraph()
    network.add_node("start", demand=-paths)
    network.add_node("end", demand=paths)
    for vertex in range(len(graph)):
        network.add_edge(vertex, "end", weight=0)
    for vertex in graph.initial:
        network.add_edge("start", vertex, weight=0)
    for edge in graph.edges:
        # Used once in any case, by way of the demands, and again at the price of a step.
        network.add_edge(edge.source, ("on", edge.id), weight=1)
        network.add_edge(("on", edge.id), edge.target, weight=0)
    for vertex in range(len(graph)):
        leaving = len(graph.out(vertex))
        arriving = sum(edge.target == vertex for edge in graph.edges)
        network.nodes[vertex]["demand"] = leaving - arriving
    return nx.network_simplex(network)[0] + graph.transitions


@given(plain_graphs(), st.randoms(use_true_random=False))
def test_the_order_of_the_wanted_leaves_no_mark(graph, chance):
    wanted = list(range(len(graph.edges)))
    chance.shuffle(wanted)
    assert minimum_tour(graph, edges=wanted) == minimum_tour(graph)


def random_graph(states, transitions, seed):
    """A graph in which everything is in reach of vertex 0, most of it on cycles."""
    chance = random.Random(seed)
    tree = [(chance.randrange(v), v) for v in range(1, states)]
    more = [(chance.randrange(states), chance.randrange(states))
            for _ in range(transitions - len(tree))]  # fmt: skip
    return Plain(states, [0], sorted(tree + more))


def test_a_hundred_thousand_transitions():
    graph = random_graph(30_000, 100_000, seed=1)
    started = time.perf_counter()
    tour = minimum_tour(graph)
    assert time.perf_counter() - started < 60
    assert tour.minimal
    assert sorted(set(itertools.chain.from_iterable(tour.paths))) == list(range(100_000))


def test_some_transitions_of_a_large_graph():
    graph = random_graph(5_000, 15_000, seed=2)
    wanted, avoid = set(range(0, 15_000, 7)), set(range(3, 15_000, 50))
    tour = minimum_tour(graph, edges=wanted, avoid=avoid)
    used, _ = walk(graph, tour)
    assert wanted - used == set(tour.unreachable)
    assert not used & avoid


def test_a_tour_that_would_not_fit_is_refused(monkeypatch):
    # Every vertex of a chain leads back to its first one: n edges, about n * n / 2 steps.
    size = 400
    chain = [(v, v + 1) for v in range(size)] + [(v, 0) for v in range(1, size)]
    graph = Plain(size + 1, [0], sorted(chain))
    assert minimum_tour(graph).steps > 80_000
    monkeypatch.setattr(inside, "STEP_LIMIT", 80_000)
    with pytest.raises(MbtError, match="smaller bounds"):
        minimum_tour(graph)
    every_way_back = np.flatnonzero(graph.targets == 0)
    with pytest.raises(MbtError, match="smaller bounds"):
        minimum_tour(graph, edges=every_way_back)
