"""CrewAI's flows as its adapters build them: a method a task, the gated one behind an answer.

What keeps a flow's progress (`@persist`, `CheckpointConfig`) and how it is asked for, each adapter
says for itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from adapters.resume import ResumeAdapter

#: The method that asks, where one does. The task behind the gate is the one that listens to it.
GATE = "gate"

#: How a gated task comes by its answer, as an adapter's option `answer` names it.
GATES = {
    "feedback": "a @human_feedback method before it asks; from_pending().resume() answers",
    "inputs": "it raises while the state holds no answer, which the next kickoff has among inputs",
    "none": "it is a task like the others, without an answer",
}


class Unanswered(Exception):
    """Raised by a gated task that finds no answer in the flow's state."""


def _method(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the name under which CrewAI is to know it.

    Its first parameter has to be called self: CrewAI counts those of other names.
    """
    body.__name__ = name
    body.__qualname__ = f"Workflow.{name}"
    return body


def _task(task: int) -> Callable[..., Any]:
    """The method of a task; the adapter of the run is an attribute of the flow's class."""

    def body(self: Any) -> int:
        self.adapter.perform(self.state, task)
        return task

    return _method(f"t{task}", body)


def _listening(task: int) -> Callable[..., Any]:
    """The method of the gated task that listens to the answer, and is handed it."""

    def body(self: Any, feedback: Any) -> int:
        self.adapter.perform(self.state, task, feedback.feedback)
        return task

    return _method(f"t{task}", body)


def _raising(task: int) -> Callable[..., Any]:
    """The method of the gated task that has its answer from the state, or ends the run."""

    def body(self: Any) -> int:
        self.adapter.perform_answered(self.state, task)
        return task

    return _method(f"t{task}", body)


def _asking(task: int) -> Callable[..., Any]:
    """The method that asks. CrewAI runs its body first and asks then."""

    def body(self: Any) -> str:
        self.adapter.arrive(self.state, task)
        return f"may task {task} go on?"

    return _method(GATE, body)


class FlowAdapter(ResumeAdapter):
    """Base of CrewAI's adapters: it builds the flow's class, and is the body of its methods.

    Notes: `flow`, the id of the flow.
    """

    distributions: ClassVar[tuple[str, ...]] = ("crewai",)
    extra: ClassVar[str | None] = "crewai"

    # The framework, as `prepare` found it.
    _persistence: ClassVar[Any]
    _asked: ClassVar[type[BaseException]]
    _state: ClassVar[Any]
    _workflow: ClassVar[Any]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import CrewAI and build the flow's class.

        A process that ran a flow has threads and must not be forked: no flow is made here.
        """
        from crewai.flow import human_feedback
        from crewai.flow.async_feedback import HumanFeedbackPending
        from crewai.flow.flow import Flow, FlowState, listen, start
        from crewai.flow.persistence import SQLiteFlowPersistence
        from pydantic import create_model
        from rich.console import Console
        from rich.panel import Panel

        class Ask:
            """A provider that leaves the answer to a later resume."""

            def request_feedback(self, context: Any, flow: Any) -> str:
                raise HumanFeedbackPending(context=context)

        tasks, gated = workflow["tasks"], workflow["gate"]
        form = options.get("answer", "feedback")
        asks: Any = human_feedback(message="approve?", llm=None, provider=Ask())
        methods: dict[str, Any] = {"t1": start()(_task(1))}
        for task in range(2, tasks + 1):
            after = f"t{task - 1}"
            body = _task(task)
            if task == gated and form == "feedback":
                methods[GATE] = listen(after)(asks(_asking(task)))
                after, body = GATE, _listening(task)
            elif task == gated and form == "inputs":
                body = _raising(task)
            methods[f"t{task}"] = listen(after)(body)
        # A memory of the flow's own would start a vector store, and with it a thread.
        plain = {"_skip_auto_memory": True, "__module__": __name__}
        flow: Any = Flow
        fields: dict[str, Any] = {"done": (list[int], []), "consumed": (str | None, None)}
        if form == "inputs":
            fields["answer"] = (str | None, None)
        cls._state = create_model("State", __base__=FlowState, **fields)
        cls._workflow = type(flow)("Workflow", (flow[cls._state],), {**plain, **methods})
        cls._persistence, cls._asked = SQLiteFlowPersistence, HumanFeedbackPending
        cls.attach(options)
        # Once here, and not in each process: the flow's definition (which 1.14.3 has not), and
        # the tables that rich loads to print what CrewAI prints when a flow parks.
        if hasattr(cls._workflow, "flow_definition"):
            cls._workflow.flow_definition()
        Console(file=io.StringIO()).print(Panel("⏳ :zzz:"))

    @classmethod
    def attach(cls, options: Mapping[str, str]) -> None:
        """Attach to the flow's class what keeps its progress."""

    def __init__(self, run: Any) -> None:
        """Be the adapter that the methods of this process's flows speak to."""
        super().__init__(run)
        self._workflow.adapter = self

    # -- the workflow ------------------------------------------------------------------

    def arrive(self, state: Any, task: int) -> None:
        """Be held at the entry of a method, under whatever id the flow now has."""
        self.run.notes["flow"] = state.id
        self.enter(task)

    def perform(self, state: Any, task: int, answer: str | None = None) -> None:
        """Be the body of a task's method."""
        self.arrive(state, task)
        self._finish(state, task, answer)

    def perform_answered(self, state: Any, task: int) -> None:
        """Be the body of a gated task's method that has its answer from the state."""
        self.arrive(state, task)
        if state.answer is None:
            raise Unanswered(f"may task {task} go on?")
        self._finish(state, task, state.answer)

    def _finish(self, state: Any, task: int, answer: str | None) -> None:
        self.effect(task, answer)
        state.done.append(self.output(task))
        if answer is not None:
            state.consumed = answer

    def go(self, call: Callable[[], Any]) -> Any:
        """Make a call that runs the flow, to where it parks or ends."""

        def until_asked() -> Any:
            try:
                return call()
            except Unanswered as asked:
                return asked

        parked = isinstance(self.system(until_asked), (self._asked, Unanswered))
        return self.stopped(parked=parked)

    def accepts(self, state: Mapping[str, Any]) -> bool:
        """Whether the schema accepts what is stored."""
        try:
            self._state.model_validate(state)
        except ValueError:
            return False
        return True


def without_gate(options: Mapping[str, str]) -> dict[str, str]:
    """The actions that a flow cannot take whose option `answer` says that nothing is asked."""
    if options["answer"] != "none":
        return {}
    answers = ["Consume", "ForkResume", "RaceConsume", "Invoke"]
    if options["stray"] == "resume":
        answers.append("ExtraResume")
    return dict.fromkeys(answers, "without a gate no call takes an answer")


def without_id(state: Mapping[str, Any]) -> dict[str, Any]:
    """A stored state, without the flow's id."""
    return {field: value for field, value in state.items() if field != "id"}
