"""What git says of a file: whether it was committed before something was done with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tracegen.errors import MbtError

_NEXT = (
    "a prediction counts as one because its registration was committed before the run, so both "
    "are made in a git repository"
)


def top_of(folder: Path) -> Path:
    """The top folder of the repository that a folder is in. Raises MbtError where it is in none."""
    return Path(_git(folder, "rev-parse", "--show-toplevel").decode().strip()).resolve()


def head_of(folder: Path) -> str:
    """The commit that is checked out. Raises MbtError where there is none."""
    return _git(folder, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()


def is_here(folder: Path, commit: str) -> bool:
    """Whether a commit can be looked at: not outside of git, nor in a copy without its history."""
    try:
        return _git(folder, "cat-file", "-t", commit) == b"commit\n"
    except MbtError:
        return False


def committed(file: Path, commit: str = "HEAD") -> bool:
    """Whether a commit, by default that checked out, holds a file as it is now, byte for byte."""
    top, place = top_of(file.parent), file.resolve()
    if not place.is_relative_to(top):
        return False  # a link that leads out of the repository
    try:
        kept = _git(top, "cat-file", "blob", f"{commit}:{place.relative_to(top).as_posix()}")
    except MbtError:
        return False
    return kept == place.read_bytes()


def _git(folder: Path, *words: str) -> bytes:
    git = shutil.which("git")
    if git is None:
        raise MbtError(f"there is no git on PATH; {_NEXT}")
    done = subprocess.run(
        [git, "-C", str(folder), *words], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise MbtError(f"{folder}: {lines[0]}; {_NEXT}")
    return done.stdout
