"""Traces: where parameters are read, and files that are read back strictly."""

import hashlib
import json

import pytest
from graphs import numbered, resume_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import names, states, values

from tracegen.cover import transition_tour
from tracegen.errors import MbtError
from tracegen.trace import (
    Step,
    Trace,
    TraceFileError,
    ValuePath,
    ValuePathError,
    read_traces,
    trace_of_path,
    write_traces,
)
from tracegen.values import FALSE, TRUE, Function, Int, ModelValue, Set, Str, record, seq

STATE = {
    "consumedVal": ModelValue("NoVal"),
    "forkVals": seq([Str("v1"), Str("v2"), Str("v1")]),
    "ckpts": seq(
        [record({"task": Int(1), "valid": TRUE}), record({"task": Int(2), "valid": FALSE})]
    ),
    "empty": seq([]),
    "offset": Function([(Int(0), Str("zero")), (Int(-1), Str("less"))]),
    "owner": Function([(Str("a b"), Int(7)), (ModelValue("p1"), Int(8))]),
    "set": Set([Int(1)]),
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("consumedVal", ModelValue("NoVal")),
        ("forkVals[1]", Str("v1")),
        ("forkVals[2]", Str("v2")),
        ("forkVals[-1]", Str("v1")),
        ("forkVals[-2]", Str("v2")),
        ("ckpts[-1].task", Int(2)),
        ("ckpts[1].valid", TRUE),
        ('ckpts[1]["task"]', Int(1)),
        # Where the domain is not 1..n, a number is an argument like any other.
        ("offset[0]", Str("zero")),
        ("offset[-1]", Str("less")),
        ('owner["a b"]', Int(7)),
        ("owner[p1]", Int(8)),
    ],
)
def test_value_paths(path, value):
    assert ValuePath.parse(path).read(STATE) == value


@pytest.mark.parametrize(
    "text",
    ["", ".", "1", "a.", "a[", "a[]", "a[1", "a[1]]", "a b", "a.b c", "a[1.5]", "a['x']", "[1]",
     "a[-]", 'a["x]', "a..b", " a", "a ", "a\n"],
)  # fmt: skip
def test_malformed_value_paths(text):
    with pytest.raises(ValuePathError, match="is not a path to a value"):
        ValuePath.parse(text)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing", "no variable missing"),
        ("forkVals[0]", "has nothing at 0"),
        ("forkVals[4]", "has nothing at 4"),
        ("forkVals[-4]", "has nothing at -4"),
        ("empty[-1]", "<<>> has nothing at -1"),
        ("ckpts[1].dur", 'has nothing at "dur"'),
        ("consumedVal[1]", "NoVal is not a function"),
        ("set[1]", "{1} is not a function"),
        ("offset[1]", "has nothing at 1"),
    ],
)
def test_value_paths_that_lead_nowhere(path, reason):
    with pytest.raises(ValuePathError) as raised:
        ValuePath.parse(path).read(STATE)
    assert str(raised.value).startswith(f"{path}: ")
    assert reason in str(raised.value)


params = st.dictionaries(names, values, max_size=2)


@st.composite
def traces(draw):
    initial = draw(states)
    after = st.fixed_dictionaries(dict.fromkeys(initial, values))
    steps = draw(st.lists(st.builds(Step, names, params, after), max_size=3))
    texts = st.text(max_size=5)
    return Trace(draw(texts), draw(names), draw(names), initial, tuple(steps))


@settings(max_examples=50)
@given(st.lists(traces(), max_size=3, unique_by=lambda trace: trace.name))
def test_what_is_written_is_read_back(tmp_path_factory, written):
    path = tmp_path_factory.getbasetemp() / "round-trip.jsonl"
    write_traces(path, written)
    assert read_traces(path) == written
    lines = path.read_bytes().splitlines()
    assert [hashlib.sha256(line).hexdigest() for line in lines] == [t.digest for t in written]


TRACE = Trace(
    "R0-01",
    "ResumeContract",
    "R0",
    {"pc": Int(1), "val": ModelValue("NoVal")},
    (Step("Consume", {"v": Str("v1")}, {"val": Str("v1"), "pc": Int(3)}),),
)
LINE = (
    '{"initial":{"pc":1,"val":{"#model":"NoVal"}},"model":"R0","module":"ResumeContract",'
    '"name":"R0-01","steps":[{"action":"Consume","params":{"v":"v1"},'
    '"state":{"pc":3,"val":"v1"}}]}'
)


def test_the_form_of_a_line():
    assert TRACE.line == LINE
    assert TRACE.digest == hashlib.sha256(LINE.encode()).hexdigest()


def edited(**changes):
    return json.dumps(json.loads(LINE) | changes)


