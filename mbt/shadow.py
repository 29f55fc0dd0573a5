"""Other distributions that install a package of one of our names.

PyPI knows several `adapters` and `replay`. Where one is found instead of ours, or was installed
over it, what runs is not mbt.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

NAMES = ("adapters", "mbt", "replay", "specs", "tracegen")
DISTRIBUTION = "tla-mbt"
ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds all of our packages."""


def warnings() -> list[str]:
    """What is wrong with our import names, cheap enough for the start of every command."""
    return [
        f"the import name {name} is not ours: {why}{_owners_of(name)}; "
        f"install {DISTRIBUTION} in an environment of its own"
        for name, why in (*_found_elsewhere(), *_overwritten())
    ]


def owners() -> dict[str, list[str]]:
    """Import name -> the other distributions that install it too. Reads every installed one."""
    found: dict[str, list[str]] = {}
    for other in distributions():
        name = other.metadata["Name"]
        if name and name != DISTRIBUTION:
            for taken in _top_level(other) & {*NAMES}:
                found.setdefault(taken, []).append(f"{name} {other.version}")
    return found


def _owners_of(name: str) -> str:
    names = ", ".join(owners().get(name, ()))
    return f", from {names}" if names else ""


def _found_elsewhere() -> Iterator[tuple[str, str]]:
    for name in NAMES:
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or origin.parent != ROOT / name:
            yield name, f"it is found in {origin.parent if origin else 'a folder without __init__'}"


def _overwritten() -> Iterator[tuple[str, str]]:
    """Packages of an installed wheel whose first file is not the one that it came with."""
    try:
        files = distribution(DISTRIBUTION).files or []
    except PackageNotFoundError:
        return
    for file in files:
        first = len(file.parts) == 2 and file.name == "__init__.py" and file.parts[0] in NAMES
        if first and file.hash:
            try:
                digest = hashlib.new(file.hash.mode, Path(str(file.locate())).read_bytes()).digest()
            except OSError:
                continue
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                yield file.parts[0], f"{file.locate()} was overwritten"


def _top_level(other: Distribution) -> set[str]:
    listed = other.read_text("top_level.txt")
    if listed is not None:
        return {*listed.split()}
    return {file.parts[0] for file in other.files or () if len(file.parts) > 1}
