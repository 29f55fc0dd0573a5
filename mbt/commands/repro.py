"""mbt repro: a failing run of a receipt as a test, or as a script for the framework's maintainers.

RECEIPT is the folder of a receipt. The test is on mbt's own API. The script has nothing of mbt's
in it; docs/reproduction.md says what it needs.
"""

from __future__ import annotations

from pathlib import Path

import click

from mbt.commands.common import CheckerOptions, checker_options, receipt_folder, require_folder
from replay.reopened import reopen
from replay.repro.claim import claim_of, shortest_by_property
from replay.repro.pytest_file import pytest_file
from replay.repro.script import script
from replay.stored import reading
from tracegen.errors import MbtError
from tracegen.files import written_whole


@click.command()
@click.argument("receipt")
@click.option(
    "--trace",
    "name",
    metavar="NAME",
    help="Which of its runs.  [default: a shortest one that violates a property, else diverges]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The file to write (.py).",
)
@click.option("--script", "plain", is_flag=True, help="A plain script, without mbt.")
@click.option("--spec", type=click.Path(path_type=Path), help="A module that is not mbt's own.")
@checker_options
def repro(
    receipt: str,
    name: str | None,
    output: Path,
    plain: bool,
    spec: Path | None,
    checker: CheckerOptions,
) -> None:
    """Write a failing run of RECEIPT as a test, or as a script without mbt.

    RECEIPT is the folder of a receipt, or its name below receipts/.
    """
    if output.suffix != ".py":
        raise MbtError(f"{output}: name a file that ends in .py")
    require_folder(output)
    opened = reopen(receipt_folder(receipt), spec)
    with reading(opened.folder / "runs.jsonl"):
        run = opened.failing_run(name)
        claim = claim_of(opened, run)
        text = script(opened, run, claim, output.name) if plain else ""
    if not plain:
        with checker.running() as options:
            trace = opened.trace(run, options)
        text = pytest_file(opened, trace, claim, spec)
    with written_whole(output) as file:
        file.write(text)
    click.echo(f"{output}: run {claim.run}: {claim.sentence}")
    if name is None:
        others: dict[str, list[str]] = {}
        for other, where in shortest_by_property(opened).items():
            if other not in claim.violated:
                others.setdefault(where, []).append(other)
        for where, failing in others.items():
            click.echo(f"mbt: note: for {', '.join(failing)}: --trace {where}", err=True)
