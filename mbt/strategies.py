"""Hypothesis strategies: traces of a model, for tests of one's own.

A failing example shrinks to a shorter path of the same graph. With `mbt.testing.System` a test
replays drawn traces on an adapter:

    from hypothesis import given
    from mbt.strategies import traces
    from mbt.testing import System

    @pytest.fixture(scope="module")
    def system():
        with System("specs/ResumeContract.tla", "R0", "my_adapter.py:Mine") as system:
            yield system

    @given(trace=traces("specs/ResumeContract.tla", "R0"))
    def test_conforms(system, trace):
        assert system.divergence(trace) is None
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tracegen.cache import open_cache
from tracegen.errors import MbtError
from tracegen.graph import Edge, StateGraph
from tracegen.spec import Spec, load_spec
from tracegen.tlc import state_graph
from tracegen.tools import find_tools
from tracegen.trace import Trace, trace_of_path

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "mbt.strategies draws its traces with Hypothesis, which is not installed; "
        'install it with: pip install "tla-mbt[hypothesis]"'
    ) from error

__all__ = ["paths", "traces"]

Label = tuple[str, int]
"""An action's name, and a place among the edges of that action that leave a state."""

_ENDS = 12
"""A path ends after a step with a chance of 1 in so many, where nothing else ends it."""


def traces(
    spec: Spec | Path | str, model: str | None = None, *, max_steps: int = 20
) -> st.SearchStrategy[Trace]:
    """Traces of a model, 1 to `max_steps` steps from an initial state on.

    The checker explores the model when the first trace is drawn, or its result is found in the
    cache; a state graph that is too large to hold is no source.

    Args:
        spec: a specification, or where its module is.
        model: which of its models; needed where there are several.
        max_steps: at least 1.

    Raises:
        MbtError: there is no such module or model; when drawing, the model is at fault, or nothing
            leaves its initial states.
        MachineryError: when drawing, the checker failed.
    """
    spec = spec if isinstance(spec, Spec) else load_spec(Path(spec))
    chosen = spec.model(model)

    def drawn() -> st.SearchStrategy[Trace]:
        _, graph = state_graph(spec.source, chosen.config, tools=find_tools(), cache=open_cache())

        def trace(path: list[int]) -> Trace:
            return trace_of_path(
                graph,
                path,
                name=f"{chosen.name}-drawn",
                module=spec.module,
                model=chosen.name,
                params=spec.params,
            )

        return paths(graph, max_steps=max_steps).map(trace)

    return st.deferred(drawn)


def paths(graph: StateGraph, *, max_steps: int = 20) -> st.SearchStrategy[list[int]]:
    """Paths of a state graph, as numbers of its edges: 1 to `max_steps`, from an initial state on.

    A path ends where nothing leaves its last state. Raises MbtError where that is every initial
    state, or `max_steps` is less than 1.
    """
    if max_steps < 1:
        raise MbtError(f"a drawn path has at least 1 step; max_steps is {max_steps}")
    starts = [state for state in graph.initial if graph.out(state)]
    if not starts:
        raise MbtError(f"nothing leaves the initial states of {graph!r}, so it has no path")
    # A step is drawn by its label, among those of the whole graph, and not by its place among the
    # edges of a state: when the shrinker leaves out a step, those after it mean what they did.
    step = st.sampled_from(_labels(graph))
    more = st.integers(0, _ENDS - 1)

    @st.composite
    def path(draw: st.DrawFn) -> list[int]:
        at = draw(st.sampled_from(starts))
        taken: list[int] = []
        while (leaving := _by_label(graph, at)) and len(taken) < max_steps:
            if taken and draw(more) == 0:
                break
            edge = leaving[draw(step.filter(leaving.__contains__))]
            taken.append(edge.id)
            at = edge.target
        return taken

    return path()


def _by_label(graph: StateGraph, state: int) -> dict[Label, Edge]:
    """The edges that leave a state."""
    seen: Counter[str] = Counter()
    edges: dict[Label, Edge] = {}
    for edge in graph.out(state):
        edges[edge.action, seen[edge.action]] = edge
        seen[edge.action] += 1
    return edges


def _labels(graph: StateGraph) -> list[Label]:
    """Every label of an edge in the graph, sorted."""
    most: Counter[str] = Counter()
    for state in range(len(graph)):
        for action, place in _by_label(graph, state):
            most[action] = max(most[action], place + 1)
    return [(action, place) for action in graph.actions for place in range(most[action])]
