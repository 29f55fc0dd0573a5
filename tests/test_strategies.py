"""Traces drawn by Hypothesis: paths of the graph, which shrink to the shortest that will do."""

import random
import subprocess
import sys

import pytest
from graphs import SPECS, numbered, resume_graph
from hypothesis import HealthCheck, Phase, find, given, settings
from test_cover import states_of

from mbt.strategies import paths, traces
from mbt.testing import System
from tracegen.errors import MbtError

RESUME = SPECS / "ResumeContract.tla"
SEARCH = settings(
    max_examples=2000,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def smallest(strategy, wanted, seed=0):
    return find(strategy, wanted, settings=SEARCH, random=random.Random(seed))


@given(path=paths(resume_graph(), max_steps=6))
def test_a_drawn_path_never_leaves_the_graph(path):
    assert 1 <= len(path) <= 6
    states_of(resume_graph(), path)


def test_a_path_ends_where_nothing_leaves():
    lengths = set()

    @given(path=paths(resume_graph(), max_steps=50))
    def draw(path):
        lengths.add(len(path))
        # No path of ResumeContract at reference bounds has more steps: task 1, the interrupt, the
        # value that is consumed, task 3, and once each a second value, a crash, a stray resume.
        assert len(path) <= 7

    draw()
    assert 7 in lengths


def test_a_loop_goes_as_far_as_asked_and_every_transition_is_drawn():
    graph = numbered([(0, "A", 0), (0, "A", 1), (1, "B", 0), (0, "C", 2)], initial=(0, 1))
    drawn, longest = set(), set()

    @settings(max_examples=300)
    @given(path=paths(graph, max_steps=9))
    def draw(path):
        drawn.update(path)
        longest.add(len(path))
        states_of(graph, path)

    draw()
    assert drawn == {edge.id for edge in graph.edges}
    assert max(longest) == 9 and min(longest) == 1


# By hand, with three tasks of which the second interrupts: ExecTask, EmitInterrupt, Consume,
# ExecTask completes a run in four steps. A crash is possible from the second task on while nothing
# waits, and a fork once a value was consumed.
SHORTEST = [
    (["ExtraResume"], 5),
    (["Consume", "CrashRecover"], 4),
    (["ForkResume", "ExecTask"], 5),
    (["CrashRecover", "EmitInterrupt"], 3),
    (["CrashRecover", "ForkResume", "ExtraResume"], 7),
]


@pytest.mark.parametrize(("wanted", "steps"), SHORTEST, ids=lambda value: str(value))
def test_a_failing_example_shrinks_to_the_shortest(wanted, steps):
    def fails(trace):
        actions = iter(step.action for step in trace.steps)
        return all(action in actions for action in wanted)  # in this order

    found = smallest(traces(RESUME, "R0"), fails)
    assert len(found.steps) == steps, [step.action for step in found.steps]


def test_a_ring_shrinks_to_the_least_rounds():
    graph = numbered([(0, "A", 1), (1, "B", 2), (2, "C", 0), (1, "D", 1)])
    rounds = smallest(
        paths(graph, max_steps=30),
        lambda path: [graph.edges[e].action for e in path].count("C") > 2,
    )
    assert [graph.edges[e].action for e in rounds] == ["A", "B", "C"] * 3


def test_parameters_and_names():
    trace = smallest(traces(RESUME, "R0"), lambda t: any(s.action == "Consume" for s in t.steps))
    assert (trace.module, trace.model) == ("ResumeContract", "R0")
    assert [step.action for step in trace.steps] == ["ExecTask", "EmitInterrupt", "Consume"]
    assert str(trace.steps[-1].params["v"]) in ('"v1"', '"v2"')


def test_wrong_use():
    with pytest.raises(MbtError, match="has no model 'R77'"):
        traces(RESUME, "R77")
    with pytest.raises(MbtError, match="at least 1 step; max_steps is 0"):
        paths(resume_graph(), max_steps=0)
    with pytest.raises(MbtError, match="nothing leaves the initial states"):
        paths(numbered([], initial=(0,)))


def test_without_hypothesis_it_is_said_what_to_install():
    code = "import sys; sys.modules['hypothesis'] = None; import mbt.strategies"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "tla-mbt[hypothesis]"' in done.stderr.splitlines()[-1]


# --- replayed


def test_a_system_that_conforms_never_diverges():
    with System(RESUME, "R0", "reference") as system:

        @settings(max_examples=25)
        @given(trace=traces(RESUME, "R0"))
        def conforms(trace):
            assert system.divergence(trace) is None

        conforms()


def test_a_planted_fault_is_found_and_shrunk():
    with System(RESUME, "R0", "reference", {"fault": "Replay"}) as system:
        found = smallest(traces(RESUME, "R0"), lambda trace: system.divergence(trace) is not None)
        divergence = system.divergence(found)
    # The reference recovers at the first task: seen by a crash after it, and by nothing shorter.
    assert [step.action for step in found.steps] == ["ExecTask", "CrashRecover"]
    assert "pc = 2; the system showed pc = 1" in divergence.sentence()


def test_a_system_that_is_not_there():
    with pytest.raises(MbtError, match="unknown adapter 'lang'"):
        System(RESUME, "R0", "lang")
    with pytest.raises(MbtError, match="has no option 'falt'; known: fault"):
        System(RESUME, "R0", "reference", {"falt": "Replay"})
