"""Dumps of the state graph, real ones first: see data/tlc/README.md, modules in data/tlc/spec."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TRICKY, names, values

from tracegen.dot import DumpError, read_dump, unescape
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.parser import parse_state
from tracegen.values import TRUE, Int, Set, Str, record, seq


def real(data_dir: Path, name: str) -> StateGraph:
    return read_dump(data_dir / "tlc" / name)


def edges(graph: StateGraph, *variables: str) -> set[tuple[object, str, object]]:
    """Source, action, target; a state as its plain values of the given variables."""

    def plain(number: int) -> object:
        shown = [getattr(graph.state(number)[name], "value", None) for name in variables]
        return shown[0] if len(shown) == 1 else tuple(shown)

    return {(plain(e.source), e.action, plain(e.target)) for e in graph.edges}


GO = {(0, "Go", 1), (1, "Go", 2), (1, "Noop", 1)}
DUP = GO | {
    (2, "Go", 3), (0, "Jump", 3), (0, "Jump", 4), (3, "Back", 0), (4, "Beyond", 100),
    (2, "Next", 50),
}  # fmt: skip
DUP_CONSTRAINED = {edge for edge in DUP if edge[2] < 10}
ONE_VARIABLE = {
    # Module Dup: TLC wrote some of these transitions twice.
    "c_Dup.dot": (7, DUP),
    "c_Dup_noext.dot": (7, DUP),
    "c_Dup_stut.dot": (7, DUP),
    # Under ACTION_CONSTRAINT x' # 3.
    "c_DupA.dot": (6, GO | {(0, "Jump", 4), (4, "Beyond", 100), (2, "Next", 50)}),
    # Under CONSTRAINT x < 10: what lies outside is not in the dump.
    "c_DupC.dot": (5, DUP_CONSTRAINED),
    "c_DupC_con.dot": (5, DUP_CONSTRAINED),
    # Up to the violation of x < 4, which is in it.
    "c_DupI.dot": (4, {(0, "Go", 1), (0, "Jump", 3), (0, "Jump", 4)}),
    # Module Arg: an operator that only calls another goes by the other's name.
    "c_arg.dot": (6, {(0, "Consume", 1), (0, "C2", 2), (0, "Consume", 3), (0, "Consume", 4),
                      (0, "Next", 5)}),
    "c_deadl.dot": (3, {(0, "Next", 1), (1, "Next", 2)}),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_VARIABLE)
def test_real_dumps_of_one_variable(data_dir, name):
    graph = real(data_dir, name)
    states, expected = ONE_VARIABLE[name]
    assert graph.variables == ("x",)
    assert len(graph) == states
    assert edges(graph, "x") == expected
    assert graph.transitions == len(expected)
    assert [graph.state(number) for number in graph.initial] == [{"x": Int(0)}]


def test_a_real_dump_with_local_and_nested_actions(data_dir):
    graph = real(data_dir, "c_lab.dot")
    assert len(graph) == 13
    assert edges(graph, "a", "b") == {
        ((0, "p"), "Two", (1, "q")), ((0, "p"), "Two", (1, "r")), ((0, "p"), "Next", (30, "s")),
        ((1, "q"), "Guarded", (2, "q")), ((1, "r"), "Guarded", (3, "r")),
        ((2, "q"), "Dis", (5, "q")), ((3, "r"), "Dis", (6, "r")), ((5, "q"), "Iff", (7, "q")),
        ((6, "r"), "Iff", (8, "r")), ((7, "q"), "Lett", (17, "q")), ((8, "r"), "Next", (20, "r")),
        ((8, "r"), "Next", (21, "r")),
    }  # fmt: skip


def test_a_real_dump_up_to_an_evaluation_error(data_dir):
    graph = real(data_dir, "c_eval.dot")
    assert edges(graph, "x") == {(0, "Step", 1), (1, "Step", 2)}
    assert [graph.state(n)["f"] for n in range(3)] == [
        seq([Int(1), Int(2)]), seq([Int(1), Int(2)]), seq([Int(2), Int(2)]),
    ]  # fmt: skip


def test_a_real_dump_under_liveness_checking(data_dir):
    """The dashed stuttering steps are no action's and are left out."""
    graph = real(data_dir, "loop.dot")
    assert len(graph) == 7
    assert edges(graph, "x", "y") == {
        ((0, 0), "Inc", (1, 0)), ((1, 0), "Inc", (2, 0)), ((2, 0), "Inc", (3, 0)),
        ((2, 0), "Fin", (2, 1)), ((3, 0), "Wrap", (1, 0)), ((2, 1), "Inc", (3, 1)),
        ((2, 1), "Fin", (2, 1)), ((3, 1), "Wrap", (1, 1)), ((1, 1), "Inc", (2, 1)),
    }  # fmt: skip


