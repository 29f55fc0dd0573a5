"""The study of the harness itself: what breaks when a part of it does, as predicted or not.

Each operator breaks one part of the harness; its predictions were registered before it was first
run. What is told here of a receipt, its page and its audit, is computed from the cells alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from replay.selfcheck.plan import (
    REFUSED,
    USUAL,
    Cells,
    agrees,
    digest_of,
    killed,
    plan,
)
from replay.sweeps.kill_page import Listing

Content = Mapping[str, Any]
NOTHING = "–"
YES, NO, CORRECTED = "yes", "NO", "as corrected"
"""Whether an operator came out as was first predicted; or as it was after a correction."""

ABOUT = (
    "Each operator breaks one part of the harness, from outside its code, and a fixed set of "
    "replays is made again. What must change was predicted, with a reason, before any of them was "
    "run. A mutant that the harness refuses to give a verdict under is the best one."
)


def verdict_of(content: Content, operator: Mapping[str, Any], row: str) -> str:
    """Whether one row came out under an operator as was predicted."""
    baseline = _baseline(content, row)
    actual = _whole(baseline, operator["actual"][row])
    if agrees(baseline, operator["predicted"][row], actual):
        return YES
    corrected = operator["corrected"].get(row)
    known = corrected is not None and operator["learnt"]
    return CORRECTED if known and agrees(baseline, corrected, actual) else NO


def outcome_of(content: Content, operator: Mapping[str, Any]) -> str:
    """Whether an operator came out as was predicted: as its worst row did."""
    found = {verdict_of(content, operator, row) for row in operator["predicted"]}
    return next(verdict for verdict in (NO, CORRECTED, YES) if verdict in found)


def conforms(content: Content) -> bool:
    """Whether every operator came out as predicted, or as the record says why not."""
    return all(outcome_of(content, operator) != NO for operator in content["operators"])


def killers(content: Content) -> dict[str, dict[str, list[str]]]:
    """Row -> cell -> the operators that change it."""
    found: dict[str, dict[str, list[str]]] = {
        row["name"]: {cell: [] for cell in row["cells"]} for row in content["rows"]
    }
    for operator in content["operators"]:
        for row, changed in operator["actual"].items():
            for cell in killed(found[row], changed):
                found[row][cell].append(operator["name"])
    return found


def unkilled(content: Content) -> dict[str, list[str]]:
    """Row -> the cells that no operator changes."""
    spared = {
        row: [cell for cell, names in cells.items() if not names]
        for row, cells in killers(content).items()
    }
    return {row: cells for row, cells in spared.items() if cells}


def _baseline(content: Content, row: str) -> Cells:
    cells: Cells = next(each["cells"] for each in content["rows"] if each["name"] == row)
    return cells


def _whole(baseline: Cells, changed: Cells) -> Cells:
    return changed if REFUSED in changed else {**baseline, **changed}


# -- the page --------------------------------------------------------------------------


def listings(content: Content) -> Iterator[Listing]:
    """The tables, with what is to be said of them."""
    operators = content["operators"]
    yield _summary(content, operators)
    learnt = tuple((o["name"], o["learnt"]) for o in operators if o["learnt"])
    if learnt:
        about = "What was predicted stays in the table above; this is why it was wrong."
        yield Listing("Corrected", (about,), ("operator", "what was learnt"), learnt)


def _summary(content: Content, operators: Sequence[Mapping[str, Any]]) -> Listing:
    head = ("operator", "breaks", "row", "predicted", "came out", "agrees")
    rows = []
    for operator in operators:
        names: Sequence[str] = (operator["name"], f"{operator['where']}: {operator['breaks']}")
        for row, predicted in operator["predicted"].items():
            changed = operator["actual"][row]
            verdict = verdict_of(content, operator, row)
            rows.append((*names, row, cells_text(predicted), cells_text(changed), verdict))
            names = ("", "")
    outcomes = [outcome_of(content, operator) for operator in operators]
    refused = sum(any(REFUSED in c for c in o["actual"].values()) for o in operators)
    silent = sum(not any(o["actual"].values()) for o in operators)
    about = (
        f"{len(operators)} operators: {outcomes.count(YES)} as predicted, "
        f"{outcomes.count(CORRECTED)} otherwise and understood since, {outcomes.count(NO)} "
        f"otherwise. The harness refuses a verdict under {refused}; {silent} change nothing. "
        f"{NOTHING}: no cell of the row changes. A row is run only where the operator could touch "
        "it, or as a control."
    )
    return Listing("Operators", (about,), head, tuple(rows))


def cells_text(cells: Cells) -> str:
    """Cells that change, in a line: those that change alike together."""
    alike: dict[str, list[str]] = {}
    for cell, value in cells.items():
        alike.setdefault(str(value), []).append(cell)
    return "; ".join(f"{', '.join(names)}: {value}" for value, names in alike.items()) or NOTHING


def _reasons(content: Content) -> Listing:
    rows = tuple((o["name"], o["reason"]) for o in content["operators"])
    return Listing("Why it was predicted", (), ("operator", "reason"), rows)


def _rows(content: Content) -> Listing:
    found = killers(content)
    rows = []
    for row in content["rows"]:
        cells = [f"{n} {value} ({len(found[row['name']][n])})" for n, value in row["cells"].items()]
        options = " ".join(f"{name}={value}" for name, value in row["options"].items())
        what = " ".join(filter(None, [row["adapter"], options]))
        rows.append((row["name"], row["about"], what, " ".join(row["models"]), ", ".join(cells)))
    about = "Behind each cell stands how many operators change it."
    head = ("row", "what it is", "adapter", "models", "cells without a mutant")
    return Listing("Rows", (about,), head, tuple(rows))


def _spared(content: Content) -> Listing:
    rows = tuple((row, ", ".join(cells)) for row, cells in content["unkilled"].items())
    about = "Cells that no operator changes, of the rows above."
    return Listing("Unkilled", (about,), ("row", "cells"), rows)


def page(content: Content) -> str:
    """The study's page."""
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    lines = [
        "# Who watches the watchmen",
        "",
        "Written by `mbt selfcheck --write` from `selfcheck.json`.",
        "",
        ABOUT,
        "",
        f"Measured {content['started']} in {content['seconds']} s: {content['cores']} cores, "
        f"Python {content['python']}, {content['platform']}. {versions}. The predictions are "
        f"registered by their digest, `{content['registered'][:16]}…`.",
    ]
    listed = [*listings(content), _reasons(content), _rows(content), _spared(content)]
    lines += [line for listing in listed for line in listing.lines()]
    return "\n".join(lines) + "\n"


