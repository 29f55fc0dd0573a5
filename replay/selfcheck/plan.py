"""What `mbt selfcheck` measures, and what each of its mutants was predicted to change.

`selfcheck.toml` beside this module holds the rows, each with what it comes to without a mutant, and
the operators with their predictions. A prediction is of the cells that change; all others of the
rows that are run are predicted to stay. One that turned out wrong stays as it was, with the
correction and what was learnt beside it.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from adapters.registry import locate
from replay.selfcheck.mutated import reference_of
from tracegen.errors import MbtError

FILE = Path(__file__).with_name("selfcheck.toml")
REFUSED = "refused"
"""What a prediction says instead of cells where the harness itself refuses: with these words."""
MORE = "more"
"""What a prediction may say of a number instead of a number."""
DIVERGING, EXPLAINED, LARGER, COVERED, INAPPLICABLE = (
    "diverging",
    "explained",
    "larger",
    "covered",
    "inapplicable",
)
USUAL = {COVERED: "part", INAPPLICABLE: "none"}
"""What these cells of a row are expected to be where it does not say; a verdict: not provoked."""
Cells = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One replay of the real pipeline.

    Attributes:
        adapter: its name, or FORM__NAME.
        models: the parts of the suite.
        options: those that are not the default.
        expect: cell -> what it is without a mutant, where that is not the usual.
    """

    name: str
    about: str
    adapter: str
    models: tuple[str, ...]
    expect: Cells
    module: str = "ResumeContract"
    options: Mapping[str, str] = field(default_factory=dict)

    def reference(self, form: str | None) -> str:
        """MODULE:CLASS of its adapter, in a form of a mutant's."""
        own, found, base = self.adapter.partition("__")
        if not found:
            return reference_of(form, self.adapter) if form else locate(self.adapter)
        if form:
            raise MbtError(f"row {self.name}: its adapter is in a form already")
        return reference_of(own, base)


@dataclass(frozen=True)
class Operator:
    """A mutation operator of the harness.

    Attributes:
        where: which part of the harness it breaks.
        breaks: what it does there, in a sentence.
        predicted: row -> cells that change, and how; or {"refused": words}. Only these rows are
            run. Registered before any mutant was, and not edited since.
        reason: why it must come out so.
        corrected: row -> the same, for rows in which the prediction was wrong.
        learnt: what was understood when it was.
    """

    name: str
    where: str
    breaks: str
    reason: str
    predicted: Mapping[str, Cells]
    corrected: Mapping[str, Cells] = field(default_factory=dict)
    learnt: str = ""


@dataclass(frozen=True)
class Plan:
    """The rows and the operators, by name, and the digest of the predictions as registered."""

    rows: Mapping[str, Row]
    operators: Mapping[str, Operator]
    registered: str


@cache
def plan() -> Plan:
    """Read what is measured."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    rows = [Row(**{**row, "models": tuple(row["models"])}) for row in data["row"]]
    operators = [Operator(**each) for each in data["operator"]]
    return Plan(
        {row.name: row for row in rows},
        {operator.name: operator for operator in operators},
        data["registered"],
    )


def digest_of(predictions: Mapping[str, Mapping[str, Cells]]) -> str:
    """SHA-256 of what was predicted, by operator and row; their order does not count."""
    text = json.dumps(predictions, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def agrees(baseline: Cells, predicted: Cells, actual: Cells) -> bool:
    """Whether a row came out as predicted."""
    if REFUSED in predicted or REFUSED in actual:
        return REFUSED in predicted and predicted[REFUSED] in actual.get(REFUSED, "")
    return all(
        _as_predicted(was, predicted.get(cell, was), actual[cell]) for cell, was in baseline.items()
    )


def _as_predicted(was: Any, predicted: Any, actual: Any) -> bool:
    return bool(actual > was if predicted == MORE else actual == predicted)


def flips(baseline: Cells, actual: Cells) -> dict[str, Any]:
    """The cells of a row that changed, with what they are now; or the refusal."""
    if REFUSED in actual:
        return {REFUSED: actual[REFUSED]}
    return {cell: actual[cell] for cell, was in baseline.items() if actual[cell] != was}


def killed(baseline: Cells, changed: Cells) -> Sequence[str]:
    """The cells of a row that a mutant changed; all of them where the harness refused the row."""
    return [*baseline] if REFUSED in changed else [*changed]
