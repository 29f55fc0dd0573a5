"""Running the mutants of the harness: rows of the real pipeline, without a mutant and with each.

Everything happens in the process that asks for it and in hosts of its own; a mutant is in force
for one operator's rows and is then taken back.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest.mock import patch

import specs
from adapters.registry import load_adapter, versions_of
from adapters.services import Services
from replay import suite
from replay.models import Models
from replay.parts import Selection, plan_parts
from replay.provenance import file_digest
from replay.record import RunRecord
from replay.selfcheck.mutant import Mutant
from replay.selfcheck.mutants import MUTANTS
from replay.selfcheck.plan import (
    COVERED,
    DIVERGING,
    EXPLAINED,
    FILE,
    INAPPLICABLE,
    LARGER,
    REFUSED,
    USUAL,
    Cells,
    Operator,
    Plan,
    Row,
    flips,
)
from replay.selfcheck.study import unkilled
from replay.suite import Replay, replay_suite
from replay.tables import mechanisms
from tracegen.errors import MachineryError
from tracegen.spec import Spec, load_spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace

Progress = Callable[[str, int, int], None]
_WHO = re.compile(r"trace \S+ on adapter \S+, [^:]*: ")
_NUMBERS = re.compile(r"judged \d+ of \d+")
_FOLDER = re.compile(r"/\S*/")
_STATE = " While working on"


class Kept:
    """Stands in for `replay.parallel.Drivers`: the runs of the baseline, by trace."""

    services = Services(None)

    def __init__(self, runs: Mapping[str, RunRecord]) -> None:
        self._runs = runs

    def __call__(self, *arguments: Any, **more: Any) -> Kept:
        """Be the drivers of a replay."""
        return self

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def replay(
        self, spec: Spec, traces: Sequence[Trace], on_done: Callable[[], None]
    ) -> list[RunRecord]:
        """Return the records of traces."""
        return [self._runs[trace.digest] for trace in traces]


class Bench:
    """Rows that are measured, first without a mutant.

    Attributes:
        baselines: by row, what it came to without a mutant.
    """

    def __init__(self, checker: RunOptions) -> None:
        """Take how the checker is run."""
        self._checker = checker
        self._specs: dict[str, tuple[Spec, Models]] = {}
        self._runs: dict[str, dict[str, RunRecord]] = {}
        self.baselines: dict[str, Cells] = {}

    def baseline(self, row: Row) -> Cells:
        """What a row comes to without a mutant, measured once.

        Raises:
            MachineryError: it does not come to what the plan says, so that mutants of it would
                say nothing.
        """
        if row.name not in self.baselines:
            found = self._replay(row, Mutant())
            expected = _expected(row, found.spec)
            self.baselines[row.name] = cells = _cells(found, expected)
            if wrong := [name for name in expected if cells[name] != expected[name]]:
                told = ", ".join(f"{n} is {cells[n]}, not {expected[n]}" for n in wrong)
                raise MachineryError(
                    f"selfcheck, row {row.name}, without any mutant: {told}; either the harness "
                    "is broken, or another release of the system is installed"
                )
            records = [record for result in found.parts for record in result.records]
            self._runs[row.name] = {record.digest: record for record in records}
        return self.baselines[row.name]

    def mutated(self, row: Row, mutant: Mutant) -> Cells:
        """What a row comes to under a mutant that is in force, or {"refused": the message}."""
        baseline = self.baseline(row)
        kept = None if mutant.walks else Kept(self._runs[row.name])
        try:
            with patch.object(suite, "Drivers", kept) if kept else nullcontext():
                return _cells(self._replay(row, mutant), baseline)
        except MachineryError as error:
            return {REFUSED: _anonymous(str(error))}

    def _replay(self, row: Row, mutant: Mutant) -> Replay:
        if row.module not in self._specs:
            spec = load_spec(Path(specs.__file__).with_name(f"{row.module}.tla"))
            self._specs[row.module] = spec, Models(spec, self._checker)
        spec, models = self._specs[row.module]
        reference = row.reference(mutant.form)
        adapter = load_adapter(reference)
        return replay_suite(
            spec,
            plan_parts(spec, Selection(models=row.models), self._checker),
            row.adapter,
            reference,
            adapter,
            {name: option.default for name, option in adapter.options.items()} | {**row.options},
            models,
            self._checker,
            jobs=os.cpu_count() or 1,
            again=False,
        )


def _expected(row: Row, spec: Spec) -> dict[str, Any]:
    return {**dict.fromkeys(spec.properties, "not provoked"), **USUAL, **row.expect}


def _cells(found: Replay, wanted: Iterable[str]) -> dict[str, Any]:
    """The cells of a replay."""
    first, explanation = found.parts[0], found.explanation
    assert explanation is not None
    inapplicable = any(result.inapplicable for result in found.parts)
    cells = {
        **{name: found.cell(name) for name in found.spec.properties},
        DIVERGING: sum(len(result.diverging) for result in found.parts),
        EXPLAINED: mechanisms(explanation),
        LARGER: ", ".join(map(explanation.name, explanation.larger)) or "none",
        # Of the first part: the others are a counterexample, which covers no model.
        COVERED: "all" if len(first.covered) == first.transitions else "part",
        INAPPLICABLE: "some" if inapplicable else "none",
    }
    return {name: cells[name] for name in wanted}


def _anonymous(message: str) -> str:
    """What a failure says, without what differs from one run to the next, and without the state."""
    first = message.partition("\n")[0].partition(_STATE)[0]
    return _FOLDER.sub("", _NUMBERS.sub("judged some of the", _WHO.sub("", first)))


def run_operator(
    bench: Bench, plan: Plan, operator: Operator, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Run the rows of an operator under its mutant: row -> the cells that changed."""
    rows = [plan.rows[name] for name in operator.predicted]
    for row in rows:
        bench.baseline(row)
    mutant, actual = MUTANTS[operator.name], {}
    with mutant.applied():
        for done, row in enumerate(rows):
            progress(done, len(rows))
            actual[row.name] = flips(bench.baselines[row.name], bench.mutated(row, mutant))
    progress(len(rows), len(rows))
    return actual


