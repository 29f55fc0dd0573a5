"""mbt selfcheck: break the harness on purpose, and see that it shows as predicted."""

from __future__ import annotations

from pathlib import Path

import click

from adapters.host import HostError, MissingFramework
from mbt.commands.common import CheckerOptions, checker_options, receipts_option
from mbt.commands.progress import Stages
from mbt.commands.race_timing import show
from mbt.console import console, print_json
from replay.receipts import check_writable
from replay.selfcheck.plan import plan
from replay.selfcheck.run import measure
from replay.selfcheck.study import ABOUT, conforms, listings
from replay.studies import write_study
from tracegen.errors import MachineryError, MbtError

STUDY = "selfcheck"
AGREES, DIFFERS = 0, 1


@click.command()
@click.option(
    "--only", "only", multiple=True, metavar="OPERATOR", help="Only the operator of this name."
)
@click.option("--write", is_flag=True, help="Keep the receipt and its page.")
@receipts_option("Where receipts are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
@checker_options
def selfcheck(
    only: tuple[str, ...],
    write: bool,
    receipts: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Break the harness on purpose, and see that it shows as predicted.

    Operators break the ledger, the gates, the replayer, what is observed, the comparison, the
    explanation and the judging, one at a time and from outside; a fixed set of replays, on the
    reference engine, LangGraph and CrewAI, is made under each. What must change was registered
    beforehand (docs/selfcheck.md). Minutes for all of them.

    Ends with 0 where every operator came out as predicted, or as the record says why not; with 1
    where one did not, 2 on wrong use, 3 where the machinery failed.
    """
    known = plan()
    if unknown := [name for name in only if name not in known.operators]:
        raise MbtError(f"no operator is named {unknown[0]!r}; known: {', '.join(known.operators)}")
    if write:
        if only:
            raise MbtError("--write keeps the whole study; leave out --only")
        check_writable(receipts)
    with checker.running() as run, Stages(quiet=as_json) as stages:
        try:
            content = measure(known, only or [*known.operators], run, stages.traces)
        except MissingFramework as error:
            install = 'pip install "tla-mbt[langgraph,crewai]"'
            raise MbtError(f"{error}; install it with: {install}") from error
        except HostError as error:
            raise MachineryError(str(error)) from error
    path = write_study(receipts, STUDY, content) if write else None
    if as_json:
        print_json(content)
    else:
        console().print(f"{ABOUT}\n", style="dim")
        show(listings(content))
    if path:
        click.echo(f"receipt: {path}", err=as_json)
    return AGREES if conforms(content) else DIFFERS
