"""CrewAI: a Flow with a `CheckpointConfig`, restored by `Flow.from_checkpoint`.

A checkpoint is a JSON file that lists every Flow instance of the process, each with the methods it
completed and its state; what is restored is the first of them. Handlers of the event bus write
it, in threads beside the flow.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar

from adapters.base import AdapterFault, Option, Run
from adapters.crewai_barrier import holdings, put_behind, put_provider_behind
from adapters.crewai_flow import GATE, GATES, FlowAdapter, without_gate, without_id
from adapters.resume import RE_ANSWER, STRAY
from adapters.stores import Read, Tampering, drop, put, truncated

#: The event that says that a method completed.
FINISHED = "method_execution_finished"

Checkpoint = dict[str, Any]


class CrewAICheckpoint(FlowAdapter):
    """CrewAI's `CheckpointConfig` with the JSON provider, restored in a fresh process.

    Store: JSON files; what is asked is stored by SQLiteFlowPersistence. Crash: SIGKILL. An event's
    handlers are let come to their end before the flow goes on (`crewai_event_bus.flush()`), so what
    is judged and killed is a process that wrote all its checkpoints; observations hold `flushed`,
    the bus's word for it. Left beside the flow, a handler may find the record of events growing
    while it serialises it, and the panic (`dictionary changed size during iteration`) ends the
    flow: which checkpoints there are would be a matter of luck. Observes pc; frontier, ckpts and
    consumedVal from the checkpoints (of the instance listed last, the one that runs); waiting where
    the gate asks; outcome from `flow.state`.

    Four things of CrewAI 1.15.2 decide the verdicts, the third of them only where the handler is
    the first of two threads; left alone it was, in each run made by hand:

    - The first instance that a checkpoint lists is restored, whichever that is (`other_flow`).
    - Restoring constructs a bare Flow from the file and then the flow itself, so every checkpoint
      of a restored process lists the bare one first, with nothing completed: restored from one
      of those, a flow starts over. `recover=from_checkpoint` leaves a flow that writes no more
      checkpoints, and a second restore then repeats what was done since the first.
    - With `flow_created` among the events, the construction of the bare Flow is one: its handler
      overwrites the fields that are about to be restored with those of an empty flow.
    - A flow made by `from_pending` has no method completed but the one that asked.

    Notes: `flow`, the id of the flow; `parked`, the checkpoint that forks start from; `tampered`,
    the one that was tampered with.
    """

    volatile: ClassVar[tuple[str, ...]] = ("outcome",)
    beside: ClassVar[tuple[str, ...]] = ("flushed",)
    options: ClassVar[Mapping[str, Option]] = {
        "on_events": Option(
            FINISHED,
            (FINISHED, "flow_created", "all"),
            "the events that a checkpoint is written at",
        ),
        "other_flow": Option(
            "no", ("no", "yes"), "whether a process makes another instance before the run's own"
        ),
        "recover": Option(
            "from_checkpoint",
            ("from_checkpoint", "kickoff"),
            "Flow.from_checkpoint() and kickoff(), or kickoff(from_checkpoint=...)",
        ),
        "answer": Option(
            "feedback", tuple(GATES), "; ".join(f"{form}: {says}" for form, says in GATES.items())
        ),
        **RE_ANSWER,
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "Flow.from_checkpoint": lambda self: self.checkpoints_there() and self.load().state.done,
    }

    _bus: ClassVar[Any]
    _config: ClassVar[Any]
    _answers: ClassVar[Any]

    @classmethod
    def unsupported(cls, options: Mapping[str, str]) -> dict[str, str]:
        """Without a gate there is nothing to answer."""
        return super().unsupported(options) | without_gate(options)

    @classmethod
    def tamperings(cls, options: Mapping[str, str]) -> Mapping[str, Tampering]:
        """The JSON file of a checkpoint."""
        flow = ("entities", 0)
        completed, state = (*flow, "checkpoint_completed_methods"), (*flow, "checkpoint_state")
        return {
            "truncated": truncated,
            "version unknown": put("99", "crewai_version"),
            "type unknown": put("nothing", *flow, "entity_type"),
            "no flow left": put([], "entities"),
            "state emptied": put({}, *state),
            "output of another type": put("x", *state, "done"),
            "completed methods of another type": put("t1", *completed),
            "completed methods emptied": put([], *completed),
            "completed t2 removed": put(["t1"], *completed),
            "completed t9, which is no method": put(["t1", "t2", "t9"], *completed),
            "completed methods missing": drop(*completed),
        }

    @classmethod
    def attach(cls, options: Mapping[str, str]) -> None:
        """Import what checkpoints need; the configuration is each instance's own.

        A restore makes a plain Flow, and that a memory, whose vector store (lancedb) takes two
        seconds to import. Most of them go into one package that starts no thread, so that it can
        be imported before the fork; lancedb itself starts one.
        """
        with suppress(ImportError):
            importlib.import_module("lance_namespace")
        from crewai.events.event_bus import crewai_event_bus
        from crewai.state import checkpoint_listener
        from crewai.state.checkpoint_config import CheckpointConfig
        from crewai.state.runtime import RuntimeState

        cls._bus, cls._config = crewai_event_bus, CheckpointConfig
        if "restore_from" not in CheckpointConfig.model_fields:
            # On 1.14.1 `from_checkpoint` takes a path, and a configuration is a TypeError.
            raise AttributeError(
                "CheckpointConfig has no field restore_from",
                name="restore_from",
                obj=CheckpointConfig,
            )
        if options["answer"] == "feedback":  # without it (1.14.3) there is nowhere to ask
            from crewai.flow.persistence.factory import set_flow_persistence_factory

            cls._answers = staticmethod(set_flow_persistence_factory)
        # Once here, and not in each process: what writes checkpoints, and the schema of one.
        assert checkpoint_listener
        RuntimeState(root=[]).model_dump(mode="json")
        _in_turn(crewai_event_bus)

    def __init__(self, run: Run) -> None:
        """Open the store of questions; checkpoints are files."""
        super().__init__(run)
        self.location = run.folder / "checkpoints"
        self._read: dict[Path, Checkpoint] = {}
        self._live: Any = None
        self._others: list[Any] = []
        # Where flows that were given no persistence, restored ones among them, put a question.
        self.persistence: Any = self._persistence(str(run.folder / "crewai.db"))
        put_behind(run.barrier, self.persistence)
        if run.options["answer"] == "feedback":
            self._answers(lambda: self.persistence)

    def flush(self) -> bool:
        """Wait until the bus's handlers have written what they are to write."""
        with self.run.ours():
            if not self._bus.flush():
                raise AdapterFault("the event bus did not come to rest within 30 seconds")
        return True

    def arrive(self, state: Any, task: int) -> None:
        """Be held at the entry of a method, whose state is the flow's."""
        self._live = state
        super().arrive(state, task)

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        flow = self.make(lambda: self._workflow(checkpoint=self.config()))
        return self.go(flow.kickoff)

    def resume(self, v: str) -> Any:
        """Answer: the question where one is pending, or else the flow restored, with inputs."""
        if self.run.options["answer"] != "feedback":
            return self.go(self.restored(self.newest(), {"answer": v}))
        flow = self.make(
            lambda: self._workflow.from_pending(
                self.run.notes["flow"], self.persistence, checkpoint=self.config()
            )
        )
        self.enter(self.gated)  # as in adapters.crewai: loaded, and not yet taken away
        return self.go(lambda: flow.resume(v))

    def recover(self) -> Any:
        """Restore the newest checkpoint and kick the flow off."""
        return self.go(self.restored(self.newest(), None))

    def fork(self, v: str) -> Any:
        """Fork the checkpoint that was newest while the run was parked, and answer there."""
        config = self._config(restore_from=self.run.notes["parked"])
        branch = f"fork-{self.run.branch}"
        flow = self.make(lambda: self._workflow.fork(config, branch))
        if self.run.options["answer"] == "inputs":
            return self.go(lambda: flow.kickoff(inputs={"answer": v}))
        if self.go(flow.kickoff) == "complete":
            return "complete"
        flow = self.make(
            lambda: self._workflow.from_pending(self.run.notes["flow"], self.persistence)
        )
        return self.go(lambda: flow.resume(v))

    def restored(self, location: str, inputs: Mapping[str, Any] | None) -> Callable[[], Any]:
        """The call that goes on from a checkpoint."""
        if self.run.options["recover"] == "from_checkpoint":
            config = self._config(restore_from=location)
            flow = self.make(lambda: self._workflow.from_checkpoint(config))
            return lambda: flow.kickoff(inputs=inputs)
        config = self.config(restore_from=location)
        flow = self.make(self._workflow)
        return lambda: flow.kickoff(inputs=inputs, from_checkpoint=config)

    def config(self, **more: Any) -> Any:
        """The configuration under which the run writes checkpoints."""
        events = self.run.options["on_events"]
        on_events = ["*"] if events == "all" else [events]
        config = self._config(location=str(self.location), on_events=on_events, **more)
        put_provider_behind(self.run.barrier, config.provider)
        return config

    def make(self, call: Callable[[], Any]) -> Any:
        """Make an instance of the flow, beside another one where the option says so."""
        if self.run.options["other_flow"] == "yes":
            self._others.append(self.system(self._workflow))
        return self.system(call)

    def stopped(self, *, parked: bool) -> str:
        """Keep the address of the checkpoint that was newest when the run first parked."""
        self.flush()
        if parked and self.run.branch == 0:
            self.run.notes.setdefault("parked", self.newest())
        return super().stopped(parked=parked)

    # -- what can be seen --------------------------------------------------------------

    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints of the run's own branch, oldest first.

        CrewAI's command line sorts by the time of the file, which is too coarse to tell two
        apart that were written within milliseconds. The events recorded in them are not.
        """
        for path in sorted((self.location / "main").glob("*.json")):
            if path not in self._read:
                stored = json.loads(path.read_text())
                nodes = stored["event_record"]["nodes"].values()
                last = max((node["event"]["timestamp"] for node in nodes), default="")
                flows = [entity for entity in stored["entities"] if entity["entity_type"] == "flow"]
                self._read[path] = {
                    "at": (last, path.name),
                    "location": str(path),
                    "trigger": stored["trigger"],
                    "flows": [_of_flow(flow) for flow in flows],
                }
        return sorted(self._read.values(), key=lambda checkpoint: checkpoint["at"])

    def load(self) -> Any:
        """A flow restored from the newest checkpoint."""
        return self._workflow.from_checkpoint(self._config(restore_from=self.newest()))

    def store_file(self) -> Path:
        """The newest checkpoint, which is noted: a caller knows it without reading it again."""
        self.run.notes["tampered"] = self.newest()
        return Path(self.run.notes["tampered"])

    def checkpoints_there(self) -> bool:
        """Whether there is a checkpoint."""
        return any((self.location / "main").glob("*.json"))

    def newest(self) -> str:
        """The address of the newest checkpoint, or of the one that was tampered with."""
        if "tampered" in self.run.notes:
            return str(self.run.notes["tampered"])
        return str(self.checkpoints()[-1]["location"])

    def pending(self) -> bool:
        """Whether the flow waits for an answer."""
        flow = self.run.notes.get("flow")
        return flow is not None and self.persistence.load_pending_feedback(flow) is not None

    def public_state(self) -> dict[str, Any]:
        """What the checkpoints say of the instance that runs, and what its state says."""
        flushed = self.flush()
        mine = [(point["trigger"], point["flows"][-1]) for point in self.checkpoints()]
        now = mine[-1][1] if mine else _of_flow({})
        finished = [flow for trigger, flow in mine if trigger == FINISHED]
        done = [(_number(f["outputs"][-1]), f["state"]) for f in finished if f["outputs"]]
        seen: dict[str, Any] = {
            "frontier": max(map(_number, now["completed"]), default=0),
            "consumedVal": now["state"].get("consumed"),
            "ckpts": [{"task": t, "valid": self.accepts(state)} for t, state in done if t],
            "flushed": flushed,
        }
        if self.run.options["answer"] == "feedback":
            seen["waiting"] = self.pending()
        if self._live is not None and self._live.consumed is not None:
            seen["outcome"] = [self._live.consumed]
        return seen

    def canonical_store(self) -> Any:
        """The newest checkpoint, which a recovery reads, and whether a question is pending."""
        self.flush()
        flows = self.checkpoints()[-1]["flows"] if self.checkpoints() else []
        bare = [{**flow, "state": without_id(flow["state"])} for flow in flows]
        return {"flows": bare, "pending": self.pending()}

    def holdings(self) -> Any:
        """Of each checkpoint what it was written at, and what the database of questions holds."""
        with closing(sqlite3.connect(self.run.folder / "crewai.db", timeout=60)) as rows:
            asked = holdings(rows)
        return {"checkpoints": [point["trigger"] for point in self.checkpoints()], **asked}


def _in_turn(bus: Any) -> None:
    """Have a flow go on only when the handlers of the event that it emitted came to their end."""
    emit = bus.emit

    def emit_and_wait(source: Any, event: Any) -> Any:
        future = emit(source, event)
        # Handlers emit too, in the name of others, and must not wait for themselves.
        if getattr(source, "entity_type", None) == "flow":
            bus.flush(timeout=None)
        return future

    bus.emit = emit_and_wait


def _of_flow(entity: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint says of one instance, without what differs from run to run."""
    return {
        "completed": sorted(entity.get("checkpoint_completed_methods") or ()),
        "outputs": [_method_of(entry) for entry in entity.get("checkpoint_method_outputs") or ()],
        "state": entity.get("checkpoint_state") or {},
    }


def _method_of(output: Any) -> str:
    """The method that an entry is of: up to 1.14.7 it is the bare output, a task's own number."""
    if isinstance(output, Mapping):
        return str(output["method"])
    return f"t{output}" if isinstance(output, int) else GATE


def _number(method: str) -> int:
    """The task of a method; 0 for the one that asks."""
    return 0 if method == GATE else int(method[1:])
