"""Values and states, from the text that TLC prints."""

from pathlib import Path

import pytest
from hypothesis import given
from strategies import states

from tracegen.errors import MbtError
from tracegen.parser import ParseError, parse_arguments, parse_conjunct, parse_state, parse_value
from tracegen.values import FALSE, TRUE, Int, ModelValue, Set, Str, function, record, seq

A, B = ModelValue("A"), ModelValue("B")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TRUE", TRUE),
        ("FALSE", FALSE),
        ("0", Int(0)),
        ("-7", Int(-7)),
        ("2147483647", Int(2147483647)),
        ("Null", ModelValue("Null")),
        ("TRUEST", ModelValue("TRUEST")),
        ("3x_", ModelValue("3x_")),
        ('""', Str("")),
        (r'"quote \" here"', Str('quote " here')),
        (r'"back\\slash"', Str("back\\slash")),
        (r'"a\\nb"', Str("a\\nb")),
        (r'"new\nline, tab\there, f\f, r\r"', Str("new\nline, tab\there, f\f, r\r")),
        (r'"/\\ n = 5"', Str("/\\ n = 5")),
        ('"comma, {brace} <<x>>"', Str("comma, {brace} <<x>>")),
        # As other tools print, and frameworks say.
        ('"\x1c \u2028 é"', Str("\x1c \u2028 é")),
        ("{}", Set([])),
        ("{-2, 1}", Set([Int(1), Int(-2)])),
        ("{{}, {A}, {B}, {A, B}}", Set([Set([]), Set([A]), Set([B]), Set([A, B])])),
        ("1..3", Set([Int(1), Int(2), Int(3)])),
        ("-3..-1", Set([Int(-3), Int(-2), Int(-1)])),
        ("3..1", Set([])),
        ("<<>>", seq([])),
        ("<< >>", function({})),
        ("<<<<1, A>>>>", seq([seq([Int(1), A])])),
        ("(A :> 1 @@ B :> 2)", function({A: Int(1), B: Int(2)})),
        ("(-1 :> 2)", function({Int(-1): Int(2)})),
        ("[a |-> 1, b_c |-> \"x y\", z9 |-> TRUE]",
         record({"a": Int(1), "b_c": Str("x y"), "z9": TRUE})),
        # TLC 2.15 prints records with such fields, though no module can.
        ("[IF |-> 1, 2a |-> 1]", record({"IF": Int(1), "2a": Int(1)})),
        ('( "p" :> <<{-2, 1}, [u |-> {<<A, 1>>}]>> @@\n  "q r" :> <<>> )',
         function({Str("p"): seq([Set([Int(-2), Int(1)]), record({"u": Set([seq([A, Int(1)])])})]),
                   Str("q r"): seq([])})),
        ('[ aaa |-> "bbb",\n  ccc |-> {"ddd", "eee"},\n  f |-> TRUE ]',
         record({"aaa": Str("bbb"), "ccc": Set([Str("ddd"), Str("eee")]), "f": TRUE})),
    ],
)  # fmt: skip
def test_values(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "found the end"),
        ("{1,", "found the end in '{1,'"),
        ("1 2", "found '2' in '1 2'"),
        ("{1}}", "found '}'"),
        ('"open', "found '\"open'"),
        ("[a |-> 1", "found the end"),
        ("<<1>", "found '>'"),
        ("é", "found 'é'"),
        ("x = 1", "found '= 1'"),
        ('"a" "b"', "found '\"b\"'"),
        ("a\x1cb", "found '\\\\x1cb'"),
        # What TLC leaves as it is when it cannot, or will not, list the elements.
        ("Nat", "'Nat' cannot be the name"),
        ("STRING", "'STRING' cannot be the name"),
        ("SUBSET 1..12", "found '1..12'"),
        ("1..1000001", "1..1000001 is too long to hold"),
        (r'"\q"', r"nothing as \\q"),
        ("(1 :> 2 @@ 1 :> 3)", "cannot map 1 to two values"),
        ("9" * 5000, "an integer of 5000 digits is too long to read"),
    ],
)
def test_what_is_no_value(text, complaint):
    with pytest.raises(ParseError, match=complaint):
        parse_value(text)


def test_errors_are_the_users_and_short():
    with pytest.raises(MbtError) as refused:
        parse_value("{" + "1, " * 10_000)
    assert len(str(refused.value)) < 200


def test_states():
    assert parse_state("/\\ x = 1\n/\\ y = {}\n") == {"x": Int(1), "y": Set([])}
    assert parse_state("x = 0") == {"x": Int(0)}
    assert parse_state("\n/\\ x = 0\n\n") == {"x": Int(0)}
    # In the order in which TLC prints the variables; that is not the one of their declaration.
    assert list(parse_state("/\\ fn = 1\n/\\ tup = 2\n/\\ mv = 3")) == ["fn", "tup", "mv"]
    # What TLC 2.15 prints for a variable that an action leaves open.
    assert parse_state("/\\ x = 1\n/\\ y = null")["y"] == ModelValue("null")
    assert parse_conjunct("/\\ x = 1") == parse_conjunct("x = 1") == ("x", Int(1))


@pytest.mark.parametrize("text", ["", "x", "x = ", "/\\ x = 1\ny = 2", "/\\ x = 1\n/\\ x = 1"])
def test_what_is_no_state(text):
    with pytest.raises(ParseError):
        parse_state(text)


def test_arguments():
    assert parse_arguments('1, "a, b", <<A>>') == (Int(1), Str("a, b"), seq([A]))
    with pytest.raises(ParseError):
        parse_arguments("1,")


@given(states)
def test_a_printed_state_is_read_back(state):
    printed = "\n".join(f"/\\ {name} = {value}" for name, value in state.items())
    assert list(parse_state(printed).items()) == list(state.items())


def test_a_text_is_parsed_once():
    text = "<<[task |-> 1, valid |-> TRUE]>>"
    assert parse_value(text) is parse_value(text)


def test_all_states_of_a_real_text_dump(data_dir: Path):
    """The 266 states that TLC counted; the strings are those of its module Fmt."""
    dumped = (data_dir / "tlc" / "c_fmt_states.dump").read_text(encoding="ascii")
    blocks = dumped.rstrip("\n").split("\n\n")
    read = [parse_state(block.partition("\n")[2]) for block in blocks]
    assert len(read) == 266
    assert len({tuple(sorted(state.items())) for state in read}) == 266
    assert {state["s"] for state in read} == {
        Str(text)
        for text in ["plain", 'quote " here', "back\\slash", "new\nline", "tab\there", "/\\ n = 5",
                     "a\\nb", "semi; -> [label=", "comma, {brace} <<x>>", ""]
    }  # fmt: skip
    assert {state["n"] for state in read} == {Int(n) for n in (-1, 0, 1, 2, 3, 4, 1000000)}
    assert {state["fn"] for state in read} == {
        function({A: Int(1), B: Int(2)}),
        function({Int(i): Int(i * i) for i in range(3)}),
    }
    wide = seq(
        record({"idx": Int(i), "val": Str("a fairly long string value")}) for i in range(1, 31)
    )
    after_wide = [state for state in read if state["n"] == Int(4)]
    assert after_wide
    for state in after_wide:
        assert state["tup"] == wide
        assert state["set"] == Set([Int(1), Int(2), Int(3)])
