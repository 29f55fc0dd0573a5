"""The calls that drive a LangGraph run, whichever of its APIs the workflow is written in.

A run goes on from its thread, or from a checkpoint of it that the caller addresses.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from adapters.base import Option, Run
from adapters.langgraph_barrier import Submissions, put_behind
from adapters.langgraph_savers import DISTRIBUTIONS, SAVER, Savers, services
from adapters.langgraph_thread import THREAD, Config, Place, at_checkpoint
from adapters.resume import RE_ANSWER, STRAY, ResumeAdapter
from adapters.stores import Read

#: The channel on which a pending interrupt is written, and the key under which a call returns it.
INTERRUPT = "__interrupt__"


ROUTE = Option(
    "command",
    ("command", "replay", "update-state"),
    "how a fork is made at the interrupt's checkpoint: a second Command(resume) there;"
    " invoke(None) there, then a resume on the thread; update_state there, then a resume",
)


def _asked(state: Any) -> list[Any]:
    """The interrupts that a public state shows."""
    return [interrupt for task in state.tasks for interrupt in task.interrupts]


class LangGraphCalls(ResumeAdapter):
    """Base of the adapters of LangGraph: everything but the workflow and what is seen of it.

    Store: SQLite, PostgreSQL, or memory. Crash: SIGKILL, in memory an exception.

    Notes: `head`, the checkpoint that the run's own processes wrote last; `interrupt`, the one
    at which it first parked at its last gate; `asked`, the id of the interrupt at which it parked
    last.
    """

    distributions: ClassVar[tuple[str, ...]] = DISTRIBUTIONS
    extra: ClassVar[str | None] = "langgraph"
    options: ClassVar[Mapping[str, Option]] = {
        **SAVER,
        "recover": Option(
            "resume",
            ("resume", "resubmit"),
            "the recovery call: invoke(None), which continues, or the original input once more",
        ),
        "route": ROUTE,
        "address": Option(
            "auto",
            ("auto", "thread", "address"),
            "what a call that goes on is addressed to: the thread, the run's own last checkpoint,"
            " or the thread only while its head is that checkpoint",
        ),
        "answer": Option(
            "bare",
            ("bare", "map"),
            "how an answer is given: Command(resume=v), or Command(resume={interrupt's id: v})",
        ),
        **RE_ANSWER,
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "get_state": lambda self: self.told(self.graph.get_state(self.reading(THREAD))),
        "get_state_history": lambda self: [
            self.told(state) for state in self.graph.get_state_history(self.reading(THREAD))
        ],
    }
    #: The original input of a run.
    INPUT: ClassVar[Any]

    # The framework, as `prepare` found it.
    _interrupt: ClassVar[Any]
    _command: ClassVar[Any]
    _savers: ClassVar[Savers]
    _compiled: ClassVar[Any]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import LangGraph and build the workflow; a run's process attaches its checkpointer."""
        from langgraph.types import Command, interrupt

        for tracer in ("context", "stdout"):  # else the first call of each process imports them
            importlib.import_module(f"langchain_core.tracers.{tracer}")
        cls._interrupt, cls._command = staticmethod(interrupt), Command
        cls._savers = Savers(options)
        cls._compiled = cls.build(workflow, options)

    @classmethod
    def build(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> Any:
        """Return the workflow, a runnable without a checkpointer."""
        raise NotImplementedError

    @classmethod
    def services(cls, options: Mapping[str, str]) -> tuple[str, ...]:
        """A PostgreSQL server, for the saver of that name."""
        return services(options)

    @classmethod
    def crash_form(cls, options: Mapping[str, str]) -> Literal["kill", "exception"]:
        """A memory store does not outlive its process."""
        return "exception" if options["saver"] == "memory" else "kill"

    def __init__(self, run: Run) -> None:
        """Open the store, once to observe it and once for the workflow."""
        super().__init__(run)
        self._opened: list[Any] = []
        self.answered = False  # by this process, with an answer that names no interrupt
        self.place = Place(self._savers.open(run, self._opened), run.notes)
        self.graph: Any = copy.copy(self._compiled)
        self.graph.checkpointer = self.place.follow(self.saver())
        self.submissions: Submissions | None = None
        if run.barrier is not None:
            submitted = run.notes.setdefault("submitted", [])
            self.submissions = put_behind(run.barrier, self.graph.checkpointer, submitted)
        if run.recovery:
            self._address()  # by the thread, a recovery finds what is at its head

    def saver(self) -> Any:
        """The checkpointer that the workflow is given."""
        return self._savers.open(self.run, self._opened)

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        if self._savers.kind == "postgres":
            self.system(self.graph.checkpointer.setup)
        return self._invoke(self.INPUT, THREAD)

    def advance(self, poison: bool) -> Any:
        """Take one superstep from a boundary."""
        self.let_pass({"poison": poison})
        return self._invoke(None, self._address())

    def resume(self, v: str) -> Any:
        """Answer the interrupt; on a completed run, deliver to it once more."""
        return self._invoke(self._answer(v), THREAD)

    def fork(self, v: str) -> Any:
        """Answer the interrupt again, by the route that the options name."""
        interrupt = self.run.notes["interrupt"]
        self.place.move(interrupt)
        source = self.forking(at_checkpoint(interrupt))
        if self.run.options["route"] == "replay":
            self._invoke(None, source)
            source = self.place.address("thread")
        elif self.run.options["route"] == "update-state":
            source = self.system(lambda: self.graph.update_state(source, None))
        return self._invoke(self._answer(v), source)

    def recover(self) -> Any:
        """Go on from the store, by the call that the options name.

        At a boundary, to go on is the next step's affair: the state says which task that is.
        """
        address = self._address()
        if self.run.options["recover"] == "resubmit":
            return self._invoke(self.INPUT, address)
        if self.stepwise and self._state().next:
            return self._stand()
        return self._invoke(None, address)

    def reopen(self) -> Any:
        """Read where the run stands; nothing is called to bring it there."""
        return self._stand()

    @property
    def stepwise(self) -> bool:
        """Whether a call takes one superstep; a branch runs to its end in one call."""
        return self.run.options.get("crash_at") == "boundary" and self.run.branch == 0

    def forking(self, config: Config) -> Config:
        """The address of a fork, with what else says that it is meant as one."""
        return config

    def reading(self, config: Config) -> Config:
        """The address of a look at the state, with what else says that it is meant as one."""
        return config

    def _address(self) -> Config:
        return self.place.address(self.run.options["address"])

    def _answer(self, v: str) -> Any:
        if self.run.options["answer"] == "bare":
            self.answered = True
            return self._command(resume=v)
        asked = [interrupt.id for interrupt in _asked(self._state())]
        return self._command(resume={(asked or [self.run.notes["asked"]])[0]: v})

    def _invoke(self, payload: Any, config: Config) -> Any:
        self.system(
            lambda: self.graph.invoke(
                payload,
                config,
                context=self,
                durability="sync",
                interrupt_before="*" if self.stepwise else None,
            )
        )
        return self._stand()

    def _state(self, *, subgraphs: bool = False) -> Any:
        """LangGraph's public state of the run's own last checkpoint."""
        head = self.reading(self.place.head())
        return self.system(lambda: self.graph.get_state(head, subgraphs=subgraphs))

    def _stand(self) -> Any:
        """Where a call left the run: parked, at the boundary before a task, or complete."""
        state = self._state()
        if asked := _asked(state):
            self.pc = asked[0].value["task"]
            if self.pc == self.gated:
                self.run.notes.setdefault("interrupt", self.run.notes["head"])
            self.run.notes["asked"] = asked[0].id
            return self.stopped(parked=True)
        if state.next:
            return self.at_boundary(int(state.next[0].removeprefix("t")))
        return self.stopped(parked=False)

    # -- what can be seen --------------------------------------------------------------

    def told(self, state: Any) -> list[Any]:
        """What the tasks put out, by a state that LangGraph returned."""
        raise NotImplementedError

    def canonical_store(self) -> Any:
        """What the checkpoints of the lineage hold, oldest first, and the last one's writes.

        The writes of earlier ones are left out: no recovery reads them, and a fork by
        Command(resume) adds to those of the interrupt's checkpoint.
        """
        line = self.place.lineage()
        held = [[record.metadata["source"], record.checkpoint["channel_values"]] for record in line]
        writes = [
            [channel, [asked.value for asked in value] if channel == INTERRUPT else value]
            for _, channel, value in (line[-1].pending_writes if line else ())
        ]
        return {"checkpoints": held, "writes": sorted(writes, key=str)}

    def holdings(self) -> Any:
        """All checkpoints of the thread, oldest first, and the channels written at each."""
        return self.place.holdings()

    def close(self) -> None:
        """Close the store."""
        for connection in self._opened:
            connection.close()
