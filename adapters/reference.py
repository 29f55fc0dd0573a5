"""The yardstick: a small workflow engine over SQLite that keeps the resume contract.

Its faults are the model's switches, built in as mechanisms; the other options exercise the
rules of docs/driving.md one at a time. Nothing here is a simulation of a framework.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adapters.base import Option, Run
from adapters.resume import RE_ANSWER, STRAY, ResumeAdapter

FAULTS = (
    "Replay",
    "ForkIgnore",
    "InvalidPersist",
    "NondetRecovery",
    "DoubleConsume",
    "PrefixReplay",
    "ConcurrentConsume",
    "RaceEffect",
    "FirstAnswer",
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS checkpoints (
    id INTEGER PRIMARY KEY,
    parent INTEGER,
    task INTEGER,
    output,
    consumed TEXT,
    waiting INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS heads (
    name TEXT PRIMARY KEY,
    checkpoint INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY,
    checkpoint INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (checkpoint, branch)
);
"""


class ValidationError(ValueError):
    """A task's output breaks the schema; nothing was stored."""


class AlreadyConsumed(ValueError):
    """The interrupt was consumed by another; nothing was executed."""


@dataclass(frozen=True)
class Checkpoint:
    """One durable record: a task's completion, or (task None) the emission of the interrupt."""

    id: int
    parent: int | None
    task: int | None
    output: object
    consumed: str | None
    waiting: bool


