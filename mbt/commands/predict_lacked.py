"""`mbt predict lacked`: say what the model lacked, of a prediction that was refuted."""

from __future__ import annotations

from pathlib import Path

import click

from mbt.commands.common import receipts_option, require_text
from replay.prediction.chain import folder_of
from replay.prediction.prediction_run import write_lacked
from replay.prediction.predictions import write_index


@click.command()
@click.argument("identifier", metavar="ID")
@click.argument("text", metavar="TEXT")
@receipts_option("Where registrations are kept.", exists=True)
def lacked(identifier: str, text: str, receipts: Path) -> int:
    """Say in TEXT what the model lacked by which the prediction ID was refuted; once."""
    require_text(text, "TEXT")
    write_lacked(receipts, folder_of(receipts, identifier), text.strip())
    write_index(receipts)
    return 0