# -- the audit -------------------------------------------------------------------------


def problems(content: Content) -> Iterator[str]:
    """Where the receipt does not hold what the plan says, or says what does not follow from it."""
    known = plan()
    yield from _registered(content, known.registered)
    if [row["name"] for row in content["rows"]] != [*known.rows]:
        yield "its rows are not those of selfcheck.toml"
        return
    for told, row in zip(content["rows"], known.rows.values(), strict=True):
        wanted: dict[str, Any] = {
            "adapter": row.adapter,
            "module": row.module,
            "models": [*row.models],
        }
        wanted |= {"about": row.about, "options": {**row.options}}
        if any(told[key] != value for key, value in wanted.items()):
            yield f"row {row.name}: not the one of selfcheck.toml"
        expected = {**USUAL, **row.expect}
        others = {cell: v for cell, v in told["cells"].items() if cell not in expected}
        if expected.items() - told["cells"].items() or {*others.values()} - {"not provoked"}:
            yield f"row {row.name}: without a mutant it did not come to what it should"
    if [told["name"] for told in content["operators"]] != [*known.operators]:
        yield "its operators are not those of selfcheck.toml"
        return
    for told, operator in zip(content["operators"], known.operators.values(), strict=True):
        if {**told, "actual": None} != {**asdict(operator), "actual": None}:
            yield f"operator {operator.name}: not as selfcheck.toml has it"
        yield from (f"operator {operator.name}: {what}" for what in _contradictions(content, told))
    if content["unkilled"] != unkilled(content):
        yield "the cells that it lists as unkilled do not follow from the operators"


def _registered(content: Content, registered: str) -> Iterator[str]:
    predictions = {told["name"]: told["predicted"] for told in content["operators"]}
    if content["registered"] != registered or digest_of(predictions) != registered:
        yield "its predictions are not the ones that were registered"


def _contradictions(content: Content, operator: Mapping[str, Any]) -> Iterator[str]:
    if [*operator["predicted"]] != [*operator["actual"]]:
        yield "the rows that were run are not those that were predicted"
        return
    for row, changed in operator["actual"].items():
        baseline = _baseline(content, row)
        if REFUSED not in changed and any(
            cell not in baseline or baseline[cell] == value for cell, value in changed.items()
        ):
            yield f"{row}: a cell that is said to have changed is none of the row's, or did not"
        elif verdict_of(content, operator, row) == NO:
            yield f"{row}: came out otherwise than predicted, and nothing says why"
