"""The study of races at real times: how often each racer of one interrupt fires its effect.

Observed frequencies, with intervals, and never a verdict: what a plane admits is decided by the
replays of `R11_ConsumeCount` and `ConsumeRace`, where nothing depends on a time. Two parts: k
racers that arrive within a jitter; and two racers, of which the second comes a given part of the
gated body's time after the first (the dose-response).
"""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from replay.races.frequencies import counted, figures
from replay.races.timed_races import (
    BACKENDS,
    FIRES,
    GATED,
    PLANNED,
    RACER,
    STOCK,
    Plane,
    drawn,
    plane,
    repetition,
)
from replay.sweeps.kill_page import Listing

SEED = 1
RACERS = (2, 4, 8, 16)
JITTERS = (0.0, 25.0)
"""Milliseconds within which racers are to call."""
DOSES = (5.0, 25.0, 125.0)
"""Milliseconds that the gated body takes in the dose-response."""
OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.0, 4.0)
"""When the second racer is to call after the first, in doses."""
REPETITIONS = 10
Content = Mapping[str, Any]
Cell = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """What is measured.

    Attributes:
        doses: of the dose-response; the sweep is made without one, and with the longest.
    """

    racers: Sequence[int] = RACERS
    jitters: Sequence[float] = JITTERS
    doses: Sequence[float] = DOSES
    backends: Sequence[str] = BACKENDS
    repetitions: int = REPETITIONS

    def sweep(self) -> Iterator[Cell]:
        """The cells of k racers within a jitter: `kind`, `backend`, `racers`, `jitter`, `lasts`."""
        longest = max(self.doses)
        for kind, backend in itertools.product((STOCK, GATED), self.backends):
            for lasts in (0.0, longest) if kind == STOCK else (longest,):
                for racers, jitter in itertools.product(self.racers, self.jitters):
                    yield {
                        "kind": kind,
                        "backend": backend,
                        "racers": racers,
                        "jitter": jitter,
                        "lasts": lasts,
                    }

    def response(self) -> Iterator[Cell]:
        """The cells of the dose-response: `kind`, `backend`, `lasts`, `offset` (in doses)."""
        for backend, lasts, offset in itertools.product(self.backends, self.doses, OFFSETS):
            yield {"kind": STOCK, "backend": backend, "lasts": lasts, "offset": offset}


def planned(cell: Mapping[str, Any], number: int) -> list[float]:
    """When the racers of a cell's repetition are to call, in milliseconds after the first."""
    if "offset" in cell:
        return [0.0, round(cell["offset"] * cell["lasts"], 3)]
    # Each cell draws its own: equal draws would make the columns of the stores a pair.
    what = [str(cell[key]) for key in ("kind", "backend", "racers", "jitter", "lasts")]
    times = drawn("/".join([str(SEED), *what, str(number)]), cell["racers"], cell["jitter"])
    return [round(time - min(times), 3) for time in times]


def measure(
    shape: Shape, progress: Callable[[str, int, int], None] = lambda stage, done, total: None
) -> dict[str, Any]:
    """Race, cell by cell.

    Returns:
        The study's receipt: where and when it was measured, `versions`, and the cells of `sweep`
        and `response`, each with its `repetitions` and what they come to.

    Raises:
        HostError, MissingFramework, ServiceError: the machinery failed, or something is missing.
    """
    before = os.getloadavg()[0]
    found: dict[str, Any] = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    parts = {"sweep": [*shape.sweep()], "response": [*shape.response()]}
    versions: dict[str, str] = {}
    for kind, backend in itertools.product((STOCK, GATED), shape.backends):
        wanted = [
            cell
            for cell in itertools.chain(*parts.values())
            if (cell["kind"], cell["backend"]) == (kind, backend)
        ]
        with plane(kind, backend) as raced:
            for number, cell in enumerate(wanted):
                _measure(raced, f"cell-{number}", cell, shape.repetitions)
                progress(f"{kind}, {backend}", number + 1, len(wanted))
            versions |= raced.versions
    load = [round(before, 1), round(os.getloadavg()[0], 1)]
    return {**found, "load": load, "versions": versions, "seed": SEED, "racer": [*RACER], **parts}


def _measure(raced: Plane, name: str, cell: Cell, repetitions: int) -> None:
    cell["repetitions"] = [
        repetition(
            raced, raced.host.folder / f"{name}-{number}", planned(cell, number), cell["lasts"]
        )
        for number in range(repetitions)
    ]
    cell["comes to"] = figures(cell["repetitions"])


# -- the page --------------------------------------------------------------------------

ABOUT = (
    "Frequencies that were observed on one machine, and no verdicts. Whether a second consumer "
    "gets in is decided where no time passes: `mbt replay specs/R11_ConsumeCount.tla`, "
    "`mbt race points`."
)


NOTES = {
    "refused: DuplicateObject": "DuplicateObject: on PostgreSQL the gate makes its table of claims "
    "when it is first asked for one, and of racers that do so at once some are told that the type "
    "of that name exists. Each run has a database of its own, so its racers are the first.",
}
"""What explains an error that a racer was refused with, where it is not the gate's own."""


def listings(content: Content) -> Iterator[Listing]:
    """The tables, with what is to be said of them."""
    yield _sweep(content)
    yield _response(content)


