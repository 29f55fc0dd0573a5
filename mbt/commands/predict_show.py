"""`mbt predict show`: one prediction, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from mbt.commands.common import receipts_option
from mbt.console import console, print_json
from replay.prediction.chain import LACKED, OUTCOME, REGISTRATION, folder_of, read_link
from replay.stored import reading

STYLE = {"confirmed": "green", "refuted": "red", "undecided": "yellow"}


@click.command()
@click.argument("identifier", metavar="ID")
@receipts_option("Where registrations are kept.", exists=True)
@click.option("--json", "as_json", is_flag=True, help="Print its files as one JSON object.")
def show(identifier: str, receipts: Path, as_json: bool) -> int:
    """Print the prediction ID: what was said of each step, and what came of it."""
    folder = folder_of(receipts, identifier)
    names = [n for n in (REGISTRATION, OUTCOME, LACKED) if (folder / n).is_file()]
    said = {name.removesuffix(".json"): read_link(folder / name).content for name in names}
    if as_json:
        print_json(said)
        return 0
    screen = console()
    with reading(folder / REGISTRATION):
        _print(screen, said["registration"])
    if "outcome" in said:
        with reading(folder / OUTCOME):
            print_outcome(screen, folder, said["outcome"])
    else:
        screen.print("\nnot run yet", style="dim")
    if "lacked" in said:
        with reading(folder / LACKED):
            screen.print(f"what the model lacked: {said['lacked']['text']}", soft_wrap=True)
    return 0


def _print(screen: Console, told: Mapping[str, Any]) -> None:
    screen.print(told["title"], style="bold")
    if told["why"]:
        screen.print(told["why"], soft_wrap=True)
    bounds = "".join(f", {name} = {value}" for name, value in told["constants"].items())
    against = f" against {told['against']}" if told["against"] else ""
    screen.print(f"{told['module']}: {told['model']}{against}{bounds}", soft_wrap=True)
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    options = ", ".join(f"{name}={value}" for name, value in told["options"].items())
    called = f"{told['adapter']} ({options})" if options else told["adapter"]
    screen.print(f"{called}; {versions or 'no framework'}", style="dim", soft_wrap=True)
    for trace in told["predicts"]:
        parting = trace["separates"]
        violated = ", ".join(trace["violated"]) or "nothing"
        screen.print(f"\n{trace['trace']}: violates {violated}", style="bold")
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("step", "action", "shows", "the rival instead"):
            table.add_column(column)
        before: Mapping[str, str] = {}
        drained = False
        for number, step in enumerate(trace["steps"]):
            shows = {n: v for n, v in step["shows"].items() if before.get(n) != v}
            before = step["shows"]
            drained = drained or step["part"] == "drain"
            here = parting is not None and (
                parting["step"] == number - 1 and not drained
                if parting["step"] is not None
                else step["part"] in ("drain", "start") and parting["action"] == step["action"]
            )
            other = [f"{n} = {' or '.join(v)}" for n, v in parting["rival"].items()] if here else []
            values = ", ".join(step["params"].values())
            table.add_row(
                str(number) if step["part"] == "step" else step["part"],
                f"{step['action']}({values})" if values else step["action"],
                ", ".join(f"{n} = {v}" for n, v in shows.items()) if number else "",
                "; ".join(other) or ("cannot" if here else ""),
            )
        screen.print(table)


def print_outcome(screen: Console, folder: Path, outcome: Mapping[str, Any]) -> None:
    """Print what came of a prediction, a line a trace."""
    screen.print()
    for trace in outcome["traces"]:
        follows = f" (follows: {trace['follows']})" if trace["follows"] else ""
        unseen = f"; not seen: {', '.join(trace['unseen'])}" if trace["unseen"] else ""
        line = f"{trace['trace']}: {trace['word']}{follows}{unseen}"
        screen.print(line, style=STYLE[trace["word"]], soft_wrap=True)
        if trace["sentence"]:
            screen.print(f"  {trace['sentence']}", soft_wrap=True)
    counts = ", ".join(f"{count} {word}" for word, count in outcome["counts"].items())
    screen.print(f"{outcome['outcome']}: {counts}", style="bold")
    screen.print(f"{folder / OUTCOME}", style="dim", soft_wrap=True)
