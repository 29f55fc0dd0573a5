"""What looking twice at the runs of an adapter shows to be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.authoring import place
from adapters.base import Adapter
from replay.adapter_check import Finding
from replay.lives import Conduct
from replay.racers import method_of
from replay.record import RunRecord
from replay.watched import Sighting, Succession
from tracegen.spec import Spec
from tracegen.trace import Trace

#: Errors of Python that a system seldom answers with, and a wrong call in an adapter often does.
MISTAKES = {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError"}


Walk = tuple[RunRecord, list[Sighting]]


class Looks:
    """Takes in what was seen of one run after the other.

    Attributes:
        findings: each once, by its check and a key.
        killed: whether the system is one whose processes are killed, and so has a store.
    """

    def __init__(self, spec: Spec, adapter: type[Adapter], conduct: Conduct) -> None:
        self.spec = spec
        self.adapter = adapter
        self.findings: dict[tuple[str, str], Finding] = {}
        self.killed = conduct.crash_form == "kill" and any(
            action.delivery == "kill" and method_of(name, action) not in conduct.unsupported
            for name, action in spec.actions.items()
        )
        self._sightings: list[Sighting] = []
        self._records: list[RunRecord] = []
        self._observe = place(adapter.observe)
        self._digest = place(adapter.store_digest)

    def add(self, check: str, key: str, where: str, what: str, do: str) -> None:
        """Keep a finding, once for each key."""
        self.findings.setdefault((check, key), Finding(check, where, what, do))

    # -- one run -----------------------------------------------------------------------

    def looked(
        self, where: str, sightings: Sequence[Sighting], successions: Sequence[Succession]
    ) -> None:
        """Report what the looks at one run showed."""
        for one in sightings:
            at = f"{where}, {one.told} in process {one.process}"
            for name in _differing(one.observed, one.again):
                self.add(
                    "observe",
                    f"twice {name}",
                    at,
                    f"{self._observe} called twice shows {_shown(name, one.observed, one.again)}",
                    "let it read and change nothing",
                )
            if one.digests[0] != one.digests[1]:
                self.add(
                    "observe",
                    "store",
                    at,
                    "store_digest() is another after one more observe()",
                    f"let {self._observe} write nothing, and take times and counters out of "
                    f"{self._digest}",
                )
        for pair in successions if self.killed else ():
            stored = [n for n in self.stored if n in pair.last.observed or n in pair.found]
            for name in _differing(
                {n: pair.last.observed[n] for n in stored if n in pair.last.observed},
                {n: pair.found[n] for n in stored if n in pair.found},
            ):
                self.add(
                    "memory",
                    name,
                    f"{where}, killed after {pair.last.told} in process {pair.last.process}",
                    "a fresh process shows "
                    + _shown(name, pair.last.observed, pair.found, "where it was", "now"),
                    f"let {self._observe} read {name} from the store, not from the process; what "
                    "the system itself shows from memory is named in `volatile`",
                )

    @property
    def stored(self) -> set[str]:
        """The observed variables that come from the store alone."""
        variables = self.spec.variables
        counted = {action.counts for action in self.spec.actions.values()}
        appended = {name for action in self.spec.actions.values() for name in action.appends}
        ours = {*self.spec.point[:1], variables.ledger} | counted | appended
        return ({*variables.observed, "outcome"} - ours) - {*self.adapter.volatile}

    # -- two runs of one trace ---------------------------------------------------------

    def compare(
        self,
        trace: Trace,
        first: Walk | None,
        second: Walk | None,
    ) -> None:
        """Report what differs though nothing was done otherwise; None is a run that failed."""
        for walk in filter(None, (first, second)):
            self._records.append(walk[0])
            self._sightings += walk[1]
        if first is None or second is None:
            return
        one, other = (_without_digests(record) for record, _ in (first, second))
        if not one.same(other):
            pairs = enumerate(zip(one.micro, other.micro, strict=False), 1)
            number, action = next(
                ((n, a.action) for n, (a, b) in pairs if a != b), (len(one.micro), "the end")
            )
            self.add(
                "steady",
                "record",
                f"trace {trace.name}, micro-step {number} ({action or 'start'})",
                "walked twice, it went otherwise the second time",
                "take out what depends on time, chance or an earlier run",
            )
            return
        for here, there in zip(first[1], second[1], strict=False):
            if here.digests[0] != there.digests[0] and here.digests[0] == here.digests[1]:
                self.add(
                    "digest",
                    "unstable",
                    f"trace {trace.name}, {here.told} in process {here.process}",
                    f"{self._digest} differs between two runs that went the same way",
                    "leave ids, times and paths out of it",
                )

    # -- all runs ----------------------------------------------------------------------

    def conclude(self, workflow: Mapping[str, Any]) -> None:
        """Report what no run showed."""
        if not self._records:
            return
        self.names()
        self.digests()
        self.refusals()
        tasks = set(range(1, workflow.get("tasks", 0) + 1)) if self.spec.point else set()
        for task in sorted(tasks - {one.task for one in self._sightings}):
            self.add(
                "gates",
                str(task),
                f"task {task}",
                "no run was ever held at its gate, so nothing can be killed there",
                f"let the body call self.enter({task}) first",
            )
        fired = {row.task for record in self._records for row in record.ledger}
        events = [e for record in self._records for micro in record.micro for e in micro.events]
        ran = {event.task for event in events if event.kind == "exec"}
        for task in sorted((tasks & ran) - fired) if self.spec.variables.ledger else ():
            self.add(
                "ledger",
                str(task),
                f"task {task}",
                "its body ran, and no run recorded its effect",
                f"let the body call self.effect({task}, value) where the effect fires",
            )

    def names(self) -> None:
        """Report what was observed that no model knows, or that nothing was."""
        known = {*self.spec.variables.observed, "outcome"}
        seen = {name for one in self._sightings for name in one.observed}
        for name in sorted(seen - known - {*self.adapter.beside}):
            self.add(
                "observe",
                name,
                self._observe,
                f"{name} is no observed variable of {self.spec.module}, and is not compared",
                f"it has {', '.join(sorted(known))}; what is meant for the receipt alone is named "
                "in `beside`",
            )
        if not seen & known and not self.spec.variables.ledger:
            self.add(
                "observe",
                "",
                self._observe,
                f"it showed none of the variables of {self.spec.module}, so nothing is compared",
                f"return what can be seen of {', '.join(self.spec.variables.observed)}",
            )

    def digests(self) -> None:
        """Report a digest that says nothing."""
        # A run that does not begin by itself has stored nothing when its process starts.
        primary = [one for one in self._sightings if one.primary]
        if not self.spec.point:
            primary = [one for one in primary if one.told != "start"]
        values = {repr(one.digests[0]) for one in primary}
        states = {repr([one.observed.get(name) for name in sorted(self.stored)]) for one in primary}
        if not self.killed:
            return
        if any(one.digests[0] is None for one in primary):
            self.add(
                "digest",
                "none",
                self._digest,
                "it returned None, so recovery determinism is not judged",
                "return a digest of what a recovery reads, without ids and times",
            )
        elif len(values) == 1 and len(states) > 1:
            self.add(
                "digest",
                "constant",
                self._digest,
                "it is the same whatever the store holds",
                "make it of what a recovery reads",
            )

    def refusals(self) -> None:
        """Report calls that were refused as a wrong call is."""
        for record in self._records:
            for micro in record.micro:
                error = micro.error or {}
                if micro.at == "refused" and error.get("type") in MISTAKES:
                    self.add(
                        "call",
                        f"{micro.action} {error['type']}",
                        f"trace {record.trace}, {micro.action or 'start'}",
                        f"the system's answer was {error['type']}: {error['message'][:160]}",
                        "if that is a mistake in the call, mend it: "
                        "what self.system() raises is taken for the system's",
                    )


def _without_digests(record: RunRecord) -> RunRecord:
    """A record without what stores were told apart by."""
    micro = tuple(
        replace(one, events=tuple(replace(event, store="") for event in one.events))
        for one in record.micro
    )
    doubles = tuple(replace(double, store="") for double in record.doubles)
    return replace(record, micro=micro, doubles=doubles)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    missing = object()
    names = {**one, **other}
    return [name for name in names if one.get(name, missing) != other.get(name, missing)]


def _shown(
    name: str,
    one: Mapping[str, Any],
    other: Mapping[str, Any],
    first: str = "first",
    second: str = "then",
) -> str:
    def said(seen: Mapping[str, Any]) -> str:
        return f"{seen[name]!r:.60}" if name in seen else "nothing"

    return f"{name} = {said(one)} {first} and {said(other)} {second}"
