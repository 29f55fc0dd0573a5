"""The commands on the model's side: what they print, and what each end is called.

They run as from a shell, with the exit code, standard output and standard error looked at.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mbt import shadow
from mbt.cli import main
from tracegen.spec import load_spec
from tracegen.trace import read_traces

SPECS = Path(__file__).resolve().parent.parent / "specs"
RESUME = str(SPECS / "ResumeContract.tla")
COMMAND = [sys.executable, "-c", "import sys; from mbt.cli import main; sys.exit(main())"]

# docs of the model: verdict, violated property, generated, distinct, states of the counterexample
EXPECTED = {
    "R0": ("holds", None, 87, 59, None),
    "R1": ("violated", "EffectExactlyOnce", 7, 7, 4),
    "R2": ("violated", "ForkDeterminism", 10, 10, 5),
    "R3": ("violated", "CheckpointValidity", 8, 8, 5),
    "R4": ("violated", "RecoveryDeterminism", 10, 10, 4),
    "R5": ("violated", "ConsumeOnce", 20, 20, 6),
    "R6": ("holds", None, 87, 59, None),
    "R9": ("violated", "EffectExactlyOnce", 7, 7, 4),
    "R9-clean": ("holds", None, 287, 183, None),
    "R9W": ("violated", "GateMemoWitness", 45, 35, 7),
    "R8-F": ("violated", "ForkDeterminism", None, None, 8),
}


@pytest.fixture
def mbt(capsys):
    """Run a command line; gives exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run


@pytest.fixture
def specs(tmp_path):
    """A copy of the packaged modules that may be spoilt."""
    folder = tmp_path / "specs"
    shutil.copytree(SPECS, folder)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


# --- check


def test_the_models_of_the_resume_contract(mbt):
    code, out, _ = mbt("check", RESUME, "--json")
    assert code == 0
    rows = {row["model"]: row for row in json.loads(out)}
    assert rows.keys() - {"R0C2"} == EXPECTED.keys()
    for model, (verdict, violated, generated, distinct, states) in EXPECTED.items():
        row = rows[model]
        assert row["verdict"] == verdict, model
        assert row["violated"] == ([violated] if violated else []), model
        assert row["states"] == states, model
        assert row["differences"] == []
        if generated is not None:
            assert (row["generated"], row["distinct"]) == (generated, distinct), model
    code, out, _ = mbt("check", RESUME)
    assert code == 0
    assert "slow, checked when named: R8" in out
    assert "violated: EffectExactlyOnce" in out
    assert "cached" in out


def test_what_is_not_as_expected_ends_with_1(mbt, specs):
    toml = specs / "ResumeContract.toml"
    edit(toml, "generated = 87", "generated = 88")
    edit(toml, '"violated", property = "ForkD', '"holds", property = "ForkD')
    code, out, _ = mbt("check", specs / "ResumeContract.tla", "--model", "R0", "--model", "R2")
    assert code == 1
    assert "R0: generated 87, expected 88" in out
    assert "R2: violated, expected holds ForkDeterminism" in out


def test_without_a_toml_a_model_is_expected_to_hold(mbt, data_dir):
    spec = data_dir / "tlc" / "spec"
    code, out, _ = mbt("check", spec / "Dup.tla")
    assert code == 0
    assert "holds: nothing is checked" in out
    code, out, _ = mbt("check", spec / "Loop.tla")
    assert code == 1
    assert "Loop: violated, expected to hold" in out


