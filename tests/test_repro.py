"""Reproductions: runs of the committed receipts made again, by scripts without mbt and by tests."""

import ast
import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import COMMITTED

from adapters.ledger import Row
from mbt.cli import main
from replay.record import Branch, Death, MicroStep, RunRecord
from replay.repro.scenario import Kill, Look, Tell, scenario_of
from replay.repro.text import literal, plain, strings
from replay.stored import read_runs
from tracegen.errors import MbtError

PLANE = COMMITTED / "ResumeContract"
OURS = {"mbt", "adapters", "replay", "tracegen", "specs"}


def written(capsys, receipt, file, *words):
    """Have `mbt repro` write a script; return what it said."""
    code = main(["repro", str(receipt), "--script", "-o", str(file), *words])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


def run(file, *python):
    """Run a script as somebody does who has no mbt: isolated, in its own folder."""
    return subprocess.run(
        [sys.executable, "-I", *python, str(file)],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def imported(file):
    """The packages that a script imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            found.add(node.module.partition(".")[0])
    return found


# What the sentence has to say is what is known of each framework (docs/findings and the paper):
# LangGraph serves a second Command(resume) from the record of the first one; a node behind the
# interrupt fires twice where two processes race; and so on.
ROWS = [
    pytest.param(
        *("langgraph/default", "R0-02", "the one given v2 got v1"),
        {"langgraph", "langchain_core", "pydantic"},
        marks=pytest.mark.framework("langgraph"),
        id="langgraph",
    ),
    pytest.param(
        *("langgraph/saver=memory", "R0-02", "the one given v2 got v1"),
        {"langgraph", "langchain_core", "pydantic"},
        marks=pytest.mark.framework("langgraph"),
        id="langgraph-memory",
    ),
    pytest.param(
        *("langgraph-functional/route=replay", "R0-23", None),
        {"langgraph", "langchain_core", "pydantic"},
        marks=pytest.mark.framework("langgraph"),
        id="langgraph-functional",
    ),
    pytest.param(
        *("langgraph-remit/subgraph=first", None, "the one given v2 got v1"),
        {"langgraph", "langchain_core", "pydantic", "remit"},
        marks=pytest.mark.framework("remit"),
        id="langgraph-remit",
    ),
    pytest.param(
        *("crewai/default", "R0-37", "goes back into tasks whose completion was stored"),
        {"crewai"},
        marks=pytest.mark.framework("crewai"),
        id="crewai",
    ),
    pytest.param(
        *("llamaindex/save=idle", "R0-23", "task 2, 2 times"),
        {"workflows", "pydantic"},
        marks=pytest.mark.framework("llamaindex"),
        id="llamaindex",
    ),
    pytest.param(
        *("pydantic-graph/default", "R0-01", "recovering a killed run ends with GraphRuntimeError"),
        {"pydantic_graph"},
        marks=pytest.mark.framework("pydantic-graph"),
        id="pydantic-graph",
    ),
    pytest.param(
        *("autogen/default", "R0-23", "task 2, 2 times"),
        {"autogen_agentchat", "autogen_core", "autogen_ext", "pydantic"},
        marks=pytest.mark.framework("autogen"),
        id="autogen",
    ),
    pytest.param(
        *("openai-agents/default", "R0-23", "task 2, 2 times"),
        {"agents", "openai"},
        marks=pytest.mark.framework("openai-agents"),
        id="openai-agents",
    ),
    pytest.param(
        *("dbos/fork_at=past-recv", None, "the one given v2 got v1"),
        {"dbos"},
        marks=pytest.mark.framework("dbos"),
        id="dbos",
    ),
]


@pytest.mark.parametrize(("row", "trace", "says", "allowed"), ROWS)
def test_a_script_makes_a_run_again_without_mbt(tmp_path, capsys, row, trace, says, allowed):
    file = tmp_path / "bug.py"
    said = written(capsys, PLANE / row, file, *(["--trace", trace] if trace else []))
    strangers = imported(file) - set(sys.stdlib_module_names)
    assert strangers <= allowed and not strangers & OURS
    done = run(file)
    assert done.returncode == 1, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("REPRODUCED: ")
    assert says is None or says in last
    assert last.removeprefix("REPRODUCED: ") in said


@pytest.mark.framework("llamaindex")
def test_a_race_is_made_again_by_two_processes_that_are_held_past_their_read(tmp_path, capsys):
    file = tmp_path / "bug.py"
    receipt = COMMITTED / "R11_ConsumeCount" / "llamaindex" / "default"
    written(capsys, receipt, file, "--trace", "R11-effect-counterexample")
    done = run(file)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "    task 2, the run: 2\n" in done.stdout


@pytest.mark.framework("pydantic-graph")
@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        # One row of the effects, and where a call leaves the run.
        ("EFFECTS = [[0, 1, null, 1]]", "EFFECTS = []", "what fired is [[0, 1, None, 1]]"),
        ("held at the entry of task 2", "held at the entry of task 3", "The run is started"),
    ],
)
def test_a_script_that_expects_something_else_says_not_reproduced(
    tmp_path, capsys, right, wrong, says
):
    file = tmp_path / "bug.py"
    written(capsys, PLANE / "pydantic-graph" / "default", file, "--trace", "R0-01")
    right = right.replace("null", "None")
    head, mark, rest = file.read_text().rpartition(right)
    assert mark
    file.write_text(head + wrong + rest)
    done = run(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"NOT REPRODUCED: {says}")


@pytest.mark.framework("pydantic-graph")
def test_pytest_runs_a_script(tmp_path, capsys):
    file = tmp_path / "bug.py"
    written(capsys, PLANE / "pydantic-graph" / "default", file, "--trace", "R0-01")
    done = run(file, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_script_without_its_framework_is_no_reproduction(tmp_path, capsys):
    file = tmp_path / "bug.py"
    written(capsys, PLANE / "langgraph" / "default", file)
    done = run(file, "-S")  # without site-packages
    assert done.returncode == 2
    assert "there is no langgraph here: pip install langgraph==1.2.9" in done.stderr


# -- what is refused ----------------------------------------------------------------------------


def refused(capsys, tmp_path, receipt, *words):
    file = tmp_path / "bug.py"
    assert main(["repro", str(receipt), "-o", str(file), *words]) == 2
    assert not file.exists()
    return capsys.readouterr().err


def test_a_conforming_run_is_refused(tmp_path, capsys):
    # By update_state every fork of R0 gets its own answer; the poisoned output is stored.
    receipt = PLANE / "langgraph" / "route=update-state"
    said = refused(capsys, tmp_path, receipt, "--script", "--trace", "R0-02")
    assert "nothing fails in run R0-02" in said and "R3-counterexample" in said


def test_a_receipt_in_which_nothing_fails_is_refused(tmp_path, capsys):
    said = refused(capsys, tmp_path, PLANE / "langgraph-remit" / "default")
    assert "no run of this receipt diverges or violates" in said


def test_a_trace_that_is_not_there_is_refused(tmp_path, capsys):
    said = refused(capsys, tmp_path, PLANE / "langgraph" / "default", "--trace", "R0-99")
    assert "no run 'R0-99'" in said


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("langgraph/saver=postgres", "cannot express saver=postgres"),
        ("langgraph/route=replay,address=address", "cannot express route=replay with"),
        ("langgraph/crash_at=boundary", "cannot express crash_at=boundary"),
        ("reference/fault=ForkIgnore", "there is no script for adapter reference"),
    ],
)
def test_what_no_script_can_express_is_said_and_the_other_form_offered(tmp_path, capsys, row, says):
    said = refused(capsys, tmp_path, PLANE / row, "--script")
    assert says in said and "a test on mbt's own API" in said


def test_without_a_name_the_runs_of_the_other_properties_are_named(tmp_path, capsys):
    # The shortest is the poisoned output's; no fork of R0 comes before its fourth step.
    file = tmp_path / "bug.py"
    assert main(["repro", str(PLANE / "langgraph" / "default"), "--script", "-o", str(file)]) == 0
    said = capsys.readouterr()
    assert "run R3-counterexample: an output that breaks the schema is stored" in said.out
    assert "for FD: --trace R0-2" in said.err


def test_a_file_that_is_no_python_file_is_refused(tmp_path, capsys):
    assert main(["repro", str(PLANE / "langgraph" / "default"), "-o", str(tmp_path / "bug")]) == 2
    assert "ends in .py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r["versions"].update(langgraph='1"+exit(3)+"'), "is no version"),
        (lambda r: r["versions"].update(langgraph="{exit(3)}"), "is no version"),
        (lambda r: r["options"].update(route="command'); exit(3)"), "option route"),
        (lambda r: r.update(adapter="../langgraph"), "no script for adapter"),
    ],
)
def test_a_forged_receipt_puts_no_code_into_a_script(tmp_path, capsys, change, says):
    receipt = tmp_path / "receipt"
    shutil.copytree(PLANE / "langgraph" / "default", receipt)
    content = json.loads((receipt / "receipt.json").read_text())
    change(content)
    (receipt / "receipt.json").write_text(json.dumps(content))
    assert says in refused(capsys, tmp_path, receipt, "--script")


def test_a_forged_run_puts_no_code_into_a_script(tmp_path, capsys):
    receipt = tmp_path / "receipt"
    shutil.copytree(PLANE / "langgraph" / "default", receipt)
    evil = '"""\n); exit(3)  # \\'
    lines = [json.loads(line) for line in (receipt / "runs.jsonl").read_text().splitlines()]
    (forged,) = [line for line in lines if line["trace"] == "R0-02"]
    for row in forged["ledger"]:
        row[2] = evil
    forged["branches"][0] |= {"value": evil, "outcome": [evil], "process": evil}
    for micro in forged["micro"]:
        micro["params"] = {"v": evil} if "params" in micro else {}
    (receipt / "runs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    file = tmp_path / "bug.py"
    written(capsys, receipt, file, "--trace", "R0-02")
    tree = ast.parse(file.read_text())
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and hasattr(n.func, "id")}
    assert "exit" not in calls


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\"'\\\n\t\0 {}"), max_size=300))
def test_a_text_is_written_as_what_it_is(text):
    for written_as in (literal(text), f"(\n{strings(text, 4)}\n)", literal({text: [text]}, room=0)):
        assert written_as.isascii()
        assert ast.literal_eval(written_as) in (text, {text: [text]})
    assert ast.literal_eval(f'"""{plain(text)}"""') == plain(text)