def measure(
    plan: Plan,
    names: Sequence[str],
    checker: RunOptions,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Run mutants of the harness.

    Args:
        names: of the operators.
        progress: told the operator, how many of its rows are done, and of how many.

    Returns:
        The study's receipt: where and when, versions and digests, the rows with their cells, and
        each operator with what was predicted and what came out.

    Raises:
        MachineryError: a row does not come to what it should without a mutant.
        MissingFramework: a framework is not installed.
    """
    began, bench = time.monotonic(), Bench(checker)
    found: dict[str, Any] = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    operators = [plan.operators[name] for name in names]
    used = {name for operator in operators for name in operator.predicted}
    rows = [row for row in plan.rows.values() if row.name in used]
    for done, row in enumerate(rows):
        progress("without a mutant", done, len(rows))
        bench.baseline(row)
    progress("without a mutant", len(rows), len(rows))
    results = [
        {**asdict(operator), "actual": run_operator(bench, plan, operator, partial(progress, name))}
        for name, operator in zip(names, operators, strict=True)
    ]
    adapters = [load_adapter(row.reference(None)) for row in rows]
    versions = {name: v for adapter in adapters for name, v in versions_of(adapter).items()}
    content = {
        **found,
        "seconds": round(time.monotonic() - began),
        "versions": {"tla-mbt": version("tla-mbt"), **dict(sorted(versions.items()))},
        "digests": {
            "selfcheck.toml": file_digest(FILE),
            "tla2tools.jar": checker["tools"].tlc.digest,
        },
        "registered": plan.registered,
        "rows": [
            {
                "name": row.name,
                "about": row.about,
                "adapter": row.adapter,
                "module": row.module,
                "models": [*row.models],
                "options": {**row.options},
                "cells": bench.baselines[row.name],
            }
            for row in rows
        ],
        "operators": results,
    }
    return {**content, "unkilled": unkilled(content)}
