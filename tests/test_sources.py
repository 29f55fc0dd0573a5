"""Traces from files of other tools: of `mbt traces` --from-itf and --from-tlc, of `mbt replay`."""

import json
import re
import shutil
from pathlib import Path

import pytest
from test_corpus import RUNS

from mbt.cli import main
from tracegen.errors import MbtError
from tracegen.from_itf import in_model, read_itf_file
from tracegen.from_tlc import read_tlc_file
from tracegen.outcome import Outcome
from tracegen.spec import load_spec
from tracegen.trace import read_traces
from tracegen.values import Int, ModelValue, Set, Str, ValueFormatError, function, record, seq

SPECS = Path(__file__).resolve().parent.parent / "specs"
RESUME = str(SPECS / "ResumeContract.tla")


@pytest.fixture
def mbt(capsys):
    """Run a command line; gives exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run


@pytest.fixture(scope="session")
def tour(tmp_path_factory, own_cache):
    """The tour of R0 as JSON lines, and as ITF files with the actions in Quint's variables."""
    folder = tmp_path_factory.mktemp("tour")
    for target in ("r0.jsonl", "{name}.itf.json"):
        assert main(["traces", RESUME, "--model", "R0", "-o", str(folder / target)]) == 0
    return folder


@pytest.fixture
def nameless(tour, tmp_path):
    """Make a file of a trace of the tour without its actions, and edited by a function."""

    def make(name, edit=lambda content: None, keep=False):
        content = json.loads((tour / f"{name}.itf.json").read_text())
        if not keep:
            quint = ("mbt::actionTaken", "mbt::nondetPicks")
            content["vars"] = [variable for variable in content["vars"] if variable not in quint]
            for state in content["states"]:
                for variable in quint:
                    del state[variable]
        edit(content)
        path = tmp_path / f"{name}.itf.json"
        path.write_text(json.dumps(content))
        return path

    return make


def walked(trace):
    return trace.initial, trace.steps


# --- ITF of our own


def test_the_tour_is_read_back_with_and_without_its_names(mbt, tour, nameless, tmp_path):
    traces = read_traces(tour / "r0.jsonl")
    assert len(traces) == 40
    named = [tour / f"{trace.name}.itf.json" for trace in traces]
    stripped = [nameless(trace.name) for trace in traces]
    for paths in (named, stripped):
        target = tmp_path / "back.jsonl"
        words = ["--from-itf", *paths, "-o", target]
        code, out, err = mbt("traces", RESUME, "--model", "R0", *words)
        assert (code, err) == (0, "")
        assert "40 traces, 248 steps, 7 the longest, over 86 transitions" in out
        back = read_traces(target)
        assert [walked(trace) for trace in back] == [walked(trace) for trace in traces]
        assert [trace.name for trace in back] == [trace.name for trace in traces]


def test_a_nameless_trace_is_replayed(mbt, nameless, tmp_path):
    path = nameless("R0-05")
    replay = ["replay", RESUME, "--adapter", "reference", "--traces", path]
    replay += ["--receipts", tmp_path / "receipts"]
    code, out, err = mbt(*replay, "--model", "R0")
    assert (code, err) == (0, "")
    # The trace as the tour has it; see the JSON lines.
    actions = re.findall(r"^· +\d+ +\d+ +(\w+)", out, re.MULTILINE)
    assert actions == [
        "ExecTask", "CrashRecover", "EmitInterrupt", "Consume", "ForkResume", "ExecTask",
    ]  # fmt: skip
    code, out, _ = mbt(*replay, "--model", "R0", "--option", "fault=Replay")
    assert code == 1
    code, _, err = mbt(*replay)
    assert code == 2
    assert "several models; name one with --model" in err
    code, _, err = mbt(*replay, "--model", "R0", "--model", "R1")
    assert code == 2
    assert "name one --model" in err


