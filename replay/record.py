"""What a replay leaves behind: micro-steps as they happened, before anyone judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from adapters.ledger import Row

Part = Literal["start", "step", "catch-up", "re-answer", "drain"]


@dataclass(frozen=True)
class Event:
    """One thing that happened, as the properties' module reads it.

    Attributes:
        kind: "effect", "exec", "consume", "fork", "crash", "recover", "stray" or "poison".
        task: the task whose effect fired, whose body ran, or that a recovery re-entered.
        frontier: for "exec", the highest durable frontier observed before the body was let go;
            for "recover", the durable frontier that the recovery found.
        value: the value delivered, "" where none.
        store: for "recover", the digest of the store that it found, "" where unknown.
    """

    kind: str
    task: int = 0
    frontier: int = 0
    value: str = ""
    store: str = ""


@dataclass(frozen=True)
class MicroStep:
    """From one quiescent point to the next.

    Attributes:
        step: index of the trace's step in whose service it was taken; None at the start and
            while draining.
        part: what it was taken for.
        action: the action that was observed, "" at the start.
        params: its tester parameters.
        at: where the run stood afterwards: held, idle (before a task, and nothing will move it),
            parked, complete, failed or refused; None for systems without program points.
        process: ordinal of the process that took it.
        observed: the model's variables as observed afterwards.
        events: what happened since the previous micro-step.
        error: type and message of a refusal.
        poison: the output of the task was made to break the schema.
        folded: compared as one with the micro-step that follows.
        raw: what was seen but is no variable of the model (the store's own frontier, say).
    """

    step: int | None
    part: Part
    action: str
    params: Mapping[str, Any]
    at: str | None
    process: int
    observed: Mapping[str, Any]
    events: tuple[Event, ...] = ()
    error: Mapping[str, str] | None = None
    poison: bool = False
    folded: bool = False
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Branch:
    """A fork's own run, in a process of its own, from the interrupt to its end.

    Attributes:
        number: its ordinal among the values supplied at the interrupt (the primary's is 1).
        value: the value it was given.
        outcome: what its own state says it made of the value, None where it does not say.
        inherited: effects of the primary, by task, that fired before the interrupt.
        own: effects that fired on the branch, by task.
    """

    number: int
    step: int
    process: int
    value: str
    at: str | None
    outcome: Any
    inherited: tuple[int, ...]
    own: tuple[int, ...]
    error: Mapping[str, str] | None


@dataclass(frozen=True)
class Death:
    """A process that was killed, and how the kernel says it ended."""

    process: int
    step: int
    form: Literal["kill", "exception"]
    status: int | None


@dataclass(frozen=True)
class Double:
    """Two recoveries from the store that one crash left: the run's own, and that of a copy of it.

    Attributes:
        step: index of the trace's step that crashed the run.
        store: digest of the store, the same of both, "" where it cannot be read.
        own, copy: what each decided (`decision_of`).
    """

    step: int
    store: str
    own: str
    copy: str


def decision_of(report: Mapping[str, Any]) -> str:
    """What a recovery decided: the task whose body it enters first, or how it ends without one."""
    if report["at"] in {"held", "idle"}:
        return f"task {report['task']}" + (", idle" if report["at"] == "idle" else "")
    error = report.get("error")
    return f"{report['at']}: {error['type']}" if error else str(report["at"])


@dataclass(frozen=True)
class RunRecord:
    """One trace, as one system walked it.

    Attributes:
        inapplicable: steps whose stimulus was not delivered, since its guard did not hold on
            what was observed, each with the reason.
        dropped: responses that had nothing left to do.
        facts: what was noticed beside the model's variables ("re-armed", "rebuilt", ...).
        ledger: every row, of all branches, in the order in which the effects fired.
        process_ids: of its processes, in the order of their ordinals.
    """

    trace: str
    digest: str
    micro: tuple[MicroStep, ...]
    branches: tuple[Branch, ...]
    deaths: tuple[Death, ...]
    doubles: tuple[Double, ...]
    inapplicable: Mapping[int, str]
    dropped: tuple[int, ...]
    facts: tuple[str, ...]
    ledger: tuple[Row, ...]
    process_ids: tuple[int, ...]

    def same(self, other: RunRecord) -> bool:
        """Whether two runs went the same way: in all but what the machine numbered them."""
        return replace(self, process_ids=()) == replace(other, process_ids=())

    @property
    def compared(self) -> tuple[MicroStep, ...]:
        """The micro-steps that are compared with the model: all but the folded ones."""
        return tuple(micro for micro in self.micro if not micro.folded)

    @property
    def poisoned(self) -> bool:
        """Whether an output was made to break the schema."""
        return any(micro.poison for micro in self.micro)