def test_a_packaged_module_by_name(mbt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ResumeContract", "specs/ResumeContract.tla"):
        code, _, _ = mbt("check", name, "--model", "R0")
        assert code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["check", "nowhere.tla"], 2, "there is no file nowhere.tla; name a .tla file"),
        (["check", RESUME, "--model", "R99"], 2, "has no model 'R99'; known: R0, R0C2"),
        (["check", RESUME, "--jar", "/nowhere"], 2, "--jar names /nowhere"),
        (["check", RESUME, "--java", "/nowhere"], 2, "there is no Java launcher"),
        (["check", RESUME, "--workers", "0"], 2, "'--workers'"),
        (["check"], 2, "Missing argument 'SPEC'"),
        (["chek"], 2, "No such command 'chek'"),
        (["check", RESUME, "--model", "R8", "--timeout", "0.4"], 3, "R8: TLC: timeout"),
        (["graph", RESUME], 2, "several models; name one with --model"),
        (["graph", RESUME, "--model", "R99"], 2, "has no model 'R99'"),
        (["traces", RESUME, "--model", "R0"], 2, "Missing option '-o'"),
        (["traces", RESUME, "--model", "R0", "--cover", "x", "-o", "-"], 2, "'x' is not one of"),
        (
            ["traces", RESUME, "--model", "R0", "--cover", "counterexample", "-o", "-"],
            2,
            "model R0 has no counterexample (holds)",
        ),
        (["traces", RESUME, "--model", "R0", "-o", "/nowhere/t"], 2, "cannot write /nowhere/t"),
        (
            ["traces", RESUME, "--model", "R0", "--cover", "paths", "--depth", "99", "-o", "-"],
            0,
            "",
        ),
    ],
)
def test_ends_and_what_is_said(mbt, words, code, said):
    ended, _, err = mbt(*words)
    assert ended == code, err
    assert said in err


def test_memory_that_runs_out_is_no_verdict(mbt, tmp_path):
    (tmp_path / "Big.tla").write_text(
        "---- MODULE Big ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = {}\n"
        "Next == x' = SUBSET (1..26)\nInv == \\A s \\in x : s # {0}\n====\n"
    )
    (tmp_path / "Big.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Inv\n")
    code, out, err = mbt("check", tmp_path / "Big.tla", "--memory", "16")
    assert code == 3
    assert "out of memory" in out
    assert "Big: TLC: out of memory: Java's heap was too small" in err


@pytest.mark.parametrize("command", ["check", "graph"])
def test_a_module_that_does_not_parse(mbt, data_dir, command):
    path = data_dir / "tlc" / "spec" / "ParseErr.tla"
    code, _, err = mbt(command, path)
    assert code == 2
    assert f"{path}:5:14: Encountered" in err


def test_a_missing_and_an_undeclared_constant(mbt, specs):
    cfg = specs / "ResumeContract_R0.cfg"
    edit(cfg, "IP = 2", "")
    code, _, err = mbt("check", specs / "ResumeContract.tla", "--model", "R0")
    assert code == 2
    assert f"{cfg}: The constant parameter IP is not assigned a value" in err
    edit(cfg, "NTasks = 3", "NTasks = 3 IP = 2 Ip = 2")
    code, _, err = mbt("check", specs / "ResumeContract.tla", "--model", "R0")
    assert code == 2
    assert f"{cfg}:3: Ip: no such constant in " in err


def test_a_wrong_toml(mbt, specs):
    edit(specs / "ResumeContract.toml", "[models.R0]", "[models.R0")
    code, _, err = mbt("check", specs / "ResumeContract.tla")
    assert code == 2
    assert "ResumeContract.toml:" in err
    assert "not TOML" in err


# --- graph and traces


