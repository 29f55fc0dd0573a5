"""What a person sees of an explanation: the sets that were tried, what happened, what separates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from replay.explanation.apart import Decision, Relation
from replay.explanation.explained import Account, Candidate, account_data
from replay.explanation.search import most_switches
from tracegen.trace import Trace

SHOWN = 10
"""Sets in the table, those that admit most; --json has all that were tried."""


def report(account: Account) -> Iterator[RenderableType]:
    """What explains the runs of a receipt."""
    yield Text(
        f"{account.evidence.folder}: {_runs(len(account.runs))}, {len(account.diverging)} "
        "diverging\n"
    )
    for candidate in account.whole:
        said = account.sentence(candidate, account.diverging)
        called = _called(account, candidate)
        told = said and said != called
        yield Text(f"{said}: {called}" if told else f"{called} admits every run")
    if not account.whole:
        tried = (
            f"at most {most_switches(attempt.spec)} of {attempt.spec.module}"
            for attempt in account.attempts
        )
        yield Text(f"none: no set of switches that was tried admits every run: {', '.join(tried)}")
    yield Text()
    yield from _tried(account)
    if account.diverging:
        yield Text()
    for sets, which in account.groups.items():
        first = account.divergence(which[0])
        called = " or ".join(_called(account, each) for each in sets) or "none"
        said = account.sentence(sets[0], which) if sets else first.sentence() if first else ""
        name = account.runs[which[0]].record.trace
        yield Text(f"{_runs(len(which))} ({name} first), {called}: {said}")


def _tried(account: Account) -> Iterator[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("switches", "admits", "stops first", "variable", "the set has", "seen"):
        table.add_column(title, overflow="fold")
    tried = account_data(account)["tried"]
    for row in tried[:SHOWN]:
        admits = f"{row['admits']} of {len(account.runs)}"
        stop = _stop(row["stop"]) if row["stop"] else ()
        table.add_row(_named(account, row["name"], row["module"]), admits, *stop)
    yield table
    if len(tried) > SHOWN:
        yield Text(f"... and {len(tried) - SHOWN} more sets (--json)", "dim")


def _stop(stop: Mapping[str, Any]) -> tuple[str, str, str, str]:
    at = "the end" if stop["step"] is None else f"step {stop['step'] + 1}"
    where = f"{stop['run']}, {at}, {stop['action'] or 'the start'}"
    if not stop["differences"]:
        return where, "", "not allowed there", ""
    first, *more = stop["differences"]
    beside = f" and {len(more)} more" if more else ""
    return where, f"{first['variable']}{beside}", " or ".join(first["model"]), first["observed"]


def told_apart(
    account: Account, apart: Sequence[tuple[Relation, Sequence[Decision]]]
) -> Iterator[RenderableType]:
    """What tells the sets that explain the same runs apart."""
    if not apart:
        which = "all runs at once" if account.whole else "any run"
        yield Text(f"\nno two sets explain {which}: there is nothing to tell apart")
    for relation, decisions in apart:
        yield Text(f"\n{relation.sentence()}")
        yield from (Text(f"  {trace.name}: {_steps(trace)}") for trace in relation.traces)
        for decision in decisions:
            left = " and ".join(_called(account, c) for c in decision.left) or "none of them"
            yield Text(f"  replayed {decision.trace.name}: left is {left}")


def _steps(trace: Trace) -> str:
    return ", ".join(
        f"{step.action}({', '.join(f'{n}={v}' for n, v in step.params.items())})"
        for step in trace.steps
    )


def _called(account: Account, candidate: Candidate) -> str:
    return _named(account, candidate.name, candidate.module)


def _named(account: Account, name: str, module: str) -> str:
    return name if module == account.evidence.spec.module else f"{name} ({module})"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
