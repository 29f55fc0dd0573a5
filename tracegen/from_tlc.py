"""Behaviours from what TLC wrote: its output, with or without -tool, and simulation files."""

from __future__ import annotations

import re
from pathlib import Path

from tracegen.encoding import excerpt
from tracegen.errors import MbtError
from tracegen.files import read_limited
from tracegen.from_itf import model_values
from tracegen.module import formals_of
from tracegen.naming import Behaviour, trace_name
from tracegen.outcome import Outcome, classify
from tracegen.output import CheckerOutput, Counterexample, parse_output, parse_simulation
from tracegen.parser import ParseError
from tracegen.spec import Model, Spec
from tracegen.values import ModelValue, Value

_SIMULATION = re.compile(r"-{4,} MODULE \S+ -{4,}\n")
_UNASSIGNED = ModelValue("null")


def read_tlc_file(spec: Spec, model: Model, path: Path) -> list[Behaviour]:
    """The behaviours in what TLC wrote: its output, with or without -tool, or a simulation file.

    Raises MbtError, which names the file, and where it holds no trace the outcome of the run.
    """
    try:
        text = read_limited(path).decode("utf-8")
        if _SIMULATION.match(text):
            return [_simulated(path, parse_simulation(text))]
        output = parse_output(text)
    except UnicodeDecodeError as error:
        raise MbtError(f"{path}: not UTF-8: byte {error.start} is {error.reason}") from None
    except ParseError as error:
        raise MbtError(f"{path}: {error}") from None
    if not output.counterexamples:
        raise MbtError(f"{path}: there is no trace in it: {_outcome(output, model)}")
    name, found = trace_name(path.stem), output.counterexamples
    if len(found) == 1:
        return [behaviour_of(spec, model, found[0], name, str(path))]
    return [
        behaviour_of(spec, model, each, f"{name}-{number}", f"{path}, counterexample {number}")
        for number, each in enumerate(found, 1)
    ]


def _simulated(path: Path, states: tuple[dict[str, Value], ...]) -> Behaviour:
    if not states:
        raise MbtError(f"{path}: a simulation file without a whole state")
    steps = len(states) - 1
    return Behaviour(trace_name(path.name), str(path), states, (None,) * steps, ({},) * steps)


def behaviour_of(
    spec: Spec, model: Model, found: Counterexample, name: str, source: str
) -> Behaviour:
    """A counterexample as a behaviour, the arguments of its actions by their names.

    Raises MbtError, which names the source, where a variable has no value, or where the module
    has no such action with as many parameters.
    """
    known = model_values(model)
    for state in found.states:
        for variable, value in state.state.items():
            if value == _UNASSIGNED and _UNASSIGNED not in known:
                raise MbtError(
                    f"{source}: state {state.number}: {variable} has no value (TLC prints null)"
                )
    steps = found.states[1:]
    return Behaviour(
        name=name,
        source=source,
        states=tuple(state.state for state in found.states),
        actions=tuple(step.action for step in steps),
        params=tuple(
            _arguments(spec, step.action, step.arguments, f"{source}: state {step.number}")
            for step in steps
        ),
        loop=None if found.back_to is None else found.back_to - 1,
        notes=(f"{source}: it stays in its last state for ever",) if found.stuttering else (),
    )


def _arguments(
    spec: Spec, action: str | None, given: tuple[Value, ...], where: str
) -> dict[str, Value]:
    """The arguments that a newer TLC prints, by the names that the module has for them."""
    if not given or action is None:
        return {}
    names = formals_of(spec.source, action)
    if names is None or len(names) != len(given):
        count = "no such action" if names is None else f"{len(names)} parameters of it"
        raise MbtError(f"{where}: {action} with {len(given)} arguments; {spec.path} has {count}")
    return dict(zip(names, given, strict=True))


def _outcome(output: CheckerOutput, model: Model) -> str:
    if not output.messages:
        return "it is not what TLC prints"
    outcome = classify(
        output, exit_code=0, timed_out=False, stderr="", partial=bool(model.config.partial)
    )
    if outcome is Outcome.SIMULATED:
        return "a simulation without an error; its behaviours are in the files of -simulate file="
    if outcome is Outcome.FAILED and output.errors:
        return f"TLC ended with an error: {excerpt(' '.join(output.errors[0].text.split()))}"
    if outcome is Outcome.FAILED and not output.finished:
        return "TLC's output is cut off"
    return f"TLC's outcome is: {outcome.value}"
