"""The scenario of a recorded run: what whoever drives the run did, process by process.

A script that reproduces a run has no gates at which each step is observed. It makes the calls that
the driver made, and holds a process at the entry of a task's body where the record has something
else happen meanwhile: a kill, a fork, a second consumer, or a look at what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.record import Branch, MicroStep, RunRecord
from tracegen.errors import MbtError

#: The actions of the resume plane: what a run does by itself, and what somebody does to it.
PROGRESS = {"ExecTask", "EmitInterrupt", ""}
STIMULI = {"Consume", "ForkResume", "CrashRecover", "CrashWhileParked", "ExtraResume"} | {
    "RaceConsume",
    "Invoke",
}
#: The value of a stray resume that is another than the one consumed.
OTHER_VALUE = "stray"


@dataclass
class Tell:
    """Tell a process to make a call, or to go on from where it is held.

    Attributes:
        says: what is done, for a person.
        at: where that leaves the process, as a script says it.
        task: the task at whose entry it is held, 0 where it is not.
        stop_at: the same, where it is to be held there.
        spoil: the task whose output is to break the schema.
        first: for a recovery, what it enters first.
        open: whether what the run does next still belongs to this call.
    """

    process: int
    do: str
    says: str
    given: tuple[str, ...] = ()
    branch: int = 0
    beside: bool = False
    at: str = ""
    task: int = 0
    stop_at: int = 0
    spoil: int = 0
    first: str = ""
    open: bool = True

    @property
    def reported(self) -> str:
        """What the script has to hear of it."""
        recovers = self.do == "recover" and not self.at.startswith("refused")
        return f"enters {self.first} first; {self.at}" if recovers else self.at


@dataclass
class Kill:
    """Kill a process where it is."""

    process: int


@dataclass
class End:
    """End a process beside the run's own, whose part is over."""

    process: int


@dataclass
class Look:
    """Look at what is stored."""

    process: int
    seen: Mapping[str, Any]


Doing = Tell | Kill | End | Look


@dataclass(frozen=True)
class Scenario:
    """What is done, in order, and what fires: branch, task, answer and process of each effect."""

    doings: Sequence[Doing]
    effects: Sequence[Sequence[Any]]


def scenario_of(
    record: RunRecord, gate: int, tasks: int, options: Mapping[str, str], *, look_at: int | None
) -> Scenario:
    """Derive the scenario of a run.

    Args:
        gate, tasks: of its workflow.
        options: of the adapter; where a value is delivered once more, they say which.
        look_at: index of the micro-step whose observation is to be looked at, beside the last one.

    Raises:
        MbtError: something happened that a script without a harness cannot do again.
    """
    walk = _Walk(record, gate, tasks, options)
    for index, micro in enumerate(record.micro):
        walk.take(index, micro)
        if index == look_at:
            walk.look(micro)
    walk.look(record.micro[-1])
    rows = [[row.branch, row.task, row.value, row.process] for row in record.ledger]
    return Scenario(walk.doings, rows)


