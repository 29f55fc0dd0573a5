"""Runs read back from a receipt: the records that its runs.jsonl holds, as they were written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.ledger import Row
from replay.record import Branch, Death, Double, Event, MicroStep, RunRecord
from tracegen.errors import MbtError

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say of which file it is that something is not of the form that a file of ours has."""
    try:
        yield
    except _MALFORMED as error:
        raise MbtError(
            f"{path}: not of the form it should have ({type(error).__name__}: {error})"
        ) from None


@dataclass(frozen=True)
class StoredRun:
    """A run of a receipt: the part of the suite that it belongs to, and its record.

    The record lacks what a receipt leaves out: process ids, and the raw observations that say no
    more than the model's variables do.
    """

    part: str
    record: RunRecord

    @property
    def steps(self) -> int:
        """How many steps of its trace it took."""
        return len({micro.step for micro in self.record.micro if micro.step is not None})


def read_runs(folder: Path) -> list[StoredRun]:
    """The runs of a receipt, in its order.

    Args:
        folder: of the receipt, with a runs.jsonl as `replay.receipts.run_data` makes its lines.

    Raises:
        MbtError: there is no such file, or a line is no run; the message names file and line.
    """
    path = folder / "runs.jsonl"
    try:
        lines = lines_of(path)
    except (OSError, UnicodeDecodeError) as error:
        raise MbtError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from None
    runs = []
    for number, line in enumerate(lines, 1):
        try:
            runs.append(run_of(json.loads(line)))
        except _MALFORMED as error:
            raise MbtError(
                f"{path}:{number}: not a run of a receipt ({type(error).__name__}: {error})"
            ) from None
    return runs


def lines_of(path: Path) -> list[str]:
    """The lines of a JSON lines file; U+2028 and the like, which stand in texts, end none."""
    text = path.read_text(encoding="utf-8").removesuffix("\n")
    return text.split("\n") if text else []


def run_of(data: Mapping[str, Any]) -> StoredRun:
    """One run, from the object that `replay.receipts.run_data` made of it."""
    record = RunRecord(
        trace=data["trace"],
        digest=data["digest"],
        micro=tuple(_micro(data["micro"])),
        branches=tuple(
            Branch(**{**row, "inherited": tuple(row["inherited"]), "own": tuple(row["own"])})
            for row in data["branches"]
        ),
        deaths=tuple(Death(**row) for row in data["deaths"]),
        doubles=tuple(Double(**row) for row in data["doubles"]),
        inapplicable={int(step): reason for step, reason in data["inapplicable"].items()},
        dropped=tuple(data["dropped"]),
        facts=tuple(data["facts"]),
        ledger=tuple(Row(*row) for row in data["ledger"]),
        process_ids=(),
    )
    named = (data["part"], record.trace, record.digest, *(m.action for m in record.micro))
    if not all(isinstance(name, str) for name in named):
        raise TypeError("its part, trace, digest and actions are texts")
    return StoredRun(data["part"], record)


def _micro(rows: list[Mapping[str, Any]]) -> Iterator[MicroStep]:
    """The micro-steps of a run; each is told by how it differs from the one before."""
    observed: dict[str, Any] = {}
    process = 0
    for row in rows:
        process = row.get("process", process)
        gone = {*row.get("gone", ())}
        grown = {n: [*observed[n], *more] for n, more in row.get("grown", {}).items()}
        observed = {
            name: value
            for name, value in {**observed, **row.get("changed", {}), **grown}.items()
            if name not in gone
        }
        yield MicroStep(
            step=row.get("step"),
            part=row["part"],
            action=row.get("action", ""),
            params=row.get("params", {}),
            at=row.get("at"),
            process=process,
            observed=observed,
            events=tuple(Event(**event) for event in row.get("events", ())),
            error=row.get("error"),
            poison=row.get("poison", False),
            folded=row.get("folded", False),
            raw=row.get("raw") or None,
        )
