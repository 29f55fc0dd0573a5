"""Processes: a host that only imports, and the processes of runs, forked from it.

Importing a framework costs seconds and a run costs milliseconds. So one host a driver imports
the framework, once, and never runs a workflow; every process of a run is forked from it. A
recovery is then a process that has never seen the run, at the price of a fork. The host reaps
what it forked, so that a kill is over, its wait status known, before anyone reads the store.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from adapters.calls import call_under_way
from adapters.channel import Channel, ChannelError, Closed, Silent
from adapters.offline import ATTEMPTS, QUIET, attempts, forbid_network

START_LIMIT = 180.0  # seconds: an import that takes longer hangs
LAST_LINES = 5  # of what a process printed, in the report of its failure


class HostError(Exception):
    """The machinery failed: a process hung, died unasked, or spoke rubbish. Never a verdict."""


class Unprepared(HostError):
    """The adapter could not be prepared: an error of its own, against what is installed."""


class Threaded(HostError):
    """Preparing the adapter started threads, which no fork has."""


class MissingFramework(Exception):
    """The framework is not installed, or lacks what the adapter imports.

    Attributes:
        error: the type of the error.
        owners: distributions that the module which was not found, or lacked a name, is of.
    """

    def __init__(self, message: str, error: str, owners: Sequence[str]) -> None:
        super().__init__(message)
        self.error = error
        self.owners = tuple(owners)


class Process:
    """The driver's side of one process of a run."""

    def __init__(
        self, host: Host, pid: int, channel: Channel, ordinal: int, log: Path, limit: float
    ) -> None:
        self._host = host
        self._channel = channel
        self._log = log
        self._limit = limit
        self._status: int | None = None
        self._sent = 0
        self.pid = pid
        self.ordinal = ordinal

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message, return the report that answers it.

        Raises:
            HostError: no report came within the limit, the process died, or the adapter failed.
        """
        try:
            self._sent += 1
            self._channel.number = self._sent
            self._channel.send(message)
            report = self._channel.receive(self._limit)
        except Silent as error:
            raise self._failure(message, f"did not come back: {error}") from error
        except Closed as error:
            status = self._end(None)
            raise self._failure(message, f"died unasked (wait status {status})") from error
        except ChannelError as error:
            raise self._failure(message, f"spoke rubbish: {error}") from error
        if (report.get("number"), report.get("sender")) != (self._sent, self.pid):
            raise self._failure(
                message, "was answered by another process or out of turn: did a body fork?"
            )
        if report.get("fault"):
            raise self._failure(message, f"failed: {report['fault']}")
        return report

    def call(self, action: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Have the adapter take an action."""
        return self.ask({"op": "call", "action": action, "params": dict(params)})

    def kill(self) -> int:
        """SIGKILL the process and reap it; return its wait status."""
        status = self._end(signal.SIGKILL)
        self._channel.close()
        return status

    def finish(self) -> None:
        """Tell the process that nothing more is wanted of it, and reap it."""
        with contextlib.suppress(ChannelError):
            self._channel.send({"op": "exit"})
        self._channel.close()
        self._end(None)

    def _end(self, signal_number: int | None) -> int:
        """Reap the process, which can be done once; return its wait status."""
        if self._status is None:
            self._status = self._host.reap(self.pid, signal_number)
        return self._status

    def _failure(self, message: dict[str, Any], what: str) -> HostError:
        """Which process and call it was, what it was told, and its last output."""
        told = message.get("action", message["op"])
        call = call_under_way(self._log.parent, self.pid)
        inside = f"; it was in the call {call}" if call else ""
        return HostError(
            f"process {self.ordinal} of the run, told to {told}, {what}{inside}; "
            f"{_last_words(self._log)}"
        )


