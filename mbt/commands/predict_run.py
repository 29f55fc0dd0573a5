"""`mbt predict run`: measure what was registered and committed, once."""

from __future__ import annotations

import os
from pathlib import Path

import click

from adapters.host import HostError, MissingFramework
from adapters.services import ServiceError
from mbt.commands.common import CheckerOptions, checker_options, chosen_options, receipts_option
from mbt.commands.predict_show import print_outcome
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.models import Models
from replay.prediction.chain import OUTCOME, folder_of, read_link
from replay.prediction.prediction_run import require_open, require_unchanged, run_prediction
from replay.prediction.predictions import write_index
from replay.prediction.registered import open_registered
from replay.stored import reading
from tracegen.errors import MachineryError, MbtError

CONFIRMED, NOT_CONFIRMED = 0, 1


@click.command()
@click.argument("identifier", metavar="ID")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=None,
    help="Traces at a time; by default one a core.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a process may take for one step.",
)
@receipts_option("Where registrations are kept.", exists=True)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome.")
@checker_options
def run(
    identifier: str,
    jobs: int | None,
    limit: float,
    receipts: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Measure the prediction ID: confirmed, refuted or undecided, a trace.

    It is refused where the registration is not committed, or where anything that it names is not
    what it was: modules, configurations, traces, adapter, options, releases.

    Ends with 0 where all of it is confirmed, 1 where it is not, 2 where it may not be run, 3 where
    the machinery failed (nothing is written then, and it can be run again).
    """
    folder = folder_of(receipts, identifier)
    require_open(receipts, folder)
    with checker.running() as options, Stages(quiet=as_json) as stages:
        processes = options["processes"]
        assert processes is not None
        here = open_registered(folder, processes)
        subject = here.subject
        given = [f"{name}={value}" for name, value in subject.options.items()]
        if chosen_options(subject.adapter, subject.name, given) != subject.options:
            raise MbtError(f"{here.link.path}: adapter {subject.name} has other options now")
        models = Models(here.spec, options, on_run=stages.graph)
        try:
            with reading(here.link.path):
                require_unchanged(here, options)
            run_prediction(
                receipts,
                here,
                models,
                options,
                jobs=jobs or os.cpu_count() or 1,
                limit=limit,
                progress=stages.traces,
            )
        except (MissingFramework, ServiceError) as error:
            raise MbtError(f"adapter {subject.name}: {error}") from error
        except HostError as error:
            raise MachineryError(str(error)) from error
    write_index(receipts)
    outcome = read_link(folder / OUTCOME).content
    if as_json:
        print_json(outcome)
    else:
        print_outcome(console(), folder, outcome)
    return CONFIRMED if outcome["outcome"] == "confirmed" else NOT_CONFIRMED
