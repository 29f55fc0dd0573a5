"""Deliveries that race for one interrupt, each in a process of its own, a step at a time.

A step brings a delivery past its read, to the gate of the asking task, where it stands before its
effect; another step lets it go, to its first report beyond the gate. In between any other delivery
may take its steps. Nothing has to be known of what follows in the trace (rule 13 has it that way).
"""

from __future__ import annotations

from adapters.host import HostError, Process
from replay.lives import Lives
from replay.primary import Primary, Report
from replay.record import Event
from tracegen.spec import Action

CALL = "RaceConsume"
"""The adapter's method that a delivery consists of."""
LONGEST_WAY = 100
"""How often a consumer may be let go on before it stands at the gate of the asking task."""


def method_of(name: str, action: Action) -> str | None:
    """The adapter's method by which an action is taken, None where it is a release alone."""
    return {"bring": CALL, "let-go": None}.get(action.delivery or "", name)


def past_its_read(report: Report, gate: int) -> bool:
    """Whether a consumer is held between its read and its effect."""
    return bool(report["at"] == "held" and report["task"] == gate)


def up_to_the_gate(process: Process, report: Report, gate: int) -> Report:
    """Let a consumer pass the gates before the asking task's.

    Raises:
        HostError: it goes round in circles there.
    """
    for _ in range(LONGEST_WAY):
        if report["at"] != "held" or report["task"] >= gate:
            return report
        report = process.ask({"op": "release", "poison": False})
    raise HostError(f"a consumer did not come up to task {gate} in {LONGEST_WAY} releases")


class Racers:
    """The deliveries to one run.

    Where a delivery goes through, the run goes on in its process: the first such one is asked
    what another left behind that did not, and its notes are what later ones are given.
    """

    def __init__(self, run: Primary, lives: Lives) -> None:
        self._run = run
        self._lives = lives
        self._standing: dict[int, tuple[Process, Report]] = {}
        self._turned_away: dict[int, tuple[Process, Report]] = {}
        self._taker: Process | None = None

    def come(self, number: int) -> bool:
        """Whether a delivery came in time: it is held past its read, or was refused there."""
        return number in self._standing or number in self._turned_away

    def bring(self, number: int, name: str) -> Process:
        """Start a delivery and bring it past its read.

        One that comes after another's consumption is let go at once: the model has no step more
        for it, and what it does is what it read.
        """
        process = self._lives.beside(self._run.notes)
        report = process.call(CALL, {"v": f"v{number}"})
        entered = report["at"] == "held"
        report = up_to_the_gate(process, report, self._run.gate)
        held = past_its_read(report, self._run.gate)
        if self._taker is not None:
            self._come_late(process, report, number, name)
        elif held:
            self._standing[number] = (process, report)
            self._see(report, Event("read", task=number))
        elif report["at"] == "refused":
            self._turned_away[number] = (process, report)
            before = "" if entered else ", before any task was entered"
            self._run.facts.append(f"{name} was refused{before}: {report['error']['type']}")
            self._close(process, report, Event("read refused", task=number))
        else:
            raise HostError(f"{name}: delivery {number} was not held past its read")
        return process

    def let_go(self, number: int, name: str) -> Process:
        """Let a delivery go that is held past its read; one that was refused there stays so."""
        if number in self._turned_away:
            process, report = self._turned_away.pop(number)
            self._see(report)
            return process
        process, report = self._standing.pop(number)
        report = self._past_the_gate(process, report)
        if report["at"] == "refused":
            self._run.facts.append(f"{name} was refused: {report['error']['type']}")
            kind = "write refused"
        elif self._consumed(report):
            kind = "write"
        else:
            self._run.facts.append(f"{name} did not go through: {report['at']}")
            kind = "write inert"
        self._close(process, report, Event(kind, task=number))
        return process

    def _come_late(self, process: Process, report: Report, number: int, name: str) -> None:
        """Take in a delivery that read after another's consumption."""
        held = past_its_read(report, self._run.gate)
        report = self._past_the_gate(process, report)
        stands = f"held at task {report['task']}" if report["at"] == "held" else report["at"]
        if report["at"] == "refused":
            kind, what = "read refused", f"refused: {report['error']['type']}"
        elif held and self._consumed(report):
            kind, what = "write", "let in"
        else:
            kind, what = "late", f"inert: {stands}"
        self._run.facts.append(f"{name} after a consumption was {what}")
        self._close(process, report, Event(kind, task=number))

    def _past_the_gate(self, process: Process, report: Report) -> Report:
        """Let a delivery pass the gated task's gate, which a system may have before it asks too."""
        # As often as there are tasks: one that comes back to the gate for longer goes in circles.
        for _ in range(self._run.tasks):
            if not past_its_read(report, self._run.gate):
                break
            report = process.ask({"op": "release", "poison": False})
        return report

    def _consumed(self, report: Report) -> bool:
        """Whether a delivery that was let go at the gate came beyond the gated task."""
        beyond = report["at"] == "held" and report["task"] > self._run.gate
        return bool(beyond) or report["at"] == "complete"

    def _close(self, process: Process, report: Report, event: Event) -> None:
        """Take in the end of a delivery; the first that consumed stays, and is the run."""
        self._see(report, event)
        if event.kind == "write" and self._taker is None:
            self._taker = process
            self._run.notes = report["notes"]
        else:
            self._lives.end(process, report)

    def _see(self, report: Report, *events: Event) -> None:
        """What is observed after a step: of a consumption by its delivery, else by the run.

        What a delivery that has not consumed would show is what it once read.
        """
        if any(event.kind == "write" for event in events):
            seen = report
        else:
            seen = (self._taker or self._lives.own).ask({"op": "observe"})
            if report["at"] == "refused":
                seen["error"] = report["error"]
        self._run.pending += events
        self._run.take({**seen, "at": self._run.at, "notes": self._run.notes})
