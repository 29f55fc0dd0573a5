"""Results kept by digest in folders that are either whole or not there.

An entry is filled in a folder of its own and renamed into place, which is atomic: two processes
that make the same entry both end with a whole one, and a killed one leaves no half.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tracegen.errors import MbtError

_LEFT_BEHIND_AFTER_S = 24 * 3600.0
_SIZES = "sizes.json"
_FILLING = "mbt-filling-"


@dataclass(frozen=True)
class Cache:
    """A folder of entries. With `results` off none is read or kept; the folder still serves for
    what speeds up a run without deciding it (see `tracegen.jvm`)."""

    root: Path
    results: bool = True

    def find(self, key: str) -> Path | None:
        """The entry's folder, to be read only, or None where there is no whole one."""
        entry = self._entry(key)
        return entry if self.results and _is_whole(entry) else None

    @contextmanager
    def filling(self) -> Iterator[Path]:
        """A folder of one's own to fill, which goes away in the end unless it was kept.

        A cache that cannot be written to is never the reason that a run fails: the folder is then
        elsewhere.
        """
        folder = self._writable() if self.results else None
        folder = Path(tempfile.mkdtemp(prefix=_FILLING, dir=folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, key: str, folder: Path) -> Path | None:
        """Make a filled folder the entry; return where it is now, None where it was not kept."""
        entry = self._entry(key)
        if not self.results or folder.parent != self.root:
            return None
        try:
            _seal(folder)
            entry.parent.mkdir(parents=True, exist_ok=True)
            if entry.is_dir() and not _is_whole(entry):
                shutil.rmtree(entry)
            folder.rename(entry)
        except OSError:  # another process was first, or the disk is full
            return entry if _is_whole(entry) else None
        return entry

    def size(self) -> int:
        """Bytes in all entries."""
        files = self.root.rglob("*") if self.root.is_dir() else ()
        return sum(file.stat().st_size for file in files if file.is_file())

    def _entry(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def _writable(self) -> Path | None:
        """The root, without what killed processes left half filled; None where it is read only."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        for folder in self.root.glob(f"{_FILLING}*"):
            with suppress(OSError):  # others fill, keep and sweep at the same time
                if time.time() - folder.stat().st_mtime > _LEFT_BEHIND_AFTER_S:
                    shutil.rmtree(folder)
        return self.root if os.access(self.root, os.W_OK) else None


def open_cache(results: bool = True) -> Cache:
    """The cache of this user: $MBT_CACHE, else the platform's folder for caches."""
    named = os.environ.get("MBT_CACHE")
    root = Path(named) if named else Path(platformdirs.user_cache_dir("tla-mbt"))
    if root.exists() and not root.is_dir():
        raise MbtError(f"MBT_CACHE names {root}, which is not a folder")
    return Cache(root.absolute(), results)


def digest_of(parts: Mapping[str, object]) -> str:
    """SHA-256, hexadecimal, of a canonical form of JSON data."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _seal(folder: Path) -> None:
    """Write every file through to the disk, and down how long each of them is."""
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    (folder / _SIZES).write_text(json.dumps(sizes), encoding="utf-8")
    for file in folder.iterdir():
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_whole(entry: Path) -> bool:
    try:
        sizes: dict[str, int] = json.loads((entry / _SIZES).read_text(encoding="utf-8"))
        return all((entry / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False
