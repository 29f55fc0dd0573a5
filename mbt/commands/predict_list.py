"""`mbt predict list`: all predictions, and what came of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from mbt.commands.common import receipts_option
from mbt.console import console, print_json
from replay.prediction.predictions import COLUMNS, cells, predictions, totals, write_index


@click.command()
@receipts_option("Where registrations are kept.", exists=True)
@click.option("--write", is_flag=True, help="Write the page of them, predictions/INDEX.md, anew.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def list(receipts: Path, write: bool, as_json: bool) -> int:
    """Print all predictions, and what came of them; replications are counted apart."""
    found = predictions(receipts)
    if write:
        write_index(receipts)
    if as_json:
        print_json({"predictions": [asdict(one) for one in found], "totals": totals(found)})
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(column)
    for one in found:
        table.add_row(*cells(one))
    screen = console()
    screen.print(table)
    for kind, counts in totals(found).items():
        words = ", ".join(f"{count} {word}" for word, count in counts.items())
        screen.print(f"{kind}: {words}", style="dim")
    return 0
