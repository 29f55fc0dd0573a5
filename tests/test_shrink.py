"""Shrinking: what is left is a path of the model, fails in the same way, and no step can go."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from graphs import SPECS, numbered
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import Lab

from adapters.registry import load_adapter, locate
from mbt.cli import main
from replay.models import Models
from replay.reopened import reopen
from replay.shrinking.shrink import MOST_SHORTER, Failure, Tried, all_paths, shorter, shrink
from replay.shrinking.shrink_run import shrink_run
from replay.shrinking.shrunk import problems
from replay.suite import REFERENCE, Part, edges_of_trace
from tracegen.select import traces_of_paths

RECEIPTS = Path(__file__).parent.parent / "receipts"


@st.composite
def labelled_graphs(draw):
    """Small graphs with cycles, the actions a to c, and an edge from the start."""
    places = st.integers(0, 4)
    edges = draw(st.lists(st.tuples(places, st.sampled_from("abc"), places), max_size=8))
    return numbered([(0, draw(st.sampled_from("abc")), draw(places)), *edges])


def actions(graph, path):
    return [graph.edges[number].action for number in path]


def is_path(graph, path):
    edges = [graph.edges[number] for number in path]
    joined = all(a.target == b.source for a, b in itertools.pairwise(edges))
    return bool(edges) and edges[0].source in graph.initial and joined


def within(wanted, seen):
    """Whether some actions occur in this order."""
    rest = iter(seen)
    return all(action in rest for action in wanted)


@given(graph=labelled_graphs(), data=st.data())
def test_every_candidate_is_a_shorter_path(graph, data):
    paths = all_paths(graph, 5, 500) or []
    path = data.draw(st.sampled_from([p for p in paths if p]))
    for candidate in shorter(graph, path):
        assert is_path(graph, candidate)
        assert len(candidate) < len(path)


@given(graph=labelled_graphs(), data=st.data())
@settings(max_examples=60)
def test_what_is_left_is_a_shortest_path_that_fails_in_the_same_way(graph, data):
    # A system that fails where some actions happen in some order.
    paths = all_paths(graph, 5, 500) or []
    path = data.draw(st.sampled_from(paths))
    wanted = data.draw(st.lists(st.sampled_from(actions(graph, path)), min_size=1, max_size=2))
    if not within(wanted, actions(graph, path)):
        wanted = wanted[:1]

    def replay(candidates):
        return [
            Tried(p, None, Failure.of(None, ["EO"] if within(wanted, actions(graph, p)) else []))
            for p in candidates
        ]

    found = shrink(graph, path, replay)
    failing = [p for p in paths if within(wanted, actions(graph, p))]
    assert is_path(graph, found.after.path)
    assert len(found.after.path) == min(len(p) for p in failing)
    assert found.shorter == len([p for p in paths if len(p) < len(found.after.path)])


def test_another_way_of_failing_is_not_the_same():
    # 0 -a-> 1 -b-> 2: after a alone EO fails, after a and b FD fails too.
    graph = numbered([(0, "a", 1), (1, "b", 2)])

    def replay(candidates):
        return [Tried(p, None, Failure.of(None, ["EO", "FD"][: len(p)])) for p in candidates]

    found = shrink(graph, (0, 1), replay)
    assert found.after.path == (0, 1)
    assert found.after.failure == Failure(None, frozenset(), frozenset({"EO", "FD"}))


def test_too_many_shorter_paths_are_said_to_be_untried():
    # Three self-loops: 3 + 9 + ... + 3^6 paths of up to six steps.
    graph = numbered([(0, "a", 0), (0, "b", 0), (0, "c", 0), (0, "a", 1), (1, "b", 2)])
    assert all_paths(graph, 6, MOST_SHORTER) is None
    assert len(all_paths(graph, 1, MOST_SHORTER)) == 4


def test_a_run_that_does_not_fail_is_no_run_to_shrink():
    graph = numbered([(0, "a", 1)])
    with pytest.raises(ValueError, match="does not fail"):
        shrink(graph, (0,), lambda paths: [Tried(p, None, Failure.of(None, [])) for p in paths])


# -- on systems ---------------------------------------------------------------------------


# The steps that are left are those of the counterexamples by which the paper's switches are told
# apart (model.md's lengths, less the initial state), and what the fault's footprint takes.
SHRUNK = {
    "fault=Replay": ("R0-05", ["ExecTask", "CrashRecover"]),
    "fault=ForkIgnore": (
        None,
        ["ExecTask", "EmitInterrupt", "Consume", "ForkResume"],
    ),
    "fault=DoubleConsume": (
        None,
        ["ExecTask", "EmitInterrupt", "Consume", "ExecTask", "ExtraResume"],
    ),
}


@pytest.fixture(scope="module")
def plane():
    return Lab()


def shrunk(lab, row, name):
    receipt = reopen(RECEIPTS / row)
    run = receipt.run(name) if name else min(receipt.failing, key=lambda r: len(r.record.micro))
    reference = locate(receipt.adapter)
    found = shrink_run(
        receipt,
        run,
        load_adapter(reference),
        reference,
        Models(receipt.spec, lab.checker),
        lab.checker,
        jobs=os.cpu_count() or 1,
    )
    return receipt, found


def failures(lab, receipt, traces):
    """How each of some traces fails, replayed by the lab."""
    part = Part("again", traces[0].model, "candidates", tuple(traces))
    (result,) = lab.replay(receipt.adapter, parts=[part], **receipt.options).parts
    findings = result.judgement.findings
    return [
        Failure.of(tracking.divergence, [f.property for f in findings if f.trace == record.trace])
        for record, tracking in zip(result.records, result.trackings, strict=True)
    ]


@pytest.mark.parametrize("fault", SHRUNK)
def test_no_step_can_be_removed_from_a_shrunk_trace(plane, fault):
    name, steps = SHRUNK[fault]
    receipt, found = shrunk(plane, f"ResumeContract/reference/{fault}", name)
    assert [step.action for step in found.after.steps] == steps
    model = plane.models(found.after.model, REFERENCE)
    path = edges_of_trace(model, found.after)
    assert path is not None
    left_out = [[e for i, e in enumerate(path) if i != gone] for gone in range(len(path))]
    whole = [p for p in left_out if is_path(model.graph, p)]
    candidates = {tuple(p) for p in [*whole, *shorter(model.graph, tuple(path))]}
    traces = traces_of_paths(plane.spec, found.after.model, model.graph, sorted(candidates), "less")
    *others, itself = failures(plane, receipt, [*traces, found.after])
    assert others and found.shrunk.after.failure not in others
    assert itself == found.shrunk.after.failure


def mbt(*words):
    command = [sys.executable, "-m", "mbt", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr
    return done


def test_a_trace_of_langgraph(tmp_path):
    # A fork by Command(resume=...) at the interrupt's checkpoint is served the first value.
    out = tmp_path / "shrunk.jsonl"
    receipt = RECEIPTS / "ResumeContract/langgraph/default"
    first = reopen(receipt).part("one crash")["divergences"][0]["trace"]
    done = mbt("shrink", receipt, "--trace", first, "--json", "-o", out)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["fails"] == "diverges at ForkResume by forkOuts and violates FD"
    assert said["after"] == ["ExecTask", "EmitInterrupt", "Consume", "ForkResume"]
    assert said["shorter_paths"] is not None
    words = ["--adapter", "langgraph", "--traces", out, "--receipts", tmp_path / "receipts"]
    again = mbt("replay", SPECS / "ResumeContract.tla", *words, "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["properties"]["FD"]["verdict"] == "violated"


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({"fault": "Nope"}, (), "unknown fault"),
        ({"fault_": "Replay"}, (), "has no option 'fault_'"),
        ({}, ("-o", "nowhere/t.jsonl"), "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_replayed_or_kept_is_refused_before_anything_is(
    tmp_path, capsys, change, words, message
):
    kept = tmp_path / "kept"
    shutil.copytree(RECEIPTS / "ResumeContract/reference/fault=Replay", kept)
    content = json.loads((kept / "receipt.json").read_text())
    content["options"] |= change
    (kept / "receipt.json").write_text(json.dumps(content))
    assert main(["shrink", str(kept), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_receipt_that_fails_nowhere(tmp_path):
    done = mbt("shrink", RECEIPTS / "ResumeContract/reference/default")
    assert done.returncode == 2
    assert "no run of this receipt diverges or violates a property" in done.stderr
    done = mbt("shrink", tmp_path)
    assert done.returncode == 2
    assert "name the folder of a receipt" in done.stderr
    done = mbt("shrink", RECEIPTS / "ResumeContract/reference/fault=Replay", "--trace", "R0-99")
    assert done.returncode == 2
    assert "no run 'R0-99'" in done.stderr


# -- the study ------------------------------------------------------------------------------


@pytest.fixture
def kept():
    return json.loads((RECEIPTS / "studies/shrunk.json").read_text())


def test_no_step_can_be_removed_from_any_kept_trace(kept):
    assert len(kept["rows"]) > 50
    for entry in kept["rows"]:
        assert len(entry["without"]) == len(entry["after"]) <= len(entry["before"])
        assert entry["fails"] not in entry["without"]
        assert entry["shorter"] is not None
    assert [*problems(kept)] == []


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (lambda e: e["without"].__setitem__(0, e["fails"]), "a step can be left out"),
        (lambda e: e["without"].pop(), "steps were left out, of"),
        (lambda e: e["after"].extend(["ExecTask"] * 9), "steps are left of"),
        (lambda e: e.__setitem__("replayed", 0), "paths were replayed, and"),
    ],
)
def test_a_contradiction_in_the_study_is_a_problem(kept, change, phrase):
    change(kept["rows"][1])
    assert any(phrase in problem for problem in problems(kept))
