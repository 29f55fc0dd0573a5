"""The primary run, as its driver sees it: where it stands, what was observed, what fired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.host import HostError
from adapters.ledger import Ledger, Row
from replay.record import Event, MicroStep, Part
from tracegen.spec import Action, Spec

Report = dict[str, Any]
Point = tuple[int, bool]


class Primary:
    """Takes in the reports of a run's processes and writes down its micro-steps.

    Attributes:
        tasks, gates: how many tasks the workflow has, and which of them ask, in order.
        at: where the run stands: held, idle, parked, complete, failed or refused.
        task: the task at whose gate it is held, or was held last.
        report: the report taken last.
        notes: what its caller would have written down; handed to each later process.
        answers: by gate, the value that the system consumed there, as the action and parameters
            that delivered it.
        frontier: the highest durable frontier that the store ever showed.
        inherited: effects by task, as they were when the run first parked at its last gate.
        pending: what happened since the last micro-step.
    """

    def __init__(self, spec: Spec, tasks: int, gates: tuple[int, ...], ledger: Ledger) -> None:
        self.spec = spec
        self.tasks = tasks
        self.gates = gates
        self.ledger = ledger
        self.at: str | None = None
        self.task = 0
        self.report: Report = {}
        self.notes: dict[str, Any] = {}
        self.answers: dict[int, tuple[str, Mapping[str, Any]]] = {}
        self.stood: int | None = None  # the task it stood before, None where nobody knows
        self.frontier = 0
        self.counts = [0] * tasks
        self.inherited: tuple[int, ...] = ()
        counted = [action.counts for action in spec.actions.values() if action.counts]
        appended = [name for action in spec.actions.values() for name in action.appends]
        self.driven: dict[str, Any] = dict.fromkeys(counted, 0) | {name: [] for name in appended}
        self.unseen: set[str] = set()  # of the driven: what an outcome was not seen for
        self.pending: list[Event] = []
        self.micro: list[MicroStep] = []
        self.facts: list[str] = []
        self.rows: list[Row] = []

    @property
    def gate(self) -> int:
        """The gate that it stands at or comes to next, else its last one; 0 where there is none."""
        ahead = [gate for gate in self.gates if gate >= self.task]
        return (ahead or [*self.gates[-1:], 0])[0]

    @property
    def answer(self) -> tuple[str, Mapping[str, Any]] | None:
        """What was consumed at that gate."""
        return self.answers.get(self.gate)

    @property
    def point(self) -> Point:
        """The program point where it stands."""
        if self.at in {"held", "idle"}:
            return (self.task, False)
        return (self.gate, True) if self.at == "parked" else (self.tasks + 1, False)

    @property
    def where(self) -> str:
        """Where it stands, for a reader."""
        where = f" at task {self.task}" if self.at in {"held", "idle"} else ""
        return f"the run was {self.at}{where}"

    def take(self, report: Report) -> None:
        """Take in a report of one of its processes."""
        if self.spec.point and report["at"] is None:
            raise HostError(
                "the adapter did not say where the run stands: an action returns "
                '"parked", "complete" or a boundary'
            )
        self.report = report
        self.notes = report["notes"]
        self.at = report["at"]
        if self.at in {"held", "idle"}:
            self.task = report["task"]
        if (shown := self.shown_frontier(report)) is not None:
            if shown < self.frontier:
                fell = f"the store's frontier fell from {self.frontier} to {shown}"
                self.facts.append(f"rebuilt: {fell}")
            self.frontier = max(self.frontier, shown)

    def shown_frontier(self, report: Report) -> int | None:
        """The durable frontier that a report's store shows, None where it shows none."""
        for name in self.spec.variables.monotone:
            if name in report["observed"]:
                shown = report["observed"][name]
                if not isinstance(shown, int) or isinstance(shown, bool):
                    raise HostError(f"observe() returned {name} = {shown!r:.80}, not an integer")
                return shown
        return None

    def read_ledger(self) -> list[int]:
        """Count the primary's new effects; return the tasks of the new effects of branches."""
        of_branches = []
        for row in self.ledger.new_rows():
            if not isinstance(row.task, int) or not 1 <= row.task <= self.tasks:
                raise HostError(
                    f"the adapter fired an effect of task {row.task!r:.40}; "
                    f"the workflow has tasks 1 to {self.tasks}"
                )
            self.rows.append(row)
            if row.branch == 0:
                self.counts[row.task - 1] += 1
                self.pending.append(Event("effect", row.task, value=row.value or ""))
            else:
                of_branches.append(row.task)
        return of_branches

    def note(
        self,
        index: int | None,
        part: Part,
        action: str,
        params: Mapping[str, Any],
        *,
        process: int,
        poison: bool = False,
        folded: bool = False,
    ) -> None:
        """Write down a micro-step that ended with the report taken last."""
        self.read_ledger()
        if self.at == "parked" and self.gate in self.gates[-1:] and not self.inherited:
            self.inherited = tuple(self.counts)
        seen = dict(self.report["observed"])
        raw = {name: seen.pop(name) for name in ("outcome",) if name in seen}
        variables = self.spec.variables
        if self.spec.point:
            # The gates say where it stands, whatever the adapter shows; a refusal leaves it there.
            if self.at in {"held", "idle", "parked", "complete"}:
                self.stood = self.point[0]
            elif self.at == "failed":
                self.stood = None
            seen.pop(self.spec.point[0], None)
            if self.stood is not None:
                seen[self.spec.point[0]] = self.stood
        if variables.ledger:
            seen[variables.ledger] = list(self.counts)
        for name in variables.monotone:
            if name in seen:
                raw[name] = seen[name]
                seen[name] = self.frontier
        seen |= {
            name: list(value) if isinstance(value, list) else value
            for name, value in self.driven.items()
            if name not in self.unseen
        }
        self.micro.append(
            MicroStep(
                step=index,
                part=part,
                action=action,
                params=dict(params),
                at=self.at,
                process=process,
                observed=seen,
                events=tuple(self.pending),
                error=self.report.get("error"),
                poison=poison,
                folded=folded,
                raw=raw or None,
            )
        )
        self.pending = []

    def drive(self, action: Action, params: Mapping[str, Any], outcome: Any) -> None:
        """Keep the driven variables of a stimulus that was delivered."""
        if action.counts:
            self.driven[action.counts] += 1
        for name, source in action.appends.items():
            value = outcome if source == "outcome" else params[source]
            if value is not None:
                self.driven[name].append(value)
            else:
                # Appended later, or left out, the outcomes of later values would be taken for
                # this one's.
                self.unseen.add(name)
