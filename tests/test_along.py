"""The state graph along behaviours that name no actions, and the names that they get of it."""

from pathlib import Path

import pytest

from tracegen.along import graph_along
from tracegen.cfg import parse_config
from tracegen.module import read_module
from tracegen.naming import Behaviour, name_steps
from tracegen.simulation import simulate
from tracegen.spec import load_spec
from tracegen.tlc import state_graph
from tracegen.values import Int, ModelValue, Set

SPECS = Path(__file__).resolve().parent.parent / "specs"


@pytest.fixture(scope="module")
def spec():
    return load_spec(SPECS / "ResumeContract.tla")


def edges(graph):
    return {
        (tuple(graph.state(e.source).items()), e.action, tuple(graph.state(e.target).items()))
        for e in graph.edges
    }


def test_it_is_what_the_whole_graph_has_between_the_states(spec, checker):
    config = spec.model("R0").config
    _, whole = state_graph(spec.source, config, **checker)
    kept = [whole.state(number) for number in range(0, len(whole), 2)] + [whole.state(1)]
    along = graph_along(spec.source, config, kept, **checker)
    inside = {tuple(state.items()) for state in kept}
    reached = {tuple(along.state(number).items()) for number in range(len(along))}
    assert len(along.initial) == 1
    assert reached <= inside
    expected = {edge for edge in edges(whole) if edge[0] in reached and edge[2] in inside}
    assert edges(along) == expected != set()


def test_a_space_too_large_to_hold(spec, checker):
    # R8 has 7,435,360 states.
    config = spec.model("R8").config
    found = simulate(spec.source, config, number=5, depth=20, seed=3, **checker).behaviours
    states = [state.state for behaviour in found for state in behaviour.states]
    graph = graph_along(spec.source, config, states, **checker)
    assert len(graph) <= len(states)
    for behaviour in found:
        row = tuple(state.state for state in behaviour.states)
        nameless = Behaviour("b", "b", row, (None,) * (len(row) - 1), ({},) * (len(row) - 1))
        named = name_steps(nameless, graph, "R8")
        assert [*named.actions] == [state.action for state in behaviour.states[1:]]


def test_model_values_that_the_module_does_not_declare(tmp_path, checker):
    (tmp_path / "M.tla").write_text(
        "---- MODULE M ----\nEXTENDS Integers, FiniteSets\nCONSTANT P\nVARIABLES s, n\n"
        "Init == s = {} /\\ n = 0\nJoin(p) == p \\notin s /\\ s' = s \\cup {p} /\\ n' = n + 1\n"
        "Next == \\E p \\in P : Join(p)\nSpec == Init /\\ [][Next]_<<s, n>>\n====\n"
    )
    module = read_module(tmp_path / "M.tla")
    config = parse_config("SPECIFICATION Spec\nCONSTANT P = {p1, p2}")
    empty = {"s": Set(), "n": Int(0)}
    one = {"s": Set([ModelValue("p2")]), "n": Int(1)}
    graph = graph_along(module, config, [empty, one], **checker)
    assert [(e.source, e.action, e.target) for e in graph.edges] == [(0, "Join", 1)]
    assert graph.state(1) == one
