"""mbt validate: hold a log of a real run against a model, and say how far it is explained."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mbt.commands.common import (
    CheckerOptions,
    checker_options,
    require_folder,
    spec_argument,
    spec_as_typed,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.compare import Model
from replay.models import Models
from replay.prediction.candidates import at_bounds, read_candidate, read_constants
from replay.validation.log import Log, read_log
from replay.validation.validate import (
    Allowed,
    Stop,
    Taken,
    Validation,
    follow,
    params_of,
    step_text,
    trace_of,
)
from replay.validation.validated import OWN, Mechanisms, Tried, explaining, hidden_actions
from tracegen.encoding import to_json
from tracegen.trace import write_traces

EXPLAINED, UNEXPLAINED = 0, 1
SHOWN = 10
"""Runs, and steps that are allowed, on a screen; --json has all of them."""


@click.command()
@spec_argument
@click.option("--model", metavar="M", help="At the bounds of which model.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="SWITCH",
    help="Exactly these fault switches, instead of the model's own; no others are tried.",
)
@click.option(
    "--constant",
    "constants",
    multiple=True,
    metavar="K=V",
    help="Another bound than the named models have, V in TLA+.",
)
@click.option(
    "--log",
    "log_path",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The log, JSON lines (docs/validation.md).",
)
@click.option(
    "--hidden",
    multiple=True,
    metavar="ACTION,...",
    help="What may have happened unseen between two lines, or none; by default the actions that "
    "the log names nowhere.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the explanations go as traces, for mbt replay --traces.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@checker_options
def validate(
    spec_path: Path,
    model: str | None,
    faults: tuple[str, ...],
    constants: tuple[str, ...],
    log_path: Path,
    hidden: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Say how far the model SPEC explains a log of real runs.

    Where it does not, and no --fault is given, the smallest sets of its fault switches are named
    that do.

    Ends with 0 where every run is explained, with 1 where one is not, with 2 where the log is none.
    """
    if output is not None:
        require_folder(output)
    spec = checker.load(spec_path)
    spec = at_bounds(spec, read_constants(spec, constants))
    candidate = read_candidate(spec, "+".join([spec.model(model).name, *faults]))
    log = read_log(log_path, spec)
    with checker.running() as run, Stages(quiet=as_json) as stages:
        graph = Models(spec, run, on_run=stages.graph)(candidate.model, candidate.faults)
        names = [name for text in hidden for name in text.split(",")]
        unseen = hidden_actions(log, spec, graph.graph.actions, names)
        found = [follow(each, graph, unseen) for each in log.runs]
        stopped = [i for i, each in enumerate(found) if each.stop]
        tried = None
        if stopped and not faults and spec.explain.switches:
            tried = explaining(log, spec, candidate.model, unseen, run, stages.graph)
    # An explanation without a step is no trace.
    whole = [each for each in found if not each.stop and each.path]
    if output is not None and whole:
        write_traces(output, [trace_of(each, graph, candidate.model) for each in whole])
    if as_json:
        data = {
            "module": spec.module,
            "model": candidate.model,
            "faults": sorted(candidate.faults),
            "hidden": sorted(unseen),
            "runs": [_run_data(each, graph) for each in found],
            "explained_by": _tried_data(tried, found, stopped) if tried else None,
        }
        print_json(data)
    else:
        screen = console()
        for item in (
            *_notes(log, unseen, chosen=bool(hidden)),
            *_report(found, graph),
            *(_mechanisms(tried, found, stopped) if tried else ()),
            *(_again(output, written=bool(whole)) if output else ()),
        ):
            screen.print(item, soft_wrap=isinstance(item, Text))
    return UNEXPLAINED if stopped else EXPLAINED


# -- for a screen ----------------------------------------------------------------------


def _notes(log: Log, hidden: frozenset[str], *, chosen: bool) -> Iterator[Text]:
    if hidden:
        why = "" if chosen else ", which the log names nowhere"
        names = ", ".join(sorted(hidden))
        yield Text(f"may have happened unseen: {names}{why}; in brackets where assumed", "dim")
    if log.unread:
        yield Text(
            f"not compared, because no TOML says where they are: the parameters of "
            f"{', '.join(sorted(log.unread))}",
            "yellow",
        )


