"""Copies of the store that a crash left: to recover from the same state twice."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

LOG, LEDGER = "log.txt", "ledger.db"
"""What is no store: a copy begins with a log and a ledger of its own."""
_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")


def copy_store(source: Path, target: Path) -> None:
    """Copy the stores of a run into a new folder, while no process writes to them.

    SQLite databases are copied with the backup API: as a file, one that was killed while it was
    open misses what stands in the write-ahead log beside it.
    """
    target.mkdir()
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if path.is_dir():
            (target / name).mkdir(parents=True, exist_ok=True)
        elif path.is_file() and name.parts[0] not in {LOG, *_names_of(LEDGER)}:
            if _is_sqlite(path):
                _back_up(path, target / name)
            elif path.suffix == ".json":
                # Some name the folder that they are in (CrewAI's checkpoints do), and what
                # recovers from the copy would go on in the run's own.
                text = path.read_bytes().replace(f"{source}/".encode(), f"{target}/".encode())
                (target / name).write_bytes(text)
            elif not (str(path).endswith(_BESIDE) and _is_sqlite(_database_of(path))):
                shutil.copy2(path, target / name)


def moved(value: Any, source: Path, target: Path) -> Any:
    """What a caller wrote down (JSON), with the paths of the one folder led into the other."""
    if isinstance(value, str):
        inside = value == str(source) or value.startswith(f"{source}/")
        return f"{target}{value[len(str(source)) :]}" if inside else value
    if isinstance(value, list):
        return [moved(entry, source, target) for entry in value]
    if isinstance(value, dict):
        return {name: moved(entry, source, target) for name, entry in value.items()}
    return value


def _names_of(database: str) -> set[str]:
    return {database, *(database + end for end in _BESIDE)}


def _database_of(path: Path) -> Path:
    return path.with_name(path.name.rpartition("-")[0])


def _is_sqlite(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _back_up(source: Path, target: Path) -> None:
    # Read only: the last connection that closes would otherwise clear the log away.
    reading = sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=60)
    writing = sqlite3.connect(target)
    try:
        reading.backup(writing)
    finally:
        writing.close()
        reading.close()