class Store:
    """The durable store: an append-only tree of checkpoints and named heads in it."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=60)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=OFF")  # outlives processes, not machines
        self._connection.executescript(_SCHEMA)

    def append(
        self,
        head: str,
        parent: int | None,
        *,
        task: int | None,
        output: object,
        consumed: str | None,
        waiting: bool = False,
    ) -> int:
        """Append a checkpoint and move a head to it, in one transaction; return its id."""
        self._connection.execute("BEGIN IMMEDIATE")
        identifier = self._connection.execute(
            "INSERT INTO checkpoints (parent, task, output, consumed, waiting)"
            " VALUES (?, ?, ?, ?, ?)",
            (parent, task, output, consumed, waiting),
        ).lastrowid
        self._connection.execute(
            "INSERT INTO heads VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
            " SET checkpoint = excluded.checkpoint",
            (head, identifier),
        )
        self._connection.execute("COMMIT")
        assert identifier is not None
        return identifier

    def head(self, name: str) -> int | None:
        """Return the checkpoint that a head points at."""
        row = self._connection.execute(
            "SELECT checkpoint FROM heads WHERE name = ?", (name,)
        ).fetchone()
        return row[0] if row else None

    def answer(self, checkpoint: int, branch: int, value: str) -> bool:
        """Record an answer to an interrupt; whether it is the branch's first there."""
        return (
            self._connection.execute(
                "INSERT INTO answers (checkpoint, branch, value) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (checkpoint, branch, value),
            ).rowcount
            == 1
        )

    def first_answer(self, checkpoint: int) -> str | None:
        """Return the first answer ever given to an interrupt, on whatever branch."""
        row = self._connection.execute(
            "SELECT value FROM answers WHERE checkpoint = ? ORDER BY number", (checkpoint,)
        ).fetchone()
        return row[0] if row else None

    def lineage(self, checkpoint: int | None) -> list[Checkpoint]:
        """Return a checkpoint and its ancestors, oldest first."""
        rows = self._connection.execute(
            "WITH RECURSIVE line AS ("
            " SELECT * FROM checkpoints WHERE id = ?"
            " UNION ALL SELECT c.* FROM checkpoints c JOIN line ON c.id = line.parent)"
            " SELECT id, parent, task, output, consumed, waiting FROM line ORDER BY id",
            (checkpoint,),
        ).fetchall()
        return [
            Checkpoint(number, parent, task, output, consumed, bool(waiting))
            for number, parent, task, output, consumed, waiting in rows
        ]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Reference(ResumeAdapter):
    """The reference engine under the vocabulary of the resume plane.

    Store: SQLite. Crash: SIGKILL. Observes pc, frontier, waiting, consumedVal, ckpts, outcome.
    Notes: `head`, where the primary's own process left it; `interrupt`, where it parked.
    """

    options: ClassVar[Mapping[str, Option]] = {
        "fault": Option("none", (), f"the faults built in, of {', '.join(FAULTS)}"),
        "decisions": Option(
            "skip,reexec", (), "what NondetRecovery decides, by ordinal of the recovery"
        ),
        "crash_at": Option(
            "body",
            ("body", "boundary"),
            "where a kill lands: inside a task's body or between calls",
        ),
        "parking": Option(
            "durable",
            ("durable", "volatile"),
            "whether the store says that the run waits, or only the process that asked",
        ),
        "rearm": Option("no", ("no", "yes"), "ask again when the gated task is executed again"),
        **RE_ANSWER,
        "heads": Option("own", ("own", "shared"), "whether a fork moves the head of the run"),
        "address": Option(
            "auto", ("auto", "thread", "address"), "where a recovery goes on from after a fork"
        ),
        "on_complete": Option(
            "inert", ("inert", "restart"), "what the recovery call does with a completed run"
        ),
        **STRAY,
        "validate": Option("yes", ("yes", "no"), "whether outputs are held to the schema"),
        "interrupt_gate": Option(
            "yes",
            ("yes", "no"),
            "whether the run can be held between task gate-1 and the interrupt",
        ),
    }

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        fault = run.options["fault"]
        self.faults = frozenset() if fault == "none" else frozenset(fault.split(","))
        self.store = Store(str(run.folder / "reference.db"))
        shared = run.options["heads"] == "shared"
        self.head_name = "run" if shared or run.branch == 0 else f"fork-{run.branch}"
        self.head: int | None = run.notes.get("head")
        self.next = 1
        self.waits_here = False

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> str | None:
        """Say what is wrong with a free-text option, None where nothing is."""
        named = [] if options["fault"] == "none" else options["fault"].split(",")
        if unknown := [name for name in named if name not in FAULTS]:
            return f"unknown fault {unknown[0]!r}; known: none, {', '.join(FAULTS)}"
        if unknown := [d for d in options["decisions"].split(",") if d not in {"skip", "reexec"}]:
            return f"unknown decision {unknown[0]!r}; known: skip, reexec"
        return None

    @classmethod
    def merged_actions(cls, options: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Without a gate before the interrupt, its emission is one step with the task before."""
        if options["interrupt_gate"] == "no":
            return {"EmitInterrupt": ("ExecTask", "EmitInterrupt")}
        return {}

    # -- the engine --------------------------------------------------------------------

    def start(self) -> Any:
        """Begin at task 1."""
        return self._go_on(1)

    def advance(self, poison: bool) -> Any:
        """Execute the next task and stop."""
        self.let_pass({"poison": poison})
        return self.system(self._step) or self.at_boundary(self.next)

    def resume(self, v: str) -> Any:
        """Consume the value at the interrupt, then go on."""
        return self.system(lambda: self._resume(v))

    def _resume(self, v: str) -> Any:
        asked = self.lineage()[-1]
        if not (asked.waiting or self.waits_here):
            if "DoubleConsume" in self.faults:
                self.effect(self.gated, v)
            return self.stopped(parked=False)
        gate = self.next = self._asking()
        self.waits_here = False
        if self.run.options["crash_at"] == "body":
            self.enter(gate)
        # Whoever read that the run waited may have been overtaken since.
        first = self.store.answer(asked.id, self.run.branch, v)
        if not first and "ConcurrentConsume" not in self.faults:
            raise AlreadyConsumed(f"the interrupt of checkpoint {asked.id} was consumed")
        if "FirstAnswer" in self.faults:
            v = self.consumed() or v
        if first or "RaceEffect" in self.faults:
            self.effect(gate, v)
        self._complete(gate, v)
        return self._go_on(gate + 1)

    def RaceConsume(self, v: str) -> Any:
        """Answer as a second consumer, which reads in the store where the run is."""
        self.head = self.store.head(self.head_name)
        return self.resume(v)

    def fork(self, v: str) -> Any:
        """Branch off at the interrupt."""
        interrupt = self.run.notes["interrupt"]
        self.head, self.waits_here = interrupt, self._volatile
        recorded = self.store.first_answer(interrupt)
        return self.resume(recorded if "ForkIgnore" in self.faults and recorded else v)

    def recover(self) -> Any:
        """Decide, from the store alone, where to go on."""
        if self.run.options["address"] == "thread" or self.head is None:
            self.head = self.store.head(self.head_name)
        frontier = self.frontier()
        if frontier == self.tasks:
            if self.run.options["on_complete"] == "restart":
                return self._go_on(1)
            return self.stopped(parked=False)
        return self._go_on(self._decide(frontier))

    def reopen(self) -> Any:
        """A run that the store shows to wait still does; nothing has to be executed.

        Where only the process that asked knew of it, nobody asks again.
        """
        if self._volatile:
            return self.idle_at(self.frontier() + 1)
        if not self.lineage()[-1].waiting:
            return self.recover()
        self.pc = self._asking()
        return self.stopped(parked=True)

    @property
    def _volatile(self) -> bool:
        return self.run.options["parking"] == "volatile"

    def _asking(self) -> int:
        """The gate at which a run that waits was left."""
        if self.next in self.gates:
            return self.next
        return next((g for g in self.gates if g > self.frontier()), self.gated)

    def _answer(self, gate: int) -> str | None:
        """The value that a gated task was completed with."""
        return next((c.consumed for c in self.lineage() if c.task == gate), None)

    def _decide(self, frontier: int) -> int:
        if self.faults & {"Replay", "PrefixReplay"}:
            return 1
        if "NondetRecovery" in self.faults:
            decisions = self.run.options["decisions"].split(",")
            if decisions[(self.run.recovery - 1) % len(decisions)] == "reexec":
                return frontier
        return frontier + 1

    def _go_on(self, task: int) -> Any:
        self.next = task
        if self.run.options["crash_at"] == "boundary":
            return self.at_boundary(task) if task <= self.tasks else self.stopped(parked=False)
        while not (stopped := self.system(self._step)):
            pass
        return stopped

    def _step(self) -> str | None:
        """Execute the next task, or park before it; say where the run stopped, if it did."""
        task = self.next
        if task > self.tasks:
            return self.stopped(parked=False)
        asks = self._asks(task)
        if self.run.options["crash_at"] == "body" and not (
            asks and self.run.options["interrupt_gate"] == "no"
        ):
            self.enter(task)
        if asks:
            self.waits_here = self._volatile
            if not self.waits_here:
                self._append(task=None, output=None, consumed=self.consumed(), waiting=True)
            if task == self.gated:
                self.run.notes.setdefault("interrupt", self.head)
            return self.stopped(parked=True)
        answer = self._answer(task) if task in self.gates else None
        if not ("PrefixReplay" in self.faults and task in self.gates):
            self.effect(task, answer)
        self._complete(task, answer or self.consumed())
        self.next = task + 1
        if self.run.options["crash_at"] == "boundary" and self.next > self.tasks:
            return self.stopped(parked=False)
        return None

    def _asks(self, task: int) -> bool:
        """Whether a task asks before its body is executed."""
        rearms = self.run.options["rearm"] == "yes"
        return task in self.gates and (self.frontier() < task or rearms)

    def _complete(self, task: int, consumed: str | None) -> None:
        output = self.output(task)
        unchecked = self.run.options["validate"] == "no" or (
            "InvalidPersist" in self.faults and task == self.tasks
        )
        if not isinstance(output, int) and not unchecked:
            raise ValidationError(f"task {task}: output {output!r} is not a number")
        self._append(task=task, output=output, consumed=consumed)

    def _append(
        self, *, task: int | None, output: object, consumed: str | None, waiting: bool = False
    ) -> None:
        self.head = self.store.append(
            self.head_name,
            self.head,
            task=task,
            output=output,
            consumed=consumed,
            waiting=waiting,
        )
        if self.run.branch == 0:
            self.run.notes["head"] = self.head

    # -- its public state --------------------------------------------------------------

    def lineage(self) -> list[Checkpoint]:
        """The checkpoints from the start of the run to this process's head."""
        return self.store.lineage(self.head)

    def frontier(self) -> int:
        """The highest task with a durable completion."""
        return max((c.task for c in self.lineage() if c.task is not None), default=0)

    def consumed(self) -> str | None:
        """The value that was consumed on this lineage."""
        line = self.lineage()
        return line[-1].consumed if line else None

    def public_state(self) -> dict[str, Any]:
        """What the store says of this process's lineage."""
        line = self.lineage()
        consumed = line[-1].consumed if line else None
        done = [c for c in line if c.task is not None]
        seen: dict[str, Any] = {
            "frontier": max((c.task for c in done if c.task is not None), default=0),
            "waiting": self.waits_here or (bool(line) and line[-1].waiting),
            "consumedVal": consumed,
            "ckpts": [{"task": c.task, "valid": isinstance(c.output, int)} for c in done],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def canonical_store(self) -> Any:
        """Which tasks are complete, with what; what was consumed; whether the run waits.

        A completion recorded twice is, without ids and times, the same record: the recovery
        of this engine reads which tasks are complete, not how often that was written.
        """
        line = self.lineage()
        return {
            "completed": sorted({(c.task, str(c.output)) for c in line if c.task is not None}),
            "consumed": line[-1].consumed if line else None,
            "waiting": bool(line) and line[-1].waiting,
        }

    def close(self) -> None:
        """Close the store."""
        self.store.close()
