"""`--checker apalache` at the command line, with a stand-in in Apalache's place (see stand_in.py).

What the stand-in "finds" are behaviours that TLC found, stripped of their actions and model values:
so what comes out has to be what TLC's own traces are.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stand_in import NO_ERROR, OK, StandIn, encoded, eventually, gone, itf, violation

from mbt.cli import main
from tracegen.select import select_traces
from tracegen.spec import load_spec
from tracegen.trace import read_traces

SPECS = Path(__file__).resolve().parent.parent / "specs"
RESUME = SPECS / "ResumeContract.tla"
COMMAND = [sys.executable, "-c", "import sys; from mbt.cli import main; sys.exit(main())"]
APALACHE = ("--checker", "apalache")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    return StandIn(tmp_path / "apalache-stand-in").install(monkeypatch)


@pytest.fixture
def mbt(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run


@pytest.fixture(scope="session")
def spec():
    return load_spec(RESUME)


@pytest.fixture(scope="session")
def found_by_tlc(spec, checker):
    """The counterexample of R2 as TLC finds it."""
    (trace,) = select_traces(spec, "R2", "counterexample", checker)
    return trace


def states_of(trace):
    return [encoded(state) for state in (trace.initial, *(step.state for step in trace.steps))]


def steps_of(trace):
    return [(step.action, step.params, step.state) for step in trace.steps]


# --- check


def test_bounded_is_never_printed_as_holds(mbt, stand_in):
    code, out, _ = mbt("check", RESUME, "--model", "R0", *APALACHE, "--no-cache")
    assert code == 0
    assert "bounded: no error up to length 10" in out
    assert "so far" in out
    assert "holds" not in out
    assert "Apalache 0.62.1" in out
    code, out, _ = mbt("check", RESUME, "--model", "R0", *APALACHE, "--length", "4", "--json")
    (row,) = json.loads(out)
    assert code == 0
    assert (row["verdict"], row["outcome"], row["bound"]) == ("bounded", "BOUNDED", 4)
    assert (row["checker"], row["version"]) == ("Apalache", "0.62.1")
    assert row["reason"] == "no error up to length 4"
    # The TOML's figures are of the whole space, and no differences of a bounded run.
    assert (row["differences"], row["generated"]) == ([], None)


def test_a_violation_is_compared_with_what_is_expected(mbt, stand_in, found_by_tlc):
    stand_in.answers(violation(*states_of(found_by_tlc)))
    code, out, _ = mbt("check", RESUME, "--model", "R2", *APALACHE, "--show")
    assert code == 0
    assert "violated: ForkDeterminism" in out
    assert "5 states" in out
    assert '5  ForkResume(v = "' in out


def test_an_expected_violation_beyond_the_length_ends_with_1(mbt, stand_in):
    code, out, _ = mbt("check", RESUME, "--model", "R2", *APALACHE, "--length", "2")
    assert code == 1
    said = "R2: bounded: no error up to length 2, expected violated ForkDeterminism"
    assert said in out


def test_a_violation_where_none_is_expected_ends_with_1(mbt, stand_in, found_by_tlc, tmp_path):
    shutil.copytree(SPECS, tmp_path / "specs")
    toml = tmp_path / "specs" / "ResumeContract.toml"
    text = toml.read_text()
    toml.write_text(text.replace('"violated", property = "ForkD', '"holds", property = "ForkD'))
    stand_in.answers(violation(*states_of(found_by_tlc)))
    code, out, _ = mbt("check", toml.with_suffix(".tla"), "--model", "R2", *APALACHE)
    assert code == 1
    assert "R2: violated, expected holds ForkDeterminism" in out


def test_a_violation_that_tlc_does_not_know_is_no_verdict(mbt, stand_in, found_by_tlc):
    # Of another model than the one that is checked: R0 does not ignore a fork's value.
    stand_in.answers(violation(*states_of(found_by_tlc)))
    code, out, err = mbt("check", RESUME, "--model", "R0", *APALACHE)
    assert (code, out) == (3, "")
    assert "what Apalache found is nothing for TLC: Apalache's trace 1 of R0: state 5" in err


def test_liveness_is_refused_and_the_rest_is_checked(mbt, stand_in):
    code, out, err = mbt("check", RESUME, "--model", "R0", "--model", "R6", *APALACHE)
    assert code == 2
    assert "Apalache would ignore PROPERTY EventuallyCompletes; use --checker tlc" in err
    assert "bounded: no error up to length 10" in out


@pytest.mark.parametrize(
    ("lines", "exit_code", "code", "said"),
    [
        (["no such operator  E@1:1:1.1", "EXITCODE: ERROR (75)"], 75, 2, "no such operator"),
        (["ill typed   E@1:1:1.1", "EXITCODE: ERROR (120)"], 120, 2, "R0: ill typed"),
        ([*OK, "EXITCODE: ERROR (12)"], 12, 3, "Apalache: checker failed: it ended with 12"),
        (["gone"], 1, 3, "R0: Apalache: checker failed: it ended with 1, but gone"),
    ],
)
def test_ends_without_a_verdict(mbt, stand_in, lines, exit_code, code, said):
    stand_in.answers({"out": lines, "exit": exit_code})
    ended, _, err = mbt("check", RESUME, "--model", "R0", *APALACHE, "--no-cache")
    assert ended == code
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", RESUME, "--length", "3"], "--length bounds --checker apalache"),
        (["check", RESUME, *APALACHE, "--workers", "2"], "--workers is TLC's"),
        (["check", RESUME, *APALACHE, "--length", "0"], "'--length'"),
        (["check", RESUME, "--checker", "z3"], "'z3' is not one of"),
        (["traces", RESUME, "--model", "R0", "-o", "-", "--view", "v"], "--view is for --checker"),
        (["traces", RESUME, "--model", "R0", "-o", "-", *APALACHE, "--seed", "1"], "no seed"),
        (["traces", RESUME, "--model", "R0", "-o", "-", *APALACHE], "transitions needs a state gr"),
        (
            ["traces", RESUME, "--model", "R0", "-o", "-", *APALACHE, "--cover", "walks"],
            "choose --cover counterexample or simulation, or --checker tlc",
        ),
        (
            ["replay", RESUME, "--adapter", "reference", *APALACHE],
            "transitions needs a state graph, which Apalache does not make",
        ),
        (
            ["replay", RESUME, "--adapter", "reference", *APALACHE, "--traces", "x"],
            "--traces names where the traces come from; leave out --checker",
        ),
    ],
)
def test_wrong_use(mbt, stand_in, words, said):
    code, _, err = mbt(*words)
    assert code == 2
    assert said in err


def test_without_apalache(mbt, monkeypatch, tmp_path):
    for name in ("APALACHE_HOME", "APALACHE_JAR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = mbt("check", RESUME, "--model", "R0", *APALACHE)
    assert code == 2
    assert "no Apalache found; it is in no package registry" in err


def test_help_says_what_it_was_tested_with(mbt, stand_in):
    for command in ("check", "traces", "replay"):
        out = " ".join(mbt(command, "--help")[1].split())
        assert "stand-in" in out
        assert "docs/apalache.md" in out


# --- traces


def test_the_counterexample_is_the_one_of_tlc(mbt, stand_in, found_by_tlc, tmp_path):
    stand_in.answers(violation(*states_of(found_by_tlc)))
    words = ["traces", RESUME, "--model", "R2", "--cover", "counterexample", *APALACHE]
    code, out, _ = mbt(*words, "-o", tmp_path / "t", "--json")
    assert code == 0
    assert (json.loads(out)["checker"], json.loads(out)["bounds"]) == ("Apalache", {"length": 10})
    (trace,) = read_traces(tmp_path / "t")
    # Names and parameters of its steps, and its model values, are those of TLC's own.
    assert trace == found_by_tlc


def test_no_counterexample_up_to_the_length(mbt, stand_in):
    words = ["traces", RESUME, "--model", "R2", "--cover", "counterexample", *APALACHE, "-o", "-"]
    code, _, err = mbt(*words, "--length", "3")
    assert code == 2
    assert "R2 has no counterexample (bounded: no error up to length 3); choose a greater" in err


def test_simulated_executions_get_their_actions(mbt, stand_in, spec, checker, tmp_path):
    tour = select_traces(spec, "R0", "transitions", checker)
    files = {f"example{n}.itf.json": itf(*states_of(t)) for n, t in enumerate(tour, 1)}
    stand_in.answers({**NO_ERROR, "command": "simulate", "files": files})
    words = ["traces", RESUME, "--model", "R0", "--cover", "simulation", *APALACHE]
    code, out, _ = mbt(*words, "--depth", "12", "--count", "40", "-o", tmp_path / "t")
    assert code == 0
    assert "a sample, not all there is; Apalache takes no seed" in out
    found = read_traces(tmp_path / "t")
    assert [steps_of(trace) for trace in found] == [steps_of(trace) for trace in tour]
    options = stand_in.calls[0]["options"]
    assert (options["length"], options["max_run"], options["inv"]) == (12, 40, None)


def test_several_counterexamples_that_differ_in_a_view(mbt, stand_in, found_by_tlc, tmp_path):
    answer = violation(*states_of(found_by_tlc))
    answer["files"]["violation2.itf.json"] = answer["files"]["violation1.itf.json"]
    stand_in.answers(answer)
    words = ["traces", RESUME, "--model", "R2", "--cover", "counterexample", *APALACHE]
    code, _, _ = mbt(*words, "--view", "vars", "--count", "2", "-o", tmp_path / "t")
    assert code == 0
    assert [trace.name for trace in read_traces(tmp_path / "t")] == ["R2-01", "R2-02"]


def test_what_is_no_behaviour_for_tlc_is_no_trace(mbt, stand_in, found_by_tlc):
    states = states_of(found_by_tlc)
    words = ["traces", RESUME, "--model", "R2", "--cover", "counterexample", *APALACHE, "-o", "-"]
    for wrong in ([*states[:2], *states[3:]], states[1:], [{**states[0], "pc": 7}, *states[1:]]):
        stand_in.answers(violation(*wrong))
        code, out, err = mbt(*words, "--no-cache")
        assert (code, out) == (3, "")
        assert "what Apalache found is nothing for TLC" in err


# --- replay


def test_a_replay_of_its_counterexample_is_one_of_tlcs(mbt, stand_in, found_by_tlc, tmp_path):
    stand_in.answers(violation(*states_of(found_by_tlc)))
    words = ["replay", RESUME, "--adapter", "reference", "--model", "R2", "--json"]
    words += ["--cover", "counterexample", "--receipts", tmp_path]
    code, out, _ = mbt(*words)
    by_tlc = json.loads(out)
    again, out, _ = mbt(*words, *APALACHE)
    by_apalache = json.loads(out)
    assert again == code
    assert by_apalache["versions"]["Apalache"] == "0.62.1"
    assert by_apalache["digests"].keys() - by_tlc["digests"].keys() == {"Apalache"}
    (part,) = by_apalache["parts"]
    assert part["cover"] == "counterexample --checker apalache --length 10"
    assert {**part, "cover": "counterexample"} == by_tlc["parts"][0]
    # Receipts of both sources stay apart.
    assert len([*tmp_path.rglob("receipt.json")]) == 2


# --- doctor, interrupts


def test_doctor_says_what_it_found(mbt, stand_in, monkeypatch, tmp_path):
    _, out, _ = mbt("doctor", "--json")
    (row,) = [row for row in json.loads(out)["checker"] if row["name"] == "Apalache"]
    assert (row["state"], row["version"]) == ("fine", "0.62.1")
    assert str(stand_in.launcher) in row["text"]
    assert "Java 21" in row["text"]
    assert "stand-in" in row["text"]
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path / "none"))
    code, out, _ = mbt("doctor")
    assert "APALACHE_HOME says that Apalache is" in out
    assert code == 3
    monkeypatch.delenv("APALACHE_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    _, out, _ = mbt("doctor", "--json")
    (row,) = [row for row in json.loads(out)["checker"] if row["name"] == "Apalache"]
    assert row["state"] == "missing"
    for words in ("in no package registry", "0.60: 25, 0.61: 17, 0.62: 21", "stand-in"):
        assert words in row["text"]


def test_an_interrupt_leaves_nothing(stand_in, tmp_path):
    (tmp_path / "tmp").mkdir()
    stand_in.answers({**NO_ERROR, "sleep": 60})
    command = subprocess.Popen(
        [*COMMAND, "check", str(RESUME), "--model", "R0", "--no-cache", *APALACHE],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert eventually(lambda: stand_in.processes or command.poll() is not None)
    assert len(stand_in.processes) == 2
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=30)
    assert command.returncode == 130, err
    assert "Traceback" not in err
    assert eventually(lambda: all(map(gone, stand_in.processes)))
    assert [*(tmp_path / "tmp").iterdir()] == []