def test_a_replay_says_what_was_noted(mbt, nameless, tmp_path):
    def twice(content):
        content["states"].insert(1, content["states"][0])
        for number, state in enumerate(content["states"]):
            state = content["states"][number] = dict(state)
            state["#meta"] = {"index": number}
        content["loop"] = 2

    path = nameless("R0-05", twice)
    words = ["--adapter", "reference", "--model", "R0", "--receipts", tmp_path / "receipts"]
    code, _, err = mbt("replay", RESUME, "--traces", path, *words)
    assert code == 0
    assert err.splitlines() == [
        f"mbt: note: {path}: the step to state 1 changes nothing and is no action's; left out",
        f"mbt: note: {path}: a lasso: from state 6 it goes back to state 1; "
        "the trace ends before that step",
    ]
    code, out, err = mbt(
        "traces", RESUME, "--model", "R0", "--from-itf", path, "-o", tmp_path / "x", "--json"
    )
    assert code == 0
    assert len(json.loads(out)["notes"]) == len(err.splitlines()) == 2


def set_(path, value):
    """An edit that puts a value at a path of keys."""

    def edit(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return edit


def constant(name, value):
    def edit(content):
        content["params"] = [name]
        for state in content["states"]:
            state[name] = value

    return edit


def delete(path):
    def edit(content):
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return edit


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (set_(["states"], []), "a trace without states; there is nothing to walk"),
        (set_(["states", 2, "pc"], 9),
         "state 2 is no state of ResumeContract R0; it differs from the nearest in pc = 9, not 2"),
        (set_(["states", 2, "pc"], {"#unserializable": "Nat"}),
         "state 2: pc: its writer could not say Nat as a value"),
        (set_(["states", 2, "qc"], 1), "state 2 has what the module does not declare: qc (its"),
        (delete(["states", 0, "pc"]), "state 0 has no value of: pc (its variables:"),
        (delete(["states", 0]), "state 0: states[0].#meta.index is 1: states are missing"),
        (constant("NTasks", 4), "the constant NTasks is 4, but 3 in R0; name the model"),
        (constant("Bound", 4), "Bound, of params, is no constant of ResumeContract"),
        (set_(["states", 1, "mbt::actionTaken"], 1),
         "state 1: mbt::actionTaken is 1, which is no name of an action"),
        (set_(["states", 1, "mbt::nondetPicks"], {"t": {"tag": "Sum", "value": 1}}),
         'state 1: mbt::nondetPicks: "t" is [tag |-> "Sum", value |-> 1], neither Some'),
        (set_(["states", 1, "mbt::nondetPicks"], {"t": {"tag": "Some"}}),
         'state 1: mbt::nondetPicks: "t" is [tag |-> "Some"], neither Some'),
        (set_(["states", 1, "mbt::nondetPicks"], 1),
         "state 1: mbt::nondetPicks is 1, which is no record of choices"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_trace_is_said(mbt, nameless, edit, complaint):
    path = nameless("R0-05", edit)
    code, out, err = mbt("traces", RESUME, "--model", "R0", "--from-itf", path, "-o", "-")
    assert (code, out) == (2, "")
    assert f"{path}: {complaint}" in err or f"{path}: state 0: {complaint}" in err


def test_steps_that_are_named_have_to_be_what_they_are_called(mbt, nameless):
    def spoil(content):
        for state in content["states"][1:]:
            if state["mbt::actionTaken"] == "Consume":
                state["mbt::nondetPicks"]["v"] = {"tag": "Some", "value": "v7"}

    path = nameless("R0-05", spoil, keep=True)
    code, _, err = mbt("traces", RESUME, "--model", "R0", "--from-itf", path, "-o", "-")
    assert code == 2
    assert (
        f'{path}: state 4: the file has v = "v7" for Consume, but the state after it shows "v1" '
        "(consumedVal)"
    ) in err


def test_names_may_be_partly_missing_or_wrong(mbt, nameless):
    """As of Quint, whose step is called "step" or nothing where it has no name of its own."""

    def edit(second, third):
        def inside(content):
            content["states"][1]["mbt::actionTaken"] = second
            content["states"][2]["mbt::actionTaken"] = third

        return inside

    path = nameless("R0-05", edit("step", ""), keep=True)
    code, out, _ = mbt("traces", RESUME, "--model", "R0", "--from-itf", path, "-o", "-")
    assert code == 0
    actions = [step["action"] for step in json.loads(out)["steps"]]
    assert actions[:2] == ["ExecTask", "CrashRecover"]
    path = nameless("R0-05", edit("step", "Consume"), keep=True)
    code, _, err = mbt("traces", RESUME, "--model", "R0", "--from-itf", path, "-o", "-")
    assert code == 2
    assert "state 2 does not follow state 1 in ResumeContract R0 by the action Consume" in err


@pytest.mark.parametrize("spelled", ["NoVal", "ModelValue_NoVal", "NoVal_OF_VALUE"])
def test_a_string_of_apalaches_is_the_model_value_of_the_cfg(mbt, nameless, tour, spelled):
    def edit(content):
        (initial, *_), unset = content["states"], "NoVal"
        assert initial["consumedVal"] == unset
        for state in content["states"]:
            if state["consumedVal"] == unset:
                state["consumedVal"] = spelled

    path = nameless("R0-05", edit)
    code, out, _ = mbt("traces", RESUME, "--model", "R0", "--from-itf", path, "-o", "-")
    assert code == 0
    assert json.loads(out)["initial"]["consumedVal"] == {"#model": "NoVal"}


def test_where_strings_become_model_values():
    names = {"p": ModelValue("p"), "1_OF_T": ModelValue("1_OF_T"), "a": ModelValue("a")}
    some = function({Str("p"): Set([Str("q"), Str("p_OF_T"), Str("1_OF_T")])})
    model = function({names["p"]: Set([Str("q"), names["p"], names["1_OF_T"]])})
    assert in_model(some, names) == model
    # A field of a record is none; nor is what the .cfg does not have.
    assert in_model(seq([Int(1), Str("p q"), Str("2_OF_T"), Str("")]), names) == seq(
        [Int(1), Str("p q"), Str("2_OF_T"), Str("")]
    )
    fields = function([(Str("a"), Str("a"))])
    assert in_model(fields, names) == function({names["a"]: names["a"]})
    as_read = type(fields)(fields.pairs, "{}")
    assert in_model(as_read, names) == record({"a": names["a"]})
    for twice in (Set([Str("p"), Str("p_OF_T")]), function({Str("p"): Int(1), names["p"]: Int(1)})):
        with pytest.raises(ValueFormatError, match="two strings are one model value in"):
            in_model(twice, names)


# --- ITF of Quint

WF3 = """---- MODULE Wf3 ----
VARIABLES status, log, cancelled, clock
Init == /\\ status = <<>> /\\ log = <<>> /\\ cancelled = FALSE /\\ clock = 0
Next == UNCHANGED <<status, log, cancelled, clock>>
====
"""


@pytest.fixture
def wf3(tmp_path):
    """A stand-in for the TLA+ of wf3.qnt: it has its variables."""
    (tmp_path / "Wf3.tla").write_text(WF3)
    (tmp_path / "Wf3.cfg").write_text("INIT Init\nNEXT Next\n")
    return load_spec(tmp_path / "Wf3.tla")


@pytest.mark.parametrize(
    "name",
    ["wf3_ok_0", "wf3_ok_1", "wf3_ok_2", "wf3_ok_3", "wf3_quint-0.22.4_oldmbt"],
)
def test_quints_actions_and_picks_are_actions_and_parameters(data_dir, wf3, mbt, tmp_path, name):
    path = data_dir / "itf" / "quint" / f"{name}.itf.json"
    code, out, err = mbt("traces", tmp_path / "Wf3.tla", "--from-itf", path, "-o", "-")
    assert (code, err) == (0, "")
    trace = json.loads(out)
    assert trace["name"] == name
    raw = json.loads(path.read_text())["states"]
    old = "oldmbt" in name
    taken, picks = ("action_taken", "nondet_picks") if old else (
        "mbt::actionTaken", "mbt::nondetPicks")  # fmt: skip
    assert trace["initial"].keys() == {"status", "log", "cancelled", "clock"}
    assert [step["action"] for step in trace["steps"]] == [state[taken] for state in raw[1:]]
    for step, state in zip(trace["steps"], raw[1:], strict=True):
        assert step["state"].keys() == trace["initial"].keys()
        some = {pick for pick, option in state[picks].items() if option["tag"] == "Some"}
        assert step["params"].keys() == some
    plan = {"tag": "Plan", "value": {"#tup": []}}
    assert trace["steps"][0]["action"] == "start"
    assert trace["steps"][0]["params"]["task"] == plan


def test_variables_of_the_model_are_not_quints(data_dir, tmp_path):
    """Before 0.26 the names were plain; a model that declares them means its own."""
    name = "wf3_quint-0.22.4_oldmbt.itf.json"
    content = json.loads((data_dir / "itf" / "quint" / name).read_text())
    (tmp_path / "Wf3.tla").write_text(WF3.replace("clock\nInit", "clock, action_taken\nInit"))
    (tmp_path / "Wf3.cfg").write_text("INIT Init\nNEXT Next\n")
    spec = load_spec(tmp_path / "Wf3.tla")
    path = tmp_path / name
    for declared in (content["vars"], [*content["vars"], "action_taken"]):
        path.write_text(json.dumps({**content, "vars": declared}))
        found = read_itf_file(spec, spec.model(), path)
        assert found.states[1]["action_taken"] == Str("start")
        assert set(found.actions) == {None}
        assert "nondet_picks" not in found.states[0]
        assert found.params[0].keys() == {"task", "worker"}


def test_a_quint_trace_of_another_model(mbt, data_dir, wf3, tmp_path):
    path = data_dir / "itf" / "quint" / "wf3_nombt.itf.json"
    code, _, err = mbt("traces", tmp_path / "Wf3.tla", "--from-itf", path, "-o", "-")
    assert code == 2
    assert (
        f"{path}: state 0 is no state of Wf3 Wf3; it differs from the nearest in status = " in err
    )
    path = data_dir / "itf" / "quint" / "tutorials_coin.0.itf.json"
    code, _, err = mbt("traces", tmp_path / "Wf3.tla", "--from-itf", path, "-o", "-")
    assert code == 2
    assert f"{path}: state 0 has what the module does not declare: balances, minter" in err


# --- the command line


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--from-itf", "a", "--cover", "states"], "--cover chooses traces of the model"),
        (["--from-itf", "a", "--seed", "1"], "--seed chooses traces of the model"),
        (["--from-tlc", "a", "--checker", "apalache"], "--checker chooses traces of the model"),
        (["b.itf.json"], "b.itf.json: say what it is, with either --from-itf or --from-tlc"),
        (["--from-itf", "a", "--from-tlc", "c", "b"], "b: say what it is"),
        (["--from-itf", "a"], "a: cannot be read: No such file"),
        (["--from-tlc", "a"], "a: cannot be read: No such file"),
    ],
)
def test_wrong_use(mbt, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    code, _, err = mbt("traces", RESUME, "--model", "R0", *words, "-o", "-")
    assert code == 2
    assert complaint in err


def test_itf_has_one_trace_a_file(mbt, tmp_path):
    tour_of_r0 = ["traces", RESUME, "--model", "R0"]
    code, _, err = mbt(*tour_of_r0, "-o", tmp_path / "x.itf.json")
    assert code == 2
    assert "ITF has one trace a file, and there are 40; write -o 'x_{name}.itf.json'" in err
    assert list(tmp_path.iterdir()) == []
    one = ["traces", RESUME, "--model", "R1", "--cover", "counterexample"]
    code, out, _ = mbt(*one, "-o", tmp_path / "x.itf.json", "--json")
    assert code == 0
    assert json.loads(out)["files"] == [str(tmp_path / "x.itf.json")]
    written = json.loads((tmp_path / "x.itf.json").read_text())
    # The counterexample of R1 has four states.
    assert [state["#meta"]["index"] for state in written["states"]] == [0, 1, 2, 3]
    code, _, err = mbt(*one, "-o", tmp_path / "none" / "x.itf.json")
    assert code == 2
    assert "cannot write" in err


def test_files_of_one_name_become_traces_of_two(mbt, tour, tmp_path):
    (tmp_path / "again").mkdir()
    paths = [
        shutil.copy(tour / "R0-05.itf.json", folder) for folder in (tmp_path, tmp_path / "again")
    ]
    target = tmp_path / "out.jsonl"
    code, _, _ = mbt("traces", RESUME, "--model", "R0", "--from-itf", *paths, "-o", target)
    assert code == 0
    assert [trace.name for trace in read_traces(target)] == ["R0-05", "R0-05-2"]


def test_a_model_too_large_to_hold_is_explored_along_the_trace(mbt, tmp_path):
    """R8 has 7,435,360 states."""
    sample = ["--cover", "simulation", "--count", "1", "--depth", "12", "-o"]
    code, _, _ = mbt("traces", RESUME, "--model", "R8", *sample, tmp_path / "r8.jsonl")
    assert code == 0
    (trace,) = read_traces(tmp_path / "r8.jsonl")
    code, _, _ = mbt("traces", RESUME, "--model", "R8", *sample, tmp_path / "r8.itf.json")
    assert code == 0
    path = tmp_path / "r8.itf.json"
    content = json.loads(path.read_text())
    for state in content["states"]:
        state["mbt::actionTaken"] = "step"
    path.write_text(json.dumps(content))
    code, out, _ = mbt("traces", RESUME, "--model", "R8", "--from-itf", path, "-o", "-")
    assert code == 0
    assert [step["action"] for step in json.loads(out)["steps"]] == [
        step.action for step in trace.steps
    ]


# --- TLC


def of_tlc(mbt, spec, *files, model=()):
    code, out, err = mbt("traces", spec, *model, "--from-tlc", *files, "-o", "-")
    return code, [json.loads(line) for line in out.splitlines()], err


def test_simulation_files_get_their_actions(mbt, data_dir):
    """Module Dup: Go x + 1, Noop, Jump to 3 or 4, Back, Beyond; the unnamed 50 is Next."""
    files = [data_dir / "tlc" / "sim" / f"tr_0_{number}" for number in range(4)]
    code, traces, err = of_tlc(mbt, data_dir / "tlc" / "spec" / "Dup.tla", *files)
    assert (code, err) == (0, "")
    assert {trace["name"]: [step["action"] for step in trace["steps"]] for trace in traces} == {
        "tr_0_0": ["Go", "Noop", "Go", "Next"],
        "tr_0_1": ["Jump", "Back", "Jump", "Back", "Go"],
        "tr_0_2": ["Jump", "Back", "Jump", "Beyond"],
        "tr_0_3": ["Go", "Go", "Go", "Back", "Jump"],
    }


@pytest.mark.parametrize("name", ["e_live_back", "e_live_back_tool"])
def test_a_lasso_of_tlcs(mbt, data_dir, name):
    path = data_dir / "tlc" / f"{name}.stdout"
    code, (trace,), err = of_tlc(mbt, data_dir / "tlc" / "spec" / "Loop.tla", path)
    assert code == 0
    assert trace["name"] == name
    assert [step["action"] for step in trace["steps"]] == ["Inc", "Inc", "Inc"]
    assert err == (
        f"mbt: note: {path}: a lasso: from state 4 it goes back to state 2; "
        "the trace ends before that step\n"
    )


def test_several_counterexamples_of_one_run(mbt, data_dir):
    spec, path = data_dir / "tlc" / "spec" / "Multi.tla", data_dir / "tlc" / "g_continue.stdout"
    code, traces, _ = of_tlc(mbt, spec, path)
    assert code == 0
    assert {trace["name"]: [step["action"] for step in trace["steps"]] for trace in traces} == {
        "g_continue-1": ["Step", "Step"],
        "g_continue-2": ["Step", "Alt"],
        "g_continue-3": ["Step", "Alt", "Step"],
    }


@pytest.mark.parametrize("name", RUNS)
def test_a_run_without_a_trace_says_how_it_came_out(data_dir, name):
    spec = load_spec(data_dir / "tlc" / "spec" / "Dup.tla")
    path = data_dir / "tlc" / f"{name}.stdout"
    outcome = RUNS[name][1]
    try:
        found = read_tlc_file(spec, spec.model(), path)
    except MbtError as refused:
        said = str(refused)
    else:
        assert found[0].states
        assert "underspec" not in name
        assert outcome.violated or outcome in (Outcome.DEADLOCK, Outcome.EVALUATION_ERROR)
        return
    assert not outcome.violated
    nothing = f"{path}: there is no trace in it: "
    if "underspec" in name:
        assert said == f"{path}: state 2: y has no value (TLC prints null)"
    elif outcome is Outcome.SIMULATED:
        assert said.startswith(f"{nothing}a simulation without an error; its behaviours are in")
    elif outcome is Outcome.EVALUATION_ERROR:
        assert said.startswith(f'{nothing}TLC ended with an error: "')  # it has no exit code to see
    else:
        # The model, Dup, has no constraint.
        shown = Outcome.HOLDS if outcome is Outcome.BOUNDED else outcome
        assert said == f"{nothing}TLC's outcome is: {shown.value}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "there is no trace in it: it is not what TLC prints"),
        ("{}", "there is no trace in it: it is not what TLC prints"),
        ("Starting... (2026-11-30 10:52:19)\n", "there is no trace in it: TLC's output is cut off"),
        (b"\xff", "not UTF-8: byte 0 is invalid start byte"),
        ("State 1: <Initial predicate>\nx = ?\n\n", "TLA+ text expected, found '?'"),
        ("State 2: <Go line 1>\nx = 1\n\n", "a counterexample cannot start with '2:"),
        ("---------------- MODULE p_0_0 -----------------\n", "a simulation file without a whole"),
        ("---- MODULE p ----\nSTATE_1 == \nx = 0\n\n\nSTATE_3 == \nx = 1\n\n\n====\n",
         "STATE_3 follows STATE_1 in a simulation file"),
        ("---- MODULE p ----\nSTATE_1 == \ny = 0\n\n\n====\n",
         "state 1 has what the module does not declare: y"),
        ("---- MODULE p ----\nSTATE_1 == \nx = 0\n\n\nSTATE_2 == \nx = 2\n\n\n====\n",
         "state 2 does not follow state 1 in Dup Dup by any action (enabled there: Go, Jump)"),
    ],
)  # fmt: skip
def test_files_that_tlc_did_not_write(mbt, data_dir, tmp_path, text, complaint):
    path = tmp_path / "run.stdout"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, _, err = of_tlc(mbt, data_dir / "tlc" / "spec" / "Dup.tla", path)
    assert code == 2
    assert f"{path}: {complaint}" in err


