"""Progress of a grid, on standard error: what runs, how many cells are done, the time left."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from tracegen.grid import Cell
from tracegen.tlc import CheckResult, Progress

_DAY_S = 24 * 3600.0


class CellBars:
    """A bar for the cells that have to be run, and a line for each that runs long.

    Cells from the cache are taken off the total: they would make the others seem quick.
    """

    def __init__(self, total: int) -> None:
        screen = Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
            speed_estimate_period=_DAY_S,  # a cell may take minutes
        )
        self._left = total
        self._total = self._bars.add_task("cells", total=total)
        self._running: dict[str, TaskID] = {}

    def __enter__(self) -> CellBars:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def done(self, cell: Cell, result: CheckResult) -> None:
        """A cell has its result."""
        if (task := self._running.pop(cell.name, None)) is not None:
            self._bars.remove_task(task)
        if result.cached:
            self._left -= 1
            self._bars.update(self._total, total=self._left)
        else:
            self._bars.advance(self._total)

    def progress(self, cell: Cell, progress: Progress) -> None:
        """The checker says how far a cell is."""
        if cell.name not in self._running:
            self._running[cell.name] = self._bars.add_task("", total=None)
        text = f"{cell.name}: {progress.distinct:,} states, {progress.queued:,} to go"
        self._bars.update(self._running[cell.name], description=text)
