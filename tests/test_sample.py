"""Samples of a model: walks over its graph, and what TLC simulates without one."""

import itertools
import json
import shlex
import shutil
import subprocess
import sys

import pytest
from graphs import SPECS, numbered, resume_graph
from hypothesis import given
from hypothesis import strategies as st
from test_cover import graphs, states_of

from mbt.cli import main
from replay.parts import Selection, plan_parts
from tracegen.cfg import parse_config, read_config
from tracegen.errors import MbtError
from tracegen.outcome import Outcome
from tracegen.sample import random_walks, weighted_walks
from tracegen.select import Bounds, select_traces
from tracegen.simulation import simulate
from tracegen.spec import load_spec
from tracegen.values import Int

WALKS = {"walks": random_walks, "weighted": weighted_walks}
RESUME = SPECS / "ResumeContract.tla"


# --- walks


@pytest.mark.parametrize("walks", WALKS.values(), ids=WALKS)
@given(graph=graphs, number=st.integers(1, 4), depth=st.integers(1, 6), seed=st.integers())
def test_walks_are_paths_and_repeat_with_their_seed(walks, graph, number, depth, seed):
    found = walks(graph, number, depth, seed)
    assert len(found) == (number if any(graph.out(start) for start in graph.initial) else 0)
    for walk in found:
        assert len(walk) == depth or not graph.out(states_of(graph, walk)[-1])
    assert found == walks(graph, number, depth, seed)


def test_uniform_walks_depend_on_the_seed_alone():
    graph = numbered([(0, "A", 0), (0, "B", 0)])
    # Python promises the numbers of random.Random(1).random(): 0.134 (for the initial state),
    # then 0.847, 0.763, 0.255, 0.495, 0.449.
    assert random_walks(graph, 1, 5, seed=1) == [[1, 1, 0, 0, 0]]


def test_weighted_walks_by_hand():
    # 0 -A-> 1 -B-> 2, and 0 -C-> 0. Both edges of 0 are open, so alike: 0.847 is the second, C.
    # Then A is 4 times likelier than C, which is one step short of it: 0.763 is A.
    graph = numbered([(0, "A", 1), (1, "B", 2), (0, "C", 0)])
    assert [e.action for e in graph.edges] == ["A", "C", "B"]
    assert weighted_walks(graph, 1, 3, seed=1) == [[1, 0, 2]]


