"""Traces of a model that Apalache found: counterexamples, and symbolic simulation.

Its traces name no actions. The steps get their names from TLC: it explores the model between the
states of the traces alone, which takes a moment for a space of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tracegen.along import graph_along
from tracegen.apalache import LENGTH, check, simulate
from tracegen.counterexample import counterexample_trace
from tracegen.errors import MachineryError, MbtError
from tracegen.naming import Behaviour, name_steps
from tracegen.output import Counterexample, TraceState
from tracegen.run import CheckResult, RunOptions
from tracegen.spec import Spec
from tracegen.tools import Tool
from tracegen.trace import Trace

if TYPE_CHECKING:
    from tracegen.select import Bounds

#: The covers that Apalache can give.
COVERS = ("counterexample", "simulation")


@dataclass(frozen=True)
class Symbolic:
    """Apalache as what a model is checked by, and how far it looks.

    Attributes:
        tool: which Apalache.
        length: steps of an execution that it checks.
        view: the definition in which several counterexamples are to differ; None for one alone.
        note: told what a person should know of how steps got their names.
    """

    tool: Tool
    length: int = LENGTH
    view: str | None = None
    note: Callable[[str], None] = lambda text: None

    def bounds(self, cover: str | None, bounds: Bounds) -> dict[str, int]:
        """What a cover goes by, by name."""
        if cover == "simulation":
            return {"depth": bounds.depth, "count": bounds.count}
        return {"length": self.length} | ({"count": bounds.count} if self.view else {})

    def words(self, cover: str | None, bounds: Bounds) -> list[str]:
        """The options that ask for a cover of it again."""
        used = self.bounds(cover, bounds).items()
        return ["--checker", "apalache"] + [w for k, v in used for w in (f"--{k}", str(v))]


def check_symbolically(
    spec: Spec, model: str, symbolic: Symbolic, checker: RunOptions, count: int = 1
) -> CheckResult:
    """Check a model with Apalache; `checker` names the steps of what it finds.

    With a view up to `count` counterexamples are found. Raises as `tracegen.apalache.check`, and
    MachineryError where TLC does not know a counterexample for a behaviour of the model.
    """
    result = check(
        spec.source,
        spec.model(model).config,
        apalache=symbolic.tool,
        length=symbolic.length,
        max_error=count if symbolic.view else 1,
        view=symbolic.view,
        **checker,
    )
    return replace(
        result,
        counterexamples=tuple(_named(spec, model, result.counterexamples, symbolic, checker)),
    )


def symbolic_traces(
    spec: Spec,
    model: str,
    cover: str,
    symbolic: Symbolic,
    checker: RunOptions,
    bounds: Bounds,
) -> list[Trace]:
    """The traces of a model that a cover asks of Apalache, and `checker` names the steps of.

    Raises:
        MbtError: the cover needs a state graph, or there is no counterexample up to the length.
        MachineryError: one of the checkers failed.
    """
    config = spec.model(model).config
    if cover not in COVERS:
        raise MbtError(
            f"the cover {cover} needs a state graph, which Apalache does not make; "
            f"choose --cover {' or '.join(COVERS)}, or --checker tlc"
        )
    if cover == "simulation":
        # What is sampled are executions, whether or not properties hold in them.
        bare = replace(config, invariants=(), properties=(), check_deadlock=False)
        simulated = simulate(
            spec.source,
            bare,
            apalache=symbolic.tool,
            number=bounds.count,
            length=bounds.depth,
            **checker,
        )
        simulated.result.decided()
        moving = [behaviour for behaviour in simulated.behaviours if len(behaviour.states) > 1]
        found = _named(spec, model, moving, symbolic, checker)
        if not found:
            raise MachineryError(f"Apalache wrote no execution of {model} that takes a step")
    else:
        result = check_symbolically(spec, model, symbolic, checker, bounds.count).decided()
        found = [*result.counterexamples]
        if not found:
            raise MbtError(
                f"{spec.path.name}: model {model} has no counterexample ({result.outcome.verdict}: "
                f"{result.reason}); choose a greater --length or another cover"
            )
    width = max(2, len(str(len(found))))
    labels = [f"{model}-{number:0{width}}" for number in range(1, len(found) + 1)]
    if cover == "counterexample" and len(found) == 1:
        labels = [f"{model}-counterexample"]
    return [
        counterexample_trace(spec, model, behaviour, label)
        for behaviour, label in zip(found, labels, strict=True)
    ]


def _named(
    spec: Spec,
    model: str,
    behaviours: Sequence[Counterexample],
    symbolic: Symbolic,
    checker: RunOptions,
) -> list[Counterexample]:
    """The behaviours with the actions of their steps; steps that change nothing are left out."""
    if not behaviours:
        return []
    config = spec.model(model).config
    states = [state.state for behaviour in behaviours for state in behaviour.states]
    try:
        graph = graph_along(spec.source, config, states, **checker)
        nameless = (_nameless(model, n, found) for n, found in enumerate(behaviours, 1))
        named = [name_steps(behaviour, graph, model) for behaviour in nameless]
    except MbtError as error:
        raise MachineryError(f"what Apalache found is nothing for TLC: {error}") from error
    for note in (note for behaviour in named for note in behaviour.notes):
        symbolic.note(note)
    return [_counterexample(behaviour) for behaviour in named]


def _nameless(model: str, number: int, found: Counterexample) -> Behaviour:
    states = tuple(state.state for state in found.states)
    steps = len(states) - 1
    source = f"Apalache's trace {number} of {model}"
    return Behaviour(f"{model}-{number}", source, states, (None,) * steps, ({},) * steps)


def _counterexample(behaviour: Behaviour) -> Counterexample:
    steps = enumerate(zip((None, *behaviour.actions), behaviour.states, strict=True), 1)
    return Counterexample(
        None, tuple(TraceState(n, action, (), "", state) for n, (action, state) in steps)
    )
