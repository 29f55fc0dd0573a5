"""The cells of the conformance table, measured: from the receipts of a row alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.rows import Receipt, Row

PROPERTIES = ("PC", "EO", "FD", "CV", "CO", "RD")
COUNT, INTENT, PROGRESS = "CO-c", "FI", "liveness"
COLUMNS = ("PC", "EO", "FD", "CV", "CO", COUNT, "RD", INTENT, PROGRESS)
SEQUENTIAL, RACED = "ResumeContract", "R11_ConsumeCount"
"""The modules that have the columns' properties: all but CO-c, and CO-c."""
FORK, RACE, CRASH = "ForkResume", "RaceConsume", "CrashRecover"
CRASHES = {CRASH, "CrashWhileParked"}
NEEDS = {"FD": FORK, INTENT: FORK, COUNT: RACE, PROGRESS: CRASH}
"""Columns that nothing but one action provokes."""
TITLES = {
    "PC": "prefix continuation",
    "EO": "effect exactly-once",
    "FD": "fork determinism",
    "CV": "checkpoint validity",
    "CO": "consume-once, one delivery after the other",
    COUNT: "consume-once, two consumers that both read before either consumed",
    "RD": "recovery determinism",
    INTENT: "fork intent: a fork can be asked for, and is not refused",
    PROGRESS: "a run that was recovered comes to its end",
}


@dataclass(frozen=True)
class Measured:
    """What replays came to in one cell.

    Attributes:
        verdict: "holds", "violated", or why it is neither.
        receipt: the folder that says so, relative to the receipts; None without one.
        note: how it shows, in a phrase.
        silent: a state that breaks its schema was stored, and no error was raised on the way.
    """

    verdict: str
    receipt: str | None = None
    note: str = ""
    silent: bool = False


@dataclass(frozen=True)
class Evidence:
    """A receipt with its runs, as dictionaries of runs.jsonl."""

    row: Row
    receipt: Receipt
    runs: Sequence[Mapping[str, Any]]


def read_evidence(row: Row) -> Evidence:
    """Read a row's receipt. Raises MbtError where there is none."""
    receipt = row.receipt()
    with (row.folder / "runs.jsonl").open(encoding="utf-8") as lines:
        return Evidence(row, receipt, [json.loads(line) for line in lines])


def measure(evidence: Sequence[Evidence]) -> dict[str, Measured]:
    """Every column, from the receipts of one framework in one form, one a module."""
    by_module = {each.row.module: each for each in evidence}
    cells = {name: _property(by_module.get(SEQUENTIAL), name) for name in PROPERTIES}
    cells[COUNT] = _raced(by_module.get(RACED))
    planes = [each for each in evidence if "PC" in each.receipt["properties"]]
    cells["RD"] = _determinism(cells["RD"], planes)
    cells[INTENT] = _gravest([_intent(each) for each in planes])
    cells[PROGRESS] = _gravest([_progress(each) for each in planes])
    return {name: _or_not_expressible(cells[name], NEEDS.get(name), evidence) for name in COLUMNS}


def stuck(cells: Mapping[str, Measured]) -> bool:
    """Whether no run at all went on after a crash: what then holds, holds since nothing happens."""
    progress = cells[PROGRESS]
    return progress.verdict == "violated" and progress.note.startswith("none of")


def _raced(evidence: Evidence | None) -> Measured:
    """CO-c, where two consumers were raced: that a later one was turned away is no news of it."""
    found = _property(evidence, COUNT)
    raced = evidence is not None and any(
        micro.get("action") == RACE for run in evidence.runs for micro in run["micro"]
    )
    return found if raced or found.verdict != "holds" else Measured("not provoked", found.receipt)


def _property(evidence: Evidence | None, name: str) -> Measured:
    if evidence is None:
        return Measured("not run")
    rule = evidence.receipt["properties"][name]
    parts = {part["name"]: part for part in evidence.receipt["parts"]}
    phrases = []
    violating: set[str] = set()
    for part, found in rule["parts"].items():
        runs = {where.partition("/")[0] for where in found["violated_at"]}
        violating |= runs
        if runs:
            phrases.append(f"{len(runs)} of {parts[part]['traces']} in {part}")
    note, silent = ", ".join(phrases), False
    if name == "CV" and rule["verdict"] == "violated":
        silent = any(_silent(run) for run in evidence.runs if run["trace"] in violating)
        note += ", silently" if silent else ", with an error"
    return Measured(rule["verdict"], evidence.row.name, note, silent)


