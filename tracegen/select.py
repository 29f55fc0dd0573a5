"""Which traces of a model to walk, by the name of a cover: what `--cover` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracegen.counterexample import counterexample_trace
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.sample import random_walks, weighted_walks
from tracegen.simulation import simulate
from tracegen.spec import Spec
from tracegen.symbolic import Symbolic, symbolic_traces
from tracegen.tlc import RunOptions, check, state_graph
from tracegen.trace import Trace, ValuePathError, trace_of_path


@dataclass(frozen=True)
class Bounds:
    """How far the covers go that have no end of their own.

    Attributes:
        depth: steps of a path, a walk or a simulated behaviour.
        count: how many walks or behaviours.
        seed: of the walks or behaviours; the same seed gives the same.
    """

    depth: int = 8
    count: int = 100
    seed: int = 0


#: Every name of a cover. "simulation" is what TLC draws of a model whose graph need not be held,
#: "counterexample" what the checker prints for a violated one; the others choose paths of a graph.
COVERS = (
    "states",
    "transitions",
    "pairs",
    "paths",
    "walks",
    "weighted",
    "simulation",
    "counterexample",
)

#: The covers that are a sample: what they leave out may be there all the same.
SAMPLED = frozenset({"walks", "weighted", "simulation"})
_BOUNDED = {"paths": ("depth",)} | dict.fromkeys(SAMPLED, ("depth", "count", "seed"))


def bounds_used(name: str | None, bounds: Bounds) -> dict[str, int]:
    """Those of the bounds that a cover goes by, by name."""
    return {bound: getattr(bounds, bound) for bound in _BOUNDED.get(name or "", ())}


def bounds_words(name: str | None, bounds: Bounds) -> list[str]:
    """The options that ask for a cover within the same bounds again."""
    used = bounds_used(name, bounds).items()
    return [word for bound, value in used for word in (f"--{bound}", str(value))]


def select_traces(
    spec: Spec,
    model: str,
    name: str,
    checker: RunOptions,
    bounds: Bounds | None = None,
    symbolic: Symbolic | None = None,
) -> list[Trace]:
    """Return the traces of a model that a cover asks for, named `<model>-<number>`.

    They come from TLC, or from Apalache where `symbolic` names it.

    Raises:
        MbtError: there is no such cover or model, or the model has no counterexample.
        MachineryError: the checker failed.
    """
    if name not in COVERS:
        raise MbtError(f"unknown cover {name!r}; known: {', '.join(COVERS)}")
    config = spec.model(model).config
    bounds = bounds or Bounds()
    if symbolic is not None:
        return symbolic_traces(spec, model, name, symbolic, checker, bounds)
    if name == "counterexample":
        result = check(spec.path, config, **checker).decided()
        if not result.counterexamples:
            raise MbtError(
                f"{spec.path.name}: model {model} has no counterexample ({result.outcome.value}); "
                "choose another cover"
            )
        return [counterexample_trace(spec, model, result.counterexamples[0])]
    if name == "simulation":
        simulated = simulate(
            spec.source,
            config,
            number=bounds.count,
            depth=bounds.depth,
            seed=bounds.seed,
            **checker,
        )
        moving = [found for found in simulated.behaviours if len(found.states) > 1]
        labels = _numbered(model, len(moving))
        return [
            counterexample_trace(spec, model, found, label)
            for found, label in zip(moving, labels, strict=True)
        ]
    _, graph = state_graph(spec.path, config, **checker)
    return traces_of_paths(spec, model, graph, _paths(name, graph, bounds), model)


def _paths(name: str, graph: StateGraph, bounds: Bounds) -> list[list[int]]:
    from tracegen import cover  # by way of scipy, which takes a second to load

    match name:
        case "states":
            return cover.state_cover(graph)
        case "transitions":
            return cover.transition_tour(graph)
        case "pairs":
            return cover.transition_pairs(graph)
        case "paths":
            return cover.bounded_paths(graph, bounds.depth)
        case "walks":
            return random_walks(graph, bounds.count, bounds.depth, bounds.seed)
        case _:
            return weighted_walks(graph, bounds.count, bounds.depth, bounds.seed)


def traces_of_paths(
    spec: Spec, model: str, graph: StateGraph, paths: Sequence[Sequence[int]], label: str
) -> list[Trace]:
    """Turn paths of a state graph into traces, numbered from 1 after a label."""
    names = _numbered(label, len(paths))
    try:
        return [
            trace_of_path(
                graph, path, name=name, module=spec.module, model=model, params=spec.params
            )
            for path, name in zip(paths, names, strict=True)
        ]
    except ValuePathError as error:
        toml = spec.path.with_suffix(".toml")
        raise MbtError(f"{toml}: a parameter's path leads nowhere: {error}") from None


def _numbered(label: str, count: int) -> list[str]:
    width = max(2, len(str(count)))
    return [f"{label}-{number:0{width}}" for number in range(1, count + 1)]
