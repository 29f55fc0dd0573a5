"""What is known of a module before the checker reads it."""

import pytest

from tracegen.errors import MbtError
from tracegen.module import defines_standard, end_of_comment, read_module

MAIN = r"""
Prose before: CONSTANT Prose
---------------- MODULE Main ----------------
EXTENDS Naturals, Base
\* CONSTANT Commented, and EXTENDS Nothing
(* CONSTANT Block "(* nested *) CONSTANT Inner *)
CONSTANTS N, Op(_, _),
          Last
VARIABLE x  VARIABLES y,
  z
I == INSTANCE Used WITH M <- N
Text == "CONSTANT InString == 1"
F(a) == a  G(H(_), b) == H(b)
Same == x = y
=============================================
Prose after: CONSTANT Footer
"""


@pytest.fixture
def main(tmp_path):
    (tmp_path / "Main.tla").write_text(MAIN)
    (tmp_path / "Base.tla").write_text(
        "---- MODULE Base ----\nCONSTANT B\nVARIABLE v\nD == 1\n====\n"
    )
    (tmp_path / "Used.tla").write_text("---- MODULE Used ----\nCONSTANT M\nE == M\n====\n")
    (tmp_path / "Unused.tla").write_text("---- MODULE Unused ----\n====\n")
    return tmp_path / "Main.tla"


def test_declarations_of_the_module_and_of_what_it_extends(main):
    module = read_module(main)
    assert module.constants == ("N", "Op", "Last", "B")
    assert module.variables == ("x", "y", "z", "v")
    assert module.definitions == {"I", "Text", "F", "G", "Same", "D", "E"}


def test_the_files_that_it_reaches(main):
    assert [*read_module(main).files] == ["Base.tla", "Main.tla", "Used.tla"]


def test_a_module_that_is_none(tmp_path):
    path = tmp_path / "M.tla"
    with pytest.raises(MbtError, match=r"cannot read .*M\.tla: No such file"):
        read_module(path)
    path.write_text("nothing")
    with pytest.raises(MbtError, match=r"M\.tla: not a TLA\+ module, it has no line ---- MODULE M"):
        read_module(path)
    path.write_text("---- MODULE N ----\n====\n")
    with pytest.raises(MbtError, match="the module in it is called N"):
        read_module(path)


def test_definitions_of_standard_modules(main, checker):
    module, jar = read_module(main), checker["tools"].tlc.path
    assert defines_standard(module, "Nat", jar)  # Naturals, which Main extends
    assert not defines_standard(module, "Int", jar)  # Integers, which it does not
    assert not defines_standard(module, "Nope", jar)


def test_comments_nest():
    assert end_of_comment("(* a (* b *) c *) d", 2) == len("(* a (* b *) c *)")
    assert end_of_comment("(* a (* b *) c", 2) is None
