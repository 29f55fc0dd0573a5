"""Traces of a model from what other tools left on disk: ITF files, and what TLC wrote.

A file is read as a `Behaviour` (`tracegen.from_itf`, `tracegen.from_tlc`). Steps without a name get
one by `tracegen.naming`; parameters are read where the TOML says, and have to be what the file
gives, where it gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracegen.along import graph_along
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.naming import Behaviour, name_steps, require_variables
from tracegen.spec import Model, Spec
from tracegen.tlc import RunOptions, state_graph
from tracegen.trace import Step, Trace, ValuePathError


def traces_of(
    spec: Spec, model: Model, behaviours: Sequence[Behaviour], checker: RunOptions
) -> tuple[list[Trace], list[str]]:
    """The traces of a model that behaviours are, each by a name of its own, and all notes on them.

    The checker explores the model where a step has no name. Raises MbtError, which names the file
    and the state, where a behaviour is none of the module, or of the model where it was explored;
    MachineryError where the checker failed.
    """
    for behaviour in behaviours:
        require_variables(behaviour, spec.source.variables)
    graph: StateGraph | None = None
    traces: dict[str, Trace] = {}
    notes: list[str] = []
    for behaviour in behaviours:
        if None in behaviour.actions:
            if graph is None:
                graph = _graph(spec, model, behaviours, checker)
            behaviour = name_steps(behaviour, graph, f"{spec.module} {model.name}")
        name, number = behaviour.name, 1
        while name in traces:
            number += 1
            name = f"{behaviour.name}-{number}"
        traces[name] = _trace(spec, model, replace(behaviour, name=name))
        notes += behaviour.notes
        if behaviour.loop is not None:
            last = len(behaviour.states) - 1
            notes.append(
                f"{behaviour.source}: a lasso: from {behaviour.number(last)} it goes back to "
                f"{behaviour.number(behaviour.loop)}; the trace ends before that step"
            )
    return list(traces.values()), notes


def _graph(
    spec: Spec, model: Model, behaviours: Sequence[Behaviour], checker: RunOptions
) -> StateGraph:
    """All of the model, so that an error can name the nearest state; of a slow one the part."""
    if not model.slow:
        return state_graph(spec.source, model.config, **checker)[1]
    states = [state for behaviour in behaviours for state in behaviour.states]
    return graph_along(spec.source, model.config, states, **checker)


def _trace(spec: Spec, model: Model, behaviour: Behaviour) -> Trace:
    steps = []
    for place, (action, given) in enumerate(
        zip(behaviour.actions, behaviour.params, strict=True), 1
    ):
        assert action is not None
        state, where = behaviour.states[place], f"{behaviour.source}: {behaviour.number(place)}"
        try:
            read = {name: at.read(state) for name, at in spec.params.get(action, {}).items()}
        except ValuePathError as error:
            raise MbtError(
                f"{where}: a parameter of {action} is not where "
                f"{spec.path.with_suffix('.toml').name} says: {error}"
            ) from None
        for name in sorted(given.keys() & read.keys()):
            if given[name] != read[name]:
                raise MbtError(
                    f"{where}: the file has {name} = {given[name]} for {action}, but the state "
                    f"after it shows {read[name]} ({spec.params[action][name].text})"
                )
        steps.append(Step(action, {**given, **read}, state))
    initial = behaviour.states[0]
    return Trace(behaviour.name, spec.module, model.name, initial, tuple(steps))
