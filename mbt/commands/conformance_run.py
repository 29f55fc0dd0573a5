"""Replaying the rows whose receipts are missing, one after the other, saying how far it is."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Sequence

import click

from adapters.registry import load_adapter, locate
from mbt.commands.common import spec_path
from mbt.commands.replay import replay
from replay.provenance import provenance
from replay.rows import Row
from tracegen.spec import Spec, load_spec
from tracegen.tools import find_tools


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


def replay_rows(rows: Sequence[Row], kept: int = 0, jobs: int | None = None) -> None:
    """Replay rows and keep their receipts; what is done stays where this is left early.

    Args:
        kept: how many rows there are beside these, for the figures that are shown.

    Raises:
        MbtError, MachineryError: as `mbt replay`.
    """
    began, total = time.monotonic(), kept + len(rows)
    done = 0
    try:
        for done, row in enumerate(rows):
            spent = time.monotonic() - began
            left = f", {_time(spent / done * (len(rows) - done))} left" if done else ""
            click.echo(f"{kept + done + 1} of {total}{left}: {row.name}", err=True)
            words = [*row.words, "--receipts", str(row.root)]
            # Its bars stay, on standard error; its tables come out of the receipts afterwards.
            with contextlib.redirect_stdout(io.StringIO()):
                replay.main(
                    args=[*words, "--jobs", str(jobs or os.cpu_count() or 1)],
                    prog_name="mbt replay",
                    standalone_mode=False,
                )
    except BaseException:
        click.echo(
            f"mbt: {kept + done} of {total} replays are done and kept; "
            "`mbt conformance --run` goes on from there",
            err=True,
        )
        raise


def _time(seconds: float) -> str:
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes >= 1 else "less than a minute"