def _last_words(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    if not lines:
        return "it printed nothing"
    return "it last printed:" + "".join(f"\n  {line[:300]}" for line in lines[-LAST_LINES:])


class Host:
    """The driver's side of a host; a context manager.

    Attributes:
        prepared: which machines the adapter tried to reach while it was prepared.
    """

    #: What `fork` returns.
    kind: ClassVar[type[Process]] = Process
    prepared: Sequence[str] = ()

    def __init__(
        self,
        adapter: str,
        workflow: Mapping[str, Any],
        options: Mapping[str, str],
        *,
        fresh: bool = False,
        limit: float = 60.0,
        interpreter: Path | None = None,
    ) -> None:
        """Name what to host; `with` starts it.

        Args:
            adapter: MODULE:CLASS or FILE.py:CLASS.
            workflow: constants of the workflow that all runs share.
            options: the adapter's options, each with its choice.
            fresh: start every process of a run as a new interpreter instead of a fork.
            limit: seconds within which a process has to come back from a step.
            interpreter: the Python of another environment to run it in, by default ours. Of
                this environment it is then given what an adapter imports of mbt, and no more.
        """
        self._interpreter = interpreter
        self._hello = {
            "adapter": adapter,
            "workflow": dict(workflow),
            "options": dict(options),
            "fresh": fresh,
        }
        self._limit = limit
        # A driver that is told to stop may close the host under the one that waits for it.
        self._lock = threading.Lock()

    def __enter__(self) -> Host:
        self._home = tempfile.TemporaryDirectory(prefix="mbt-", ignore_cleanup_errors=True)
        self._channel, theirs = Channel.pair()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name in {"PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV"}
        }
        environment |= QUIET
        environment |= {"HOME": self._home.name, "TMPDIR": self._home.name}
        environment["PYTHONUNBUFFERED"] = "1"  # last words are worth having
        if self._interpreter is not None:
            environment.pop("VIRTUAL_ENV", None)
            environment["PYTHONPATH"] = os.pathsep.join(
                [
                    str(_importable(Path(self._home.name))),
                    *filter(None, [os.environ.get("PYTHONPATH")]),
                ]
            )
        self._log = Path(self._home.name) / "host.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(self._interpreter or sys.executable),
                    *("-P", "-m", "adapters.host", str(theirs.fileno())),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the driver, which then ends the host
            )
        theirs.close()
        try:
            self.hello = self._exchange(self._hello, limit=START_LIMIT)
        except BaseException:
            self.close()
            raise
        if "missing" in self.hello:
            self.close()
            raise MissingFramework(self.hello["missing"], self.hello["error"], self.hello["owners"])
        if "unprepared" in self.hello:
            self.close()
            raise Unprepared(
                f"adapter {self._hello['adapter']} cannot be prepared: {self.hello['unprepared']}"
            )
        if self.hello["threads"] > 1 and not self._hello["fresh"]:
            self.close()
            raise Threaded(
                f"preparing {self._hello['adapter']} started threads, which a fork does not have; "
                "start every process fresh instead (--fresh)"
            )
        self.prepared = self.attempts()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def versions(self) -> dict[str, str]:
        """Distribution -> version in the host's environment, of what the adapter names."""
        return dict(self.hello["versions"])

    @property
    def pid(self) -> int:
        """Its process id, which is that of its session as well."""
        return self._process.pid

    @property
    def adapter(self) -> str:
        """The adapter, short: FILE.py:CLASS without its folder, or MODULE:CLASS."""
        return str(self._hello["adapter"]).rpartition("/")[2]

    def attempts(self) -> list[str]:
        """Which machines it and the processes of runs tried to reach so far."""
        return attempts(self.folder / ATTEMPTS)

    @property
    def folder(self) -> Path:
        """Where the folders of runs can go; removed when the host closes."""
        return Path(self._home.name)

    def close(self) -> None:
        """End the host and everything it forked; nothing is left running."""
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._home.cleanup()

    def fork(self, context: Mapping[str, Any]) -> Process:
        """Start a process of a run.

        Args:
            context: what `adapters.base.Run` holds, without the workflow and the options.
        """
        ours, theirs = Channel.pair()
        try:
            answer = self._exchange({"op": "fork", **context}, descriptor=theirs.fileno())
        finally:
            theirs.close()
        log = Path(context["folder"]) / "log.txt"
        return self.kind(self, answer["pid"], ours, context["process"], log, self._limit)

    def reap(self, pid: int, signal_number: int | None) -> int:
        """Signal a process of a run, where asked to, and wait until it is gone.

        Returns:
            The wait status as `os.waitpid` gives it.
        """
        answer = self._exchange({"op": "reap", "pid": pid, "signal": signal_number})
        if "status" not in answer:
            raise HostError(f"a run's process did not end when told to (process id {pid})")
        return int(answer["status"])

    def _exchange(
        self,
        message: dict[str, Any],
        *,
        descriptor: int | None = None,
        limit: float | None = None,
    ) -> dict[str, Any]:
        try:
            with self._lock:
                self._channel.send(message, descriptor=descriptor)
                return self._channel.receive(limit or self._limit)
        except ChannelError as error:
            raise HostError(
                f"the host of adapter {self.adapter} is gone: {error}; {_last_words(self._log)}"
            ) from error


