"""DBOS: a workflow of steps over its system database, its gate a `recv`.

The output of a step is stored when the step returns, and a step with a stored output is not
executed again: whoever launches DBOS on that database goes on with the workflows that an executor
of its name left behind. Who answers is not part of the run: a message is stored for the workflow,
and its `recv` takes the oldest that is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from adapters.base import AdapterFault, Option, Refused, Run
from adapters.dbos_barrier import holdings, put_behind
from adapters.resume import STRAY, ResumeAdapter
from adapters.stores import Read

#: What is sent to the gate, and the step that sends word of it: asked once, whatever recovers.
TOPIC, ASK = "gate", "ask"
RECV, TIMER = "DBOS.recv", "DBOS.sleep"
AROUND = {ASK, RECV, TIMER}
#: Seconds that `recv` waits. Past them it returns None, and the run goes on without an answer.
PATIENCE = 7 * 24 * 3600.0
#: A queue of the forks' own, which is looked at more often than DBOS's, and by nobody else.
FORKS = "forks"
LOOKED_AT = 0.05  # seconds


class Unread(Exception):
    """A message was stored, and no `recv` is left to take it. DBOS itself says nothing."""


class DBOS(ResumeAdapter):
    """DBOS under the vocabulary of the resume plane.

    Store: SQLite, the system database. Crash: SIGKILL. Recovery: `DBOS.launch()` in a new process
    of the same executor. A fork is `fork_workflow`, taken from a queue by a process that is
    another executor. A second consumer is another sender: its message stays where it is, and that
    is reported as a refusal of the kind `Unread`. DBOS has no schema but that an output can be
    serialised. Observes pc, frontier, waiting, consumedVal, ckpts, outcome, all from
    `list_workflow_steps` and the status. DBOS starts threads when it is launched, so it is
    launched in the processes of runs alone. On 3.4 the forks' queue is declared by each process
    that takes from it, and not when the workflow is registered.
    """

    distributions: ClassVar[tuple[str, ...]] = ("dbos",)
    extra: ClassVar[str | None] = "dbos"
    options: ClassVar[Mapping[str, Option]] = {
        "fork_at": Option(
            "recv",
            ("recv", "past-recv"),
            "the step from which a fork goes on: the recv, or the one behind it, which inherits"
            " what was received",
        ),
        "poison": Option(
            "unserialisable",
            ("unserialisable", "other-type"),
            "what a broken output is: what cannot be serialised, or what is not of the type that"
            " the step declares",
        ),
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "get_status": lambda self: self._status(),
        "list_workflow_steps": lambda self: [
            output for name, output in self._steps() if name not in AROUND
        ],
    }

    #: Seconds between looks at a workflow that nothing holds, and how many looks there may be.
    PAUSE, LOOKS = 0.01, 5000

    # The framework, as `prepare` found it, and the adapter of this process.
    _dbos: ClassVar[Any]
    _client: ClassVar[Any]
    _workflow_id: ClassVar[Any]
    _workflow: ClassVar[Any]
    _declares: ClassVar[bool] = False  # the queue, each time DBOS is launched
    _here: ClassVar[DBOS]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import DBOS and register the workflow; a run's process launches it."""
        import dbos
        from sqlalchemy import Engine, event

        def step(task: int) -> Callable[..., int]:
            def body(answer: str | None = None) -> int:
                return cls._here.perform(task, answer)

            decorated: Callable[..., int] = dbos.DBOS.step(name=f"t{task}")(body)
            return decorated

        tasks = range(1, workflow["tasks"] + 1)
        gate = workflow["gate"]
        steps = {task: step(task) for task in tasks}
        ask = dbos.DBOS.step(name=ASK)(lambda: cls._here.enter(gate))

        def run() -> None:
            for task in tasks:
                if task == gate:
                    ask()
                    steps[task](dbos.DBOS.recv(TOPIC, timeout_seconds=PATIENCE))
                else:
                    steps[task]()

        cls._workflow = staticmethod(dbos.DBOS.workflow(name="workflow")(run))
        cls._dbos, cls._client, cls._workflow_id = dbos.DBOS, dbos.DBOSClient, dbos.SetWorkflowID
        try:
            dbos.Queue(FORKS, polling_interval_sec=LOOKED_AT)
        except dbos.error.DBOSException:  # in 3.4 it is the database that holds a queue
            cls._declares = True

        # What is written outlives the process, which is what gets killed here, not the machine.
        @event.listens_for(Engine, "connect")
        def _(connection: Any, _record: Any) -> None:
            connection.execute("PRAGMA synchronous=OFF")

    def __init__(self, run: Run) -> None:
        """Name the workflow of this process; nothing is opened before it is there."""
        super().__init__(run)
        type(self)._here = self
        self.workflow = f"fork-{run.branch}" if run.branch else "run"
        self.store = f"sqlite:///{run.folder / 'dbos.db'}"
        # Taken by a body: nobody looks meanwhile whether the workflow parked or ended.
        self._held = run.barrier.lock if run.barrier else threading.RLock()
        if run.barrier is not None:
            put_behind(run.barrier)
        self._launched = False
        self._opened: Any = None

    @property
    def client(self) -> Any:
        """What reads the store, and writes to a workflow of whatever process."""
        if self._opened is None:
            self._opened = self._client(system_database_url=self.store)
        return self._opened

    # -- the workflow ------------------------------------------------------------------

    def enter(self, task: int) -> None:
        """Be held at the entry of a body, in the thread that DBOS runs it in."""
        with self._held:
            super().enter(task)

    def perform(self, task: int, answer: str | None) -> int:
        """Be the body of a step."""
        with self._held:
            self.enter(task)
            if task == self.gated and answer is None:
                with self.run.ours():
                    raise AdapterFault("recv came back without a message")
            self.effect(task, answer)
        output: Any = self.output(task)
        if output != task and self.run.options["poison"] == "unserialisable":
            return threading.Lock()  # type: ignore[return-value]
        return output  # type: ignore[no-any-return]

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Launch DBOS on an empty database, and start the workflow there."""
        self._launch()
        with self._workflow_id(self.workflow):
            self.system(lambda: self._dbos.start_workflow(self._workflow))
        return self._wait()

    def resume(self, v: str) -> Any:
        """Send the answer, which the caller holds until the run is known to wait for it."""
        self.enter(self.gated)
        self._send(v)
        return self._wait(answered=True)

    def stray(self, v: str) -> Any:
        """Send to the completed workflow."""
        self._send(v)
        return self._wait()

    def RaceConsume(self, v: str) -> Any:
        """Be a second sender, which knew the run to wait when the first did."""
        self.enter(self.gated)
        if RECV not in dict(self._steps()):
            raise AdapterFault("the second message was sent before the first was received")
        self._send(v)
        raise Refused(Unread("the message is stored, and no recv is left to take it"))

    def Invoke(self, v: str) -> Any:
        """Answer the interrupt of a run that stays parked: on a fork, whichever answer it is."""
        return self.fork(v)

    def fork(self, v: str) -> Any:
        """Fork the run's workflow, send the answer to the fork, and take it from its queue."""
        # Steps are numbered as they are called: one a task, one that asks, then the recv and
        # the timer of its timeout.
        at = self.gated + {"recv": 1, "past-recv": 3}[self.run.options["fork_at"]]
        with self._workflow_id(self.workflow):
            self.system(lambda: self.client.fork_workflow("run", at, queue_name=FORKS))
        self._send(v)
        self._launch()
        return self._wait(answered=True)

    def recover(self) -> Any:
        """Launch DBOS, which goes on with what this executor left unfinished."""
        self._launch()
        return self._wait()

    def _launch(self) -> None:
        config = {
            "name": "workflow",
            "system_database_url": self.store,
            "application_version": "1",
            "executor_id": self.workflow,
            "run_admin_server": False,
            "enable_otlp": False,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": 0.02,
        }
        if self._launched:
            self._dbos.destroy()
        self._launched = True
        self.system(lambda: self._dbos(config=config))
        self._dbos.listen_queues([FORKS] if self.run.branch else [])
        self.system(self._dbos.launch)
        if self.run.branch and self._declares:
            self.system(lambda: self._dbos.register_queue(FORKS, polling_interval_sec=LOOKED_AT))

    def _send(self, v: str) -> None:
        self.system(lambda: self.client.send(self.workflow, v, TOPIC))

    def _wait(self, *, answered: bool = False) -> Any:
        """Wait until the workflow is parked or ended; it stops in between where a gate holds it.

        Args:
            answered: its answer is sent, so that it does not stay parked where it looks so.
        """
        for _ in range(self.LOOKS):
            with self._held:
                if self._status() not in {"PENDING", "ENQUEUED"}:
                    handle = self.client.retrieve_workflow(self.workflow)
                    self.system(handle.get_result)  # raises what the workflow ended with
                    return self.stopped(parked=False)
                if not answered and _waiting(dict(self._steps())):
                    return self.stopped(parked=True)
            time.sleep(self.PAUSE)
        raise AdapterFault(f"workflow {self.workflow} neither parks nor ends nor enters a body")

    # -- what can be seen --------------------------------------------------------------

    def _status(self) -> str:
        status: str = self.client.retrieve_workflow(self.workflow).get_status().status
        return status

    def _steps(self) -> list[tuple[str, Any]]:
        """What is stored of the workflow, in order: the name of a step, and its output."""
        steps = self.client.list_workflow_steps(self.workflow)
        return [(s["function_name"], s["output"]) for s in steps if s["error"] is None]

    def public_state(self) -> dict[str, Any]:
        """What the steps that DBOS lists say."""
        steps = self._steps()
        outputs = dict(steps)
        done = [(int(name[1:]), output) for name, output in steps if name not in AROUND]
        received = outputs.get(RECV)
        seen: dict[str, Any] = {
            "frontier": max((task for task, _ in done), default=0),
            "waiting": _waiting(outputs),
            "consumedVal": received,
            "ckpts": [{"task": task, "valid": isinstance(output, int)} for task, output in done],
        }
        return seen if received is None else seen | {"outcome": [received]}

    def canonical_store(self) -> Any:
        """The status and the steps; not when the timer ends, nor how often it was recovered."""
        steps = [[name, None if name == TIMER else output] for name, output in self._steps()]
        return {"status": self._status(), "steps": steps}

    def holdings(self) -> Any:
        """What the system database holds of the run, read beside DBOS."""
        return holdings(self.run.folder / "dbos.db")

    def close(self) -> None:
        """Close the connections of the client; DBOS's threads end with the process."""
        if self._opened is not None:
            self._opened.destroy()


def _waiting(steps: Mapping[str, Any]) -> bool:
    """Whether a workflow is in its recv: the timer of its timeout is set, nothing was received."""
    return TIMER in steps and RECV not in steps
