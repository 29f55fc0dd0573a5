"""Sentences for mechanisms: what a fault switch stands for, told of runs that showed it.

A sentence is a template: `{restart}` and the like are filled in from a run (`told_of`), or with
words that say no more than the switch does. A companion's TOML has its own, under
`explain.sentences`; those of the other modules stand in `sentences.toml` beside them, a table a
module.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from replay.record import RunRecord
from tracegen.errors import MbtError
from tracegen.spec import Spec

FILE = "sentences.toml"
UNTOLD = {
    "restart": "an earlier task",
    "durable": "the last durable task",
    "value": "another value",
    "served": "an earlier one's outcome",
    "again": "a task",
    "times": "more than once",
}
"""What a field says where no run tells it."""


def sentences_for(spec: Spec) -> Mapping[str, str]:
    """Switch -> template, for those of a module that have one.

    Raises MbtError: the file of sentences beside the module is none.
    """
    return {**_beside(spec.path.parent).get(spec.module, {}), **spec.explain.sentences}


def sentence_of(spec: Spec, faults: Sequence[str], records: Sequence[RunRecord]) -> str:
    """What the mechanisms of a set did, told of the first of these runs that shows each.

    A switch without a sentence is told by its name.
    """
    templates = sentences_for(spec)
    told = [told_of(record) for record in records]
    return "; ".join(
        _filled(templates.get(switch, spec.explain.titles.get(switch, switch)), told)
        for switch in faults
    )


def told_of(record: RunRecord) -> dict[str, str]:
    """The fields that a run fills in.

    `restart` and `durable`: the task that the first recovery went on from which entered what was
    durable already, and the highest durable task then. `value` and `served`: what a fork was given
    and the outcome that it had, where that was another's. `again` and `times`: the first task whose
    effect fired more than once, and how often.
    """
    fields: dict[str, str] = {}
    recoveries = [e for micro in record.micro for e in micro.events if e.kind == "recover"]
    if back := next((e for e in recoveries if 0 < e.task <= e.frontier), None):
        fields |= {"restart": f"task {back.task}", "durable": f"task {back.frontier}"}
    for branch in record.branches:
        if branch.outcome not in (None, [branch.value]):
            shown = ", ".join(map(str, branch.outcome)) if branch.outcome else "nothing"
            fields |= {"value": branch.value, "served": shown}
            break
    fired = [row.task for row in record.ledger if row.branch == 0]
    if twice := next((task for task in sorted(set(fired)) if fired.count(task) > 1), None):
        fields |= {"again": f"task {twice}", "times": f"{fired.count(twice)} times"}
    return fields


def fields_of(template: str) -> set[str]:
    """The fields that a template names."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def _filled(template: str, told: Sequence[Mapping[str, str]]) -> str:
    wanted = fields_of(template)
    best = max(told, key=lambda fields: len(wanted & fields.keys()), default={})
    return template.format_map({**UNTOLD, **best})


@cache
def _beside(folder: Path) -> dict[str, dict[str, str]]:
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MbtError(f"{path}: {error}") from None
    for module, table in tables.items():
        if not isinstance(table, dict) or not all(isinstance(t, str) for t in table.values()):
            raise MbtError(f"{path}: {module} has to be a table of sentences, a switch each")
        for switch, text in table.items():
            if unknown := fields_of(text) - UNTOLD.keys():
                raise MbtError(f"{path}: {module}.{switch}: no field {min(unknown)!r} is told")
    return tables
