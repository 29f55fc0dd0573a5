"""The study `planted`: faults built into the reference engine, and what explanation makes of them.

Each fault switch of ResumeContract and each two of them are planted, the module's suite is
replayed, and the smallest sets of switches that admit all runs are held against what was planted:
they have to hold the planted set, or one that has the same runs as it within the bounds.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.registry import load_adapter, locate
from replay.explanation.apart import decide, relate
from replay.explanation.explain import Faults, name_of
from replay.explanation.explained import Account, Candidate, Evidence, account_of, candidate_data
from replay.lives import Conduct
from replay.models import Models
from replay.parallel import Drivers
from replay.stored import StoredRun
from replay.suite import Part
from tracegen.spec import Spec

NAME = "planted"
MODULE = "ResumeContract"
ADAPTER = "reference"
MOST_PLANTED = 2
Content = Mapping[str, Any]


def planted_sets(spec: Spec) -> list[Faults]:
    """What is planted: each switch, then each two."""
    return [
        faults
        for size in range(1, MOST_PLANTED + 1)
        for faults in itertools.combinations(spec.explain.switches, size)
    ]


def plant(
    spec: Spec,
    parts: Sequence[Part],
    faults: Faults,
    graphs: Callable[[Spec, Spec], Models],
    on_done: Callable[[], None] = lambda: None,
) -> Account:
    """Replay a suite on the reference engine with faults built in, and explain its runs.

    Args:
        graphs: see `replay.explanation.explained.account_of`.
        on_done: called for each trace that was replayed.
    """
    adapter = load_adapter(locate(ADAPTER))
    options = {name: rule.default for name, rule in adapter.options.items()}
    options["fault"] = ",".join(switch.removeprefix("Fault") for switch in faults)
    runs: list[StoredRun] = []
    for part in parts:
        with Drivers(
            locate(ADAPTER),
            spec.workflow_of(part.model),
            Conduct.of(adapter, options),
            jobs=os.cpu_count() or 1,
            fresh=False,
            limit=60.0,
        ) as drivers:
            records = drivers.replay(spec, part.traces, on_done)
        runs += [StoredRun(part.name, record) for record in records]
    models = {part.name: part.model for part in parts}
    evidence = Evidence(Path(), spec, ADAPTER, adapter, options, models, tuple(runs))
    return account_of(evidence, graphs)


def entry(account: Account, faults: Faults) -> dict[str, Any]:
    """The row of a planted set.

    The planted set is compared on the graphs with each other set that explains all runs, and with
    each of several that explain the same single runs; the traces that separate two are replayed.
    """
    planted = Candidate(MODULE, faults, name_of(faults, account.evidence.spec.explain.titles))
    several = dict.fromkeys(c for sets in account.groups if len(sets) > 1 for c in sets)
    return {
        "planted": candidate_data(planted),
        "runs": len(account.runs),
        "diverging": len(account.diverging),
        "smallest": [*map(candidate_data, account.whole)],
        "relations": [_relation(account, planted, c) for c in account.whole if c != planted],
        "one_by_one": [
            _relation(account, planted, c) for c in several if c not in (planted, *account.whole)
        ],
    }


def _relation(account: Account, planted: Candidate, other: Candidate) -> dict[str, Any]:
    relation = relate(account, planted, other)
    decisions = [decide(account, trace, (planted, other)) for trace in relation.traces]
    return {
        "with": candidate_data(other),
        "same_runs": relation.equal,
        "bounds": [*relation.bounds],
        "pairs": relation.pairs,
        "separated_by": [
            {
                "trace": [step.action for step in decision.trace.steps],
                "left": [*map(candidate_data, decision.left)],
            }
            for decision in decisions
        ],
    }


def holds(row: Content) -> bool:
    """Whether the smallest sets hold the planted one, or one that has the same runs."""
    return row["planted"] in row["smallest"] or any(r["same_runs"] for r in row["relations"])


# -- the page --------------------------------------------------------------------------


def page(content: Content) -> str:
    """The study's page."""
    rows = content["rows"]
    lines = [
        "# Planted faults, explained",
        "",
        "Written by `mbt explain --planted --write` from `planted.json`.",
        "",
        f"{len(rows)} sets of faults were built into the reference engine, and the suite of "
        f"{MODULE} replayed on each. In {sum(map(holds, rows))} the smallest sets of switches that "
        "admit every run hold the planted set, or one that has the same runs as it within the "
        "bounds of the suite's models. Where two switches act on one recovery, the first of "
        "Replay, PrefixReplay, NondetRecovery does.",
        "",
        "Single runs are often explained by several sets. Each of these was compared with the "
        "planted set: a shortest trace that one of the two does not admit was replayed, and left "
        "the planted set alone. The last column has its number of steps.",
        "",
        "| planted | diverge | explained by | beside the planted set | of single runs |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        named = " or ".join(each["name"] for each in row["smallest"]) or "none"
        beside = "; ".join(map(_said, row["relations"])) or "the same"
        alone = ", ".join(_told_apart(row, each) for each in row["one_by_one"]) or "no other"
        lines.append(
            f"| {row['planted']['name']} | {row['diverging']} of {row['runs']} | {named} "
            f"| {beside} | {alone} |"
        )
    return "\n".join(lines) + "\n"


def _said(relation: Content) -> str:
    other, bounds = relation["with"]["name"], " and ".join(relation["bounds"])
    if relation["same_runs"]:
        return f"{other}: the same runs at {bounds} ({relation['pairs']:,} pairs of states)"
    traces = (
        f"{len(each['trace'])} steps leave {' and '.join(c['name'] for c in each['left'])}"
        for each in relation["separated_by"]
    )
    return f"{other}: {', '.join(traces)}"


def _told_apart(row: Content, relation: Content) -> str:
    """What a set that explains single runs was told apart by."""
    if relation["same_runs"]:
        return f"{relation['with']['name']} (the same runs)"
    deciding = [
        len(each["trace"]) for each in relation["separated_by"] if each["left"] == [row["planted"]]
    ]
    return f"{relation['with']['name']} ({min(deciding, default='not told apart')})"


# -- the audit -------------------------------------------------------------------------


def problems(content: Content) -> Iterator[str]:
    """Where a planted fault is missing or was not found again."""
    planted = [tuple(row["planted"]["switches"]) for row in content["rows"]]
    switches = [faults[0] for faults in planted if len(faults) == 1]
    if planted != [
        faults
        for size in range(1, MOST_PLANTED + 1)
        for faults in itertools.combinations(switches, size)
    ]:
        yield "not each switch and each two of them"
    for row in content["rows"]:
        name = row["planted"]["name"]
        if not holds(row):
            yield f"{name}: no smallest set has its runs"
        for relation in (*row["relations"], *row["one_by_one"]):
            other = relation["with"]["name"]
            left = [each["left"] for each in relation["separated_by"]]
            if any(row["planted"] not in each for each in left):
                yield f"{name}: a trace that separates it from {other} does not leave it"
            if not relation["same_runs"] and [row["planted"]] not in left:
                yield f"{name}: neither the same runs as {other} nor told apart from it"
