"""ITF files: real ones written back, arbitrary ones read back, spoilt ones refused by place.

Real files: see data/itf/README.md. What the format says is Apalache's ADR 015.
"""

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import mappings, names, strings, values

from tracegen.encoding import from_json
from tracegen.errors import MbtError
from tracegen.files import LIMIT
from tracegen.itf import (
    ItfError,
    ItfTrace,
    Unserializable,
    is_itf,
    itf_of_trace,
    read_itf,
    to_itf,
    write_itf,
)
from tracegen.trace import Step, Trace
from tracegen.values import (
    TRUE,
    Function,
    Int,
    ModelValue,
    Set,
    Str,
    ValueFormatError,
    function,
    parts,
    record,
    seq,
)


def same(obj):
    """JSON of ITF with what the format says is the same made equal, and nothing else.

    A number and its #bigint are one integer; the elements of a set and the pairs of a map have no
    order, nor have the fields of an object; no params is the same as an empty list of them.
    """
    if isinstance(obj, list):
        return [same(item) for item in obj]
    if type(obj) is int:
        return {"#bigint": str(obj)}
    if not isinstance(obj, dict) or obj.keys() == {"#bigint"}:
        return obj
    if obj.keys() in ({"#set"}, {"#map"}):
        (kind,) = obj
        items = [same(item) for item in obj[kind]]
        return {kind: sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}
    return {key: same(item) for key, item in obj.items()}


def normalised(content):
    content = {"params": [], **content}
    states = [
        {name: obj if name == "#meta" else same(obj) for name, obj in state.items()}
        for state in content["states"]
    ]
    return {**content, "states": states}


def files(data_dir: Path) -> list[Path]:
    found = sorted((data_dir / "itf").rglob("*.json"))
    assert len(found) == 94
    return found


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "x.itf.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


# --- real files


def test_every_real_file_is_written_back_equal(data_dir, tmp_path):
    copy = tmp_path / "copy.itf.json"
    for path in files(data_dir):
        trace = read_itf(path)
        write_itf(copy, trace)
        before, after = (json.loads(p.read_text(encoding="utf-8")) for p in (path, copy))
        assert normalised(after) == normalised(before), path
        assert read_itf(copy) == trace, path
        assert is_itf(path) is (".itf." in path.name)


def test_the_comparison_can_fail(data_dir):
    """The kinds of JSON that TLA+ takes for one value are told apart by it."""
    for left, right in [
        ([1], {"#tup": [1]}), ({}, {"#tup": []}), ({"#map": []}, []), (1, True),
        ({"#map": [["a", 1]]}, {"a": 1}), ({"#set": [1]}, {"#set": [True]}),
        ({"#bigint": "1"}, "1"),
    ]:  # fmt: skip
        assert same(left) != same(right)
        assert to_itf(from_json(left)) != to_itf(from_json(right))
    assert same({"#set": [1, 2]}) == same({"#set": [{"#bigint": "2"}, 1]})


def real(data_dir, name):
    return read_itf(data_dir / "itf" / name)


def test_a_trace_by_quint(data_dir):
    trace = real(data_dir, "quint/wf3_ok_0.itf.json")
    assert trace.variables == (
        "status", "log", "cancelled", "clock", "mbt::actionTaken", "mbt::nondetPicks",
    )  # fmt: skip
    assert trace.loop is None
    assert trace.params == ()
    assert trace.meta["timestamp"] == 1796027931423
    assert trace.state_meta[1] == {"index": 1}
    todo = record({"tag": Str("Todo"), "value": seq([])})
    plan, act, review = (
        record({"tag": Str(tag), "value": seq([])}) for tag in ("Plan", "Act", "Review")
    )
    assert trace.states[0] | {"mbt::nondetPicks": TRUE} == {
        "status": function({plan: todo, act: todo, review: todo}),
        "log": seq([]),
        "cancelled": from_json(False),
        "clock": Int(0),
        "mbt::actionTaken": Str("init"),
        "mbt::nondetPicks": TRUE,
    }
    assert trace.states[1]["mbt::actionTaken"] == Str("start")


