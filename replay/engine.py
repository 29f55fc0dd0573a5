"""The replayer: one trace, one system, one step at a time (rules of docs/driving.md)."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.host import Host, HostError, Process
from adapters.ledger import Ledger
from replay.primary import Point, Primary, Report
from replay.record import Branch, Death, Event, Part, RunRecord
from tracegen.errors import MbtError
from tracegen.spec import Action, Spec
from tracegen.trace import Step, Trace
from tracegen.values import ModelValue, Value, to_python

RELEASES = 30
"""How often a run may be let go on for each of its tasks and each step of its trace."""


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
        self.ledger = Ledger(folder / "ledger.db")
        self.run = Primary(
            spec,
            tasks=_constant(constants, spec.workflow.get("tasks")),
            gate=_constant(constants, spec.workflow.get("gate")),
            ledger=self.ledger,
        )
        responses = {name: a for name, a in spec.actions.items() if a.kind == "response"}
        self.progress_action = next((n for n, a in responses.items() if not a.parks), "")
        self.park_action = next((n for n, a in responses.items() if a.parks), "")

        self._process: Process | None = None
        self.processes = 0
        self.process_ids: list[int] = []
        self.recoveries = 0
        self.ended = False
        self.releases = RELEASES * (self.run.tasks + 1 + len(trace.steps))
        self.branches: list[Branch] = []
        self.deaths: list[Death] = []
        self.inapplicable: dict[int, str] = {}
        self.dropped: list[int] = []

    # -- the walk ----------------------------------------------------------------------

    def walk(self) -> RunRecord:
        self._process = self.spawn()
        self.run.take(self.process.call("start", {}))
        self.note(None, "start", "", {})
        before: Mapping[str, Any] = self.trace.initial
        for index, step in enumerate(self.trace.steps):
            if self.ended:
                self.inapplicable[index] = f"the run had {self.run.at}"
            else:
                self.take_step(index, step, before)
            before = step.state
        self.drain(None)
        return RunRecord(
            trace=self.trace.name,
            digest=self.trace.digest,
            micro=tuple(self.run.micro),
            branches=tuple(self.branches),
            deaths=tuple(self.deaths),
            inapplicable=self.inapplicable,
            dropped=tuple(self.dropped),
            facts=tuple(dict.fromkeys(self.run.facts)),
            ledger=tuple(self.run.rows),
            process_ids=tuple(self.process_ids),
        )

    def take_step(self, index: int, step: Step, before: Mapping[str, Any]) -> None:
        run, action = self.run, self.spec.actions[step.action]
        point = self.spec_point(before)
        poisoned = action.poisons(step)
        if action.kind == "response" and not poisoned:
            # Rule 3: a system beyond the point has nothing left to do, nor has one that is parked.
            if run.at == "held" and run.point < self.spec_point(step.state):
                self.advance(index, "step")
            else:
                self.dropped.append(index)
            return
        self.catch_up(index, point)
        if poisoned:
            if run.at == "held" and run.point == point:
                self.advance(index, "step", poison=True)
            else:
                self.inapplicable[index] = f"{run.where}, not at the task to be poisoned"
            return
        if action.drains:
            self.drain(index)
        if reason := self.hindrance(action):
            self.inapplicable[index] = reason
            return
        params = {name: _plain(name, step) for name in action.tester}
        if action.delivery == "kill":
            self.crash(index, step.action, params)
        elif action.delivery == "branch":
            self.branch(index, step.action, params)
        else:
            self.deliver(index, step.action, params)

    def hindrance(self, action: Action) -> str | None:
        """Why the guard of a stimulus does not hold on what was observed; None where it does."""
        run = self.run
        holds = {
            None: True,
            "parked": run.at == "parked" and run.answer is None,
            # Not where it asks again: what is delivered then is an answer, not a fork.
            "answered": run.answer is not None and run.at != "parked",
            "held": run.at == "held" and run.task >= 2,
            "complete": run.at == "complete",
        }[action.needs]
        return None if holds else f"{run.where}; it needs a run that is {action.needs}"

    def spec_point(self, state: Mapping[str, Value]) -> Point:
        """The program point of a state of the model."""
        if not self.spec.point:
            return (0, False)
        pc, waiting = (to_python(state[name]) for name in self.spec.point)
        return (int(pc), bool(waiting))

    def catch_up(self, index: int, point: Point) -> None:
        """Let a system that is held before the point come up to it."""
        while self.run.at == "held" and self.run.point < point and not self.ended:
            self.advance(index, "catch-up")

    def drain(self, index: int | None) -> None:
        """Let the run go on until it completes, parks, fails or is refused."""
        while self.run.at == "held" and not self.ended:
            self.advance(index, "drain" if index is None else "catch-up")

    # -- one micro-step ----------------------------------------------------------------

    def advance(self, index: int | None, part: Part, *, poison: bool = False) -> None:
        """Let the body of the task at whose gate the run is held go on to the next point."""
        run = self.run
        task, frontier = run.task, run.frontier
        if poison:
            run.pending.append(Event("poison", task))
        run.take(self.release(poison))
        asked = run.at == "parked" and task == run.gate
        if not asked:
            run.pending.append(Event("exec", task, frontier))
        action = self.park_action if run.at == "parked" else self.progress_action
        rearmed = asked and run.answer is not None
        self.note(index, part, action, {}, poison=poison, folded=rearmed and self.re_answers)
        if rearmed:
            run.facts.append("re-armed")
        if rearmed and self.re_answers and run.answer is not None:
            name, params = run.answer
            run.pending.append(Event("reanswer", value=_value(params)))
            run.pending.append(Event("exec", task, frontier))
            run.take(self.settle(self.process.call(name, params), index))
            self.note(index, "re-answer", self.progress_action, {})
        self.ended = run.at in {"refused", "failed"}

    def release(self, poison: bool = False) -> Report:
        if self.exhausted():
            return {**self.run.report, "at": "failed"}
        if self.run.report.get("boundary"):
            return self.process.call("advance", {"poison": poison})
        return self.process.ask({"op": "release", "poison": poison})

    def exhausted(self) -> bool:
        """Whether the run goes round in circles: it is then left where it is, as failed."""
        self.releases -= 1
        if self.releases == 0:
            self.run.facts.append("went on without end")
        return self.releases <= 0

    def settle(self, report: Report, index: int | None) -> Report:
        """Let an answer pass the gates up to the gated task's own (rule 6)."""
        while report["at"] == "held" and report["task"] <= self.run.gate and not self.ended:
            if report["task"] == self.run.gate:
                self.run.report = report
                report = self.release()
            else:
                self.run.take(report)
                self.advance(index, "catch-up")
                report = self.run.report
        return report

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
        ordinal = self.process.ordinal
        self.run.note(index, part, action, params, process=ordinal, poison=poison, folded=folded)

    # -- stimuli -----------------------------------------------------------------------

    def deliver(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Make the call in the run's own process."""
        run, action, before = self.run, self.spec.actions[name], self.run.at
        report = self.process.call(name, params)
        if action.answers:
            report = self.settle(report, index)
        refused = report["at"] == "refused"
        if action.answers:
            run.pending.append(
                Event("consume refused" if refused else "consume", value=_value(params))
            )
        elif action.drains:
            run.pending.append(Event("stray"))
        run.take(report)
        if action.answers and not refused and run.at != "parked":
            run.answer = (name, params)
        run.drive(action, params, report["observed"].get("outcome"))
        self.note_refusal(name, report)
        self.note(index, "step", name, params)
        if refused:
            run.at = before  # a refusal leaves the run where it was

    def branch(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Run a fork to its end, in a process of its own."""
        run, number = self.run, len(self.branches) + 2
        report, ordinal = (
            self.branch_within(number, name, params)
            if self.crash_form == "exception"
            else self.branch_apart(number, name, params)
        )
        own = run.read_ledger()
        refused = report["at"] == "refused"
        ended = report["at"] not in {"refused", "failed"}
        outcome = report["observed"].get("outcome") if ended else None
        self.branches.append(
            Branch(
                number=number,
                step=index,
                process=ordinal,
                value=_value(params),
                at=report["at"],
                outcome=outcome,
                inherited=run.inherited,
                own=tuple(own.count(task) for task in range(1, run.tasks + 1)),
                error=report.get("error"),
            )
        )
        run.pending.append(Event("fork refused" if refused else "fork", value=_value(params)))
        self.note_refusal(name, report)
        if not refused:
            run.drive(self.spec.actions[name], params, outcome)
        # It stands where it stood; an error that its last call met is not the fork's.
        stands: Report = {key: run.report[key] for key in ("task", "boundary") if key in run.report}
        run.take({**stands, **self.process.ask({"op": "observe"}), "at": run.at})
        self.note(index, "step", name, params)

    def branch_apart(self, number: int, name: str, params: Mapping[str, Any]) -> tuple[Report, int]:
        process = self.spawn(branch=number)
        report = process.call(name, params)
        while report["at"] == "held":
            if self.exhausted():
                process.kill()
                return {**report, "at": "failed"}, process.ordinal
            if report.get("boundary"):
                report = process.call("advance", {"poison": False})
            else:
                report = process.ask({"op": "release", "poison": False})
        process.finish()
        return report, process.ordinal

    def branch_within(
        self, number: int, name: str, params: Mapping[str, Any]
    ) -> tuple[Report, int]:
        """Where the store lives in the run's process, so must the branch."""
        self.processes += 1
        ordinal = self.processes
        message = {"op": "branch", "branch": number, "process": ordinal, "action": name}
        report = self.process.ask({**message, "params": dict(params)})
        while report["at"] == "held":
            if self.exhausted() or report.get("boundary"):
                raise HostError(f"{name}: a branch in the run's own process must run to its end")
            report = self.process.ask({"op": "release", "poison": False})
        return report, ordinal

    def crash(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Kill the run where it is held, reap it, and recover in a process that never saw it."""
        run, killed = self.run, self.process.ordinal
        self.recoveries += 1
        if self.crash_form == "kill":
            status = self.process.kill()
            if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
                raise HostError(
                    f"process {killed} of the run was gone before it was killed "
                    f"(wait status {status})"
                )
            self.deaths.append(Death(killed, index, "kill", status))
            self._process = self.spawn(recovery=self.recoveries)
        else:
            if self.process.ask({"op": "crash"})["at"] != "crashed":
                raise HostError("the run went on though it was crashed by an exception")
            self.deaths.append(Death(killed, index, "exception", None))
            self.processes += 1
            self.process.ordinal = self.processes
            ordinals = {"process": self.processes, "recovery": self.recoveries}
            self.process.ask({"op": "succeed", **ordinals})
        found = self.process.ask({"op": "observe"})
        digest = self.process.ask({"op": "digest"})["digest"]
        run.pending.append(Event("crash"))
        durable = max(run.frontier, run.shown_frontier(found) or 0)
        run.take(self.process.call(name, params))
        if any(found["observed"].get(n) != run.report["observed"].get(n) for n in self.stored):
            run.facts.append("the recovery wrote before its first gate")
        self.note_refusal(name, run.report)
        self.ended = run.at == "refused"
        if self.ended:
            run.stood = None  # nothing runs, and nothing is parked
        else:
            task, store = run.point[0], digest or ""
            run.pending.append(Event("recover", task=task, frontier=durable, store=store))
        run.drive(self.spec.actions[name], params, None)
        self.note(index, "step", name, params)

    @property
    def stored(self) -> set[str]:
        """The observed variables that come from the store alone."""
        variables = self.spec.variables
        return {*variables.observed} - {*self.spec.point, variables.ledger, *self.run.driven}

    def note_refusal(self, name: str, report: Report) -> None:
        if report["at"] == "refused":
            self.run.facts.append(f"{name} was refused: {report['error']['type']}")

    # -- processes ---------------------------------------------------------------------

    @property
    def process(self) -> Process:
        """The process that the run lives in."""
        assert self._process is not None
        return self._process

    def spawn(self, *, recovery: int = 0, branch: int = 0) -> Process:
        self.processes += 1
        process = self.host.fork(
            {
                "folder": str(self.folder),
                "notes": self.run.notes,
                "process": self.processes,
                "recovery": recovery,
                "branch": branch,
            }
        )
        self.process_ids.append(process.pid)
        return process

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()  # its record is complete, or there is none
        self.ledger.close()


def _constant(constants: Mapping[str, Value], name: str | None) -> int:
    return int(to_python(constants[name])) if name is not None else 0


def _plain(name: str, step: Step) -> Any:
    """A parameter as an adapter is handed it."""
    value = step.params[name]
    if isinstance(value, ModelValue):
        raise MbtError(
            f"{step.action}: its parameter {name} is the model value {value}, which is nothing to "
            "an adapter; give the constant in the .cfg strings or numbers"
        )
    return to_python(value)


def _value(params: Mapping[str, Any]) -> str:
    """The value that a stimulus delivers, "" where it delivers none."""
    return str(next(iter(params.values()), ""))