def test_a_real_dump_with_a_wrapped_value(data_dir):
    graph = real(data_dir, "j_uni.dot")
    assert len(graph) == graph.transitions == 1
    assert graph.state(0) == {
        "r": record({
            "aaaaaaaaaaaaaaaaaaaa": Str(36 * "b"),
            "cccccccccccccc": Set([Str(22 * "d"), Str(21 * "e")]),
            "f": TRUE,
        }),
        "s": Str("plain ~"),
    }  # fmt: skip


def test_a_real_dump_with_values_of_all_kinds(data_dir):
    """As TLC counted: 266 states, 2 initial; they are those of its dump as text."""
    graph = real(data_dir, "c_fmt_al.dot")
    dumped = (data_dir / "tlc" / "c_fmt_states.dump").read_text(encoding="ascii")
    blocks = [block.partition("\n")[2] for block in dumped.rstrip("\n").split("\n\n")]
    states = [graph.state(number) for number in range(len(graph))]
    assert len(states) == 266
    for state in map(parse_state, blocks):
        assert state in states
    assert [graph.state(n)["n"] for n in graph.initial] in ([Int(-1), Int(0)], [Int(0), Int(-1)])
    assert graph.actions == (
        "Big", "Bump", "Fns", "Next", "Reset", "Same1", "Same2", "SetStr", "Stutter", "Wide",
    )  # fmt: skip
    # Two actions join the same states, and both are kept.
    same = [e for e in graph.edges if e.action in ("Same1", "Same2")]
    assert len(same) == 2 * len({(e.source, e.target) for e in same}) > 0
    text = (data_dir / "tlc" / "c_fmt_al.dot").read_text(encoding="ascii")
    assert graph.transitions == len(set(re.findall(r"^-?\d+ -> .*$", text, re.MULTILINE)))


def test_the_same_graph_with_other_fingerprints_and_colours(data_dir):
    assert real(data_dir, "c_fmt_alc.dot").digest == real(data_dir, "c_fmt_al.dot").digest
    assert real(data_dir, "c_Dup.dot").digest == real(data_dir, "c_Dup_stut.dot").digest


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        # The module did not parse: the header alone.
        ("j_uni2.dot", "no state in it"),
        # Written with -dump dot alone.
        ("c_fmt_dot.dot", "line 7: the transition has no action name; .* dot,actionlabels"),
        ("loop_liveness.dot", "graph of liveness checking; .* without _liveness"),
        ("c_fmt_states.dump", "not a dump by TLC: it starts with State 1:"),
        ("README.md", "not a dump by TLC"),
        ("nowhere.dot", "No such file"),
        ("spec", "Is a directory"),
    ],
)
def test_real_files_that_are_no_such_dump(data_dir, name, complaint):
    with pytest.raises(DumpError, match=complaint) as refused:
        real(data_dir, name)
    assert str(data_dir / "tlc" / name) in str(refused.value)


def test_no_real_dump_is_left_out(data_dir):
    tested = {"c_lab.dot", "c_eval.dot", "loop.dot", "j_uni.dot", "c_fmt_al.dot", "c_fmt_alc.dot"}
    refused = {"j_uni2.dot", "c_fmt_dot.dot", "loop_liveness.dot"}
    assert {f.name for f in (data_dir / "tlc").glob("*.dot")} == {*ONE_VARIABLE, *tested, *refused}


# --- dumps of our own

HEAD = 'strict digraph DiskGraph {\nnodesep=0.35;\nsubgraph cluster_graph {\ncolor="white";\n'
TAIL = "}\n}"
COLOURS = ',color="black",fontcolor="black"];\n'


def escaped(printed: str) -> str:
    """As TLC 2.15 escapes what it prints (tlc2.util.DotStateWriter), in this order."""
    return printed.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def written(tmp_path: Path, *lines: str, tail: str = TAIL) -> Path:
    path = tmp_path / "dump.dot"
    path.write_bytes((HEAD + "".join(lines) + tail).encode())
    return path


def state(number: int, printed: str, initial: bool = False) -> str:
    return f'{number} [label="{escaped(printed)}"' + (",style = filled]\n" if initial else "];\n")


def step(source: int, label: str, target: int) -> str:
    return f'{source} -> {target} [label="{escaped(label)}"{COLOURS}'


@given(st.text(st.one_of(st.sampled_from(TRICKY + "n"), st.characters(codec="utf-8"))))
def test_escaping_is_undone(text):
    assert unescape(escaped(text).encode()) == text


