"""Values as JSON, in the encoding of ITF: Apalache's ADR 015, and real files."""

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from strategies import values

from tracegen.encoding import Flaw, check_json, from_json, parse_json, to_json
from tracegen.parser import parse_value
from tracegen.values import (
    FALSE,
    TRUE,
    Function,
    Int,
    ModelValue,
    Set,
    Str,
    ValueFormatError,
    function,
    record,
    seq,
)

ONE, TWO = Int(1), Int(2)
A, B = Str("a"), Str("b")


@given(values)
def test_json_is_read_back(value):
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


@given(values, values)
def test_one_json_for_equal_values_alone(left, right):
    same = left == right
    assert (to_json(left) == to_json(right)) is same or {left, right} == {TRUE, ONE}
    assert (json.dumps(to_json(left)) == json.dumps(to_json(right))) is same


@pytest.mark.parametrize(
    ("obj", "value"),
    [
        (1, ONE),
        (True, TRUE),
        (0, Int(0)),
        (False, FALSE),
        (2**53, Int(2**53)),
        (-(10**30), Int(-(10**30))),
        ({"#bigint": "-1000000000000000000"}, Int(-(10**18))),
        ([3, "a"], seq([Int(3), A])),
        ({"#tup": []}, seq([])),
        ({}, seq([])),
        ([], seq([])),
        ({"#map": []}, seq([])),
        ({"#map": [[1, "a"], [2, "b"]]}, seq([A, B])),
        ({"#map": [["a", 1]]}, record({"a": ONE})),
        ({"#map": [[{"#set": [1]}, 1]]}, function({Set([ONE]): ONE})),
        # 1 and TRUE are two elements and two arguments.
        ({"#set": [1, True]}, Set([ONE, TRUE])),
        ({"#map": [[1, 1], [True, 2]]}, function({ONE: ONE, TRUE: TWO})),
        ({"tag": "Init", "value": {"#tup": []}}, record({"tag": Str("Init"), "value": seq([])})),
        # The ways in which Apalache and Quint have written the unit.
        ("U_OF_UNIT", Str("U_OF_UNIT")),
        ({"tag": "UNIT"}, record({"tag": Str("UNIT")})),
        ({"a#set": [1]}, record({"a#set": seq([ONE])})),
        ({"": 1, "mbt::x": "#set"}, function({Str(""): ONE, Str("mbt::x"): Str("#set")})),
        ({"#model": "NoVal"}, ModelValue("NoVal")),
    ],
)
def test_json_of_other_tools_is_read(obj, value):
    assert from_json(obj) == value
    assert type(from_json(obj)) is type(value)


@pytest.mark.parametrize(
    ("value", "obj"),
    [
        (TRUE, True),
        (Int(2**53), 2**53),
        (Int(-(2**53) - 1), {"#bigint": "-9007199254740993"}),
        (seq([ONE, TRUE]), {"#tup": [1, True]}),
        (seq([]), {"#tup": []}),
        (record({"b": ONE, "a": A}), {"a": "a", "b": 1}),
        (function({Int(0): A}), {"#map": [[0, "a"]]}),
        (function({Str("#set"): A}), {"#map": [["#set", "a"]]}),
        (Set([A, ONE]), {"#set": [1, "a"]}),
        (ModelValue("NoVal"), {"#model": "NoVal"}),
    ],
)
def test_json_is_written(value, obj):
    assert to_json(value) == obj


@pytest.mark.parametrize(
    ("rubbish", "complaint"),
    [
        (1.5, "x: not the JSON of a TLA+ value: 1.5"),
        (None, "x: not the JSON of a TLA+ value: null"),
        ({"#set": 1}, 'x: not the JSON of a TLA+ value: {"#set": 1}'),
        ({"#tup": {}}, "x: not the JSON of a TLA+ value"),
        ({"#map": [1]}, 'x["#map"][0]: not a pair of argument and value: 1'),
        ({"#map": [[1, 2, 3]]}, 'x["#map"][0]: not a pair'),
        ({"#map": {"a": 1}}, "x: not the JSON of a TLA+ value"),
        ({"#bigint": 1}, "x: not the JSON of a TLA+ value"),
        ({"#bigint": "1e3"}, "x: not the JSON of a TLA+ value"),
        ({"#bigint": ""}, "x: not the JSON of a TLA+ value"),
        ({"#bigint": "9" * 5000}, "x: not the JSON of a TLA+ value"),
        ({"#model": "a b"}, "x[\"#model\"]: 'a b' cannot be the name of a model value"),
        ({"#model": 1}, "x: not the JSON of a TLA+ value"),
        ({"#other": 1}, "x: not the JSON of a TLA+ value"),
        ({"#unserializable": "Nat"}, "x: not the JSON of a TLA+ value"),
        ({"#set": [], "a": 1}, 'x["#set"]: it stands beside other fields'),
        ({"a": 1, "#meta": 2}, 'x["#meta"]: it stands beside other fields'),
        ({"a": [True, 1.5]}, "x.a[1]: not the JSON of a TLA+ value: 1.5"),
        ({"b c": {"#set": [None]}}, 'x["b c"]["#set"][0]: not the JSON of a TLA+ value: null'),
        ({"#set": [1, 2, 1]}, 'x["#set"][2]: the element 1 is there twice'),
        ({"#set": [{"#bigint": "7"}, 7]}, 'x["#set"][1]: the element 7 is there twice'),
        ({"#set": [[1], {"#tup": [1]}]}, 'x["#set"][1]: the element {"#tup": [1]} is there twice'),
        ({"#map": [[1, 2], [1, 3]]}, 'x["#map"][1]: the argument 1 is there twice'),
        ({"#map": [[1, 2], [1, 2]]}, 'x["#map"][1]: the argument 1 is there twice'),
        ("\ud800", 'x: half a character (a lone surrogate) in "\\ud800"'),
        ({"\udfff": 1}, "x: half a character"),
        (Flaw("NaN is no number of JSON"), "x: NaN is no number of JSON"),
    ],
)
def test_rubbish_is_not_json_of_a_value(rubbish, complaint):
    with pytest.raises(ValueFormatError) as refused:
        from_json(rubbish, "x")
    assert complaint in str(refused.value)
    with pytest.raises(ValueFormatError) as refused:
        from_json(rubbish)
    assert complaint.removeprefix("x: ").removeprefix("x").removeprefix(".") in str(refused.value)


