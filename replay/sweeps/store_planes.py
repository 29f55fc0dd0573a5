"""Which stores are swept: the adapters, each in the forms that its store is made bad in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.base import Adapter
from adapters.registry import load_adapter, locate


@dataclass(frozen=True)
class Plane:
    """An adapter in one form.

    Attributes:
        chosen: options that are not left at their default.
    """

    adapter: str
    chosen: Mapping[str, str]

    def __str__(self) -> str:
        return " ".join((self.adapter, *(f"{name}={said}" for name, said in self.chosen.items())))

    @property
    def kind(self) -> type[Adapter]:
        """Its class."""
        return load_adapter(locate(self.adapter))

    @property
    def options(self) -> dict[str, str]:
        """Every option, with the choice made."""
        return {name: option.default for name, option in self.kind.options.items()} | {
            **self.chosen
        }


POISONED = (
    Plane("langgraph", {}),
    Plane("langgraph", {"saver": "postgres"}),
    Plane("langgraph-functional", {}),
    Plane("langgraph-remit", {}),
    Plane("crewai", {}),
    Plane("crewai-persist", {}),
    Plane("crewai-checkpoint", {}),
    Plane("crewai-checkpoint", {"answer": "none"}),
    Plane("llamaindex", {}),
    Plane("llamaindex", {"invalid": "mistyped"}),
    Plane("pydantic-graph", {}),
    Plane("pydantic-graph", {"recover": "history"}),
    Plane("pydantic-graph", {"invalid": "unserialisable"}),
    Plane("autogen", {"save": "each-turn"}),
    Plane("autogen", {"save": "each-turn", "team": "graph"}),
    Plane("dbos", {}),
    Plane("dbos", {"poison": "other-type"}),
    Plane("openai-agents", {"save": "each-turn"}),
    Plane("openai-agents", {"save": "each-turn", "poison": "other-type"}),
)
"""In which a task puts out what breaks the schema, each task once."""

HELD_AFTER_THE_WRITE = (
    Plane("langgraph-functional", {}),
    Plane("crewai", {}),
    Plane("crewai-persist", {}),
    Plane("crewai-checkpoint", {}),
    Plane("crewai-checkpoint", {"answer": "none"}),
    Plane("llamaindex", {"invalid": "mistyped"}),
    Plane("dbos", {"poison": "other-type"}),
    Plane("openai-agents", {"save": "each-turn", "poison": "other-type"}),
)
"""Which of them let a run go on after a bad output, so that it can be killed there: after every
task but the last. On the others the write ends the run, or the framework cannot be held before
the run has ended."""

TAMPERED = (
    Plane("llamaindex", {}),
    Plane("pydantic-graph", {"crash_at": "boundary"}),
    Plane("autogen", {"save": "each-turn"}),
    Plane("autogen", {"save": "each-turn", "team": "round-robin"}),
    Plane("autogen", {"save": "each-turn", "team": "graph"}),
    Plane("openai-agents", {"save": "each-turn"}),
    Plane("crewai-checkpoint", {"answer": "none"}),
)
"""Whose store is the caller's file, in a form in which an untouched one repeats nothing."""

NOT_THE_CALLERS = {
    "langgraph, langgraph-functional, langgraph-remit": "the checkpointer's database",
    "crewai, crewai-persist": "the database of SQLiteFlowPersistence",
    "dbos": "the system database",
}
