"""Cheapest flows: held against networkx, and the same whatever the solver found first."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tracegen import flow
from tracegen.errors import MachineryError
from tracegen.flow import cheapest_flow


@st.composite
def problems(draw):
    """Tails, heads, costs and demands; the root, which is the last node, reaches every node."""
    nodes = draw(st.integers(1, 6))
    node = st.integers(0, nodes - 1)
    arcs = draw(st.lists(st.tuples(node, node, st.integers(0, 3)), max_size=12))
    arcs += [(nodes, n, draw(st.integers(4, 9))) for n in range(nodes)]
    demand = draw(st.lists(st.integers(-3, 3), min_size=nodes, max_size=nodes))
    return (*np.array(arcs, dtype=np.int64).T, np.array(demand, dtype=np.int64))


def least_cost(tails, heads, costs, demand):
    """The cost that networkx's network simplex comes to; what is left over goes to a sink."""
    graph = nx.MultiDiGraph()
    supply = int(np.abs(demand).sum())
    root, sink = len(demand), "sink"
    graph.add_node(root, demand=-supply)
    graph.add_node(sink, demand=supply - int(demand.sum()))
    graph.add_edge(root, sink, weight=0)
    for node, wanted in enumerate(demand.tolist()):
        graph.add_node(node, demand=wanted)
        graph.add_edge(node, sink, weight=0)
    for tail, head, cost in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True):
        graph.add_edge(tail, head, weight=cost)
    simple = nx.DiGraph()
    simple.add_nodes_from(graph.nodes(data=True))
    for place, (tail, head, weight) in enumerate(graph.edges(data="weight")):
        nx.add_path(simple, [tail, ("on", place), head], weight=0)
        simple[tail]["on", place]["weight"] = weight
    return nx.network_simplex(simple)[0]


@given(problems())
def test_it_is_as_cheap_as_networkx_finds(problem):
    tails, heads, costs, demand = problem
    arcs = cheapest_flow(*problem)
    assert (arcs >= 0).all()
    size = len(demand) + 1
    arrived = np.bincount(heads, arcs, size) - np.bincount(tails, arcs, size)
    assert (arrived[:-1] >= demand).all()
    assert costs @ arcs == least_cost(*problem)


@given(problems())
def test_both_ways_of_solving_end_in_one_flow(problem):
    found = [cheapest_flow(*problem)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "_METHODS", flow._METHODS[::-1])
        found.append(cheapest_flow(*problem))
    assert (found[0] == found[1]).all()


def test_a_choice_between_many_equal_ways_is_made_once():
    # From corner to corner of a square grid of streets, all ways are as long.
    side = 12
    place = np.arange(side * side)
    east, south = place[place % side < side - 1], place[place < side * (side - 1)]
    tails = np.r_[east, south, side * side]
    heads = np.r_[east + 1, south + side, 0]
    demand = np.zeros(side * side, dtype=np.int64)
    demand[-1] = 3
    ways = []
    for methods in (["highs-ipm"], ["highs-ds"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flow, "_METHODS", methods)
            ways.append(cheapest_flow(tails, heads, np.ones(len(tails), np.int64), demand))
    assert ways[0].sum() == 3 * (2 * (side - 1) + 1)
    assert (ways[0] == ways[1]).all()


@given(problems())
def test_an_answer_that_proves_nothing_is_not_taken(problem):
    assume((problem[3] > 0).any())
    real = flow.linprog

    def careless(*args, **kwargs):
        result = real(*args, **kwargs)
        result.x = result.x + 1  # feasible in many cases, cheapest in none
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "linprog", careless)
        with pytest.raises(MachineryError, match="did not prove its flow optimal"):
            cheapest_flow(*problem)
