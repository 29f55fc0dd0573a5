"""The ledger: what effects really fired, in a file apart from any framework's store.

A row is autocommitted by the process that fires the effect, in the body of the task, so it
is there whatever becomes of that process afterwards. The journal is not synchronised to the
disk: a row survives the death of every process, not that of the machine.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS effects (
    id INTEGER PRIMARY KEY,
    branch INTEGER NOT NULL,
    task INTEGER NOT NULL,
    value TEXT,
    process INTEGER NOT NULL
)
"""


@dataclass(frozen=True)
class Row:
    """One effect.

    Attributes:
        branch: 0 for the primary run, k for the branch of the k-th fork.
        task: the task whose effect it is, from 1.
        value: the resume value that the task used, None where it used none.
        process: the ordinal, within the run, of the process that fired it.
    """

    branch: int
    task: int
    value: str | None
    process: int


class Ledger:
    """One run's ledger. Each process opens its own."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(
            path, isolation_level=None, timeout=60, check_same_thread=False
        )
        self._connection.execute("PRAGMA synchronous=OFF")
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(_SCHEMA)
        self._seen = 0

    def append(self, row: Row) -> None:
        """Record one effect, durably, before this returns."""
        self._connection.execute(
            "INSERT INTO effects (branch, task, value, process) VALUES (?, ?, ?, ?)",
            (row.branch, row.task, row.value, row.process),
        )

    def new_rows(self) -> list[Row]:
        """Return the rows that were not returned before, in the order in which they fired."""
        rows = self._connection.execute(
            "SELECT id, branch, task, value, process FROM effects WHERE id > ? ORDER BY id",
            (self._seen,),
        ).fetchall()
        if rows:
            self._seen = rows[-1][0]
        return [Row(*row[1:]) for row in rows]

    def close(self) -> None:
        """Close the connection; the rows stay."""
        self._connection.close()
