"""The replayer: one trace, one system, one step at a time (rules of docs/driving.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.base import gated_tasks
from adapters.host import Host, HostError, Process
from adapters.ledger import Ledger
from adapters.services import Given
from replay.lives import Conduct, Lives
from replay.primary import Point, Primary, Report
from replay.racers import Racers, method_of, past_its_read, up_to_the_gate
from replay.record import Branch, Double, Event, Part, RunRecord, decision_of
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.trace import Step, Trace
from tracegen.values import ModelValue, Value, to_python

RELEASES = 30
"""How often a run may be let go on for each of its tasks and each step of its trace."""


def replay_trace(
    spec: Spec,
    trace: Trace,
    host: Host,
    folder: Path,
    conduct: Conduct,
    given: Given,
) -> RunRecord:
    """Walk one trace on one system and return what happened.

    Args:
        folder: an empty folder of the run's own, inside the host's.
        conduct: how the adapter lets it be driven.
        given: what the run is given of servers.

    Raises:
        adapters.host.HostError: the machinery failed; there is no record and no verdict.
    """
    walk = _Walk(spec, trace, host, folder, conduct, given)
    try:
        return walk.walk()
    except HostError as error:
        raise HostError(f"{walk.here}: {error}") from error
    finally:
        walk.close()


class _Walk:
    def __init__(
        self,
        spec: Spec,
        trace: Trace,
        host: Host,
        folder: Path,
        conduct: Conduct,
        given: Given,
    ) -> None:
        self.spec = spec
        self.trace = trace
        self.conduct = conduct
        self.re_answers = conduct.options.get("re_answer") == "yes"
        workflow = spec.workflow_of(trace.model)
        self.ledger = Ledger(folder / "ledger.db")
        self.run = Primary(
            spec,
            tasks=workflow.get("tasks", 0),
            gates=gated_tasks(workflow),
            ledger=self.ledger,
        )
        responses = {name: a for name, a in spec.actions.items() if a.kind == "response"}
        self.progress_action = next((n for n, a in responses.items() if not a.parks), "")
        self.park_action = next((n for n, a in responses.items() if a.parks), "")

        self.lives = Lives(host, folder, conduct, given)
        self.ended = False
        self.releases = RELEASES * (self.run.tasks + 1 + len(trace.steps))
        self.branches: list[Branch] = []
        self.doubles: list[Double] = []
        self.racers: dict[int, tuple[Process, Report]] = {}
        self.deliveries = Racers(self.run, self.lives)
        self.inapplicable: dict[int, str] = {}
        self.dropped: list[int] = []
        self.here = "its start"  # for the report of a failure

    # -- the walk ----------------------------------------------------------------------

    def walk(self) -> RunRecord:
        self.lives.begin(self.run.notes)
        self.run.take(self.process.call("start", {}))
        while self.spec.begins == "parked" and self.run.at == "held":
            self.run.take(self.release())
        self.note(None, "start", "", {})
        before: Mapping[str, Any] = self.trace.initial
        for index, step in enumerate(self.trace.steps):
            if self.ended:
                self.inapplicable[index] = f"the run had {self.run.at}"
            else:
                self.here = f"step {index + 1} ({step.action})"
                self.take_step(index, step, before)
            before = step.state
        self.here = "beyond its last step"
        self.drain(None)
        return RunRecord(
            trace=self.trace.name,
            digest=self.trace.digest,
            micro=tuple(self.run.micro),
            branches=tuple(self.branches),
            deaths=tuple(self.lives.deaths),
            doubles=tuple(self.doubles),
            inapplicable=self.inapplicable,
            dropped=tuple(self.dropped),
            facts=tuple(dict.fromkeys(self.run.facts)),
            ledger=tuple(self.run.rows),
            process_ids=tuple(self.lives.process_ids),
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
        if reason := self.hindrance(index, step.action):
            self.inapplicable[index] = reason
            return
        params = self.params_of(step)
        if action.delivery == "kill":
            self.crash(index, step.action, params)
        elif action.delivery == "branch":
            self.branch(index, step.action, params)
        elif action.delivery == "race":
            self.race(index, step.action, params)
        elif action.delivery in {"bring", "let-go"}:
            self.race_on(index, step.action, params)
        else:
            self.deliver(index, step.action, params)

    def params_of(self, step: Step) -> dict[str, Any]:
        """The tester's parameters of a step, as an adapter is handed them."""
        return {name: _plain(name, step) for name in self.spec.actions[step.action].tester}

    def hindrance(self, index: int, name: str) -> str | None:
        """Why a stimulus cannot be delivered, by what was observed; None where it can."""
        run, action = self.run, self.spec.actions[name]
        if (method := method_of(name, action)) and method in self.conduct.unsupported:
            return self.conduct.unsupported[method]
        if action.delivery == "race" and index not in self.racers:
            return "no second consumer had read before the first one's consumption was let go"
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
            self.answer_again(index, frontier)
        self.ended = run.at in {"refused", "failed"}

    def answer_again(self, index: int | None, frontier: int) -> None:
        """Give a system that asks again after consumption the same answer again (rule 9)."""
        run = self.run
        run.facts.append("re-armed")
        if self.re_answers and run.answer is not None:
            name, params = run.answer
            run.pending.append(Event("reanswer", value=_value(params)))
            run.pending.append(Event("exec", run.gate, frontier))
            run.take(self.settle(self.process.call(name, params), index))
            self.note(index, "re-answer", self.progress_action, {})

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

    def approach(self, report: Report, index: int | None) -> Report:
        """Let an answer come up to the gated task's gate, past those of the tasks before it."""
        while report["at"] == "held" and report["task"] < self.run.gate and not self.ended:
            self.run.take(report)
            self.advance(index, "catch-up")
            report = self.run.report
        return report

    def settle(self, report: Report, index: int | None) -> Report:
        """Let an answer pass the gates up to the gated task's own (rule 6)."""
        report = self.approach(report, index)
        while report["at"] == "held" and report["task"] == self.run.gate and not self.ended:
            self.run.report = report
            report = self.approach(self.release(), index)
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
        by: Process | None = None,
    ) -> None:
        ordinal = (by or self.process).ordinal
        self.run.note(index, part, action, params, process=ordinal, poison=poison, folded=folded)

    # -- stimuli -----------------------------------------------------------------------

    def deliver(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Make the call in the run's own process."""
        run, action, before = self.run, self.spec.actions[name], self.run.at
        gate = run.gate  # of which an answer is; the run goes on from there
        report = self.process.call(name, params)
        if action.answers:
            report = self.approach(report, index)
            self.bring_racers(index, report)
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
            run.answers[gate] = (name, params)
        run.drive(action, params, report["observed"].get("outcome"))
        self.note_refusal(name, report)
        self.note(index, "step", name, params)
        if refused:
            run.at = before  # a refusal leaves the run where it was

    def branch(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Run a fork to its end, in a process of its own."""
        run = self.run
        # Its ordinal among the values supplied at the interrupt.
        number = len(self.branches) + 1 + (run.answer is not None)
        process, ordinal, report = self.lives.branch(number, name, params, run.notes)
        while report["at"] == "held":
            if self.exhausted():
                report = {**report, "at": "failed"}
            elif not report.get("boundary"):
                report = process.ask({"op": "release", "poison": False})
            elif process is self.process:
                raise HostError(f"{name}: a branch in the run's own process must run to its end")
            else:
                report = process.call("advance", {"poison": False})
        self.lives.end(process, report)
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
        self.look_again()
        self.note(index, "step", name, params)

    def look_again(self, error: Mapping[str, str] | None = None) -> None:
        """Observe the run after something beside it: it stands where it stood."""
        # An error that its last call met is not the other's.
        last = self.run.report
        stands: Report = {key: last[key] for key in ("task", "boundary") if key in last}
        seen: Report = {**self.process.ask({"op": "observe"}), "at": self.run.at}
        self.run.take(stands | seen | ({"error": error} if error else {}))

    def bring_racers(self, index: int, first: Report) -> None:
        """Bring the consumers that race with this one past their read, before it is let go.

        The first one is held at the gate of the asking task, past its own read (rule 13).
        """
        for later, step in enumerate(self.trace.steps[index + 1 :], index + 1):
            action = self.spec.actions[step.action]
            if action.answers or first["at"] == "refused":
                return
            if action.delivery != "race" or step.action in self.conduct.unsupported:
                continue
            if not past_its_read(first, self.run.gate):
                raise HostError(f"{step.action}: the first consumer is not held past its read")
            process = self.lives.beside(self.run.notes)
            report = process.call(step.action, self.params_of(step))
            report = up_to_the_gate(process, report, self.run.gate)
            if report["at"] != "refused" and not past_its_read(report, self.run.gate):
                raise HostError(f"{step.action}: the second consumer was not held past its read")
            self.racers[later] = (process, report)

    def race(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Let go a second consumer that had read before the first one's consumption was let go.

        The step ends at its first report beyond the gated task, and with it the consumer: what
        two of them make of the tasks that follow is not what the race is about.
        """
        run = self.run
        process, report = self.racers.pop(index)
        while past_its_read(report, run.gate) and not self.exhausted():
            report = process.ask({"op": "release", "poison": False})
        self.lives.end(process, report)
        refused = report["at"] == "refused"
        run.pending.append(Event("race refused" if refused else "race", value=_value(params)))
        self.note_refusal(name, report)
        if not refused:
            run.drive(self.spec.actions[name], params, report["observed"].get("outcome"))
        self.look_again(report.get("error"))
        self.note(index, "step", name, params, by=process)

    def race_on(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Take a step of a delivery that races with others; its parameter says of which."""
        (number,) = params.values()
        if isinstance(number, bool) or not isinstance(number, int):
            raise MbtError(f"{name}: a delivery is named by its number, not by {number!r}")
        if self.spec.actions[name].delivery == "bring":
            process = self.deliveries.bring(number, name)
        elif self.deliveries.come(number):
            process = self.deliveries.let_go(number, name)
        else:
            self.inapplicable[index] = "the delivery did not come in time"
            return
        self.note(index, "step", name, params, by=process)

    def crash(self, index: int, name: str, params: Mapping[str, Any]) -> None:
        """Crash the run where it is held, and recover in a process that never saw it."""
        run = self.run
        self.lives.crash(index)
        # Where there are program points, a recovery decides at which of them the run goes on.
        double = self.lives.recover_copy(name, params, run.notes) if self.spec.point else None
        self.lives.succeed(run.notes)
        found = self.process.ask({"op": "observe"})
        digest = self.process.ask({"op": "digest"})["digest"]
        run.pending.append(Event("crash"))
        durable = max(run.frontier, run.shown_frontier(found) or 0)
        run.take(self.process.call(name, params))
        if double is not None:
            self.compare_recoveries(index, digest, double)
        if self.spec.point and any(
            found["observed"].get(n) != run.report["observed"].get(n) for n in self.stored
        ):
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
        if run.at == "parked" and run.answer is not None:
            self.answer_again(index, run.frontier)

    def compare_recoveries(
        self, index: int, digest: str | None, double: tuple[str | None, Report]
    ) -> None:
        """Keep what two recoveries from one store decided, the run's own and that of a copy."""
        if digest is None and double[0] is None:
            return  # nobody can say whether the copy is the store
        if double[0] != digest:
            raise HostError("the copy of the store is not the store: their digests differ")
        first, second = (decision_of(report) for report in (self.run.report, double[1]))
        self.doubles.append(Double(index, str(digest), first, second))
        if first != second:
            self.run.facts.append("two recoveries from one store decided differently")

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
        return self.lives.own

    def close(self) -> None:
        self.lives.close()
        self.ledger.close()


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
