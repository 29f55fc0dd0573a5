"""The OpenAI Agents SDK: an agent that calls one tool a task, its gate a tool that needs approval.

The SDK stores nothing by itself. It hands out a `RunState` where a run stops, as text, and a run
goes on from such a text; whoever calls keeps it. A session, where one is given, is a store of the
SDK's own, for what was said: a new run on it begins with that. The model is a stand-in that plans
by what it is shown: it calls the first of the tools whose output is not there.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import sqlite3
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from adapters.base import Option, Run
from adapters.openai_agents_model import planned, task_of
from adapters.resume import RE_ANSWER, STRAY, ResumeAdapter
from adapters.stores import Read, Tampering, drop, put, truncated

INPUT = "go"


class OpenAIAgents(ResumeAdapter):
    """The OpenAI Agents SDK under the vocabulary of the resume plane.

    Store: the caller's. What the SDK hands out is a file of the run's folder, written when a run
    pauses and ends or after each turn, which is an option; a SQLiteSession is one too. Crash:
    SIGKILL. An approval carries no value: the answer is put into the run's context when the state
    is read. A fork reads the state with which the run parked first, over a copy of the session. A
    second consumer reads the caller's file before the first has written it. A tool answers with
    text and no schema is held against it; a state is not written if the context has no JSON.
    Observes pc, frontier, waiting, consumedVal, ckpts, outcome, from the items of the session where
    there is one, else from those of the newest state. Whether the answer was taken, and what came
    of it, is also read from the result of the run that goes on in the process.
    """

    distributions: ClassVar[tuple[str, ...]] = ("openai-agents",)
    extra: ClassVar[str | None] = "openai-agents"
    volatile: ClassVar[tuple[str, ...]] = ("waiting", "consumedVal", "outcome")
    options: ClassVar[Mapping[str, Option]] = {
        "save": Option(
            "paused",
            ("paused", "each-turn"),
            "when the caller keeps the state of a run: where it pauses or ends, or after each turn",
        ),
        "session": Option("none", ("none", "sqlite"), "the session that a run is given"),
        "recover": Option(
            "state",
            ("state", "input"),
            "the recovery call: a run from the newest state, or with the original input once more",
        ),
        "stray_state": Option(
            "newest",
            ("newest", "parked"),
            "the state that a stray resume reads: the newest, or the one that waits for approval",
        ),
        "poison": Option(
            "unserialisable",
            ("unserialisable", "other-type"),
            "what a broken output is: an object in the context, or a text that is no number",
        ),
        **RE_ANSWER,
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "RunState.from_string": lambda self: self.put_out(self._run_state.from_string, str),
        "RunState.from_json": lambda self: self.put_out(self._run_state.from_json, json.loads),
    }

    # The framework, as `prepare` found it, and the adapter of this process.
    _agent: ClassVar[Any]
    _runner: ClassVar[Any]
    _run_state: ClassVar[Any]
    _session: ClassVar[Any]
    _here: ClassVar[OpenAIAgents]

    @classmethod
    def tamperings(cls, options: Mapping[str, str]) -> Mapping[str, Tampering]:
        """The text of a RunState, which is JSON."""
        return {
            "truncated": truncated,
            "version unknown": put("99", "$schemaVersion"),
            "agent unknown": put("nobody", "current_agent", "name"),
            "turn of another type": put("x", "current_turn"),
            "step's type unknown": put({"type": "nothing"}, "current_step"),
            "items emptied": put([], "generated_items"),
            "item's type unknown": put([{"type": "nothing"}], "generated_items"),
            "output of t2 removed": drop("generated_items", -1),
            "output of another type": put(5, "generated_items", 1, "raw_item", "output"),
            "context emptied": put({}, "context"),
        }

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import the SDK; make the agent, its tools and its model."""
        import agents

        tasks = range(1, workflow["tasks"] + 1)

        def next_task(done: set[int]) -> int | None:
            task = next((task for task in tasks if task not in done), None)
            if task == workflow["gate"]:
                cls._here.enter(workflow["gate"])  # before it asks
            return task

        def tool(task: int) -> Any:
            async def body(context: Any, _arguments: str) -> str:
                return cls._here.perform(task, context.context)

            return agents.FunctionTool(
                name=f"t{task}",
                description=f"task {task}",
                params_json_schema={"type": "object", "properties": {}},
                on_invoke_tool=body,
                strict_json_schema=False,
                needs_approval=task == workflow["gate"],
            )

        agents.set_tracing_disabled(True)
        cls._agent = agents.Agent(
            name="agent", model=planned(next_task), tools=[tool(task) for task in tasks]
        )
        cls._runner, cls._run_state = agents.Runner, agents.RunState
        cls._session = agents.SQLiteSession

    def __init__(self, run: Run) -> None:
        """Open the session, if any; a branch opens a copy of what it was where the run parked."""
        super().__init__(run)
        type(self)._here = self
        self.loop = asyncio.new_event_loop()
        self._result: Any = None  # of the run that this process made last, also while it goes on
        self.file, self.parked = (
            run.folder / f"state-{run.branch}.json",
            run.folder / "parked.json",
        )
        self.messages = run.folder / f"session-{run.branch}.db"
        if run.branch and run.options["session"] == "sqlite":
            _copy(run.folder / "parked.db", self.messages)

    # -- the workflow ------------------------------------------------------------------

    def perform(self, task: int, context: dict[str, Any]) -> str:
        """Be the body of a tool."""
        self.enter(task)
        answer = context.get("answer") if task == self.gated else None
        self.effect(task, answer)
        output = self.output(task)
        if output != task and self.run.options["poison"] == "unserialisable":
            context["broken"], output = object(), task
        return json.dumps({"output": output, "answer": answer})

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        return self._go(None)

    def resume(self, v: str) -> Any:
        """Read the newest state, approve, and run it."""
        return self._approve(self.file if self.file.exists() else self.parked, v)

    def stray(self, v: str) -> Any:
        """Deliver to the completed run, by its own state or by the one that it parked with."""
        parked = self.run.options["stray_state"] == "parked"
        return self._approve(self.parked if parked else self.file, v)

    def fork(self, v: str) -> Any:
        """Read the state with which the run parked, approve, and run it."""
        return self._approve(self.parked, v)

    def recover(self) -> Any:
        """Go on by the call that the options name; without a state there is the input alone."""
        if self.run.options["recover"] == "input" or not self.file.exists():
            return self._go(None)
        state = self._state(self.file)
        if state.get_interruptions():
            self.enter(self.gated)  # before it asks again
        return self._go(state)

    def reopen(self) -> Any:
        """A state that names an interruption waits for its answer; it is not run before."""
        waits = self.file.exists() and self._state(self.file).get_interruptions()
        return self.stopped(parked=True) if waits else self.recover()

    def _state(self, file: Path, **override: Any) -> Any:
        text = file.read_text()
        return self._call(self._run_state.from_string(self._agent, text, **override))

    def _approve(self, file: Path, v: str) -> Any:
        state = self._state(file, context_override={"answer": v})
        for asked in state.get_interruptions():
            self.system(lambda asked=asked: state.approve(asked))  # type: ignore[misc]
        return self._go(state)

    def _go(self, state: Any) -> Any:
        """Run until it pauses or ends, from a state or from the input; keep what it hands out."""
        while True:
            self._call(self._run(state))
            state = self.system(self._result.to_state)
            _write(self.file, self.system(state.to_string))
            if self._result.interruptions:
                return self._stop()
            if self._result.final_output is not None:
                return self.stopped(parked=False)

    async def _run(self, state: Any) -> None:
        """Run to where it pauses or ends, or through the turn that it is in."""
        self._result = self._runner.run_streamed(self._agent, **self._from(state))
        async for _ in self._result.stream_events():
            if self.run.options["save"] == "each-turn":
                self._result.cancel(mode="after_turn")

    def _from(self, state: Any) -> dict[str, Any]:
        """What a run is begun with."""
        with_session = self.run.options["session"] == "sqlite"
        begun = {"input": INPUT, "context": {}, "max_turns": 10 * self.tasks}
        return (begun if state is None else {"input": state}) | {
            "session": self._session("run", self.messages) if with_session else None
        }

    def _stop(self) -> Any:
        """The run asks: what it parked with first is what forks go on from."""
        if not self.parked.exists():
            _write(self.parked, self.file.read_text())
            if self.messages.exists():
                _copy(self.messages, self.run.folder / "parked.db")
        return self.stopped(parked=True)

    def _call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.system(lambda: self.loop.run_until_complete(coroutine))

    # -- what can be seen --------------------------------------------------------------

    def put_out(self, read: Callable[..., Any], given: Callable[[str], Any]) -> Any:
        """What the tools of tasks answered, by a state that the SDK read; None without one."""
        if not self.file.exists():
            return None
        state = self.loop.run_until_complete(read(self._agent, given(self.file.read_text())))
        items = [item["raw_item"] for item in state.to_json()["generated_items"]]
        texts = [item["output"] for item in items if item["type"] == "function_call_output"]
        return [json.loads(text)["output"] for text in texts]

    def store_file(self) -> Path:
        """The newest state."""
        return self.file

    def _kept(self) -> dict[str, Any]:
        """The newest state, as JSON; empty where none was kept."""
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def _items(self) -> list[dict[str, Any]]:
        """What was said, oldest first: by the session where there is one, else by the state."""
        if self.run.options["session"] == "none":
            return [item["raw_item"] for item in self._kept().get("generated_items", ())]
        if not self.messages.exists():
            return []
        # In a thread of its own, since the one that asks may be held within a run's loop.
        with concurrent.futures.ThreadPoolExecutor(1) as elsewhere:
            return list(elsewhere.submit(self._read_session).result())

    def _read_session(self) -> Any:
        session = self._session("run", self.messages)
        try:
            return asyncio.run(session.get_items())
        finally:
            session.close()

    def public_state(self) -> dict[str, Any]:
        """What was kept; and what came of the answer, by the result of a run that goes on."""
        items = self._items()
        called = {task_of(item) for item in items if item.get("type") == "function_call"}
        kept = _answers(items)
        going = [item.raw_item for item in self._result.new_items] if self._result else []
        answers = _answers(item for item in going if isinstance(item, dict)) | kept
        consumed = answers.get(self.gated, {}).get("answer")
        seen: dict[str, Any] = {
            "frontier": max(kept, default=0),
            "waiting": self.gated in called and self.gated not in answers,
            "consumedVal": consumed,
            "ckpts": [
                {"task": task, "valid": isinstance(said["output"], int)}
                for task, said in kept.items()
            ],
        }
        return seen if consumed is None else seen | {"outcome": [consumed]}

    def canonical_store(self) -> Any:
        """The items, and what the newest state holds beside them that a run goes on from."""
        kept = self._kept()
        said = [
            [item.get("type", item.get("role")), item.get("call_id"), item.get("output")]
            for item in self._items()
        ]
        approved = {name: kept["context"][name] for name in ("approvals", "context") if kept}
        return {"items": said, "turn": kept.get("current_turn"), **approved}

    def close(self) -> None:
        """Close the loop."""
        self.loop.close()


def _answers(items: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """What the tools of tasks answered, in that order."""
    outputs = [item for item in items if item.get("type") == "function_call_output"]
    return {task_of(item): json.loads(item["output"]) for item in outputs}


def _write(file: Path, text: str) -> None:
    """Put a text in the place of a file's, at once."""
    written = file.with_suffix(".new")
    written.write_text(text)
    written.replace(file)


def _copy(source: Path, target: Path) -> None:
    """Copy a database by SQLite's backup; a copy of the file would miss its write-ahead log."""
    with (
        contextlib.closing(sqlite3.connect(source, timeout=60)) as original,
        contextlib.closing(sqlite3.connect(target, timeout=60)) as copy,
    ):
        original.backup(copy)
