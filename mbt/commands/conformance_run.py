"""Replaying the rows without a receipt, several at a time, saying what runs and what is left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import click

from adapters.registry import load_adapter, locate
from mbt.commands.common import spec_path
from mbt.workers import Done, Worker
from replay.provenance import provenance
from replay.rows import Row
from tracegen.errors import MachineryError, MbtError
from tracegen.spec import Spec, load_spec
from tracegen.tools import find_tools

RAN = {0, 1}
"""How a replay ends whose receipt is written."""
WRONG_USE = 2


def missing(rows: Sequence[Row]) -> list[Row]:
    """The rows without a receipt that is whole and of the modules, tools and versions here."""
    tools = find_tools()
    specs: dict[str, Spec] = {}
    found = []
    for row in rows:
        if row.module not in specs:
            specs[row.module] = load_spec(spec_path(row.words[0]))
        reference = locate(row.adapter)
        adapter = load_adapter(reference)
        here = provenance(specs[row.module], adapter, reference, row.options, tools, fresh=False)
        if not row.stands(here):
            found.append(row)
    return found


class _Progress:
    """Says on standard error which replay begins, and how much is left."""

    def __init__(self, kept: int, rows: int) -> None:
        self.kept, self.rows, self.done, self.begun = kept, rows, 0, 0
        self._began = time.monotonic()

    def begin(self, row: Row) -> None:
        self.begun += 1
        spent = time.monotonic() - self._began
        left = f", {_time(spent / self.done * (self.rows - self.done))} left" if self.done else ""
        click.echo(
            f"{self.kept + self.begun} of {self.kept + self.rows}{left}: {row.name}", err=True
        )


def replay_rows(rows: Sequence[Row], kept: int = 0, jobs: int | None = None) -> None:
    """Replay rows and keep their receipts; what is done stays where this is left early.

    Args:
        kept: how many rows there are beside these, for the figures that are shown.
        jobs: replays at a time, each with one driver; by default one a core.

    Raises:
        MbtError, MachineryError: as `mbt replay`; what runs beside it is ended.
    """
    told = _Progress(kept, len(rows))
    lock = threading.Lock()
    waiting = iter(rows)
    failed: list[tuple[Row, Done | None]] = []

    def drive(worker: Worker) -> None:
        while True:
            with lock:
                row = None if failed else next(waiting, None)
                if row is None:
                    return
                told.begin(row)
            done = worker.run(["replay", *row.words, "--receipts", str(row.root), "--jobs", "1"])
            with lock:
                if done is None or done.code not in RAN:
                    failed.append((row, done))
                    for other in workers:
                        other.interrupt()
                    return
                told.done += 1

    number = min(jobs or os.cpu_count() or 1, len(rows))
    workers: list[Worker] = []
    try:
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(max(number, 1)))
            workers += [stack.enter_context(Worker()) for _ in range(number)]
            for job in [pool.submit(drive, worker) for worker in workers]:
                job.result()
        if failed:
            raise _error(*failed[0])
    except BaseException:
        click.echo(
            f"mbt: {kept + told.done} of {kept + len(rows)} replays are done and kept; "
            "`mbt conformance --run` goes on from there",
            err=True,
        )
        raise


def _error(row: Row, done: Done | None) -> MbtError | MachineryError:
    if done is None:
        return MachineryError(f"{row.name}: its process ended before the replay did")
    said = done.said.strip().splitlines()
    text = f"{row.name}: {said[-1].removeprefix('mbt: ') if said else 'it said nothing'}"
    return MbtError(text) if done.code == WRONG_USE else MachineryError(text)


def _time(seconds: float) -> str:
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes >= 1 else "less than a minute"
