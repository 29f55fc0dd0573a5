"""Logs held against models: small graphs by brute force, bad files, and the command itself."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import run as command

from mbt import load_spec, read_traces
from replay.compare import Model
from replay.validation.log import LONGEST_LINE, Line, LogError, LoggedRun, read_log
from replay.validation.validate import follow
from replay.validation.validated import explaining, hidden_actions
from tracegen.graph import StateGraph
from tracegen.spec import Variables
from tracegen.trace import ValuePath
from tracegen.values import Int, from_python

SPECS = Path(__file__).resolve().parent.parent / "specs"
ACTIONS = "ABC"
VARIABLES = ("x", "y")
# The parameter p of the action A is the value of x after it.
SPEC = SimpleNamespace(null=None, variables=Variables(), params={"A": {"p": ValuePath.parse("x")}})


# -- small graphs ----------------------------------------------------------------------


@st.composite
def models(draw):
    """At most five states of two variables, and at most eight edges of three actions."""
    values = st.tuples(st.integers(0, 2), st.integers(0, 1))
    states = draw(st.lists(values, min_size=1, max_size=5, unique=True))
    place = st.integers(0, len(states) - 1)
    edges = draw(st.lists(st.tuples(place, st.sampled_from(ACTIONS), place), max_size=8))
    initial = draw(st.sets(place, min_size=1, max_size=2))
    rows = [(Int(x), Int(y)) for x, y in states]
    return Model(StateGraph.build(VARIABLES, rows, initial, edges), SPEC)


def line(number, action, params, state):
    params, state = ({k: from_python(v) for k, v in each.items()} for each in (params, state))
    return Line(number, action, params, state)


@st.composite
def lines(draw):
    """Any line: one that a graph may well not have."""
    action = draw(st.sampled_from([None, *ACTIONS]))
    params = draw(st.sampled_from([{}, {"p": 0}, {"p": 1}])) if action == "A" else {}
    state = draw(st.sampled_from([{}, {"x": 0}, {"x": 1}, {"y": 0}, {"x": 1, "y": 1}, {"x": 7}]))
    return action, params, state


logs = st.lists(lines(), min_size=1, max_size=4).map(
    lambda drawn: LoggedRun("r", tuple(line(i, *each) for i, each in enumerate(drawn, 1)))
)
hidden_sets = st.sets(st.sampled_from(ACTIONS)).map(frozenset)


def fewest_hidden(run, model, hidden) -> list[np.ndarray]:
    """By matrices of costs, min-plus: after each line, the fewest hidden steps to each state."""
    size, graph = len(model.graph), model.graph
    unseen = np.full((size, size), np.inf)
    np.fill_diagonal(unseen, 0)
    for edge in graph.edges:
        if edge.action in hidden and edge.source != edge.target:
            unseen[edge.source, edge.target] = 1
    for k in range(size):  # Floyd and Warshall
        unseen = np.minimum(unseen, unseen[:, k : k + 1] + unseen[k : k + 1, :])
    costs = np.where([s in graph.initial for s in range(size)], 0, np.inf)
    found = []
    for each in run.lines:
        taken = np.full((size, size), np.inf)
        steps = (
            [(s, s) for s in range(size)]
            if each.action is None
            else [(e.source, e.target) for e in graph.edges if e.action == each.action]
        )
        for source, target in steps:
            state = graph.state(target)
            agrees = all(state[name] == value for name, value in each.state.items())
            if agrees and each.params.get("p", state["x"]) == state["x"]:
                taken[source, target] = 0
        costs = (costs[:, None] + unseen).min(axis=0)
        costs = (costs[:, None] + taken).min(axis=0)
        found.append(costs)
    return found


def check_path(found, model, hidden):
    """An explanation is a path of the graph that passes through the explained lines in order."""
    at = None
    left = list(found.run.lines[: found.explained])
    seen = [each for each in left if each.action is not None]
    for taken in found.path:
        edge = taken.edge
        assert edge == model.graph.edges[edge.id]
        assert edge.source in model.graph.initial if at is None else edge.source == at
        at = edge.target
        if taken.line is None:
            assert edge.action in hidden
        else:
            each = seen.pop(0)
            assert (each.number, each.action) == (taken.line, edge.action)
            assert each.state.items() <= model.graph.state(at).items()
    assert seen == []


@given(models(), logs, hidden_sets)
def test_a_run_is_explained_where_and_as_far_as_brute_force_finds_a_path(model, run, hidden):
    found = follow(run, model, hidden)
    costs = fewest_hidden(run, model, hidden)
    explained = sum(bool(np.isfinite(each).any()) for each in costs)
    assert found.explained == explained
    assert (found.stop is None) == (explained == len(run.lines))
    last = costs[explained - 1] if explained else None
    if last is not None:
        assert found.left == np.isfinite(last).sum()
        assert sum(taken.line is None for taken in found.path) == last.min()
    check_path(found, model, hidden)


@given(models(), logs, hidden_sets)
def test_what_would_have_been_allowed_goes_on(model, run, hidden):
    """Each step that is said to be allowed, put in place of the line, is explained; no other is."""
    found = follow(run, model, hidden)
    if found.stop is None:
        return
    before = run.lines[: found.explained]
    stopped = found.stop.line
    assert stopped == run.lines[found.explained]
    named = {each.action for each in found.stop.allowed}
    if stopped.action is not None:
        assert not named & hidden
        for action in {*ACTIONS} - hidden:
            instead = (*before, Line(99, action, {}, {}))
            assert (follow(LoggedRun("r", instead), model, hidden).stop is None) == (
                action in named
            )
    for each in found.stop.allowed:
        for name, values in each.values.items():
            for value in values:
                put = Line(99, each.action, dict(each.params), {name: value})
                assert follow(LoggedRun("r", (*before, put)), model, hidden).stop is None
    assert found.stop.sentence()


@given(models(), hidden_sets, st.data())
def test_a_path_of_the_model_is_explained_whatever_is_left_out_of_it(model, hidden, data):
    at = data.draw(st.sampled_from(model.graph.initial))
    drawn = []
    for number in range(1, 8):
        if not model.graph.out(at):
            break
        edge = data.draw(st.sampled_from(model.graph.out(at)))
        at = edge.target
        names = data.draw(st.sets(st.sampled_from(VARIABLES)))
        state = {name: model.graph.state(at)[name] for name in names}
        told = edge.action == "A" and data.draw(st.booleans())
        params = {"p": model.graph.state(at)["x"]} if told else {}
        if edge.action not in hidden:
            drawn.append(Line(number, edge.action, params, state))
        elif data.draw(st.booleans()):
            drawn.append(Line(number, None, {}, state))
    assert follow(LoggedRun("r", tuple(drawn)), model, hidden).stop is None


# -- files -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spec():
    return load_spec(SPECS / "ResumeContract.tla")


def written(folder, *texts: str | bytes) -> Path:
    file = folder / "log.jsonl"
    file.write_bytes(b"\n".join(t if isinstance(t, bytes) else t.encode() for t in texts))
    return file


def test_a_log_is_read_as_it_stands(tmp_path, spec):
    file = written(
        tmp_path,
        '{"records": ["ForkResume"]}',
        '{"run": "b", "state": {"waiting": false, "consumedVal": null}}',
        '{"action": "Consume", "params": {"v": "v1"}, "state": {"effects": [1, 1, 0]}}',
        "",
        '{"note": {"anything": 0.5}}',
        '{"run": "b", "action": "CrashRecover", "note": "power cut"}',
        '{"run": "b", "state": {"recHist": [{"dur": 1, "dec": "skip"}]}}',
    )
    log = read_log(file, spec)
    assert [(r.name, [each.number for each in r.lines]) for r in log.runs] == [
        ("b", [2, 6, 7]),
        ("log", [3]),
    ]
    assert log.named == {"ForkResume", "Consume", "CrashRecover"}
    b, unnamed = log.runs
    assert {k: str(v) for k, v in b.lines[0].state.items()} == {
        "waiting": "FALSE",
        "consumedVal": "NoVal",
    }
    assert str(unnamed.lines[0].state["effects"]) == "<<1, 1, 0>>"
    assert str(b.lines[2].state["recHist"]) == '<<[dec |-> "skip", dur |-> 1]>>'
    everything = spec.actions.keys()
    assert hidden_actions(log, spec, [], []) == {*everything} - log.named
    assert hidden_actions(log, spec, [], ["none"]) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: column 2"),
        ("[]", "a line of a log is an object; it may have action"),
        (b"\xff{}", "not UTF-8"),
        ('{"actoin": "Consume"}', "actoin: there is no field of this name; a line may have action"),
        ('{"action": 1}', "action: Input should be a valid string"),
        ('{"action": "Consum"}', "no action 'Consum'; known: Consume, CrashRecover"),
        ('{"records": ["Eat"]}', "no action 'Eat'"),
        ('{"action": "Consume", "params": {"w": 1}}', "no parameter of Consume 'w'; known: v"),
        ('{"params": {"v": "v1"}}', "parameters without an action"),
        (r'{"run": "a\u001b[2J\n"}', r"run: 'a\x1b[2J\n' cannot be printed as it is"),
        ('{"state": {"effect": [1]}}', "no variable 'effect'; known: ckpts"),
        ('{"state": {"pc": 1.5}}', "state: pc: not the JSON of a TLA+ value: 1.5"),
        ('{"state": {"pc": NaN}}', "NaN is no number of JSON"),
        ('{"state": {"pc": 1}, "state": {"pc": 2}}', 'the key "state" is there twice'),
        ('{"state": {"effects": [1, {"#set": [1, 1]}]}}', 'effects[1]["#set"][1]: the element 1'),
        ('{"state": {"pc": ' + "[" * 100_000 + "]" * 100_000 + "}}", "nested"),
        ('{"note": "' + "x" * LONGEST_LINE + '"}', "more than 1 MB"),
    ],
)
def test_what_is_no_line_of_a_log_is_refused_with_its_place(tmp_path, spec, text, message):
    file = written(tmp_path, '{"action": "ExecTask"}', text)
    with pytest.raises(LogError) as raised:
        read_log(file, spec)
    assert str(raised.value).startswith(f"{file}:2: ")
    assert message in str(raised.value) and len(str(raised.value)) < 400


def test_a_log_without_a_line_to_check_is_refused(tmp_path, spec):
    with pytest.raises(LogError, match="nothing can be checked"):
        read_log(written(tmp_path, '{"note": 1}', '{"records": []}'), spec)


# -- the command -----------------------------------------------------------------------

KEPT = [
    {"action": "ExecTask", "params": {"t": 1}, "state": {"effects": [1, 0, 0]}},
    {"action": "EmitInterrupt", "state": {"waiting": True}},
    {"action": "Consume", "params": {"v": "v1"}, "state": {"effects": [1, 1, 0]}},
    {"action": "ExecTask", "state": {"effects": [1, 1, 1]}},
]
# Nobody logged the crash, only that the first task was done twice.
REPEATED = [KEPT[0], {**KEPT[0], "state": {"effects": [2, 0, 0]}}]


def validated(folder, lines: Sequence[object], *words: str):
    """Validate a log at R0's bounds; the exit code, and what --json says."""
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    more = " ".join(words)
    done = command(folder, f"mbt validate ResumeContract --log log.jsonl --json {more}")
    return done.returncode, json.loads(done.stdout) if done.returncode < 2 else done.stderr