def test_a_trace_by_apalache_with_a_parameter_and_an_absent_variable(data_dir):
    trace = real(
        data_dir,
        "apalache/tla-io_src_test_scala_at_forsyte_apalache_io_lir_"
        "TestItfTraceWriter.scala_HEAD.L33.itf.json",
    )
    assert (trace.variables, trace.params) == (("x",), ("N",))
    assert trace.states == ({"N": Int(4)},)


def test_what_apalache_cannot_write_is_kept_and_no_value(data_dir):
    name = (
        "apalache/tla-io_src_test_scala_at_forsyte_apalache_io_lir_"
        "TestItfTraceWriter.scala_HEAD.L125.itf.json"
    )
    found = {
        str(part)
        for state in real(data_dir, name).states
        for value in state.values()
        for part in parts(value)
        if isinstance(part, Unserializable)
    }
    assert found == {"Int", "Nat", "SUBSET BOOLEAN", "[BOOLEAN \u2192 Int]"}
    assert Unserializable("Int") not in (Str("Int"), ModelValue("Inte"))


def test_a_trace_without_states(data_dir):
    trace = real(data_dir, "quint/language-features_generate.0.itf.json")
    assert trace.states == trace.state_meta == ()
    assert trace.variables == ("S", "T", "mbt::actionTaken", "mbt::nondetPicks")


# --- what we write


@pytest.mark.parametrize(
    ("value", "obj"),
    [
        (TRUE, True),
        (Int(1), {"#bigint": "1"}),
        (Int(-(2**64)), {"#bigint": "-18446744073709551616"}),
        (Str("#set"), "#set"),
        (ModelValue("NoVal"), "NoVal"),
        (seq([]), {"#tup": []}),
        (seq([Str("a")]), {"#tup": ["a"]}),
        (record({"b": TRUE, "a": TRUE}), {"a": True, "b": True}),
        (function({Str("#map"): TRUE}), {"#map": [["#map", True]]}),
        (function({Str("a b"): TRUE}), {"#map": [["a b", True]]}),
        (function({Int(0): TRUE}), {"#map": [[{"#bigint": "0"}, True]]}),
        (Set([Str("a"), TRUE]), {"#set": [True, "a"]}),
        (Unserializable("Nat"), {"#unserializable": "Nat"}),
    ],
)
def test_values_as_other_tools_read_them(value, obj):
    assert to_itf(value) == obj


@pytest.mark.parametrize(
    "obj",
    [
        [], {}, {"#tup": []}, {"#map": []}, "U_OF_UNIT", {"tag": "UNIT"}, [[]], {"#tup": [[]]},
        {"#map": [[{"#bigint": "1"}, "a"]]}, {"#map": [["a", {}]]}, {"a b": {"#set": []}},
        {"tag": "Some", "value": {"#map": []}}, {"tag": None, "value": 1}, {"": {"#tup": [True]}},
    ],
)  # fmt: skip
def test_a_value_keeps_its_notation(obj):
    if obj == {"tag": None, "value": 1}:
        with pytest.raises(ValueFormatError, match="tag: not the JSON of a TLA"):
            from_json(obj)
    else:
        assert to_itf(from_json(obj)) == obj


# --- any trace is read back


def without_model_values(value):
    return not any(isinstance(part, ModelValue) for part in parts(value))


json_meta = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False,
        allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
metas = st.dictionaries(strings.filter(lambda key: key not in ("format", "index")), json_meta)
variables = names | st.sampled_from(["mbt::actionTaken", "x.y", "a b", "é", "params", "vars"])
noted = values | st.just(Unserializable("Int"))


@st.composite
def itf_traces(draw, elements):
    states = draw(st.lists(mappings(variables, elements), max_size=4).map(tuple))
    given_metas = draw(st.lists(st.none() | metas, min_size=len(states), max_size=len(states)))
    some = any(meta is not None for meta in given_metas)
    return ItfTrace(
        variables=tuple(draw(st.lists(variables, unique=True, max_size=4))),
        states=states,
        loop=draw(st.none() | st.integers(0, len(states) - 1)) if states else None,
        params=tuple(draw(st.lists(variables, unique=True, max_size=2))),
        meta=draw(metas),
        state_meta=tuple(given_metas) if some else (),
    )


