"""A second consumer that arrives at each point of the first one's progress, and two recoverers.

The first consumer lives in the run's own process and is brought to a program point; there the
second one arrives, in a process beside it, and comes up to the gate if it is let in. Then the
first goes on until it has written its consumption, the second goes to its end, and the first to
its own. Every hold is a gate: nothing here waits for a time to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.base import Adapter
from adapters.host import Host, HostError, Process
from adapters.ledger import Ledger
from adapters.services import Given, open_services
from replay.lives import Conduct, Lives
from replay.primary import Report

BEFORE, GATE, BODY, NEXT, COMPLETE = "before", "gate", "body", "next", "complete"
POINTS = {
    BEFORE: "before its read",
    GATE: "at the gate",
    BODY: "inside the gated body",
    NEXT: "inside the next task",
    COMPLETE: "after completion",
}
FIRST = "v1"
VALUES = {"same": FIRST, "different": "v2"}
"""Which value the second consumer delivers -> that value."""
WORKFLOW = {"tasks": 3, "gate": 2}
RELEASES = 20
"""How often a consumer may be let go on; one that needs more goes round in circles."""

Evidence = dict[str, Any]


def measure(
    adapter: type[Adapter],
    reference: str,
    options: Mapping[str, str],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Evidence:
    """All arrivals on one plane, and two recoverers, a run each.

    Returns:
        `versions` and `servers` that took part, `arrivals` (by values and point, in that order)
        and `recoveries`.

    Raises:
        HostError: the machinery failed, or the first consumer could not be brought to a point.
        MissingFramework, ServiceError: what the plane needs is not there.
    """
    conduct = Conduct.of(adapter, options)
    wanted = [(values, point) for values in VALUES for point in POINTS]
    found: list[Evidence] = []
    with open_services(conduct.services) as services, Host(reference, WORKFLOW, options) as host:
        for number in range(len(wanted) + 1):
            folder = host.folder / f"run-{number}"
            folder.mkdir()
            with services.for_run() as given, closing(Race(host, folder, conduct, given)) as race:
                if number < len(wanted):
                    values, point = wanted[number]
                    found.append({"values": values, **race.arrival(point, VALUES[values])})
                    if not stands(found[-1]):
                        raise HostError(
                            f"{values} values: the first consumer was not {POINTS[point]} when "
                            f"the second arrived, but {found[-1]['found']}"
                        )
                else:
                    found.append(race.recoveries())
            progress(number + 1, len(wanted) + 1)
        versions = host.versions
    return {
        "versions": versions,
        "servers": services.versions,
        "arrivals": found[:-1],
        "recoveries": found[-1],
    }


def stands(arrival: Mapping[str, Any]) -> bool:
    """Whether the first consumer was where the second one is said to have arrived."""
    found, gated = arrival["found"], WORKFLOW["gate"]
    held_at = [f"held at task {task}" for task in range(gated + 1, WORKFLOW["tasks"] + 1)]
    where, effects = {
        BEFORE: (["parked"], 0),
        GATE: ([f"held at task {gated}"], 0),
        BODY: ([f"held at task {gated}"], 1),
        NEXT: (held_at, 1),
        COMPLETE: (["complete"], 1),
    }[arrival["point"]]
    return found["first"] in where and found["gated effects"] == effects


@dataclass
class Consumer:
    """A process that answers or recovers, and where it stands."""

    process: Process
    report: Report
    releases: int = RELEASES

    @property
    def where(self) -> str:
        """Where it stands, in words."""
        if self.report["at"] == "refused":
            return f"refused: {self.report['error']['type']}"
        return f"held at task {self.report['task']}" if self.held else str(self.report["at"])

    @property
    def held(self) -> bool:
        """Whether it is held in a body."""
        return bool(self.report["at"] == "held")

    def held_up_to(self, task: int) -> bool:
        """Whether it is held in the body of a task or of one before."""
        return self.held and self.report["task"] <= task

    def go(self, *, pause: bool = False) -> None:
        """Let it go on to its next hold; `pause` is one behind its next effect."""
        self.releases -= 1
        if self.releases < 0:
            raise HostError(f"a consumer goes round in circles ({RELEASES} releases)")
        self.report = self.process.ask({"op": "release", "poison": False, "pause": pause})

    def beyond(self, task: int) -> Consumer:
        """Let it go until it is held in a later body, or in none."""
        while self.held_up_to(task):
            self.go()
        return self


class Race:
    """One run, its two consumers or recoverers, and what was seen of them."""

    def __init__(self, host: Host, folder: Path, conduct: Conduct, given: Given) -> None:
        """Start a run in an empty folder of its own."""
        self.tasks, self.gate = WORKFLOW["tasks"], WORKFLOW["gate"]
        self.lives = Lives(host, folder, conduct, given)
        self.ledger = Ledger(folder / "ledger.db")
        self.rows: list[list[Any]] = []
        try:
            self.lives.begin({})
            self.first = Consumer(self.lives.own, self.lives.own.call("start", {}))
            self.first.beyond(self.tasks)
            if self.first.report["at"] != "parked":
                raise HostError(f"the run that is to be answered is {self.first.where}")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all its processes."""
        self.lives.close()
        self.ledger.close()

    def fired(self) -> list[list[Any]]:
        """Every effect until now, in order: [task, value, process]."""
        self.rows += [[row.task, row.value, row.process] for row in self.ledger.new_rows()]
        return self.rows

    # -- two consumers -----------------------------------------------------------------

    def arrival(self, point: str, value: str) -> Evidence:
        """Have the second consumer arrive at a point of the first one's progress."""
        if point == BEFORE:
            found = self.found()
            second, arrived, entered = self.arrive(value)
            self.answer()
        else:
            self.answer()
            self.bring(point)
            found = self.found()
            second, arrived, entered = self.arrive(value)
        self.first.beyond(self.gate)
        second.beyond(self.tasks)
        self.lives.end(second.process, second.report)
        self.first.beyond(self.tasks)
        return {
            "point": point,
            "found": found,
            "first": {"process": self.lives.own.ordinal, "end": self.first.where},
            "second": {
                "process": second.process.ordinal,
                "arrived": arrived,
                "entered": entered,
                "end": second.where,
            },
            "ledger": self.fired(),
            "after": {
                "first": self.seen(self.first.report["notes"]),
                "second": self.seen(second.report["notes"]),
                "one address": _address(self.first.report) == _address(second.report),
            },
        }

    def answer(self) -> None:
        """Have the first consumer answer, and come up to the gate, past its read."""
        self.first = Consumer(self.lives.own, self.lives.own.call("Consume", {"v": FIRST}))
        self.first.beyond(self.gate - 1)

    def bring(self, point: str) -> None:
        """Bring the first consumer, which is at the gate, to a point."""
        if point == BODY:
            while self.first.held_up_to(self.gate) and not self.in_the_body():
                self.first.go(pause=True)
        elif point == NEXT:
            self.first.beyond(self.gate)
        elif point == COMPLETE:
            self.first.beyond(self.tasks)

    def in_the_body(self) -> bool:
        """Whether the gated effect fired."""
        return any(task == self.gate for task, _, _ in self.fired())

    def arrive(self, value: str) -> tuple[Consumer, str, bool]:
        """A second consumer up to the gate; where it came to, and whether it entered a body."""
        process = self.lives.beside(self.first.report["notes"])
        second = Consumer(process, process.call("RaceConsume", {"v": value}))
        entered = second.held
        second.beyond(self.gate - 1)
        return second, second.where, entered

    def found(self) -> Evidence:
        """What the second consumer finds when it arrives."""
        return {
            "first": self.first.where,
            "gated effects": sum(task == self.gate for task, _, _ in self.fired()),
            "waiting": self.seen(self.first.report["notes"])["waiting"],
        }

    def seen(self, notes: Mapping[str, Any]) -> Evidence:
        """What the public state shows to a process that never saw the run."""
        looker = self.lives.beside(notes)
        report = looker.ask({"op": "observe"})
        self.lives.end(looker, report)
        shown = report["observed"]
        return {
            "waiting": shown.get("waiting"),
            "consumed": shown.get("consumedVal"),
            "completions": [entry["task"] for entry in shown.get("ckpts", ())],
        }

    # -- two recoverers ----------------------------------------------------------------

    def recoveries(self) -> Evidence:
        """Kill the run in its last task; have two processes recover it, both held in a body."""
        self.answer()
        self.first.beyond(self.tasks - 1)
        if not self.first.held:
            raise HostError(f"the run that is to be killed is {self.first.where}")
        killed, notes = self.first.report["task"], self.first.report["notes"]
        self.lives.crash(0)
        self.lives.succeed(notes)
        beside = self.lives.beside(notes, recovery=1)
        both = [Consumer(p, p.call("CrashRecover", {})) for p in (self.lives.own, beside)]
        stood = [each.where for each in both]
        for each in both:
            each.beyond(self.tasks)
        return {
            "killed in": killed,
            "status": self.lives.deaths[0].status,
            "recoverers": [
                {"process": each.process.ordinal, "stood": at, "end": each.where}
                for each, at in zip(both, stood, strict=True)
            ],
            "ledger": self.fired(),
        }


def _address(report: Report) -> Evidence:
    """What a caller wrote down to find the run by, without what it answered."""
    return {name: value for name, value in report["notes"].items() if name != "answer"}
