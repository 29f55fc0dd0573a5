"""LangGraph, functional API: an entrypoint that calls a task after the other over a checkpointer.

The run stays at the checkpoint of its input until the entrypoint returns. What its tasks return
is stored meanwhile as pending writes of that checkpoint, and served from there to whoever goes
on from the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from adapters.langgraph_calls import INTERRUPT, LangGraphCalls

#: The channels of what a task returns, of the answer that it took, and of what an entrypoint
#: returns.
RETURN, RESUME, END = "__return__", "__resume__", "__end__"

#: Under this id an answer is stored that names no interrupt.
NO_TASK = "00000000-0000-0000-0000-000000000000"


def _task(task: int, gate: int) -> Callable[[], dict[str, Any]]:
    """The body of a task; its adapter comes in as the context of the call."""
    from langgraph.runtime import get_runtime

    def body() -> dict[str, Any]:
        runtime: Any = get_runtime()
        adapter: LangGraphFunctional = runtime.context
        return adapter.perform(task, runtime.execution_info.checkpoint_id, gated=task == gate)

    body.__name__ = body.__qualname__ = f"t{task}"
    return body


def results(record: Any) -> list[dict[str, Any]]:
    """What tasks returned that were called from a checkpoint, in the order of the tasks."""
    returned = [value for _, channel, value in record.pending_writes if channel == RETURN]
    return sorted(returned, key=lambda result: int(result["task"]))


def waits(record: Any) -> bool:
    """Whether an interrupt was left without an answer, by LangGraph's own rule.

    `get_state` shows an interrupt until the entrypoint returns, answered or not.
    """
    answered = {task for task, channel, _ in record.pending_writes if channel == RESUME}
    asked = [
        (task, question.id)
        for task, channel, value in record.pending_writes
        if channel == INTERRUPT
        for question in value
    ]
    over = {question for task, question in asked if task in answered}
    return any(question not in over for _, question in asked)


class LangGraphFunctional(LangGraphCalls):
    """LangGraph's functional API under the vocabulary of the resume plane.

    Store: SQLite, PostgreSQL, or memory. Crash: SIGKILL, in memory an exception, inside a task's
    body: `interrupt_before`, which would stop between tasks, has no effect in an entrypoint. A
    task's result is handed on before it is stored, with durability="sync" too; a run is held in
    a body only once the results before it are stored, and the answer. The schema is that of a
    task's result, which the entrypoint declares and LangGraph does not look at. Observes pc,
    frontier, waiting, consumedVal, ckpts (one for each result that is stored), outcome.

    Notes: those of its base.
    """

    INPUT: ClassVar[Any] = "begin"

    _completion: ClassVar[Any]

    @classmethod
    def build(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> Any:
        """The entrypoint: all tasks, one after the other."""
        from langgraph.func import entrypoint, task
        from pydantic import create_model

        completion = create_model(
            "Completion", task=(int, ...), output=(int, ...), consumed=(str | None, None)
        )
        numbers = range(1, workflow["tasks"] + 1)
        tasks: list[Any] = [task(_task(number, workflow["gate"])) for number in numbers]

        def wf(_input: Any) -> Any:
            return [called().result() for called in tasks]

        wf.__annotations__["return"] = list[completion]  # type: ignore[valid-type]
        cls._completion = completion
        schema: Any = cls
        return entrypoint(context_schema=schema)(wf)

    def perform(self, task: int, checkpoint: str, *, gated: bool) -> dict[str, Any]:
        """Be the body of a task, called from a checkpoint; return its result."""
        with self.run.ours():
            self.place.arrive(checkpoint)
            self.place.until(lambda: self._settled(task), f"what came before task {task}")
            self.enter(task)
        consumed = {"consumed": self._interrupt({"task": task})} if gated else {}
        self.effect(task, consumed.get("consumed"))
        return {"task": task, "output": self.output(task)} | consumed

    def _settled(self, task: int) -> bool:
        """Whether what was given to a run, and done in it, before a task is stored."""
        record = self.place.last()
        done = {result["task"] for result in results(record)}
        answers = any(
            owner == NO_TASK and channel == RESUME for owner, channel, _ in record.pending_writes
        )
        return done.issuperset(range(1, task)) and (answers or not self.answered)

    def public_state(self) -> dict[str, Any]:
        """What is stored at the checkpoints of the run's own lineage.

        It is read from the checkpointer: `get_state` shows no task's result before all are over.
        """
        line = self.place.lineage()
        stored = [results(record) for record in line]
        last: list[dict[str, Any]] = stored[-1] if line else []
        if line and END in line[-1].checkpoint["channel_values"]:
            last = line[-1].checkpoint["channel_values"][END] or []
        consumed = next((result["consumed"] for result in last if "consumed" in result), None)
        seen: dict[str, Any] = {
            "frontier": max((result["task"] for result in last), default=0),
            "waiting": bool(line) and waits(line[-1]),
            "consumedVal": consumed,
            "ckpts": [
                {"task": result["task"], "valid": self._accepts(result)}
                for at_one in stored
                for result in at_one
            ],
        }
        if consumed is not None:
            seen["outcome"] = [consumed]
        return seen

    def canonical_store(self) -> Any:
        """The lineage and its writes, and whether the run is where its thread's head is.

        A recovery by address is served no result of a task, so it reads another store.
        """
        own = self.run.notes.get("head") == self.place.newest()
        return {**super().canonical_store(), "head": own}

    def told(self, state: Any) -> list[Any]:
        """What the tasks put out: nothing before the entrypoint returned."""
        return [result["output"] for result in state.values or []]

    def _accepts(self, result: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._completion.model_validate(result)
        except ValueError:
            return False
        return True
