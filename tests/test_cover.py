"""Covers of a state graph: what is to be covered is, by as few paths as can be, each time alike."""

import itertools

import pytest
from graphs import numbered, resume_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegen import cover
from tracegen.cover import (
    bounded_paths,
    state_cover,
    transition_pairs,
    transition_tour,
)
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.sample import random_walks, weighted_walks
from tracegen.values import Int

graphs = st.builds(
    numbered,
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("AB"), st.integers(0, 4)), max_size=8),
    st.sets(st.integers(0, 4), min_size=1, max_size=2),
)

COVERS = {
    "states": state_cover,
    "transitions": transition_tour,
    "pairs": transition_pairs,
    "paths": lambda graph: bounded_paths(graph, 3),
    "walks": lambda graph: random_walks(graph, 5, 4, seed=7),
    "weighted": lambda graph: weighted_walks(graph, 5, 4, seed=7),
}


def states_of(graph, path):
    """The states that a path comes by; it must be one, and begin in an initial state."""
    edges = [graph.edges[number] for number in path]
    assert edges[0].source in graph.initial
    assert all(a.target == b.source for a, b in itertools.pairwise(edges))
    return [edges[0].source, *(edge.target for edge in edges)]


def in_reach(graph):
    found = set(graph.initial)
    for _ in range(len(graph)):
        found |= {edge.target for edge in graph.edges if edge.source in found}
    return found


@pytest.mark.parametrize("strategy", COVERS.values(), ids=COVERS)
@settings(max_examples=40)
@given(graph=graphs)
def test_paths_are_paths(strategy, graph):
    for path in strategy(graph):
        states_of(graph, path)


@given(graphs)
def test_every_state(graph):
    paths = state_cover(graph)
    seen = set(itertools.chain.from_iterable(states_of(graph, path) for path in paths))
    # A state that is initial and that nothing leaves has no path.
    assert in_reach(graph) - seen <= set(graph.initial)
    assert len(paths) <= len(transition_tour(graph))


@given(graphs)
def test_every_transition(graph):
    taken = set(itertools.chain.from_iterable(transition_tour(graph)))
    assert taken == {edge.id for edge in graph.edges if edge.source in in_reach(graph)}


@given(graphs)
def test_every_pair_of_transitions(graph):
    paths = transition_pairs(graph)
    pairs = {pair for path in paths for pair in itertools.pairwise(path)}
    live = [edge for edge in graph.edges if edge.source in in_reach(graph)]
    assert pairs == {(a.id, b.id) for a in live for b in graph.out(a.target)}
    assert set(itertools.chain.from_iterable(paths)) == {edge.id for edge in live}


@given(graphs, st.integers(1, 4))
def test_every_path_up_to_a_depth(graph, depth):
    def extend(path):
        onward = graph.out(graph.edges[path[-1]].target) if len(path) < depth else []
        return [path, *(longer for edge in onward for longer in extend([*path, edge.id]))]

    every = [
        path for start in graph.initial for edge in graph.out(start) for path in extend([edge.id])
    ]
    paths = bounded_paths(graph, depth)
    assert paths == sorted(paths)
    assert all(path in every for path in paths)
    assert all(any(path[: len(p)] == p for path in paths) for p in every)
    assert not any(a != b and b[: len(a)] == a for a in paths for b in paths)


@pytest.mark.parametrize("strategy", COVERS.values(), ids=COVERS)
@settings(max_examples=40)
@given(graph=graphs, chance=st.randoms(use_true_random=False))
def test_the_order_of_writing_leaves_no_mark(strategy, graph, chance):
    edges = [(e.source, e.action, e.target) for e in graph.edges]
    order = list(range(len(graph)))
    chance.shuffle(order)
    chance.shuffle(edges)
    place = {old: new for new, old in enumerate(order)}
    rows = [tuple(graph.state(i).values()) for i in order]
    again = StateGraph.build(
        graph.variables,
        rows,
        [place[i] for i in graph.initial],
        [(place[s], action, place[t]) for s, action, t in edges],
    )
    assert strategy(again) == strategy(graph)


def test_what_cannot_be_reached_without_the_avoided_is_left_out():
    graph = numbered([(0, "A", 1), (1, "B", 2), (0, "C", 3)])
    number = {edge.action: edge.id for edge in graph.edges}
    assert transition_tour(graph, avoid=[number["A"]]) == [[number["C"]]]
    assert transition_tour(graph, targets=[number["B"]]) == [[number["A"], number["B"]]]
    assert transition_tour(graph, targets=[number["B"]], avoid=[number["A"]]) == []


@pytest.mark.parametrize("strategy", COVERS.values(), ids=COVERS)
def test_a_graph_that_nothing_happens_in_has_no_paths(strategy):
    assert strategy(StateGraph.build(["x"], [(Int(0),), (Int(1),)], [0, 1], [])) == []
    assert strategy(StateGraph.build(["x"], [], [], [])) == []


def test_too_many_paths_are_refused_before_they_are_made():
    graph = numbered([(0, "A", 0), (0, "B", 0)])
    with pytest.raises(MbtError, match="more than 1,000,000 paths of up to 500 steps"):
        bounded_paths(graph, 500)


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(cover, "PATH_LIMIT", 3)
    with pytest.raises(MbtError, match="4 pairs of transitions are too many"):
        transition_pairs(numbered([(0, "A", 0), (0, "B", 0)]))


def test_the_depth_must_be_positive():
    with pytest.raises(MbtError, match="at least 1, not 0"):
        bounded_paths(numbered([(0, "A", 1)]), 0)


def with_two_values(graph, path):
    """Whether a fork on the path was given another value than the first one consumed."""
    forks = [graph.edges[e] for e in path if graph.edges[e].action == "ForkResume"]
    values = (graph.state(fork.target)["forkVals"].as_list() for fork in forks)
    return any(given[-1] != given[0] for given in values)


def test_what_is_in_the_tour_of_the_resume_contract():
    # From the diverging traces of each fault in driving.md. These numbers are the same for every
    # minimal tour: on all cheapest flows, as many paths take the actions in question.
    graph = resume_graph()
    paths = transition_tour(graph)
    actions = [[graph.edges[e].action for e in path] for path in paths]
    assert sum("ForkResume" in names for names in actions) == 40
    assert sum("CrashRecover" in names for names in actions) == 28
    assert sum("ExtraResume" in names for names in actions) == 24
    assert sum(with_two_values(graph, path) for path in paths) == 20


def test_what_is_in_the_tour_at_two_crashes():
    graph = resume_graph(crashes=2)
    paths = transition_tour(graph)
    crashes = [sum(graph.edges[e].action == "CrashRecover" for e in path) for path in paths]
    assert sum(count >= 1 for count in crashes) == 68
    assert sum(count == 2 for count in crashes) == 44


def test_a_plan_that_keeps_clear_of_crashes():
    graph = resume_graph()
    crashes = [edge.id for edge in graph.edges if edge.action == "CrashRecover"]
    paths = transition_tour(graph, targets=set(range(graph.transitions)), avoid=crashes)
    taken = set(itertools.chain.from_iterable(paths))
    uncrashed = {e.id for e in graph.edges if graph.state(e.target)["crashes"] == Int(0)}
    assert taken == uncrashed
