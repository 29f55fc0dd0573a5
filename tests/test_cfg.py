"""Reading, writing and overriding TLC configurations."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.cfg import Config, ConfigError, parse_config, read_config, write_config

EVERYTHING = r"""
\* A line of comment, (* with marks of another kind in it
INIT Init NEXT Next          (* a comment (* nested *)
                                on two lines *)
CONSTANTS
    N = 3
    Names = {"a", "b \" c", {x, TRUE}, {}}
    Op(1, "k") = 4
    X <- Y
    Z <- [Other]W
CONSTANT Nobody = Nobody
INVARIANTS TypeOK Safe
INVARIANT Last
PROPERTY Live
PROPERTIES Fair
CONSTRAINT Small  CONSTRAINTS Few
ACTION_CONSTRAINT Short
SYMMETRY Sym VIEW Seen ALIAS Al POSTCONDITION Post
CHECK_DEADLOCK FALSE
"""


def test_everything_that_tlc_reads():
    config = parse_config(EVERYTHING, "M.cfg")
    assert config == Config(
        init="Init",
        next="Next",
        constants={
            "N": "3",
            "Names": r'{"a", "b \" c", {x, TRUE}, {}}',
            'Op(1, "k")': "4",
            "Nobody": "Nobody",
        },
        substitutions={"X": "Y", "Z": "[Other]W"},
        invariants=("TypeOK", "Safe", "Last"),
        properties=("Live", "Fair"),
        constraints=("Small", "Few"),
        action_constraints=("Short",),
        symmetry="Sym",
        view="Seen",
        alias="Al",
        postcondition="Post",
        check_deadlock=False,
    )
    assert config.partial == ("CONSTRAINT", "ACTION_CONSTRAINT", "VIEW")
    assert config.place("Nobody") == "M.cfg:11"
    assert config.place("Elsewhere") == "M.cfg"


def test_constants_keep_their_order():
    # TLC orders model values as it meets them, and its search with them.
    assert list(parse_config("CONSTANTS b = b a = a").constants) == ["b", "a"]
    assert parse_config("CONSTANTS b = b a = a").text == "CONSTANTS\n    b = b\n    a = a\n"


def test_check_deadlock_is_not_given_to_tlc():
    assert parse_config("SPECIFICATION S CHECK_DEADLOCK TRUE").text == "SPECIFICATION S\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("SPECIFICATION Spec\nFoo", 2, "expected a keyword"),
        ("SPECIFICATION\n", 1, "a name after SPECIFICATION, found the end"),
        ("SPECIFICATION A\nSPECIFICATION B", 2, "SPECIFICATION is given twice"),
        ("CHECK_DEADLOCK\nperhaps", 2, "TRUE or FALSE"),
        ("INVARIANTS A, B", 1, "names separated by spaces, found ','"),
        ("CONSTANTS\nN = 1\nM = 2\nN = 3", 4, "N was given before, in line 2"),
        ("CONSTANTS\n\nN = -1", 3, "'-' has no place in a .cfg"),
        ("CONSTANT N = <<1>>", 1, "a value"),
        ("CONSTANT N = 1..3", 1, "'.' has no place"),
        ("CONSTANT N = [a |-> 1]", 1, "'|' has no place"),
        ("CONSTANT N", 1, "= or <- after N, found the end"),
        ("CONSTANT N = INIT Init", 1, "a value"),
        ('CONSTANT N = "open', 1, "has no place"),
        ("CONSTANT N = {1, 2", 1, "} or a comma, found the end"),
        ("CONSTANT N <- [M Op", 1, "expected ], found 'Op'"),
        ("INIT Init\n(* never\nclosed", 2, "the comment that starts here does not end"),
        ("SPECIFICATION S\nINIT I NEXT N", None, "SPECIFICATION or INIT and NEXT, not both"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_file_and_line(tmp_path, text, line, said):
    path = tmp_path / "M.cfg"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_config(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{path}:{line}:" if line else f"{path}:")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read .*M\.cfg: No such file"):
        read_config(tmp_path / "M.cfg")
    (tmp_path / "M.cfg").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not a text file"):
        read_config(tmp_path / "M.cfg")


def test_overriding():
    config = parse_config("SPECIFICATION S CONSTANTS N = 3 On = FALSE X <- Y INVARIANT I")
    changed = config.with_constants({"N": 4}, On=True, X="{a}").with_invariants("J", "K")
    assert changed.constants == {"N": "4", "On": "TRUE", "X": "{a}"}
    assert changed.substitutions == {}
    assert changed.invariants == ("J", "K")
    assert config.constants == {"N": "3", "On": "FALSE"}
    assert config.with_properties("P").properties == ("P",)


@pytest.mark.parametrize("value", ["-1", "", "1 2", "{1", "<<>>", "a = b"])
def test_overriding_with_what_no_cfg_can_hold(value):
    with pytest.raises(ConfigError, match="constant N"):
        Config().with_constants(N=value)


def test_the_recorded_configurations(data_dir):
    read = {}
    for path in sorted((data_dir / "tlc" / "spec").glob("*.cfg")):
        try:
            read[path.stem] = read_config(path)
        except ConfigError as error:
            assert path.stem == "BadCfg", error  # TLC: an error at line 4, expecting a value
            assert f"{path}:4" in str(error)
    assert read["Fmt"].constants == {"A": "A", "B": "B", "Null": "Null", "S": "{A, B}"}
    assert read["CDead2"].check_deadlock is False
    assert read["Multi"].invariants == ("I1", "I2", "I3")


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,6}x", fullmatch=True)  # no keyword ends so
strings = st.text("ab 1{}<->,", max_size=5).map(lambda text: f'"{text}"')
values = st.recursive(
    names | strings | st.integers(0, 99).map(str) | st.sampled_from(["TRUE", "FALSE"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: "{" + ", ".join(items) + "}"),
    max_leaves=4,
)


@given(
    st.builds(
        Config,
        specification=st.none() | names,
        constants=st.dictionaries(names.map(lambda name: f"c{name}"), values, max_size=3),
        substitutions=st.dictionaries(names.map(lambda name: f"s{name}"), names, max_size=2),
        invariants=st.lists(names, max_size=3).map(tuple),
        properties=st.lists(names, max_size=2).map(tuple),
        constraints=st.lists(names, max_size=2).map(tuple),
        view=st.none() | names,
        check_deadlock=st.none() | st.booleans(),
    )
)
def test_what_is_written_is_read_again(tmp_path_factory, config):
    path: Path = tmp_path_factory.getbasetemp() / "written.cfg"
    write_config(path, config)
    assert read_config(path) == config
