"""Behaviours from ITF files by Apalache, Quint and others.

Of Quint's model-based testing (0.22 to 0.33), `mbt::actionTaken` becomes the action of the step,
where it is neither empty nor "step", and what `mbt::nondetPicks` has as Some its parameters. Before
0.26 these were `action_taken` and `nondet_picks`, and not declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tracegen.errors import MbtError
from tracegen.itf import ACTION, PICKS, ItfTrace, Unserializable, read_itf
from tracegen.naming import Behaviour, trace_name
from tracegen.spec import Model, Spec
from tracegen.values import (
    Function,
    ModelValue,
    Set,
    Str,
    Value,
    ValueFormatError,
    function,
    parts,
)

_OLD_ACTION, _OLD_PICKS = "action_taken", "nondet_picks"
_NAMELESS = frozenset({"", "step"})
_SOME, _NONE = Str("Some"), Str("None")

_OF_APALACHE = re.compile(r"(?:ModelValue_)?(\w+?)(?:_OF_\w+)?", re.ASCII)


def read_itf_file(spec: Spec, model: Model, path: Path) -> Behaviour:
    """The behaviour in an ITF file, its strings turned to the model values that the model has.

    Constants that the file gives (`params`) have to be those of the model, and are left out of the
    states. Raises MbtError, which names the file and the state (counted from 0, as ITF does).
    """
    trace = read_itf(path)
    if not trace.states:
        raise MbtError(f"{path}: a trace without states; there is nothing to walk")
    names = _model_values_by_name(model)
    actions, picks, states = _of_quint(spec, trace, path)
    turned = [
        _without_constants(spec, model, trace.params, _all_in_model(state, names, where), where)
        for state, where in _placed(states, path)
    ]
    params = [_all_in_model(chosen, names, where) for chosen, where in _placed(picks, path)]
    return Behaviour(
        name=trace_name(re.split(r"\.itf\b|\.json$", path.name)[0]),
        source=str(path),
        states=tuple(turned),
        actions=tuple(actions[1:]),  # what led to the first state is Init
        params=tuple(params[1:]),
        first=0,
        loop=trace.loop,
    )


def model_values(model: Model) -> set[ModelValue]:
    """The model values that a configuration gives to constants."""
    return {part for part in _constant_parts(model) if isinstance(part, ModelValue)}


def in_model(value: Value, names: Mapping[str, ModelValue]) -> Value:
    """A value of an ITF file as a model has it: the one place where strings become model values.

    ITF has none. Apalache writes them as strings: "NoVal" where a definition says so, "p_OF_T" for
    the value p of the type T, "ModelValue_NoVal" where a .cfg gave NoVal. A string becomes the
    model value only where the model's .cfg has one of that name (`names`).

    Raises ValueFormatError where two strings of a set, or arguments of a map, become one.
    """
    if isinstance(value, Str):
        found = _OF_APALACHE.fullmatch(value.value)
        return names.get(value.value) or (names.get(found[1]) if found else None) or value
    turned: Value = value
    if isinstance(value, Set):
        turned = Set(in_model(item, names) for item in value.items)
    elif isinstance(value, Function):
        # The field of a record is no string of the model.
        fields = value.notation == "{}"
        turned = function(
            (key if fields else in_model(key, names), in_model(item, names))
            for key, item in value.pairs
        )
    if isinstance(value, Set | Function) and _size(turned) != len(value):
        raise ValueFormatError(f"two strings are one model value in {value}")
    return turned


def _model_values_by_name(model: Model) -> dict[str, ModelValue]:
    names = {value.name: value for value in model_values(model)}
    given = {*_constant_parts(model)}
    for name in names:
        if Str(name) in given:
            raise MbtError(
                f"{model.config.source}: {name} is a model value and a string, which ITF does not "
                "tell apart; rename one of them"
            )
    return names


def _constant_parts(model: Model) -> Iterator[Value]:
    return (part for value in model.constants.values() for part in parts(value))


def _placed(
    states: Sequence[Mapping[str, Value]], path: Path
) -> Iterator[tuple[Mapping[str, Value], str]]:
    return ((state, f"{path}: state {number}") for number, state in enumerate(states))


def _all_in_model(
    values: Mapping[str, Value], names: Mapping[str, ModelValue], where: str
) -> dict[str, Value]:
    turned = {}
    for name, value in values.items():
        for part in parts(value):
            if isinstance(part, Unserializable):
                raise MbtError(f"{where}: {name}: its writer could not say {part} as a value")
        try:
            turned[name] = in_model(value, names)
        except ValueFormatError as error:
            raise MbtError(f"{where}: {name}: {error}") from None
    return turned


def _without_constants(
    spec: Spec, model: Model, params: tuple[str, ...], state: Mapping[str, Value], where: str
) -> dict[str, Value]:
    for name in params:
        if name not in spec.source.constants:
            raise MbtError(f"{where}: {name}, of params, is no constant of {spec.module}")
        expected = model.constants.get(name)
        if expected is not None and state.get(name, expected) != expected:
            raise MbtError(
                f"{where}: the constant {name} is {state[name]}, but {expected} in {model.name}; "
                "name the model that the trace is of with --model"
            )
    return {name: value for name, value in state.items() if name not in params}


def _of_quint(
    spec: Spec, trace: ItfTrace, path: Path
) -> tuple[list[str | None], list[dict[str, Value]], list[dict[str, Value]]]:
    """Of each state: the action that led to it, its parameters, and the other variables."""
    own = {*trace.variables, *spec.source.variables}
    action_of = [ACTION, *({_OLD_ACTION} - own)]
    picks_of = [PICKS, *({_OLD_PICKS} - own)]
    actions, picks = list[str | None](), []
    for state, where in _placed(trace.states, path):
        name = next((state[each] for each in action_of if each in state), None)
        if name is not None and not isinstance(name, Str):
            raise MbtError(f"{where}: {ACTION} is {name}, which is no name of an action")
        actions.append(None if name is None or name.value in _NAMELESS else name.value)
        chosen = next((state[each] for each in picks_of if each in state), None)
        picks.append({} if chosen is None else _picked(chosen, where))
    hidden = {*action_of, *picks_of}
    return actions, picks, [{n: s[n] for n in s if n not in hidden} for s in trace.states]


def _picked(picks: Value, where: str) -> dict[str, Value]:
    """What a step has chosen, by name: {"tag": "Some", "value": v}, or None, under each name."""
    if not isinstance(picks, Function):
        raise MbtError(f"{where}: {PICKS} is {picks}, which is no record of choices")
    chosen = {}
    for name, option in picks.pairs:
        fields = dict(option.pairs) if isinstance(option, Function) else {}
        tag, value = fields.get(Str("tag")), fields.get(Str("value"))
        if isinstance(name, Str) and tag == _SOME and value is not None:
            chosen[name.value] = value
        elif not isinstance(name, Str) or tag != _NONE:
            raise MbtError(f"{where}: {PICKS}: {name} is {option}, neither Some value nor None")
    return chosen


def _size(value: Value) -> int:
    return len(value) if isinstance(value, Set | Function) else 1
