"""Which adapters there are, and how to get at one by name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.metadata import (
    PackageNotFoundError,
    entry_points,
    packages_distributions,
    version,
)
from pathlib import Path
from types import ModuleType

from adapters.base import Adapter

#: Name on the command line -> module and class. Others come in as entry points of the group
#: `mbt.adapters`, or as FILE.py:CLASS or MODULE:CLASS.
BUILT_IN = {
    "reference": "adapters.reference:Reference",
    "langgraph": "adapters.langgraph:LangGraph",
    "langgraph-functional": "adapters.langgraph_functional:LangGraphFunctional",
    "langgraph-remit": "adapters.langgraph_remit:LangGraphRemit",
    "langgraph-parallel-gates": "adapters.langgraph_parallel:LangGraphParallelGates",
    "langgraph-fan-out": "adapters.langgraph_parallel:LangGraphFanOut",
    "crewai": "adapters.crewai:CrewAI",
    "crewai-persist": "adapters.crewai_persist:CrewAIPersist",
    "crewai-checkpoint": "adapters.crewai_checkpoint:CrewAICheckpoint",
    "dbos": "adapters.dbos:DBOS",
    "llamaindex": "adapters.llamaindex:LlamaIndex",
    "pydantic-graph": "adapters.pydantic_graph:PydanticGraph",
    "openai-agents": "adapters.openai_agents:OpenAIAgents",
    "autogen": "adapters.autogen:AutoGen",
}


class UnknownAdapter(Exception):
    """No adapter of that name; the message lists those there are."""


def known_adapters() -> dict[str, str]:
    """Return name -> MODULE:CLASS of the adapters that can be named."""
    return BUILT_IN | {entry.name: entry.value for entry in entry_points(group="mbt.adapters")}


def locate(name: str) -> str:
    """Return FILE.py:CLASS or MODULE:CLASS of an adapter.

    Raises:
        UnknownAdapter: nothing of that name is there.
    """
    known = known_adapters()
    if name in known:
        return known[name]
    where, colon, class_name = name.rpartition(":")
    if colon and where.endswith(".py"):
        path = Path(where)
        if path.is_file():
            return f"{path.resolve()}:{class_name}"
        raise UnknownAdapter(f"{where}: no such file (adapter {name!r})")
    if colon and class_name.isidentifier():
        return name
    raise UnknownAdapter(
        f"unknown adapter {name!r}; known: {', '.join(sorted(known))}; "
        "or name your own as FILE.py:CLASS"
    )


def load_adapter(reference: str) -> type[Adapter]:
    """Import the class that `locate` found.

    Raises:
        UnknownAdapter: it is not there, or is no adapter.
    """
    where, _, class_name = reference.rpartition(":")
    try:
        if where.endswith(".py"):
            # Under a name of its own: a file called queue.py must not pass for the library's.
            name = f"mbt_adapter_{Path(where).stem}"
            spec = importlib.util.spec_from_file_location(name, where)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(where)
        adapter = getattr(module, class_name)
    except Exception as error:  # whatever a user's file does when it is imported
        kind = type(error).__name__
        raise UnknownAdapter(f"cannot load adapter {reference}: {kind}: {error}") from error
    if not (isinstance(adapter, type) and issubclass(adapter, Adapter)):
        raise UnknownAdapter(f"{reference} is not a subclass of mbt.Adapter")
    return adapter


def versions_of(adapter: type[Adapter]) -> dict[str, str]:
    """Distribution -> version installed in this environment, of what an adapter names."""
    found = {}
    for name in adapter.distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def owners_of(error: BaseException) -> list[str]:
    """The installed distributions that lack what an import or a look-up did not find.

    Empty where it was nothing of theirs: a module that nobody has installed, or one of Python's.
    """
    module = None
    if isinstance(error, ImportError):
        module = error.name
    elif isinstance(error, AttributeError):
        of = error.obj
        module = of.__name__ if isinstance(of, ModuleType) else getattr(of, "__module__", None)
    if not isinstance(module, str):
        return []
    return sorted(set(packages_distributions().get(module.partition(".")[0], ())))
