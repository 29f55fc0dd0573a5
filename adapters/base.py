"""The adapter: what lets a system be driven by a model.

An adapter has a method per action of the model and `observe()`. It lives in the process of
the run that it drives; the driver, in another process, tells it which action to take next and
compares what it then observes with the model.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from adapters.barrier import OPERATION, Barrier
from adapters.calls import Calls
from adapters.channel import Channel, Closed
from adapters.ledger import Ledger, Row
from adapters.stores import Read, Tampering

At = Literal["held", "idle", "parked", "complete", "failed", "refused"]
T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One concrete form of an abstract action, among others: part of a row's name.

    Attributes:
        default: the choice that is made where the user makes none.
        choices: all forms; empty where any text will do.
        about: what it decides, in one line.
    """

    default: str
    choices: tuple[str, ...]
    about: str


class Refused(Exception):
    """The system answered a call with an error: an observation, not a failure of ours."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.type = type(error).__name__
        self.message = str(error)


class CrashedHere(BaseException):
    """The crash of a system whose store lives and dies with its process (no SIGKILL)."""


class AdapterFault(Exception):
    """The adapter itself did something wrong; never a finding about the system."""


def gated_tasks(workflow: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the tasks that ask, in order: role `gate` names the one, role `gates` several."""
    if "gates" in workflow:
        return tuple(sorted(workflow["gates"]))
    return (workflow["gate"],) if "gate" in workflow else ()


@dataclass
class Run:
    """What an adapter is given of the run that it drives.

    Attributes:
        folder: the run's own folder; stores go here.
        workflow: the constants that the specification hands to an adapter.
        options: every option of the adapter, with the choice made.
        notes: what a caller of the system would have written down (ids, addresses). JSON;
            whatever is in it at a report is there again in every later process of the run.
        process: ordinal of this process within the run, from 1.
        recovery: ordinal of the recovery that this process is to make, 0 where none.
        branch: 0 for the primary run, k in the process of the k-th fork.
        services: addresses of the servers that the adapter asked for, by name.
        observes: whether its reports say what `observe` returns; where they do not, {}.
        barrier: what the adapter puts its framework's persistence behind, where each of its
            operations is a point to be killed at; None in every other run.
    """

    folder: Path
    workflow: Mapping[str, Any]
    options: Mapping[str, str]
    notes: dict[str, Any]
    process: int = 1
    recovery: int = 0
    branch: int = 0
    services: Mapping[str, str] = field(default_factory=dict)
    observes: bool = True
    barrier: Barrier | None = field(default=None, repr=False)
    _channel: Channel | None = field(default=None, repr=False)
    _ledger: Ledger | None = field(default=None, repr=False)
    _answer: Callable[[dict[str, Any]], dict[str, Any]] | None = field(default=None, repr=False)
    _calls: Calls | None = field(default=None, repr=False)
    _pauses: bool = field(default=False, repr=False)
    fault: BaseException | None = field(default=None, repr=False)

    def gate(self, task: int) -> Mapping[str, Any]:
        """Stop here, at the entry of a task's body, until the driver lets go.

        Returns:
            The driver's word with the release: `poison` is true where the task's output is to
            break the schema, `pause` where the body is to be held again behind its next effect.

        Raises:
            CrashedHere: the driver crashes the run here, by exception.
        """
        if self.barrier is not None:  # where bodies are not what a run is killed in
            with self.barrier.lock:
                return {}
        word = self._hold({"op": "observe"}, {"at": "held", "task": task})
        self._pauses = bool(word.get("pause"))
        return word

    def stop(self, kind: str, name: str) -> None:
        """Stop here, as at a gate, at a point of the barrier."""
        asked = {"op": "holdings" if kind == OPERATION else "notes"}
        self._hold(asked, {"at": "stopped", "kind": kind, "name": name})

    def _hold(self, asked: dict[str, Any], where: Mapping[str, Any]) -> Mapping[str, Any]:
        """Tell the driver where the run is, and what it asks, until it lets go."""
        assert self._channel is not None and self._answer is not None
        with self.ours():
            message = asked
            while message["op"] != "release":
                if message["op"] == "crash":
                    raise CrashedHere
                if message["op"] == "exit":
                    os._exit(0)
                # Outside of whatever context the framework has set up for the body that stands
                # here: what is asked meanwhile must not be mistaken for a part of it.
                answer = contextvars.Context().run(self._answer, message)
                self._channel.send({**answer, **where, "at": answer.get("at") or where["at"]})
                try:
                    message = self._channel.receive()
                except Closed:
                    os._exit(1)  # the driver is gone; nothing may go on without it
            return message

    def effect(self, task: int, value: str | None = None) -> None:
        """Fire a task's effect: one row in the ledger, durable when this returns."""
        guarded = self.barrier.effect(task) if self.barrier else contextlib.nullcontext()
        with self.ours(), guarded:
            if not isinstance(task, int) or isinstance(task, bool):
                raise AdapterFault(f"an effect of task {task!r}, which is no number")
            if self._ledger is None:
                self._ledger = Ledger(self.folder / "ledger.db")
            self._ledger.append(Row(self.branch, task, value, self.process))
        if self._pauses:  # the driver wants to see it here, between its effect and its end
            self._pauses = False
            self._hold({"op": "observe"}, {"at": "held", "task": task})

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Keep an error of ours, raised inside a framework's call, from passing for its own."""
        try:
            yield
        except CrashedHere:
            raise
        except BaseException as error:
            self.fault = self.fault or error
            raise