def test_a_run_that_is_explained_becomes_a_trace_that_the_reference_engine_walks(tmp_path):
    code, found = validated(
        tmp_path, KEPT[::2], "--model R0", "-o t.jsonl", "--hidden EmitInterrupt"
    )
    assert code == 0
    (run,) = found["runs"]
    assert (run["explained"], run["lines"], run["states_left"]) == (2, 2, 1)
    assert [(step["action"], step["line"]) for step in run["path"]] == [
        ("ExecTask", 1),
        ("EmitInterrupt", None),
        ("Consume", 2),
    ]
    (trace,) = read_traces(tmp_path / "t.jsonl")
    assert [step.action for step in trace.steps] == ["ExecTask", "EmitInterrupt", "Consume"]
    walked = command(
        tmp_path, "mbt replay ResumeContract --adapter reference --traces t.jsonl --json"
    )
    assert walked.returncode == 0, walked.stderr
    (part,) = json.loads(walked.stdout)["parts"]
    assert (part["steps"], part["divergences"]) == (3, [])


def test_what_is_not_explained_says_what_would_have_been_and_which_mechanisms_do(tmp_path):
    lines = [{"run": "kept", **each} for each in KEPT] + [{"run": "twice", **e} for e in REPEATED]
    code, found = validated(tmp_path, lines, "--model R0")
    assert code == 1
    assert found["hidden"] == ["CrashRecover", "ExtraResume", "ForkResume"]
    kept, twice = found["runs"]
    assert kept["stop"] is None and (twice["explained"], twice["lines"]) == (1, 2)
    assert twice["stop"]["line"] == 6
    assert twice["stop"]["sentence"] == (
        "ExecTask(t=1) is not allowed here; allowed is EmitInterrupt"
    )
    assert twice["stop"]["allowed"] == [
        {"action": "EmitInterrupt", "params": {}, "values": {"effects": [{"#tup": [1, 0, 0]}]}}
    ]
    # What restarts at the first task: by the spec, these three and no other switch alone.
    assert [each["faults"] for each in found["explained_by"]["runs"]["twice"]] == [
        ["FaultReplay"],
        ["FaultNondetRecovery"],
        ["FaultPrefixReplay"],
    ]
    code, found = validated(tmp_path, lines, "--model R0 --fault FaultReplay")
    assert code == 0 and found["explained_by"] is None
    crash = next(step for step in found["runs"][1]["path"] if step["line"] is None)
    assert (crash["action"], crash["params"]) == ("CrashRecover", {"dec": "replay"})
    code, found = validated(tmp_path, lines, "--model R0 --fault FaultReplay --hidden none")
    assert code == 1


