"""Counterexamples for a person, step by step with what each step changed, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracegen.encoding import to_json
from tracegen.errors import MbtError
from tracegen.output import Counterexample, TraceState
from tracegen.spec import Spec
from tracegen.trace import ValuePathError
from tracegen.values import Value


def lines(spec: Spec, found: Counterexample) -> Iterator[str]:
    """The steps, numbered by the state that each leads to, and how the behaviour goes on.

    A checker that names no actions has its steps called "step". Raises MbtError where the TOML
    says wrongly where a parameter is.
    """
    width = len(str(len(found.states)))
    before: Mapping[str, Value] = {}
    for state in found.states:
        yield f"  {state.number:>{width}}  {_step(spec, state)}"
        for name, value in _declared(spec, state).items():
            if name not in before:
                yield f"  {'':{width}}    {name} = {value}"
            elif before[name] != value:
                yield f"  {'':{width}}    {name}: {before[name]} → {value}"
        before = state.state
    if found.stuttering:
        yield f"  {'':{width}}  stuttering: the run stays in state {len(found.states)} for ever"
    elif found.back_to is not None:
        by = f" by {found.back_action}" if found.back_action else ""
        yield f"  {'':{width}}  back to state {found.back_to}{by}, and so on for ever"


def as_json(spec: Spec, found: Counterexample) -> dict[str, Any]:
    """The states with the actions that led to them, and how the behaviour goes on.

    `params` are what the TOML reads in the state, by name; `arguments` what the checker says, which
    TLC 2.15 does not. `back_to` is the number, from 1, of the state that follows the last one.
    Values are encoded as in trace files. Raises as `lines`.
    """
    return {
        "states": [
            {
                "number": state.number,
                "action": state.action,
                "params": _encoded(_params(spec, state)),
                "arguments": [to_json(value) for value in state.arguments],
                "state": _encoded(_declared(spec, state)),
            }
            for state in found.states
        ],
        "back_to": found.back_to,
        "back_action": found.back_action,
        "stuttering": found.stuttering,
    }


def _step(spec: Spec, state: TraceState) -> str:
    if state.number == 1:
        return "initial state"
    if state.arguments:
        arguments = ", ".join(map(str, state.arguments))
    else:
        arguments = ", ".join(f"{name} = {value}" for name, value in _params(spec, state).items())
    action = state.action or "step"
    return f"{action}({arguments})" if arguments else action


def _params(spec: Spec, state: TraceState) -> dict[str, Value]:
    """The parameters of the step, read from the state after it as the TOML says."""
    paths = spec.params.get(state.action or "", {})
    try:
        return {name: path.read(state.state) for name, path in paths.items()}
    except ValuePathError as error:
        raise MbtError(f"{spec.path.with_suffix('.toml')}: {error}") from None


def _declared(spec: Spec, state: TraceState) -> dict[str, Value]:
    """The variables in the order of their declarations, which TLC does not keep."""
    order = {name: place for place, name in enumerate(spec.source.variables)}
    return dict(sorted(state.state.items(), key=lambda item: order.get(item[0], len(order))))


def _encoded(values: Mapping[str, Value]) -> dict[str, Any]:
    return {name: to_json(value) for name, value in values.items()}
