"""mbt race points: a second consumer at each point of the first one's progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from adapters.host import HostError, MissingFramework
from adapters.services import ServiceError
from mbt.commands.common import chosen_options, named_adapter, receipts_option
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.races import arrivals
from replay.races.arrival_runs import POINTS, measure
from replay.races.arrivals import PLANES, comes_to, problems
from replay.receipts import check_writable
from replay.studies import write_study
from tracegen.errors import MachineryError, MbtError

STUDY = "arrivals"


@click.command()
@click.option(
    "--adapter",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Only this one, of {', '.join(dict.fromkeys(name for name, _ in PLANES))}.",
)
@click.option("--write", is_flag=True, help="Keep the receipt and its page.")
@receipts_option("Where receipts are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
def points(names: tuple[str, ...], write: bool, receipts: Path, as_json: bool) -> int:
    """Have a second consumer arrive at each point of the first one's progress.

    And have two processes recover one run that was killed. A measurement and no verdict: ends with
    0, with 2 on wrong use, with 3 where the machinery failed.
    """
    if unknown := [name for name in names if name not in {name for name, _ in PLANES}]:
        raise MbtError(
            f"--adapter {unknown[0]}: the study is of "
            f"{', '.join(dict.fromkeys(name for name, _ in PLANES))}"
        )
    if write:
        if names:
            raise MbtError("--write keeps the study of all planes; leave out --adapter")
        check_writable(receipts)
    planes = [(name, chosen) for name, chosen in PLANES if not names or name in names]
    with Stages(quiet=as_json) as stages:
        content = {"planes": [_plane(name, chosen, stages.traces) for name, chosen in planes]}
    if wrong := [*problems(content, names)]:
        raise MachineryError(f"what was measured contradicts itself: {wrong[0]}")
    path = write_study(receipts, STUDY, content) if write else None
    if as_json:
        print_json(content)
        return 0
    _print(content)
    if path:
        console().print(f"\nreceipt: {path}", style="dim", soft_wrap=True)
    return 0


def _plane(
    name: str, chosen: Mapping[str, str], progress: Callable[[str, int, int], None]
) -> dict[str, Any]:
    adapter, reference = named_adapter(name)
    options = chosen_options(adapter, name, [f"{key}={value}" for key, value in chosen.items()])
    plane: dict[str, Any] = {"adapter": name, "chosen": dict(chosen)}
    stage = arrivals.name_of(plane)
    try:
        plane |= measure(
            adapter, reference, options, lambda done, total: progress(stage, done, total)
        )
    except MissingFramework as error:
        extra = (
            f'; install it with: pip install "tla-mbt[{adapter.extra}]"' if adapter.extra else ""
        )
        raise MbtError(f"adapter {name}: {error}{extra}") from error
    except ServiceError as error:
        raise MbtError(f"adapter {name}: {error}") from error
    except HostError as error:
        raise MachineryError(f"{stage}: {error}") from error
    return plane | {"comes_to": comes_to(plane)}


def _print(content: Mapping[str, Any]) -> None:
    planes = content["planes"]
    by_point = [
        [arrivals.name_of(plane), *(arrivals.cell(plane, point) for point in POINTS)]
        for plane in planes
    ]
    tables = [
        (arrivals.SUMMARY, [arrivals.summary(plane) for plane in planes]),
        (arrivals.ARRIVALS, by_point),
        (arrivals.RECOVERED, [arrivals.recovered(plane) for plane in planes]),
    ]
    screen = console()
    for number, (head, rows) in enumerate(tables):
        if number:
            screen.print()
        screen.print(_table(head, rows))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
