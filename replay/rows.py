"""The replays whose receipts are kept, as `rows.toml` beside the receipts names them.

[[table]]
title = "LangGraph, graph API"          # a table of TABLE.md for each of its modules
framework = "LangGraph"                 # also rows of the conformance table
mechanism = "graph API"
modules = ["ResumeContract", "R11_ConsumeCount"]
adapter = "langgraph"
model = "R11-effect"                    # instead of the module's suite
repeat = 100                            # each trace that often
rows = [{}, { route = "replay" }]       # options of the adapter, a replay each and module
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from adapters.registry import UnknownAdapter, load_adapter, locate
from replay.receipts import FORMAT, MANIFEST, STABLE, read_manifest, receipt_name
from tracegen.errors import MbtError
from tracegen.spec_tables import Table
from tracegen.tomltable import place_of, read_table

ROWS = "rows.toml"
Receipt = Mapping[str, Any]


class RowsError(MbtError):
    """The file of rows is wrong; the message names file and line."""


class _TableTable(Table):
    title: str
    framework: str | None = None
    mechanism: str = ""
    modules: tuple[str, ...] = Field(min_length=1)
    adapter: str
    model: str | None = None
    repeat: int = 1
    rows: tuple[Mapping[str, str], ...] = Field(min_length=1)


class _RowsFile(Table):
    table: tuple[_TableTable, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Row:
    """One replay.

    Attributes:
        title: of the table that it is a row of.
        framework, mechanism: whose row of the conformance table, None where of none.
        chosen: the options that the row is about, as they stand in the file.
        defaults: every option of the adapter, with the choice that is made where none is.
        name: the folder of its receipt, relative to the receipts.
    """

    title: str
    framework: str | None
    mechanism: str
    module: str
    adapter: str
    model: str | None
    repeat: int
    chosen: Mapping[str, str]
    defaults: Mapping[str, str]
    name: str
    root: Path = field(repr=False)

    @property
    def options(self) -> dict[str, str]:
        """Every option of the adapter, with the choice made."""
        return {**self.defaults, **self.chosen}

    @property
    def differing(self) -> dict[str, str]:
        """The options that are not the default."""
        return {n: value for n, value in self.options.items() if value != self.defaults[n]}

    @property
    def folder(self) -> Path:
        """Where its receipt is."""
        return self.root / self.name

    @property
    def words(self) -> tuple[str, ...]:
        """What `mbt replay` is asked for."""
        words = [f"specs/{self.module}.tla", "--adapter", self.adapter]
        words += ["--model", self.model] if self.model else []
        words += ["--repeat", str(self.repeat)] if self.repeat > 1 else []
        return (*words, *(f"--option={name}={value}" for name, value in self.chosen.items()))

    def receipt(self) -> Receipt:
        """Its receipt.

        Raises:
            MbtError: there is none, or it is none of this format.
        """
        path = self.folder / "receipt.json"
        again = f"write it with: mbt replay {' '.join(self.words)} --receipts {self.root}"
        try:
            content: Receipt = json.loads(path.read_text(encoding="utf-8"))
            whole = content["format"] == FORMAT and "servers" in content
            if not whole or content["options"] != self.options:
                raise MbtError(f"{path}: a receipt of another form or of other options; {again}")
        except OSError as error:
            raise MbtError(f"cannot read {path}: {error.strerror}; {again}") from None
        except (ValueError, KeyError, TypeError):
            raise MbtError(f"{path}: not a receipt; {again}") from None
        return content

    def stands(self, provenance: Receipt) -> bool:
        """Whether its receipt is whole, and of what `replay.provenance` says is here."""
        try:
            content = self.receipt()
        except MbtError:
            return False
        digests = read_manifest(self.root)
        files = [name for name in STABLE if (self.folder / name).is_file()]
        whole = files[:2] == [*STABLE[:2]] and all(
            hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
            == digests.get(f"{self.name}/{name}")
            for name in files
        )
        same = all(content.get(key) == value for key, value in provenance.items())
        return whole and same and content["repeat"] == self.repeat


def read_rows(root: Path) -> list[Row]:
    """The rows of `rows.toml` below the receipts, in its order; those of a module stay together.

    Raises RowsError: it cannot be read, or names an adapter, an option or a choice that is not
    there, or the same replay twice.
    """
    path = root / ROWS
    content, text = read_table(path, _RowsFile, {"table": _TableTable}, RowsError)
    rows: dict[str, Row] = {}
    for number, table in enumerate(content.table):
        here = ("table", number)
        try:
            rules = load_adapter(locate(table.adapter)).options
        except UnknownAdapter as error:
            raise RowsError(f"{place_of(path, text, (*here, 'adapter'))}: {error}") from None
        defaults = {name: option.default for name, option in rules.items()}
        for module in table.modules:
            for position, chosen in enumerate(table.rows):
                place = place_of(path, text, (*here, "rows", position))
                for name, value in chosen.items():
                    if name not in rules:
                        known = ", ".join(rules) or "none"
                        raise RowsError(f"{place}: no option {name!r} (known: {known})")
                    if rules[name].choices and value not in rules[name].choices:
                        choices = ", ".join(rules[name].choices)
                        raise RowsError(f"{place}: {name} is one of {choices}")
                row = _row(table, module, chosen, defaults, root)
                if row.name in rows:
                    raise RowsError(f"{place}: {row.name} stands in {rows[row.name].title!r} too")
                rows[row.name] = row
    return [*rows.values()]


def _row(
    table: _TableTable,
    module: str,
    chosen: Mapping[str, str],
    defaults: Mapping[str, str],
    root: Path,
) -> Row:
    selected = f"+{table.model}" if table.model else ""
    selected += f"+repeat={table.repeat}" if table.repeat > 1 else ""
    name = receipt_name(module, table.adapter, {**defaults, **chosen}, defaults, selected)
    return Row(
        title=table.title,
        framework=table.framework,
        mechanism=table.mechanism,
        module=module,
        adapter=table.adapter,
        model=table.model,
        repeat=table.repeat,
        chosen=chosen,
        defaults=defaults,
        name=name,
        root=root,
    )


def options_text(options: Mapping[str, str]) -> str:
    """Options for a reader."""
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "the defaults"


def unlisted(root: Path, rows: Sequence[Row]) -> list[str]:
    """Folders of receipts that are of no row."""
    listed = {row.name for row in rows}
    entries = (path.rpartition("/") for path in read_manifest(root))
    found = {folder for folder, _, file in entries if file == "receipt.json"}
    return [f"{MANIFEST}: {name} is of no row of {ROWS}" for name in sorted(found - listed)]
