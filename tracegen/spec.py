"""A specification: a TLA+ module with its named models, and what a TOML beside it says of them.

`X.toml` beside `X.tla` gives the models their names and expected verdicts, and tells which actions
are the tester's, where their parameters are read, and what a system lets anyone observe (see
`tracegen.spec_tables`). A module without a TOML has one model, its same-named .cfg, and can be
checked and dumped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tracegen.cfg import Config, read_config
from tracegen.errors import MbtError
from tracegen.module import Module, read_module
from tracegen.parser import parse_value
from tracegen.spec_tables import (
    Action,
    Expect,
    Explain,
    ModelTable,
    Names,
    Poisoned,
    Property,
    SpecTable,
    SuitePart,
    Table,
    Variables,
)
from tracegen.tomltable import Place, place_of, read_table
from tracegen.trace import ValuePath
from tracegen.values import Value, to_python

__all__ = [
    "Action",
    "Expect",
    "Explain",
    "Model",
    "Property",
    "Spec",
    "SpecError",
    "SuitePart",
    "Variables",
    "companions_of",
    "load_spec",
]


class SpecError(MbtError):
    """A specification cannot be loaded; the message names file, line and what is known."""


@dataclass(frozen=True)
class Model:
    """A named configuration of the module."""

    name: str
    title: str
    config: Config
    expect: Expect | None = None
    slow: bool = False
    """Checked when named, not by default."""

    @cached_property
    def constants(self) -> Mapping[str, Value]:
        """The values that its configuration gives to constants."""
        return {name: parse_value(text) for name, text in self.config.constants.items()}


@dataclass(frozen=True)
class Spec:
    """A module and all that is said of it."""

    path: Path
    """Of the module."""
    source: Module = field(repr=False)
    title: str
    models: Mapping[str, Model]
    """In the order of the file, as all mappings here."""
    properties: Mapping[str, Property]
    actions: Mapping[str, Action]
    variables: Variables
    point: Names
    """The variables that a program point is read from."""
    begins: str | None
    """"parked" where the initial states are those of a parked run."""
    null: str | None
    """How "nothing" is written in the model."""
    workflow: Mapping[str, str | int]
    """Role -> the constant that an adapter is handed, or a number."""
    observed: str | None
    """The module that computes history variables and says what was provoked."""
    explain: Explain
    suite: tuple[SuitePart, ...]

    @property
    def module(self) -> str:
        """The name of the module."""
        return self.source.name

    @property
    def params(self) -> Mapping[str, Mapping[str, ValuePath]]:
        """Action -> parameter -> where it is read in the state after the step."""
        return {name: action.params for name, action in self.actions.items()}

    def model(self, name: str | None = None) -> Model:
        """A model by name; without a name the only one. Raises SpecError, which lists them."""
        known = ", ".join(self.models)
        if name is None:
            if len(self.models) == 1:
                return next(iter(self.models.values()))
            raise SpecError(f"{self.path} has several models; name one with --model: {known}")
        if name not in self.models:
            raise SpecError(f"{self.path} has no model {name!r}; known: {known}")
        return self.models[name]

    def workflow_of(self, model: str) -> dict[str, Any]:
        """What an adapter is handed of a model, by role, as Python values."""
        constants = self.models[model].constants
        return {
            role: to_python(constants[source]) if isinstance(source, str) else source
            for role, source in self.workflow.items()
        }

    def config_at(self, bounds: Config, faults: Collection[str]) -> Config:
        """The configuration of this module at the bounds of another's, under exactly these faults.

        Constants that this module does not declare are left out. Nothing is checked.
        """
        kept = {n: value for n, value in bounds.constants.items() if n in self.source.constants}
        bare = replace(bounds, constants=kept, invariants=(), properties=())
        return bare.with_constants(self.explain.settings(faults))

    def faults_of(self, model: str) -> frozenset[str]:
        """The switches by which a model differs from the reference machine."""
        constants = self.models[model].constants
        reference = self.explain.settings(())
        return frozenset(n for n, off in reference.items() if to_python(constants[n]) != off)


def load_spec(path: Path) -> Spec:
    """Load a module with its TOML and configurations.

    Raises SpecError or ConfigError, which name the file and, where there is one, the line.
    """
    module = read_module(path)
    toml = path.with_suffix(".toml")
    if toml.is_file():
        return _from_toml(toml, module)
    config = path.with_suffix(".cfg")
    if not config.is_file():
        raise SpecError(
            f"{path} has neither {toml.name} nor {config.name} beside it; "
            "write a .cfg that says what to check"
        )
    table = SpecTable(module=module.name, models={})
    only = Model(name=module.name, title=config.name, config=read_config(config))
    return _spec(module, table, {only.name: only})


def companions_of(spec: Spec) -> list[Spec]:
    """The specifications beside this one whose switches explain its runs too, by name.

    Raises SpecError as `load_spec` does.
    """
    found = []
    for path in sorted(spec.path.parent.glob("*.tla")):
        if path.with_suffix(".toml").is_file() and path.stem != spec.module:
            other = load_spec(path)
            if spec.module in other.explain.of:
                found.append(other)
    return found


def _spec(module: Module, table: SpecTable, models: Mapping[str, Model]) -> Spec:
    return Spec(
        path=module.path,
        source=module,
        title=table.title,
        models=models,
        properties=table.properties,
        actions=table.actions,
        variables=table.variables,
        point=table.point,
        begins=table.begins,
        null=table.null,
        workflow=table.workflow,
        observed=table.observed,
        explain=table.explain,
        suite=table.suite,
    )


def _from_toml(path: Path, module: Module) -> Spec:
    table, text = read_table(path, SpecTable, _TABLES, SpecError)
    models = {}
    for name, model in table.models.items():
        config = path.parent / model.cfg
        if not config.is_file():
            where = place_of(path, text, ("models", name, "cfg"))
            raise SpecError(f"{where}: there is no file {config}")
        models[name] = Model(name, model.title, read_config(config), model.expect, model.slow)
    for place, name, what, known in _references(table, models, module):
        if name not in known:
            raise SpecError(
                f"{place_of(path, text, place)}: no {what} {name!r} "
                f"(known: {', '.join(known) or 'none'})"
            )
    return _spec(module, table, models)


def _references(
    table: SpecTable, models: Mapping[str, Model], module: Module
) -> Iterable[tuple[Place, str, str, Iterable[str]]]:
    """Every name that has to be known somewhere else: its place, itself, what it is, the known."""
    constants, variables = module.constants, module.variables
    definitions = sorted(module.definitions)
    yield ("module",), table.module, "module", (module.name,)
    for variable in table.point:
        yield ("point",), variable, "variable", variables
    if table.null is not None:
        yield ("null",), table.null, "constant", constants
    for role, source in table.workflow.items():
        if isinstance(source, str):
            yield ("workflow", role), source, "constant", constants
    for name, model in models.items():
        if model.expect and model.expect.property is not None:
            checked = (*model.config.invariants, *model.config.properties)
            yield ("models", name, "expect"), model.expect.property, "checked property", checked
    for name, rule in table.properties.items():
        yield ("properties", name, "invariant"), rule.invariant, "definition", definitions
        for variable in rule.reads:
            yield ("properties", name, "reads"), variable, "variable", variables
    for name, action in table.actions.items():
        yield ("actions", name), name, "definition", definitions
        paths = [*action.params.values(), *([action.poisoned.at] if action.poisoned else [])]
        for variable in (path.variable for path in paths):
            yield ("actions", name), variable, "variable", variables
        for variable in (*action.appends, *([action.counts] if action.counts else [])):
            yield ("actions", name), variable, "variable", variables
    kinds: Mapping[str, Any] = vars(table.variables)
    for kind, names in kinds.items():
        for variable in [names] if isinstance(names, str) else names or ():
            yield ("variables", kind), variable, "variable", variables
    for constant in table.explain.switches:
        yield ("explain",), constant, "constant", constants
    rivals = [constant for group in table.explain.rivals for constant in group]
    named = (*table.explain.poison_only, *table.explain.inverted, *table.explain.sentences)
    for constant in (*named, *rivals):
        yield ("explain",), constant, "switch", table.explain.switches
    for number, part in enumerate(table.suite):
        yield ("suite", number), part.model, "model", models


_TABLES: Mapping[str, type[Table]] = {
    "models": ModelTable,
    "properties": Property,
    "actions": Action,
    "variables": Variables,
    "explain": Explain,
    "suite": SuitePart,
    "expect": Expect,
    "poisoned": Poisoned,
}
