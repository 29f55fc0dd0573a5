"""The vocabulary of the resume plane: what all its adapters have in common.

The workflow is the model's: `tasks` tasks in a row, the one numbered `gate` behind an
interrupt, or each of the `gates`. A framework's adapter builds it from `enter`, `effect` and
`output`, and says how its framework starts, resumes, forks, recovers and is asked for its state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from adapters.base import Adapter, Option, Run, gated_tasks

#: What a task writes where its output is to break the schema: the schema wants a number.
POISON = "not a number"

STRAY = {
    "stray": Option(
        "resume",
        ("resume", "recover"),
        "how a completed run is delivered to once more: a resume, or the recovery call",
    ),
    "stray_value": Option(
        "same", ("same", "other"), "the value of a stray resume: the consumed one, or another"
    ),
}
RE_ANSWER = {
    "re_answer": Option(
        "yes",
        ("yes", "no"),
        "whether a system that asks again after consumption is given the same answer again",
    ),
}


class ResumeAdapter(Adapter):
    """Base of the adapters of the resume plane; one instance a process of a run.

    Notes kept for later processes: `answer`, the value that was consumed.
    """

    #: The value of `stray_value=other`.
    OTHER_VALUE: ClassVar[str] = "stray"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.tasks: int = run.workflow["tasks"]
        self.gates = gated_tasks(run.workflow)
        self.gated = self.gates[-1]  # which a fork branches from
        self.pc: int | None = None
        self._poison = False

    @classmethod
    def unsupported(cls, options: Mapping[str, str]) -> dict[str, str]:
        """A consumer is raced only where it can be held between its read and its effect."""
        if cls.crash_form(options) == "exception":
            return {"RaceConsume": "a store in the run's own process has no second consumer"}
        if options.get("crash_at") == "boundary":
            return {"RaceConsume": "between calls nothing is held past its read"}
        return {}

    # -- for the bodies of tasks -------------------------------------------------------

    def enter(self, task: int) -> None:
        """Be held at the entry of a task's body, where the driver may kill."""
        self.pc = task
        self._poison = bool(self.run.gate(task).get("poison"))

    def effect(self, task: int, value: str | None = None) -> None:
        """Fire the effect of a task."""
        self.run.effect(task, value)

    def let_pass(self, word: Mapping[str, Any]) -> None:
        """Take the driver's word for the next body, where it is given with a call."""
        self._poison = bool(word.get("poison"))

    def output(self, task: int) -> Any:
        """Return what a task writes: its number, or what breaks the schema where told to."""
        poison, self._poison = self._poison, False
        return POISON if poison else task

    # -- for the actions ---------------------------------------------------------------

    def at_boundary(self, task: int) -> tuple[str, int]:
        """Say that a call came back before the body of a task, with nothing running."""
        self.pc = task
        return ("held", task)

    def idle_at(self, task: int) -> tuple[str, int]:
        """Say that the run stands before a task, that nothing runs and nothing is asked for."""
        self.pc = task
        return ("idle", task)

    def advance(self, poison: bool) -> Any:
        """Take one step from a boundary (option `crash_at=boundary`)."""
        raise NotImplementedError

    def stopped(self, *, parked: bool) -> str:
        """Say that a call came back: the run is parked at the gate, or complete."""
        if not parked:
            self.pc = self.tasks + 1
        elif self.pc not in self.gates:  # where more than one asks, the adapter has said which
            self.pc = self.gated
        return "parked" if parked else "complete"

    def Consume(self, v: str) -> Any:
        """Answer the interrupt."""
        self.run.notes["answer"] = v
        return self.resume(v)

    def ForkResume(self, v: str) -> Any:
        """Answer the interrupt again, on a branch of its own; this process is the branch's."""
        return self.fork(v)

    def CrashRecover(self) -> Any:
        """Recover, in a process that never saw the run, from the durable store alone."""
        return self.recover()

    def CrashWhileParked(self) -> Any:
        """Find the parked run again, in a process that never saw it."""
        return self.reopen()

    def RaceConsume(self, v: str) -> Any:
        """Answer the interrupt as a second consumer; this process is that consumer's."""
        return self.resume(v)

    def Invoke(self, v: str) -> Any:
        """Answer the interrupt of a run that stays parked, in a process of the branch's own."""
        self.run.notes["answer"] = v
        return self.resume(v) if self.run.branch == 1 else self.fork(v)

    def ExtraResume(self) -> Any:
        """Deliver to a completed run once more."""
        if self.run.options.get("stray") == "recover":
            return self.recover()
        same = self.run.options.get("stray_value", "same") == "same"
        answer = self.run.notes.get("answer", self.OTHER_VALUE)
        return self.stray(answer if same else self.OTHER_VALUE)

    def resume(self, v: str) -> Any:
        """Deliver the value to the parked run."""
        raise NotImplementedError

    def stray(self, v: str) -> Any:
        """Deliver a value to the completed run; by default as a resume."""
        return self.resume(v)

    def fork(self, v: str) -> Any:
        """Branch from the interrupt with another value, and run the branch."""
        raise NotImplementedError

    def recover(self) -> Any:
        """Go on after a crash."""
        raise NotImplementedError

    def reopen(self) -> Any:
        """Say where a run stands that was killed while parked; by default recover it."""
        return self.recover()

    # -- what can be seen --------------------------------------------------------------

    def observe(self) -> dict[str, Any]:
        """The public state, with the program point that the gates show beside it."""
        seen = self.public_state()
        if self.pc is not None:
            seen["pc"] = self.pc
        return seen

    def public_state(self) -> dict[str, Any]:
        """Return what the framework's public state says of this process's branch.

        Keys, each left out where the framework does not show it: `frontier` (the highest task
        with a durable completion), `waiting`, `consumedVal` (None before consumption), `ckpts`
        (list of {task, valid}, the lineage of the branch's head), `outcome` (what the branch
        made of its value: [value]).
        """
        raise NotImplementedError

    def canonical_store(self) -> Any:
        """Return the durable state of the primary that a recovery would read, as JSON."""
        return None

    def store_digest(self) -> str | None:
        """Digest of `canonical_store`."""
        store = self.canonical_store()
        if store is None:
            return None
        return hashlib.sha256(json.dumps(store, sort_keys=True).encode()).hexdigest()[:16]
