"""The replayer: one trace, one system, one step at a time (rules of docs/driving.md)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.host import Host, Process
from adapters.ledger import Ledger, Row
from replay.record import Branch, Death, Event, MicroStep, Part, RunRecord
from tracegen.spec import Action, Spec
from tracegen.trace import Step, Trace
from tracegen.values import Function, to_python

Report = dict[str, Any]
Point = tuple[int, bool]


def replay_trace(
    spec: Spec, trace: Trace, host: Host, folder: Path, options: Mapping[str, str], crash_form: str
) -> RunRecord:
    """Walk one trace on one system and return what happened.

    Args:
        folder: an empty folder of the run's own, inside the host's.
        options: the adapter's options, each with its choice.
        crash_form: "kill", or "exception" where the store lives in the process.

    Raises:
        adapters.host.HostError: the machinery failed; there is no record and no verdict.
    """
    walk = _Walk(spec, trace, host, folder, options, crash_form)
    try:
        return walk.walk()
    finally:
        walk.close()


class _Walk:
    def __init__(
        self,
        spec: Spec,
        trace: Trace,
        host: Host,
        folder: Path,
        options: Mapping[str, str],
        crash_form: str,
    ) -> None:
        self.spec = spec
        self.trace = trace
        self.host = host
        self.folder = folder
        self.re_answers = options.get("re_answer") == "yes"
        self.crash_form = crash_form
        constants = spec.models[trace.model].constants
        self.tasks: int = _constant(constants, spec.workflow.get("tasks"))
        self.gate: int = _constant(constants, spec.workflow.get("gate"))
        self.ledger = Ledger(folder / "ledger.db")
        self.progress_action = next(
            (n for n, a in spec.actions.items() if a.kind == "response" and not a.parks), ""
        )
        self.park_action = next((n for n, a in spec.actions.items() if a.parks), "")

        self.processes = 0
        self.process_ids: list[int] = []
        self.recoveries = 0
        self.notes: dict[str, Any] = {}
        self.process: Process | None = None
        self.at: str | None = None
        self.task = 0  # of the gate where the run is held
        self.report: Report = {}
        self.ended = False
        # The value that the system consumed, as the action and parameters that delivered it.
        self.answer: tuple[str, Mapping[str, Any]] | None = None
        self.counts = [0] * self.tasks  # effects of the primary
        self.inherited: tuple[int, ...] = ()  # the same, as they were at the interrupt
        self.driven: dict[str, Any] = {
            name: 0 for name in (a.counts for a in spec.actions.values()) if name
        } | {name: [] for a in spec.actions.values() for name in a.appends}
        self.unseen: set[str] = set()  # of the driven: what an outcome was not seen for
        self.frontier = 0

        self.micro: list[MicroStep] = []
        self.branches: list[Branch] = []
        self.deaths: list[Death] = []
        self.inapplicable: dict[int, str] = {}
        self.dropped: list[int] = []
        self.facts: list[str] = []
        self.rows: list[Row] = []
        self.pending: list[Event] = []

    # -- the walk ----------------------------------------------------------------------

    def walk(self) -> RunRecord:
        self.process = self.spawn()
        self.take(self.process.call("start", {}))
        self.note(None, "start", "", {})
        before: Mapping[str, Any] = self.trace.initial
        for index, step in enumerate(self.trace.steps):
            if self.ended:
                self.inapplicable[index] = f"the run had {self.at}"
            else:
                self.take_step(index, step, before)
            before = step.state
        self.drain(None)
        return RunRecord(
            trace=self.trace.name,
            digest=self.trace.digest,
            micro=tuple(self.micro),
            branches=tuple(self.branches),
            deaths=tuple(self.deaths),
            inapplicable=self.inapplicable,
            dropped=tuple(self.dropped),
            facts=tuple(dict.fromkeys(self.facts)),
            ledger=tuple(self.rows),
            process_ids=tuple(self.process_ids),
        )

    def take_step(self, index: int, step: Step, before: Mapping[str, Any]) -> None:
        action = self.spec.actions[step.action]
        point = self.spec_point(before)
        poisoned = action.poisons(step)
        if action.kind == "response" and not poisoned:
            # Rule 3: a system beyond the point has nothing left to do, nor has one that is parked.
            if self.at == "held" and self.point() < self.spec_point(step.state):
                self.advance(index, "step")
            else:
                self.dropped.append(index)
            return
        self.catch_up(index, point)
        if poisoned:
            if self.at == "held" and self.point() == point:
                self.advance(index, "step", poison=True)
            else:
                self.inapplicable[index] = f"{self.where()}, not at the task to be poisoned"
            return
        if action.drains:
            self.drain(index)
        if reason := self.hindrance(action):
            self.inapplicable[index] = reason
            return
        params = {name: to_python(value) for name, value in step.params.items()}
        params = {name: params[name] for name in action.tester}
        if action.delivery == "kill":
            self.crash(index, step.action, params)
        elif action.delivery == "branch":
            self.branch(index, step.action, params)
        else:
            self.deliver(index, step.action, action, params)

    def hindrance(self, action: Action) -> str | None:
        """Why the guard of a stimulus does not hold on what was observed; None where it does."""
        holds = {
            None: True,
            "parked": self.at == "parked" and self.answer is None,
            # Not where it asks again: what is delivered then is an answer, not a fork.
            "answered": self.answer is not None and self.at != "parked",
            "held": self.at == "held" and self.task >= 2,
            "complete": self.at == "complete",
        }[action.needs]
        return None if holds else f"{self.where()}; it needs a run that is {action.needs}"

    def where(self) -> str:
        """Where the run stands, for a reader."""
        return (
            f"the run was held at task {self.task}"
            if self.at == "held"
            else f"the run was {self.at}"
        )

    # -- program points ----------------------------------------------------------------

    def spec_point(self, state: Mapping[str, Any]) -> Point:
        """The program point of a state of the model."""
        if not self.spec.point:
            return (0, False)
        pc, waiting = (to_python(state[name]) for name in self.spec.point)
        return (int(pc), bool(waiting))

    def point(self) -> Point:
        """The program point where the system stands."""
        if self.at == "held":
            return (self.task, False)
        if self.at == "parked":
            return (self.gate, True)
        return (self.tasks + 1, False)

    def catch_up(self, index: int, point: Point) -> None:
        """Let a system that is held before the point come up to it."""
        while self.at == "held" and self.point() < point:
            self.advance(index, "catch-up")

    def drain(self, index: int | None) -> None:
        """Let the run go on until it completes, parks, fails or is refused."""
        bound = itertools.count()
        while self.at == "held" and not self.ended and next(bound) < 10 * (self.tasks + 1):
            self.advance(index, "drain" if index is None else "catch-up")

    # -- one micro-step ----------------------------------------------------------------

    def advance(self, index: int | None, part: Part, *, poison: bool = False) -> None:
        """Let the body of the task at whose gate the run is held go on to the next point."""
        task, frontier = self.task, self.frontier
        if poison:
            self.pending.append(Event("poison", task))
        self.take(self.release(poison))
        asked = self.at == "parked" and task == self.gate
        if not asked:
            self.pending.append(Event("exec", task, frontier))
        action = self.park_action if self.at == "parked" else self.progress_action
        if not (asked and self.answer is not None):
            self.note(index, part, action, {}, poison=poison)
            self.ended = self.at in {"refused", "failed"}
            return
        self.facts.append("re-armed")
        self.note(index, part, action, {}, folded=self.re_answers)
        if self.re_answers:
            name, params = self.answer
            self.pending.append(Event("reanswer", value=str(next(iter(params.values()), ""))))
            self.pending.append(Event("exec", task, frontier))
            self.take(self.settle(self.running().call(name, params), index))
            self.note(index, "re-answer", self.progress_action, {})

    def release(self, poison: bool = False) -> Report:
        if self.report.get("boundary"):
            return self.running().call("advance", {"poison": poison})
        return self.running().ask({"op": "release", "poison": poison})

    def settle(self, report: Report, index: int | None) -> Report:
        """Let an answer pass the gates up to the gated task's own (rule 6)."""
        while report["at"] == "held" and report["task"] <= self.gate:
            if report["task"] == self.gate:
                self.report = report
                report = self.release()
            else:
                self.take(report)
                self.advance(index, "catch-up")
                report = self.report
        return report

    def take(self, report: Report) -> None:
        """Take in a report of the primary."""
        self.report = report
        self.notes = report["notes"]
        self.at = report["at"]
        if self.at == "held":
            self.task = report["task"]
        raw = report["observed"].get("frontier")
        if isinstance(raw, int):
            if raw < self.frontier:
                self.facts.append(
                    f"rebuilt: the store's frontier fell from {self.frontier} to {raw}"
                )
            self.frontier = max(self.frontier, raw)

    def read_ledger(self) -> list[int]:
        """Count the primary's new effects; return the tasks of the new effects of branches."""
        of_branches = []
        for row in self.ledger.new_rows():
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
        poison: bool = False,
        folded: bool = False,
    ) -> None:
        """Write down a micro-step that ended with the report taken last."""
        self.read_ledger()
        if self.at == "parked" and not self.inherited:
            self.inherited = tuple(self.counts)
        seen = dict(self.report["observed"])
        raw = {name: seen.pop(name) for name in ("outcome",) if name in seen}
        variables = self.spec.variables
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
                process=self.running().ordinal,
                observed=seen,
                events=tuple(self.pending),
                error=self.report.get("error"),
                poison=poison,
                folded=folded,
                raw=raw or None,
            )
        )
        self.pending = []

    # -- stimuli -----------------------------------------------------------------------

    def drive(self, action: Action, params: Mapping[str, Any], outcome: Any) -> None:
        """Keep the driven variables of a stimulus that was delivered."""
        if action.counts:
            self.driven[action.counts] += 1
        for name, source in action.appends.items():
            value = outcome if source == "outcome" else params[source]
            if value is not None:
                self.driven[name].append(value)
            elif action.delivery == "call":
                # The run goes on, and may yet show what it made of the value; appended then, or
                # left out, the outcomes of later values would be taken for this one's.
                self.unseen.add(name)

    def deliver(self, index: int, name: str, action: Action, params: Mapping[str, Any]) -> None:
        """Make the call in the run's own process."""
        before = self.at
        report = self.running().call(name, params)
        if action.answers:
            report = self.settle(report, index)
            self.pending.append(Event("consume", value=str(next(iter(params.values()), ""))))
        elif action.kind == "stimulus" and action.drains:
            self.pending.append(Event("stray"))
        self.take(report)
        if action.answers and self.at not in {"refused", "parked"}:
            self.answer = (name, params)
        self.drive(action, params, report["observed"].get("outcome"))
        if self.at == "refused":
            self.facts.append(f"{name} was refused: {report['error']['type']}")
        self.note(index, "step", name, params)
        if self.at == "refused":
            self.at = before  # a refusal leaves the run where it was

    def branch(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Run a fork to its end, in a process of its own."""
        action = self.spec.actions[name]
        number = len(self.branches) + 2
        value = str(next(iter(params.values())))
        nested = self.crash_form == "exception"
        process = self.running() if nested else self.spawn(branch=number)
        self.processes += nested
        ordinal = self.processes
        if nested:
            report = process.ask(
                {"op": "branch", "branch": number, "process": ordinal, "action": name}
                | {"params": dict(params)}
            )
        else:
            report = process.call(name, params)
        while report["at"] == "held":
            if report.get("boundary"):
                report = process.call("advance", {"poison": False})
            else:
                report = process.ask({"op": "release", "poison": False})
        if not nested:
            process.finish()
        own = self.read_ledger()
        refused = report["at"] == "refused"
        outcome = None if refused else report["observed"].get("outcome")
        self.branches.append(
            Branch(
                number=number,
                step=index,
                process=ordinal,
                value=value,
                at=report["at"],
                outcome=outcome,
                inherited=self.inherited,
                own=tuple(own.count(t) for t in range(1, self.tasks + 1)),
                error=report.get("error"),
            )
        )
        self.pending.append(Event("fork refused" if refused else "fork", value=value))
        if refused:
            self.facts.append(f"{name} was refused: {report['error']['type']}")
        else:
            self.drive(action, params, outcome)
        # It stands where it stood; an error that its last call met is not the fork's.
        stands: Report = {
            key: self.report[key] for key in ("task", "boundary") if key in self.report
        }
        self.take({**stands, **self.running().ask({"op": "observe"}), "at": self.at})
        self.note(index, "step", name, params)

    def crash(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Kill the run where it is held, reap it, and recover in a process that never saw it."""
        process = self.running()
        self.recoveries += 1
        if self.crash_form == "kill":
            status = process.kill()
            self.deaths.append(Death(process.ordinal, index, "kill", status))
            self.process = process = self.spawn(recovery=self.recoveries)
        else:
            process.ask({"op": "crash"})
            self.deaths.append(Death(process.ordinal, index, "exception", None))
            self.processes += 1
            process.ordinal = self.processes
            process.ask({"op": "succeed", "process": self.processes, "recovery": self.recoveries})
        found = process.ask({"op": "observe"})
        digest = process.ask({"op": "digest"})["digest"]
        durable = found["observed"].get("frontier")
        self.pending.append(Event("crash"))
        report = process.call(name, params)
        self.take(report)
        written = {"frontier", "ckpts", "consumedVal"}
        if any(found["observed"].get(n) != report["observed"].get(n) for n in written):
            self.facts.append("the recovery wrote before its first gate")
        if self.at == "refused":
            self.facts.append(f"{name} was refused: {report['error']['type']}")
            self.ended = True
        else:
            self.pending.append(
                Event(
                    "recover",
                    task=self.point()[0],
                    frontier=max(self.frontier, durable or 0),
                    store=digest or "",
                )
            )
        self.drive(self.spec.actions[name], params, None)
        self.note(index, "step", name, params)

    # -- processes ---------------------------------------------------------------------

    def spawn(self, *, recovery: int = 0, branch: int = 0) -> Process:
        self.processes += 1
        process = self.host.fork(
            {
                "folder": str(self.folder),
                "notes": self.notes,
                "process": self.processes,
                "recovery": recovery,
                "branch": branch,
            }
        )
        self.process_ids.append(process.pid)
        return process

    def running(self) -> Process:
        assert self.process is not None
        return self.process

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()  # its record is complete, or there is none
        self.ledger.close()


def _constant(constants: Mapping[str, Any], name: str | None) -> int:
    value = constants[name] if name is not None else None
    return int(to_python(value)) if value is not None and not isinstance(value, Function) else 0
