"""What a replay is measured against: the frameworks driven by a script, without the harness.

Forked from a process that only imported, the processes of a run make the calls that their script
names, append to the ledger, stop where the script kills or forks, and are killed and reaped.
Nothing is observed, compared or reported, and nothing of mbt is imported.

    python -m benchmarks.bare SCRIPTS.json

answers each number of a script on standard input, one a line, with what that script took.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.bare_frameworks import FRAMEWORKS, System

Framework = Literal["langgraph", "crewai"]
Method = Literal["start", "resume", "fork", "recover"]
RETURNED = 0  # a stop that is not at the entry of a task: after the call came back


@dataclass(frozen=True)
class Call:
    """One call into the framework, and the tasks at whose entry it stops."""

    method: Method
    value: str | None
    stops: tuple[int, ...]


@dataclass(frozen=True)
class Life:
    """What one process does from its fork to its end; `branch` is 0 for the primary run."""

    process: int
    branch: int
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Act:
    """What the driver does next.

    It forks the primary's process, awaits its next stop, lets it go on from there or kills it;
    or it runs the process of a branch to its end.
    """

    what: Literal["fork", "await", "go", "kill", "branch"]
    life: Life | None = None


@dataclass(frozen=True)
class Scripts:
    """What to run, on which framework, with which workflow."""

    framework: Framework
    route: str | None
    tasks: int
    gate: int
    scripts: tuple[tuple[Act, ...], ...]


Row = tuple[int, int, str | None, int]  # branch, task, value, process


@dataclass(frozen=True)
class Taken:
    """What a script took, and what it left in the ledger."""

    seconds: float
    forks: int
    kills: int
    rows: tuple[Row, ...]


class Process:
    """The process of a run that this is: what the bodies of tasks reach."""

    def __init__(self, folder: Path, life: Life, notes: dict[str, str], end: socket.socket) -> None:
        self.folder = folder
        self.life = life
        self.notes = notes
        self.note: Callable[[], None] = lambda: None
        self._end = end
        self._stops: tuple[int, ...] = ()
        self._ledger: sqlite3.Connection | None = None

    def live(self, system: System) -> None:
        """Make the calls, one after the other."""
        for call in self.life.calls:
            self._stops = call.stops
            arguments = [] if call.value is None else [call.value]
            getattr(system, call.method)(*arguments)
            self.enter(RETURNED)

    def enter(self, task: int) -> None:
        """Stop here, where the script says so, until the driver lets go or kills."""
        if task not in self._stops:
            return
        self.note()
        self._end.sendall(json.dumps(self.notes).encode() + b"\n")
        if not self._end.recv(1):
            os._exit(1)

    def effect(self, task: int, value: str | None) -> None:
        """Append a row to the ledger."""
        if self._ledger is None:
            self._ledger = sqlite3.connect(
                self.folder / "ledger.db", isolation_level=None, timeout=60, check_same_thread=False
            )
            self._ledger.execute("PRAGMA synchronous=OFF")
            self._ledger.execute("PRAGMA journal_mode=WAL")
            self._ledger.execute(
                "CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY, branch INTEGER NOT"
                " NULL, task INTEGER NOT NULL, value TEXT, process INTEGER NOT NULL)"
            )
        self._ledger.execute(
            "INSERT INTO effects (branch, task, value, process) VALUES (?, ?, ?, ?)",
            (self.life.branch, task, value, self.life.process),
        )


class Run:
    """One script under way."""

    def __init__(self, system: type[System], folder: Path) -> None:
        self.system = system
        self.folder = folder
        self.notes: dict[str, str] = {}
        self.pid = 0
        self.forks = self.kills = 0

    def act(self, act: Act) -> None:
        """Do one thing.

        Raises:
            RuntimeError: a process did not do what its script says.
        """
        if act.what == "fork":
            assert act.life is not None
            self.pid, self.end = self.fork(act.life)
        elif act.what == "await":
            line = b""
            while not line.endswith(b"\n"):
                received = self.end.recv(1 << 12)
                if not received:
                    raise RuntimeError("a process of the primary ended before its stop")
                line += received
            self.notes = json.loads(line)
        elif act.what == "go":
            self.end.sendall(b".")
        elif act.what == "kill":
            os.kill(self.pid, signal.SIGKILL)
            self.reap(self.pid, signal.SIGKILL)
            self.end.close()
            self.kills += 1
        else:
            assert act.life is not None
            pid, end = self.fork(act.life)
            self.reap(pid, 0)
            end.close()

    def fork(self, life: Life) -> tuple[int, socket.socket]:
        """Start a process of the run; return its id and our end of its connection."""
        ours, theirs = socket.socketpair()
        self.forks += 1
        pid = os.fork()
        if pid:
            theirs.close()
            return pid, ours
        try:
            ours.close()
            process = Process(self.folder, life, self.notes, theirs)
            system = self.system(process)
            process.live(system)
            system.close()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def reap(self, pid: int, expected: int) -> None:
        """Wait until a process is gone."""
        _, status = os.waitpid(pid, 0)
        if status != expected:
            raise RuntimeError(f"a process ended with wait status {status}, not {expected}")


def take(system: type[System], script: tuple[Act, ...], home: Path, number: int) -> Taken:
    """Run a script in a folder of its own; reading its ledger is not a part of the time."""
    started = time.perf_counter()
    folder = home / f"run-{number}"
    folder.mkdir()
    run = Run(system, folder)
    for act in script:
        run.act(act)
    ran = time.perf_counter()
    rows = read_ledger(folder / "ledger.db")
    read = time.perf_counter()
    shutil.rmtree(folder)
    ended = time.perf_counter()
    return Taken(ran - started + ended - read, run.forks, run.kills, rows)


def read_ledger(path: Path) -> tuple[Row, ...]:
    """The rows of a ledger, in the order in which the effects fired."""
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as ledger:
        query = "SELECT branch, task, value, process FROM effects ORDER BY id"
        return tuple(ledger.execute(query).fetchall())


def main() -> None:
    """Serve the numbers of scripts."""
    from pydantic import TypeAdapter

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what frameworks print is no answer
    given = TypeAdapter(Scripts).validate_json(Path(sys.argv[1]).read_bytes())
    system = FRAMEWORKS[given.framework](given.tasks, given.gate, given.route)
    answer = TypeAdapter(Taken).dump_json
    gc.collect()
    gc.freeze()
    answers.write("ready\n")
    with tempfile.TemporaryDirectory(prefix="bare-") as home:
        for line in sys.stdin:
            number = int(line)
            taken = take(system, given.scripts[number], Path(home), number)
            answers.write(answer(taken).decode() + "\n")


if __name__ == "__main__":
    main()
