"""Every operation of a framework's persistence as a kill point, a run each.

A run that nobody kills says which operations there are, and between which of them effects fire.
Then a run is killed as soon as an operation is durable, and another where an effect fires before
the next operation: so many operations are durable, and no later one. Each is recovered in a process
that never saw it.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from adapters.barrier import BEFORE_EFFECT, EFFECT, OPERATION
from adapters.host import Host, HostError
from adapters.ledger import Row
from adapters.registry import load_adapter, locate
from adapters.services import Services, open_services
from replay.stops import Life, Recovered, Stop, operations, until

Data = dict[str, Any]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Sweep:
    """An adapter in one form, recovered by one of its calls.

    Attributes:
        adapter: its name.
        chosen: options that differ from the defaults, or that the form is about.
        tasks, gate: of the workflow; a gate of 0 is none.
    """

    adapter: str
    chosen: Mapping[str, str]
    tasks: int = 3
    gate: int = 2

    @property
    def name(self) -> str:
        """Adapter and options, for a reader."""
        return " ".join([self.adapter, *(f"{n}={v}" for n, v in self.chosen.items())])

    def options(self) -> dict[str, str]:
        """Every option of the adapter, with the choice made."""
        rules = load_adapter(locate(self.adapter)).options
        return {name: rule.default for name, rule in rules.items()} | dict(self.chosen)


class Station:
    """A host, and folders and databases for its runs, one run at a time."""

    def __init__(self, host: Host, services: Services) -> None:
        self._host = host
        self._services = services
        self._numbers = itertools.count()

    @property
    def servers(self) -> dict[str, str]:
        """The servers beside the runs, by name their versions."""
        return self._services.versions

    @contextmanager
    def life(self) -> Iterator[Life]:
        """A run in a folder of its own; what is left of it is ended and removed."""
        folder = self._host.folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        with self._services.for_run() as given:
            life = Life(self._host, folder, given.addresses)
            try:
                yield life
            finally:
                life.close()
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def station(sweep: Sweep) -> Iterator[Station]:
    """A host of an adapter in one form.

    Raises:
        MissingFramework, ServiceError: what it needs is not there.
        HostError: the machinery failed.
    """
    options = sweep.options()
    needs = load_adapter(locate(sweep.adapter)).services(options)
    with ExitStack() as stack:
        services = stack.enter_context(open_services(needs))
        workflow = {"tasks": sweep.tasks, "gate": sweep.gate}
        host = stack.enter_context(Host(locate(sweep.adapter), workflow, options))
        yield Station(host, services)


def sweep_points(sweep: Sweep, progress: Progress) -> Data:
    """Kill a run at each operation and each effect, and recover it: the evidence, as JSON.

    Before the first operation there is nothing to recover from, so no run is killed there.

    Raises:
        HostError: the machinery failed, or a run took another course than the one that was counted.
    """
    with station(sweep) as place:
        with place.life() as life:
            course = list(life.stops())
            whole = life.ledger()
        places = [
            number
            for number, stop in enumerate(course, 1)
            if stop.kind in {OPERATION, EFFECT} and operations(course[:number])
        ]
        points = []
        for done, number in enumerate(places):
            progress(sweep.name, done, len(places))
            with place.life() as life:
                points.append(_point(life, course, number))
        progress(sweep.name, len(places), len(places))
    return {
        "adapter": sweep.adapter,
        "options": dict(sweep.chosen),
        "servers": place.servers,
        "tasks": sweep.tasks,
        "gate": sweep.gate,
        "operations": operations_of(course),
        "unkilled": rows_of(whole),
        "points": points,
    }


def operations_of(course: Sequence[Stop]) -> list[Data]:
    """The operations of a run, in order: name, how many effects had fired, what the store held."""
    fired, found = 0, []
    for stop in course:
        fired += stop.kind == EFFECT
        if stop.kind == OPERATION:
            found.append({"name": stop.name, "fired": fired, "holds": stop.holds})
    return found


def _point(life: Life, course: Sequence[Stop], number: int) -> Data:
    """One run, killed at the stop of that number."""
    left = itertools.count(1)
    passed = until(life, lambda _: next(left) == number)
    if passed != course[:number]:
        raise HostError(f"the run to be killed at stop {number} took another course")
    at = course[number - 1]
    return {"durable": len(operations(passed)), "at": [at.kind, at.name], **killed(life)}


def killed(life: Life, *, stops: bool = False) -> Data:
    """Kill a run where it is stopped, and recover it: what was found, and what became of it."""
    status = life.kill()
    return {"status": status, "answered": life.answers, **_data(life.recover(stops=stops))}


def _data(found: Recovered) -> Data:
    return {
        "held": found.held,
        "decision": found.decision,
        "answers": found.answers,
        "end": found.end,
        "error": found.error,
        "ledger": rows_of(found.ledger),
    }


def rows_of(ledger: Sequence[Row]) -> list[list[Any]]:
    """Rows of a ledger as JSON: task, value, process."""
    return [[row.task, row.value, row.process] for row in ledger]


BEFORE, AFTER, STORED = "before the ledger's row", "after the row", "after the framework's write"


def check_oracle(sweep: Sweep, progress: Progress) -> list[Data]:
    """Kill runs around an effect, for each task: what the ledger says, at the crash and after.

    The framework's durable write is the first operation after the effect.
    """
    rows = []
    cases = [(t, where) for t in range(1, sweep.tasks + 1) for where in _AROUND]
    with station(sweep) as place:
        for done, (task, where) in enumerate(cases):
            progress(f"oracle: {sweep.name}", done, len(cases))
            with place.life() as life:
                stop = until(life, _around(task, where))[-1]
                here = life.ledger()
                rows.append(
                    {
                        "adapter": sweep.adapter,
                        "options": dict(sweep.chosen),
                        "task": task,
                        "killed": where,
                        "at": [stop.kind, stop.name],
                        "crash": rows_of(here),
                        **killed(life),
                    }
                )
        progress(f"oracle: {sweep.name}", len(cases), len(cases))
    return rows


_AROUND = {BEFORE: BEFORE_EFFECT, AFTER: EFFECT, STORED: OPERATION}


def _around(task: int, where: str) -> Callable[[Stop], bool]:
    """Chooses the stop before, at or after the effect of a task."""
    return after_effect(task) if where == STORED else at_effect(task, _AROUND[where])


def at_effect(task: int, kind: str = EFFECT) -> Callable[[Stop], bool]:
    """Chooses the stop at the effect of a task."""
    return lambda stop: (stop.kind, stop.name) == (kind, f"t{task}")


def after_effect(task: int) -> Callable[[Stop], bool]:
    """Chooses the first operation after the effect of a task."""
    fired = False

    def chosen(stop: Stop) -> bool:
        nonlocal fired
        fired = fired or (stop.kind, stop.name) == (EFFECT, f"t{task}")
        return fired and stop.kind == OPERATION

    return chosen
