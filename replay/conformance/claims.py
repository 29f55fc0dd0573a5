"""What frameworks state about completed work, and the label that a measurement gets by it.

`adapters/claims.toml` holds the statements, each with its source. The rule, which is the paper's
(Table V, note b), is total: a statement changes a label and never a measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

import adapters
from replay.conformance.cells import COLUMNS, Measured
from tracegen.errors import MbtError
from tracegen.spec_tables import Table
from tracegen.tomltable import place_of, read_table

CLAIMS = Path(adapters.__file__).parent / "claims.toml"
HOLDS, VIOLATED, WEAKER, UNSTATED = "✓", "✗", "D", "U"


class ClaimsError(MbtError):
    """The file of statements is wrong; the message names file and line."""


class Claim(Table):
    """One statement.

    Attributes:
        adapters: whom it is about; empty for frameworks that no adapter drives.
        when: option -> the choices that it is about, of the adapters that have the option.
        cells: the columns that it says something about.
        says: "full", the property; "weaker", less than it, which then is what to expect.
        text: in words of ours.
        source: where to look it up: a page, or the file of an installed distribution.
        version: of the distribution, where the source is a file.
    """

    id: str
    framework: str
    adapters: tuple[str, ...] = ()
    when: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    cells: tuple[str, ...] = ()
    says: Literal["full", "weaker"] = "full"
    text: str
    source: str
    version: str | None = None
    retrieved: date

    @model_validator(mode="after")
    def _known(self) -> Claim:
        if unknown := [cell for cell in self.cells if cell not in COLUMNS]:
            raise ValueError(f"no column {unknown[0]!r} (known: {', '.join(COLUMNS)})")
        return self

    def about(self, adapter: str, options: Mapping[str, str], column: str) -> bool:
        """Whether it says something about a cell."""
        return (
            adapter in self.adapters
            and column in self.cells
            and all(options.get(name) in choices for name, choices in self.when.items())
        )


class _ClaimsFile(Table):
    claims: tuple[Claim, ...]


def read_claims(path: Path = CLAIMS) -> tuple[Claim, ...]:
    """The statements of a file. Raises ClaimsError."""
    content, text = read_table(path, _ClaimsFile, {"claims": Claim}, ClaimsError)
    seen: set[str] = set()
    for number, claim in enumerate(content.claims):
        if claim.id in seen:
            place = place_of(path, text, ("claims", number, "id"))
            raise ClaimsError(f"{place}: {claim.id!r} stands there twice")
        seen.add(claim.id)
    return content.claims


@dataclass(frozen=True)
class Label:
    """What a cell is called: a symbol or the outcome in words, and by which statements."""

    text: str
    claims: tuple[str, ...] = ()


def label(
    measured: Measured,
    column: str,
    adapter: str,
    options: Mapping[str, str],
    claims: Sequence[Claim],
    *,
    strict: bool = False,
) -> Label:
    """Name what was measured in a cell.

    ✗: violated against a statement, or a broken state stored without a word. D: violated where
    a weaker statement stands, which goes before a full one, being the narrower of the two. U:
    violated, and nothing is stated. ✓: it held where something could have broken it. Whatever
    is no verdict is itself.

    Args:
        strict: ✗ for U.
    """
    if measured.verdict == "holds":
        return Label(HOLDS)
    if measured.verdict != "violated":
        return Label(measured.verdict)
    about = [claim for claim in claims if claim.about(adapter, options, column)]
    for says, symbol in (("weaker", WEAKER), ("full", VIOLATED)):
        if named := tuple(claim.id for claim in about if claim.says == says):
            return Label(VIOLATED if measured.silent else symbol, named)
    return Label(VIOLATED if measured.silent or strict else UNSTATED)
