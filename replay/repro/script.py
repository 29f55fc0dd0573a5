"""The plain script of a recorded run: the framework, its store, and nothing of mbt's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from adapters.base import Adapter, gated_tasks
from adapters.offline import QUIET
from adapters.registry import load_adapter, locate
from replay.reopened import Reopened
from replay.repro.claim import Claim
from replay.repro.scenario import Doing, End, Kill, Look, Tell, scenario_of
from replay.repro.text import WIDTH, fill, literal, plain, strings
from replay.stored import StoredRun
from tracegen.errors import MbtError

TEMPLATES = Path(__file__).with_name("templates")
#: The variables of the model that a script shows, as effects, calls or what is stored.
COMPARED = {"effects", "pc", "forkOuts", "ckpts"}
_VERSION = re.compile(r"[0-9A-Za-z.!+_-]+")


def script(receipt: Reopened, run: StoredRun, claim: Claim, file: str) -> str:
    """The text of a script that makes a run of a receipt again.

    Args:
        file: what the script is to be called.

    Raises:
        MbtError: there is no template for the adapter, or it cannot express an option or what
            happened in the run.
    """
    name, options = receipt.adapter, receipt.options
    other = "; without --script, a test on mbt's own API is written, which can"
    known = sorted(path.name.removesuffix(".py.j2") for path in TEMPLATES.glob("*.py.j2"))
    known.remove("script")
    if name not in known:
        raise MbtError(f"there is no script for adapter {name}, only for {', '.join(known)}{other}")
    kind = load_adapter(locate(name))
    _require_sound(receipt, kind)
    if not claim.violated and claim.differs and not COMPARED & {*claim.differs}:
        differs = ", ".join(claim.differs)
        raise MbtError(f"all that fails in {claim.run} is seen by {differs} alone{other}")
    workflow = receipt.spec.workflow_of(receipt.part(run.part)["model"])
    gates = gated_tasks(workflow)
    if len(gates) != 1 or "tasks" not in workflow:
        raise MbtError(f"scripts are for tasks in a row, one of which asks{other}")
    try:
        found = scenario_of(
            run.record, gates[0], workflow["tasks"], options, look_at=claim.divergence
        )
    except MbtError as error:
        raise MbtError(f"{error}{other}") from None

    def refuse(what: str) -> str:
        raise MbtError(f"the script for {name} cannot express {what}{other}")

    text = (
        _templates()
        .get_template(f"{name}.py.j2")
        .render(
            claim=claim,
            options=options,
            tasks=workflow["tasks"],
            gate=gates[0],
            in_memory=kind.crash_form(options) == "exception",
            effects=literal([*found.effects], room=WIDTH - 10),
            lines=[line for doing in found.doings for line in _lines(doing)],
            quiet=literal(QUIET, room=0),
            refuse=refuse,
            file=plain(file),
            **_versions(receipt),
        )
    )
    told = {doing.do for doing in found.doings if isinstance(doing, Tell)} - {"go_on"}
    if unknown := sorted(call for call in told if f"    def {call}(" not in text):
        raise MbtError(f"the script for {name} cannot make the call {unknown[0]!r}{other}")
    return _tidy(text)


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is no HTML: code is given literals, and texts go through a filter
    )
    environment.filters |= {"fill": fill, "plain": plain, "strings": strings}
    return environment


def _versions(receipt: Reopened) -> dict[str, Callable[[Sequence[str]], str]]:
    """What a template says of the distributions that it requires, in three forms."""
    versions = {n: v for n, v in receipt.content["versions"].items() if n != "tla-mbt"}

    def pins(requires: Sequence[str]) -> str:
        return " ".join(f"{n}=={versions[n]}" if n in versions else n for n in requires)

    def listed(requires: Sequence[str]) -> str:
        return ", ".join(f"{n} {versions[n]}" for n in requires if n in versions)

    def reported(requires: Sequence[str]) -> str:
        return literal({n: versions[n] for n in requires if n in versions}, 4, WIDTH - 30)

    return {"pins": pins, "versions": listed, "reported": reported}


def requirements(text: str) -> list[str]:
    """What a script says is to be installed for it, as NAME==VERSION each."""
    (line,) = re.findall(r"^    pip install (.*)$", text, re.M)
    return str(line).split()


def _lines(doing: Doing) -> list[str]:
    if isinstance(doing, Kill):
        return [f"run.kill({literal(doing.process)})"]
    if isinstance(doing, End):
        return [f"run.end({literal(doing.process)})"]
    if isinstance(doing, Look):
        names = ", ".join(literal(name) for name in doing.seen)
        look = f"run.look({literal(doing.process)}, {names})"
        return _step("What the store says.", look, literal(dict(doing.seen), 8, WIDTH - 9))
    given = [*map(literal, (doing.process, doing.do, *doing.given))]
    named: Mapping[str, Any] = {
        "branch": doing.branch,
        "beside": doing.beside,
        "stop_at": doing.stop_at,
        "spoil": doing.spoil,
    }
    given += [f"{name}={literal(value)}" for name, value in named.items() if value]
    return _step(doing.says, f"run.tell({', '.join(given)})", literal(doing.reported))


def _step(says: str, call: str, reported: str) -> list[str]:
    return ["check(", f"    {literal(says)},", f"    {call},", f"    {reported},", ")"]


def _tidy(text: str) -> str:
    """Without the blank lines that a template leaves at the ends of blocks."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept: list[str] = []
    for line in lines:
        if line or kept[-2:] != ["", ""]:
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"


def _require_sound(receipt: Reopened, kind: type[Adapter]) -> None:
    """Refuse what no replay writes: some of it becomes code, and a receipt is anybody's file."""
    path = receipt.folder / "receipt.json"
    for name, rule in kind.options.items():
        value = receipt.options.get(name)
        if rule.choices and value not in rule.choices:
            raise MbtError(f"{path}: option {name} is {value!r}, not of {', '.join(rule.choices)}")
    for name, version in receipt.content["versions"].items():
        if not _VERSION.fullmatch(str(version)):
            raise MbtError(f"{path}: {version!r} is no version of {name}")