def test_a_search_that_tells_no_actions(mbt, data_dir, tmp_path):
    """As -dfid prints; the spec says which: x goes from 0 to 1 by Go alone."""
    path = tmp_path / "dfid.txt"
    path.write_text("Error: Invariant I is violated.\nState 1:\nx = 0\n\nState 2:\nx = 1\n\n")
    code, (trace,), _ = of_tlc(mbt, data_dir / "tlc" / "spec" / "Dup.tla", path)
    assert code == 0
    assert [step["action"] for step in trace["steps"]] == ["Go"]


ARG = """module = "Arg"
[models.Arg]
cfg = "Arg.cfg"
[actions.Consume]
kind = "stimulus"
delivery = "call"
tester = { v = "x" }
"""
NEWER = """State 1: <Initial predicate>
x = 0

State 2: <%s line 5, col 15 to line 5, col 29 of module Arg>
x = 4

"""


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ("Consume(4)", None),
        ("Consume", None),
        ("Consume(5)", "state 2: the file has v = 5 for Consume, but the state after it shows 4"),
        ("Consume(4, 5)", "state 2: Consume with 2 arguments; "),
        ("Consumes(4)", "state 2: Consumes with 1 arguments; "),
    ],
)
def test_arguments_of_newer_builds_have_to_be_what_the_state_shows(
    mbt, data_dir, tmp_path, action, complaint
):
    for file in ("Arg.tla", "Arg.cfg"):
        shutil.copy(data_dir / "tlc" / "spec" / file, tmp_path)
    (tmp_path / "Arg.toml").write_text(ARG)
    path = tmp_path / "newer.txt"
    path.write_text(NEWER % action)
    code, traces, err = of_tlc(mbt, tmp_path / "Arg.tla", path)
    if complaint:
        assert code == 2
        assert f"{path}: {complaint}" in err
    else:
        assert code == 0
        assert traces[0]["steps"] == [{"action": "Consume", "params": {"v": 4}, "state": {"x": 4}}]
    # Without a TOML the module gives an argument its name.
    (tmp_path / "Arg.toml").unlink()
    code, traces, _ = of_tlc(mbt, tmp_path / "Arg.tla", path)
    if action == "Consume(5)":
        assert traces[0]["steps"][0]["params"] == {"v": 5}


def test_a_parameter_that_is_not_where_the_toml_says(mbt, data_dir, tmp_path):
    for file in ("Arg.tla", "Arg.cfg"):
        shutil.copy(data_dir / "tlc" / "spec" / file, tmp_path)
    (tmp_path / "Arg.toml").write_text(ARG.replace('"x"', '"x[1]"'))
    path = tmp_path / "newer.txt"
    path.write_text(NEWER % "Consume(4)")
    code, _, err = of_tlc(mbt, tmp_path / "Arg.tla", path)
    assert code == 2
    assert f"{path}: state 2: a parameter of Consume is not where Arg.toml says: x[1]: " in err
