"""mbt graph: the size and shape of a model's state graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from mbt.commands.common import CheckerOptions, checker_options, spec_argument
from mbt.console import console, print_json
from mbt.coverage import coverage_of
from tracegen.graph import StateGraph, distances
from tracegen.picture import MOST_STATES, draw, picture_of
from tracegen.spec import Spec
from tracegen.tlc import CheckResult, state_graph


@click.command()
@spec_argument
@click.option("--model", metavar="M", help="Which model; needed where there are several.")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"Draw it as well, as .svg, .png or .pdf (up to {MOST_STATES} states).",
)
@click.option(
    "--replay",
    "receipt",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Say, and colour, what a replay covered: the folder of its receipt.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@checker_options
def graph(
    spec_path: Path,
    model: str | None,
    picture: Path | None,
    receipt: Path | None,
    as_json: bool,
    checker: CheckerOptions,
) -> None:
    """Explore a model of SPEC to its end and say what its state graph is like.

    The whole graph is explored, whether or not the model's properties hold. A picture is drawn by
    Graphviz where its dot is on the PATH, else by matplotlib.
    """
    spec = checker.load(spec_path)
    chosen = spec.model(model)
    with checker.running() as run:
        result, found = state_graph(spec.source, chosen.config, **run)
    facts = _facts(spec, chosen.name, result, found)
    coverage = coverage_of(receipt, spec, chosen.name, found) if receipt else None
    if coverage is not None:
        facts["covered"] = len(coverage.covered)
        facts["diverged_at"] = len(coverage.diverged)
    if picture is not None:
        drawing = picture_of(found, f"{spec.module} {chosen.name}", coverage)
        facts["picture"] = {"file": str(picture), "drawn_by": draw(drawing, picture)}
    if as_json:
        print_json(facts)
    else:
        _print(facts)


def _facts(spec: Spec, model: str, result: CheckResult, graph: StateGraph) -> dict[str, Any]:
    taken = np.bincount(graph.action_ids, minlength=len(graph.actions)).tolist()
    away = distances(graph.offsets, graph.targets, np.array(graph.initial))
    return {
        "module": spec.module,
        "model": model,
        "complete": "within " + ", ".join(spec.models[model].config.partial)
        if spec.models[model].config.partial
        else True,
        "states": len(graph),
        "initial": len(graph.initial),
        "terminal": int((np.diff(graph.offsets) == 0).sum()),
        "diameter": int(away.max()),
        "transitions": graph.transitions,
        "by_action": dict(zip(graph.actions, taken, strict=True)),
        "never_taken": [name for name in spec.actions if name not in graph.actions]
        if spec.actions
        else None,
        "digest": graph.digest,
        "tlc": result.version,
        "jar": result.jar_digest,
        "java": result.java_version,
    }


def _print(facts: Mapping[str, Any]) -> None:
    never = facts["never_taken"]
    unknown = "unknown: no TOML beside the module names the actions"
    table = Table(box=None, show_header=False)
    table.add_column(style="dim")
    table.add_row("model", f"{facts['module']} {facts['model']}")
    if facts["complete"] is not True:
        table.add_row("complete", f"only {facts['complete']}")
    table.add_row("states", f"{facts['states']:,}")
    table.add_row("initial states", f"{facts['initial']:,}")
    table.add_row("terminal states", f"{facts['terminal']:,}")
    table.add_row(
        "diameter", f"{facts['diameter']:,} steps (TLC's depth {facts['diameter'] + 1:,})"
    )
    table.add_row("transitions", f"{facts['transitions']:,}")
    for action, number in facts["by_action"].items():
        table.add_row("", f"{number:,} {action}")
    table.add_row("never taken", unknown if never is None else ", ".join(never) or "none")
    if "covered" in facts:
        table.add_row("covered", f"{facts['covered']:,} transitions by the replay")
        table.add_row("", f"{facts['diverged_at']:,} at which a run diverged")
    table.add_row("digest", facts["digest"])
    if "picture" in facts:
        table.add_row("picture", "{file}, drawn by {drawn_by}".format(**facts["picture"]))
    console().print(table)
