"""Environments that hold one release of a framework each, made with uv and kept in the cache.

What is installed is the framework at the release, with those companions that the extra of
tla-mbt names for its adapter, each at what resolves with it. Nothing of mbt is installed: a host
that runs there is given the adapters by its path (`adapters.host.Host`).
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

from adapters.base import Adapter
from tracegen.cache import Cache, digest_of
from tracegen.errors import MbtError
from tracegen.jvm import Ended, Processes

FOLDER = "environments"
DISTRIBUTION = "tla-mbt"
_PIN = re.compile(r"""([\w.-]+)(\[.*?\])?==([\w.!+]+) *;.*extra *== *["']([\w-]+)["']""")
_VERSION = re.compile(r"[0-9][\w.!+]*")
_FRAME = re.compile(r"[\s×╰╭─▶│├]+")
_SAID = 400
"""Characters of what uv said that go into a message."""


class NotInstalled(MbtError):
    """A release cannot be installed: nothing is known about it."""


@dataclass(frozen=True)
class Pin:
    """A distribution that an extra of tla-mbt installs, at the version that was measured with."""

    extra: str
    name: str
    extras: str
    version: str


@dataclass(frozen=True)
class Environment:
    """An environment.

    Attributes:
        interpreter: its Python.
        packages: all that is installed in it, as NAME==VERSION.
    """

    folder: Path
    interpreter: Path
    packages: tuple[str, ...]

    @property
    def listed(self) -> dict[str, object]:
        """As a receipt lists it."""
        python = ".".join(platform.python_version_tuple()[:2])
        return {"python": python, "packages": list(self.packages)}


def framework_of(adapter: type[Adapter], name: str) -> str:
    """The distribution whose releases an adapter is swept over: the first that it names.

    Raises:
        MbtError: it names none.
    """
    if not adapter.distributions:
        raise MbtError(
            f"adapter {name} names no distribution, so there are no releases of it; set "
            f"`distributions` of {adapter.__name__} (docs/adapters.md)"
        )
    return adapter.distributions[0]


def pins() -> list[Pin]:
    """What the extras of tla-mbt install."""
    found = (_PIN.match(line) for line in requires(DISTRIBUTION) or ())
    return [Pin(f[4], f[1], f[2] or "", f[3]) for f in found if f is not None]


def pins_of(adapter: type[Adapter]) -> list[Pin]:
    """What the extras install that an adapter names; empty where it names none."""
    extras = (adapter.extra or "").split(",")
    return [pin for pin in pins() if pin.extra in extras]


def requirements_of(adapter: type[Adapter], framework: str, version: str) -> list[str]:
    """What is asked for: the framework at a version, its companions at whatever resolves.

    Raises:
        MbtError: it is no version.
    """
    if not _VERSION.fullmatch(version):
        raise MbtError(f"{version!r} is no version of {framework}; give numbers, as 1.0.5")
    companions = {pin.name: pin.extras for pin in pins_of(adapter)}
    companions |= {name: companions.get(name, "") for name in adapter.distributions}
    return [f"{framework}{companions.pop(framework)}=={version}"] + [
        f"{name}{extras}" for name, extras in sorted(companions.items())
    ]


def find_uv() -> Path:
    """uv: that of this environment, else the one on PATH.

    Raises:
        MbtError: there is none.
    """
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if found is None:
        raise MbtError("there is no uv, which makes the environments: pip install uv")
    return Path(found)


def environment_name(requirements: Sequence[str]) -> str:
    """The folder of an environment: the release, and a digest of all that decides about it."""
    release = requirements[0].replace("==", "-")
    safe = "".join(c if c.isalnum() or c in ".+-_" else "_" for c in release)
    key = {
        "requirements": list(requirements),
        "python": platform.python_version(),
        "prefix": sys.base_prefix,
    }
    return f"{safe}-{digest_of(key)[:12]}"


def open_environment(
    requirements: Sequence[str], cache: Cache, uv: Path, processes: Processes
) -> Environment:
    """An environment of ours, made where there is none yet. It is there whole, or not at all.

    Args:
        requirements: of `requirements_of`. Where they are installed from is uv's own
            configuration to say; the interpreter is the one that we run on.

    Raises:
        NotInstalled: uv finds no such release, or cannot install it.
        MbtError: no environment can be made in the cache.
    """
    home = cache.root / FOLDER
    folder = home / environment_name(requirements)
    if not folder.is_dir():
        with _writing(folder):  # before anything is installed
            home.mkdir(parents=True, exist_ok=True)
            if not os.access(home, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with cache.filling() as filling:
            made = filling / "environment"
            _make(requirements, made, uv, processes)
            with _writing(folder):
                made.rename(folder)
    interpreter = folder / "bin" / "python"
    listed = _uv([uv, "pip", "freeze", "--python", interpreter], processes)
    if listed.code:
        raise MbtError(f"{folder} is no environment any more: remove it, and it is made anew")
    return Environment(folder, interpreter, tuple(listed.stdout.splitlines()))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not folder.is_dir():  # else another sweep was faster
            raise MbtError(
                f"{folder} cannot be written: {error.strerror}; MBT_CACHE names another "
                "folder for what is kept"
            ) from None


def check_release(environment: Environment, framework: str, version: str) -> None:
    """See that an environment holds the release under the name that it was asked for by.

    Raises:
        NotInstalled: it has another name there (1.2 is 1.2.0), and would have rows under both.
    """
    installed = dict(line.partition("==")[::2] for line in environment.packages).get(framework)
    if installed != version:
        raise NotInstalled(f"what is installed for it is {installed}: ask for it by that name")


def _make(requirements: Sequence[str], folder: Path, uv: Path, processes: Processes) -> None:
    steps: list[list[str | Path]] = [
        [uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, folder],
        [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *requirements],
    ]
    for step in steps:
        ended = _uv(step, processes)
        if ended.code:
            said = _FRAME.sub(" ", ended.stderr).strip()[:_SAID] or f"it ended with {ended.code}"
            raise NotInstalled(f"{requirements[0]} cannot be installed; uv: {said}")


def _uv(command: Sequence[str | Path], processes: Processes) -> Ended:
    # In the user's folder, whose uv.toml may name the index.
    return processes.run([*map(str, command)], folder=Path.cwd())
