"""mbt check --show: the counterexamples, step by step, and in the JSON."""

import json
from pathlib import Path

import pytest

from mbt.cli import main
from tracegen.encoding import from_json
from tracegen.values import FALSE, Int, ModelValue, Str

SPECS = Path(__file__).resolve().parent.parent / "specs"


@pytest.fixture
def mbt(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert code in (0, 1), said.err
        return code, said.out

    return run


def shown(out):
    """What stands behind the table: heading, then lines."""
    heading, *lines = out[out.index("\n\n") + 2 :].splitlines()
    return heading, lines


def test_an_invariant(mbt):
    code, out = mbt("check", SPECS / "ResumeContract.tla", "--model", "R1", "--show")
    assert code == 0
    heading, lines = shown(out)
    assert heading == "R1: violated: EffectExactlyOnce"
    # The paper's counterexample: task 1, a crash, task 1 again.
    assert [line.strip() for line in lines if line[2].isdigit()] == [
        "1  initial state",
        "2  ExecTask(t = 1)",
        '3  CrashRecover(dec = "replay")',
        "4  ExecTask(t = 1)",
    ]
    # The variables as the module declares them, then what each step changed and nothing else.
    assert lines[1:4] == ["       pc = 1", "       effects = <<0, 0, 0>>", "       ckpts = <<>>"]
    crash = lines.index('  3  CrashRecover(dec = "replay")')
    assert lines[crash + 1 : crash + 4] == [
        "       pc: 2 → 1",
        "       crashes: 0 → 1",
        '       recHist: <<>> → <<[dec |-> "replay", dur |-> 1]>>',
    ]
    assert lines[crash + 4].startswith("  4  ")


def test_stuttering(mbt):
    code, out = mbt("check", SPECS / "ResumeContractParked.tla", "--show")
    assert code == 0
    heading, lines = shown(out)
    assert heading == "volatile-live: violated: EventuallyCompletes"
    assert lines[-1].strip() == "stuttering: the run stays in state 4 for ever"


def test_a_lasso(mbt, data_dir):
    # As recorded in e_live_back.stdout.
    code, out = mbt("check", data_dir / "tlc" / "spec" / "Loop.tla", "--show")
    assert code == 1
    assert shown(out) == (
        "Loop: violated: Done",
        [
            "  1  initial state",
            "       x = 0",
            "       y = 0",
            "  2  Inc",
            "       x: 0 → 1",
            "  3  Inc",
            "       x: 1 → 2",
            "  4  Inc",
            "       x: 2 → 3",
            "     back to state 2 by Wrap, and so on for ever",
        ],
    )


def test_nothing_is_shown_of_what_holds_or_unasked(mbt):
    spec = SPECS / "ResumeContract.tla"
    assert "initial state" not in mbt("check", spec, "--model", "R0", "--show")[1]
    assert "initial state" not in mbt("check", spec, "--model", "R1")[1]


def test_in_json(mbt, data_dir):
    def row(*words):
        (only,) = json.loads(mbt("check", *words, "--json")[1])
        return only["counterexample"]

    parked = SPECS / "ResumeContractParked.tla"
    dead = row(parked, "--model", "volatile-live")
    assert (dead["stuttering"], dead["back_to"]) == (True, None)
    assert [state["action"] for state in dead["states"]] == [
        None,
        "ExecTask",
        "EmitInterrupt",
        "CrashWhileParked",
    ]
    assert dead["states"][1]["params"] == {"t": 1}
    last = {name: from_json(value) for name, value in dead["states"][-1]["state"].items()}
    assert (last["waiting"], last["pc"], last["consumedVal"]) == (
        FALSE,
        Int(2),
        ModelValue("NoVal"),
    )

    fork = row(SPECS / "ResumeContract.tla", "--model", "R2")
    assert (fork["stuttering"], fork["back_to"], len(fork["states"])) == (False, None, 5)
    assert from_json(fork["states"][-1]["params"]["v"]) in (Str("v1"), Str("v2"))

    lasso = row(data_dir / "tlc" / "spec" / "Loop.tla")
    assert (lasso["back_to"], lasso["back_action"], lasso["stuttering"]) == (2, "Wrap", False)
    assert row(parked, "--model", "durable") is None
