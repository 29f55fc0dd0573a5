"""The state graphs that runs are compared with: a named model's bounds, some switches on."""

from __future__ import annotations

from collections.abc import Callable

from replay.compare import Model
from tracegen.dot import read_dump
from tracegen.errors import MachineryError
from tracegen.graph import StateGraph
from tracegen.spec import Spec
from tracegen.tlc import Outcome, dump
from tracegen.tools import Tools
from tracegen.values import FALSE, TRUE


class Models:
    """Makes each state graph once."""

    def __init__(self, spec: Spec, tools: Tools, on_run: Callable[[str], None] = print) -> None:
        self.spec = spec
        self.tools = tools
        self._on_run = on_run
        self._models: dict[tuple[str, frozenset[str]], Model] = {}

    def __call__(self, name: str, faults: frozenset[str]) -> Model:
        """Return the graph at the bounds of a model, under exactly these switches.

        Raises:
            MachineryError: the checker did not explore the whole space.
        """
        key = (name, faults)
        if key not in self._models:
            self._on_run(f"{name} under {', '.join(sorted(faults)) or 'no fault'}")
            self._models[key] = Model(self._graph(name, faults), self.spec)
        return self._models[key]

    def _graph(self, name: str, faults: frozenset[str]) -> StateGraph:
        config = self.spec.models[name].config.with_constants(
            {s: str(TRUE if s in faults else FALSE) for s in self.spec.explain.switches}
        )
        # A dump stops at the first violation, so nothing is checked here.
        result, path = dump(self.spec.path, config.without_checks(), tools=self.tools)
        if result.outcome is not Outcome.HOLDS:
            raise MachineryError(
                f"no state graph of {self.spec.module} at the bounds of {name} "
                f"({result.outcome.value}): {result.explanation}"
            )
        return read_dump(path)