class Adapter:
    """Base of all adapters.

    Write a method for each action of the model, named as the action and taking its tester
    parameters by name, and `observe`. A method returns where the run stands afterwards:
    "parked", "complete", or None for a system without such a notion. `docs/adapters.md` walks
    through one.
    """

    #: Distributions whose versions belong in a receipt.
    distributions: ClassVar[tuple[str, ...]] = ()
    #: The extra of tla-mbt that installs them.
    extra: ClassVar[str | None] = None
    #: Variables that the system itself shows from memory, before its store has them.
    volatile: ClassVar[tuple[str, ...]] = ()
    #: What `observe` returns beside variables of the model: kept in the receipt, not compared.
    beside: ClassVar[tuple[str, ...]] = ()
    #: The concrete forms that a user can choose from.
    options: ClassVar[Mapping[str, Option]] = {}
    #: The framework's own calls that read a run, by name: functions of the adapter.
    reads: ClassVar[Mapping[str, Read]] = {}

    def __init__(self, run: Run) -> None:
        self.run = run

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import the framework and build what all runs share. No workflow may run here."""

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> str | None:
        """Say what is wrong with a choice of options, None where nothing is."""
        return None

    @classmethod
    def crash_form(cls, options: Mapping[str, str]) -> Literal["kill", "exception"]:
        """What a crash is: SIGKILL, or an exception where the store lives in the process."""
        return "kill"

    @classmethod
    def services(cls, options: Mapping[str, str]) -> tuple[str, ...]:
        """Servers that a run needs beside its process (`adapters.services`): "postgres"."""
        return ()

    @classmethod
    def unsupported(cls, options: Mapping[str, str]) -> dict[str, str]:
        """Actions that this system cannot be made to take, each with the reason."""
        return {}

    @classmethod
    def merged_actions(cls, options: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Actions that this system takes in one go: observed action -> the model's path."""
        return {}

    @classmethod
    def tamperings(cls, options: Mapping[str, str]) -> Mapping[str, Tampering]:
        """What can be done to a store that is the caller's file, by name; none where it is not."""
        return {}

    def start(self) -> str | None:
        """Begin the run, up to its first quiescent point."""
        return None

    def observe(self) -> dict[str, Any]:
        """Return the model's variables that this system lets anyone see, by name.

        What cannot be seen is left out. Values are None, booleans, integers, strings, lists
        and dictionaries with string keys.
        """
        raise AdapterFault(
            f"{type(self).__name__} has no observe(); add `def observe(self)`, which returns the "
            "model's variables that can be seen, by name (docs/adapters.md)"
        )

    def store_digest(self) -> str | None:
        """Return a digest of the durable state that a recovery would read, without ids and times.

        None where the store cannot be read.
        """
        return None

    def holdings(self) -> Any:
        """Return what the store holds, as JSON without ids and times: what was made durable.

        It is asked where the barrier stops a process, and of a process that recovers from what
        another one left. An adapter with it puts its persistence behind `run.barrier`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no holdings()")

    def store_file(self) -> Path:
        """The caller's file that the next recovery reads, where there are `tamperings`."""
        raise NotImplementedError(f"{type(self).__name__} has no store_file()")

    def tamper(self, form: str) -> None:
        """Tamper with the caller's file, in the form that `tamperings` names."""
        file = self.store_file()
        text = file.read_text()
        changed = self.tamperings(self.run.options)[form](text)
        if changed == text:
            raise AdapterFault(f"tampering {form!r} changed nothing")
        file.write_text(changed)

    def close(self) -> None:
        """Let go of what `start` and the actions opened."""

    def system(self, call: Callable[[], T]) -> T:
        """Make a call into the system; an error of the system is a `Refused`.

        Every call that a step consists of goes through here. Errors from elsewhere are the
        adapter's own and end the replay without a verdict.
        """
        if self.run._calls is None:
            self.run._calls = Calls(self.run.folder)
        try:
            with self.run._calls.during(call):
                return call()
        except (CrashedHere, Refused, AdapterFault):
            raise
        except Exception as error:
            if self.run.fault is not None:
                raise AdapterFault(str(self.run.fault)) from self.run.fault
            raise Refused(error) from error

    def anonymous(self, text: str) -> str:
        """Return a text of the system with the ids and paths of this run taken out."""
        for name, value in self.run.notes.items():
            if isinstance(value, str) and len(value) >= 8:
                text = text.replace(value, f"<{name}>")
        text = text.replace(str(self.run.folder), "<folder>")
        return re.sub(r"0x[0-9a-f]{6,}", "<address>", text)