@given(itf_traces(noted.filter(without_model_values)))
def test_any_trace_is_read_back(tmp_path_factory, trace):
    path = tmp_path_factory.getbasetemp() / "any.itf.json"
    write_itf(path, trace)
    assert read_itf(path) == trace
    # And what was read is written as it was.
    content = path.read_bytes()
    write_itf(path, read_itf(path))
    assert normalised(json.loads(path.read_bytes())) == normalised(json.loads(content))


def as_strings(value):
    """As Apalache writes it."""
    if isinstance(value, ModelValue):
        return Str(value.name)
    if isinstance(value, Set):
        return Set(map(as_strings, value))
    if isinstance(value, Function):
        return function((as_strings(key), as_strings(item)) for key, item in value.items())
    return value


@given(itf_traces(values))
def test_a_model_value_becomes_a_string_or_is_refused(tmp_path_factory, trace):
    path = tmp_path_factory.getbasetemp() / "models.itf.json"
    found = {part for state in trace.states for value in state.values() for part in parts(value)}
    if any(Str(value.name) in found for value in found if isinstance(value, ModelValue)):
        with pytest.raises(ItfError, match="which are one in ITF"):
            write_itf(path, trace)
    else:
        write_itf(path, trace)
        assert read_itf(path).states == tuple(
            {name: as_strings(value) for name, value in state.items()} for state in trace.states
        )


def test_a_model_value_is_never_one_with_a_string(tmp_path):
    path = tmp_path / "x.itf.json"
    for both in (
        [{"x": Set([ModelValue("A"), Str("A")])}],
        [{"x": ModelValue("A")}, {"x": seq([Str("A")])}],
        [{"x": function({Str("A"): ModelValue("A")})}],
    ):
        with pytest.raises(
            ItfError, match=r"x\.itf\.json: the trace has the model value A and the s"
        ):
            write_itf(path, ItfTrace(("x",), tuple(both)))
        assert not path.exists()


def test_a_trace_of_ours_for_other_tools(tmp_path):
    """The actions are where Quint has them, and readers of Quint's traces look for them."""
    trace = Trace(
        "R0-01", "M", "R0", {"x": Int(0)},
        (
            Step("Go", {"v": Str("a")}, {"x": Int(1)}),
            Step("Rest", {}, {"x": Int(1)}),
        ),
    )  # fmt: skip
    path = tmp_path / "x.itf.json"
    write_itf(path, itf_of_trace(trace))
    assert json.loads(path.read_text()) == {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": "M.tla",
            "description": "Created by mbt: trace R0-01 of model R0",
        },
        "vars": ["x", "mbt::actionTaken", "mbt::nondetPicks"],
        "states": [
            {
                "#meta": {"index": 0},
                "x": {"#bigint": "0"},
                "mbt::actionTaken": "init",
                "mbt::nondetPicks": {"v": {"tag": "None", "value": {"#tup": []}}},
            },
            {
                "#meta": {"index": 1},
                "x": {"#bigint": "1"},
                "mbt::actionTaken": "Go",
                "mbt::nondetPicks": {"v": {"tag": "Some", "value": "a"}},
            },
            {
                "#meta": {"index": 2},
                "x": {"#bigint": "1"},
                "mbt::actionTaken": "Rest",
                "mbt::nondetPicks": {"v": {"tag": "None", "value": {"#tup": []}}},
            },
        ],
    }


def test_picks_of_a_trace_without_parameters_are_a_record():
    trace = Trace("t", "M", "m", {"x": Int(0)}, (Step("Go", {}, {"x": Int(1)}),))
    assert to_itf(itf_of_trace(trace).states[1]["mbt::nondetPicks"]) == {}


# --- spoilt files


GOOD = {
    "#meta": {"format": "ITF"},
    "vars": ["x", "y"],
    "states": [
        {"#meta": {"index": 0}, "x": 1, "y": {"#set": [1, True]}},
        {"#meta": {"index": 1}, "x": {"#bigint": "2"}, "y": {"#map": [[1, {"f": ["a"]}]]}},
    ],
    "loop": 1,
}
TEXT = json.dumps(GOOD).encode()


