"""A stand-in for the model of the OpenAI Agents SDK: it calls tools by a plan, on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What the ids of the model's calls begin with; a task's number follows.
CALL = "call-"


def planned(next_task: Callable[[set[int]], int | None]) -> Any:
    """Make a `Model` that calls the tools of tasks.

    Args:
        next_task: given the tasks whose tools have answered, says whose tool is called next; None
            ends the run.
    """
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        Response,
        ResponseCompletedEvent,
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    def says(task: int | None) -> ModelResponse:
        output: Any
        if task is None:
            text = ResponseOutputText(type="output_text", text="end", annotations=[])
            output = ResponseOutputMessage(
                id="message", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            output = ResponseFunctionToolCall(
                type="function_call", call_id=f"{CALL}{task}", name=f"t{task}", arguments="{}"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def completed(said: ModelResponse) -> ResponseCompletedEvent:
        response = Response(
            id="response",
            created_at=0,
            model="plan",
            object="response",
            output=said.output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=False,
        )
        return ResponseCompletedEvent(
            type="response.completed", sequence_number=0, response=response
        )

    class Plan(Model):
        async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
            shown = args[1] if len(args) > 1 else named["input"]
            return says(next_task(answered([] if isinstance(shown, str) else shown)))

        async def stream_response(self, *args: Any, **named: Any) -> Any:
            yield completed(await self.get_response(*args, **named))

    for task in (1, None):  # pydantic makes its validators when a type is first used: once, here
        completed(says(task))
    return Plan()


def answered(items: list[Any]) -> set[int]:
    """The tasks whose tools have answered, by what was said."""
    return {task_of(item) for item in items if item.get("type") == "function_call_output"}


def task_of(item: dict[str, Any]) -> int:
    """The task of a call, or of its output."""
    return int(item["call_id"].removeprefix(CALL))
