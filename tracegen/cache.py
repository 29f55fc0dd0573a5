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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tracegen.errors import MbtError

_LEFT_BEHIND_AFTER_S = 24 * 3600.0
_SIZES = "sizes.json"


@dataclass(frozen=True)
class Cache:
    """A folder of entries. With `results` off none is read or kept; the folder still serves for
    what speeds up a run without deciding it (see `tracegen.jvm`)."""

    root: Path
    results: bool = True

    def find(self, key: str) -> Path | None:
        """The entry's folder, to be read only, or None where there is no whole one."""
        entry = self._entry(key)
        if not self.results or not entry.is_dir():
            return None
        return entry if _is_whole(entry) else None

    def keep(self, key: str, fill: Callable[[Path], None]) -> Path | None:
        """Make an entry of what `fill` writes into the folder it is given; return its folder.

        None where results are off or the folder cannot be written: a cache is never the reason
        that a run fails.
        """
        if not self.results:
            return None
        entry = self._entry(key)
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
            self._sweep()
            filling = Path(tempfile.mkdtemp(prefix="filling-", dir=self.root))
        except OSError:
            return None
        try:
            fill(filling)
            _seal(filling)
            if entry.is_dir() and not _is_whole(entry):
                shutil.rmtree(entry, ignore_errors=True)
            try:
                filling.rename(entry)
            except OSError:  # another process was first
                shutil.rmtree(filling, ignore_errors=True)
            return entry if _is_whole(entry) else None
        except OSError:
            shutil.rmtree(filling, ignore_errors=True)
            return None
        except BaseException:
            shutil.rmtree(filling, ignore_errors=True)
            raise

    def size(self) -> int:
        """Bytes in all entries."""
        files = self.root.rglob("*") if self.root.is_dir() else ()
        return sum(file.stat().st_size for file in files if file.is_file())

    def _entry(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def _sweep(self) -> None:
        """Remove what killed processes left half filled."""
        for folder in self.root.glob("filling-*"):
            try:
                abandoned = time.time() - folder.stat().st_mtime > _LEFT_BEHIND_AFTER_S
            except OSError:
                continue
            if abandoned:
                shutil.rmtree(folder, ignore_errors=True)


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
