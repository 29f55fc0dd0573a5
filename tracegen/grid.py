"""A grid: models by properties, every cell a checker run of its own, as a TOML file says it.

    title = "what the table shows"
    adapter = "reference"                       # what `measured` rows were replayed on

    [checks]                                    # the columns: heading -> invariant
    EO = "EffectExactlyOnce"
    live = { property = "EventuallyCompletes", specification = "FairSpec" }

    [[rows]]
    label = "Replay"
    module = "ResumeContract"                   # beside the grid
    base = "R1"                                 # its model whose .cfg gives the bounds
    constants = { MaxCrashes = 2 }              # in place of the .cfg's
    violated = { EO = 4 }                       # states of a counterexample, or true
    generated = 287                             # of a cell that holds
    distinct = 183
    measured = [{ fault = "Replay" }]           # the options of the replays that measure this row

A row may have `checks` of its own. Where there are none it has one cell, the model as its .cfg
says, and what the module's TOML expects of it. A row with `violated` expects every other cell to
hold; a row without it expects nothing. A row is slow where its base is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from tracegen.cfg import Config, ConfigError
from tracegen.errors import MbtError
from tracegen.spec import Expect, Model, Spec, load_spec
from tracegen.spec_tables import Table
from tracegen.tomltable import Place, place_of, read_table

SUFFIX = ".grid.toml"
AS_CONFIGURED = "run"
"""The column of rows without checks."""


class GridError(MbtError):
    """A grid cannot be loaded; the message names file and line."""


class _TemporalCheck(Table):
    property: str
    specification: str | None = None


_Checks = Mapping[str, str | _TemporalCheck]


class _RowTable(Table):
    label: str = Field(pattern=r"^[^×]+$")
    module: str = Field(pattern=r"^[A-Za-z0-9_]+$")
    base: str
    constants: Mapping[str, bool | int | str] = {}
    checks: _Checks | None = None
    violated: Mapping[str, int | Literal[True]] | None = None
    generated: int | None = None
    distinct: int | None = None
    measured: tuple[Mapping[str, str], ...] = ()


class _GridTable(Table):
    title: str
    adapter: str | None = None
    checks: _Checks = Field(default_factory=dict)
    rows: tuple[_RowTable, ...] = Field(min_length=1)

    def checks_of(self, row: _RowTable) -> _Checks:
        """A row's own checks, or those of all rows."""
        return self.checks if row.checks is None else row.checks


@dataclass(frozen=True)
class Row:
    """A model that is held against every column of its grid."""

    label: str
    spec: Spec = field(repr=False)
    base: Model = field(repr=False)
    constants: Mapping[str, bool | int | str]
    """In place of the base's."""
    measured: tuple[Mapping[str, str], ...]
    """Options of an adapter, a set a replay."""


@dataclass(frozen=True)
class Cell:
    """One checker run of a grid."""

    row: Row
    column: str
    model: Model = field(repr=False)
    """What is checked, and what it has to come out as; called after the cell."""

    @property
    def name(self) -> str:
        """What the cell is called, unique in its grid."""
        return self.model.name

    @property
    def bounds(self) -> str:
        """The name of the model whose behaviours it has, for its counterexample."""
        changed = ", ".join(f"{name} = {value}" for name, value in self.row.constants.items())
        return f"{self.row.base.name}{f' with {changed}' if changed else ''}"


@dataclass(frozen=True)
class Grid:
    """Rows, columns and cells, in the order of the file."""

    path: Path
    title: str
    adapter: str | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.name.removesuffix(SUFFIX)


