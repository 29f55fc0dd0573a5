"""The state graphs that runs are compared with: a named model's bounds, some switches on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from replay.compare import Model
from tracegen.errors import MachineryError, MbtError
from tracegen.spec import Spec
from tracegen.tlc import Outcome, RunOptions, state_graph


class Models:
    """Makes each state graph once; any number of threads may ask."""

    def __init__(
        self,
        spec: Spec,
        checker: RunOptions,
        on_run: Callable[[str], None] = lambda what: None,
        bounds: Spec | None = None,
    ) -> None:
        """Prepare.

        Args:
            bounds: the specification whose models are named, where it is another one: `spec` is
                then a companion of it (`tracegen.spec.companions_of`).
        """
        self.spec = spec
        self._bounds = bounds or spec
        self._checker: RunOptions = {**checker, "brief": True}
        self._on_run = on_run
        self._models: dict[tuple[str, frozenset[str]], Model] = {}
        self._locks: dict[tuple[str, frozenset[str]], threading.Lock] = {}
        self._lock = threading.Lock()

    def __call__(self, name: str, faults: frozenset[str]) -> Model:
        """Return the graph at the bounds of a model, under exactly these switches.

        Raises:
            MbtError: the space is too large to be held.
            MachineryError: the checker did not explore the whole space.
        """
        key = (name, faults)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._models:
                self._models[key] = self._make(name, faults)
        return self._models[key]

    def _make(self, name: str, faults: frozenset[str]) -> Model:
        model = self._bounds.models[name]
        if model.slow:
            raise MbtError(
                f"{self._bounds.path.name}: the state graph of {name} is too large to be held, and "
                "without it nothing can be compared; walk a model with smaller bounds"
            )
        self._on_run(f"{name} under {', '.join(sorted(faults)) or 'no fault'}")
        config = self.spec.config_at(model.config, faults)
        result, graph = state_graph(self.spec.path, config, **self._checker)
        if result.outcome is not Outcome.HOLDS:
            raise MachineryError(
                f"{self.spec.module} at the bounds of {name}: {result.outcome.value}, so what "
                "is compared with it could be missed by the bound alone"
            )
        return Model(graph, self.spec)