@pytest.mark.parametrize("walks", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize(("number", "depth"), [(0, 5), (5, 0)])
def test_number_and_depth_must_be_positive(walks, number, depth):
    with pytest.raises(MbtError, match="at least 1, not 0"):
        walks(numbered([(0, "A", 1)]), number, depth, 0)


def walks_to_cover(graph, walks):
    left = set(range(graph.transitions))
    for number, walk in enumerate(walks, 1):
        left -= set(walk)
        if not left:
            return number
    return len(walks) + 1


@pytest.mark.parametrize(("crashes", "transitions", "least"), [(1, 86, 40), (2, 174, 80)])
def test_weighted_walks_cover_in_far_fewer(crashes, transitions, least):
    # No set of paths over all transitions is smaller than 40, and 80 (docs/driving.md).
    graph = resume_graph(crashes=crashes)
    assert graph.transitions == transitions
    for seed in range(5):
        weighted = walks_to_cover(graph, weighted_walks(graph, 2 * least, 8, seed))
        assert least <= weighted <= 1.25 * least
        assert walks_to_cover(graph, random_walks(graph, 3 * least, 8, seed)) > 3 * least


def test_what_cannot_be_reached_any_more_does_not_draw_a_walk():
    # Once B is taken nothing is open; from 1 there is no way to C at any time.
    graph = numbered([(0, "A", 1), (1, "B", 1), (0, "C", 2)])
    walks = weighted_walks(graph, 6, 4, seed=3)
    assert set(itertools.chain.from_iterable(walks)) == {0, 1, 2}


def test_walks_as_covers(checker):
    spec = load_spec(RESUME)
    for cover in WALKS:
        traces = select_traces(spec, "R0", cover, checker, Bounds(depth=4, count=7, seed=2))
        assert [trace.name for trace in traces] == [f"R0-{n:02}" for n in range(1, 8)]
        assert all(len(trace.steps) == 4 for trace in traces)


# --- TLC's simulation


def rows(graph):
    return {tuple(graph.state(number).items()): number for number in range(len(graph))}


@pytest.fixture(scope="module")
def r0():
    return resume_graph()


def test_simulated_traces_are_paths_of_the_graph(checker, r0):
    spec = load_spec(RESUME)
    bounds = Bounds(depth=9, count=25, seed=3)
    traces = select_traces(spec, "R0", "simulation", checker, bounds)
    assert len(traces) == 25
    number = {tuple(sorted(r0.state(n).items())): n for n in range(len(r0))}
    for trace in traces:
        here = number[tuple(sorted(trace.initial.items()))]
        assert here in r0.initial
        for step in trace.steps:
            there = number[tuple(sorted(step.state.items()))]
            assert any(e.action == step.action and e.target == there for e in r0.out(here))
            here = there
        # The graph is 8 deep at most: what is shorter than asked for ends where nothing leaves.
        assert not r0.out(here)
    again = select_traces(spec, "R0", "simulation", {**checker, "cache": None}, bounds)
    assert [trace.line for trace in again] == [trace.line for trace in traces]
    other = Bounds(depth=9, count=25, seed=4)
    assert select_traces(spec, "R0", "simulation", checker, other) != traces


def test_a_simulation_goes_as_far_as_asked(checker):
    config = read_config(SPECS / "ResumeContract_R0.cfg")
    found = simulate(RESUME, config, number=10, depth=3, seed=1, **checker)
    assert [len(behaviour.states) for behaviour in found.behaviours] == [4] * 10
    assert found.result.outcome is not Outcome.HOLDS


def test_a_space_too_large_to_hold(checker):
    spec = load_spec(RESUME)
    traces = select_traces(spec, "R8", "simulation", checker, Bounds(depth=15, count=20, seed=3))
    assert [len(trace.steps) for trace in traces] == [15] * 20
    consumed = [step.params["v"] for t in traces for step in t.steps if step.action == "Consume"]
    assert {str(value) for value in consumed} <= {'"v1"', '"v2"', '"v3"', '"v4"'}
    assert consumed


@pytest.fixture
def module(tmp_path):
    def write(text):
        path = tmp_path / "Small.tla"
        path.write_text(f"---- MODULE Small ----\nEXTENDS Naturals\nVARIABLE x\n{text}\n====\n")
        return path

    return write


def test_two_actions_that_join_the_same_states_have_the_name_of_the_first(module, checker):
    path = module("Init == x = 0\nB == x' = 1 - x\nA == x' = 1 - x\nNext == B \\/ A")
    config = parse_config("INIT Init NEXT Next")
    found = simulate(path, config, number=6, depth=6, seed=1, **checker)
    actions = {state.action for b in found.behaviours for state in b.states[1:]}
    assert actions == {"B"}


def test_a_constraint_ends_a_behaviour_inside_it(module, checker):
    path = module("Init == x = 0\nUp == x' = x + 1\nNext == Up\nSmall == x < 3")
    config = parse_config("INIT Init NEXT Next CONSTRAINT Small")
    found = simulate(path, config, number=2, depth=9, seed=1, **checker)
    assert [[s.state["x"] for s in b.states] for b in found.behaviours] == [
        [Int(0), Int(1), Int(2)]
    ] * 2


def test_names_of_the_standard_module_may_be_the_models_own(module, checker):
    path = module("Init == x = 0\nPrint == x' = x + 1\nNext == Print")
    found = simulate(
        path, parse_config("INIT Init NEXT Next"), number=1, depth=2, seed=1, **checker
    )
    assert [state.action for state in found.behaviours[0].states] == [None, "Print", "Print"]


def test_an_initial_state_that_nothing_leaves_is_no_trace(module, checker):
    spec_path = module("Init == x \\in {0, 5}\nUp == x = 0 /\\ x' = 1\nNext == Up")
    spec_path.with_suffix(".cfg").write_text("INIT Init NEXT Next")
    spec = load_spec(spec_path)
    traces = select_traces(spec, "Small", "simulation", checker, Bounds(depth=3, count=12, seed=1))
    assert 0 < len(traces) < 12
    assert {len(trace.steps) for trace in traces} == {1}


@pytest.mark.parametrize(
    ("text", "config", "said"),
    [
        ('Init == x = 0\nNext == x\' = x + "a"', "", "ends in an error"),
        ("Init == x = 0 /\\ x = 1\nNext == x' = x", "", "no behaviour was simulated"),
        ("Init == x = 0\nNext == y' = x", "", "Small.tla:5:"),
        ("Init == x = 0\nNext == x' = x\nC == x' = 0", "ACTION_CONSTRAINT C", "ACTION_CONSTRAINT"),
    ],
)
def test_what_cannot_be_simulated(module, checker, text, config, said):
    path = module(text)
    parsed = parse_config(f"INIT Init NEXT Next {config}", "Small.cfg")
    with pytest.raises(MbtError, match=said):
        simulate(path, parsed, number=2, depth=3, seed=1, **checker)


# --- on the command line


@pytest.fixture
def mbt(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out

    return run


@pytest.mark.parametrize("cover", ["walks", "weighted", "simulation"])
def test_what_is_printed_repeats_the_sample(mbt, tmp_path, cover):
    words = ["traces", RESUME, "--model", "R0", "--cover", cover, "--count", "5", "--seed", "7"]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    code, out = mbt(*words, "-o", first)
    assert code == 0
    assert "holds" not in out and "complete" not in out
    line = next(line for line in out.splitlines() if "sample" in line)
    again = line.partition(": ")[2].split()
    assert again[-2:] == ["--seed", "7"]
    assert mbt("traces", RESUME, "--model", "R0", *again, "-o", second)[0] == 0
    assert first.read_bytes() == second.read_bytes()
    _, out = mbt(*words, "-o", first, "--json")
    facts = json.loads(out)
    assert facts["sampled"]
    assert facts["bounds"] == {"depth": 8, "count": 5, "seed": 7}


def test_a_replay_of_a_sample_is_asked_for_again_with_its_seed(checker):
    spec = load_spec(RESUME)
    asked = Selection(models=("R0",), cover="weighted", bounds=Bounds(depth=6, count=3, seed=7))
    assert " ".join(asked.words) == ("--model R0 --cover weighted --depth 6 --count 3 --seed 7")
    assert asked.text == "+R0+weighted+depth=6,count=3,seed=7"
    (part,) = plan_parts(spec, asked, checker)
    assert part.cover == "weighted --depth 6 --count 3 --seed 7"
    expected = select_traces(spec, "R0", "weighted", checker, Bounds(6, 3, 7))
    assert list(part.traces) == expected
    plain = Selection(models=("R0",), cover="transitions", bounds=Bounds(seed=7))
    assert plain.words == ["--model", "R0", "--cover", "transitions"]


def test_the_command_that_a_replay_prints_repeats_a_run_of_the_sample(tmp_path):
    def replay(*words):
        return subprocess.run(
            [sys.executable, "-m", "mbt", "replay", str(RESUME), "--adapter", "reference",
             "--receipts", str(tmp_path), *words],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def digests():
        lines = [line for file in tmp_path.rglob("runs.jsonl") for line in file.open()]
        return {run["digest"] for run in map(json.loads, lines) if "second" not in run["part"]}

    asked = ["--cover", "walks", "--count", "6", "--depth", "4", "--seed", "11"]
    first = replay("--model", "R0", "--option", "fault=Replay", *asked)
    assert first.returncode == 1, first.stderr
    drawn = digests()
    assert "the same again: --model R0 --cover walks --depth 4 --count 6 --seed 11" in first.stdout
    command = next(
        shlex.split(line)
        for line in first.stdout.splitlines()
        if "--only R0-" in line and "--traces" not in line
    )
    assert command[:3] == ["mbt", "replay", str(RESUME)]
    shutil.rmtree(tmp_path / "ResumeContract")
    (tmp_path / "MANIFEST").unlink()
    again = replay(*command[5:])
    assert again.returncode == 1, again.stderr
    assert len(digests()) == 1
    assert digests() < drawn
