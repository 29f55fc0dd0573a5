"""The study of where a plane's window for a second consumer opens and closes.

A plane is an adapter with its options. On each, a second consumer arrives at each point of the
first one's progress, with the same value and with another one (`replay.races.arrival_runs`); and a
run that was killed is recovered by two processes at once. The receipt holds what was seen of each
run, and what it comes to; the page is written from that.

What explains a plane is asked of `specs/ConsumeRace.tla`, in the two forms that TLC checks: with a
compare-and-swap the gated effect fires once (ConsumeOnceEffect), without one each delivery fires
it that had read that the run waits, and nobody else (EarlyConsume).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from replay.races.arrival_runs import POINTS, VALUES, WORKFLOW, stands

PLANES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("reference", {}),
    ("langgraph", {}),
    ("langgraph", {"saver": "postgres"}),
    ("langgraph-functional", {}),
    ("langgraph-remit", {"process_gate": "on"}),
    ("crewai", {}),
    ("llamaindex", {}),
    ("pydantic-graph", {}),
    ("dbos", {}),
    ("openai-agents", {}),
    ("autogen", {}),
)
"""Adapters, each with the options that are not the default."""

GATED = WORKFLOW["gate"]
Content = Mapping[str, Any]
Arrival = Mapping[str, Any]


# -- what a run comes to ---------------------------------------------------------------


def fires(arrival: Arrival, who: str) -> int:
    """How often a consumer ("first", "second") fired the gated effect."""
    process = arrival[who]["process"]
    return sum(row[0] == GATED and row[2] == process for row in arrival["ledger"])


def admitted(arrival: Arrival) -> bool:
    """Whether the second consumer came up to the gate, past its read."""
    return bool(arrival["second"]["arrived"] == f"held at task {GATED}")


def refused_before_running(arrival: Arrival) -> bool:
    """Whether the second consumer was refused before any body was entered."""
    second = arrival["second"]
    return second["arrived"].startswith("refused") and not second["entered"]


def outcome(arrival: Arrival) -> str:
    """What became of an arrival, in words."""
    first, second = fires(arrival, "first"), fires(arrival, "second")
    process, arrived, end = (arrival["second"][key] for key in ("process", "arrived", "end"))
    if second and first:
        return "both fire"
    if second:
        return f"the second fires, the first {arrival['first']['end']}"
    if refused_before_running(arrival):
        return f"{arrived}, before any body"
    if end.startswith("refused"):
        return str(end)
    others = sorted({f"t{row[0]}" for row in arrival["ledger"] if row[2] == process})
    return f"inert, but runs {', '.join(others)}" if others else "inert"


def trace(arrival: Arrival) -> str:
    """What a duplicate left in the durable state, as processes see it that never saw the run."""
    first, second = arrival["after"]["first"], arrival["after"]["second"]
    if max(view["completions"].count(GATED) for view in (first, second)) > 1:
        return "two completions in one history"
    done = all(GATED in view["completions"] for view in (first, second))
    if done and not arrival["after"]["one address"]:
        return "a history each"
    return f"one completion, of {first['consumed']}: no trace of the other"


def explained(arrivals: Sequence[Arrival]) -> str:
    """Which form of ConsumeRace admits all arrivals, the compare-and-swap first."""
    once = all(fires(a, "first") + fires(a, "second") == 1 for a in arrivals)
    if once:
        return "compare-and-swap"
    shown = [a["found"]["waiting"] for a in arrivals]
    bare = None not in shown and all(
        (fires(a, "first"), fires(a, "second")) == (1, int(waiting))
        for a, waiting in zip(arrivals, shown, strict=True)
    )
    return "no compare-and-swap" if bare else "neither"


def fired_again(recoveries: Mapping[str, Any]) -> list[int]:
    """How often each recoverer fired the effect of the task that the run was killed in."""
    return [
        sum(
            row[0] == recoveries["killed in"] and row[2] == each["process"]
            for row in recoveries["ledger"]
        )
        for each in recoveries["recoverers"]
    ]


def comes_to(plane: Content) -> dict[str, Any]:
    """The figures of a plane, from its runs."""
    arrivals: list[Arrival] = plane["arrivals"]
    doubled = [a for a in arrivals if fires(a, "first") and fires(a, "second")]

    def at(chosen: Sequence[Arrival]) -> list[str]:
        return [point for point in POINTS if any(a["point"] == point for a in chosen)]

    return {
        "admitted": at([a for a in arrivals if admitted(a)]),
        "both_fire": at(doubled),
        "refused_before_running": at([a for a in arrivals if refused_before_running(a)]),
        "trace": list(dict.fromkeys(trace(a) for a in doubled)),
        "explained_by": explained(arrivals),
        "recoverers_fired": fired_again(plane["recoveries"]),
    }


# -- the page --------------------------------------------------------------------------


def name_of(plane: Content) -> str:
    """A plane, for a reader."""
    chosen = ", ".join(f"{name}={value}" for name, value in plane["chosen"].items())
    return f"{plane['adapter']} ({chosen})" if chosen else str(plane["adapter"])


def cell(plane: Content, point: str) -> str:
    """What became of the arrivals at a point, for a reader."""
    found = {a["values"]: outcome(a) for a in plane["arrivals"] if a["point"] == point}
    if len({*found.values()}) == 1:
        return next(iter(found.values()))
    return "; ".join(f"{values}: {what}" for values, what in found.items())


def summary(plane: Content) -> list[str]:
    """The row of a plane: admitted, both fire, refused before running, trace, explained by."""
    found = plane["comes_to"]
    named = ("admitted", "both_fire", "refused_before_running")
    cells = [", ".join(POINTS[p] for p in found[name]) or "–" for name in named]
    return [name_of(plane), *cells, "; ".join(found["trace"]) or "–", found["explained_by"]]


def recovered(plane: Content) -> list[str]:
    """The row of a plane that was recovered twice."""
    both = plane["recoveries"]["recoverers"]
    fired = plane["comes_to"]["recoverers_fired"]
    words = {0: "neither fires", 1: "one fires", 2: "both fire"}[sum(n > 0 for n in fired)]
    stood, ended = (
        "; ".join(dict.fromkeys(each[key] for each in both)) for key in ("stood", "end")
    )
    return [name_of(plane), stood, ended, words]


NOTES = {
    "dbos": "an answer is a message. The second sender stands before its send, which nothing "
    "refuses; Unread says that its message is stored and that no recv is left to take it.",
    "llamaindex": "the second consumer restores the context that the caller kept when the run "
    "parked, as it may at any time, and keeps its own in another file.",
    "openai-agents, autogen": "the caller keeps the state where a run stops, so until the first "
    "is complete the newest one is that of the parked run; who stops last is who is kept.",
}
"""What the adapters make of a second consumer where it goes without saying in no table."""

SUMMARY = (
    "plane",
    "admitted",
    "both fire",
    "refused before running",
    "durable trace of the duplicate",
    "explained by",
)
ARRIVALS = ("plane", *POINTS.values())
RECOVERED = ("plane", "each stood", "each ended", "effect of the task that was killed")


def page(content: Content) -> str:
    """The study's page."""
    planes = content["planes"]
    versions = {
        n: v for plane in planes for n, v in {**plane["versions"], **plane["servers"]}.items()
    }
    parts = [
        "# Where a second consumer gets in\n",
        "A run is parked at its gate, and two processes answer it. The first is brought to a point "
        "of its progress; there the second arrives and reads. Then the first goes on until its "
        "consumption is written, the second goes to its end, and the first to its own. No time "
        "passes that would decide anything. Each with the same value and with different values; "
        "where they came out the same, the cell says it once.\n",
        "Admitted: the second came up to the gate, past its read. Refused before running: it was "
        "refused before it entered any body. Inside the gated body: the first one's effect has "
        "fired, and its completion is not written. Explained by: the form of `ConsumeRace` that "
        "admits all of the plane's arrivals, by who fires and by whether the public state showed "
        "the run to wait when the second arrived.\n",
        _table(SUMMARY, [summary(plane) for plane in planes]),
        "".join(f"- {name}: {note}\n" for name, note in NOTES.items()),
        "## By the point at which the second arrives\n",
        _table(ARRIVALS, [[name_of(plane), *(cell(plane, p) for p in POINTS)] for plane in planes]),
        "## Two recoverers of one run\n",
        "The run is killed (SIGKILL) in its last task, in whose body it is held. Two processes "
        "make the recovery call, and both are brought to their first hold before either is let "
        "go. Where they stood at an earlier task, what is recovered from is older than the kill.\n",
        _table(RECOVERED, [recovered(plane) for plane in planes]),
        "Versions: " + ", ".join(f"{n} {v}" for n, v in sorted(versions.items())) + ".\n",
        "    mbt race points --write\n",
    ]
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# -- the audit -------------------------------------------------------------------------


def problems(content: Content, adapters: Collection[str] = ()) -> Iterator[str]:
    """Where the receipt says what does not follow from its runs, or runs are missing.

    Args:
        adapters: of which it is; of all planes, where none is named.
    """
    planes = content["planes"]
    wanted = [(name, dict(chosen)) for name, chosen in PLANES if not adapters or name in adapters]
    if [(p["adapter"], p["chosen"]) for p in planes] != wanted:
        yield "it is not of the planes that the study names"
    for plane in planes:
        name = name_of(plane)
        if plane["comes_to"] != comes_to(plane):
            yield f"{name}: its figures do not follow from its runs"
        if [(a["values"], a["point"]) for a in plane["arrivals"]] != [
            (v, p) for v in VALUES for p in POINTS
        ]:
            yield f"{name}: not one arrival with each value at each point"
        for arrival in plane["arrivals"]:
            if not stands(arrival):
                yield (
                    f"{name}, {arrival['values']} values: the first consumer was not "
                    f"{POINTS[arrival['point']]} when the second arrived"
                )
        if plane["recoveries"]["status"] != 9:
            yield f"{name}: the run that was recovered twice was not killed by SIGKILL"
