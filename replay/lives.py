"""The processes of one run: its own, those that take over after a crash, those beside it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.base import Adapter
from adapters.copies import copy_store, moved
from adapters.host import Host, HostError, Process
from adapters.services import Given
from replay.primary import Report
from replay.record import Death


@dataclass(frozen=True)
class Conduct:
    """How an adapter, with its options chosen, lets a run be driven.

    Attributes:
        crash_form: "kill", or "exception" where the store lives in the process.
        unsupported: actions that the system cannot be made to take, each with the reason.
        services: servers that each run is given a database in.
    """

    options: Mapping[str, str]
    crash_form: str
    unsupported: Mapping[str, str]
    services: tuple[str, ...] = ()

    @classmethod
    def of(cls, adapter: type[Adapter], options: Mapping[str, str]) -> Conduct:
        """Ask an adapter."""
        return cls(
            options,
            adapter.crash_form(options),
            adapter.unsupported(options),
            adapter.services(options),
        )


class Lives:
    """Starts and ends the processes of a run.

    Attributes:
        deaths: what was crashed, and how the kernel says it ended.
        process_ids: in the order of the ordinals of the processes.
    """

    def __init__(
        self, host: Host, folder: Path, conduct: Conduct, given: Given, *, observes: bool = True
    ) -> None:
        self._host = host
        self._given = given
        self._place: dict[str, Any] = {"folder": str(folder), "services": {**given.addresses}}
        self._place["observes"] = observes
        self._by_exception = conduct.crash_form == "exception"
        self._own: Process | None = None
        self._beside: list[Process] = []
        self._count = 0
        self._recoveries = 0
        self.deaths: list[Death] = []
        self.process_ids: list[int] = []

    @property
    def own(self) -> Process:
        """The process that the run lives in."""
        assert self._own is not None
        return self._own

    def begin(self, notes: Mapping[str, Any]) -> None:
        """Start the run's first process."""
        self._own = self._spawn(notes)

    def crash(self, step: int) -> None:
        """End the run's process where it is held: by SIGKILL, reaped, or by an exception."""
        killed = self.own.ordinal
        self._recoveries += 1
        if self._by_exception:
            if self.own.ask({"op": "crash"})["at"] != "crashed":
                raise HostError("the run went on though it was crashed by an exception")
            self.deaths.append(Death(killed, step, "exception", None))
            return
        status = self.own.kill()
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            raise HostError(
                f"process {killed} of the run was gone before it was killed (wait status {status})"
            )
        self.deaths.append(Death(killed, step, "kill", status))

    def recover_copy(
        self, action: str, params: Mapping[str, Any], notes: Mapping[str, Any]
    ) -> tuple[str | None, Report] | None:
        """Recover from a copy of the store that the crash left, up to the first report.

        The process is the next one's double: of the same ordinal, and of the recovery after its.

        Returns:
            The digest of the copy and the report; None where no store outlived the crash, or
            where processes beside the run, held there, are connected to its database: no database
            is copied under a session.
        """
        if self._by_exception or (self._beside and self._given.addresses):
            return None
        source = Path(self._place["folder"])
        target = source.with_name(f"{source.name}-copy")
        with ExitStack() as stack:
            addresses = stack.enter_context(self._given.copied())
            if addresses is None:
                raise HostError("the database of a run whose processes are gone is still in use")
            stack.callback(shutil.rmtree, target, ignore_errors=True)
            copy_store(source, target)
            double = self._host.fork(
                {
                    "folder": str(target),
                    "services": dict(addresses),
                    "notes": moved(notes, source, target),
                    "process": self._count + 1,
                    "recovery": self._recoveries + 1,
                    "branch": 0,
                }
            )
            stack.callback(double.kill)
            digest = double.ask({"op": "digest"})["digest"]
            return digest, double.call(action, params)

    def succeed(self, notes: Mapping[str, Any]) -> None:
        """Start the process that takes over after a crash: one that never saw the run."""
        if not self._by_exception:
            self._own = self._spawn(notes, recovery=self._recoveries)
            return
        self._count += 1
        self.own.ordinal = self._count
        ordinals = {"process": self._count, "recovery": self._recoveries}
        self.own.ask({"op": "succeed", **ordinals})

    def branch(
        self, number: int, action: str, params: Mapping[str, Any], notes: Mapping[str, Any]
    ) -> tuple[Process, int, Report]:
        """Start a fork; return the process to release it through, its ordinal, its first report.

        Where the store lives in the run's process, so does the branch.
        """
        if self._by_exception:
            self._count += 1
            message = {"op": "branch", "branch": number, "process": self._count, "action": action}
            return self.own, self._count, self.own.ask({**message, "params": dict(params)})
        process = self.beside(notes, branch=number)
        return process, process.ordinal, process.call(action, params)

    def beside(self, notes: Mapping[str, Any], *, branch: int = 0, recovery: int = 0) -> Process:
        """Start a process beside the run's own."""
        process = self._spawn(notes, branch=branch, recovery=recovery)
        self._beside.append(process)
        return process

    def end(self, process: Process, report: Report) -> None:
        """End a process beside the run's own: where it is held, or in its own time."""
        if process in self._beside:
            self._beside.remove(process)
            if report["at"] in {"held", "failed"}:
                process.kill()
            else:
                process.finish()

    def close(self) -> None:
        """End all that is left: the run's record is complete, or there is none."""
        for process in [*self._beside, *([self._own] if self._own else [])]:
            process.kill()

    def _spawn(self, notes: Mapping[str, Any], *, recovery: int = 0, branch: int = 0) -> Process:
        self._count += 1
        ordinals = {"process": self._count, "recovery": recovery, "branch": branch}
        process = self._host.fork({**self._place, "notes": notes, **ordinals})
        self.process_ids.append(process.pid)
        return process
