"""Every CONSTANT and VARIABLE of our modules says its type as Apalache wants it.

Apalache's own type checker cannot be run here: this is the grammar of its types alone, after its
documents, and not what the types have to be.
"""

import re
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import LarkError

from tracegen.module import read_module

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted([*ROOT.glob("specs/*.tla"), *ROOT.glob("examples/*/*.tla")])

TYPES = Lark(
    r"""
    start: type
    ?type: function | variant | atom
    ?function: atom "->" type              // of one argument
             | atom "=>" type              // an operator
             | "(" [type ("," type)*] ")" "=>" type
    ?variant: option ("|" option)*
    option: NAME "(" type ")"
    ?atom: NAME                            // Int, Str, Bool, an uninterpreted or a type variable
         | "$" NAME                        // an alias
         | ("Set" | "Seq") "(" type ")"
         | "<<" type ("," type)* ">>"
         | "{" [NAME ":" type ("," NAME ":" type)* ["," NAME]] "}"
         | "(" type ")"
    NAME: /(?!(Set|Seq)\b)[A-Za-z_][A-Za-z0-9_]*/
    %ignore /\s+/
    """,
    parser="earley",
)
LEXEME = re.compile(
    r"(?P<comment>\\\*[^\n]*|\(\*.*?\*\))|(?P<string>\"[^\"\n]*\")|(?P<name>\w+)|(?P<sign>\S)",
    re.DOTALL,
)
KEYWORDS = {"CONSTANT", "CONSTANTS", "VARIABLE", "VARIABLES"}
TYPE = re.compile(r"@type:(.*?);", re.DOTALL)


def declared(text):
    """Each name that a module declares, with the comments before it."""
    lexemes = [(found.lastgroup, found.group()) for found in LEXEME.finditer(text)]
    found, at = {}, 0
    while at < len(lexemes):
        at += 1
        if lexemes[at - 1] == ("name", lexemes[at - 1][1]) and lexemes[at - 1][1] in KEYWORDS:
            more = True
            while more:
                comments = ""
                while lexemes[at][0] == "comment":
                    comments += lexemes[at][1].removeprefix("\\*") + "\n"
                    at += 1
                found[lexemes[at][1]] = comments
                at += 1
                while at < len(lexemes) and lexemes[at][0] == "comment":
                    at += 1  # what follows a name is not said of the next
                more = at < len(lexemes) and lexemes[at][1] == ","
                at += more
    return found


def faults(text):
    said = []
    for name, comments in declared(text).items():
        types = TYPE.findall(comments)
        if len(types) != 1:
            said.append(f"{name}: {len(types)} annotations, or none that ends in ;")
            continue
        try:
            TYPES.parse(types[0])
        except LarkError:
            said.append(f"{name}: {types[0].strip()} is no type")
    return said


def test_the_modules_are_found():
    assert {"ResumeContract", "BoundedQueue"} < {path.stem for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_declaration_has_its_type(path):
    assert faults(path.read_text()) == []
    own = {*declared(path.read_text())}
    module = read_module(path)
    # Nothing is overlooked: the rest is declared in what the module extends.
    inherited = {
        name
        for file, text in module.files.items()
        if file != path.name
        for name in declared(text.decode())
    }
    assert {*module.constants, *module.variables} <= own | inherited


@pytest.mark.parametrize(
    "text",
    [
        "VARIABLE x",
        "VARIABLES\n \\* @type: Int;\n x,\n y",
        "VARIABLE\n \\* @type: Int\n x",
        "VARIABLE\n \\* @type: Set Int;\n x",
        "VARIABLE\n \\* @type: Int -> ;\n x",
        "VARIABLE\n \\* @type: { a Int };\n x",
        "VARIABLE\n \\* @type: Seq();\n x",
        "CONSTANT\n \\* @type: <<Int, Str>;\n x",
        "CONSTANT\n x \\* @type: Int;\n",
    ],
)
def test_what_is_no_annotation_is_told(text):
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "Int",
        "Seq({ task: Int, valid: Bool })",
        "Int -> Set(Str)",
        "Int -> Int -> Bool",
        "(Int, Str) => Bool",
        "() => Int",
        "<<Int, PROC, $alias>>",
        "None(UNIT) | Some(Int)",
        "{ a: Int, rest }",
        "Str => Seq(a)",
    ],
)
def test_types_of_the_documents(text):
    assert faults(f"VARIABLE\n  \\* @type: {text};\n  x") == []
