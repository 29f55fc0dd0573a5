"""Progress of long work, on standard error."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)


class Stages:
    """A bar a stage, shown on a terminal and gone when all is done; a context manager."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not Console(stderr=True).is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Stages:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def traces(self, stage: str, done: int, total: int) -> None:
        """Say how many traces of a stage are done."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)

    def graph(self, what: str) -> None:
        """Say that the checker makes another state graph."""
        if "graphs" not in self._tasks:
            self._tasks["graphs"] = self._progress.add_task("state graphs", total=None)
        self._progress.update(self._tasks["graphs"], advance=1, description=f"state graph: {what}")