def test_values_that_differ_are_named_with_those_of_the_model(tmp_path):
    wrong = [*KEPT[:2], {**KEPT[2], "state": {"effects": [1, 2, 0], "waiting": False}}]
    code, found = validated(tmp_path, wrong, "--model R0 --fault FaultReplay")
    assert code == 1
    assert found["runs"][0]["stop"]["sentence"] == (
        'after Consume(v="v1") the model has effects = <<1, 1, 0>>; the log has '
        "effects = <<1, 2, 0>>"
    )


def test_bounds_can_be_those_of_the_application(tmp_path):
    answered = [*KEPT[:2], {"action": "Consume", "params": {"v": "yes"}}]
    assert validated(tmp_path, answered, "--model R0 --fault FaultReplay")[0] == 1
    code, _ = validated(tmp_path, answered, """--model R0 --constant 'Values={"yes", "no"}'""")
    assert code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "several models"),
        ("--model R8", "too large to be held"),
        ("--model R0 --fault FaultNone", "no fault switch 'FaultNone'"),
        ("--model R0 --hidden Eat", "no such action"),
        ("--model R0 --constant FaultReplay=TRUE", "no fault switch"),
    ],
)
def test_wrong_use_is_told(tmp_path, words, message):
    code, told = validated(tmp_path, KEPT, words)
    assert code == 2 and message in told and told.count("\n") == 1


