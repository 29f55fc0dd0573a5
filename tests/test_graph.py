"""State graphs: numbered by content alone, two actions between two states kept apart."""

import random

import numpy as np
import pytest
from graphs import numbered, resume_graph
from hypothesis import given
from hypothesis import strategies as st
from strategies import values

from tracegen.errors import MbtError
from tracegen.graph import Edge, StateGraph, distances
from tracegen.values import FALSE, TRUE, Int, ModelValue, Str


def arrays(graph):
    return {
        "initial": list(graph.initial),
        "states": [graph.state(i) for i in range(len(graph))],
        "edges": list(graph.edges),
    }


@st.composite
def descriptions(draw):
    """Variables, distinct states, initial ones, and edges, as `StateGraph.build` takes them."""
    variables = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
    row = st.tuples(*[values] * len(variables))
    states = draw(st.lists(row, min_size=1, max_size=5, unique=True))
    places = st.integers(0, len(states) - 1)
    edges = draw(st.lists(st.tuples(places, st.sampled_from(["Go", "Stop"]), places), max_size=8))
    return variables, states, sorted(draw(st.sets(places, min_size=1))), edges


@given(descriptions(), st.randoms(use_true_random=False))
def test_the_order_of_writing_leaves_no_mark(description, chance):
    variables, states, initial, edges = description
    graph = StateGraph.build(*description)

    order = list(range(len(states)))
    columns = list(range(len(variables)))
    for shuffled in (order, columns):
        chance.shuffle(shuffled)
    new_place = {old: new for new, old in enumerate(order)}
    again = [(new_place[s], action, new_place[t]) for s, action, t in edges * 2]
    chance.shuffle(again)
    other = StateGraph.build(
        [variables[c] for c in columns],
        [tuple(states[i][c] for c in columns) for i in order],
        [new_place[i] for i in initial],
        again,
    )

    assert arrays(other) == arrays(graph)
    assert other.digest == graph.digest


@given(descriptions())
def test_nothing_is_lost(description):
    variables, states, initial, edges = description
    graph = StateGraph.build(*description)
    named = [dict(zip(variables, state, strict=True)) for state in states]
    number_of = {i: next(n for n in range(len(graph)) if graph.state(n) == s)
                 for i, s in enumerate(named)}  # fmt: skip
    assert len(graph) == len(states)
    assert set(graph.initial) == {number_of[i] for i in initial}
    expected = {(number_of[s], action, number_of[t]) for s, action, t in edges}
    assert [edge[1:] for edge in graph.edges] == sorted(expected)
    assert graph.transitions == len(expected)
    assert [edge for n in range(len(graph)) for edge in graph.out(n)] == list(graph.edges)


def test_numbers_go_by_distance_then_by_content():
    graph = numbered([(30, "A", 10), (30, "A", 2), (2, "B", 5), (7, "A", 7)], initial=[30])
    # 30 is initial; 2 and 10 one step off, as integers and not as texts; 7 is out of reach.
    assert [graph.state(i)["x"] for i in range(5)] == [Int(x) for x in (30, 2, 10, 5, 7)]
    assert graph.initial == (0,)
    assert list(graph.edges) == [
        Edge(0, 0, "A", 1), Edge(1, 0, "A", 2), Edge(2, 1, "B", 3), Edge(3, 4, "A", 4),
    ]  # fmt: skip


def test_parallel_edges_of_two_actions_are_two_and_of_one_are_one():
    graph = numbered([(0, "Go", 1), (0, "Jump", 1), (0, "Go", 1), (1, "Noop", 1)])
    assert [edge.action for edge in graph.edges] == ["Go", "Jump", "Noop"]
    assert graph.actions == ("Go", "Jump", "Noop")


def test_values_of_different_kinds_make_different_states():
    states = [(value,) for value in (TRUE, Int(1), Str("one"), ModelValue("one"), FALSE)]
    assert len(StateGraph.build(["x"], states, [0], [])) == 5


def test_a_state_given_twice_is_refused():
    with pytest.raises(MbtError, match=r"states 1 and 3 .* are the same"):
        StateGraph.build(["x"], [(Int(x),) for x in (1, 2, 3, 2)], [0], [])