def load_grid(path: Path) -> Grid:
    """Load a grid with the modules it names.

    Raises GridError, SpecError or ConfigError, which name the file and, where there is one, the
    line.
    """
    if not path.name.endswith(SUFFIX):
        raise GridError(f"{path}: the name of a grid ends in {SUFFIX}")
    table, text = read_table(path, _GridTable, {"rows": _RowTable}, GridError)
    specs: dict[str, Spec] = {}
    rows: list[Row] = []
    cells: list[Cell] = []
    for number, entry in enumerate(table.rows):
        place: Place = ("rows", number)
        module = path.with_name(f"{entry.module}.tla")
        if not module.is_file():
            where = place_of(path, text, (*place, "module"))
            raise GridError(f"{where}: there is no file {module}")
        spec = specs.get(entry.module) or specs.setdefault(entry.module, load_spec(module))
        known_before = [row.label for row in rows]
        for where_to, problem in _problems(table, number, spec, known_before):
            raise GridError(f"{place_of(path, text, where_to)}: {problem}")
        row = Row(entry.label, spec, spec.models[entry.base], entry.constants, entry.measured)
        rows.append(row)
        try:
            cells += _cells(entry, table.checks_of(entry), row)
        except ConfigError as error:
            raise GridError(f"{place_of(path, text, (*place, 'constants'))}: {error}") from None
    columns = dict.fromkeys((*table.checks, *(cell.column for cell in cells)))
    used = {cell.column for cell in cells}
    shown = tuple(column for column in columns if column in used)
    return Grid(path, table.title, table.adapter, shown, tuple(rows), tuple(cells))


def _problems(
    table: _GridTable, number: int, spec: Spec, labels: Sequence[str]
) -> Iterator[tuple[Place, str]]:
    """What of a row has to be known somewhere and is not: its place, and what is to be said."""
    row = table.rows[number]
    here: Place = ("rows", number)
    checks = table.checks_of(row)
    if row.label in labels:
        yield (*here, "label"), f"there is a row {row.label!r} before; give each its own label"
    if row.base not in spec.models:
        known = ", ".join(spec.models)
        yield (*here, "base"), f"{spec.module} has no model {row.base!r} (known: {known})"
    for name in row.constants:
        if name not in spec.source.constants:
            known = ", ".join(spec.source.constants)
            problem = f"{spec.path.name} declares no constant {name!r} (known: {known})"
            yield (*here, "constants", name), problem
    for heading, check in checks.items():
        names = (check,) if isinstance(check, str) else (check.property, check.specification)
        for defined in names:
            if defined is not None and defined not in spec.source.definitions:
                place = (*(() if row.checks is None else here), "checks", heading)
                yield place, f"row {row.label!r}: {defined!r} is not defined in {spec.path.name}"
    if row.violated is not None and not checks:
        problem = f"the row has no checks; what {row.base} expects stands in the module's TOML"
        yield (*here, "violated"), problem
    for heading in row.violated or ():
        if heading not in checks:
            known = ", ".join(checks)
            yield (*here, "violated", heading), f"no column {heading!r} (known: {known})"
    for size in ("generated", "distinct"):
        if row.violated is None and getattr(row, size) is not None:
            problem = "this is of the cells that hold; name the others, with `violated`"
            yield (*here, size), problem
    if row.measured and table.adapter is None:
        yield (*here, "measured"), "say with `adapter`, above the rows, what was replayed on"


def _cells(entry: _RowTable, checks: _Checks, row: Row) -> Iterator[Cell]:
    base = row.base
    config = base.config.with_constants(entry.constants)
    if not checks:
        expect = None if entry.constants else base.expect
        model = Model(row.label, base.title, config, expect, base.slow)
        yield Cell(row, AS_CONFIGURED, model)
    for heading, check in checks.items():
        name = f"{row.label} × {heading}"
        expect = _expected(entry, heading, check)
        yield Cell(row, heading, Model(name, "", _checking(config, check), expect, base.slow))


def _checking(config: Config, check: str | _TemporalCheck) -> Config:
    if isinstance(check, str):
        return replace(config, invariants=(check,), properties=())
    alone = replace(config, invariants=(), properties=(check.property,))
    if check.specification is None:
        return alone
    return replace(alone, specification=check.specification, init=None, next=None)


def _expected(row: _RowTable, heading: str, check: str | _TemporalCheck) -> Expect | None:
    if row.violated is None:
        return None
    if heading not in row.violated:
        return Expect(verdict="holds", generated=row.generated, distinct=row.distinct)
    states = row.violated[heading]
    name = check if isinstance(check, str) else check.property
    return Expect(verdict="violated", property=name, states=None if states is True else states)
