"""What a run of TLC printed, from real output: see data/tlc/README.md for what each file is."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tracegen.messages import Level, split_output
from tracegen.output import CheckerOutput, parse_output, parse_simulation
from tracegen.parser import ParseError, parse_value
from tracegen.values import Int, ModelValue, Set, Str, function, record, seq


def read(data_dir: Path, name: str) -> CheckerOutput:
    return parse_output((data_dir / "tlc" / name).read_text(encoding="utf-8"))


@dataclass
class Said:
    """What one reads in a file: codes of errors and of what they quote, and what follows."""

    errors: tuple[int | None, ...] = ()
    quoted: tuple[int, ...] = ()
    violated: tuple[str, ...] = ()
    actions: tuple[tuple[str | None, ...], ...] = ()
    """Of the states of each counterexample."""
    sizes: tuple[int | None, ...] = (None, None, None, None)
    """Generated, distinct, left on the queue, depth."""
    parsing: int = 4
    """Lines by the TLA+ parser."""
    printed: tuple[str, ...] = ()
    finished: bool = True


FMT = Said((2110, 2121), (), ("InvN",), ((None, "Next", "Big"),), (60, 48, 33, 3), parsing=12)
BAD_CFG = Said((1000,), (5006,), parsing=0)
UNKNOWN_NAME = Said((2229,))
NOT_PARSED = Said((3002,), parsing=14)
NO_OPTION = Said((1102,), parsing=0, finished=False)
LASSO = Said((2116, 2264), (), (), ((None, "Inc", "Inc", "Inc"),), (10, 7, 0, None))
DEADLOCK = Said((2114, 2121), (), (), ((None, "Next", "Next"),), (3, 3, 0, 3))
EVAL_NEXT = Said((1000, 2121, 2103), (), (), ((None, "Step", "Step"),), (3, 3, 0, None), 6)
ASSERT = Said(
    (1000, 2103), (2132,), (), (), (3, 3, 0, None), 10,
    (r'<<"printed", 0, "q\"uote">>', r'<<"printed", 1, "q\"uote">>'),
)  # fmt: skip
CONTINUED = Said(
    (2110, 2121) * 3, (), ("I1", "I2", "I3"),
    ((None, "Step", "Step"), (None, "Step", "Alt"), (None, "Step", "Alt", "Step")), (7, 6, 0, 4),
)  # fmt: skip
FMT_OK = Said(sizes=(378, 266, 0, 6), parsing=12)

FILES = {
    "a_ce_values.stdout": FMT,
    "b_tool_values.stdout": FMT,
    "c_arg.stdout": Said(sizes=(6, 6, 0, 2)),
    "c_argI.stdout": Said((2110, 2121), (), ("Inv",), ((None, "C2"),), (3, 3, 1, 2)),
    "c_dot_Dup.stdout": Said(sizes=(13, 7, 0, 4)),
    "c_dot_DupA.stdout": Said(sizes=(12, 6, 0, 4)),
    "c_dot_DupC.stdout": Said(sizes=(13, 5, 0, 3)),
    "c_dot_DupI.stdout": Said((2110, 2121), (), ("Inv",), ((None, "Jump"),), (5, 4, 2, 2)),
    "c_dot_Dup_noext.stdout": Said(sizes=(13, 7, 0, 4)),
    "c_dot_constrained.stdout": Said(sizes=(13, 5, 0, 3)),
    "c_dot_deadl.stdout": DEADLOCK,
    "c_dot_eval.stdout": EVAL_NEXT,
    "c_dot_fmt.stdout": FMT_OK,
    "c_dot_fmt_al.stdout": FMT_OK,
    "c_dot_fmt_plain.stdout": FMT_OK,
    "c_dot_stuttering.stdout": Said(sizes=(13, 7, 0, 4)),
    "c_dump_fmt.stdout": FMT_OK,
    "c_dump_noparent.stdout": Said((None, 1102), parsing=0, finished=False),
    "c_lab.stdout": Said(sizes=(13, 13, 0, 6), parsing=6),
    "d_sim_fmt.stdout": Said(sizes=(29, None, None, None), parsing=12),
    "e_actionprop.stdout": Said(
        (2112, 2121), (), ("StepProp",), ((None, "Inc", "Inc", "Fin"),), (5, 5, 1, 4)
    ),
    "e_live_back.stdout": LASSO,
    "e_live_back_tool.stdout": LASSO,
    "f_alias.stdout": BAD_CFG,
    "f_alias.tool.stdout": BAD_CFG,
    "f_assert.stdout": ASSERT,
    "f_assert.tool.stdout": ASSERT,
    "f_assume.stdout": Said((2104,)),
    "f_assume.tool.stdout": Said((2104,)),
    "f_badcfg.stdout": BAD_CFG,
    "f_badcfg.tool.stdout": BAD_CFG,
    "f_checkdeadlock.stdout": BAD_CFG,
    "f_checkdeadlock.tool.stdout": BAD_CFG,
    "f_deadlock.stdout": DEADLOCK,
    "f_deadlock.tool.stdout": DEADLOCK,
    "f_evalinv.stdout": Said((2111, 2121), (), (), ((None, "Step"),), (2, 2, 0, 2), 6),
    "f_evalinv.tool.stdout": Said((2111, 2121), (), (), ((None, "Step"),), (2, 2, 0, 2), 6),
    "f_evalnext.stdout": EVAL_NEXT,
    "f_evalnext.tool.stdout": EVAL_NEXT,
    "f_evaltype.stdout": Said((2102, 2103), sizes=(1, 1, 1, None), parsing=6),
    "f_evaltype.tool.stdout": Said((2102, 2103), sizes=(1, 1, 1, None), parsing=6),
    "f_initviol.stdout": Said((2107,), (), ("Inv",), ((None,),)),
    "f_initviol.tool.stdout": Said((2107,), (), ("Inv",), ((None,),)),
    "f_nocfg.stdout": Said((1000,), (5001,), parsing=0),
    "f_nocfg.tool.stdout": Said((1000,), (5001,), parsing=0),
    "f_noinit.stdout": Said(sizes=(0, 0, 0, 1)),
    "f_noinit.tool.stdout": Said(sizes=(0, 0, 0, 1)),
    "f_noinvariant.stdout": UNKNOWN_NAME,
    "f_noinvariant.tool.stdout": UNKNOWN_NAME,
    "f_nospec.stdout": UNKNOWN_NAME,
    "f_nospec.tool.stdout": UNKNOWN_NAME,
    "f_nospecfile.stdout": Said((3002,), parsing=5),
    "f_nospecfile.tool.stdout": Said((3002,), parsing=5),
    "f_overflow.stdout": Said((1000, 2103), (2178,), sizes=(1, 1, 0, None), parsing=6),
    "f_parse.stdout": NOT_PARSED,
    "f_parse.tool.stdout": NOT_PARSED,
    "f_postcond.stdout": BAD_CFG,
    "f_postcond.tool.stdout": BAD_CFG,
    "f_semantic.stdout": Said((3002,), parsing=8),
    "f_semantic.tool.stdout": Said((3002,), parsing=8),
    "f_undefconst.stdout": Said((2222,)),
    "f_undefconst.tool.stdout": Said((2222,)),
    "f_underspec.stdout": Said((2109, 2121), (), (), ((None, "Go"),), (2, 1, 0, 1)),
    "f_underspec.tool.stdout": Said((2109, 2121), (), (), ((None, "Go"),), (2, 1, 0, 1)),
    "g_continue.stdout": CONTINUED,
    "g_continue_dead.stdout": Said((2114, 2121), (), (), ((None,),), (3, 3, 1, 2)),
    "g_continue_tool.stdout": CONTINUED,
    "i_auto.stdout": NO_OPTION,
    "i_dumptrace.stdout": NO_OPTION,
    "i_note.stdout": NO_OPTION,
    # With -userFile what the model prints is in that file.
    "i_user.stdout": Said((1000, 2103), (2132,), sizes=(3, 3, 0, None), parsing=10),
    "j_uni.stdout": Said(sizes=(2, 1, 0, 1)),
}
SUCCESS = 2193


@pytest.mark.parametrize("name", FILES)
def test_real_output(data_dir, name):
    output = read(data_dir, name)
    said = FILES[name]
    notes = [m.code for m in output.messages if m.level == Level.NOTE]
    assert tuple(m.code for m in output.errors) == said.errors
    assert tuple(code for code in notes if code in (2132, 2178, 5001, 5006)) == said.quoted
    assert output.violated == said.violated
    assert (
        tuple(tuple(s.action for s in trace.states) for trace in output.counterexamples)
        == said.actions
    )
    assert (output.generated, output.distinct, output.queued, output.depth) == said.sizes
    assert len(output.parsing) == said.parsing
    assert output.printed == said.printed
    assert output.finished is said.finished
    assert all(code is not None for code in notes)
    # Alone it proves nothing: TLC says so after -continue with violations, and of no states.
    claims_success = not said.errors or (name.startswith("g_continue") and "dead" not in name)
    assert (SUCCESS in output.codes) is (claims_success and not name.startswith("d_"))


def test_no_real_file_is_left_out(data_dir):
    assert {file.name for file in (data_dir / "tlc").glob("*.stdout")} == set(FILES)


PAIRS = [(name, name.replace(".stdout", ".tool.stdout")) for name in FILES if name.startswith("f_")]
PAIRS = [pair for pair in PAIRS if pair[1] in FILES]
PAIRS += [
    ("a_ce_values.stdout", "b_tool_values.stdout"),
    ("e_live_back.stdout", "e_live_back_tool.stdout"),
    ("g_continue.stdout", "g_continue_tool.stdout"),
]


@pytest.mark.parametrize(("text", "tool"), PAIRS)
def test_both_forms_say_the_same(data_dir, text, tool):
    plain, marked = read(data_dir, text), read(data_dir, tool)
    assert plain.counterexamples == marked.counterexamples
    assert plain.printed == marked.printed
    assert plain.parsing == marked.parsing
    # 2219, 2220 and 2200 are written with -tool alone; the others hold times and seeds.
    apart = {2219, 2220, 2200, 2187, 2185, 2190, 2192, 2267, 2186}
    assert [m for m in plain.messages if m.code not in apart] == [
        m for m in marked.messages if m.code not in apart
    ]


def test_a_counterexample_with_values_of_all_kinds(data_dir):
    output = read(data_dir, "a_ce_values.stdout")
    (trace,) = output.counterexamples
    assert trace.reason is not None
    assert trace.reason.text == "Invariant InvN is violated."
    a, b, null = ModelValue("A"), ModelValue("B"), ModelValue("Null")
    inner = seq([Set([Int(-2), Int(1)]), record({"u": Set([seq([a, Int(1)])])})])
    last = trace.states[2]
    assert last.number == 3
    assert last.location == "line 20, col 8 to line 20, col 136 of module Fmt"
    assert last.arguments == ()
    assert last.state == {
        "fn": function({a: Int(1), b: Int(2)}),
        "tup": seq([]),
        "mv": null,
        "rec": record({"a": Int(-7), "b_c": Str("plain"), "z9": parse_value("FALSE")}),
        "nest": function({Str("p"): inner, Str("q r"): inner}),
        "n": Int(1000000),
        "s": Str("plain"),
        "set": Set([Set([]), Set([a]), Set([b]), Set([a, b])]),
    }
    assert [s.state["n"] for s in trace.states] == [Int(0), Int(3), Int(1000000)]


def test_a_behaviour_that_goes_round(data_dir):
    (trace,) = read(data_dir, "e_live_back.stdout").counterexamples
    assert [s.state["x"] for s in trace.states] == [Int(0), Int(1), Int(2), Int(3)]
    assert (trace.back_to, trace.back_action, trace.stuttering) == (2, "Wrap", False)


def test_the_state_of_an_initial_violation(data_dir):
    (trace,) = read(data_dir, "f_initviol.stdout").counterexamples
    assert [(s.number, s.state) for s in trace.states] == [(1, {"x": Int(6)})]


def test_the_parser_says_where(data_dir):
    for name in ("f_parse.stdout", "f_parse.tool.stdout"):
        assert (
            'Encountered "Beginning of definition" at line 5, column 14 and token "=" '
            in read(data_dir, name).parsing
        )


def test_texts_of_errors_are_whole(data_dir):
    (error, _) = read(data_dir, "f_evalinv.stdout").errors
    assert error.text.split("\n") == [
        "Evaluating invariant InvEval failed.",
        "Attempted to apply function:",
        "<<1, 2>>",
        "to argument 3, which is not in the domain of the function.",
    ]
    (error,) = read(data_dir, "f_badcfg.tool.stdout").errors
    assert error.text.endswith(
        ": TLC found an error in the configuration file at line 4\n"
        "It was expecting a value, but did not find it."
    )


# TLC 2.15 wrote the following; what does not matter was cut.

STUTTERING = """\
Starting... (2026-11-30 10:52:19)
Computing initial states...
Finished computing initial states: 1 distinct state generated at 2026-11-30 10:52:20.
<< "a rather long string to make it wrap",
   << "another piece of text",
      "another piece of text" >>,
   {1, 2} >>
