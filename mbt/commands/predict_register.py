"""`mbt predict register`: write down what a model says that each trace will show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from mbt.commands.common import (
    CheckerOptions,
    checker_options,
    chosen_options,
    named_adapter,
    packaged_modules,
    receipts_option,
    require_text,
    spec_argument,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.models import Models
from replay.parts import Selection, plan_parts
from replay.prediction.candidates import Candidate, at_bounds, read_candidate, read_constants
from replay.prediction.chain import REGISTRATION, read_link
from replay.prediction.predictions import write_index
from replay.prediction.registered import open_subject
from replay.prediction.registration import Prediction, portable
from replay.prediction.registration import register as write_down
from replay.prediction.walks import walk
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace


@click.command()
@spec_argument
@click.option(
    "--model",
    required=True,
    metavar="M",
    help="The model that predicts: a named one, or M+SWITCH+..., its bounds under these switches.",
)
@click.option("--against", metavar="M", help="A rival, which is expected not to admit the runs.")
@click.option(
    "--constant",
    "constants",
    multiple=True,
    metavar="K=V",
    help="Another bound than the named models have, V in TLA+.",
)
@click.option("--adapter", "name", required=True, metavar="NAME", help="A name, or FILE.py:CLASS.")
@click.option("--option", "chosen", multiple=True, metavar="K=V", help="As for `mbt replay`.")
@click.option(
    "--with",
    "release",
    metavar="NAME==VERSION",
    help="Another release of the framework, in an environment of its own.",
)
@click.option(
    "--traces",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The traces, behaviours of M (see `mbt traces`).",
)
@click.option("--only", multiple=True, metavar="TRACE", help="Only the trace of this name.")
@click.option(
    "--walk",
    "walks",
    multiple=True,
    metavar="NAME=STEPS",
    help='A trace that is spelt out: "stray=ExecTask EmitInterrupt Consume(v1) ...".',
)
@click.option("--title", required=True, help="What is predicted, in a line.")
@click.option("--why", default="", help="What makes one think so.")
@click.option("--replication", is_flag=True, help="The outcome is known: counted apart.")
@receipts_option("Where registrations are kept, below predictions/.")
@click.option("--json", "as_json", is_flag=True, help="Print the registration.")
@checker_options
def register(
    spec_path: Path,
    model: str,
    against: str | None,
    constants: tuple[str, ...],
    name: str,
    chosen: tuple[str, ...],
    release: str | None,
    file: Path | None,
    only: tuple[str, ...],
    walks: tuple[str, ...],
    title: str,
    why: str,
    replication: bool,
    receipts: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Register what a model of SPEC says that each trace will show on a system.

    The registration has to be committed before `mbt predict run` measures it. It is refused where
    the receipts hold the same already, and where M and its rival say the same of all traces.
    """
    require_text(title, "--title")
    if why:
        require_text(why, "--why")
    if only and file is None:
        raise MbtError("--only names traces of a file: give it with --traces")
    spec = checker.load(spec_path)
    bounds = read_constants(spec, constants)
    spec = at_bounds(spec, bounds)
    candidate = read_candidate(spec, model)
    rival = read_candidate(spec, against) if against else None
    if rival and rival.model != candidate.model:
        raise MbtError(
            f"{rival.text} is at other bounds than {candidate.text}: "
            f"name a rival at the same ones, as {candidate.model}+SWITCH"
        )
    adapter, _ = named_adapter(name)
    options = chosen_options(adapter, name, chosen)
    packaged = packaged_modules().get(spec.module) == spec_path
    where, _, class_name = name.rpartition(":")
    with checker.running() as run, Stages(quiet=as_json) as stages:
        models = Models(spec, run, on_run=stages.graph)
        prediction = Prediction(
            spec=spec,
            typed=spec.module if packaged else portable(spec_path, receipts.absolute().parent),
            constants=bounds,
            candidate=candidate,
            rival=rival,
            traces=_traces(spec, candidate, models, run, file, only, walks),
            title=title,
            why=why,
            replication=replication,
        )
        processes = run["processes"]
        assert processes is not None
        subject = open_subject(name, options, release, processes)
        if where.endswith(".py"):
            called = f"{portable(Path(where), receipts.absolute().parent)}:{class_name}"
            subject = replace(subject, name=called)
        folder = write_down(receipts, prediction, subject, models, run)
    write_index(receipts)
    if as_json:
        print_json(read_link(folder / REGISTRATION).content)
    else:
        screen = console()
        screen.print(f"registered: {folder}", soft_wrap=True)
        number = folder.name.partition("-")[0]
        screen.print(
            f"commit it, the manifest and the index, then: mbt predict run {number}",
            style="dim",
            soft_wrap=True,
        )
    return 0


def _traces(
    spec: Spec,
    candidate: Candidate,
    models: Models,
    run: RunOptions,
    file: Path | None,
    only: Sequence[str],
    walks: Sequence[str],
) -> tuple[Trace, ...]:
    """The traces of a file, and those that are spelt out."""
    traces: list[Trace] = []
    if file is not None:
        parts = plan_parts(spec, Selection(file=file, only=tuple(only)), run)
        traces = [trace for part in parts for trace in part.traces]
        if odd := next((t for t in traces if t.model != candidate.model), None):
            raise MbtError(
                f"{file}: trace {odd.name} is of model {odd.model}, not of {candidate.model}"
            )
    for text in walks:
        name, equals, steps = text.partition("=")
        if not equals or not name:
            raise MbtError(f"--walk {text}: write it as NAME=STEPS")
        require_text(name, "the name of a --walk")
        graph = models(candidate.model, candidate.faults)
        traces.append(walk(spec, graph, candidate.model, name, steps))
    if not traces:
        raise MbtError("there is no trace to predict anything of; give --traces or --walk")
    names = [trace.name for trace in traces]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise MbtError(f"there are two traces {twice}; give each a name of its own")
    return tuple(traces)