NO_TRACE = "parts.0.divergences.0.trace: not of a receipt"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda receipt: receipt.pop("properties"), "properties: not of a receipt"),
        (lambda receipt: receipt["parts"][0]["divergences"][0].pop("trace"), NO_TRACE),
        (lambda receipt: receipt["versions"].update(langgraph=[1]), "versions.langgraph"),
        (lambda receipt: receipt["parts"][0].update(model="R77"), "no model 'R77'"),
    ],
)
@pytest.mark.parametrize("command", ["repro", "shrink"])
def test_what_is_no_receipt_is_refused(tmp_path, capsys, damage, message, command):
    shutil.copytree(PLANE / "langgraph" / "default", tmp_path / "r")
    path = tmp_path / "r" / "receipt.json"
    content = json.loads(path.read_text())
    damage(content)
    path.write_text(json.dumps(content))
    assert main([command, str(tmp_path / "r"), "-o", str(tmp_path / "x.py")]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_a_run_that_is_none_is_refused(tmp_path, capsys):
    shutil.copytree(PLANE / "langgraph" / "default", tmp_path / "r")
    path = tmp_path / "r" / "runs.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    for damage in (
        lambda run: run.update(branches=[{**run["branches"][0], "outcome": 1}]),
        lambda run: [micro.get("params", {}).clear() for micro in run["micro"]],
        lambda run: run["micro"].pop(0),
    ):
        data = [json.loads(line) for line in lines]
        damage(next(run for run in data if run["trace"] == "R0-02"))
        path.write_text("".join(f"{json.dumps(run)}\n" for run in data))
        words = ["--script", "--trace", "R0-02", "-o", str(tmp_path / "x.py")]
        assert main(["repro", str(tmp_path / "r"), *words]) == 2
        assert "runs.jsonl" in capsys.readouterr().err
    path.write_text("")
    assert main(["repro", str(tmp_path / "r"), *words]) == 2
    assert "no run is in it" in capsys.readouterr().err


