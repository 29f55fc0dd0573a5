"""mbt doctor: say what is installed, where, and what is missing."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from mbt import shadow
from mbt.console import console, print_json
from replay.sweeps.environments import pins
from tracegen.apalache import find
from tracegen.cache import open_cache
from tracegen.errors import MbtError
from tracegen.jvm import Processes, supports_aot
from tracegen.tools import Tool, find_apalache, find_java, find_tlc

_USABLE, _UNUSABLE = 0, 3
_JAVA_OF_APALACHE = {"0.60": 25, "0.61": 17, "0.62": 21}
_STAND_IN = "mbt was tested with a stand-in for it alone (docs/apalache.md)"
_NO_APALACHE = (
    "not found (optional; it is in no package registry: unpack a release from its project page and "
    "set APALACHE_HOME to the folder, or APALACHE_JAR to the jar; the Java that it wants, by "
    f"release, is {', '.join(f'{number}: {java}' for number, java in _JAVA_OF_APALACHE.items())}); "
    f"{_STAND_IN}"
)


@click.command()
@click.option("--java", type=click.Path(path_type=Path), help="A Java launcher or JAVA_HOME.")
@click.option("--jar", type=click.Path(path_type=Path), help="A tla2tools.jar.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(java: Path | None, jar: Path | None, as_json: bool) -> int:
    """Say what mbt runs on: checker, frameworks, folders, import names.

    Ends with 0 where the checker can be run and the import names are ours, with 3 otherwise. A
    framework that is missing is no fault.
    """
    report = {
        "machine": [*_machine()],
        "checker": [*_checker(java, jar)],
        "frameworks": [*_frameworks()],
        "folders": [*_folders()],
        "import names": [*_import_names()],
    }
    if as_json:
        print_json(report)
    else:
        for heading, rows in report.items():
            _print(heading, rows)
    faults = [row for rows in report.values() for row in rows if row["state"] == "fault"]
    return _UNUSABLE if faults else _USABLE


Row = dict[str, Any]


def _entry(name: str, text: str, state: str = "fine", **more: object) -> Row:
    """A line of the report; state is fine, missing (not needed) or fault."""
    return {"name": name, "text": text, "state": state, **more}


def _machine() -> Iterator[Row]:
    yield _entry("mbt", version(shadow.DISTRIBUTION))
    yield _entry("python", f"{platform.python_version()} at {sys.executable}")
    yield _entry("system", f"{platform.platform()}, {os.cpu_count()} cores")


def _checker(java: Path | None, jar: Path | None) -> Iterator[Row]:
    found = _tool("java", lambda: find_java(java))
    if isinstance(found, Tool):
        yield _java_row(found)
    else:
        yield found
    tlc = _tool("TLC", lambda: find_tlc(jar))
    if isinstance(tlc, Tool):
        text = f"{tlc.version} at {tlc.path} ({tlc.origin}), sha256 {tlc.digest}"
        yield _entry("TLC", text, version=tlc.version, path=str(tlc.path), digest=tlc.digest)
    else:
        yield tlc
    yield _apalache_row(found)


def _apalache_row(java: Tool | Row) -> Row:
    """What is known of Apalache, and whether the Java found is new enough for it."""
    try:
        tool = find_apalache()
        if tool is None:
            return _entry("Apalache", _NO_APALACHE, "missing")
        if not isinstance(java, Tool):
            return _entry("Apalache", f"{tool.path} ({tool.origin}); there is no Java", "missing")
        tool = find(java)
    except MbtError as error:
        return _entry("Apalache", str(error), "fault")
    wanted = _JAVA_OF_APALACHE.get(".".join(tool.version.split(".")[:2]))
    wants = f"it wants Java {wanted}" if wanted else "which Java it wants is not known here"
    major = re.match(r"[0-9]+", java.version)
    too_old = wanted is not None and (major is None or int(major[0]) < wanted)
    text = (
        f"{tool.version} at {tool.path} ({tool.origin}), sha256 {tool.digest}; "
        f"{wants}, here is {java.version}; {_STAND_IN}"
    )
    facts = {"version": tool.version, "path": str(tool.path), "digest": tool.digest}
    return _entry("Apalache", text, "missing" if too_old else "fine", **facts)


def _tool(name: str, find: Callable[[], Tool]) -> Tool | Row:
    try:
        return find()
    except MbtError as error:
        return _entry(name, str(error), "fault")


def _java_row(java: Tool) -> Row:
    with Processes() as processes:
        ended = processes.run([str(java.path), "-version"], folder=Path.cwd(), timeout_s=30)
    if ended.code != 0:
        return _entry("java", f"{java.path} ({java.origin}) does not run", "fault")
    start = "with an AOT cache" if supports_aot(java) else "without an AOT cache (needs Java 25)"
    return _entry(
        "java",
        f"{java.version} at {java.path} ({java.origin}), started {start}",
        version=java.version,
        path=str(java.path),
    )


def _frameworks() -> Iterator[Row]:
    """Each framework that an extra of ours names: its pin and what is installed."""
    for pin in pins():
        facts = {"extra": pin.extra, "pin": pin.version}
        try:
            installed = version(pin.name)
        except PackageNotFoundError:
            text = f'not installed; pip install "{shadow.DISTRIBUTION}[{pin.extra}]"'
            yield _entry(pin.name, text, "missing", installed=None, **facts)
            continue
        same = installed == pin.version
        text = installed if same else f"{installed}, measured with {pin.version}"
        yield _entry(pin.name, text, "fine" if same else "missing", installed=installed, **facts)


def _folders() -> Iterator[Row]:
    data = shadow.ROOT / os.environ.get("MBT_DATA", "../shared/data")
    if data.is_dir():
        yield _entry("data", str(data.resolve()))
    else:
        text = f"{data.resolve()} is not there; only tests read it (MBT_DATA names it)"
        yield _entry("data", text, "missing")
    try:
        cache = open_cache()
    except MbtError as error:
        yield _entry("cache", str(error), "fault")
        return
    size = cache.size() / 1e6
    yield _entry("cache", f"{cache.root}, {size:,.1f} MB (MBT_CACHE names it; remove it at will)")
    yield _entry("mbt", str(shadow.ROOT))


def _import_names() -> Iterator[Row]:
    for warning in shadow.warnings():
        yield _entry("import", warning, "fault")
    others = shadow.owners()
    for name in shadow.NAMES:
        if name in others:
            text = f"also installed by {', '.join(others[name])}; whichever came last is what runs"
            yield _entry(name, text, "fault")
        else:
            yield _entry(name, "ours alone")


def _print(heading: str, rows: list[Row]) -> None:
    marks = {"fine": ("✓", "green"), "missing": ("–", "yellow"), "fault": ("✗", "bold red")}
    table = Table(box=None, show_header=False, padding=(0, 1))
    for row in rows:
        table.add_row(Text(*marks[row["state"]]), row["name"], row["text"])
    out = console()
    out.print(heading, style="bold")
    out.print(table)
