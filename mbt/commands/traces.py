"""mbt traces: write the traces that cover a model to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from mbt.commands.common import (
    CheckerOptions,
    Choice,
    bounds_options,
    checker_choice,
    checker_options,
    refuse_seed,
    spec_argument,
)
from mbt.console import print_json
from tracegen.errors import MbtError
from tracegen.from_itf import read_itf_file
from tracegen.from_tlc import read_tlc_file
from tracegen.itf import is_itf, itf_of_trace, write_itf
from tracegen.naming import Behaviour, trace_name
from tracegen.select import COVERS, SAMPLED, Bounds, bounds_used, bounds_words, select_traces
from tracegen.sources import traces_of
from tracegen.spec import Model, Spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace, write_traces


@click.command()
@spec_argument
@click.argument("more", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--model", metavar="M", help="Which model; needed where there are several.")
@click.option(
    "--cover",
    type=click.Choice(COVERS),
    default="transitions",
    show_default=True,
    help="What the traces cover.",
)
@bounds_options
@click.option(
    "--from-itf",
    "itf_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE...",
    help="Traces of Apalache, Quint and others instead, in ITF.",
)
@click.option(
    "--from-tlc",
    "tlc_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE...",
    help="Traces in what TLC wrote instead: its output, with or without -tool, or files of "
    "-simulate file=.",
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Where to write, a trace a line; - for standard output. A name that ends in .itf.json "
    "gets one trace in ITF, or with {name} in it a file for each.",
)
@click.option(
    "--view",
    metavar="DEFINITION",
    help="With apalache, up to --count counterexamples that differ in it, not one alone.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@checker_choice
@checker_options
def traces(
    spec_path: Path,
    more: tuple[Path, ...],
    model: str | None,
    cover: str,
    bounds: Bounds,
    itf_files: tuple[Path, ...],
    tlc_files: tuple[Path, ...],
    target: Path,
    view: str | None,
    as_json: bool,
    choice: Choice,
    checker: CheckerOptions,
) -> None:
    """Choose traces of a model of SPEC and write them as JSON lines, for `mbt replay --traces`.

    Over states, transitions and pairs of transitions they are as few as can be. Walks (uniform, or
    weighted to what was not covered) and TLC's simulation are a sample, the same for equal seeds.

    Of Apalache come counterexamples and simulations; TLC names the actions of their steps.

    With --from-itf or --from-tlc the traces are those of files; where steps have no action's name,
    the state graph of the model gives them one.
    """
    files = _files(more, itf_files, tlc_files)
    if choice.length is not None:
        refuse_seed()
    elif view is not None:
        raise MbtError("--view is for --checker apalache")
    spec = checker.load(spec_path)
    name = spec.model(model).name
    notes: list[str] = []
    with checker.running() as run:
        symbolic = choice.open(run, view)
        if files:
            chosen, notes = _of_files(spec, spec.model(name), files, run)
        else:
            chosen = select_traces(spec, name, cover, run, bounds, symbolic)
    for note in notes:
        click.echo(f"mbt: note: {note}", err=True)
    if str(target) == "-":
        sys.stdout.writelines(f"{trace.line}\n" for trace in chosen)
        return
    written = _write(target, chosen)
    steps = [len(trace.steps) for trace in chosen]
    if as_json:
        used = symbolic.bounds(cover, bounds) if symbolic else bounds_used(cover, bounds)
        covered = {
            "cover": cover,
            "sampled": cover in SAMPLED,
            "bounds": used,
            "checker": "Apalache" if symbolic else "TLC",
        }
        read = {"from": [str(path) for path, _ in files], "notes": notes}
        print_json(
            {
                "file": str(target),
                "files": [str(path) for path in written],
                "module": spec.module,
                "model": name,
                **(read if files else covered),
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
        if files:
            return
        if symbolic and cover in SAMPLED:
            click.echo("a sample, not all there is; Apalache takes no seed to repeat it by")
        elif cover in SAMPLED:
            again = " ".join(bounds_words(cover, bounds))
            click.echo(f"a sample, not all there is; the same again: --cover {cover} {again}")


_Reader = Callable[[Spec, Model, Path], list[Behaviour]]


def _files(
    more: tuple[Path, ...], itf: tuple[Path, ...], tlc: tuple[Path, ...]
) -> list[tuple[Path, _Reader]]:
    """The files to read traces from, with what reads them; none where a cover chooses the traces.

    A pattern of the shell gives the option its first file, and the others are arguments.
    """
    if more and bool(itf) == bool(tlc):
        raise MbtError(f"{more[0]}: say what it is, with either --from-itf or --from-tlc before it")
    source_of = click.get_current_context().get_parameter_source
    for option in ("cover", "depth", "count", "seed", "view", "kind") if itf or tlc else ():
        if source_of(option) is not click.core.ParameterSource.DEFAULT:
            word = "checker" if option == "kind" else option
            raise MbtError(f"--{word} chooses traces of the model; files have theirs: leave it out")
    itf, tlc = (*itf, *(more if itf else ())), (*tlc, *(more if tlc else ()))
    return [*((path, _itf) for path in itf), *((path, read_tlc_file) for path in tlc)]


def _itf(spec: Spec, model: Model, path: Path) -> list[Behaviour]:
    return [read_itf_file(spec, model, path)]


def _of_files(
    spec: Spec, model: Model, files: Sequence[tuple[Path, _Reader]], run: RunOptions
) -> tuple[list[Trace], list[str]]:
    behaviours = [found for path, read in files for found in read(spec, model, path)]
    return traces_of(spec, model, behaviours, run)


def _write(target: Path, chosen: Sequence[Trace]) -> list[Path]:
    """Write the traces in the form that the name of the file asks for, and say where they are."""
    itf = is_itf(target)
    each = itf and "{name}" in target.name
    if itf and not each and len(chosen) != 1:
        raise MbtError(
            f"{target}: ITF has one trace a file, and there are {len(chosen)}; "
            "write -o 'x_{name}.itf.json', which becomes a file for each"
        )
    names = [trace_name(trace.name) if each else "" for trace in chosen]
    files = [target.with_name(target.name.replace("{name}", name)) for name in names]
    try:
        if not itf:
            write_traces(target, chosen)
            return [target]
        for path, trace in zip(files, chosen, strict=True):
            write_itf(path, itf_of_trace(trace))
    except OSError as error:
        raise MbtError(f"cannot write {target}: {error.strerror}") from None
    return files


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
