"""What the README and docs/ show is what the commands print, and the code they show is real."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import pytest
from pages import assert_prints, blocks, run

import mbt
from adapters.base import Adapter, Run
from mbt.cli import _summaries
from mbt.cli import mbt as commands
from tracegen import spec_tables

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "examples" / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]
HEAVY = ["networkx", "lark", "scipy", "numpy", "pydantic", "rich", "click"]


SHOWN = [
    pytest.param(
        text,
        marks=[pytest.mark.framework(name) for name in ("crewai", "langgraph") if name in text],
        id=f"{page.name}: {text.splitlines()[0]}",
    )
    for page in PAGES
    if page.name != "tutorial.md"  # its commands go on from each other: tests/test_tutorial.py
    for _, text in blocks(page, "console")
    if text.startswith("$ mbt ")
]
COMMANDS = [
    line.strip().removeprefix("$ ")
    for page in PAGES
    for line in page.read_text().splitlines()
    if re.match(r"(\$ |  +)mbt [a-z]+", line)
]


@pytest.fixture
def folder(tmp_path):
    """A folder without a checkout but for the examples and a receipt, to run commands in."""
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    kept = "receipts/ResumeContract/reference/fault=Replay"
    shutil.copytree(REPOSITORY / kept, tmp_path / kept)
    return tmp_path


@cache
def help_of(name):
    """The help of a command, and of those below it."""
    command = commands.get_command(None, name)
    below = command.list_commands(None) if isinstance(command, click.Group) else []
    return "".join(
        run(REPOSITORY, f"mbt {words} --help").stdout
        for words in (name, *(f"{name} {one}" for one in below))
    )


def test_there_is_something_shown():
    assert len(SHOWN) >= 8 and len(COMMANDS) >= 12


@pytest.mark.parametrize("block", SHOWN)
def test_a_command_prints_what_is_shown(folder, block):
    assert_prints(folder, block)


@pytest.mark.parametrize("command", dict.fromkeys(COMMANDS))
def test_a_command_that_is_named_exists_with_its_options(command):
    words = shlex.split(command)
    assert words[1] in _summaries()
    known = help_of(words[1])
    for option in (word for word in words[2:] if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}\b", known), f"{command}: no option {option}"


def test_every_option_that_the_text_names_is_one_of_a_command():
    known = "".join(map(help_of, _summaries()))
    for page in PAGES:
        text = re.sub(r"```console\n\$ (?!mbt).*?```", "", page.read_text(), flags=re.DOTALL)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text):
            assert option in known, f"{page.name}: {option}"


def test_every_command_is_in_the_readme():
    readme = PAGES[0].read_text()
    assert [name for name in _summaries() if f"**`mbt {name}`**" not in readme] == []


def test_make_targets_that_are_named_exist():
    targets = re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    for page in PAGES:
        assert {*re.findall(r"`make ([a-z]+)`", page.read_text())} <= {*targets}


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
        for target in re.findall(
            r"`((?:examples|specs|docs|adapters)/[\w./-]+)`", page.read_text()
        ):
            assert (REPOSITORY / target).exists(), f"{page.name}: {target}"


def test_code_that_is_shown_is_the_file_that_is_named():
    page = REPOSITORY / "docs" / "adapters.md"
    shown = [pair for kind in ("tla", "cfg", "toml", "python") for pair in blocks(page, kind)]
    assert len(shown) == 5
    for before, code in shown:
        (path,) = re.findall(r"`(examples/[\w./-]+\.\w+)`", before)
        assert (REPOSITORY / path).read_text() == code, path


def test_the_readmes_table_is_that_of_the_committed_receipt():
    """`make replay` takes a minute; what it prints comes from this receipt alone."""
    file = REPOSITORY / "receipts" / "ResumeContract" / "crewai" / "default" / "receipt.json"
    receipt = json.loads(file.read_text())
    readme = re.sub(r" +", " ", PAGES[0].read_text())
    for part in receipt["parts"]:
        row = (
            f"{part['name']} {part['model']} {part['traces']} {part['steps']} {part['applicable']}"
            f" {part['compared']} {max(part['unobserved'].values(), default=0)}"
            f" {len(part['divergences'])} of {part['traces']}"
            f" {part['covered']} of {part['transitions']}"
        )
        assert row in readme
        for name, rule in receipt["properties"].items():
            found = rule["parts"][part["name"]]
            violating = {where.partition("/")[0] for where in found["violated_at"]}
            cell = {
                "violated": f"✗ in {len(violating)} of {part['traces']}",
                "holds": f"✓ of {found['provoked_by']}",
            }.get(found["verdict"], found["verdict"])
            (line,) = re.findall(rf"^{name} {rule['title']}.*", readme, re.MULTILINE)
            assert cell in line


def test_every_key_of_the_toml_is_documented():
    page = (REPOSITORY / "docs" / "adapters.md").read_text()
    tables = [
        kind
        for kind in vars(spec_tables).values()
        if isinstance(kind, type) and issubclass(kind, spec_tables.Table)
    ]
    keys = {field.alias or key for kind in tables for key, field in kind.model_fields.items()}
    assert len(tables) > 8
    documented = {*re.findall(r"[`\[{ ]([a-z_]+)(?=`|\]|\.NAME| =)", page)}
    assert keys - documented == set()


def test_every_member_of_adapter_and_run_is_documented():
    page = (REPOSITORY / "docs" / "adapters.md").read_text()
    members = {*vars(Adapter), *vars(Run), *Run.__annotations__} - {"__init__"}
    public = {name for name in members if not name.startswith("_")}
    assert {name for name in public if f"`{name}`" not in page and f"`{name}(" not in page} == set()


def test_every_rule_that_is_tested_is_written_down():
    page = (REPOSITORY / "docs" / "driving.md").read_text()
    numbers = [int(number) for number in re.findall(r"^\*\*(\d+)\. ", page, re.MULTILINE)]
    assert numbers == [*range(1, 25)]
    tested = (REPOSITORY / "tests" / "test_rules.py").read_text()
    without = {*numbers} - {int(number) for number in re.findall(r"def test_(\d+)_", tested)}
    assert without == {13, 17}, "docs/driving.md says which rules have no test"


def test_the_public_names_are_there():
    assert {name: getattr(mbt, name) for name in mbt.__all__}
    with pytest.raises(AttributeError, match="has no attribute 'Adaptor'"):
        _ = mbt.Adaptor
    assert [*mbt.__all__] == sorted(mbt.__all__)


def test_what_an_adapter_imports_from_mbt_is_light():
    """It is imported in the process that every run is forked from."""
    code = (
        "import sys; from mbt import Adapter, Option, Refused, ResumeAdapter, Run\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (("[actions.Overfill]\n", "[actions.Get2]\n"), "definition"),
        (('[actions.Overfill]\nkind = "stimulus"\ndelivery = "call"\n', ""), "action Overfill"),
        (('observed = ["taken", "size"]\n', ""), "no variable is observed"),
    ],
)
def test_a_toml_that_cannot_be_driven_is_refused_at_once(folder, spoil, message):
    here = folder / "spoilt"
    here.mkdir()
    for file in (REPOSITORY / "examples" / "bounded_queue").iterdir():
        if file.is_file():
            (here / file.name).write_text(file.read_text())
    toml = here / "BoundedQueue.toml"
    assert spoil[0] in toml.read_text()
    toml.write_text(toml.read_text().replace(*spoil))
    command = "mbt replay spoilt/BoundedQueue.tla --adapter spoilt/python_queue.py:PythonQueue"
    done = run(folder, command)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and "BoundedQueue.toml" in done.stderr


def test_a_plain_module_may_leave_variables_out_and_have_no_property(folder):
    here = folder / "plain"
    here.mkdir()
    for file in (REPOSITORY / "examples" / "bounded_queue").iterdir():
        if file.is_file():
            (here / file.name).write_text(file.read_text())
    toml = here / "BoundedQueue.toml"
    text = re.sub(r"\[properties\..*?\n\n", "", toml.read_text(), flags=re.DOTALL)
    toml.write_text(
        text.replace('driven = ["given"]\n', "").replace('appends = { given = "x" }', "")
    )
    command = "mbt replay plain/BoundedQueue.tla --adapter plain/python_queue.py:PythonQueue"
    done = run(folder, command)
    assert done.returncode == 0, done.stderr
    assert "0 of 16" in done.stdout


def test_a_worker_that_dies_at_its_start_says_why(folder):
    adapter = folder / "falls.py"
    adapter.write_text(
        "from mbt import Adapter\n"
        "class Falls(Adapter):\n"
        "    Put = Get = Overfill = lambda self, **params: None\n"
        "    def __init__(self, run):\n"
        "        raise KeyError('where it fell')\n"
    )
    spec = "examples/bounded_queue/BoundedQueue.tla"
    done = run(folder, f"mbt replay {spec} --adapter falls.py:Falls")
    assert done.returncode == 3
    assert "died unasked" in done.stderr and "where it fell" in done.stderr


def test_what_a_run_made_of_a_value_is_not_taken_from_a_later_one(lab):
    """A system that shows its outcome late: forkOuts is unobserved, and FD is no false ✗."""
    file = REPOSITORY / "examples" / "json_workflow" / "json_workflow.py"
    found = lab.replay(f"{file}:JsonWorkflow", parts=["one crash"], save="when-idle")
    (result,) = found.parts
    assert not result.violating("FD")
    assert result.unobserved(lab.spec).keys() == {"forkOuts"}
    assert len(result.violating("EO")) == 28  # as docs/adapters.md says
