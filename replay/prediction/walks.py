"""Walks: traces that are spelt out, action by action, and how a run goes on where a trace ends.

`ExecTask EmitInterrupt Consume(v1) ForkResume(v2)`: what stands in brackets are the tester's
parameters of an action, in the order of the specification, numbers or names of strings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from replay.compare import Model
from replay.record import MicroStep, RunRecord
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.trace import Trace, trace_of_path
from tracegen.values import ModelValue, from_python

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_WORD = re.compile(r"([A-Za-z0-9_]+)(?:\(([A-Za-z0-9_,-]*)\))?")


def walk(spec: Spec, model: Model, label: str, name: str, text: str) -> Trace:
    """The trace of a state graph that a text spells out.

    Args:
        label: the named model at whose bounds the graph is.
        name: of the trace.

    Raises:
        MbtError: a word is no action, is not possible where it stands, or leaves it open which
            step is meant.
    """
    if len(model.graph.initial) != 1:
        raise MbtError(f"{spec.module} has several initial states, so a walk does not say its own")
    edges: list[int] = []
    for number, word in enumerate(text.split(), 1):
        action, params = _read(spec, word)
        at = model.graph.edges[edges[-1]].target if edges else 0
        ways = model.steps([at], [action], params)
        if len(ways) != 1:
            reason = "is not possible" if not ways else f"may go {len(ways)} ways"
            raise MbtError(f"walk {name}, word {number}: {word} {reason} there in {label}")
        edges += ways[0][0]
    if not edges:
        raise MbtError(f"walk {name}: it has no steps")
    return trace_of_path(
        model.graph, edges, name=name, module=spec.module, model=label, params=spec.params
    )


def _read(spec: Spec, word: str) -> tuple[str, dict[str, Any]]:
    """An action and the tester's parameters that a word gives it."""
    found = _WORD.fullmatch(word)
    if found is None or found[1] not in spec.actions:
        raise MbtError(f"{word!r} is no action of {spec.module}: {', '.join(spec.actions)}")
    names = [*spec.actions[found[1]].tester]
    given = found[2].split(",") if found[2] else []
    if len(given) != len(names):
        raise MbtError(f"{word}: {found[1]} takes {len(names)} parameters ({', '.join(names)})")
    values = [int(text) if _NUMBER.fullmatch(text) else text for text in given]
    return found[1], dict(zip(names, values, strict=True))


def foreseen(spec: Spec, model: Model, trace: Trace) -> RunRecord:
    """The run that a model foresees of a trace of its own: every step, and the drain after it.

    It observes all variables of the module, as values of the model.

    Raises:
        MbtError: the trace is none of the model's, or the model leaves open how it goes on.
    """
    states = {tuple(row): number for number, row in enumerate(model.rows)}
    at = states.get(_row(model, trace.initial))
    if at is None or at >= len(model.graph.initial):
        raise MbtError(f"trace {trace.name} begins in no initial state of the registered model")
    micro = [_micro(None, "start", "", {}, model, at)]
    for index, step in enumerate(trace.steps):
        action = spec.actions[step.action]
        params = {name: source.read(step.state) for name, source in action.tester.items()}
        there = states.get(_row(model, step.state))
        ways = [target for _, target in model.steps([at], [step.action], params)]
        where = f"trace {trace.name}, step {index + 1} ({step.action})"
        if there not in ways:
            raise MbtError(f"{where}: no behaviour of the registered model; make traces from it")
        if len(ways) > 1:
            raise MbtError(f"{where}: the registered model may go {len(ways)} ways there")
        at = ways[0]
        poison = action.poisons(step)
        micro.append(_micro(index, "step", step.action, params, model, at, poison=poison))
    responses = [name for name, action in spec.actions.items() if action.kind == "response"]
    while ways_on := [(a, edge.target) for a in responses for edge in model.edges[at].get(a, ())]:
        if len(ways_on) > 1:
            raise MbtError(f"trace {trace.name}: the registered model may drain in several ways")
        action_name, at = ways_on[0]
        micro.append(_micro(None, "drain", action_name, {}, model, at))
    return RunRecord(trace.name, trace.digest, tuple(micro), (), (), (), {}, (), (), (), ())


def _row(model: Model, state: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(model.value_ids.get(state[name], -1) for name in model.graph.variables)


def _micro(
    step: int | None,
    part: Any,
    action: str,
    params: Mapping[str, Any],
    model: Model,
    state: int,
    *,
    poison: bool = False,
) -> MicroStep:
    seen = dict(model.graph.state(state))
    at = "refused" if model.dead(state) else None
    return MicroStep(step, part, action, params, at, 0, seen, poison=poison)


def seen_as(spec: Spec, micro: Sequence[MicroStep]) -> list[dict[str, str]]:
    """What is compared of some micro-steps: observed variable -> its value, as TLA+ text."""
    null = ModelValue(spec.null) if spec.null else None
    return [
        {
            name: str(from_python(step.observed[name], null))
            for name in spec.variables.observed
            if name in step.observed
        }
        for step in micro
    ]