def _silent(run: Mapping[str, Any]) -> bool:
    """Whether the poisoned output was taken without an error; a later reader may still raise."""
    return any("poison" in micro and "error" not in micro for micro in run["micro"])


def _determinism(by_traces: Measured, evidence: Sequence[Evidence]) -> Measured:
    """RD: by what the traces show, and by the recoveries from copies of what crashes left."""
    if by_traces.verdict == "violated":
        return by_traces
    twice = [(each, double) for each in evidence for double in _doubles(each)]
    differing = [each for each, double in twice if double["own"] != double["copy"]]
    if differing:
        note = f"{len(differing)} of {len(twice)} stores were recovered otherwise in a copy"
        return Measured("violated", differing[0].row.name, note)
    if not twice or by_traces.verdict not in {"holds", "not provoked"}:
        return by_traces
    note = f"{len(twice)} stores recovered twice, once in a copy, without a difference"
    return Measured("holds", by_traces.receipt, note)


def _doubles(evidence: Evidence) -> Iterator[Mapping[str, Any]]:
    """The stores that a recovery was made from twice, with what each of them decided."""
    for run in evidence.runs:
        yield from run["doubles"]


def _intent(evidence: Evidence) -> Measured:
    """FI: refused is as good as not there; what a fork then makes of its value is FD's affair."""
    forks = [fork for run in evidence.runs for fork in run["branches"]]
    refused = sum(fork["error"] is not None for fork in forks)
    name = evidence.row.name
    if not forks:
        return Measured("not provoked", name)
    if refused:
        return Measured("violated", name, f"{refused} of {len(forks)} forks were refused")
    return Measured("holds", name)


def _progress(evidence: Evidence) -> Measured:
    """Liveness: of the runs that were crashed and recovered, which come to their end?

    One that waits for an answer once more has not ended, and is not stuck either.
    """
    ends = [_end(run) for run in evidence.runs if _recovered(run)]
    name = evidence.row.name
    stopped = ends.count("stopped")
    if stopped:
        done = ends.count("complete")
        went = f"{done} of {len(ends)}" if done else f"none of {len(ends)}"
        return Measured("violated", name, f"{went} recovered runs come to their end")
    asking = ends.count("parked")
    note = f"{asking} of {len(ends)} recovered runs wait for an answer once more" if asking else ""
    return Measured("holds" if "complete" in ends else "not provoked", name, note)


def _recovered(run: Mapping[str, Any]) -> bool:
    """Crashed and recovered, and not about an output that may be refused."""
    micro = run["micro"]
    return any(m.get("action") in CRASHES for m in micro) and not any("poison" in m for m in micro)


def _end(run: Mapping[str, Any]) -> str:
    """How a recovered run ends: complete with every effect fired, parked, or stopped."""
    micro = run["micro"]
    first = next(i for i, m in enumerate(micro) if m.get("action") in CRASHES)
    # A stray that is refused afterwards takes nothing from a run that came to its end.
    if any(m.get("at") == "complete" and _all_fired(run, i) for i, m in _after(micro, first)):
        return "complete"
    return "parked" if micro[-1].get("at") == "parked" else "stopped"


def _after(micro: Sequence[Any], first: int) -> Iterator[tuple[int, Any]]:
    return ((index, micro[index]) for index in range(first, len(micro)))


def _all_fired(run: Mapping[str, Any], index: int) -> bool:
    """Whether every task's effect had fired by a micro-step, where effects are seen."""
    told = [m["changed"]["effects"] for m in run["micro"][: index + 1] if "effects" in _seen(m)]
    return not told or all(told[-1])


def _seen(micro: Mapping[str, Any]) -> Mapping[str, Any]:
    seen: Mapping[str, Any] = micro.get("changed", {})
    return seen


def _gravest(found: Sequence[Measured]) -> Measured:
    order = ("violated", "holds", "not provoked")
    return min(found, key=lambda each: order.index(each.verdict), default=Measured("not run"))


def _or_not_expressible(
    measured: Measured, action: str | None, evidence: Sequence[Evidence]
) -> Measured:
    """A cell that nothing provoked since the one action that could is none of the system's."""
    if action is None or measured.verdict not in {"not provoked", "not observed", "not run"}:
        return measured
    for each in evidence:
        if reason := each.receipt.get("unsupported", {}).get(action):
            return Measured("not expressible", each.row.name, reason)
    return measured
