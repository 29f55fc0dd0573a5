"""mbt conformance: the table of frameworks by properties, made of receipts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mbt.commands import conformance_forms as forms
from mbt.commands.common import receipts_option
from mbt.console import console, print_json
from replay.conformance.conformance import conformance as make
from replay.conformance.measurements import NAME as TABLE
from replay.conformance.measurements import measurements
from replay.rows import Row, read_rows
from tracegen.errors import MbtError

AS_IT_SHOULD_BE, DIFFERS = 0, 1
NAME = "CONFORMANCE"
_TEXTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "md": forms.markdown,
    "latex": forms.latex,
    "csv": forms.comma_separated,
}


@click.command()
@click.option(
    "--adapter", "adapters", multiple=True, metavar="NAME", help="Only the rows of this adapter."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["screen", *_TEXTS, "json"]),
    default="screen",
    show_default=True,
    help="What to print.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--strict", is_flag=True, help="✗ where no statement was found, instead of U.")
@click.option("--run", is_flag=True, help="Replay first what has no receipt of what is here.")
@click.option("--again", is_flag=True, help="With --run: replay what has one, too.")
@click.option("--every", is_flag=True, help="With --run: also the rows that are of TABLE.md alone.")
@click.option("--check", is_flag=True, help="Compare with the tables that are kept.")
@click.option("--write", is_flag=True, help="Keep the tables.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=None, help="With --run: replays at a time."
)
@receipts_option("Where the receipts are, and rows.toml and paper.toml.")
def conformance(
    adapters: tuple[str, ...],
    form: str,
    as_json: bool,
    strict: bool,
    run: bool,
    again: bool,
    every: bool,
    check: bool,
    write: bool,
    jobs: int | None,
    receipts: Path,
) -> int:
    """Print what each framework keeps of the resume contract, in each of its forms.

    The table comes from the receipts of the rows in rows.toml; what a cell is called, from the
    statements of adapters/claims.toml. --run replays the rows whose receipts are missing, or of
    another module, tool or version, and goes on where it was stopped. Beside the receipts the
    table is kept as CONFORMANCE.md and CONFORMANCE.json, and what each replay measured as TABLE.md.

    Ends with 0 where all is as it should be, with 1 where the committed table says otherwise
    (--check) or a difference from the paper has no reason, 2 on bad input, 3 where the
    machinery failed.
    """
    if (adapters or strict) and (check or write):
        raise MbtError("the tables that are kept have every row and are not strict")
    if (again or every) and not run:
        raise MbtError(f"{'--again' if again else '--every'} is of --run")
    rows = _chosen(read_rows(receipts), adapters)
    if run:
        # A row that is of no framework is a measurement beside the table.
        _run([row for row in rows if every or row.framework is not None], jobs, again=again)
    made = make(receipts, adapters, strict=strict)
    if write:
        for path, text in kept_tables(receipts, made.content).items():
            path.write_text(text, encoding="utf-8")
    wrong = [*made.problems, *(_differences(receipts, made.content) if check else ())]
    _print(made.content, "json" if as_json else form, receipts)
    # Beside a table, but apart from what another program reads.
    out = Console(stderr=True, highlight=False, markup=False)
    for phrase in wrong:
        out.print(phrase, style="red", soft_wrap=True)
    if made.missing:
        number = len(made.missing)
        out.print(
            f"{number} receipts are missing, and --run replays them; one: {made.missing[0]}",
            soft_wrap=True,
        )
    return DIFFERS if wrong or (check and made.missing) else AS_IT_SHOULD_BE


def _chosen(rows: Sequence[Row], adapters: Sequence[str]) -> list[Row]:
    known = dict.fromkeys(row.adapter for row in rows)
    if unknown := [name for name in adapters if name not in known]:
        raise MbtError(f"no row is of adapter {unknown[0]!r}; there are: {', '.join(known)}")
    return [row for row in rows if not adapters or row.adapter in adapters]


def _run(rows: Sequence[Row], jobs: int | None, *, again: bool) -> None:
    from mbt.commands.conformance_run import missing, replay_rows  # by way of scipy, a second

    left = rows if again else missing(rows)
    replay_rows(left, len(rows) - len(left), jobs)


def kept_tables(receipts: Path, content: Mapping[str, Any]) -> dict[Path, str]:
    """The tables that are kept beside the receipts, made anew.

    Raises:
        MbtError: a row has no receipt.
    """
    return {
        receipts / f"{NAME}.json": json.dumps(content, indent=1, ensure_ascii=False) + "\n",
        receipts / f"{NAME}.md": forms.markdown(content) + "\n",
        receipts / TABLE: measurements(read_rows(receipts)),
    }


def _differences(receipts: Path, content: Mapping[str, Any]) -> list[str]:
    """Where the tables that are kept say otherwise, a phrase each."""
    phrases = []
    for path, text in kept_tables(receipts, content).items():
        try:
            kept = path.read_text(encoding="utf-8")
            if path.suffix == ".json":
                phrases += [
                    f"{path}: {phrase}" for phrase in forms.changes(content, json.loads(kept))
                ]
        except OSError as error:
            raise MbtError(f"cannot read {path}: {error.strerror}; --write writes it") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise MbtError(f"{path}: not a conformance table; --write writes it anew") from None
        if line := first_difference(kept, text):
            phrases.append(f"{path}:{line}: not what the receipts come to; --write writes it")
    return phrases


def first_difference(kept: str, made: str) -> int | None:
    """The number of the first line that differs, None where none does."""
    pairs = itertools.zip_longest(kept.split("\n"), made.split("\n"))
    return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), None)


def _print(content: Mapping[str, Any], form: str, receipts: Path) -> None:
    if form == "json":
        print_json(content)
        return
    if form != "screen":
        print(_TEXTS[form](content))
        return
    screen = console()
    screen.print(forms.TITLE, style="bold", soft_wrap=True)
    screen.print(forms.screen(content, receipts))
    screen.print(forms.legend(content), style="dim", soft_wrap=True)
    if found := forms.differences(content):
        screen.print("\nWhere it differs from the paper:", soft_wrap=True)
    for heading, cell in found:
        because = cell["because"] or "no reason is given"
        screen.print(
            f"  {heading}: {cell['label']}, in the paper {cell['paper']}. {because}", soft_wrap=True
        )
