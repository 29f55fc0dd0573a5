"""The conformance table: the paper's Table V and Table VII, made of receipts alone.

A row is a framework in one of its forms, an adapter with its options; its cells come from the
receipts of that form, one a module. What a cell is called follows from `adapters/claims.toml`,
how it stands to the paper from `paper.toml`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.conformance.cells import (
    COLUMNS,
    SEQUENTIAL,
    TITLES,
    Evidence,
    measure,
    read_evidence,
    stuck,
)
from replay.conformance.claims import HOLDS, UNSTATED, VIOLATED, WEAKER, Claim, label, read_claims
from replay.conformance.paper import (
    DIFFERS,
    NEW,
    REPRODUCED,
    Comparison,
    Paper,
    comparison_of,
    read_paper,
)
from replay.rows import Row, read_rows
from tracegen.errors import MbtError

FORMAT = 1
DECIDED = {HOLDS, VIOLATED, WEAKER, UNSTATED}
RECOVERY = {"PC", "EO", "RD"}
"""What holds of itself where no recovery goes on."""
Entry = dict[str, Any]


@dataclass(frozen=True)
class Conformance:
    """The table as data, JSON all through, and what is to be said of how it came about.

    Attributes:
        content: what CONFORMANCE.json holds.
        problems: what is wrong with the comparison with the paper, each with file and line.
        missing: rows without a receipt, a message each.
    """

    content: Entry
    problems: Sequence[str] = ()
    missing: Sequence[str] = field(default=())


def conformance(root: Path, adapters: Sequence[str] = (), *, strict: bool = False) -> Conformance:
    """Make the table from the receipts below a folder.

    Args:
        adapters: only these; all where none is named.
        strict: ✗ for U.

    Raises:
        MbtError: a TOML file is wrong.
    """
    rows = [row for row in read_rows(root) if row.framework is not None]
    rows = [row for row in rows if not adapters or row.adapter in adapters]
    paper, text = read_paper(root)
    claims = read_claims()
    entries: list[Entry] = []
    problems: list[str] = []
    missing: list[str] = []
    for _, group in grouped(rows):
        evidence = []
        for row in group:
            try:
                evidence.append(read_evidence(row))
            except MbtError as error:
                missing.append(str(error))
        compared = comparison_of(group[0], paper, text)
        entry = _entry(group[0], evidence, compared, claims, strict)
        entries.append(entry)
        if compared and not strict:
            labels = {name: cell["label"] for name, cell in entry["cells"].items()}
            problems += compared.problems(labels)
    used = {
        name for entry in entries for cell in entry["cells"].values() for name in cell["claims"]
    }
    content: Entry = {
        "format": FORMAT,
        "strict": strict,
        "columns": [*COLUMNS],
        "titles": dict(TITLES),
        "rows": entries,
        "pairs": _pairs(entries, paper),
        "not_replayed": _not_replayed(entries, paper) if not adapters else [],
        "claims": {
            claim.id: {
                "framework": claim.framework,
                "says": claim.says,
                "text": claim.text,
                "source": f"{claim.source} ({claim.version})" if claim.version else claim.source,
                "retrieved": claim.retrieved.isoformat(),
            }
            for claim in claims
            if claim.id in used
        },
    }
    return Conformance(content, problems, missing)


def grouped(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """The rows of one adapter in one form, whatever tables they stand in, the first one first."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        # Of a module's own suite: a single model, or many repetitions, say less.
        if row.model is None and row.repeat == 1:
            form = (row.adapter, *(f"{name}={value}" for name, value in row.options.items()))
            groups.setdefault(form, []).append(row)
    yield from groups.items()


