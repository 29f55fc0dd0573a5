"""The part of a state graph along behaviours that name no actions, so that their steps get names.

TLC explores the model under the constraint, in a small generated module, that a state is one of
those. So the graph is as large as the behaviours are long, however large the model's space is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Unpack

from tracegen.cfg import Config
from tracegen.graph import StateGraph
from tracegen.module import Module
from tracegen.tlc import RunOptions, state_graph
from tracegen.values import Function, ModelValue, Value, parts, seq

_MODULE = "MbtAlong"


def graph_along(
    module: Module, config: Config, states: Iterable[Mapping[str, Value]], **run: Unpack[RunOptions]
) -> StateGraph:
    """What of a model's state graph can be reached through these states alone.

    Raises as `tracegen.tlc.state_graph`.
    """
    rows = dict.fromkeys(seq(state[name] for name in module.variables) for state in states)
    declared = {*module.constants, *module.definitions}
    values = {part.name for row in rows for part in parts(row) if isinstance(part, ModelValue)}
    named = sorted(values - declared)
    generated = replace(
        module,
        name=_MODULE,
        path=module.path.with_name(f"{_MODULE}.tla"),
        files={**module.files, f"{_MODULE}.tla": _text(module, rows, named).encode()},
        constants=(*module.constants, *named),
    )
    # Wrapped in a conjunction, TLC would give its transitions no names: hence a constraint.
    along = replace(
        config,
        constraints=("MbtAmong",),
        action_constraints=(),
        constants={**config.constants, **{name: name for name in named}},
        symmetry=None,
        view=None,
        alias=None,
        postcondition=None,
    )
    return state_graph(generated, along, **run)[1]


def _text(module: Module, rows: Iterable[Function], named: Iterable[str]) -> str:
    constants = ", ".join(named)
    return "\n".join(
        [
            f"---- MODULE {_MODULE} ----",
            f"EXTENDS {module.name}",
            *([f"CONSTANTS {constants}"] if constants else []),
            "MbtStates == <<",
            ",\n".join(str(row) for row in rows),
            ">>",
            "MbtAmong == \\E mbtNumber \\in DOMAIN MbtStates :",
            *(
                f"  /\\ {name} = MbtStates[mbtNumber][{position}]"
                for position, name in enumerate(module.variables, 1)
            ),
            "====",
            "",
        ]
    )
