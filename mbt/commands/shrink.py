"""mbt shrink: from a trace that fails to a shortest one that fails in the same way."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from adapters.base import Adapter
from adapters.host import HostError, MissingFramework
from adapters.services import ServiceError
from mbt.commands.common import (
    CheckerOptions,
    checker_options,
    chosen_options,
    named_adapter,
    packaged_modules,
    receipt_folder,
    receipts_option,
    require_folder,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.models import Models
from replay.receipts import check_writable, divergence_data, run_data
from replay.reopened import Reopened, reopen
from replay.rows import read_rows
from replay.shrinking.shrink_run import ShrunkRun, shrink_run
from replay.shrinking.shrunk import measure, page, problems
from replay.studies import write_study
from replay.tables import walk_picture
from tracegen.errors import MachineryError, MbtError
from tracegen.trace import write_traces

SHRUNK = 0
STUDY = "shrunk"


@click.command()
@click.argument("receipt", required=False)
@click.option(
    "--trace",
    "name",
    metavar="TRACE",
    help="Which of its runs.  [default: a shortest one that violates a property, else diverges]",
)
@click.option(
    "--spec",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The module of the receipt, where it is none of those that come with mbt.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the shrunk trace goes, for mbt replay --traces.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=None,
    help="Paths at a time; by default one a core.",
)
@click.option(
    "--every", is_flag=True, help="A run of each row of the conformance table that fails."
)
@click.option("--write", is_flag=True, help="Keep what --every came to, and its page.")
@receipts_option("Where the receipts are.")
@click.option("--json", "as_json", is_flag=True, help="Print both traces and what came of them.")
@checker_options
def shrink(
    receipt: str | None,
    name: str | None,
    spec: Path | None,
    output: Path | None,
    jobs: int | None,
    every: bool,
    write: bool,
    receipts: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Shrink a trace of RECEIPT that fails.

    RECEIPT is the folder of a receipt, or its name below --receipts. Steps are left out as long as
    what is left is a path of the model, and its run on the system diverges at the same action by
    the same variables and violates the same properties.

    Ends with 0 where it came to an end, 2 where nothing fails, 3 where the machinery failed.
    """
    if every == (receipt is not None) or (write and not every):
        raise MbtError(
            "name a RECEIPT, or say --every (and then --write, to keep what it comes to)"
        )
    jobs = jobs or os.cpu_count() or 1
    if receipt is None:
        return _every(receipts, jobs, write, as_json, checker)
    if output is not None:
        require_folder(output)
    opened = reopen(receipt_folder(receipt, receipts), spec)
    run = opened.failing_run(name)
    adapter, reference = named_adapter(opened.adapter)
    given = [f"{option}={value}" for option, value in opened.options.items()]
    if chosen_options(adapter, opened.adapter, given) != opened.options:
        raise MbtError(f"{receipt}: adapter {opened.adapter} has other options now")
    with checker.running() as checking, Stages(quiet=as_json) as stages, _framework():
        found = shrink_run(
            opened,
            run,
            adapter,
            reference,
            Models(opened.spec, checking, on_run=stages.graph),
            checking,
            jobs=jobs,
            progress=stages.traces,
        )
    if output is not None:
        write_traces(output, [found.after])
    if as_json:
        print_json(_data(found))
    else:
        _print(opened, adapter, found, output)
    return SHRUNK


@contextmanager
def _framework() -> Iterator[None]:
    """What a framework's machinery fails with, as what a command ends with."""
    try:
        yield
    except (MissingFramework, ServiceError) as error:
        raise MbtError(str(error)) from error
    except HostError as error:
        raise MachineryError(str(error)) from error


def _every(receipts: Path, jobs: int, write: bool, as_json: bool, checker: CheckerOptions) -> int:
    """Shrink a run of each row of the conformance table that fails."""
    rows = [row for row in read_rows(receipts) if row.framework]
    if write:
        check_writable(receipts)
    with checker.running() as checking, Stages(quiet=as_json) as stages, _framework():
        content = measure(
            rows, checking, jobs, lambda _, done, all_: stages.traces("rows", done, all_)
        )
    if wrong := [*problems(content)]:
        raise MachineryError(f"what was measured contradicts itself: {wrong[0]}")
    path = write_study(receipts, STUDY, content) if write else None
    if as_json:
        print_json(content)
    else:
        print(page(content), end="")
    if path:
        click.echo(f"mbt: receipt: {path}", err=True)
    return SHRUNK


def _data(found: ShrunkRun) -> dict[str, object]:
    shrunk = found.shrunk
    return {
        "trace": found.before.name,
        "fails": shrunk.after.failure.text,
        "before": [step.action for step in found.before.steps],
        "after": [step.action for step in found.after.steps],
        "replayed": shrunk.replayed,
        "shorter_paths": shrunk.shorter,
        "divergence": found.divergence and divergence_data(found.divergence),
        "run": run_data(found.before.name, shrunk.after.record),
    }


def _print(
    receipt: Reopened, adapter: type[Adapter], found: ShrunkRun, output: Path | None
) -> None:
    screen, shrunk = console(), found.shrunk
    before, after = len(found.before.steps), len(found.after.steps)
    shorter = (
        "which paths of the model are shorter, there are too many to try"
        if shrunk.shorter is None
        else f"none of the model's {shrunk.shorter} shorter paths fails like that"
    )
    screen.print(
        f"{found.before.name}: {before} steps, {after} left; {shrunk.replayed} other paths "
        f"replayed; {shorter}",
        soft_wrap=True,
    )
    screen.print(f"it {shrunk.after.failure.text}", soft_wrap=True)
    if found.divergence:
        screen.print(found.divergence.sentence(), soft_wrap=True)
    screen.print()
    screen.print(walk_picture(found.after, shrunk.after.record, found.divergence))
    if output is not None:
        spec = receipt.spec
        ours = packaged_modules().get(spec.module) == spec.path
        words = ["mbt", "replay", spec.module if ours else str(spec.path)]
        words += ["--adapter", receipt.adapter]
        for name, value in receipt.options.items():
            if value != adapter.options[name].default:
                words += ["--option", f"{name}={value}"]
        # Named alone, the trace is shown step by step, and no second pass follows.
        again = shlex.join([*words, "--traces", str(output), "--only", found.after.name])
        screen.print(f"\nthe same again: {again}", style="dim", soft_wrap=True)
