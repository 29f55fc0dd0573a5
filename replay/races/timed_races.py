"""Races at real times: k processes answer one parked interrupt, each when it is told to.

One repetition is one run of its own: a process parks it, the racers look at it, and each calls at
a time that was drawn before. Nobody is held at a gate; the gated body takes a given time. What is
kept is when each racer came, how long it was in the gated body, and what the ledger says it fired.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.base import Adapter
from adapters.host import Host, HostError, Process
from adapters.langgraph_timed import Timed, TimedGate
from adapters.ledger import Ledger
from adapters.services import Services, open_services
from replay.lives import Conduct, Lives
from replay.primary import Report

WORKFLOW = {"tasks": 2, "gate": 2}
LEAD = 100_000_000
"""Nanoseconds from the time at which the racers are told when to call to the first such time."""
VALUE = "v1"
STOCK, GATED = "stock", "gated"
KINDS: Mapping[str, tuple[type[Adapter], Mapping[str, str]]] = {
    STOCK: (Timed, {}),
    GATED: (TimedGate, {"process_gate": "on"}),
}
"""LangGraph alone, and under remit-contract's gate across processes: the adapter, its options."""
BACKENDS = ("sqlite", "postgres")
RACER = ("planned", "came", "held", "took", "fires", "end")
"""What is kept of a racer.

When it was to call and when it called, in milliseconds after the first of them called; how long
it was in the gated body before its effect, and in the call, None where it was not or did not come
back; how often the ledger has its gated effect; how its call ended.
"""
PLANNED, CAME, HELD, TOOK, FIRES, END = range(len(RACER))

Evidence = dict[str, Any]
Place = Mapping[str, str]


@dataclass(frozen=True)
class Plane:
    """LangGraph on one store, stock or gated, in a host of its own."""

    host: Host
    services: Services
    conduct: Conduct

    @property
    def versions(self) -> dict[str, str]:
        """What takes part, by name."""
        return {**self.host.versions, **self.services.versions}


@contextmanager
def plane(kind: str, backend: str) -> Iterator[Plane]:
    """Host one.

    Raises:
        HostError, MissingFramework, ServiceError: it cannot be had.
    """
    adapter, chosen = KINDS[kind]
    defaults = {name: option.default for name, option in adapter.options.items()}
    options = {**defaults, "saver": backend, **chosen}
    reference = f"{adapter.__module__}:{adapter.__name__}"
    conduct = Conduct.of(adapter, options)
    with open_services(conduct.services) as services, Host(reference, WORKFLOW, options) as host:
        yield Plane(host, services, conduct)


def drawn(seed: str, racers: int, jitter: float) -> list[float]:
    """When each racer is to call, in milliseconds: evenly at random up to the jitter."""
    source = random.Random(seed)
    return [round(source.uniform(0, jitter), 3) for _ in range(racers)]


def repetition(
    plane: Plane,
    folder: Path,
    planned: Sequence[float],
    lasts: float,
    places: Sequence[Place | None] = (),
) -> Evidence:
    """Race once, on a run of its own.

    Args:
        folder: of the run; it is made.
        planned: when each racer is to call, in milliseconds.
        lasts: how long the gated body takes, in milliseconds.
        places: where each racer is to be, as `Timed` notes it, None where it is; empty where
            that goes for all.

    Returns:
        `racers`, each as `RACER` says, and `effects`, how often each task fired. With places
        `trips` too: milliseconds that the server takes to answer each racer.

    Raises:
        HostError: the machinery failed.
    """
    folder.mkdir()
    with plane.services.for_run() as given, closing(Ledger(folder / "ledger.db")) as ledger:
        lives = Lives(plane.host, folder, plane.conduct, given, observes=False)
        with closing(lives):
            reports = _race(lives, planned, lasts, places)
        rows = ledger.new_rows()
    first = min(report["notes"]["times"]["called"] for _, report in reports)
    fires = [row.process for row in rows if row.task == WORKFLOW["gate"]]
    found: Evidence = {
        "racers": [
            _racer(report, due - min(planned), first, fires.count(process.ordinal))
            for (process, report), due in zip(reports, planned, strict=True)
        ],
        "effects": [
            sum(row.task == task for row in rows) for task in range(1, WORKFLOW["tasks"] + 1)
        ],
    }
    if places:
        found["trips"] = [round(report["notes"]["trip"] / 1e6, 3) for _, report in reports]
    return found


def _race(
    lives: Lives,
    planned: Sequence[float],
    lasts: float,
    places: Sequence[Place | None],
) -> list[tuple[Process, Report]]:
    """Park a run and have it answered; each racer with its last report."""
    lives.begin({})
    notes = _parked(lives.own.call("start", {}), "run")
    racers = []
    for place in places or [None] * len(planned):
        racers.append(lives.beside({**notes, **({"place": dict(place)} if place else {})}))
        _parked(racers[-1].call("look", {}), "run that a racer looked at")
    began = time.monotonic_ns() + LEAD

    def deliver(racer: Process, milliseconds: float) -> Report:
        due = began + round(milliseconds * 1e6)
        return racer.call("deliver", {"v": VALUE, "due": due, "lasts": lasts})

    with ThreadPoolExecutor(len(racers)) as pool:
        reports = [*pool.map(deliver, racers, planned)]
    for racer, report in zip(racers, reports, strict=True):
        lives.end(racer, report)
    return [*zip(racers, reports, strict=True)]


def _parked(report: Report, what: str) -> Mapping[str, Any]:
    if report["at"] != "parked":
        raise HostError(f"the {what} is {report['at']}, not parked")
    notes: Mapping[str, Any] = report["notes"]
    return notes


def _racer(report: Report, planned: float, first: int, fires: int) -> list[Any]:
    times: Mapping[str, int] = report["notes"]["times"]

    def between(earlier: str, later: str) -> float | None:
        if later not in times:
            return None
        return round((times[later] - times[earlier]) / 1e6, 2)

    refused = report["at"] == "refused"
    return [
        round(planned, 3),
        round((times["called"] - first) / 1e6, 2),
        between("past the read", "fired"),
        between("called", "back"),
        fires,
        f"refused: {report['error']['type']}" if refused else report["at"],
    ]