1
Error: Temporal properties were violated.

Error: The following behavior constitutes a counter-example:

<<2>>
State 1: <Initial predicate>
x = 0

State 2: <Inc line 5, col 8 to line 5, col 129 of module Stut>
x = 1

State 3: Stuttering
Finished checking temporal properties in 00s at 2026-11-30 10:52:20
3 states generated, 3 distinct states found, 0 states left on queue.
Finished in 01s at (2026-11-30 10:52:20)
"""


def test_stuttering_and_what_the_model_prints_in_between():
    output = parse_output(STUTTERING)
    (trace,) = output.counterexamples
    assert trace.stuttering
    assert trace.back_to is None
    assert [s.state["x"] for s in trace.states] == [Int(0), Int(1)]
    piece = Str("another piece of text")
    assert [parse_value(text) for text in output.printed] == [
        seq([Str("a rather long string to make it wrap"), seq([piece, piece]),
             Set([Int(1), Int(2)])]),
        Int(1),
        seq([Int(2)]),
    ]  # fmt: skip


def test_stuttering_with_tool():
    text = (
        "@!@!@STARTMSG 2217:4 @!@!@\n1: <Initial predicate>\nx = 0\n\n@!@!@ENDMSG 2217 @!@!@\n"
        "@!@!@STARTMSG 2218:4 @!@!@\n2: Stuttering\n@!@!@ENDMSG 2218 @!@!@\n"
    )
    (trace,) = parse_output(text).counterexamples
    assert trace.stuttering
    assert trace.reason is None
    assert len(trace.states) == 1


def test_difftrace_prints_changes_alone():
    text = """\
