"""What the paper says of a cell, and whether a replay comes to the same.

`paper.toml`, beside the receipts, holds its tables and which replays stand beside which row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from replay.conformance.cells import COLUMNS
from replay.rows import Row
from tracegen.errors import MbtError
from tracegen.spec_tables import Table
from tracegen.tomltable import place_of, read_table

PAPER = "paper.toml"
REPRODUCED, NEW, DIFFERS = "reproduced", "new", "differs"


class PaperError(MbtError):
    """The file of the paper's tables is wrong; the message names file and line."""


def _columns(names: Sequence[str] | Mapping[str, str]) -> None:
    if unknown := [name for name in names if name not in COLUMNS]:
        raise ValueError(f"no column {unknown[0]!r} (known: {', '.join(COLUMNS)})")


class Beside(Table):
    """A replay beside a row of the paper: adapter, options that are not the default, reasons."""

    adapter: str
    options: Mapping[str, str]
    because: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known(self) -> Beside:
        _columns(self.because)
        return self


class PaperRow(Table):
    """A row of a table of the paper, or one of the paths that it names."""

    table: str
    row: str
    path: str = ""
    cells: Mapping[str, Literal["✓", "✗", "D", "U"]]
    note: str = ""
    beside: tuple[Beside, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> PaperRow:
        _columns(self.cells)
        return self

    @property
    def title(self) -> str:
        """Table, row and path, for a reader."""
        path = f", {self.path}" if self.path else ""
        where = self.table if " " in self.table else f"Table {self.table}"
        return f"{where}: {self.row}{path}"


class Pair(Table):
    """A row of Table VII: what separates two frameworks."""

    frameworks: tuple[str, str]
    kind: Literal["behavioral", "structural"]
    cells: tuple[str, ...]


class Paper(Table):
    """The tables of the paper that are compared with."""

    rows: tuple[PaperRow, ...]
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A row of the paper and what a replay beside it is expected to show.

    Attributes:
        where: file and line of the replay's entry.
    """

    row: PaperRow
    because: Mapping[str, str]
    where: str

    def provenance(self, column: str, label: str) -> str:
        """How a label stands to the paper's."""
        if column not in self.row.cells:
            return NEW
        return REPRODUCED if label == self.row.cells[column] else DIFFERS

    def problems(self, labels: Mapping[str, str]) -> list[str]:
        """Differences without a reason, and reasons without a difference, a phrase each."""
        found = []
        for column, label in labels.items():
            if label == "not run":
                continue
            differs = self.provenance(column, label) == DIFFERS
            if differs and column not in self.because:
                paper = self.row.cells[column]
                found.append(
                    f"{column} is {label}, {paper} in the paper, and no `because` says why"
                )
            if not differs and column in self.because:
                found.append(f"{column} does not differ from the paper; take its `because` out")
        return [f"{self.where}: {phrase}" for phrase in found]


def read_paper(root: Path) -> tuple[Paper, str]:
    """The file and its text. Raises PaperError."""
    inner: dict[str, type[Table]] = {"rows": PaperRow, "beside": Beside, "pairs": Pair}
    return read_table(root / PAPER, Paper, inner, PaperError)


def comparison_of(row: Row, paper: Paper, text: str) -> Comparison | None:
    """The row of the paper that a replay stands beside, None where beside none."""
    for number, told in enumerate(paper.rows):
        for position, beside in enumerate(told.beside):
            same = {**row.defaults, **beside.options} == row.options
            if same and beside.adapter == row.adapter:
                where = place_of(row.root / PAPER, text, ("rows", number, "beside", position))
                return Comparison(told, beside.because, where)
    return None