@given(st.lists(names, min_size=1, max_size=3, unique=True), st.data())
@settings(max_examples=60)
def test_any_state_is_read_back(tmp_path_factory, variables, data):
    rows = data.draw(
        st.lists(st.tuples(*(values for _ in variables)), min_size=1, max_size=5, unique_by=repr)
    )
    conjunction = "/\\ " if len(variables) > 1 else ""
    lines = [
        state(
            number - 2,
            "\n".join(f"{conjunction}{n} = {v}" for n, v in zip(variables, row, strict=True)),
            initial=number == 0,
        )
        for number, row in enumerate(rows)
    ]
    graph = read_dump(written(tmp_path_factory.mktemp("dumps"), *lines))
    assert graph.variables == tuple(variables)
    read = [tuple(graph.state(number).values()) for number in range(len(graph))]
    assert sorted(read) == sorted(rows)
    assert tuple(graph.state(graph.initial[0]).values()) == rows[0]


def test_actions_of_newer_builds_go_by_their_name(tmp_path):
    path = written(
        tmp_path,
        state(1, "x = 0", initial=True),
        step(1, 'Consume("v)a", <<1>>)', 2),
        state(2, "x = 1"),
        step(1, 'Consume("vb", <<2>>)', 2),
        step(2, "Inner!Step", 1),
    )
    assert edges(read_dump(path), "x") == {(0, "Consume", 1), (1, "Inner!Step", 0)}


A, B = state(1, "/\\ x = 0\n/\\ y = 0", initial=True), state(-2, "/\\ x = 1\n/\\ y = 0")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([A, "nonsense\n"], "line 6: no dump has such a line: nonsense"),
        ([A, A], "state 1 is there twice"),
        ([A, state(2, "/\\ x = 0\n/\\ y = 0")], "are the same"),
        ([A, state(2, "/\\ x = 0")], "line 6: a state of 1 variables, unlike those before"),
        ([A, state(2, "/\\ y = 0\n/\\ x = 0")], "state 2 has y where the first has x"),
        ([A, state(2, "/\\ x = 1\n/\\ z = 0")], "state 2 has z where the first has y"),
        ([state(1, "/\\ x = 1\n/\\ x = 1", True)], "state 1 has a variable twice: x, x"),
        ([A, state(2, "/\\ x = ?\n/\\ y = 0")], r"line 6: TLA\+ text expected, found '\?'"),
        ([A, state(2, "")], "line 6: a state of 1 variables"),
        ([A, step(1, "Go", 7)], "a transition joins state 7, which is not there"),
        ([A, step(-7, "Go", 1)], "a transition joins state -7, which is not there"),
        ([A, step(1, "Go on", 1)], "line 6: no action is called Go on"),
        ([A, '1 -> 1 [style="dotted"];\n'], "line 6: no transition ends like this: .style="),
        ([A, f"1 -> 1{COLOURS}"], "line 6: no transition ends like this: "),
        ([A, 'one [label="/\\\\ x = 1\\n/\\\\ y = 0"];\n'], "line 6: no dump has such a line: one"),
        (
            [A, f'{2**63} [label="/\\\\ x = 1\\n/\\\\ y = 0"];\n'],
            "line 6: no dump has such a line: 9223",
        ),
        ([A, "}\n", "}\n", B], "line 9: no dump has such a line: }"),
        ([], "no state in it"),
    ],
)
def test_corrupt_dumps(tmp_path, lines, complaint):
    with pytest.raises(DumpError, match=complaint) as refused:
        read_dump(written(tmp_path, *lines))
    assert str(refused.value).startswith(f"{tmp_path / 'dump.dot'}: ")


def test_bytes_that_are_no_text(tmp_path):
    path = written(tmp_path, A)
    path.write_bytes(path.read_bytes().replace(b"x = 0", b'x = \\"\xff\\"'))
    with pytest.raises(DumpError, match="line 5: no dump has such a line"):
        read_dump(path)


def test_a_dump_cut_off_anywhere(data_dir, tmp_path):
    """A checker that is killed leaves any first part of its dump. None passes for a whole one."""
    whole = (data_dir / "tlc" / "c_Dup.dot").read_bytes()
    path = tmp_path / "cut.dot"
    for length in [*range(0, len(whole) - 60, 3), *range(len(whole) - 60, len(whole))]:
        path.write_bytes(whole[:length])
        with pytest.raises(DumpError, match=r"cut off here|no state in it|not a dump by TLC"):
            read_dump(path)


@given(st.data())
@settings(max_examples=200)
def test_a_dump_with_a_wrong_byte(data_dir, tmp_path_factory, data):
    """It is read or refused; nothing else happens."""
    dump = bytearray((data_dir / "tlc" / "c_eval.dot").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        dump[data.draw(st.integers(0, len(dump) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("dumps") / "wrong.dot"
    path.write_bytes(bytes(dump))
    try:
        read_dump(path)
    except MbtError as refused:
        assert str(refused).startswith(str(path))