def _entry(
    row: Row,
    evidence: Sequence[Evidence],
    compared: Comparison | None,
    claims: Sequence[Claim],
    strict: bool,
) -> Entry:
    cells = measure(evidence)
    idle = stuck(cells)
    first = next((e.receipt for e in evidence if e.row.module == SEQUENTIAL), None)
    versions = {} if first is None else {**first["versions"], **first["servers"]}
    told: dict[str, Entry] = {}
    for name, cell in cells.items():
        called = label(cell, name, row.adapter, row.options, claims, strict=strict)
        told[name] = {
            "verdict": cell.verdict,
            "label": called.text,
            "note": cell.note,
            "idle": idle and name in RECOVERY and called.text == HOLDS,
            "claims": [*called.claims],
            "receipt": f"{cell.receipt}/receipt.json" if cell.receipt else None,
            **_beside(compared, name, called.text),
        }
    explanation = (first or {}).get("explanation")
    return {
        "framework": row.framework,
        "mechanism": row.mechanism,
        "adapter": row.adapter,
        "options": dict(row.differing),
        "versions": {name: text for name, text in versions.items() if name != "tla-mbt"},
        "cells": told,
        "explained_by": _mechanisms(explanation),
        "paper": compared.row.title if compared else None,
        "paper_note": compared.row.note if compared else "",
    }


def _beside(compared: Comparison | None, column: str, label: str) -> Entry:
    if label == "not run":
        return {"provenance": None}
    if compared is None:
        return {"provenance": NEW}
    provenance = compared.provenance(column, label)
    if provenance != DIFFERS:
        return {"provenance": provenance}
    because = compared.because.get(column, "")
    return {"provenance": DIFFERS, "paper": compared.row.cells[column], "because": because}


def _mechanisms(explanation: Mapping[str, Any] | None) -> str:
    return "" if explanation is None else " or ".join(explanation["names"]) or "none"


def _pairs(entries: Sequence[Entry], paper: Paper) -> list[Entry]:
    """What separates each two frameworks, in which columns their labels are not the same.

    `always`: in no form of the one is the label one of the other's; `by_form`: in some. Beside
    that the paper's row: its cells, and whether each separates the forms that stand beside its
    rows. Where it names none, none may that it decides for both.
    """
    frameworks = dict.fromkeys(entry["framework"] for entry in entries)
    told = {frozenset(pair.frameworks): pair for pair in paper.pairs}
    beside = [entry for entry in entries if entry["paper"]]
    found: list[Entry] = []
    for one, other in itertools.combinations(frameworks, 2):
        always, by_form = _separating(entries, one, other)
        entry: Entry = {"frameworks": [one, other], "always": always, "by_form": by_form}
        if pair := told.get(frozenset((one, other))):
            apart, partly = _separating(beside, one, other)
            joint = _probed(beside, one) & _probed(beside, other)
            entry["paper"] = {
                "kind": pair.kind,
                "cells": {column: column in (*apart, *partly) for column in pair.cells},
                "reproduced": (
                    bool({*apart, *partly} & {*pair.cells}) if pair.cells else not joint & {*apart}
                ),
            }
        found.append(entry)
    return found


def _probed(entries: Sequence[Entry], framework: str) -> set[str]:
    """The columns that the paper decides for a framework."""
    return {
        column
        for entry in entries
        if entry["framework"] == framework
        for column, cell in entry["cells"].items()
        if cell["provenance"] in {REPRODUCED, DIFFERS}
    }


def _separating(entries: Sequence[Entry], one: str, other: str) -> tuple[list[str], list[str]]:
    always, by_form = [], []
    for column in COLUMNS:
        mine, theirs = (_labels(entries, name, column) for name in (one, other))
        if mine and theirs and not mine & theirs:
            always.append(column)
        elif mine and theirs and mine != theirs:
            by_form.append(column)
    return always, by_form


def _labels(entries: Sequence[Entry], framework: str, column: str) -> set[str]:
    return {
        entry["cells"][column]["label"] for entry in entries if entry["framework"] == framework
    } & DECIDED


def _not_replayed(entries: Sequence[Entry], paper: Paper) -> list[str]:
    """Rows of the paper that no row with a receipt stands beside."""
    beside = {
        entry["paper"]
        for entry in entries
        if any(cell["label"] != "not run" for cell in entry["cells"].values())
    }
    return [row.title for row in paper.rows if row.title not in beside]