def test_a_message_with_another_kind_of_line_end_is_one_line(tmp_path, capsys):
    shutil.copytree(PLANE / "langgraph" / "default", tmp_path / "r")
    path = tmp_path / "r" / "runs.jsonl"
    run = json.loads(path.read_text().splitlines()[0])
    run["facts"] = ["one\u2028two\x85three"]
    # As a receipt is written: only what JSON has to escape is escaped.
    path.write_text(json.dumps(run, ensure_ascii=False) + "\n", encoding="utf-8")
    (found,) = read_runs(tmp_path / "r")
    assert found.record.facts == ("one\u2028two\x85three",)


# -- the scenario -------------------------------------------------------------------------------


def micro(part, action, at, pc, process=1, step=None, **more):
    observed = {"pc": pc, "ckpts": [], "consumedVal": None}
    return MicroStep(step, part, action, more.pop("params", {}), at, process, observed, **more)


def record(*steps, branches=(), ledger=()):
    deaths = (Death(1, 1, "kill", 9),)
    return RunRecord("by hand", "", steps, branches, deaths, (), {}, (), (), ledger, ())


def test_a_process_is_held_where_something_else_happens_and_nowhere_else():
    fork = Branch(2, 4, 3, "v2", "complete", ["v1"], (1, 0, 0), (0, 1, 1), None)
    found = scenario_of(
        record(
            micro("start", "", "held", 1),
            micro("step", "ExecTask", "held", 2, step=0),
            micro("step", "CrashRecover", "held", 1, process=2, step=1),
            micro("step", "ExecTask", "held", 2, process=2, step=2),
            micro("step", "EmitInterrupt", "parked", 2, process=2, step=2),
            micro("step", "Consume", "held", 3, process=2, step=3, params={"v": "v1"}),
            micro("step", "ForkResume", "held", 3, process=2, step=4, params={"v": "v2"}),
            micro("drain", "ExecTask", "complete", 4, process=2),
            branches=(fork,),
            ledger=(Row(0, 1, None, 1),),
        ),
        gate=2,
        tasks=3,
        options={},
        look_at=None,
    )
    told = [
        (d.process, d.do, d.given, d.branch, d.stop_at, d.reported) if isinstance(d, Tell) else d
        for d in found.doings
    ]
    assert told == [
        (1, "start", (), 0, 2, "held at the entry of task 2"),
        Kill(1),
        (2, "recover", (), 0, 0, "enters task 1 first; parked"),
        (2, "resume", ("v1",), 0, 3, "held at the entry of task 3"),
        (3, "fork", ("v2",), 2, 0, "complete, having got v1"),
        (2, "go_on", (), 0, 0, "complete"),
        Look(2, {"stored": [], "answer": None}),
    ]
    assert [*found.effects] == [[0, 1, None, 1]]