def _report(found: Sequence[Validation], model: Model) -> Iterator[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("run")
    for title in ("lines", "explained", "hidden steps", "states left"):
        table.add_column(title, justify="right")
    for each in found:
        total = len(each.run.lines)
        table.add_row(
            each.run.name,
            str(total),
            Text(f"{each.explained} of {total}", "red" if each.stop else "green"),
            str(sum(taken.line is None for taken in each.path)),
            str(each.left),
        )
    yield table
    for each in sorted(found, key=lambda one: one.stop is None)[:SHOWN]:
        yield Text()
        steps = [_taken_text(taken, model) for taken in each.path]
        said = f"{each.run.name}: {', '.join(steps) or 'no step'}"
        yield Text(f"{said}, and then" if each.stop else said)
        if each.stop:
            yield Text(f"  line {each.stop.line.number}: {each.stop.sentence()}", "red")
            yield _allowed(each.stop)
    if len(found) > SHOWN:
        yield Text(f"\n... and {len(found) - SHOWN} more runs (--json)", "dim")


def _taken_text(taken: Taken, model: Model) -> str:
    text = step_text(taken.edge.action, params_of(taken.edge, model))
    return text if taken.line else f"[{text}]"


def _allowed(stop: Stop) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("  ", "step", *stop.line.state):
        table.add_column(title)
    logged = step_text(stop.line.action, stop.line.params.items())
    table.add_row("  the log", logged, *map(str, stop.line.state.values()))
    for number, each in enumerate(stop.allowed[:SHOWN]):
        values = [" or ".join(map(str, shown)) for shown in each.values.values()]
        text = step_text(each.action, each.params)
        table.add_row("" if number else "  allowed", text, *values)
    if len(stop.allowed) > SHOWN:
        table.add_row("", f"... and {len(stop.allowed) - SHOWN} more (--json)")
    return table


def _mechanisms(
    tried: Tried, found: Sequence[Validation], stopped: Sequence[int]
) -> Iterator[Text]:
    yield Text()
    for i in stopped[:SHOWN]:
        names = [_name(tried, each) for each in tried.smallest([i])]
        said = " or ".join(names) or f"none of the sets of at most {OWN} fault switches"
        yield Text.assemble((f"{found[i].run.name} is explained by ", "bold"), said)
    if len(found) > 1:
        names = [_name(tried, each) for each in tried.smallest(range(len(found)))]
        yield Text.assemble(("all runs are explained by ", "bold"), " or ".join(names) or "none")


def _name(tried: Tried, each: Mechanisms) -> str:
    where = "" if each.module == tried.module else f" of {each.module}"
    but = ", ".join(each.uncompared)
    told = f" (without comparing the parameters of {but})" if but else ""
    return f"{each.name}{where} ({', '.join(each.faults)}){told}"


def _again(output: Path, *, written: bool) -> Iterator[Text]:
    if not written:
        yield Text(f"\nno run is explained by steps, so {output} is not written", "yellow")
        return
    words = ["mbt", "replay", spec_as_typed(), "--adapter", "NAME", "--traces", str(output)]
    yield Text(f"\nto walk what is explained on an adapter: {shlex.join(words)}", "dim")


# -- for a program ---------------------------------------------------------------------


def _run_data(found: Validation, model: Model) -> dict[str, Any]:
    return {
        "run": found.run.name,
        "lines": len(found.run.lines),
        "explained": found.explained,
        "states_left": found.left,
        "path": [
            {
                "action": taken.edge.action,
                "params": _encoded(dict(params_of(taken.edge, model))),
                "line": taken.line,
            }
            for taken in found.path
        ],
        "stop": found.stop and _stop_data(found.stop),
    }


def _stop_data(stop: Stop) -> dict[str, Any]:
    return {
        "line": stop.line.number,
        "action": stop.line.action,
        "sentence": stop.sentence(),
        "states": stop.states,
        "differences": [
            {"variable": d.variable, "model": [*d.model], "log": d.observed}
            for d in stop.differences
        ],
        "allowed": [_allowed_data(each) for each in stop.allowed],
    }


def _allowed_data(each: Allowed) -> dict[str, Any]:
    return {
        "action": each.action,
        "params": _encoded(dict(each.params)),
        "values": {name: [to_json(v) for v in values] for name, values in each.values.items()},
    }


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_json(value) for name, value in values.items()}


def _tried_data(
    tried: Tried, found: Sequence[Validation], stopped: Sequence[int]
) -> dict[str, Any]:
    return {
        "all": _sets_data(tried.smallest(range(len(found)))),
        "runs": {found[i].run.name: _sets_data(tried.smallest([i])) for i in stopped},
    }


def _sets_data(sets: Sequence[Mechanisms]) -> list[dict[str, Any]]:
    return [
        {
            "module": s.module,
            "faults": [*s.faults],
            "name": s.name,
            "parameters_not_compared": [*s.uncompared],
        }
        for s in sets
    ]
