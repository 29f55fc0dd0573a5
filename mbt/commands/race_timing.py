"""mbt race timing: racers of one interrupt at real times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.table import Table

from adapters.host import HostError, MissingFramework
from adapters.services import ServiceError
from mbt.commands.common import receipts_option
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.races.race_plots import draw
from replay.races.race_timing import (
    ABOUT,
    DOSES,
    JITTERS,
    RACERS,
    REPETITIONS,
    Shape,
    listings,
    measure,
)
from replay.races.timed_races import BACKENDS
from replay.receipts import check_writable
from replay.studies import write_study
from replay.sweeps.kill_page import Listing
from tracegen.errors import MachineryError, MbtError

STUDY = "race-timing"
MOST = 64
"""Racers, at most: each has two connections to a server that takes 200."""

LONGEST = 10_000
"""Milliseconds, at most: a process that does not come back for a minute has hung."""


@click.command()
@click.option(
    "--k",
    "racers",
    type=click.IntRange(2, MOST),
    multiple=True,
    default=RACERS,
    show_default=True,
    help="How many race.",
)
@click.option(
    "--jitter",
    "jitters",
    type=click.FloatRange(0, LONGEST),
    multiple=True,
    default=JITTERS,
    show_default=True,
    help="Within how many milliseconds they are to call.",
)
@click.option(
    "--dose",
    "doses",
    type=click.FloatRange(0, LONGEST, min_open=True),
    multiple=True,
    default=DOSES,
    show_default=True,
    help="How many milliseconds the gated body takes.",
)
@click.option(
    "--backend",
    "backends",
    type=click.Choice(BACKENDS),
    multiple=True,
    default=BACKENDS,
    show_default=True,
    help="Where the run is stored.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(1),
    default=REPETITIONS,
    show_default=True,
    help="Runs a cell.",
)
@click.option(
    "--plot",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw the heat map and the dose-response into this folder, as SVG and PNG.",
)
@click.option("--write", is_flag=True, help="Keep the receipt and its page.")
@receipts_option("Where receipts are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
def timing(
    racers: tuple[int, ...],
    jitters: tuple[float, ...],
    doses: tuple[float, ...],
    backends: tuple[str, ...],
    repetitions: int,
    folder: Path | None,
    write: bool,
    receipts: Path,
    as_json: bool,
) -> int:
    """Count how often racers of one interrupt fire its effect, at real times.

    LangGraph, stock and under remit-contract's gate across processes. k processes answer one
    parked run within a jitter; and two, the second of which comes a part of the gated body's time
    after the first. The sweep over k is made without a dose and with the longest.

    What it prints are frequencies that were observed on this machine, with Wilson intervals, and
    never verdicts: those come from `mbt replay` and `mbt race points`, where nothing depends on
    a time. Ends with 0, with 2 on wrong use, with 3 where the machinery failed.
    """
    shape = Shape(racers, jitters, doses, backends, repetitions)
    if not all(map(math.isfinite, (*jitters, *doses))):
        raise MbtError("--jitter and --dose are numbers of milliseconds")
    if write:
        if shape != Shape():
            raise MbtError("--write keeps the whole study; leave out what chooses a part of it")
        check_writable(receipts)
    with Stages(quiet=as_json) as stages, failures():
        content = measure(shape, stages.traces)
    path = write_study(receipts, STUDY, content) if write else None
    if as_json:
        print_json(content)
    else:
        console().print(f"{ABOUT}\n", style="dim")
        show(listings(content))
    if folder is not None:
        try:
            drawn = draw(content, folder)
        except OSError as error:
            raise MbtError(f"{folder}: nothing can be drawn there: {error.strerror}") from error
        click.echo(f"drawn: {', '.join(map(str, drawn))}", err=as_json)
    if path:
        click.echo(f"receipt: {path}", err=as_json)
    return 0


@contextmanager
def failures() -> Iterator[None]:
    """Tell what goes wrong while racing as a user's error or the machinery's."""
    try:
        yield
    except MissingFramework as error:
        install = 'pip install "tla-mbt[langgraph,remit,postgres]"'
        raise MbtError(f"{error}; install it with: {install}") from error
    except ServiceError as error:
        raise MbtError(str(error)) from error
    except HostError as error:
        raise MachineryError(str(error)) from error


def show(listed: Iterable[Listing]) -> None:
    """Print tables, each with its title and what is said of it."""
    screen = console()
    for listing in listed:
        screen.print(listing.title, style="bold")
        for text in listing.about:
            screen.print(text, style="dim")
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in listing.head:
            table.add_column(name, overflow="fold")
        for row in listing.rows:
            table.add_row(*map(str, row))
        screen.print(table)
        screen.print()
