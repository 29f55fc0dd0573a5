"""A host whose runs are looked at twice: what observing changes, what only memory held.

Wherever a process of a run stands still, it is asked for a digest of the store, then to observe
once more, then for the digest again. Nothing happens in between: any difference is the adapter's.

While an answer is under way, up to the gate of the task that asked, nothing is asked: a framework
may be writing there, and no crash is delivered there (rule 7 of docs/driving.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.host import Host, Process


@dataclass(frozen=True)
class Sighting:
    """What one report showed.

    Attributes:
        told: what the process was told to do.
        primary: whether it is the run's own process, and not one beside it.
        at: where the run stood.
        task: at which gate it was held, 0 where at none.
        observed, again: what was observed in the report, and right after it.
        digests: of the store, before it was observed again and afterwards.
        notes: what was handed to later processes.
    """

    told: str
    process: int
    primary: bool
    at: str | None
    task: int
    observed: Mapping[str, Any]
    again: Mapping[str, Any]
    digests: tuple[Any, Any]
    notes: Mapping[str, Any]


@dataclass(frozen=True)
class Succession:
    """A process that was killed, as it was seen last, and what a fresh one saw first."""

    last: Sighting
    found: Mapping[str, Any]


class LookedAt(Process):
    """A process of a run that is looked at twice at each report."""

    place: Mapping[str, Any]
    _branching = False
    _answered = 0  # the gate of which an answer is under way

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """As that of `Process`."""
        report = super().ask(message)
        told = message["op"]
        if "observed" not in report or report.get("at") == "crashed":
            return report
        host = self._host
        assert isinstance(host, WatchedHost)
        # A branch in the run's own process: it is not the branch that would answer.
        self._branching = told == "branch" or (self._branching and told == "release")
        if message.get("action") in host.deliveries:
            self._answered = host.gate
        if report["at"] != "held" or report["task"] > self._answered:
            self._answered = 0
        if report["at"] == "held" and host.is_primary(self.place):
            host.task = report["task"]
        if self._branching:
            self._branching = report["at"] == "held"
            return report
        if self._answered:
            return report
        before = super().ask({"op": "digest"})["digest"]
        again = super().ask({"op": "observe"})["observed"]
        after = super().ask({"op": "digest"})["digest"]
        host.seen(
            self.place,
            Sighting(
                told=message.get("action", told),
                process=self.ordinal,
                primary=host.is_primary(self.place),
                at=report["at"],
                task=report.get("task", 0),
                observed=report["observed"],
                again=again,
                digests=(before, after),
                notes=report["notes"],
            ),
        )
        return report


class WatchedHost(Host):
    """Keeps what it saw of one run at a time.

    Attributes:
        deliveries: actions that answer an interrupt, or answer it again beside the run.
        gates: the tasks that ask, in order.
        of: the run's folder.
        task: the task at whose gate the run is held, or was held last.
        sightings: in the order of the reports.
        successions: a killed process of the run and the one that took over, each time.
    """

    kind = LookedAt
    deliveries: frozenset[str] = frozenset()
    gates: tuple[int, ...] = ()

    def watch(self, folder: str) -> None:
        """Forget the run before, and watch the one in this folder."""
        self.of = folder
        self.task = 0
        self.sightings: list[Sighting] = []
        self.successions: list[Succession] = []
        self._latest: tuple[Mapping[str, Any], Sighting] | None = None

    @property
    def gate(self) -> int:
        """The gate that the run stands at or comes to next, else its last one; 0 for none."""
        ahead = [gate for gate in self.gates if gate >= self.task]
        return (ahead or [*self.gates[-1:], 0])[0]

    def is_primary(self, place: Mapping[str, Any]) -> bool:
        """Whether a process is the run's own: its first one, or one that took over."""
        first = place["process"] == 1 or place["recovery"] > 0
        return bool(first and place["branch"] == 0 and place["folder"] == self.of)

    def fork(self, context: Mapping[str, Any]) -> Process:
        """As that of `Host`."""
        process = super().fork(context)
        assert isinstance(process, LookedAt)
        process.place = context
        return process

    def seen(self, place: Mapping[str, Any], sighting: Sighting) -> None:
        """Take in what a report showed; the first of a successor is held against the last one."""
        self.sightings.append(sighting)
        if not sighting.primary:
            return
        if self._latest is not None and place["recovery"] > self._latest[0]["recovery"]:
            self.successions.append(Succession(self._latest[1], sighting.observed))
        self._latest = (place, sighting)

    def look_after_the_end(self) -> None:
        """Have a fresh process observe the run, all of whose processes are ended by now."""
        if self._latest is None:
            return
        place, last = self._latest
        ordinals = {"process": last.process + 100, "recovery": place["recovery"] + 1}
        process = self.fork({**place, **ordinals, "notes": last.notes})
        try:
            process.ask({"op": "observe"})
        finally:
            process.kill()
