"""How long a grid takes, against its cells run one after another as TLC is run by hand.

By hand is `java -cp tla2tools.jar tlc2.TLC` with no other flags than the model needs, a process a
cell. Beside it `mbt matrix` on an empty cache, which therefore also trains Java's AOT cache, and
once more with everything in the cache; start of Python included. Exit code 1 where a limit is
missed, or where a cell by hand does not say what the grid's cell does.

    python benchmarks/grid.py                      the fault matrix, 39 cells; about a minute
    python benchmarks/grid.py --grid r10           another grid, by name or file
    python benchmarks/grid.py --json               the same as data
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from mbt.commands.matrix import packaged_grids
from tracegen.grid import Cell, load_grid
from tracegen.tools import Tools, find_tools

MOST_OF_BY_HAND = 0.4
MOST_CACHED_S = 2.0
_SIZES = re.compile(r"^([0-9,]+) states generated, ([0-9,]+) distinct states found", re.MULTILINE)
_MBT = [sys.executable, "-c", "import sys; from mbt.cli import main; sys.exit(main())", "matrix"]


@dataclass(frozen=True)
class Times:
    """Wall times of one grid, in seconds."""

    grid: str
    cells: int
    by_hand_s: float
    matrix_s: float
    cached_s: float

    @property
    def part(self) -> float:
        """Of the time by hand that the grid takes."""
        return self.matrix_s / self.by_hand_s

    @property
    def within_limits(self) -> bool:
        """Whether both limits were kept."""
        return self.part <= MOST_OF_BY_HAND and self.cached_s < MOST_CACHED_S


def by_hand(cell: Cell, tools: Tools) -> tuple[int, int]:
    """Run a cell with TLC's and Java's own defaults; states generated and distinct."""
    with tempfile.TemporaryDirectory(prefix="mbt-by-hand-") as name:
        folder = Path(name)
        for file, text in cell.row.spec.source.files.items():
            (folder / file).write_bytes(text)
        (folder / "run.cfg").write_text(cell.model.config.text, encoding="utf-8")
        words = ["-config", "run.cfg", "-deadlock", cell.row.spec.module]
        java = [str(tools.java.path), "-cp", str(tools.tlc.path), "tlc2.TLC"]
        run = subprocess.run([*java, *words], cwd=folder, capture_output=True, text=True)
    sizes = _SIZES.findall(run.stdout)
    if not sizes:
        raise SystemExit(f"{cell.name}: TLC said {run.stdout[-300:]}")
    generated, distinct = (int(number.replace(",", "")) for number in sizes[-1])
    return generated, distinct


def matrix(path: Path, cache: Path) -> tuple[float, list[tuple[int, int]]]:
    """Run the command; seconds, and states generated and distinct of each cell."""
    started = time.perf_counter()
    run = subprocess.run(
        [*_MBT, str(path), "--json"],
        capture_output=True, text=True, env={**os.environ, "MBT_CACHE": str(cache)},
    )  # fmt: skip
    seconds = time.perf_counter() - started
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    cells = json.loads(run.stdout)["cells"]
    return seconds, [(cell["generated"], cell["distinct"]) for cell in cells]


def measure(path: Path, tools: Tools) -> Times:
    """Run a grid in all three ways."""
    grid = load_grid(path)
    cells = [cell for cell in grid.cells if not cell.model.slow]
    with tempfile.TemporaryDirectory(prefix="mbt-cache-") as cache:
        matrix_s, sizes = matrix(path, Path(cache))
        cached_s, _ = matrix(path, Path(cache))
    started = time.perf_counter()
    expected = [by_hand(cell, tools) for cell in cells]
    by_hand_s = time.perf_counter() - started
    if sizes != expected:
        raise SystemExit(f"{grid.name}: {sizes} states, by hand {expected}")
    return Times(grid.name, len(cells), by_hand_s, matrix_s, cached_s)


def show(times: Times, about: dict[str, str]) -> None:
    """Print the table."""
    table = Table(title="a grid, against its cells run by hand", box=box.SIMPLE, pad_edge=False)
    for heading in ("grid", "cells", "by hand s", "mbt matrix s", "part", "from the cache s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(
        times.grid, str(times.cells), f"{times.by_hand_s:.1f}", f"{times.matrix_s:.1f}",
        f"{times.part:.2f} ≤ {MOST_OF_BY_HAND}", f"{times.cached_s:.2f} < {MOST_CACHED_S:g}",
    )  # fmt: skip
    Console().print(table, *(f"{key}: {value}" for key, value in about.items()), sep="\n")


def main() -> int:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description="A grid, against its cells run by hand.")
    parser.add_argument("--grid", default="table3", help="name or file; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print data in place of a table")
    options = parser.parse_args()
    path = packaged_grids().get(options.grid, Path(options.grid))
    tools = find_tools()
    times = measure(path, tools)
    about = {
        "TLC": f"{tools.tlc.version}, one worker; two cells at a time in mbt matrix",
        "Java": tools.java.version,
        "Python": platform.python_version(),
        "processors": str(os.cpu_count()),
    }
    if options.json:
        print(json.dumps({"about": about, **asdict(times), "part": times.part}, indent=2))
    else:
        show(times, about)
    return 0 if times.within_limits else 1


if __name__ == "__main__":
    sys.exit(main())
