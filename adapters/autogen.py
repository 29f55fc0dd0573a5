"""AutoGen AgentChat: a team that hands off to the user, its state saved and loaded by the caller.

AutoGen stores nothing by itself. `save_state` returns what a team is, `load_state` makes another
team the same; when that is done, and where it is kept, is the caller's affair. A run of a team ends
where a condition stops it, a handoff to the user for instance, and the next one goes on from there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, ClassVar

from adapters.autogen_team import INPUT, KINDS, USER, Teams
from adapters.base import Option, Run
from adapters.resume import RE_ANSWER, STRAY, ResumeAdapter
from adapters.stores import Read, Tampering, drop, put

#: What is new each time, and what no run goes on from.
PASSING = {"id", "created_at", "models_usage", "metadata"}


class AutoGen(ResumeAdapter):
    """AutoGen AgentChat under the vocabulary of the resume plane.

    Store: the caller's, a file of the run's folder with the newest state; when it is saved is an
    option. Crash: SIGKILL. Each process has teams of its own, and loads before it runs. A fork
    loads the state with which the run parked first; a second consumer loads the newest before the
    first has saved. A task's output is a StructuredMessage, which AutoGen holds against a pydantic
    model. Observes pc, frontier, waiting, consumedVal, ckpts, outcome from the messages in the
    newest state; whether the answer was taken, and what came of it, also from `save_state` of the
    team that runs in the process.
    """

    distributions: ClassVar[tuple[str, ...]] = ("autogen-agentchat", "autogen-core", "autogen-ext")
    extra: ClassVar[str | None] = "autogen"
    volatile: ClassVar[tuple[str, ...]] = ("waiting", "consumedVal", "outcome")
    options: ClassVar[Mapping[str, Option]] = {
        "team": Option(
            "assistant",
            KINDS,
            "one assistant with a tool a task, whose model says what is next; or an agent a task,"
            " where the team says it: RoundRobinGroupChat, GraphFlow",
        ),
        "save": Option(
            "stopped",
            ("stopped", "each-turn", "running"),
            "when the caller saves the state: where a run stops, where it is stopped after each"
            " turn, or while it runs, as a body is entered",
        ),
        "stray_state": Option(
            "newest",
            ("newest", "parked"),
            "the state that a stray resume loads: the newest, or the one that waits for the user",
        ),
        **RE_ANSWER,
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "load_state": lambda self: self.loop.run_until_complete(self.put_out()),
    }

    # The framework, as `prepare` found it, and the adapter of this process.
    _teams: ClassVar[Teams]
    _here: ClassVar[AutoGen]

    @classmethod
    def tamperings(cls, options: Mapping[str, str]) -> Mapping[str, Tampering]:
        """What `save_state` returned, saved as JSON, without the caller's own reading of it."""
        graph = options["team"] == "graph"
        agents = "agent_states"
        manager = (agents, "GraphManager" if graph else "RoundRobinGroupChatManager")
        agent, thread = "agent" if options["team"] == "assistant" else "t2", "message_thread"
        following = "ready" if graph else "next_speaker_index"
        nobody: Any = ["nobody"] if graph else 99
        first: Any = ["t1"] if graph else 0
        forms = {
            "type unknown": put("Nothing", "type"),
            "version unknown": put("99", "version"),
            "no agent left": put({}, agents),
            "an agent missing": drop(agents, agent),
            "field of another type": put("x", *manager, "current_turn"),
            "message's type unknown": put("Nothing", *manager, thread, 0, "type"),
            "output of another type": put("x", *manager, thread, -1, "content", "output"),
            "completed task 2 removed": drop(*manager, thread, -1),
            "next speaker is nobody": put(nobody, *manager, following),
            "next speaker missing": drop(*manager, following),
        }
        if agent != "agent":  # else there is one who speaks
            forms["next speaker t1, which is done"] = put(first, *manager, following)
        return forms

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import AutoGen and build what teams are made of; a run's process makes its teams."""

        async def perform(task: int, answer: str | None) -> Mapping[str, Any]:
            return await cls._here.perform(task, answer)

        async def ask() -> None:
            await cls._here.held(workflow["gate"])

        tasks, gate = workflow["tasks"], workflow["gate"]
        cls._teams = Teams(options["team"], tasks, gate, perform, ask)

    def __init__(self, run: Run) -> None:
        """Name the files; a branch has a state of its own."""
        super().__init__(run)
        type(self)._here = self
        self.loop = asyncio.new_event_loop()
        self.file = run.folder / f"state-{run.branch}.json"
        self.parked = run.folder / "parked.json"
        self._team: Any = None
        self._shown: dict[str, Any] = {}  # by the team of this process, when it was last asked

    # -- the workflow ------------------------------------------------------------------

    async def held(self, task: int) -> None:
        """Be held at the entry of a body; the team is asked for its state before."""
        with self.run.ours():
            self._shown = await self._team.save_state()
            if self.run.options["save"] == "running":
                self._keep()
            self.enter(task)

    async def perform(self, task: int, answer: str | None) -> Mapping[str, Any]:
        """Be the body of a task."""
        await self.held(task)
        self.effect(task, answer)
        return {"task": task, "output": self.output(task), "answer": answer}

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        return self._go(None, INPUT)

    def resume(self, v: str) -> Any:
        """Load the newest state, and run the team with the user's message."""
        return self._go(self.file if self.file.exists() else self.parked, self._teams.answer(v))

    def stray(self, v: str) -> Any:
        """Deliver to the completed team, by its own state or by the one that it parked with."""
        parked = self.run.options["stray_state"] == "parked"
        return self._go(self.parked if parked else self.file, self._teams.answer(v))

    def fork(self, v: str) -> Any:
        """Load the state with which the run parked, and run the team with the user's message."""
        return self._go(self.parked, self._teams.answer(v))

    def recover(self) -> Any:
        """Run from the newest state, or from the input where none was saved.

        A team that waits for the user is not run: the user is asked again.
        """
        if not self.file.exists():
            return self.start()
        if _waiting(_said(self._newest())):
            self.enter(self.gated)
            return self.stopped(parked=True)
        return self._go(self.file, None)

    def reopen(self) -> Any:
        """A team whose newest state waits for the user still does; it is not run before."""
        waits = self.file.exists() and _waiting(_said(self._newest()))
        return self.stopped(parked=True) if waits else self.recover()

    def _go(self, file: Path | None, task: Any) -> Any:
        """Make a team, load a state if there is one, and run until it hands off or is complete.

        A run that ends otherwise, with nobody speaking, goes nowhere: it has failed.
        """
        each_turn = self.run.options["save"] == "each-turn"
        self._team = self.system(lambda: self._teams.new(each_turn=each_turn))
        if file is not None:
            self._call(self._team.load_state(json.loads(file.read_text())))
        while True:
            result = self._call(self._team.run(task=task))
            self._shown = self._call(self._team.save_state())
            self._keep()
            # The user's message comes back as the first of the result.
            said = [message for message in result.messages if message.source != USER]
            if _waiting([message.dump() for message in said]):
                if not self.parked.exists():
                    self.parked.write_text(self.file.read_text())
                return self.stopped(parked=True)
            if self._teams.complete(said):
                return self.stopped(parked=False)
            if not said or not each_turn:
                return "failed"
            task = None

    def _keep(self) -> None:
        """Put the state in the place of the file's, at once."""
        written = self.file.with_suffix(f".{self.run.process}")
        written.write_text(json.dumps(self._shown))
        written.replace(self.file)

    def _call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.system(lambda: self.loop.run_until_complete(coroutine))

    def anonymous(self, text: str) -> str:
        """The error alone: AutoGen puts the traceback of an agent's error into its message."""
        return super().anonymous(text.partition("\nTraceback:")[0])

    # -- what can be seen --------------------------------------------------------------

    async def put_out(self) -> Any:
        """What the tasks put out, by a team that loaded the newest state; None without one."""
        if not self.file.exists():
            return None
        team = self._teams.new(each_turn=False)
        await team.load_state(self._newest())
        return [c["output"] for c in _completions(_said(await team.save_state()))]

    def store_file(self) -> Path:
        """The newest state."""
        return self.file

    def _newest(self) -> dict[str, Any]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def public_state(self) -> dict[str, Any]:
        """What was kept; and what came of the answer, by the team that runs."""
        kept = _said(self._newest())
        done = _completions(kept)
        said = _said(self._shown) or kept
        consumed = next((c["answer"] for c in _completions(said)[::-1] if c["answer"]), None)
        seen: dict[str, Any] = {
            "frontier": max((c["task"] for c in done), default=0),
            "waiting": _waiting(said),
            "consumedVal": consumed,
            "ckpts": [{"task": c["task"], "valid": isinstance(c["output"], int)} for c in done],
        }
        return seen if consumed is None else seen | {"outcome": [consumed]}

    def canonical_store(self) -> Any:
        """The newest state, without what is new each time."""
        return _lasting(self._newest())

    def close(self) -> None:
        """Close the loop."""
        self.loop.close()


def _said(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of a team, by its state: its manager keeps them."""
    states = state.get("agent_states", {}).values()
    return next((s["message_thread"] for s in states if "message_thread" in s), [])


def _completions(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tasks put out, oldest first."""
    contents = [m["content"] for m in said if m["type"].startswith("StructuredMessage")]
    return [content for content in contents if content["task"]]


def _waiting(said: list[dict[str, Any]]) -> bool:
    """Whether the last that was said is a handoff to the user."""
    return bool(said) and said[-1]["type"] == "HandoffMessage" and said[-1]["target"] == USER


def _lasting(value: Any) -> Any:
    """A state without what is new each time."""
    if isinstance(value, dict):
        return {name: _lasting(item) for name, item in value.items() if name not in PASSING}
    return [_lasting(item) for item in value] if isinstance(value, list) else value