def _importable(home: Path) -> Path:
    """A folder for PYTHONPATH with the packages that adapters import, and nothing beside them."""
    folder = home / "packages"
    folder.mkdir()
    ours = Path(__file__).resolve().parent
    for package in (ours, ours.with_name("mbt")):
        (folder / package.name).symlink_to(package, target_is_directory=True)
    return folder


def missing_role(error: Exception, hello: Mapping[str, Any]) -> str | None:
    """Say that an adapter asked for a role that the module's workflow does not have."""
    role = error.args[0] if isinstance(error, KeyError) and error.args else None
    if role not in {"tasks", "gate", "gates"} or role in hello["workflow"]:
        return None
    there = ", ".join(hello["workflow"]) or "none"
    return f"it needs the workflow's role {role!r}, and the module names: {there}"


class _Server:
    """The host's own side: import, then fork and reap on request."""

    def __init__(self, control: Channel, hello: dict[str, Any]) -> None:
        from adapters.registry import load_adapter

        self.control = control
        self.hello = hello
        self.adapter = load_adapter(hello["adapter"])
        if not hello["fresh"]:
            self.adapter.prepare(hello["workflow"], hello["options"])
            gc.collect()
            gc.freeze()  # keep the collector from touching, and so copying, shared pages

    def fork(self, message: dict[str, Any], end: int) -> int:
        from adapters.worker import die_with_parent, work

        context = {**message, "workflow": self.hello["workflow"], "options": self.hello["options"]}
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        try:
            die_with_parent(parent)
            self.control.close()
            if self.hello["fresh"]:
                self._become_fresh(context, end)
            work(self.adapter, socket.socket(fileno=end), context)
        finally:
            os._exit(1)

    def _become_fresh(self, context: dict[str, Any], end: int) -> None:
        import json

        os.set_inheritable(end, True)
        context["adapter"] = self.hello["adapter"]
        arguments = ["-P", "-m", "adapters.worker", str(end), json.dumps(context)]
        os.execv(sys.executable, [sys.executable, *arguments])

    def serve(self) -> None:
        while True:
            try:
                message, end = self.control.receive_with_descriptor()
            except Closed:
                return
            if message["op"] == "fork":
                assert end is not None
                pid = self.fork(message, end)
                # Ours is closed before the next fork, so that no sibling holds it open and
                # the driver sees the end of a process that died.
                os.close(end)
                self.control.send({"pid": pid})
            else:
                if message["signal"]:
                    os.kill(message["pid"], message["signal"])
                _, status = os.waitpid(message["pid"], 0)
                self.control.send({"status": status})


def main() -> None:
    """Be a host: argv holds the descriptor of the control channel.

    A driver that goes, however it goes, closes the channel, and with it ends the host. (The
    kernel's parent-death signal would come when the driver's *thread* goes.)
    """
    from adapters.registry import UnknownAdapter, owners_of, versions_of

    forbid_network(Path(os.environ["HOME"]) / ATTEMPTS)
    control = Channel(socket.socket(fileno=int(sys.argv[1])))
    hello = control.receive()
    try:
        server = _Server(control, hello)
    except Exception as error:
        cause = (isinstance(error, UnknownAdapter) and error.__cause__) or error
        owners = owners_of(cause)
        kind = type(cause).__name__
        if owners or isinstance(error, ImportError | UnknownAdapter):
            control.send({"missing": str(error), "error": kind, "owners": owners})
        else:
            traceback.print_exc()
            control.send({"unprepared": missing_role(error, hello) or f"{kind}: {error}"})
        return
    threads = len(list(Path("/proc/self/task").iterdir()))
    control.send({"threads": threads, "versions": versions_of(server.adapter)})
    server.serve()


if __name__ == "__main__":
    main()
