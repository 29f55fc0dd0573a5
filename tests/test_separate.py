"""What tells two models apart, against enumeration of their paths."""

from types import SimpleNamespace

import pytest
from graphs import SPECS, numbered, resume_graph
from hypothesis import given
from hypothesis import strategies as st

from replay.compare import Model
from replay.explanation.separate import containment
from tracegen.graph import StateGraph
from tracegen.spec import load_spec
from tracegen.spec_tables import Variables
from tracegen.trace import ValuePath
from tracegen.values import FALSE, Bool, Int

LONGEST = 7


def model(graph, tester=None, dead=None):
    actions = {name: SimpleNamespace(tester=path) for name, path in (tester or {}).items()}
    spec = SimpleNamespace(actions=actions, null=None, variables=Variables(dead=dead))
    return Model(graph, spec)


@st.composite
def models(draw):
    """Small graphs with a variable that is shown (x) and one that is not (y)."""
    size = draw(st.integers(1, 5))
    states = [(Int(draw(st.integers(0, 1))), Int(number)) for number in range(size)]
    place = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(place, st.sampled_from("ab"), place), max_size=8))
    initial = draw(st.sets(place, min_size=1, max_size=2))
    return model(StateGraph.build(["x", "y"], states, initial, edges))


def shown(one, state):
    return one.graph.state(state)["x"]


def paths(one, longest):
    """Every path up to a length, as its edges, with what is seen along it."""
    level = [((), (shown(one, s),), s) for s in one.graph.initial]
    for _ in range(longest + 1):
        yield from ((edges, seen) for edges, seen, _ in level)
        level = [
            ((*edges, e.id), (*seen, e.action, shown(one, e.target)), e.target)
            for edges, seen, s in level
            for e in one.graph.out(s)
        ]


@given(models(), models())
def test_the_walk_is_a_shortest_path_that_the_other_does_not_show(inner, outer):
    theirs = {seen for _, seen in paths(outer, LONGEST)}
    alone = [edges for edges, seen in paths(inner, LONGEST) if seen not in theirs]
    found = containment(inner, outer, {"x"}, {})
    if found.walk is None:
        assert not alone
        return
    if len(found.walk) > LONGEST:
        assert not alone
        return
    assert found.walk in alone
    assert len(found.walk) == min(map(len, alone))


@given(models())
def test_a_model_admits_its_own_runs(one):
    assert containment(one, one, {"x", "y"}, {}).walk is None


def test_a_variable_that_nobody_sees_separates_nothing():
    one, other = model(numbered([(0, "A", 1)])), model(numbered([(0, "A", 2)]))
    assert containment(one, other, {"x"}, {}).walk == (0,)
    assert containment(one, other, (), {}).walk is None


def test_a_parameter_that_the_tester_chose_tells_steps_apart():
    path = ValuePath.parse("x")
    one, other = (model(numbered([(0, "A", target)]), {"A": {"v": path}}) for target in (1, 2))
    assert containment(one, other, (), {}).walk == (0,)


def test_whether_a_run_stands_is_seen():
    def ends(dead):
        states = [(Int(0), FALSE), (Int(1), Bool(dead))]
        return model(StateGraph.build(["x", "dead"], states, [0], [(0, "A", 1)]), dead="dead")

    assert containment(ends(True), ends(False), {"x"}, {}).walk == (0,)
    assert containment(ends(True), ends(True), {"x"}, {}).walk is None


def test_what_a_system_takes_in_one_go_is_one_step():
    one = model(numbered([(0, "A", 1), (1, "B", 2)]))
    other = model(numbered([(0, "A", 3), (3, "B", 2)]))
    assert containment(one, other, {"x"}, {}).walk == (0,)
    merged = containment(one, other, {"x"}, {"B": ("A", "B"), "A": ("A", "B", "none")})
    assert merged.walk is None


@pytest.mark.parametrize(
    ("inner", "outer", "steps"),
    [
        # A recovery enters task 1, and the reference goes on behind the frontier.
        ("Replay", None, ["ExecTask", "CrashRecover"]),
        ("ForkIgnore", None, ["ExecTask", "EmitInterrupt", "Consume", "ForkResume"]),
        # Both restart at task 1: the gate's effect, crossed again, is what tells them apart.
        (
            "Replay",
            "PrefixReplay",
            ["ExecTask", "EmitInterrupt", "Consume", "CrashRecover", "ExecTask", "ExecTask"],
        ),
        # NondetRecovery contains the reference.
        (None, "NondetRecovery", None),
    ],
)
def test_faults_of_the_resume_contract(inner, outer, steps):
    spec = load_spec(SPECS / "ResumeContract.tla")
    one, other = (Model(resume_graph(fault=fault), spec) for fault in (inner, outer))
    found = containment(one, other, spec.variables.observed, {})
    walked = None if found.walk is None else [one.graph.edges[e].action for e in found.walk]
    assert walked == steps