STEP = {"action": "Consume", "params": {}, "state": {"pc": 3, "val": "v1"}}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "not a trace: Invalid JSON"),
        ("[]", "not a trace: Input should be an object"),
        (LINE[:-7], "not a trace: Invalid JSON"),
        (LINE + LINE, "not a trace: Invalid JSON"),
        (edited(extra=1), "not a trace: extra: Extra inputs are not permitted"),
        (LINE.replace('"model":"R0",', ""), "not a trace: model: Field required"),
        (edited(name=7), "not a trace: name: Input should be a valid string"),
        (edited(steps={}), "not a trace: steps: Input should be a valid array"),
        (edited(steps=[{**STEP, "guard": 1}]), "not a trace: steps.0.guard: Extra inputs"),
        (edited(steps=[{**STEP, "action": None}]), "not a trace: steps.0.action: Input should"),
        (edited(initial={"pc": 1.5, "val": 1}), "1.5"),
        (edited(initial={"pc": None, "val": 1}), "null"),
        (edited(initial={"pc": {"#set": 1}, "val": 1}), "#set"),
        (edited(steps=[{**STEP, "state": {"pc": 3}}]),
         "step 1 has other variables than the initial state: val"),
        (LINE, "there was a trace R0-01 before"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path, line, reason):
    path = tmp_path / "traces.jsonl"
    path.write_text(f"{LINE}\n{line}\n")
    with pytest.raises(TraceFileError) as raised:
        read_traces(path)
    assert str(raised.value).startswith(f"{path}:2: ")
    assert reason in str(raised.value)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_bytes(LINE.encode().replace(b"R0-01", b"\xff\xfe"))
    with pytest.raises(TraceFileError, match=r"traces.jsonl:1: not a trace"):
        read_traces(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(TraceFileError, match="cannot be read: No such file"):
        read_traces(tmp_path / "none.jsonl")
    with pytest.raises(TraceFileError, match="cannot be read: Is a directory"):
        read_traces(tmp_path)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    def broken_off():
        yield TRACE
        raise KeyboardInterrupt

    path = tmp_path / "traces.jsonl"
    write_traces(path, [TRACE])
    with pytest.raises(KeyboardInterrupt):
        write_traces(path, broken_off())
    assert list(tmp_path.iterdir()) == [path]
    assert read_traces(path) == [TRACE]


def paths(**actions):
    return {
        action: {name: ValuePath.parse(text) for name, text in named.items()}
        for action, named in actions.items()
    }


def trace_of(graph, edges, params):
    return trace_of_path(graph, edges, name="n", module="M", model="m", params=params)


def test_the_trace_of_a_path():
    graph = numbered([(0, "Go", 5), (5, "Go", 6), (5, "Rest", 5)])
    number = {(e.action, graph.state(e.target)["x"]): e.id for e in graph.edges}
    path = [number["Go", Int(5)], number["Rest", Int(5)], number["Go", Int(6)]]
    assert trace_of(graph, path, paths(Go={"to": "x"})) == Trace(
        "n",
        "M",
        "m",
        {"x": Int(0)},
        (
            Step("Go", {"to": Int(5)}, {"x": Int(5)}),
            Step("Rest", {}, {"x": Int(5)}),
            Step("Go", {"to": Int(6)}, {"x": Int(6)}),
        ),
    )


def test_no_path_no_trace():
    graph = numbered([(0, "A", 1), (1, "B", 2)])
    assert trace_of(graph, [], {}).initial == {"x": Int(0)}
    with pytest.raises(ValueError, match="does not say which initial state"):
        trace_of(graph, [1], {})
    with pytest.raises(ValueError, match="does not start in state 1"):
        trace_of(graph, [0, 0], {})
    with pytest.raises(ValueError, match="does not say which initial state"):
        trace_of(numbered([(0, "A", 1)], initial=[0, 1]), [], {})
    with pytest.raises(MbtError, match=r"x\[1\]: 1 is not a function"):
        trace_of(graph, [0], paths(A={"v": "x[1]"}))


def test_the_parameters_of_the_resume_contract():
    graph = resume_graph()
    where = paths(
        ExecTask={"t": "ckpts[-1].task"},
        Consume={"v": "consumedVal"},
        ForkResume={"v": "forkVals[-1]"},
        CrashRecover={"dec": "recHist[-1].dec"},
    )
    given = set()
    for path in transition_tour(graph):
        for step in trace_of(graph, path, where).steps:
            given |= {(step.action, str(value)) for value in step.params.values()}
    assert given == {
        ("ExecTask", "1"), ("ExecTask", "3"),
        ("Consume", '"v1"'), ("Consume", '"v2"'),
        ("ForkResume", '"v1"'), ("ForkResume", '"v2"'),
        ("CrashRecover", '"skip"'),
    }  # fmt: skip
