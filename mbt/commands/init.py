"""mbt init: write the skeleton of something of one's own."""

from __future__ import annotations

import json
import keyword
import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from mbt.commands.common import spec_path
from replay.adapter_check import taken_by
from replay.racers import method_of
from tracegen.errors import MbtError
from tracegen.spec import Spec, load_spec

RESUME_PLANE = "ResumeContract"


@click.group()
def init() -> None:
    """Write the skeleton of something of one's own."""


@init.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder for the two files; by default the current one.",
)
@click.option(
    "--module",
    metavar="SPEC",
    default=RESUME_PLANE,
    show_default=True,
    help="The model that is to drive it.",
)
def adapter(name: str, into: Path, module: str) -> None:
    """Write NAME.py, an adapter that can be run, and test_NAME.py, its test; overwrite nothing.

    For the resume plane there is a toy system in it, which conforms. For another module it has a
    method for each action, and observes nothing yet.
    """
    _refuse(name)
    path = spec_path(module)
    spec = load_spec(path)
    resume = spec.module == RESUME_PLANE
    if not resume and not any(action.kind == "stimulus" for action in spec.actions.values()):
        raise MbtError(
            f"{path} does not say which of its actions are stimuli; "
            f"write {path.stem}.toml beside it (docs/adapters.md)"
        )
    words = {
        "class_name": "".join(part[:1].upper() + part[1:] for part in name.split("_")),
        "file": f"{name}.py",
        "module": spec.module,
        "spec": path.name if Path(module).exists() else module,
        "spec_literal": _literal(path, into) if Path(module).exists() else json.dumps(module),
        "methods": _methods(spec),
        "variables": _variables(spec),
    }
    kind = "resume_adapter" if resume else "adapter"
    texts = {
        into / f"{name}.py": _filled(f"{kind}.py.txt", words),
        into / f"test_{name}.py": _filled(f"test_{kind}.py.txt", words),
    }
    for file in texts:
        if file.exists():
            raise MbtError(f"{file} is there already; choose another name, or another --into")
    into.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
        click.echo(f"wrote {file}")
    named = f"{into / name}.py:{words['class_name']}"
    click.echo(f"next: pytest {into / f'test_{name}.py'}")
    click.echo(f"      mbt adapter check {named}" + ("" if resume else f" {module}"))


def _refuse(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise MbtError(
            f"{name!r} cannot be the name of an adapter's file: take small letters, digits and _, "
            "beginning with a letter, for instance my_engine"
        )
    if name in sys.stdlib_module_names or name.startswith("test_"):
        raise MbtError(
            f"{name!r} would hide a module of Python's library, or be taken for a test; "
            f"for instance {name.removeprefix('test_')}_adapter"
        )


def _literal(module: Path, into: Path) -> str:
    """An expression for where the module is, seen from the test."""
    steps = os.path.relpath(module.resolve(), into.resolve())
    return f"str(Path(__file__).parent / {json.dumps(steps)})"


def _filled(template: str, words: dict[str, str]) -> str:
    text = files("mbt").joinpath("templates", template).read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _methods(spec: Spec) -> str:
    """A method for each way in which something is delivered."""
    begin = '''    def start(self) -> str | None:
        """Begin the run{where}"""
        # self.system(lambda: ...)
        return {result}
'''
    where = ", up to where it first asks or ends." if spec.point else "."
    written = [begin.format(where=where, result='"complete"' if spec.point else None)]
    for name, action in spec.actions.items():
        method = method_of(name, action)
        if action.kind != "stimulus" or method is None or f"def {method}(" in "".join(written):
            continue
        parameters = taken_by(action)
        for word in (method, *parameters):
            if keyword.iskeyword(word) or word == "self":
                raise MbtError(
                    f"action {name} of {spec.module}: {word!r} means something else in Python, "
                    "and cannot be the name of a method or of what it takes; rename it in the "
                    "module and in what is beside it"
                )
        signature = ", ".join(["self", *(f"{parameter}: Any" for parameter in parameters)])
        result = '"complete"' if spec.point else "None"
        written.append(
            f"    def {method}({signature}) -> str | None:\n"
            f'        """Take the action {name}."""\n'
            "        # self.system(lambda: ...), always through self.system\n"
            f"        return {result}\n"
        )
    return "\n".join(written)


def _variables(spec: Spec) -> str:
    ledger = spec.variables.ledger
    return "\n".join(f"        {name}" for name in spec.variables.observed if name != ledger)
