"""mbt sweep stores: what becomes of bad outputs, and of stores that were tampered with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from mbt.commands.common import receipts_option
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.receipts import check_writable
from replay.studies import write_study
from replay.sweeps.store_runs import measure
from replay.sweeps.stores import conclude, problems, tables
from tracegen.errors import MachineryError, MbtError


@click.command()
@click.option(
    "--adapter", "names", multiple=True, metavar="NAME", help="Only the stores of this adapter."
)
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
@click.option("--write", is_flag=True, help="Keep the receipt and its page, studies/stores.")
@receipts_option("Where --write keeps them.")
def stores(names: tuple[str, ...], as_json: bool, write: bool, receipts: Path) -> int:
    """Say what becomes of bad outputs, and of stores that were tampered with.

    An output breaks the schema, in each task in turn: is it refused or stored, what do the
    framework's own reads say afterwards, what does the next recovery do? And where the store is a
    file of the caller's: what does the framework make of one that was changed after a kill?
    """
    if write:
        if names:
            raise MbtError("--write keeps the whole study; leave out --adapter")
        check_writable(receipts)
    with Stages(quiet=as_json) as stages:
        content = conclude(measure(names, stages.traces))
    if wrong := [*problems(content, names)]:
        raise MachineryError(f"what was measured contradicts itself: {wrong[0]}")
    if as_json:
        print_json(content)
    else:
        _print(content)
    if write:
        path = write_study(receipts, "stores", content)
        click.echo(f"receipt: {path}", err=as_json)
    return 0


def _print(content: Mapping[str, Any]) -> None:
    out = console()
    for title, head, rows in tables(content):
        table = Table(box=None, header_style="dim", pad_edge=False)
        for heading in head:
            table.add_column(heading)
        for row in rows:
            table.add_row(*(cell.replace("`", "") for cell in row))
        out.print(title, style="bold")
        out.print(table)
        out.print()
