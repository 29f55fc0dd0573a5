"""mbt matrix: check a grid of models by properties, every cell in a run of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import specs
from mbt.commands import matrix_forms as forms
from mbt.commands.check import differences
from mbt.commands.common import CheckerOptions, checker_options, receipts_option
from mbt.commands.matrix_bars import CellBars
from mbt.console import console, print_json
from tracegen.cache import Cache, digest_of
from tracegen.errors import MbtError
from tracegen.grid import SUFFIX, Cell, Grid, load_grid
from tracegen.matrix import (
    Receipt,
    check_cells,
    read_receipt,
    receipt_differences,
    receipt_of,
    receipt_path,
    write_receipt,
)
from tracegen.run import CheckResult
from tracegen.tools import Tool, find_java

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1
_TEXTS: Mapping[str, Callable[[Receipt], str]] = {
    "md": forms.markdown,
    "latex": forms.latex,
    "csv": forms.comma_separated,
}


def packaged_grids() -> dict[str, Path]:
    """The grids that come with mbt, by name."""
    files = sorted(Path(specs.__file__).parent.glob(f"*{SUFFIX}"))
    return {path.name.removesuffix(SUFFIX): path for path in files}


def _resolve(context: click.Context, parameter: click.Parameter, text: str) -> Path:
    path = Path(text)
    packaged = packaged_grids()
    name = path.name.removesuffix(SUFFIX)
    if path.exists():
        return path
    if name in packaged and path.parts[:-1] in ((), ("specs",)):
        return packaged[name]
    raise MbtError(
        f"there is no file {text}; name a {SUFFIX} file, "
        f"or a grid that comes with mbt: {', '.join(packaged)}"
    )


@click.command()
@click.argument("grid_path", metavar="GRID", type=str, callback=_resolve)
@click.option(
    "--row", "labels", multiple=True, metavar="ROW", help="Only these rows, slow ones too."
)
@click.option("--slow", is_flag=True, help="Slow rows too.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Cells at a time."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["screen", *_TEXTS, "json"]),
    default="screen",
    show_default=True,
    help="What to print.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: the receipt.")
@click.option("--check", is_flag=True, help="Compare with the receipt that is kept.")
@click.option("--write", is_flag=True, help="Keep the receipt.")
@click.option("--measured", is_flag=True, help="Beside each cell, what replays came to.")
@receipts_option("Where receipts are kept.")
@checker_options
def matrix(
    grid_path: Path,
    labels: tuple[str, ...],
    slow: bool,
    jobs: int,
    form: str,
    as_json: bool,
    check: bool,
    write: bool,
    measured: bool,
    receipts: Path,
    checker: CheckerOptions,
) -> int:
    """Check every cell of GRID that is not slow.

    With --java the grid is run on the usual Java and on that one, and the two are compared. What
    was found before is taken from the cache, so that a grid that was interrupted goes on where it
    stopped.

    Ends with 0 where all is as the grid, the receipt (--check), the second Java (--java) and the
    replays (--measured) say, with 1 where it is not, 2 on bad input, 3 where the checker failed.
    """
    grid = load_grid(grid_path)
    cells = _chosen(grid, labels, slow)
    kept = receipt_path(receipts, grid)
    if write and len(cells) < len(grid.cells):
        raise MbtError("a receipt holds every cell of its grid: --write needs --slow and no --row")
    committed = read_receipt(kept) if check else None
    beside = _measured(grid, cells, receipts) if measured else None
    java = _second_java(checker) if checker.java else None
    form = "json" if as_json else form
    started = time.monotonic()
    results = _run(cells, jobs, replace(checker, java=None))
    receipt = receipt_of(grid, cells, results)
    others = {"receipt": committed} if committed is not None else {}
    if java is not None:
        second = _run(cells, jobs, checker, own_cache=java.digest)
        others[f"Java {java.version}"] = receipt_of(grid, cells, second)
    wrong = _unexpected(cells, results)
    for name, other in others.items():
        wrong += receipt_differences(grid, receipt, other, name)
    ending = _ending(results, time.monotonic() - started, [*others])
    if write:
        _write(receipts, kept, receipt)
        ending += f"\nreceipt: {kept}"
    if beside is not None:
        entries = zip(receipt["cells"], beside, strict=True)
        receipt = {**receipt, "cells": [{**cell, "measured": found} for cell, found in entries]}
        wrong += forms.contradictions(receipt)
    _print(receipt, form)
    # Beside a table, but apart from what another program reads.
    out = console() if form == "screen" else Console(stderr=True, highlight=False, markup=False)
    for phrase in wrong:
        out.print(phrase, style="red", soft_wrap=True)
    if not labels and len(cells) < len(grid.cells):
        left_out = dict.fromkeys(c.row.label for c in grid.cells if c.name not in results)
        out.print(f"slow, checked with --slow: {', '.join(left_out)}", soft_wrap=True)
    if form == "screen":
        out.print(ending, style="dim", soft_wrap=True)
    return NOT_AS_EXPECTED if wrong else AS_EXPECTED


def _chosen(grid: Grid, labels: Sequence[str], slow: bool) -> list[Cell]:
    known = [row.label for row in grid.rows]
    if unknown := [label for label in labels if label not in known]:
        raise MbtError(f"{grid.path} has no row {unknown[0]!r}; known: {', '.join(known)}")
    if labels:
        return [cell for cell in grid.cells if cell.row.label in labels]
    cells = [cell for cell in grid.cells if slow or not cell.model.slow]
    if not cells:
        raise MbtError(f"all of {grid.path} is slow; run it with --slow, or a row of it with --row")
    return cells


def _write(root: Path, path: Path, receipt: Receipt) -> None:
    from replay.receipts import enter_file  # as slow to load

    write_receipt(path, receipt)
    enter_file(root, path)


def _measured(grid: Grid, cells: Sequence[Cell], receipts: Path) -> list[dict[str, Any] | None]:
    from replay.conformance.measured import (
        measured_cells,  # by way of scipy, which takes a second to load
    )

    return measured_cells(grid, cells, receipts)


def _run(
    cells: Sequence[Cell], jobs: int, checker: CheckerOptions, own_cache: str | None = None
) -> dict[str, CheckResult]:
    """The results by cell; leaving early kills what runs, and says what is kept."""
    done = 0

    def count(cell: Cell, result: CheckResult) -> None:
        nonlocal done
        done += 1
        bars.done(cell, result)

    try:
        with CellBars(len(cells)) as bars, checker.running() as run:
            if own_cache and (cache := run["cache"]):
                # A result is kept without its Java, so that of another would be found here.
                run["cache"] = Cache(cache.root / "java" / own_cache, cache.results)
            return check_cells(cells, run, jobs=jobs, on_done=count, on_progress=bars.progress)
    except KeyboardInterrupt:
        if checker.cache:
            click.echo(
                f"mbt: {done} of {len(cells)} cells are done and kept; "
                "the same command goes on from there",
                err=True,
            )
        raise


def _second_java(checker: CheckerOptions) -> Tool:
    first, second = find_java(), find_java(checker.java)
    if (first.version, first.digest) == (second.version, second.digest):
        raise MbtError(f"--java names Java {second.version}, on which the grid is run anyway")
    # The launchers of two versions may be the same file.
    return replace(second, digest=digest_of({"java": [second.version, second.digest]}))


def _unexpected(cells: Sequence[Cell], results: Mapping[str, CheckResult]) -> list[str]:
    """What came out otherwise than the grid says, a phrase each."""
    return [
        f"{cell.name}: {phrase}"
        for cell in cells
        if cell.model.expect is not None
        for phrase in differences(cell.model, results[cell.name], exact=True)
    ]


def _print(receipt: Receipt, form: str) -> None:
    if form == "json":
        print_json(receipt)
    elif form == "screen":
        screen = console()
        screen.print(receipt["title"], style="bold", soft_wrap=True)
        screen.print(forms.screen(receipt))
        screen.print(forms.legend(receipt), style="dim", soft_wrap=True)
    else:
        print(_TEXTS[form](receipt))


def _ending(results: Mapping[str, CheckResult], seconds: float, others: Sequence[str]) -> str:
    """On what the grid ran, how long, and what it was compared with."""
    ran = next(iter(results.values()))
    cached = sum(result.cached for result in results.values())
    number = f"{len(results)} cells, {cached} from the cache, in {seconds:.1f} s"
    tools = f"TLC {ran.version}, jar {ran.jar_digest[:12]}, Java {ran.java_version}"
    return "; ".join([number, tools, *(f"compared with {name}" for name in others)])
