"""The workflow that LlamaIndex runs: its state, its events, its steps.

Imported in `LlamaIndex.prepare` and nowhere else, since it imports the framework. What is saved
of a run names classes by their module, so state and events stand at the top of this one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel
from workflows import Context, Workflow, step
from workflows.events import (
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
)

#: A body of a step: the adapter of the run, the context of the step, the event that it accepts.
Body = Callable[[Any, Any, Any], Awaitable[Any]]


class Completion(BaseModel):
    """What a task writes into the state."""

    task: int
    output: int


class State(BaseModel):
    """The state of the workflow, and with it the schema."""

    log: list[Completion] = []
    consumed: str | None = None


def completion(task: int, output: Any) -> Completion:
    """A completion with whatever output: pydantic does not look at what it is made of."""
    return Completion.model_construct(task=task, output=output)


def done(task: int) -> type[Event]:
    """The class of the event that says that a task is done."""
    name = f"Done{task}"
    if name not in globals():
        globals()[name] = type(name, (Event,), {"__module__": __name__})
    event: type[Event] = globals()[name]
    return event


def _step(name: str, accepts: type[Event], returns: type[Event], body: Body) -> Any:
    """A step of the workflow: a method, with the annotations that LlamaIndex reads."""

    async def run(self: Any, ctx: Any, ev: Any) -> Any:
        await self.adapter.heard_of()
        return await body(self.adapter, ctx, ev)

    run.__name__ = name
    run.__qualname__ = f"Run.{name}"
    run.__annotations__ = {"ctx": Context[State], "ev": accepts, "return": returns}
    return step(run)


def build(tasks: int, gate: int, form: str) -> type[Workflow]:
    """Make the workflow.

    Args:
        form: `two-step`, a step asks and another one accepts the answer; `wait`, the gated task's
            step waits for the answer before it does anything; `wait-late`, the task before the
            gate is done in the same step, before it waits.
    """
    response: Any = HumanResponseEvent

    def following(task: int) -> type[Event]:
        return StopEvent if task == tasks else done(task)

    def before(task: int) -> type[Event]:
        return StartEvent if task == 1 else done(task - 1)

    def performing(task: int) -> Body:
        async def body(adapter: Any, ctx: Any, ev: Any) -> Event:
            answer = ev.response if task == gate else None
            await adapter.perform(ctx.store, task, answer)
            return following(task)()

        return body

    async def asking(adapter: Any, ctx: Any, ev: Any) -> Event:
        adapter.enter(gate)
        return InputRequiredEvent()

    async def waiting(adapter: Any, ctx: Any, ev: Any) -> Event:
        if late:
            await adapter.perform(ctx.store, gate - 1)
        adapter.enter(gate)
        answered = await ctx.wait_for_event(
            response, waiter_event=InputRequiredEvent(), waiter_id="gate", timeout=None
        )
        await adapter.act(ctx.store, gate, answered.response)
        return following(gate)()

    late = form == "wait-late" and gate > 1
    steps: dict[str, Any] = {}
    for task in range(1, tasks + 1):
        name = f"t{task}"
        if task == gate and form == "two-step":
            steps["ask"] = _step("ask", before(task), InputRequiredEvent, asking)
            steps[name] = _step(name, response, following(task), performing(task))
        elif task == gate:
            first = task - 1 if late else task
            steps[name] = _step(name, before(first), following(task), waiting)
        elif not (late and task == gate - 1):
            steps[name] = _step(name, before(task), following(task), performing(task))
    return type("Run", (Workflow,), {**steps, "__module__": __name__})
