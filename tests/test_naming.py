"""Nameless behaviours get the names of their steps from a state graph."""

import pytest
from graphs import numbered, resume_graph
from hypothesis import given
from hypothesis import strategies as st

from tracegen.graph import StateGraph
from tracegen.naming import Behaviour, NamingError, name_steps
from tracegen.values import TRUE, Int, Str, seq

GRAPH = numbered(
    [(0, "Go", 1), (1, "Go", 2), (1, "Skip", 2), (1, "Apply", 2), (2, "Rest", 2), (2, "Back", 0)]
)


def behaviour(*xs, actions=None, **more):
    states = tuple({"x": Int(x)} for x in xs)
    steps = len(states) - 1
    return Behaviour("t", "file", states, actions or (None,) * steps, ({},) * steps, **more)


def test_a_step_is_the_action_that_joins_its_states():
    named = name_steps(behaviour(0, 1), GRAPH, "M")
    assert named.actions == ("Go",)
    assert named.notes == ()
    # A loop is an action's, and no stuttering.
    named = name_steps(behaviour(0, 1, 2, 2, 0), GRAPH, "M")
    assert named.actions == ("Go", "Apply", "Rest", "Back")


def test_of_several_the_first_by_name_is_taken_and_said():
    named = name_steps(behaviour(0, 1, 2, 0, 1, 2), GRAPH, "M")
    assert named.actions == ("Go", "Apply", "Back", "Go", "Apply")
    assert named.notes == (
        "file: the step to states 3, 6 can be Apply, Go or Skip; taken as Apply, the first by name",
    )
    # States as the file counts them.
    (note,) = name_steps(behaviour(0, 1, 2, first=0), GRAPH, "M").notes
    assert note.startswith("file: the step to state 2 can be Apply, Go or Skip")


def test_a_name_that_is_given_is_kept_where_the_graph_has_it():
    named = name_steps(behaviour(0, 1, 2, actions=(None, "Skip")), GRAPH, "M")
    assert named.actions == ("Go", "Skip")
    assert named.notes == ()
    with pytest.raises(NamingError) as refused:
        name_steps(behaviour(0, 1, 2, actions=(None, "Back")), GRAPH, "M")
    assert str(refused.value) == (
        "file: state 3 does not follow state 2 in M by the action Back "
        "(enabled there: Apply, Go, Skip)"
    )


def test_a_stuttering_step_is_left_out_and_said():
    given_params = ({}, {}, {"v": TRUE}, {})
    stuttering = Behaviour(
        "t", "file", behaviour(0, 0, 0, 1, 1).states, (None,) * 4, given_params, loop=3
    )
    named = name_steps(stuttering, GRAPH, "M")
    assert [state["x"] for state in named.states] == [Int(0), Int(1)]
    assert named.actions == ("Go",)
    assert named.params == ({"v": TRUE},)
    assert named.loop == 1
    assert named.notes == (
        "file: the step to states 2, 3, 5 changes nothing and is no action's; left out",
    )
    # Not where the file has a name for it.
    with pytest.raises(NamingError, match="state 2 does not follow state 1 in M by the action Go"):
        name_steps(behaviour(0, 0, actions=("Go",)), GRAPH, "M")


@pytest.mark.parametrize(
    ("xs", "complaint"),
    [
        ((2,), "file: state 1 is a state of M, but not an initial one"),
        ((7,), "file: state 1 is no state of M; it differs from the nearest in x = 7, not 0"),
        ((0, 2), "file: state 2 does not follow state 1 in M by any action (enabled there: Go)"),
        ((0, 1, 3), "file: state 3 is no state of M; it differs from the nearest in x = 3, not 0"),
    ],
)
def test_what_is_no_behaviour_of_the_model(xs, complaint):
    with pytest.raises(NamingError) as refused:
        name_steps(behaviour(*xs), GRAPH, "M")
    assert str(refused.value) == complaint


def test_a_state_that_nothing_leaves():
    graph = numbered([(0, "Go", 1)])
    with pytest.raises(NamingError, match=r"by any action \(enabled there: none\)"):
        name_steps(behaviour(0, 1, 0), graph, "M")


def test_the_nearest_state_is_the_one_with_the_fewest_differences():
    names = ["a", "b", "c", "d", "e", "f"]
    states = [tuple(map(Int, row)) for row in ([0] * 6, [1, 1, 1, 1, 1, 0], [1] * 6)]
    graph = StateGraph.build(names, states, [0], [(0, "Go", 1), (1, "Go", 2)])

    def walk(*rows):
        states = tuple(dict(zip(names, row, strict=True)) for row in rows)
        return name_steps(Behaviour("t", "f", states, (None,), ({},)), graph, "M")

    strange = [*map(Int, [1, 1, 1, 1]), Str("1" * 99), Int(0)]
    with pytest.raises(NamingError) as refused:
        walk(states[0], strange)
    shown = '"' + "1" * 56 + "..."
    assert str(refused.value) == (
        f"f: state 2 is no state of M; it differs from the nearest in e = {shown}, not 1"
    )
    with pytest.raises(NamingError, match=r"a = 2, not 0; b = 2, not 0; .*; and 2 more$"):
        walk(states[0], [Int(2)] * 6)
    # 1 is not TRUE.
    with pytest.raises(NamingError, match=r"a = TRUE, not 1$"):
        walk(states[0], [TRUE, *map(Int, [1, 1, 1, 1, 0])])


def test_other_variables_than_the_models():
    def walk(*states):
        return name_steps(Behaviour("t", "f", states, (None,) * (len(states) - 1), ()), GRAPH, "M")

    with pytest.raises(NamingError) as refused:
        walk({"x": Int(0), "z": TRUE, "y": TRUE})
    assert str(refused.value) == (
        "f: state 1 has what the module does not declare: y, z (its variables: x)"
    )
    with pytest.raises(NamingError, match=r"f: state 2 has no value of: x \(its variables: x\)"):
        walk({"x": Int(0)}, {})


@given(st.data())
def test_the_names_of_any_walk_are_found_again(data):
    """Over the graph of R0, of which no two actions join the same two states."""
    graph = resume_graph()
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    assert len(pairs) == len(set(pairs))
    here = data.draw(st.sampled_from(graph.initial))
    states, actions = [graph.state(here)], []
    while (leaving := graph.out(here)) and data.draw(st.integers(0, 9)):
        edge = data.draw(st.sampled_from(leaving))
        here = edge.target
        states.append(graph.state(here))
        actions.append(edge.action)
    steps = len(actions)
    nameless = Behaviour("t", "f", tuple(states), (None,) * steps, ({},) * steps)
    named = name_steps(nameless, graph, "M")
    assert named.states == tuple(states)
    assert named.actions == tuple(actions)
    assert named.notes == ()
    # A value that is changed anywhere is told.
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, steps))
        variable = data.draw(st.sampled_from(graph.variables))
        states[place] = {**states[place], variable: seq([Str("else")])}
        with pytest.raises(NamingError, match=f"f: state {place + 1} is no state of M"):
            name_steps(Behaviour("t", "f", tuple(states), (None,) * steps, ()), graph, "M")
