"""mbt traces: write the traces that cover a model to a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mbt.commands.common import CheckerOptions, checker_options, spec_argument
from mbt.console import print_json
from tracegen.errors import MbtError
from tracegen.select import COVERS, Bounds, select_traces
from tracegen.trace import Trace, write_traces


@click.command()
@spec_argument
@click.option("--model", metavar="M", help="Which model; needed where there are several.")
@click.option(
    "--cover",
    type=click.Choice(COVERS),
    default="transitions",
    show_default=True,
    help="What the traces cover.",
)
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=Bounds.depth,
    show_default=True,
    help="Steps of a path or a walk.",
)
@click.option(
    "--count",
    type=click.IntRange(1),
    default=Bounds.number,
    show_default=True,
    help="How many walks.",
)
@click.option(
    "--seed",
    type=int,
    default=Bounds.seed,
    show_default=True,
    help="Of the walks; equal seeds, equal walks.",
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Where to write, a trace a line; - for standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@checker_options
def traces(
    spec_path: Path,
    model: str | None,
    cover: str,
    depth: int,
    count: int,
    seed: int,
    target: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> None:
    """Choose traces of a model of SPEC and write them as JSON lines, for `mbt replay --traces`.

    Over states, transitions and pairs of transitions they are as few as can be.
    """
    spec = checker.load(spec_path)
    name = spec.model(model).name
    with checker.running() as run:
        chosen = select_traces(spec, name, cover, run, Bounds(depth, count, seed))
    if str(target) == "-":
        sys.stdout.writelines(f"{trace.line}\n" for trace in chosen)
        return
    try:
        write_traces(target, chosen)
    except OSError as error:
        raise MbtError(f"cannot write {target}: {error.strerror}") from None
    steps = [len(trace.steps) for trace in chosen]
    if as_json:
        print_json(
            {
                "file": str(target),
                "module": spec.module,
                "model": name,
                "cover": cover,
                "traces": len(chosen),
                "steps": sum(steps),
                "longest": max(steps, default=0),
                "transitions": _transitions(chosen),
            }
        )
    else:
        click.echo(
            f"{target}: {len(chosen):,} traces, {sum(steps):,} steps, {max(steps, default=0)} the "
            f"longest, over {_transitions(chosen):,} transitions of {spec.module} {name}"
        )


def _transitions(chosen: list[Trace]) -> int:
    """How many different transitions they take."""
    taken = set()
    for trace in chosen:
        before = tuple(trace.initial.values())
        for step in trace.steps:
            after = tuple(step.state.values())
            taken.add((before, step.action, after))
            before = after
    return len(taken)
