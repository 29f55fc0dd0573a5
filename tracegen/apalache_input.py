"""What Apalache is given of a TLC configuration, and what of one it cannot honour.

Apalache ignores PROPERTY, CONSTRAINT, SYMMETRY and VIEW of a .cfg in silence. Here what would make
the answer one to another question is refused, and what only saves TLC work is said to be unused.
It has no model values either: they go in as strings, and what comes back is turned round.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracegen.cfg import Config
from tracegen.errors import MbtError
from tracegen.from_itf import in_model
from tracegen.module import Module, definition_of
from tracegen.parser import parse_value
from tracegen.reason import undeclared
from tracegen.values import ModelValue, Set, Str, Value, parts

MODEL_VALUE = "ModelValue_"
"""What the string begins with that stands for a model value; Apalache itself writes them so."""

_NEXT = re.compile(r"\[\]\s*\[\s*(\w+)\s*\]_")
_FIRST = re.compile(r"\s*(?:/\\\s*)?(\w+)\s*/\\")


def refusal(module: Module, config: Config) -> str:
    """Why a configuration cannot be checked by Apalache, with the file; empty where it can."""
    source = config.source or "configuration"
    demands = {
        "PROPERTY": config.properties,
        "CONSTRAINT": config.constraints,
        "ACTION_CONSTRAINT": config.action_constraints,
        "POSTCONDITION": (config.postcondition,) if config.postcondition else (),
    }
    for keyword, names in demands.items():
        if names:
            return (
                f"{source}: Apalache would ignore {keyword} {' '.join(names)}; "
                "use --checker tlc, or a model without it"
            )
    for name in config.constants:
        if "(" in name:
            return (
                f"{config.place(name)}: {name}: Apalache knows no constant given point by point; "
                f"define it in the module and write {name.partition('(')[0]} <- Definition"
            )
    known = {*module.constants, *module.definitions}
    if unknown := [name for name in config.constants if name not in known]:
        return undeclared(unknown, module, config)
    if any(f'"{MODEL_VALUE}'.encode() in text for text in module.files.values()):
        return f'{module.path}: "{MODEL_VALUE}..." is how model values are written for Apalache'
    try:
        init_and_next(module, config)
    except MbtError as error:
        return str(error)
    return ""


def unused(config: Config) -> tuple[str, ...]:
    """The keywords that Apalache ignores without another answer coming of it."""
    given = {"SYMMETRY": config.symmetry, "VIEW": config.view, "ALIAS": config.alias}
    return tuple(keyword for keyword, name in given.items() if name)


def config_text(module: Module, config: Config) -> str:
    """A .cfg for Apalache: the constants, INIT and NEXT. The invariants are options of the run."""
    init, following = init_and_next(module, config)
    lines = [f"INIT {init}", f"NEXT {following}"]
    if config.constants or config.substitutions:
        lines.append("CONSTANTS")
        for name, text in config.constants.items():
            lines.append(f"    {name} = {_without_model_values(parse_value(text))}")
        lines += [f"    {name} <- {to}" for name, to in config.substitutions.items()]
    return "\n".join(lines) + "\n"


def restored(state: Mapping[str, Value], config: Config) -> dict[str, Value]:
    """A state that Apalache wrote, with the model values that `config_text` took away."""
    constants = (parse_value(text) for text in config.constants.values())
    names = {
        MODEL_VALUE + part.name: part
        for constant in constants
        for part in parts(constant)
        if isinstance(part, ModelValue)
    }
    return {name: in_model(value, names) for name, value in state.items()}


def init_and_next(module: Module, config: Config) -> tuple[str, str]:
    """The names of the initial predicate and of the next-state relation.

    A SPECIFICATION is followed to `Init /\\ [][Next]_vars`; its fairness is of no concern to
    invariants. Raises MbtError where it does not lead there.
    """
    if config.init and config.next:
        return config.init, config.next
    name, seen = config.specification, set[str]()
    while name and name not in seen:
        seen.add(name)
        text = definition_of(module, name) or ""
        first, step = _FIRST.match(text), _NEXT.search(text)
        if first and step and "[]" not in (definition_of(module, first[1]) or ""):
            return first[1], step[1]
        # FairSpec == Spec /\ WF_vars(Next)
        name = first[1] if first and not step else None
    raise MbtError(
        f"{config.source or 'configuration'}: nothing says plainly what Init and Next are; "
        f"write INIT and NEXT, or a SPECIFICATION that is Init /\\ [][Next]_vars"
    )


def _without_model_values(value: Value) -> Value:
    if isinstance(value, ModelValue):
        return Str(MODEL_VALUE + value.name)
    # A .cfg has no other values with parts.
    return Set(map(_without_model_values, value)) if isinstance(value, Set) else value
