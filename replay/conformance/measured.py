"""What replays came to, in the cells of a grid: read from their receipts, never run here.

A row of a grid names the options of the replays that measure it. Where a mechanism decides now so
and now otherwise, a run of a real engine shows one way only: the row is then what all of its
replays found together, and the gravest verdict is the cell's.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.registry import UnknownAdapter, load_adapter, locate
from replay.receipts import receipt_name
from tracegen.errors import MbtError
from tracegen.grid import Cell, Grid, Row

GRAVITY = ("violated", "holds", "not observed", "not provoked", "not judged")
"""Of what several replays came to the first is said, as of the parts of one."""


def measured_cells(grid: Grid, cells: Sequence[Cell], root: Path) -> list[dict[str, Any] | None]:
    """A verdict with its adapter and receipts for each cell, None where nothing measures it.

    A cell is a property of the replay by the invariant that it checks. Raises MbtError where a
    receipt is missing below `root`, or is of another module or of other options than the grid says.
    """
    if grid.adapter is None:
        raise MbtError(f"{grid.path} does not say what was replayed: no `adapter`, no `measured`")
    receipts = {
        row.label: [_receipt(grid.adapter, row, chosen, root) for chosen in row.measured]
        for row in grid.rows
    }
    return [_measured(grid.adapter, cell, receipts[cell.row.label]) for cell in cells]


def _measured(
    adapter: str, cell: Cell, receipts: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any] | None:
    checks = cell.model.config.invariants
    found = [
        rule["verdict"]
        for _, receipt in receipts
        for rule in receipt["properties"].values()
        if checks == (rule["invariant"],)
    ]
    if not found:
        return None
    verdict = min(found, key=GRAVITY.index)
    return {"verdict": verdict, "adapter": adapter, "receipts": [name for name, _ in receipts]}


def _receipt(
    adapter: str, row: Row, chosen: Mapping[str, str], root: Path
) -> tuple[str, Mapping[str, Any]]:
    """Name and content of the receipt of a replay."""
    try:
        rules = load_adapter(locate(adapter)).options
    except UnknownAdapter as error:
        raise MbtError(str(error)) from error
    defaults = {name: option.default for name, option in rules.items()}
    if unknown := chosen.keys() - rules.keys():
        raise MbtError(
            f"row {row.label}: adapter {adapter} has no option {min(unknown)!r}; "
            f"known: {', '.join(rules)}"
        )
    options = {**defaults, **chosen}
    name = receipt_name(row.spec.module, adapter, options, defaults)
    words = ["mbt", "replay", str(row.spec.path), "--adapter", adapter, "--receipts", str(root)]
    words += [word for key, value in chosen.items() for word in ("--option", f"{key}={value}")]
    again = f"write it with: {shlex.join(words)}"
    path = root / name / "receipt.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        told, digests = content["options"], content["digests"]
    except OSError as error:
        raise MbtError(f"row {row.label}: cannot read {path} ({error.strerror}); {again}") from None
    except (ValueError, KeyError, TypeError):
        raise MbtError(f"row {row.label}: {path} is not a receipt; {again}") from None
    if told != options:
        raise MbtError(f"row {row.label}: {path} is of other options; {again}")
    for file, text in row.spec.source.files.items():
        if digests.get(file) != hashlib.sha256(text).hexdigest():
            raise MbtError(f"row {row.label}: {path} is of another {file}; {again}")
    return name, content
