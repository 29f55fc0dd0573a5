"""A run's process: it holds one adapter and does what the driver says, one message at a time."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.authoring import mismatch, sentence, unspeakable
from adapters.barrier import Barrier
from adapters.base import Adapter, AdapterFault, CrashedHere, Refused, Run
from adapters.channel import Channel, Closed
from adapters.stores import readings

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent goes (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def log_to(path: Path) -> None:
    """Send what a framework prints to a file: it is for people, not for the protocol."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


class Worker:
    """Serves the messages of one run's driver."""

    def __init__(self, adapter_class: type[Adapter], channel: Channel, run: Run) -> None:
        self.adapter_class = adapter_class
        self.channel = channel
        self.adapter = self.attach(run)

    def attach(self, run: Run) -> Adapter:
        """Make the adapter of a run, whose gates then speak over our channel."""
        run._channel = self.channel
        run._answer = self.answer
        return self.adapter_class(run)

    def serve(self) -> None:
        """Answer messages until the driver says exit or is gone."""
        while True:
            try:
                message = self.channel.receive()
            except Closed:
                return
            if message["op"] == "exit":
                return
            try:
                answer = self.answer(message)
                if self.adapter.run.fault is not None:
                    raise self.adapter.run.fault
            except Exception as error:
                traceback.print_exc()
                answer = {"fault": sentence(error, type(self.adapter))}
            self.channel.send(answer)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what a message asks; also from within a gate, while a body is held there."""
        run = self.adapter.run
        if message["op"] == "call":
            return _call(self.adapter, message["action"], message["params"])
        if message["op"] == "digest":
            return {"digest": self.adapter.store_digest()}
        if message["op"] == "read":
            return {"reads": readings(self.adapter)}
        if message["op"] == "holdings":
            return {"holds": self.adapter.holdings(), "notes": run.notes}
        if message["op"] == "notes":
            return {"notes": run.notes}
        if message["op"] == "succeed":  # after a crash by exception: a new life, same process
            self.adapter = self.attach(
                replace(run, process=message["process"], recovery=message["recovery"])
            )
        elif message["op"] == "branch":  # where the store lives here, so must the branch
            ordinals = {"process": message["process"], "branch": message["branch"]}
            branch = self.attach(replace(run, notes=dict(run.notes), **ordinals))
            return _call(branch, message["action"], message["params"])
        return _report(self.adapter, "crashed" if message["op"] == "crash" else None)


def _report(adapter: Adapter, at: str | None, **extra: Any) -> dict[str, Any]:
    """Where the run stands and what can be seen of it there."""
    observed = adapter.observe() if adapter.run.observes else {}
    if wrong := unspeakable(adapter, observed):
        raise AdapterFault(wrong)
    return {"at": at, "observed": observed, "notes": adapter.run.notes, **extra}


def _call(adapter: Adapter, action: str, params: dict[str, Any]) -> dict[str, Any]:
    """Take one action; report what came of it."""
    if wrong := mismatch(type(adapter), action, params):
        raise AdapterFault(wrong)
    try:
        at = getattr(adapter, action)(**params)
    except Refused as refused:
        message = adapter.anonymous(refused.message)[:300]
        return _report(adapter, "refused", error={"type": refused.type, "message": message})
    except CrashedHere:
        return _report(adapter, "crashed")
    if isinstance(at, tuple):  # before a task, and nothing runs
        if len(at) != 2 or at[0] not in {"held", "idle"} or not isinstance(at[1], int):
            raise AdapterFault(f"{action}() returned {at!r}; a boundary is at_boundary(task)")
        return _report(adapter, at[0], task=at[1], boundary=at[0] == "held")
    if at not in {None, "parked", "complete", "failed"}:
        raise AdapterFault(f'{action}() returned {at!r}, not "parked", "complete" or "failed"')
    return _report(adapter, at)


def work(adapter_class: type[Adapter], end: socket.socket, context: dict[str, Any]) -> None:
    """Be one process of a run, to its end. Never returns."""
    status = 0
    try:
        folder = Path(context["folder"])
        log_to(folder / "log.txt")
        run = Run(
            folder=folder,
            workflow=context["workflow"],
            options=context["options"],
            notes=context["notes"],
            process=context["process"],
            recovery=context["recovery"],
            branch=context["branch"],
            services=context.get("services", {}),
            observes=context.get("observes", True),
        )
        if context.get("stops"):
            run.barrier = Barrier(run.stop)
        worker = Worker(adapter_class, Channel(end), run)
        worker.serve()
        worker.adapter.close()
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not sys.exit: exit handlers of a framework wait for threads and hosts that the
        # fork left behind.
        os._exit(status)


def main() -> None:
    """Be a run's process in a fresh interpreter: argv holds the descriptor and the context."""
    from adapters.offline import ATTEMPTS, forbid_network
    from adapters.registry import load_adapter

    gc.disable()
    die_with_parent(os.getppid())
    forbid_network(Path(os.environ["HOME"]) / ATTEMPTS)
    end = socket.socket(fileno=int(sys.argv[1]))
    context = json.loads(sys.argv[2])
    adapter_class = load_adapter(context["adapter"])
    adapter_class.prepare(context["workflow"], context["options"])
    gc.enable()
    work(adapter_class, end, context)


if __name__ == "__main__":
    main()