Error: Invariant InvN is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
/\\ n = 0
/\\ s = "plain"

State 2: <Next line 26, col 13 to line 26, col 75 of module Fmt>
/\\ n = 3

State 3: <Big line 20, col 8 to line 20, col 136 of module Fmt>
/\\ n = 1000000
/\\ s = "plain"

60 states generated, 48 distinct states found, 33 states left on queue.
"""
    (trace,) = parse_output(text).counterexamples
    plain = Str("plain")
    assert [s.state for s in trace.states] == [
        {"n": Int(0), "s": plain},
        {"n": Int(3), "s": plain},
        {"n": Int(1000000), "s": plain},
    ]


def test_dfid_tells_no_actions():
    text = """\
Error: Invariant InvN is violated.
Error: The behavior up to this point is:
State 1:
/\\ n = 0

State 2:
/\\ n = 3

72 states generated, 48 distinct states found.
"""
    output = parse_output(text)
    (trace,) = output.counterexamples
    assert [(s.action, s.location) for s in trace.states] == [(None, None)] * 2
    assert (output.generated, output.distinct, output.queued) == (72, 48, None)
    marked = "@!@!@STARTMSG 2216:4 @!@!@\n1:\n/\\ n = 0\n\n@!@!@ENDMSG 2216 @!@!@\n"
    assert parse_output(marked).counterexamples[0].states == trace.states[:1]


def test_newer_builds_name_the_arguments():
    text = """\
