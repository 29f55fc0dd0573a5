"""mbt sweep kill-points: a kill at every operation of a framework's persistence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from adapters.host import HostError, MissingFramework
from adapters.services import ServiceError
from mbt.commands.common import receipts_option
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.receipts import check_writable
from replay.studies import read_study, write_study
from replay.sweeps.kill_page import Listing, kills, overview
from replay.sweeps.kill_points import NAME, NOT_SWEPT, SWEEPS, measure, problems
from tracegen.errors import MachineryError, MbtError

SAME, DIFFERS = 0, 1


@click.command()
@click.option(
    "--adapter", "adapters", multiple=True, metavar="NAME", help="Only the sweeps of this adapter."
)
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
@click.option("--write", is_flag=True, help="Keep what was measured, all of it.")
@receipts_option("Where it is kept.")
def kill_points(adapters: tuple[str, ...], as_json: bool, write: bool, receipts: Path) -> int:
    """Kill a run after each operation of its persistence, and recover it by each recovery call.

    The process is stopped once an operation is durable, later ones are held back, and it is killed
    there (SIGKILL); then once more at each effect that fires before the next operation. The store
    is read after each kill: it holds what it held at the stop. The ledger says which effects fire
    again. Without --adapter the ledger itself is checked as well, and LangGraph's writes are
    stored in both orders that it allows.

    Ends with 0, or with 1 where something else was measured than what is kept.
    """
    _check(adapters, write)
    chosen = [sweep for sweep in SWEEPS if not adapters or sweep.adapter in adapters]
    if write:
        check_writable(receipts)
    with Stages(quiet=as_json) as stages:
        try:
            content = measure(chosen, stages.traces, whole=not adapters)
        except MissingFramework as error:
            install = 'pip install "tla-mbt[frameworks]"'
            raise MbtError(f"{error}; {install}, or name what is here by --adapter") from error
        except ServiceError as error:
            raise MbtError(str(error)) from error
        except HostError as error:
            raise MachineryError(str(error)) from error
    if wrong := [*problems(content, adapters)]:
        raise MachineryError(f"what was measured contradicts itself: {wrong[0]}")
    other = _other(content, receipts)  # before it is written over
    if write:
        write_study(receipts, NAME, content)
    if as_json:
        print_json({**content, "differs": other})
    else:
        _print(content, single=bool(adapters))
        for line in other:
            console().print(line, style="red", soft_wrap=True)
    return DIFFERS if other else SAME


def _check(adapters: tuple[str, ...], write: bool) -> None:
    """Refuse what cannot be swept, with the reason."""
    swept = dict.fromkeys(sweep.adapter for sweep in SWEEPS)
    for name in adapters:
        if name in NOT_SWEPT:
            raise MbtError(f"adapter {name} is not swept: {NOT_SWEPT[name]}")
        if name not in swept:
            raise MbtError(
                f"adapter {name} is none of those that put their persistence behind a barrier: "
                f"{', '.join(swept)}"
            )
    if write and adapters:
        raise MbtError("--write keeps the whole study; leave --adapter out")


def _other(content: Mapping[str, Any], receipts: Path) -> list[str]:
    """What the kept receipt, where there is one, says otherwise."""
    if not (receipts / "studies" / f"{NAME}.json").is_file():
        return []
    kept = read_study(receipts, NAME)
    found = []
    for sweep in content["sweeps"]:
        if sweep not in kept["sweeps"]:
            form = " ".join(f"{name}={value}" for name, value in sweep["options"].items())
            found.append(f"{sweep['adapter']} {form}: not what is kept in {receipts}")
    for part in ("oracle", "order"):
        if content[part] and content[part] != kept[part]:
            found.append(f"{part}: not what is kept in {receipts}")
    return found


def _print(content: Mapping[str, Any], *, single: bool) -> None:
    """Print what it comes to, and the single kills where they are asked for."""
    listed = [*overview(content), *(map(kills, content["sweeps"]) if single else ())]
    for listing in listed:
        _print_listing(listing)


def _print_listing(listing: Listing) -> None:
    table = Table(title=listing.title, title_justify="left", box=None)
    for name in listing.head:
        table.add_column(name)
    for row in listing.rows:
        table.add_row(*(str(cell).replace("`", "") for cell in row))
    console().print(table)
    console().print()