EDGES = [(0, "A", 1), (1, "B", 2), (2, "B", 0)]


@pytest.mark.parametrize(
    "other",
    [
        numbered(EDGES[:2]),
        numbered([*EDGES, (0, "A", 0)]),
        numbered([(0, "B", 1), *EDGES[1:]]),
        numbered([(0, "A", 1), (1, "B", 3), (3, "B", 0)]),
        numbered(EDGES, initial=[0, 1]),
        StateGraph.build(
            ["y"], [(Int(x),) for x in range(3)], [0], [(0, "A", 1), (1, "B", 2), (2, "B", 0)]
        ),
    ],
    ids=["edge less", "edge more", "action", "value", "initial", "variable"],
)
def test_every_difference_shows_in_the_digest(other):
    assert other.digest != numbered(EDGES).digest


def test_arrays_with_unused_and_equal_values():
    graph = StateGraph.from_arrays(
        ["x"],
        [Str("unused"), Int(1), Int(0), Int(1)],
        np.array([[2], [3]], dtype=np.int32),
        [0],
        np.array([0, 0, 1]),
        np.array([2, 2, 1]),
        np.array([1, 1, 0]),
        ["Never", "Down", "Up"],
    )
    assert graph.values == (Int(0), Int(1))
    assert graph.digest == numbered([(0, "Up", 1), (1, "Down", 0)]).digest


def test_edges_are_a_sequence():
    edges = numbered(EDGES).edges
    assert len(edges) == 3
    assert edges[-1] == Edge(2, 2, "B", 0)
    assert edges[1:] == [edges[1], edges[2]]
    with pytest.raises(IndexError):
        edges[3]


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        numbered(EDGES).targets[0] = 2


def test_graphs_without_edges_or_states():
    assert len(StateGraph.build(["x"], [(Int(1),)], [0], []).edges) == 0
    empty = StateGraph.build(["x"], [], [], [])
    assert (len(empty), empty.transitions, empty.initial) == (0, 0, ())


def test_the_networkx_view():
    view = numbered([(0, "Go", 1), (0, "Jump", 1), (1, "Noop", 1)]).networkx()
    assert view.is_multigraph() and view.is_directed()
    assert dict(view.nodes(data=True)) == {
        0: {"initial": True, "state": {"x": Int(0)}},
        1: {"initial": False, "state": {"x": Int(1)}},
    }
    assert sorted(view.edges(keys=True, data="action")) == [
        (0, 1, 0, "Go"), (0, 1, 1, "Jump"), (1, 1, 2, "Noop"),
    ]  # fmt: skip


def test_a_large_graph_has_no_networkx_view(monkeypatch):
    monkeypatch.setattr("tracegen.graph.NETWORKX_LIMIT", 5)
    with pytest.raises(MbtError, match=r"too large for networkx \(6 of at most 5\)"):
        numbered(EDGES).networkx()


@given(st.integers(0, 40), st.integers(1, 12), st.randoms(use_true_random=False))
def test_distances_are_those_of_a_search_by_hand(count, size, chance: random.Random):
    pairs = sorted((chance.randrange(size), chance.randrange(size)) for _ in range(count))
    start = chance.randrange(size)
    expected, level, frontier = dict.fromkeys(range(size), -1), 0, {start}
    while frontier:
        expected |= dict.fromkeys(frontier, level)
        level += 1
        frontier = {t for s, t in pairs if s in frontier and expected[t] < 0}
    offsets = np.searchsorted([s for s, _ in pairs], np.arange(size + 1))
    targets = np.array([t for _, t in pairs], dtype=np.int64)
    assert distances(offsets, targets, np.array([start])).tolist() == list(expected.values())


def test_the_resume_contract_as_tlc_explores_it():
    graph = resume_graph()
    assert len(graph) == 59  # 87 generated, one of them initial, and none twice
    assert graph.transitions == 86
    assert graph.actions == (
        "Consume", "CrashRecover", "EmitInterrupt", "ExecTask", "ExtraResume", "ForkResume",
    )  # fmt: skip
    assert graph.state(0)["pc"] == Int(1)