State 1: <Initial predicate>
x = 0

State 2: <Consume(va) line 7, col 7 to line 7, col 24 of module Arg>
x = 1

State 3: <Bump(1, <<A, "b)">>) line 8, col 7 to line 8, col 24 of module Arg>
x = 2

"""
    (trace,) = parse_output(text).counterexamples
    _, second, third = trace.states
    assert (second.action, second.arguments) == ("Consume", (ModelValue("va"),))
    assert third.action == "Bump"
    assert third.arguments == (Int(1), seq([ModelValue("A"), Str("b)")]))
    assert third.location == "line 8, col 7 to line 8, col 24 of module Arg"


def test_coverage_is_not_printed_by_the_model():
    text = """\
Starting... (2026-11-30 10:52:02)
The coverage statistics at 2026-11-30 10:52:02
<Init line 5, col 1 to line 5, col 4 of module Loop>: 2:2
  line 5, col 9 to line 5, col 22 of module Loop: 2
  |line 6, col 8 to line 6, col 8 of module Loop: 11
End of statistics.
10 states generated, 7 distinct states found, 0 states left on queue.
"""
    assert parse_output(text).printed == ()


def test_output_that_is_cut_off(data_dir):
    """However it is cut: no error, and never a state that TLC did not finish printing."""
    for name in ("a_ce_values.stdout", "b_tool_values.stdout", "f_alias.tool.stdout"):
        text = (data_dir / "tlc" / name).read_text(encoding="utf-8")
        whole = parse_output(text)
        states = [trace.states for trace in whole.counterexamples]
        for length in range(0, len(text), 7):
            output = parse_output(text[:length])
            for trace in output.counterexamples:
                assert any(trace.states == all_[: len(trace.states)] for all_ in states)
            if output.finished:
                assert output.counterexamples == whole.counterexamples


def test_states_out_of_order_are_refused():
    with pytest.raises(ParseError, match="state 3 follows state 1"):
        parse_output("State 1: <Initial predicate>\nx = 0\n\nState 3:\nx = 0\n\n")
    with pytest.raises(ParseError, match="cannot start with '2:"):
        parse_output("State 2:\nx = 0\n\n")


def test_lines_between_messages_keep_their_place():
    text = "before\n@!@!@STARTMSG 2185:0 @!@!@\nStarting...\n@!@!@ENDMSG 2185 @!@!@\nafter\n"
    before, message, after = split_output(text)
    assert (before, after) == ("before", "after")
    assert message.code == 2185
    assert parse_output(text).parsing == ("before",)
    assert parse_output(text).printed == ("after",)


def test_nothing_says_nothing():
    output = parse_output("")
    assert output.messages == output.counterexamples == output.printed == ()
    assert not output.finished


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("tr_0_0", [0, 1, 1, 2, 50]),
        ("tr_0_1", [0, 3, 0, 3, 0, 1]),
        ("tr_0_2", [0, 3, 0, 4, 100]),
        ("tr_0_3", [0, 1, 2, 3, 0, 4]),
    ],
)
def test_real_simulation_files(data_dir, name, x):
    text = (data_dir / "tlc" / "sim" / name).read_text(encoding="ascii")
    assert parse_simulation(text) == tuple({"x": Int(value)} for value in x)


def test_a_user_file_holds_what_the_model_printed(data_dir):
    text = (data_dir / "tlc" / "i_userfile.txt").read_text(encoding="ascii")
    quote = Str('q"uote')
    assert [parse_value(line) for line in text.strip().split("\n")] == [
        seq([Str("printed"), Int(n), quote]) for n in (0, 1)
    ]