def changed(**fields):
    return {key: item for key, item in {**GOOD, **fields}.items() if item is not ...}


def state(**fields):
    second = {**GOOD["states"][1], **fields}
    return changed(states=[GOOD["states"][0], {k: v for k, v in second.items() if v is not ...}])


def test_the_file_that_is_spoilt_below_is_good(tmp_path):
    trace = read_itf(written(tmp_path, GOOD))
    assert trace.states[1] == {"x": Int(2), "y": function({Int(1): record({"f": seq([Str("a")])})})}
    assert trace.loop == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        # the file
        (b"", "not JSON: line 1, column 1"),
        (TEXT[:-20], "not JSON: line 1, column "),
        (TEXT + b"{}", "Extra data"),
        (b"\xef\xbb\xbf" + TEXT, "starts with a byte order mark"),
        (json.dumps(GOOD).encode("utf-16"), "not UTF-8: byte 0"),
        (TEXT.replace(b'"a"', b'"\xff"'), "not UTF-8: byte "),
        (b"State 1: <Initial predicate>\nx = 0\n", "not JSON: line 1, column 1"),
        ([GOOD], "not a trace: an object with vars and states expected, found [{"),
        (None, "not a trace: an object with vars and states expected, found null"),
        (changed(vars=...), "not a trace: there is no field 'vars'"),
        (changed(states=...), "not a trace: there is no field 'states'"),
        (changed(state=[]), 'unknown field "state" (known: #meta, params, vars, states, loop)'),
        (TEXT.replace(b'"vars"', b'"loop"'), 'the key "loop" is there twice in one object'),
        # what is said of the trace
        (changed(**{"#meta": []}), "#meta: an object expected, found []"),
        (changed(**{"#meta": {"format": "CSV"}}), '#meta.format: "ITF" expected, found "CSV"'),
        (changed(**{"#meta": {"a": {"b": "\ud800"}}}), "#meta.a.b: half a character"),
        (TEXT.replace(b'"ITF"', b"NaN"), "#meta.format: NaN is no number of JSON"),
        (TEXT.replace(b'"ITF"', b"1e999"), "#meta.format: 1e999 is too large a number"),
        (changed(vars="x"), 'vars: a list of names expected, found "x"'),
        (changed(vars=["x", 1]), "vars[1]: a name expected, found 1"),
        (changed(vars=["x", "#y"]), "vars[1]: '#y' is no name of a variable"),
        (changed(vars=["x", "x"]), "vars: 'x' is there twice"),
        (changed(params=None), "params: a list of names expected, found null"),
        (changed(loop=None), "loop: a state's place expected, found null"),
        (changed(loop=True), "loop: a state's place expected, found true"),
        (changed(loop=2), "loop: there is no state 2 among the 2 (counted from 0)"),
        (changed(loop=-1), "loop: there is no state -1"),
        (changed(states=[], loop=0), "loop: there is no state 0 among the 0"),
        # the states
        (changed(states={}), "states: a list expected, found {}"),
        (changed(states=[1]), "state 0: states[0]: an object expected, found 1"),
        (TEXT.replace(b'"x": 1', b'"y": 1'), 'state 0: states[0]: the key "y" is there twice'),
        (state(**{"#meta": 7}), "state 1: states[1].#meta: an object expected, found 7"),
        (state(**{"#meta": {"index": 0}}),
         "state 1: states[1].#meta.index is 0: states are missing, or not in their order"),
        (state(**{"#meta": {"index": True}}), "state 1: states[1].#meta.index is true"),
        (changed(states=GOOD["states"][1:], loop=...), "state 0: states[0].#meta.index is 1"),
        (state(**{"#x": 1}), "state 1: states[1]: '#x' is no name of a variable"),
        (state(**{"": 1}), "state 1: states[1]: '' is no name of a variable"),
        (state(**{"\ud800": 1}), "state 1: the name of a variable: half a character"),
        # the values
        (state(x=None), "state 1, variable x: states[1].x: not the JSON of a TLA+ value: null"),
        (state(x=1.0), "state 1, variable x: states[1].x: not the JSON of a TLA+ value: 1.0"),
        (TEXT.replace(b'"x": 1', b'"x": NaN'),
         "state 0, variable x: states[0].x: NaN is no number of JSON"),
        (TEXT.replace(b'"x": 1', b'"x": ' + b"1" * 5000),
         "state 0, variable x: states[0].x: an integer of 5000 digits is too long"),
        (state(x={"#bigint": 2}), "state 1, variable x: states[1].x: not the JSON"),
        (state(x={"#bigint": "2 "}), "state 1, variable x: states[1].x: not the JSON"),
        (state(x={"#bigint": "\u0662"}), "state 1, variable x: states[1].x: not the JSON"),
        (state(x={"#model": "A"}), "state 1, variable x: states[1].x: not the JSON"),
        (state(x={"#unserializable": 1}), "state 1, variable x: states[1].x: not the JSON"),
        (state(x={"#seq": []}), "state 1, variable x: states[1].x: not the JSON"),
        (state(y={"#set": [1], "z": 1}),
         'state 1, variable y: states[1].y["#set"]: it stands beside other fields'),
        (state(y={"#set": [1, {"#bigint": "1"}]}),
         'state 1, variable y: states[1].y["#set"][1]: the element 1 is there twice'),
        (state(y={"#map": [["a", 1], ["b", [None]]]}),
         'state 1, variable y: states[1].y["#map"][1][1][0]: not the JSON'),
        (state(y={"#map": [["a", 1], ["a", 1]]}),
         'state 1, variable y: states[1].y["#map"][1]: the argument "a" is there twice'),
        (state(**{"mbt::x": {"a b": [{"c": None}]}}),
         'state 1, variable mbt::x: states[1]["mbt::x"]["a b"][0].c: not the JSON'),
        (TEXT.replace(b'{"f": ["a"]}', b'{"f": 1, "f": 1}'),
         'states[1].y["#map"][0][1]: the key "f" is there twice in one object'),
    ],
)  # fmt: skip
def test_a_spoilt_file_is_refused_by_place(tmp_path, content, complaint):
    path = written(tmp_path, content)
    with pytest.raises(ItfError) as refused:
        read_itf(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert complaint in str(refused.value)
    assert len(str(refused.value)) < len(str(path)) + 400
    str(refused.value).encode()  # can be printed


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"#set":[', b'{"#tup":[', b'{"#map":[['])
@pytest.mark.parametrize("depth", [70, 300, 900, 50_000])
def test_deep_nesting_is_refused_and_no_crash(tmp_path, opening, depth):
    closing = opening.translate(bytes.maketrans(b"[{", b"]}"), b'"#setupmap:')[::-1]
    tail = b",1]" + closing[1:] if b"map" in opening else closing
    deep = opening * depth + b"1" + (tail if b"map" in opening else closing) * depth
    path = written(tmp_path, TEXT.replace(b'"x": 1', b'"x": ' + deep))
    with pytest.raises(ItfError, match="deep"):
        read_itf(path)
    path = written(tmp_path, TEXT.replace(b'"ITF"', b'"ITF", "more": ' + deep))
    with pytest.raises(ItfError, match="deep"):
        read_itf(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(MbtError, match=r"none\.itf\.json: cannot be read: No such file"):
        read_itf(tmp_path / "none.itf.json")
    with pytest.raises(MbtError, match="cannot be read: Is a directory"):
        read_itf(tmp_path)
    huge = tmp_path / "huge.itf.json"
    with huge.open("wb") as file:
        file.truncate(LIMIT + 1)
    with pytest.raises(MbtError, match=r"huge\.itf\.json: more than 64 MB"):
        read_itf(huge)
    with pytest.raises(MbtError, match="more than 64 MB"):
        read_itf(Path("/dev/zero"))


# --- spoilt at random: read as what it says, or refused; nothing else happens


def places(obj, path=()):
    """Every place in JSON."""
    yield path
    pairs = (
        obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, list) else ()
    )
    for key, item in pairs:
        yield from places(item, (*path, key))


def spoilt(content, data):
    """The same with one thing deleted, put in, doubled, renamed or exchanged for another."""
    path = data.draw(st.sampled_from([place for place in places(content) if place]))
    content = json.loads(json.dumps(content))
    *above, last = path
    where = content
    for key in above:
        where = where[key]
    new = data.draw(
        st.sampled_from([None, True, 0, 1, 1.5, "", "x", [], {}, {"#set": [1, 1]}, {"#map": []},
                         {"#map": [[1, 1], [1, 2]]}, {"#bigint": "x"}, {"#tup": None},
                         {"#bigint": "-0"}, {"tag": "x"}, [[]], {"#x": 1}, {"#meta": {}}])
        | st.integers()
    )  # fmt: skip
    action = data.draw(st.sampled_from(["delete", "exchange", "double", "rename"]))
    if action == "delete":
        del where[last]
    elif action == "exchange":
        where[last] = new
    elif isinstance(where, list):
        where.insert(last, where[last])
    else:
        key = data.draw(st.sampled_from(["#set", "#map", "#tup", "#bigint", "", "x", "#meta"]))
        where[key] = where[last] if action == "double" else where.pop(last)
    return content


def outcome(path):
    """None where the file is refused, which names it and says something."""
    try:
        return read_itf(path)
    except MbtError as refused:
        assert str(refused).startswith(f"{path}: ")
        assert len(str(refused)) > len(str(path)) + 10
        str(refused).encode()
        return None


@pytest.fixture(scope="module")
def small_files(data_dir):
    """Of the real ones those that can be spoilt often: no more than 20 kB, cut to three states."""
    contents = [json.loads(path.read_text(encoding="utf-8"))
                for path in files(data_dir) if path.stat().st_size < 20_000]  # fmt: skip
    return [{**content, "states": content["states"][:3]} for content in contents]


@given(st.data())
@settings(max_examples=600)
def test_spoilt_json_is_never_read_as_something_else(tmp_path_factory, small_files, data):
    content = data.draw(st.sampled_from(small_files))
    for _ in range(data.draw(st.integers(1, 3))):
        if content:
            content = spoilt(content, data)
    path = written(tmp_path_factory.getbasetemp(), content)
    if (trace := outcome(path)) is not None:
        write_itf(path, trace)
        again = json.loads(path.read_text())
        assert signs(normalised(again)) == signs(normalised(content))


def signs(content):
    """JSON by which 1 and true differ; -0 is 0."""
    return re.sub(r'"#bigint": "-0+"', '"#bigint": "0"', json.dumps(content, sort_keys=True))


@given(st.data())
@settings(max_examples=600)
def test_spoilt_bytes_are_read_or_refused(tmp_path_factory, small_files, data):
    text = bytearray(json.dumps(data.draw(st.sampled_from(small_files))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        with_what = data.draw(st.binary(max_size=2) | st.sampled_from([b"NaN", b'"', b"1", b"#"]))
        text[at : at + data.draw(st.integers(0, 2))] = with_what
    path = written(tmp_path_factory.getbasetemp(), bytes(text))
    if (trace := outcome(path)) is not None:
        write_itf(path, trace)
        assert read_itf(path) == trace


def test_a_file_cut_off_anywhere_is_refused(data_dir, tmp_path):
    for path in random.Random(1).sample(files(data_dir), 12):
        whole = path.read_bytes().rstrip()
        ends = {len(whole) * n // 40 for n in range(40)} | {len(whole) - n for n in range(1, 8)}
        for end in sorted(ends):
            with pytest.raises(ItfError, match="not JSON"):
                read_itf(written(tmp_path, whole[:end]))


def test_a_pattern_that_ends_a_digit_is_no_integer():
    # What Python takes for digits, and JSON does not.
    for digits in ("1_000", "\u0661", "+1", " 1", "1\n", "0x1", ""):
        with pytest.raises(ValueFormatError):
            from_json({"#bigint": digits})
