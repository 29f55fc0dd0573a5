"""The study of two racers on two hosts, the store on one of them.

Two network namespaces of this machine, joined by a pair of virtual devices, stand for the hosts;
what the far racer asks of the store takes a delay each way. Frequencies, as in
`replay.races.race_timing`, and no verdicts.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from adapters.namespaces import Hosts, NoNamespaces, inside, relay, two_hosts
from adapters.services import POSTGRES_DSN
from replay.races.frequencies import became, counted, figures
from replay.races.race_timing import ABOUT, told
from replay.races.timed_races import GATED, RACER, STOCK, Plane, plane, repetition
from replay.sweeps.kill_page import Listing

REPETITIONS = 10
DELAY = 40.0
"""Milliseconds that what is asked of the store, and what it says, take each."""
BODIES = ((STOCK, 1000.0), (GATED, 1000.0), (STOCK, 0.0))
"""The plane, and how many milliseconds the gated body takes: more than the far racer is late, or
nothing, which is less."""
NEAR, FAR = 0, 1
SOCKET_FILE = ".s.PGSQL.5432"
Content = Mapping[str, Any]


def measure(
    repetitions: int = REPETITIONS,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Race on two hosts.

    Returns:
        The study's receipt. Where the machine has no two hosts for us, `skipped` says why, and
        there are no cells.

    Raises:
        HostError, MissingFramework, ServiceError: the machinery failed, or something is missing.
    """
    found: dict[str, Any] = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": [round(os.getloadavg()[0], 1)],
        "delay": DELAY,
        "racer": [*RACER],
    }
    try:
        with two_hosts() as hosts:
            cells, versions = _cells(hosts, repetitions, progress)
    except NoNamespaces as error:
        return {**found, "skipped": str(error), "versions": {}, "cells": []}
    found["load"].append(round(os.getloadavg()[0], 1))
    return {**found, "skipped": None, "versions": versions, "cells": cells}


def _cells(
    hosts: Hosts, repetitions: int, progress: Callable[[str, int, int], None]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The cells and the versions that took part; all but the far racer is on the near host."""
    cells = []
    versions: dict[str, str] = {}
    for number, (kind, lasts) in enumerate(BODIES):
        done = []
        with inside(hosts.near), plane(kind, "postgres") as raced, _way(raced) as address:
            places = [None, {"network": str(hosts.far), "address": address}]
            for each in range(repetitions):
                folder = raced.host.folder / f"run-{each}"
                done.append(repetition(raced, folder, [0.0, 0.0], lasts, places))
                progress("two hosts", number * repetitions + each + 1, len(BODIES) * repetitions)
            versions |= raced.versions
        cells.append(
            {"kind": kind, "lasts": lasts, "repetitions": done, "comes to": comes_to(done)}
        )
    return cells, versions


@contextmanager
def _way(raced: Plane) -> Iterator[str]:
    """The server's address on the far host."""
    from psycopg.conninfo import conninfo_to_dict

    with raced.services.for_run() as given:
        listens = Path(str(conninfo_to_dict(given.addresses["postgres"]).get("host", "")))
    if not listens.is_absolute():
        raise NoNamespaces(f"{POSTGRES_DSN} names a server that does not listen on a socket file")
    with relay(listens / SOCKET_FILE, DELAY / 1000) as address:
        yield address


def comes_to(repetitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the repetitions of a cell come to; times are in milliseconds."""
    sides = [[each["racers"][side] for each in repetitions] for side in (NEAR, FAR)]
    return {
        **figures(repetitions),
        "became": [dict(sorted(Counter(map(became, side)).items())) for side in sides],
        "trip": [
            round(median(each["trips"][side] for each in repetitions), 3) for side in (NEAR, FAR)
        ],
    }


# -- the page --------------------------------------------------------------------------


def listings(content: Content) -> Iterator[Listing]:
    """The table, or why there is none."""
    if content["skipped"]:
        yield Listing("Skipped", (f"This machine has no two hosts: {content['skipped']}.",), (), ())
        return
    head = (
        *("plane", "body, ms", "both fired", "the near racer", "the far racer"),
        *("the store answers the near, the far, ms", "calls apart, ms (median, most)"),
    )
    rows = []
    for cell in content["cells"]:
        found = cell["comes to"]
        near, far = (", ".join(f"{what} {n}" for what, n in one.items()) for one in found["became"])
        rows.append(
            (
                *(cell["kind"], f"{cell['lasts']:g}"),
                *(counted(found["by all"], found["repetitions"]), near, far),
                *(", ".join(f"{ms:.1f}" for ms in found[key]) for key in ("trip", "apart")),
            )
        )
    errors = sorted({name for cell in content["cells"] for name in cell["comes to"]["errors"]})
    about = (f"Refused with: {', '.join(name.removeprefix('refused: ') for name in errors)}.",)
    yield Listing("Two racers on two hosts", about if errors else (), head, tuple(rows))


def page(content: Content) -> str:
    """The study's page."""
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    load = " to ".join(map(str, content["load"]))
    lines = [
        "# Races on two hosts",
        "",
        "Written by `mbt race hosts --write` from `race-hosts.json`.",
        "",
        f"{ABOUT} Behind each frequency stands its Wilson interval of 95 %.",
        "",
        "Two network namespaces of one machine, joined by a pair of virtual devices (veth), stand "
        "for two hosts. PostgreSQL and the near racer are on one; the far racer is on the other, "
        f"and all that it says to the server and hears of it takes {content['delay']:g} ms longer, "
        "which a relay at the server's end adds. Both have looked at the parked run and hold "
        "their connections; they are to call at the same time, of one clock.",
        "",
        f"Measured {content['started']}: {content['cores']} cores, load {load}, Python "
        f"{content['python']}, {content['platform']}. {versions}".rstrip(". ")
        + ".",
    ]
    lines += [line for listing in listings(content) for line in listing.lines()]
    return "\n".join(lines) + "\n"


# -- the audit -------------------------------------------------------------------------


def problems(content: Content) -> Iterator[str]:
    """Where the receipt says what does not follow from its repetitions, or cells are missing."""
    cells = content["cells"]
    if content["skipped"]:
        if cells:
            yield "it was skipped, and has cells"
        return
    if [(cell["kind"], cell["lasts"]) for cell in cells] != [*BODIES]:
        yield "not the cells that the study names"
    for cell in cells:
        name = f"{cell['kind']}, body {cell['lasts']:g} ms"
        if len(cell["repetitions"]) != REPETITIONS:
            yield f"{name}: {len(cell['repetitions'])} repetitions, not {REPETITIONS}"
        if cell["comes to"] != comes_to(cell["repetitions"]):
            yield f"{name}: its figures do not follow from its repetitions"
        for number, each in enumerate(cell["repetitions"]):
            yield from (f"{name}, repetition {number}: {what}" for what in told(each, [0.0, 0.0]))
