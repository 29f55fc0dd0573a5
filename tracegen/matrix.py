"""Running a grid, and its receipt: what every cell came out as.

A receipt is stable: the same modules, grid and checker give the same bytes, on any Java and at any
time. Every form in which a grid is shown is made of a receipt and of nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tracegen.counterexample import counterexample_trace
from tracegen.errors import MachineryError, MbtError
from tracegen.grid import Cell, Grid
from tracegen.tlc import CheckResult, Progress, RunOptions, check

Receipt = dict[str, Any]
FORMAT = 1
_DIGEST = 64
"""Characters of a SHA-256."""


def check_cells(
    cells: Sequence[Cell],
    run: RunOptions,
    *,
    jobs: int,
    on_done: Callable[[Cell, CheckResult], None] = lambda cell, result: None,
    on_progress: Callable[[Cell, Progress], None] = lambda cell, progress: None,
) -> dict[str, CheckResult]:
    """Check every cell, `jobs` at a time, in a run of its own with one worker; results by name.

    What is done when the work is broken off is in the cache of `run`, so that the same call goes
    on from there. Breaking it off ends what runs where `run` names the processes.
    """

    def one(cell: Cell) -> CheckResult:
        told = RunOptions(**{**run, "progress": lambda progress: on_progress(cell, progress)})
        return check(cell.row.spec.source, cell.model.config, **told)

    pool = ThreadPoolExecutor(jobs)
    try:
        started: dict[Future[CheckResult], Cell] = {pool.submit(one, cell): cell for cell in cells}
        results = {}
        for future in as_completed(started):
            cell = started[future]
            results[cell.name] = future.result()
            on_done(cell, results[cell.name])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return {cell.name: results[cell.name] for cell in cells}


def receipt_of(grid: Grid, cells: Sequence[Cell], results: Mapping[str, CheckResult]) -> Receipt:
    """The receipt of these cells of a grid.

    Raises MbtError or MachineryError where a cell has no verdict.
    """
    for cell in cells:
        try:
            results[cell.name].decided()
        except (MbtError, MachineryError) as error:
            raise type(error)(f"{cell.name}: {error}") from None
    first = results[cells[0].name]
    files = {
        name: hashlib.sha256(text).hexdigest()
        for cell in cells
        for name, text in cell.row.spec.source.files.items()
    }
    return {
        "format": FORMAT,
        "grid": grid.name,
        "title": grid.title,
        "columns": [column for column in grid.columns if any(c.column == column for c in cells)],
        "checker": {"tlc": first.version, "jar": first.jar_digest},
        "modules": dict(sorted(files.items())),
        "cells": [_cell(cell, results[cell.name]) for cell in cells],
    }


def _cell(cell: Cell, result: CheckResult) -> dict[str, Any]:
    config = cell.model.config
    return {
        "row": cell.row.label,
        "column": cell.column,
        "module": cell.row.spec.module,
        "base": cell.row.base.name,
        "constants": dict(cell.row.constants),
        "checks": [*config.invariants, *config.properties],
        "config": hashlib.sha256(config.text.encode()).hexdigest(),
        "verdict": result.outcome.verdict,
        "violated": [*result.violated],
        "states": result.states,
        "depth": result.depth,
        "generated": result.generated,
        "distinct": result.distinct,
        **_counterexample(cell, result),
    }


def _counterexample(cell: Cell, result: CheckResult) -> dict[str, Any]:
    """The trace and, where it violates liveness, how it goes on for ever."""
    if not result.counterexamples:
        return {}
    found = result.counterexamples[0]
    trace = counterexample_trace(cell.row.spec, cell.bounds, found, cell.name)
    goes_on = "stuttering" if found.stuttering else found.back_to
    return {"trace": json.loads(trace.line), **({"goes_on": goes_on} if goes_on else {})}


def receipt_path(root: Path, grid: Grid) -> Path:
    """Where the receipt of a grid is kept, below a folder of receipts."""
    return root / "matrix" / f"{grid.name}.json"


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt, whole or not at all: a line an entry, and a line a cell."""
    *head, cells = ({name: value} for name, value in receipt.items())
    lines = [json.dumps(entry)[1:-1] for entry in head]
    rows = ",\n  ".join(json.dumps(cell) for cell in cells["cells"])
    text = "{\n " + ",\n ".join([*lines, f'"cells": [\n  {rows}\n ]']) + "\n}\n"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="ascii")
        partial.replace(path)
    except OSError as error:
        raise MbtError(f"{path}: no receipt can be written there: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def read_receipt(path: Path) -> Receipt:
    """A committed receipt. Raises MbtError where there is none or it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        cells = found["cells"]
        if found["format"] != FORMAT or not all(
            isinstance(c["row"] + c["column"], str) for c in cells
        ):
            raise ValueError("another format")
    except OSError as error:
        raise MbtError(f"cannot read {path}: {error.strerror}; --write writes it") from None
    except (ValueError, KeyError, TypeError) as error:
        raise MbtError(
            f"{path}: not a receipt of a grid ({error}); --write writes it anew"
        ) from None
    return dict(found)


def receipt_differences(grid: Grid, found: Receipt, other: Receipt, name: str) -> list[str]:
    """Where another receipt of a grid, called `name`, says otherwise: a phrase a file and a cell.

    `found` may be of some cells of the grid alone; those that it leaves out are not compared.
    """
    phrases = [
        _otherwise(key, value, other.get(part, {}).get(key), name)
        for part in ("checker", "modules")
        for key, value in found[part].items()
        if value != other.get(part, {}).get(key)
    ]
    before = {(cell["row"], cell["column"]): cell for cell in other["cells"]}
    for cell in found["cells"]:
        place = cell["row"], cell["column"]
        if place not in before:
            phrases.append(f"{' × '.join(place)}: not in the {name}")
        elif how := [*_changes(cell, before[place], name)]:
            phrases.append(f"{' × '.join(place)}: {'; '.join(how)}")
    gone = before.keys() - {(cell.row.label, cell.column) for cell in grid.cells}
    return phrases + [f"{' × '.join(place)}: only in the {name}" for place in sorted(gone)]


def _changes(cell: Mapping[str, Any], before: Mapping[str, Any], name: str) -> Iterator[str]:
    for key in dict.fromkeys([*cell, *before]):
        if key != "trace" and cell.get(key) != before.get(key):
            yield _otherwise(key, cell.get(key), before.get(key), name)
    if cell.get("trace") != before.get("trace"):
        yield "another counterexample"


def _otherwise(key: str, value: object, before: object, name: str) -> str:
    return f"{key} {_short(value)} ({name}: {_short(before)})"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{text[:12]}…" if len(text) == _DIGEST else text
