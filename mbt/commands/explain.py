"""mbt explain: say which mechanisms account for the runs of a receipt, and tell them apart."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from adapters.host import HostError, MissingFramework
from adapters.services import ServiceError
from mbt.commands.common import (
    CheckerOptions,
    checker_options,
    receipt_folder,
    receipts_option,
    spec_path,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from mbt.explained_studies import every, planted_faults
from replay.explanation import explanations, planted
from replay.explanation.apart import Decision, Relation, decide, relate
from replay.explanation.explained import (
    Account,
    Candidate,
    Evidence,
    account_data,
    account_of,
    candidate_data,
    evidence_of,
    graphs_of,
)
from replay.explanation.explained_tables import report, told_apart
from replay.receipts import check_writable, divergence_data
from replay.reopened import reopen
from replay.studies import study, write_study
from tracegen.errors import MachineryError, MbtError
from tracegen.trace import Trace

EXPLAINED, UNEXPLAINED = 0, 1


@click.command()
@click.argument("receipt", metavar="[RECEIPT]", required=False)
@click.option("--part", metavar="P", help="Only the runs of this part of the receipt.")
@click.option("--run", "trace", metavar="NAME", help="Only the run of this name.")
@click.option("--spec", "spec_text", metavar="SPEC", help="The module, where it is not mbt's own.")
@click.option(
    "--separate",
    is_flag=True,
    help="Where several sets explain the runs: a shortest trace that one of two does not admit, "
    "or that they have the same runs.",
)
@click.option("--replay", "walk", is_flag=True, help="Replay each separating trace, to decide.")
@click.option(
    "--every",
    "wanted",
    flag_value=explanations.NAME,
    help="Explain every receipt of rows.toml that has runs that diverge.",
)
@click.option(
    "--planted",
    "wanted",
    flag_value=planted.NAME,
    help="Plant each fault and each two in the reference engine, and explain those.",
)
@click.option(
    "--write", is_flag=True, help="With --every or --planted: keep it as a study of the receipts."
)
@receipts_option("Where the receipts are.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@checker_options
def explain(
    receipt: str | None,
    part: str | None,
    trace: str | None,
    spec_text: str | None,
    separate: bool,
    walk: bool,
    wanted: str | None,
    write: bool,
    receipts: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Explain the runs of RECEIPT, a folder that `mbt replay` wrote, or its name below --receipts.

    Tried are the fault switches of the receipt's module, the fewest first, and where they do not
    do, those of its companions. The stored runs are enough: no framework is needed but for
    --replay.

    Ends with 0 where some set of switches admits all runs, with 1 where none does.
    """
    if (wanted is None) == (receipt is None):
        raise MbtError("name one RECEIPT, or ask for --every or --planted")
    if write and wanted is None:
        raise MbtError("--write keeps what --every or --planted finds; add one of them")
    if walk and not separate:
        raise MbtError("--replay walks what --separate finds; add --separate")
    if wanted and (part or trace or separate or spec_text):
        raise MbtError("--part, --run, --spec and --separate are for one RECEIPT; leave them out")
    with checker.running() as run, Stages(quiet=as_json) as stages:
        if wanted is not None:
            if write:
                check_writable(receipts)
            found = (
                every(receipts, run, stages)
                if wanted == explanations.NAME
                else planted_faults(run, stages)
            )
            return _study(receipts, wanted, found, write=write, as_json=as_json)
        folder = receipt_folder(str(receipt), receipts)
        opened = reopen(folder, spec_path(spec_text) if spec_text else None)
        evidence = _selected(evidence_of(opened), part, trace)
        account = account_of(evidence, graphs_of(run, stages.graph), stages.traces)
        apart = [*_apart(account, walk=walk)] if separate else []
    if as_json:
        told = [{**_relation_data(r), "replayed": [*map(_decision_data, d)]} for r, d in apart]
        print_json({**account_data(account), **({"separations": told} if separate else {})})
    else:
        screen = console()
        for item in (*report(account), *(told_apart(account, apart) if separate else ())):
            screen.print(item, soft_wrap=isinstance(item, Text))
    return EXPLAINED if account.whole else UNEXPLAINED


def _selected(evidence: Evidence, part: str | None, trace: str | None) -> Evidence:
    if part is not None and part not in evidence.models:
        known = ", ".join(map(repr, evidence.models))
        raise MbtError(f"{evidence.folder}: no part {part!r}; known: {known}")
    runs = tuple(run for run in evidence.runs if part in (None, run.part))
    if trace is not None:
        names = [run.record.trace for run in runs]
        if trace not in names:
            raise MbtError(
                f"{evidence.folder}: no run {trace!r}; there are {names[0]} to {names[-1]}"
            )
        runs = tuple(run for run in runs if run.record.trace == trace)
    return replace(evidence, runs=runs)


def _study(
    receipts: Path, name: str, found: Mapping[str, Any], *, write: bool, as_json: bool
) -> int:
    if write:
        write_study(receipts, name, found)
    if as_json:
        print_json(found)
    else:
        console().print(study(name).page(found), soft_wrap=True)
    whole = planted.holds if name == planted.NAME else explanations.whole
    return EXPLAINED if all(map(whole, found["rows"])) else UNEXPLAINED


# -- telling apart ---------------------------------------------------------------------


def _apart(account: Account, *, walk: bool) -> Iterator[tuple[Relation, list[Decision]]]:
    """Each two of the sets that explain the same runs, as long as both are left."""
    several = [account.whole] if account.whole else [*account.groups]
    for candidates in several:
        out: set[Candidate] = set()
        for first, second in itertools.combinations(candidates, 2):
            if not out & {first, second}:
                relation = relate(account, first, second)
                decisions = [_decide(account, t, candidates) for t in relation.traces if walk]
                out |= {c for d in decisions for c in candidates if c not in d.left}
                yield relation, decisions


def _decide(account: Account, trace: Trace, candidates: Sequence[Candidate]) -> Decision:
    adapter = account.evidence.adapter_name
    try:
        return decide(account, trace, candidates)
    except (MissingFramework, ServiceError) as error:
        raise MbtError(f"adapter {adapter}: {error}") from error
    except HostError as error:
        raise MachineryError(str(error)) from error


def _relation_data(relation: Relation) -> dict[str, Any]:
    return {
        "first": candidate_data(relation.first),
        "second": candidate_data(relation.second),
        "same_runs": relation.equal,
        "bounds": [*relation.bounds],
        "pairs": relation.pairs,
        "only_first": relation.only_first and json.loads(relation.only_first.line),
        "only_second": relation.only_second and json.loads(relation.only_second.line),
        "sentence": relation.sentence(),
    }


def _decision_data(decision: Decision) -> dict[str, Any]:
    return {
        "trace": decision.trace.name,
        "left": [*map(candidate_data, decision.left)],
        "stops": [
            {**candidate_data(candidate), "stop": stop and divergence_data(stop)}
            for candidate, stop in decision.stops.items()
        ],
    }
