"""mbt audit: hold tables, pages and receipts against each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from mbt.commands.common import receipts_option
from mbt.commands.conformance import first_difference, kept_tables
from mbt.console import console, print_json
from replay.audit import MALFORMED, audit_receipts, timed
from replay.conformance.conformance import conformance
from replay.conformance.figures import audit_page
from replay.receipts import read_manifest
from replay.rows import read_rows
from tracegen.errors import MbtError

SOUND, UNSOUND = 0, 1


@click.command()
@receipts_option("Where the receipts are.", exists=True)
@click.option(
    "--page",
    "pages",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Only the figures of these pages; by default those of README.md and docs/.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def audit(receipts: Path, pages: tuple[Path, ...], as_json: bool) -> int:
    """Derive every table and every page's figures from the receipts once more.

    Digests are those of the manifest; a receipt is of the modules that are here; its verdicts and
    figures follow from its own runs; the tables beside the receipts are what the receipts come to,
    and a difference from the paper has its reason; what a page shows a replay to print is what its
    receipt makes; no two receipts of different hosts bear one time; the predictions form a chain,
    and what came of each follows from its runs.

    Ends with 0 where nothing differs, with 1 where something does, each with file and line.
    """
    rows = read_rows(receipts)
    problems = audit_receipts(receipts, rows)
    problems += _tables(receipts)
    compared = 0
    here = pages or tuple(_pages(receipts.resolve().parent))
    for page in here:
        try:
            found, lines = audit_page(page, rows)
        except MALFORMED as error:
            found, lines = [f"{page}: its figures are of no receipt ({error})"], 0
        problems += found
        compared += lines
    checked = {
        "receipts": len(rows),
        "digests": len(read_manifest(receipts)),
        "pages": len(here),
        "figures": compared,
        "timed": len(timed(receipts)),
    }
    if as_json:
        print_json({"problems": problems, "checked": checked})
        return UNSOUND if problems else SOUND
    screen = console()
    for problem in problems:
        screen.print(problem, style="red", soft_wrap=True)
    screen.print(
        f"{len(problems)} problems; {checked['receipts']} receipts, {checked['digests']} digests, "
        f"{compared} lines of figures on {len(here)} pages; {checked['timed']} files say on what "
        "host and when they were written",
        style="dim",
        soft_wrap=True,
    )
    return UNSOUND if problems else SOUND


def _pages(folder: Path) -> Iterator[Path]:
    """The pages of a checkout."""
    yield from (page for page in [folder / "README.md"] if page.is_file())
    yield from sorted((folder / "docs").glob("*.md"))


def _tables(receipts: Path) -> Iterator[str]:
    """What the tables beside the receipts say otherwise."""
    try:
        made = conformance(receipts)
        yield from made.problems
        kept = kept_tables(receipts, made.content)
    except MALFORMED as error:
        yield f"{receipts}: no tables come of these ({type(error).__name__}: {error})"
        return
    except MbtError as error:
        yield f"{receipts}: {error}"
        return
    for path, text in kept.items():
        if not path.is_file():
            yield f"{path}: missing; mbt conformance --write writes it"
        elif line := first_difference(path.read_text(encoding="utf-8"), text):
            yield f"{path}:{line}: not what the receipts come to"
