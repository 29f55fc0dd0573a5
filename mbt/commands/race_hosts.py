"""mbt race hosts: two racers of one interrupt on two hosts."""

from __future__ import annotations

from pathlib import Path

import click

from mbt.commands.common import receipts_option
from mbt.commands.progress import Stages
from mbt.commands.race_timing import failures, show
from mbt.console import console, print_json
from replay.races.race_hosts import REPETITIONS, listings, measure
from replay.races.race_timing import ABOUT
from replay.receipts import check_writable
from replay.studies import write_study
from tracegen.errors import MbtError

STUDY = "race-hosts"


@click.command()
@click.option(
    "--repetitions",
    type=click.IntRange(1),
    default=REPETITIONS,
    show_default=True,
    help="Runs a cell.",
)
@click.option("--write", is_flag=True, help="Keep the receipt and its page.")
@receipts_option("Where receipts are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
def hosts(repetitions: int, write: bool, receipts: Path, as_json: bool) -> int:
    """Have two racers on two hosts answer one interrupt, the store on one of the hosts.

    The hosts are two network namespaces of this machine, which takes root, and what the far racer
    asks of PostgreSQL takes a delay. LangGraph, stock and under remit-contract's gate. Where the
    machine does not allow it, the reason is said, and a receipt that is kept stays as it is.

    Frequencies that were observed on this machine, and never verdicts. Ends with 0, also where it
    was skipped; with 2 on wrong use, with 3 where the machinery failed.
    """
    if write:
        if repetitions != REPETITIONS:
            raise MbtError("--write keeps the whole study; leave out --repetitions")
        check_writable(receipts)
    with Stages(quiet=as_json) as stages, failures():
        content = measure(repetitions, stages.traces)
    kept = write and not content["skipped"]
    path = write_study(receipts, STUDY, content) if kept else None
    if as_json:
        print_json(content)
    else:
        console().print(f"{ABOUT}\n", style="dim")
        show(listings(content))
    if path:
        click.echo(f"receipt: {path}", err=as_json)
    return 0
