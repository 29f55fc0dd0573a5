"""LlamaIndex Workflows: steps that events set off, their run a context that the caller keeps.

The framework stores nothing. A run's context can be had as a dictionary at any time, and a run
goes on from such a dictionary; when it is taken, and where it is kept, is the caller's affair.
Steps that were in progress when it was taken are started again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, ClassVar

from adapters.base import Option, Run
from adapters.resume import POISON, RE_ANSWER, STRAY, ResumeAdapter
from adapters.stores import Read, Tampering, drop, edited, put


class LlamaIndex(ResumeAdapter):
    """LlamaIndex Workflows, its context kept by the caller.

    Store: `Context.to_dict`, which the adapter, being the caller, writes to a JSON file. Crash:
    SIGKILL. The state's schema is a pydantic model, which is held against what is restored and
    not against what is written or saved. A fork is a context restored once more from what was
    saved when the run parked first, with a file of its own; so is a second consumer. Observes pc
    from the gates, frontier and ckpts from what was saved, waiting, consumedVal and outcome from
    the context of the process, or what was saved where it has none. A run waits that is running
    with no step in progress: the request itself is not in a context.
    """

    distributions: ClassVar[tuple[str, ...]] = ("llama-index-workflows",)
    extra: ClassVar[str | None] = "llamaindex"
    options: ClassVar[Mapping[str, Option]] = {
        "interrupt": Option(
            "two-step",
            ("two-step", "wait", "wait-late"),
            "how the answer comes in: to a step of its own; through wait_for_event at the head of"
            " a step; or through it behind the task before, in one step with it",
        ),
        "save": Option(
            "step",
            ("step", "idle"),
            "when the caller saves the context: at each change of a step's state, or where the"
            " run waits or ends",
        ),
        "invalid": Option(
            "unserialisable",
            ("unserialisable", "mistyped"),
            "what a poisoned output is: nothing that JSON can hold, or of the wrong type",
        ),
        **RE_ANSWER,
        **STRAY,
    }

    reads: ClassVar[Mapping[str, Read]] = {
        "Context.from_dict": lambda self: self.loaded() is not None,
        "Context.store.get_state": lambda self: self.loop.run_until_complete(self.put_out()),
    }

    # The framework, as `prepare` found it.
    _context: ClassVar[Any]
    _events: ClassVar[Any]
    _framework: ClassVar[Any]
    _run_class: ClassVar[Any]

    @classmethod
    def tamperings(cls, options: Mapping[str, str]) -> Mapping[str, Tampering]:
        """The dictionary of a context, saved as JSON, without the caller's own reading of it."""
        event = ("workers", "t3", "in_progress", 0, "event")
        return {
            "version unknown": put(99, "version"),
            "flag of another type": put("perhaps", "is_running"),
            "state emptied": put({}, "state"),
            "state's type unknown": _in_state(
                lambda state: state.update(qualified_name="no.Thing")
            ),
            "output of another type": _in_state(lambda state: _log(state)[0].update(output="x")),
            "completed task 2 removed": _in_state(lambda state: _log(state).pop()),
            "no step left": put({}, "workers"),
            "step t9, which is no step": edited(
                lambda context: context["workers"].update(t9=context["workers"]["t1"])
            ),
            "step in progress removed": put([], "workers", "t3", "in_progress"),
            "its step missing": drop("workers", "t3"),
            "event's type unknown": put(
                json.dumps({"__is_pydantic": True, "value": {}, "qualified_name": "no.Thing"}),
                *event,
            ),
        }

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import the framework and build the workflow's class."""
        import workflows
        from workflows import events

        from adapters import llamaindex_workflow

        cls._context, cls._events = workflows.Context, events
        cls._framework = llamaindex_workflow
        cls._run_class = llamaindex_workflow.build(
            workflow["tasks"], workflow["gate"], options["interrupt"]
        )

    def __init__(self, run: Run) -> None:
        """Name the files."""
        super().__init__(run)
        self.loop = asyncio.new_event_loop()
        self.handler: Any = None
        self.heard = asyncio.Event()
        self.parked = run.folder / "parked.json"
        self.file = run.folder / (f"fork-{run.branch}.json" if run.branch else "run.json")

    # -- the workflow ------------------------------------------------------------------

    async def heard_of(self) -> None:
        """Let the caller hear, and save, what happened before a step, and then begin it."""
        await self.heard.wait()
        self.heard.clear()

    async def perform(self, store: Any, task: int, answer: str | None = None) -> None:
        """Be the body of a task."""
        self.enter(task)
        await self.act(store, task, answer)

    async def act(self, store: Any, task: int, answer: str | None) -> None:
        """Fire the effect of a task and write its completion."""
        self.effect(task, answer)
        output = self.output(task)
        if output == POISON and self.run.options["invalid"] == "unserialisable":
            output = object()
        async with store.edit_state() as state:
            state.log.append(self._framework.completion(task, output))
            if answer is not None:
                state.consumed = answer

    # -- the actions -------------------------------------------------------------------

    def start(self) -> Any:
        """Begin the run."""
        return self._wait(self._begin(None))

    def resume(self, v: str) -> Any:
        """Send the answer to the run of this process, or to one restored as it was parked."""
        return self._wait(self._answer(v))

    def fork(self, v: str) -> Any:
        """Send the answer to a run restored as it was parked."""
        return self.resume(v)

    def RaceConsume(self, v: str) -> Any:
        """Answer as a second caller that restored the run while it was parked."""
        self.file = self.run.folder / f"consumer-{self.run.process}.json"
        return self.resume(v)

    def recover(self) -> Any:
        """Run the context as it was saved last; where none was, begin anew."""
        return self._wait(self._begin(self.saved()))

    async def _begin(self, saved: dict[str, Any] | None) -> Any:
        workflow = self._run_class(timeout=None)
        workflow.adapter = self
        context = saved and self._context.from_dict(workflow, saved)
        self.heard.clear()
        self.handler = workflow.run(ctx=context)
        self.events = self.handler.stream_events(expose_internal=True)
        if saved and _waits(saved):
            return self._rest(parked=True)
        return await self._follow()

    async def _answer(self, v: str) -> Any:
        if self.handler is None:
            await self._begin(json.loads(self.parked.read_text()))
        self.handler.ctx.send_event(self._events.HumanResponseEvent(response=v))
        if not self.handler.is_done():
            return await self._follow()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        return self.stopped(parked=False)

    async def _follow(self) -> Any:
        """Hear what happens, as the caller of the run, until it waits or has ended."""
        async for event in self.events:
            if isinstance(event, self._events.StepStateChanged):
                if self.run.options["save"] == "step":
                    self._save()
                if event.step_state is self._events.StepState.RUNNING:
                    self.heard.set()
            elif isinstance(event, self._events.WorkflowIdleEvent):
                return self._rest(parked=True)
        await self.handler  # raises what the run failed with
        return self._rest(parked=False)

    def _rest(self, *, parked: bool) -> Any:
        self._save()
        if parked and not self.parked.exists():
            _write(self.parked, self.file.read_text())
        return self.stopped(parked=parked)

    def _save(self) -> None:
        context = self.handler.ctx.to_dict()
        with self.run.ours():
            _write(self.file, json.dumps(context))

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.system(lambda: self.loop.run_until_complete(coroutine))

    # -- what can be seen --------------------------------------------------------------

    def loaded(self) -> Any:
        """A context made of what was saved, None where nothing was."""
        saved = self.saved()
        return saved and self._context.from_dict(self._run_class(timeout=None), saved)

    async def put_out(self) -> Any:
        """What the tasks put out, by the state in that context."""
        context = self.loaded()
        return context and [entry.output for entry in (await context.store.get_state()).log]

    def store_file(self) -> Path:
        """The context as it was saved last."""
        return self.file

    def saved(self) -> dict[str, Any] | None:
        """The context as it was saved last, None where it never was."""
        if not self.file.exists():
            return None
        context: dict[str, Any] = json.loads(self.file.read_text())
        return context

    def shown(self) -> dict[str, Any] | None:
        """The context of this process's run, or, where there is none to show, what was saved."""
        try:
            context: dict[str, Any] | None = self.handler and self.handler.ctx.to_dict()
        except ValueError:  # it holds what cannot be serialised
            context = None
        return context or self.saved()

    def public_state(self) -> dict[str, Any]:
        """What the context says of the run, and what of it is durable."""
        durable, shown = _state(self.saved()), self.shown()
        consumed = _state(shown)["consumed"]
        seen: dict[str, Any] = {
            "frontier": max((entry["task"] for entry in durable["log"]), default=0),
            "waiting": shown is not None and _waits(shown),
            "consumedVal": consumed,
            "ckpts": [
                {"task": entry["task"], "valid": self._accepts(entry)} for entry in durable["log"]
            ],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def _accepts(self, entry: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._framework.Completion.model_validate(entry)
        except ValueError:
            return False
        return True

    def canonical_store(self) -> Any:
        """The state as it was saved, and what each step was at: its events and its waiters."""
        saved = self.saved()
        if saved is None:
            return {"state": None}
        return {
            "state": _state(saved),
            "running": saved["is_running"],
            "steps": {
                name: [
                    [_event(attempt) for attempt in (*step["in_progress"], *step["queue"])],
                    [waiter["resolved_event"] for waiter in step["collected_waiters"]],
                ]
                for name, step in saved["workers"].items()
            },
        }

    def close(self) -> None:
        """Close the event loop."""
        self.loop.close()


def _state(context: Mapping[str, Any] | None) -> dict[str, Any]:
    """The state of the workflow in a context."""
    if context is None:
        return {"log": [], "consumed": None}
    state: dict[str, Any] = json.loads(context["state"]["state_data"])["value"]
    return state


def _in_state(change: Callable[[Any], object]) -> Tampering:
    """A tampering with the state, which is JSON within the JSON."""

    def within(context: Any) -> None:
        state = json.loads(context["state"]["state_data"])
        change(state)
        context["state"]["state_data"] = json.dumps(state)

    return edited(within)


def _log(state: Any) -> Any:
    return state["value"]["log"]


def _event(attempt: Any) -> Any:
    """The event of an attempt at a step; before 2.22 a step in progress is no more than that."""
    return attempt["event"] if isinstance(attempt, dict) else attempt


def _waits(context: Mapping[str, Any]) -> bool:
    """Whether a run can only go on if somebody sends it something."""
    steps = context["workers"].values()
    return bool(context["is_running"] and not any(s["in_progress"] or s["queue"] for s in steps))


def _write(path: Path, text: str) -> None:
    """Write a file at once: a kill leaves the old one or the new one."""
    written = path.with_suffix(".new")
    written.write_text(text)
    written.replace(path)
