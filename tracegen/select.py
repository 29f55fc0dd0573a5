"""Which traces of a model to walk, by the name of a cover: what `--cover` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracegen import cover
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.output import Counterexample
from tracegen.spec import Spec
from tracegen.tlc import RunOptions, check, state_graph
from tracegen.trace import Step, Trace, ValuePathError, trace_of_path


@dataclass(frozen=True)
class Bounds:
    """How far the covers go that have no end of their own.

    Attributes:
        depth: steps of a path (paths, walks).
        number: how many walks.
        seed: of the walks; the same seed gives the same walks.
    """

    depth: int = 8
    number: int = 100
    seed: int = 0


_COVERS: Mapping[str, Callable[[StateGraph, Bounds], list[list[int]]]] = {
    "states": lambda graph, bounds: cover.state_cover(graph),
    "transitions": lambda graph, bounds: cover.transition_tour(graph),
    "pairs": lambda graph, bounds: cover.transition_pairs(graph),
    "paths": lambda graph, bounds: cover.bounded_paths(graph, bounds.depth),
    "walks": lambda graph, bounds: cover.random_walks(
        graph, bounds.number, bounds.depth, bounds.seed
    ),
}

#: Every name of a cover; "counterexample" is what the checker prints for a violated model.
COVERS = (*_COVERS, "counterexample")


def select_traces(
    spec: Spec, model: str, name: str, checker: RunOptions, bounds: Bounds | None = None
) -> list[Trace]:
    """Return the traces of a model that a cover asks for, named `<model>-<number>`.

    Raises:
        MbtError: there is no such cover or model, or the model has no counterexample.
        MachineryError: the checker failed.
    """
    if name not in COVERS:
        raise MbtError(f"unknown cover {name!r}; known: {', '.join(COVERS)}")
    config = spec.model(model).config
    if name == "counterexample":
        result = check(spec.path, config, **checker).decided()
        if not result.counterexamples:
            raise MbtError(
                f"{spec.path.name}: model {model} has no counterexample ({result.outcome.value}); "
                "choose another cover"
            )
        return [counterexample_trace(spec, model, result.counterexamples[0])]
    _, graph = state_graph(spec.path, config, **checker)
    return traces_of_paths(spec, model, graph, _COVERS[name](graph, bounds or Bounds()), model)


def traces_of_paths(
    spec: Spec, model: str, graph: StateGraph, paths: Sequence[Sequence[int]], label: str
) -> list[Trace]:
    """Turn paths of a state graph into traces, numbered from 1 after a label."""
    width = max(2, len(str(len(paths))))
    return [
        trace_of_path(
            graph,
            path,
            name=f"{label}-{number:0{width}}",
            module=spec.module,
            model=model,
            params=spec.params,
        )
        for number, path in enumerate(paths, 1)
    ]


def counterexample_trace(spec: Spec, model: str, found: Counterexample) -> Trace:
    """Turn what the checker printed into a trace; a lasso's way back is not walked."""
    first, *rest = found.states
    steps = []
    for state in rest:
        if state.action is None:
            raise MbtError(
                f"{spec.path.name}: the counterexample of {model} names no actions; "
                "give each disjunct of Next a name"
            )
        paths = spec.params.get(state.action, {})
        try:
            params = {name: path.read(state.state) for name, path in paths.items()}
        except ValuePathError as error:
            raise MbtError(f"{spec.path.with_suffix('.toml')}: {error}") from error
        steps.append(Step(state.action, params, state.state))
    return Trace(f"{model}-counterexample", spec.module, model, first.state, tuple(steps))