@dataclass
class _Walk:
    record: RunRecord
    gate: int
    tasks: int
    options: Mapping[str, str]
    doings: list[Doing] = field(default_factory=list)
    answer: str = OTHER_VALUE

    def __post_init__(self) -> None:
        self.branches: Iterator[Branch] = iter(self.record.branches)
        self.last: Tell | None = None  # of the run's own process
        self.ahead = False  # of it, in a call that comes later in the record

    # -- one micro-step ----------------------------------------------------------------

    def take(self, index: int, micro: MicroStep) -> None:
        endless = "went on without end" in self.record.facts
        if micro.at not in {"held", "parked", "complete", "refused", "failed"} or endless:
            raise MbtError(f"a run that is {micro.at} after {micro.action} is not for a script")
        if micro.part == "start":
            self.tell(micro, Tell(1, "start", "The run is started."))
        elif micro.part == "re-answer":
            says = f"It asks again, and is answered {self.answer} again."
            self.tell(micro, Tell(micro.process, "resume", says, (self.answer,)))
        elif micro.part == "step" and micro.action in STIMULI:
            getattr(self, f"take_{micro.action}")(index, micro)
        elif micro.action in PROGRESS:
            self.progress(micro)
        else:
            raise MbtError(f"no script knows how to make the step {micro.action}")

    def progress(self, micro: MicroStep) -> None:
        """The run went on from where it was held; where it was not, an answer is under way."""
        last = self.last
        if last is None:
            raise ValueError("a step before the start")
        self.ahead = not last.task
        if self.ahead:
            return
        if not last.open:
            last = Tell(last.process, "go_on", "The run goes on.", task=last.task)
            self.last = last
            self.doings.append(last)
        if micro.poison:
            last.spoil = last.task
        self.place(last, micro)

    def take_Consume(self, index: int, micro: MicroStep) -> None:
        value = self.answer = _value(micro)
        call = Tell(micro.process, "resume", f"It is answered {value}.", (value,))
        racers = [*self.racers(index)]
        if not racers:
            return self.tell(micro, call)
        call.says = f"It is answered {value}; the answer is read, and held before it does anything."
        self.hold(call)
        for process, second in racers:
            says = f"A second caller answers {second}, and has read as well."
            self.hold(Tell(process, "race", says, (second,), beside=True))
        self.tell(micro, Tell(micro.process, "go_on", "The first one is let go on."))
        return None

    def racers(self, index: int) -> Iterator[tuple[int, str]]:
        for later in self.record.micro[index + 1 :]:
            if later.action == "Consume" and later.part == "step":
                return
            if later.action == "RaceConsume":
                yield later.process, _value(later)

    def hold(self, call: Tell) -> None:
        call.task = call.stop_at = self.gate
        call.at, call.open = _held(self.gate), False
        self.doings.append(call)

    def take_RaceConsume(self, _: int, micro: MicroStep) -> None:
        if micro.error:
            raise MbtError("a second consumer was refused, and it is not recorded at which call")
        self.interrupt()
        call = Tell(micro.process, "go_on", "The second one is let go on.", beside=True, open=False)
        if self.gate < self.tasks:
            call.task = call.stop_at = self.gate + 1
        call.at = _held(call.task) if call.task else "complete"
        self.doings += [call, End(micro.process)]

    def take_ForkResume(self, _: int, micro: MicroStep) -> None:
        self.fork(next(self.branches), "fork", "A fork from the question is answered {}{}.")

    def take_Invoke(self, _: int, micro: MicroStep) -> None:
        branch = next(self.branches)
        do = "fork" if branch.number > 1 else "resume"
        self.fork(branch, do, "The question is answered {} at its checkpoint{}.")

    def fork(self, branch: Branch, do: str, says: str) -> None:
        meanwhile = ", while the run is held" if self.last and self.last.task else ""
        self.interrupt()
        at = str(branch.at)
        if branch.at == "refused":
            at = _refused(branch.error)
        elif branch.at != "failed":
            at += f", having got {branch.outcome[0] if branch.outcome else None}"
        call = Tell(branch.process, do, says.format(branch.value, meanwhile), (branch.value,))
        call.branch, call.at, call.open = branch.number, at, False
        self.doings.append(call)

    def take_CrashRecover(self, _: int, micro: MicroStep) -> None:
        self.crash(micro, Tell(micro.process, "recover", "A new process recovers it."))

    def take_CrashWhileParked(self, _: int, micro: MicroStep) -> None:
        self.crash(micro, Tell(micro.process, "reopen", "A new process looks where it stands."))

    def crash(self, micro: MicroStep, call: Tell) -> None:
        if self.last is None:
            raise ValueError("a crash before the start")
        self.interrupt()
        self.doings.append(Kill(self.last.process))
        self.tell(micro, call)

    def take_ExtraResume(self, _: int, micro: MicroStep) -> None:
        value = self.answer if self.options.get("stray_value", "same") == "same" else OTHER_VALUE
        recovers = self.options.get("stray") == "recover"
        says = f"It is complete, and is {'recovered' if recovers else f'answered {value}'} again."
        self.tell(micro, Tell(micro.process, "stray", says, (value,)))

    # -- calls -------------------------------------------------------------------------

    def tell(self, micro: MicroStep, call: Tell) -> None:
        """A call of the run's own process."""
        self.ahead = False
        self.place(call, micro)
        call.first = f"task {call.task}" if call.task else "no task"
        self.last = call
        self.doings.append(call)

    def place(self, call: Tell, micro: MicroStep) -> None:
        """Where a call has come to by now."""
        held = micro.at == "held"
        call.task = int(micro.observed["pc"]) if held else 0
        call.open = held
        call.at = _held(call.task) if held else str(micro.at)
        if micro.at == "refused":
            call.at = _refused(micro.error)

    def interrupt(self) -> None:
        """Something else happens while the run is where it is."""
        if self.last is not None and self.last.open:
            self.last.stop_at, self.last.open = self.last.task, False

    def look(self, micro: MicroStep) -> None:
        if self.last is None or self.ahead:
            return
        self.interrupt()
        seen: dict[str, Any] = {}
        if "ckpts" in micro.observed and micro.at != "refused":
            seen["stored"] = [[c["task"], c["valid"]] for c in micro.observed["ckpts"]]
        if "consumedVal" in micro.observed and micro.at in {"parked", "complete"}:
            seen["answer"] = micro.observed["consumedVal"]
        look = Look(self.last.process, seen)
        if seen and self.doings[-1] != look:
            self.doings.append(look)


def _held(task: int) -> str:
    return f"held at the entry of task {task}"


def _refused(error: Mapping[str, str] | None) -> str:
    return f"refused: {error['type'] if error else 'unknown'}"


def _value(micro: MicroStep) -> str:
    (value,) = micro.params.values()
    return str(value)
