"""Files that others write and read: none is read without an end, none appears half-written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tracegen.errors import MbtError

LIMIT = 64 * 2**20
"""Bytes of a file that holds traces of another tool: real ones have under two million."""


def read_limited(path: Path) -> bytes:
    """The bytes of a file. Raises MbtError where it cannot be read, or has more than LIMIT."""
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise MbtError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > LIMIT:
        raise MbtError(f"{path}: more than {LIMIT // 2**20} MB, which is no file of traces")
    return data


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """An ASCII file to write, which appears at `path` when the context is left without error."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