def test_the_state_graph_of_r0(mbt):
    code, out, _ = mbt("graph", RESUME, "--model", "R0", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["states"] == 59
    assert facts["transitions"] == 86  # 87 generated, one of them initial, no transition twice
    assert sum(facts["by_action"].values()) == 86
    assert facts["never_taken"] == []
    code, out, _ = mbt("graph", RESUME, "--model", "R0")
    assert code == 0
    assert "never taken" in out


def test_a_corrupt_dump(mbt, data_dir, own_cache):
    module = data_dir / "tlc" / "spec" / "Arg.tla"
    assert mbt("graph", module)[0] == 0
    corrupted = 0
    for dump in own_cache.rglob("graph.dot"):
        if "module Arg" in (dump.parent / "stdout.txt").read_text():
            dump.write_bytes(b"#" * dump.stat().st_size)
            corrupted += 1
    assert corrupted
    code, _, err = mbt("graph", module)
    assert code == 2
    assert "graph.dot: not a dump by TLC" in err


def test_traces_of_the_default_suite(mbt, tmp_path):
    # docs/driving.md: 40 traces and 248 steps with one crash, 80 and 552 with two.
    for model, number, steps in (("R0", 40, 248), ("R0C2", 80, 552)):
        code, out, _ = mbt("traces", RESUME, "--model", model, "-o", tmp_path / model, "--json")
        assert code == 0
        summary = json.loads(out)
        assert (summary["traces"], summary["steps"]) == (number, steps)
        found = read_traces(tmp_path / model)
        assert sum(len(trace.steps) for trace in found) == steps
        assert {trace.model for trace in found} == {model}


def test_traces_to_standard_output(mbt):
    words = ["traces", RESUME, "--model", "R2", "--cover", "counterexample", "-o", "-"]
    code, out, _ = mbt(*words)
    assert code == 0
    (line,) = out.splitlines()
    steps = json.loads(line)["steps"]
    assert len(steps) == 4  # five states
    assert steps[-1]["action"] == "ForkResume"


def test_equal_seeds_give_equal_walks(mbt):
    words = ["traces", RESUME, "--model", "R0", "--cover", "walks", "--count", "5", "-o", "-"]
    first, again, other = (mbt(*words, "--seed", seed)[1] for seed in (1, 1, 2))
    assert first == again != other


# --- specs, doctor, import names


def test_the_packaged_modules_are_listed_and_copied(mbt, tmp_path):
    code, out, _ = mbt("specs", "--json")
    assert code == 0
    assert "ResumeContract" in {entry["module"] for entry in json.loads(out)}
    code, _, _ = mbt("specs", "copy", tmp_path / "mine")
    assert code == 0
    assert load_spec(tmp_path / "mine" / "ResumeContract.tla").model("R0").title
    code, _, err = mbt("specs", "copy", tmp_path / "mine")
    assert code == 2
    assert "nothing was copied" in err


def test_doctor(mbt, monkeypatch):
    code, out, _ = mbt("doctor", "--json")
    assert code == 0
    report = json.loads(out)
    (tlc,) = [row for row in report["checker"] if row["name"] == "TLC"]
    assert tlc["version"] == "2.15 (rev d5b5a7f)"
    assert {row["name"] for row in report["import names"]} == {*shadow.NAMES}
    pins = {row["name"]: row["pin"] for row in report["frameworks"]}
    assert pins["langgraph"] == "1.2.9"
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    code, out, _ = mbt("doctor")
    assert code == 3
    assert "JAVA_HOME names /nowhere" in out


def test_a_foreign_package_of_our_name_is_told(tmp_path):
    (tmp_path / "replay").mkdir()
    (tmp_path / "replay" / "__init__.py").touch()
    ended = subprocess.run(
        [*COMMAND, "specs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0
    assert "mbt: warning: the import name replay is not ours: it is found in" in ended.stderr


def test_the_help_names_every_command(mbt):
    code, out, _ = mbt("--help")
    assert code == 0
    for command in ("check", "doctor", "graph", "replay", "specs", "traces"):
        assert f"\n  {command} " in out


# --- interrupts


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_nothing_running_and_nothing_half_written(tmp_path, number, code):
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    command = subprocess.Popen(
        [*COMMAND, "check", RESUME, "--model", "R8", "--no-cache"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 30
    while not (found := checkers_below(tmp_path)):
        assert command.poll() is None, command.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)
    command.send_signal(number)
    _, err = command.communicate(timeout=30)
    assert command.returncode == code, err
    assert "Traceback" not in err
    assert not any(Path(f"/proc/{process}").exists() for process in found)
    assert list((tmp_path / "tmp").iterdir()) == []


def checkers_below(folder: Path) -> list[str]:
    """Ids of the Java processes whose temporary files are below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"-Djava.io.tmpdir={folder}".encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found
