"""The teams of AutoGen that the adapter drives: who speaks when is the team's, or the model's.

Every team says the same: for each task a `StructuredMessage` with what the task put out, held by
AutoGen against a pydantic model, and, before the gated task, a handoff to the user.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

#: Who hands off where each task has an agent of its own, and the one agent where all are one's.
GATE, AGENT, USER = "gate", "agent", "user"
#: Kinds of teams: an assistant with a tool a task; an agent a task, in turn; the same as a graph.
KINDS = ("assistant", "round-robin", "graph")
INPUT = "go"


class Teams:
    """Makes teams of one kind; imports AutoGen.

    Attributes:
        completion: the schema of what a task puts out: task (0 where nothing is left to do),
            output, answer.
        message: the type of the message that carries one.
    """

    def __init__(
        self,
        kind: str,
        tasks: int,
        gate: int,
        perform: Callable[[int, str | None], Awaitable[Mapping[str, Any]]],
        ask: Callable[[], Awaitable[None]],
    ) -> None:
        """Say what the bodies are.

        Args:
            perform: the body of a task, given the answer where it is the gated one; returns what
                is to be a `completion`.
            ask: what comes before the handoff.
        """
        from autogen_agentchat.messages import StructuredMessage
        from pydantic import create_model

        self.kind, self.tasks, self.gate = kind, tasks, gate
        self.perform, self.ask = perform, ask
        schema: Any = create_model(
            "Completion", task=(int, ...), output=(int, ...), answer=(str | None, None)
        )
        structured: Any = StructuredMessage
        self.completion, self.message = schema, structured[schema]
        self.agents = self._assistant() if kind == "assistant" else self._agents()

    def new(self, *, each_turn: bool) -> Any:
        """A team that nobody spoke in yet; where told to, its runs stop after each turn."""
        from autogen_agentchat.conditions import (
            FunctionalTermination,
            HandoffTermination,
            SourceMatchTermination,
        )
        from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat

        agents = [make() for make in self.agents]
        stops = HandoffTermination(USER) | FunctionalTermination(self.complete)
        if each_turn:
            stops |= SourceMatchTermination([agent.name for agent in agents])
        named: dict[str, Any] = {
            "termination_condition": stops,
            "custom_message_types": [self.message],
        }
        if self.kind != "graph":
            return RoundRobinGroupChat(agents, **named)
        builder = DiGraphBuilder()
        for agent in agents:
            builder.add_node(agent)
        for source, target in itertools.pairwise(agents):
            builder.add_edge(source, target)
        return GraphFlow(agents, builder.build(), **named)

    def answer(self, v: str) -> Any:
        """The user's message to whoever handed off."""
        from autogen_agentchat.messages import HandoffMessage

        target = AGENT if self.kind == "assistant" else f"t{self.gate}"
        return HandoffMessage(source=USER, target=target, content=v)

    def complete(self, messages: Sequence[Any]) -> bool:
        """Whether the last task has spoken, or nothing was left to do."""
        said = [m.content for m in messages if isinstance(m, self.message)]
        return any(content.task in {0, self.tasks} for content in said)

    # -- an agent a task ---------------------------------------------------------------

    def _agents(self) -> list[Callable[[], Any]]:
        from autogen_agentchat.agents import BaseChatAgent
        from autogen_agentchat.base import Response
        from autogen_agentchat.messages import HandoffMessage

        teams = self

        class Agent(BaseChatAgent):
            """Speaks once a turn: a task's completion, or the handoff."""

            def __init__(self, task: int, *, asks: bool = False) -> None:
                super().__init__(GATE if asks else f"t{task}", "an agent of one task")
                self.task, self.asks = task, asks

            @property
            def produced_message_types(self) -> Sequence[type[Any]]:
                return (HandoffMessage if self.asks else teams.message,)

            async def on_messages(self, messages: Sequence[Any], _token: Any) -> Response:
                said: Any
                if self.asks:
                    await teams.ask()
                    said = HandoffMessage(source=self.name, target=USER, content="may it go on?")
                else:
                    heard = [m.content for m in messages if isinstance(m, HandoffMessage)]
                    answer = heard[-1] if self.task == teams.gate and heard else None
                    output = await teams.perform(self.task, answer)
                    said = teams.message(source=self.name, content=teams.completion(**output))
                return Response(chat_message=said)

            async def on_reset(self, _token: Any) -> None:
                """Nothing is kept from turn to turn."""

        makes: list[Callable[[], Any]] = []
        for task in range(1, self.tasks + 1):
            if task == self.gate:
                makes.append(functools.partial(Agent, task, asks=True))
            makes.append(functools.partial(Agent, task))
        return makes

    # -- an assistant with a tool a task -----------------------------------------------

    def _assistant(self) -> list[Callable[[], Any]]:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_agentchat.base import Handoff
        from autogen_core import FunctionCall
        from autogen_core.models import (
            CreateResult,
            FunctionExecutionResultMessage,
            ModelFamily,
            ModelInfo,
            RequestUsage,
            UserMessage,
        )
        from autogen_core.tools import FunctionTool
        from autogen_ext.models.replay import ReplayChatCompletionClient

        teams, transfer = self, f"transfer_to_{USER}"

        class Plan(ReplayChatCompletionClient):
            """Replays what it plans: the first tool without a result, and each result as it is."""

            async def create(self, messages: Any, **named: Any) -> CreateResult:
                results = [
                    result
                    for message in messages
                    if isinstance(message, FunctionExecutionResultMessage)
                    for result in message.content
                ]
                if named.get("tool_choice") == "none":  # it is asked what the tool's result means
                    self.chat_completions.append(results[-1].content)
                else:
                    heard = [m.content for m in messages if isinstance(m, UserMessage)]
                    called = {result.name for result in results}
                    self.chat_completions.append(await self.planned(called, str(heard[-1])))
                return await super().create(messages, **named)

            async def planned(self, called: set[str], heard: str) -> str | CreateResult:
                left = [t for t in range(1, teams.tasks + 1) if f"t{t}" not in called]
                if not left:
                    return json.dumps({"task": 0, "output": 0})
                name, arguments = f"t{left[0]}", {}
                if left[0] == teams.gate and transfer not in called:
                    await teams.ask()
                    name = transfer
                elif left[0] == teams.gate:
                    arguments = {"answer": heard}
                call = FunctionCall(id=name, name=name, arguments=json.dumps(arguments))
                return CreateResult(
                    finish_reason="function_calls",
                    content=[call],
                    usage=RequestUsage(prompt_tokens=0, completion_tokens=0),
                    cached=False,
                )

        def tool(task: int) -> FunctionTool:
            async def body() -> str:
                return json.dumps(await teams.perform(task, None))

            async def gated(answer: str) -> str:
                return json.dumps(await teams.perform(task, answer))

            made = gated if task == teams.gate else body
            made.__annotations__ = {"answer": str} if task == teams.gate else {}
            return FunctionTool(made, description=f"task {task}", name=f"t{task}")

        def make() -> AssistantAgent:
            info = ModelInfo(
                vision=False,
                function_calling=True,
                json_output=True,
                structured_output=True,
                family=ModelFamily.UNKNOWN,
            )
            return AssistantAgent(
                AGENT,
                model_client=Plan([], model_info=info),
                tools=[tool(task) for task in range(1, teams.tasks + 1)],
                handoffs=[Handoff(target=USER)],
                output_content_type=teams.completion,
            )

        return [make]
