"""What the TOML beside a module may say: a class a table, validated strictly and frozen.

The comments in specs/ResumeContract.toml explain it by example; docs/driving.md says what the
engine does with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tracegen.trace import Step, ValuePath, ValuePathError
from tracegen.values import from_python

Cover = Literal[
    "states", "transitions", "pairs", "paths", "walks", "weighted", "simulation", "counterexample"
]


def _parsed_path(text: object) -> object:
    if not isinstance(text, str):
        raise ValueError("a path to a value is a string, like ckpts[-1].task")
    try:
        return ValuePath.parse(text)
    except ValuePathError as error:
        raise ValueError(str(error)) from None


_ValuePath = Annotated[ValuePath, BeforeValidator(_parsed_path)]
Names = tuple[str, ...]


class Table(BaseModel):
    """What all tables share: no unknown keys, no conversions, no changes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class Expect(Table):
    """What a model's check has to come out as. Figures that are None may be any."""

    verdict: Literal["holds", "violated", "deadlock", "bounded", "assumption false"]
    property: str | None = None
    generated: int | None = None
    distinct: int | None = None
    states: int | None = None
    """Of the counterexample."""
    depth: int | None = None


class ModelTable(Table):
    """A model: its .cfg beside the TOML, and what it has to come out as."""

    title: str = ""
    cfg: str
    expect: Expect | None = None
    slow: bool = False


class Property(Table):
    """A property by its short name: an invariant, the variables it reads, what provokes it."""

    invariant: str
    title: str = ""
    reads: Names = ()
    provoked: str | None = None
    """The operator of the `observed` module that says from the events whether it was."""
    when: str = ""
    branches: bool = False
    """Also asked of each branch, over inherited and own effects."""
    poison: bool = False
    """Judged where a poisoned output was refused."""


class Poisoned(Table):
    """A step is poisoned where the value at a path in the state after it is this one."""

    at: _ValuePath
    equals: bool | int | str = Field(alias="is")


class Action(Table):
    """How an action of the model is driven; see docs/driving.md."""

    kind: Literal["stimulus", "response"]
    delivery: Literal["call", "branch", "kill", "race", "bring", "let-go"] | None = None
    tester: Mapping[str, _ValuePath] = {}
    """Parameters that are ours to choose, and where the state after the step shows them."""
    system: Mapping[str, _ValuePath] = {}
    """Parameters that the system chooses."""
    needs: Literal["parked", "answered", "held", "complete"] | None = None
    answers: bool = False
    drains: bool = False
    parks: bool = False
    appends: Mapping[str, str] = {}
    """Driven variable -> the parameter that a delivery appends to it, or "outcome"."""
    counts: str | None = None
    """The driven variable that a delivery adds 1 to."""
    poisoned: Poisoned | None = None
    refusable: bool = False
    """A system that refuses it, and shows nothing else for it, does what the reference does."""

    @property
    def params(self) -> Mapping[str, ValuePath]:
        """All parameters."""
        return {**self.tester, **self.system}

    def poisons(self, step: Step) -> bool:
        """Whether a step of this action is one with a poisoned output."""
        rule = self.poisoned
        return rule is not None and rule.at.read(step.state) == from_python(rule.equals)


class Variables(Table):
    """What becomes of each variable of the model in a run of a real system."""

    driven: Names = ()
    observed: Names = ()
    history: Names = ()
    ledger: str | None = None
    computed: Mapping[str, str] = {}
    """Variable -> the operator of the `observed` module that computes it from the events."""
    monotone: Names = ()
    dead: str | None = None
    """The variable that is TRUE where no run stands: its start, its recovery or an output was
    refused. Without one the module has every run stand."""


class Explain(Table):
    """The Boolean constants among which explanations are looked for."""

    switches: Names = ()
    poison_only: Names = ()
    inverted: Names = ()
    """Of the switches: those whose fault is to be FALSE."""
    titles: Mapping[str, str] = {}
    """What a switch is called, or "reference"; by default its name without "Fault"."""
    of: Names = ()
    """Modules beside this one whose runs these switches explain as well: this module has their
    actions, their observed variables and their constants, but for switches."""
    rivals: tuple[Names, ...] = ()
    """Switches of one choice, of which at most one is worth trying: another would change nothing
    beside it, or is what it is without it."""
    sentences: Mapping[str, str] = {}
    """Switch -> what its mechanism did, in a sentence with fields, which a run fills in."""

    def settings(self, faults: Collection[str]) -> dict[str, bool]:
        """The constants under which exactly these faults act."""
        return {name: (name in faults) != (name in self.inverted) for name in self.switches}


class SuitePart(Table):
    """Traces of the default suite."""

    name: str
    model: str
    cover: Cover


class SpecTable(Table):
    """The whole file."""

    module: str
    title: str = ""
    point: Names = ()
    begins: Literal["parked"] | None = None
    """Where a run is brought to before its first state is compared; by default nowhere."""
    null: str | None = None
    observed: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_]+$")
    workflow: Mapping[str, str | int] = {}
    """Role -> the constant that an adapter is handed, or a number."""
    models: Mapping[str, ModelTable]
    properties: Mapping[str, Property] = {}
    actions: Mapping[str, Action] = {}
    variables: Variables = Variables()
    explain: Explain = Explain()
    suite: tuple[SuitePart, ...] = ()