def test_an_answer_is_told_before_what_it_has_the_run_do_again():
    # @persist: the kickoff that brings the answer begins at the first task.
    found = scenario_of(
        record(
            micro("start", "", "held", 1),
            micro("step", "EmitInterrupt", "parked", 2, step=0),
            micro("catch-up", "ExecTask", "held", 2, step=1),
            micro("step", "Consume", "held", 3, step=1, params={"v": "v1"}),
            micro("step", "ExecTask", "complete", 4, step=2, poison=True),
        ),
        gate=2,
        tasks=3,
        options={},
        look_at=2,
    )
    told = [(d.do, d.spoil, d.reported) for d in found.doings if isinstance(d, Tell)]
    assert told == [("start", 0, "parked"), ("resume", 3, "complete")]


def test_a_step_that_no_script_can_make_is_refused():
    with pytest.raises(MbtError, match="knows how to make the step Fire"):
        scenario_of(
            record(micro("start", "", "held", 1), micro("step", "Fire", "held", 2, step=0)),
            gate=2,
            tasks=3,
            options={},
            look_at=None,
        )


# -- the test on mbt's API ----------------------------------------------------------------------


def test_a_written_test_passes_until_the_system_is_mended(tmp_path, capsys):
    file = tmp_path / "test_fork.py"
    receipt = PLANE / "reference" / "fault=ForkIgnore"
    assert main(["repro", str(receipt), "-o", str(file)]) == 0
    assert "the one given v2 got v1" in capsys.readouterr().out
    assert "fails once that is mended" in " ".join(file.read_text().split())
    name = "test_it_behaves_as_the_receipt_says"
    runpy.run_path(str(file))[name](tmp_path)
    mended = file.read_text().replace('"fault": "ForkIgnore"', '"fault": "none"')
    assert mended != file.read_text()
    file.write_text(mended)
    with pytest.raises(AssertionError):
        runpy.run_path(str(file))[name](tmp_path)


def test_a_written_test_is_of_what_users_may_import(tmp_path, capsys):
    file = tmp_path / "test_fork.py"
    assert main(["repro", str(PLANE / "langgraph" / "default"), "-o", str(file)]) == 0
    capsys.readouterr()
    assert imported(file) == {"json", "pathlib", "mbt"}
    assert Path(file).read_text().count("\n") < 250


def test_the_benchmark_can_be_run_as_a_file():
    # Its folder has a replay.py, which hid the package of that name.
    file = Path(__file__).parent.parent / "benchmarks" / "reproductions.py"
    command = [sys.executable, str(file), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