def test_rubbish_is_quoted_but_not_at_length():
    with pytest.raises(ValueFormatError) as refused:
        from_json({"#set": "x" * 10_000})
    assert len(str(refused.value)) < 200


def nested(depth):
    deep = []
    for _ in range(depth):
        deep = [deep]
    return deep


def test_deep_json_is_refused_and_not_a_crash():
    for depth in (64, 500, 100_000):
        for read in (from_json, check_json):
            with pytest.raises(ValueFormatError, match="nested deeper than 64") as refused:
                read(nested(depth), "x")
            assert len(str(refused.value)) < 250
    # What is read can be hashed, ordered, printed, passed on and written.
    value = from_json(nested(63))
    assert len({value, pickle.loads(pickle.dumps(value))}) == 1
    assert not value < value
    assert len(str(value)) == 4 * 64
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not JSON: line 1, column 1: Expecting value"),
        (b'{"a": 1,\n"b"', "not JSON: line 2, column 4: Expecting ':' delimiter"),
        (b"[1] 2", "not JSON: line 1, column 5: Extra data"),
        (b"\xef\xbb\xbf{}", "starts with a byte order mark"),
        ("{}".encode("utf-16"), "not UTF-8: byte 0 is invalid start byte"),
        (b'{"a": "\xff"}', "not UTF-8: byte 7 is invalid start byte"),
        (b"[" * 100_000, "JSON nested too deeply to be read"),
        (b'{"a":' * 100_000, "JSON nested too deeply to be read"),
        (b'["\n"]', "not JSON: line 1, column 3: Invalid control character"),
    ],
)
def test_bytes_that_are_no_json(data, complaint):
    with pytest.raises(ValueFormatError) as refused:
        parse_json(data)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (b"NaN", "NaN is no number of JSON"),
        (b"[-Infinity]", "-Infinity is no number of JSON"),
        (b"1e999", "1e999 is too large a number"),
        (b'{"a": 1, "b": 2, "a": 1}', 'the key "a" is there twice in one object'),
        (b"9" * 5000, "an integer of 5000 digits is too long"),
    ],
)
def test_what_json_forbids_is_refused_where_it_is_met(data, flaw):
    inside = parse_json(b'{"x": ' + data + b"}")["x"]
    with pytest.raises(ValueFormatError) as refused:
        from_json(inside, "x")
    assert flaw in str(refused.value)
    with pytest.raises(ValueFormatError) as refused:
        check_json({"x": [inside]}, "#meta")
    assert str(refused.value).startswith("#meta.x[0]")
    assert flaw in str(refused.value)


def test_the_notation_is_kept_beside_the_value():
    as_map, as_record = from_json({"#map": [["a", 1]]}), from_json({"a": 1})
    assert isinstance(as_map, Function) and isinstance(as_record, Function)
    assert as_map == as_record
    assert hash(as_map) == hash(as_record)
    assert (as_map.notation, as_record.notation) == ("#map", "{}")
    # Ours is one whatever it was read from.
    assert to_json(as_map) == to_json(as_record) == {"a": 1}


def test_real_values(data_dir: Path):
    """Every value in every file is read, but for what Apalache itself could not write."""
    refused = []
    for file in sorted((data_dir / "itf").rglob("*.itf*.json")):
        for state in parse_json(file.read_bytes())["states"]:
            for obj in (state[name] for name in state if name != "#meta"):
                try:
                    value = from_json(obj)
                except ValueFormatError:
                    refused.append(obj)
                else:
                    assert from_json(to_json(value)) == value
                    assert parse_value(str(value)) == value
    # Four files by Apalache's tests have four such values each.
    unserializable = ["Int", "Nat", "SUBSET BOOLEAN", "[BOOLEAN \u2192 Int]"]
    assert sorted(obj["#unserializable"] for obj in refused) == sorted(4 * unserializable)


def test_a_real_itf_state(data_dir: Path):
    """The first state of a file by Apalache, as one reads it there."""
    name = "informalsystems+modelator_tests_traces_itf_TupleAndBigint.itf.json"
    trace = json.loads((data_dir / "itf" / "more" / name).read_text(encoding="utf-8"))
    wallets = record({"wallets": seq([Str("Alice"), Str("Bob")])})
    assert from_json(trace["states"][0]["action"]) == record({"tag": Str("Init"), "value": wallets})
    much = Int(1000000000000000000000000000001)
    assert from_json(trace["states"][0]["balances"]) == record({"Alice": much, "Bob": much})