def test_a_module_without_a_toml_is_compared_by_names_and_variables(tmp_path):
    (tmp_path / "Counter.tla").write_text(
        "---- MODULE Counter ----\nEXTENDS Integers\nVARIABLE n\nInit == n = 0\n"
        "Add(k) == n + k <= 4 /\\ n' = n + k\nReset == n = 4 /\\ n' = 0\n"
        "Next == Reset \\/ \\E k \\in {1, 2} : Add(k)\nSpec == Init /\\ [][Next]_n\n====\n"
    )
    (tmp_path / "Counter.cfg").write_text("SPECIFICATION Spec\n")
    log = [{"action": "Add", "params": {"k": 2}, "state": {"n": 2}}, {"state": {"n": 0}}]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in log))
    done = command(tmp_path, "mbt validate Counter.tla --log log.jsonl")
    assert done.returncode == 1  # Add is logged, so that no Add can have led to the Reset
    assert "not compared, because no TOML says where they are: the parameters of Add" in done.stdout
    assert "here the model has n = 2; the log has n = 0" in done.stdout
    done = command(tmp_path, "mbt validate Counter.tla --log log.jsonl --hidden Add,Reset")
    assert done.returncode == 0
    assert "Add, [Add], [Reset]" in done.stdout


@pytest.mark.parametrize(
    ("module", "model", "text"),
    [
        # No model has a first task 3; ResumeMechanisms alone does not say which task it was.
        ("ResumeContract", "R0", '{"action": "ExecTask", "params": {"t": 3}}'),
        # ResumeMechanisms has no such variable.
        ("R11_ConsumeCount", "R11-effect", '{"state": {"consumeCount": 99}}'),
    ],
)
def test_a_companion_explains_no_run_by_what_it_does_not_compare(
    tmp_path, checker, module, model, text
):
    spec = load_spec(SPECS / f"{module}.tla")
    bare = replace(spec, explain=spec.explain.model_copy(update={"switches": ()}))
    log = read_log(written(tmp_path, text), spec)
    tried = explaining(log, bare, model, hidden_actions(log, spec, [], []), checker)
    assert tried.smallest([0]) == ()


def test_a_companion_says_which_parameters_it_did_not_compare(tmp_path):
    # Asked again by the recovery, and the answer fires the gate again: Rearm, by its definition.
    again = [{**KEPT[0], "state": {"effects": [2, 1, 0]}}, KEPT[1]]
    again.append({**KEPT[2], "state": {"effects": [2, 2, 0]}})
    lines = [*KEPT[:3], {"action": "CrashRecover"}, *again]
    code, found = validated(tmp_path, lines, "--model R0")
    assert code == 1
    assert found["explained_by"]["all"] == [
        {
            "module": "ResumeMechanisms",
            "faults": ["FaultRearm"],
            "name": "Rearm",
            "parameters_not_compared": ["ExecTask"],
        }
    ]


def test_a_run_without_a_step_keeps_no_other_from_becoming_a_trace(tmp_path):
    lines = [{"run": "idle", "state": {"pc": 1}}, *KEPT]
    code, found = validated(tmp_path, lines, "--model R0 -o t.jsonl")
    assert code == 0 and [run["run"] for run in found["runs"]] == ["idle", "log"]
    assert [trace.name for trace in read_traces(tmp_path / "t.jsonl")] == ["log"]