def _sweep(content: Content) -> Listing:
    cells = content["sweep"]
    head = (
        *("plane", "store", "body, ms", "racers", "jitter, ms", "fires", "of racers"),
        *("fired more than once", "fired by all", "refused", "inert"),
        *("apart, ms (median, most)", "body outlasts by, ms (least, median)"),
    )
    rows = []
    for cell in cells:
        found = cell["comes to"]
        n = found["repetitions"]
        rows.append(
            (
                *(cell["kind"], cell["backend"], f"{cell['lasts']:g}", cell["racers"]),
                *(f"{cell['jitter']:g}", found["fires"], f"{found['fires'] / found['racers']:.2f}"),
                *(counted(found["more than once"], n), counted(found["by all"], n)),
                *(_refused(found), found["inert"]),
                *(_pair(found["apart"]), _pair(found["outlasts by"])),
            )
        )
    errors = {name for cell in cells for name in cell["comes to"]["errors"]}
    about = (_outlasted(cells), *(NOTES[name] for name in sorted(errors & {*NOTES})))
    return Listing("k racers of one interrupt", about, head, tuple(rows))


def _outlasted(cells: Sequence[Mapping[str, Any]]) -> str:
    """The stock plane's repetitions in which the body outlasted the arrivals, and the others."""
    found = [cell["comes to"] for cell in cells if cell["kind"] == STOCK]
    n, outlasted = (sum(each[key] for each in found) for key in ("repetitions", "outlasted"))
    by_all, within = (sum(each[key] for each in found) for key in ("by all", "outlasted, by all"))
    others = n - outlasted
    return (
        f"Of {n} repetitions on the stock plane, the gated body outlasted the arrivals in "
        f"{outlasted}: there every racer fired in {counted(within, outlasted)}; in the other "
        f"{others}, in {counted(by_all - within, others)}. A racer that calls after the body may "
        "still fire: what it must precede is the write at the end of the superstep. And one that "
        "calls during the body may be inert: between its call and its read it may have waited."
    )


def _response(content: Content) -> Listing:
    head = (
        *("store", "body, ms", "second comes after, in bodies", "in ms (median, most)"),
        *("both fired", "body outlasts by, ms (least, median)", "refused", "inert"),
    )
    rows = []
    for cell in content["response"]:
        found = cell["comes to"]
        rows.append(
            (
                *(cell["backend"], f"{cell['lasts']:g}", f"{cell['offset']:g}"),
                *(_pair(found["apart"]), counted(found["by all"], found["repetitions"])),
                *(_pair(found["outlasts by"]), _refused(found), found["inert"]),
            )
        )
    about = "Two racers on the stock plane; the second is told to come later, by so many bodies."
    return Listing("Dose and response", (about,), head, tuple(rows))


def _refused(found: Mapping[str, Any]) -> str:
    """How many racers were refused, and with what."""
    names = ", ".join(
        f"{name.removeprefix('refused: ')} {n}" for name, n in found["errors"].items()
    )
    return f"{found['refused']} ({names})" if names else str(found["refused"])


def _pair(values: Sequence[float] | None) -> str:
    return "–" if values is None else ", ".join(f"{value:.1f}" for value in values)


def page(content: Content) -> str:
    """The study's page."""
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    load = " to ".join(map(str, content["load"]))
    lines = [
        "# Races at real times",
        "",
        "Written by `mbt race timing --write` from `race-timing.json`.",
        "",
        f"{ABOUT} Behind each frequency stands its Wilson interval of 95 %.",
        "",
        "A run of LangGraph is parked at its gate. The racers, a process each, have looked at it "
        "and hold their connections; each then calls `Command(resume=v1)` at a time of the "
        "monotonic clock that was drawn before. The body behind the interrupt takes a given time "
        "before its effect. Fires are rows of the ledger, a file apart from LangGraph's store. "
        "Inert: the call came back, and fired nothing. Apart: from the first call to the last, as "
        "it was, which on busy cores is more than was planned. Outlasts: by how much the shortest "
        "body was longer than that. Gated: under remit-contract's gate across processes.",
        "",
        f"Measured {content['started']}: {content['cores']} cores, load {load}, Python "
        f"{content['python']}, {content['platform']}. {versions}.",
    ]
    lines += [line for listing in listings(content) for line in listing.lines()]
    return "\n".join(lines) + "\n"


# -- the audit -------------------------------------------------------------------------


def problems(content: Content) -> Iterator[str]:
    """Where the receipt says what does not follow from its repetitions, or cells are missing."""
    shape = Shape()
    for part, wanted in (("sweep", shape.sweep()), ("response", shape.response())):
        cells = content[part]
        own = [{k: v for k, v in c.items() if k not in {"repetitions", "comes to"}} for c in cells]
        if own != [*wanted]:
            yield f"{part}: not the cells that the study names"
        for cell, named in zip(cells, own, strict=True):
            name = f"{part}, " + ", ".join(f"{key} {value}" for key, value in named.items())
            yield from (f"{name}: {what}" for what in _contradictions(cell, shape.repetitions))


def _contradictions(cell: Mapping[str, Any], repetitions: int) -> Iterator[str]:
    if len(cell["repetitions"]) != repetitions:
        yield f"{len(cell['repetitions'])} repetitions, not {repetitions}"
    if cell["comes to"] != figures(cell["repetitions"]):
        yield "its figures do not follow from its repetitions"
    for number, each in enumerate(cell["repetitions"]):
        yield from (f"repetition {number}: {what}" for what in told(each, planned(cell, number)))


def told(found: Mapping[str, Any], times: Sequence[float]) -> Iterator[str]:
    """Where a repetition contradicts itself, or when its racers were to call."""
    if [racer[PLANNED] for racer in found["racers"]] != [*times]:
        yield "its racers were not to call when the seed has it"
    if sum(racer[FIRES] for racer in found["racers"]) != found["effects"][-1]:
        yield "the racers did not fire what the ledger holds"
    if found["effects"][0] != 1:
        yield "the task before the gate did not fire once"
