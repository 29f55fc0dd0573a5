"""Adapters with one mistake each, of the kinds that `mbt adapter check` looks for."""

import contextlib
import os
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from adapters.base import Adapter, Option
from adapters.reference import Reference
from adapters.resume import ResumeAdapter


class NoObserve(Reference):
    observe = Adapter.observe


class NoPublicState(Reference):
    public_state = ResumeAdapter.public_state


class NoMethod(Adapter):
    def Consume(self, v): ...
    def ForkResume(self, v): ...
    def CrashRecovery(self): ...
    def ExtraResume(self): ...
    def start(self): ...
    def observe(self):
        return {}


class OtherParameter(Reference):
    def Consume(self, value):
        return super().Consume(value)


class NoRecovery(Reference):
    recover = ResumeAdapter.recover


class UnknownNames(Reference):
    def public_state(self):
        return super().public_state() | {"frontiers": 1}


class NoJson(Reference):
    def public_state(self):
        return super().public_state() | {"ckpts": {1, 2}}


class RemembersItself(Reference):
    """Says what it did itself, and not what the store holds."""

    said = 0

    def effect(self, task, value=None):
        super().effect(task, value)
        self.said = task

    def public_state(self):
        return super().public_state() | {"frontier": self.said}


class CountsItsLooks(Reference):
    looks = 0

    def public_state(self):
        self.looks += 1
        return super().public_state() | {"frontier": self.looks}


class WritesWhileLooking(Reference):
    def public_state(self):
        with (self.run.folder / "seen.txt").open("a") as file:
            file.write("x")
        return super().public_state()

    def canonical_store(self):
        seen = self.run.folder / "seen.txt"
        return [super().canonical_store(), seen.read_text() if seen.exists() else ""]


class DigestOfAnId(Reference):
    def canonical_store(self):
        return [super().canonical_store(), self.run.folder.name]


class DigestOfNothing(Reference):
    def canonical_store(self):
        return "the store"


class NoDigest(Reference):
    def canonical_store(self):
        return None


class LeavesAProcess(Reference):
    def start(self):
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        return super().start()


class LeavesAFile(Reference):
    def start(self):
        handle, _ = tempfile.mkstemp(prefix="forgotten-")
        os.write(handle, b"x")
        os.close(handle)
        return super().start()


class ThreadsInPrepare(Reference):
    @classmethod
    def prepare(cls, workflow, options):
        super().prepare(workflow, options)
        threading.Thread(target=time.sleep, args=(300,), daemon=True).start()


class OpensInPrepare(Reference):
    @classmethod
    def prepare(cls, workflow, options):
        super().prepare(workflow, options)
        cls.store = (Path.home() / "store.txt").open("a")


class ReachesOutQuietly(Reference):
    """Looks up another machine, as telemetry does, and swallows that it cannot."""

    def start(self):
        with contextlib.suppress(OSError):
            socket.getaddrinfo("telemetry.example", 443)
        return super().start()


class ReachesOutWhenPrepared(Reference):
    @classmethod
    def prepare(cls, workflow, options):
        super().prepare(workflow, options)
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with end, contextlib.suppress(OSError):
            end.sendto(b"ping", ("192.0.2.7", 9))


class DefaultOutsideChoices(Reference):
    options = Reference.options | {"colour": Option("green", ("red", "blue"), "what it looks like")}


class TakesAnything(Reference):
    options = Reference.options | {"path": Option("x", (), "where")}


class NoGate(Reference):
    def enter(self, task):
        if task != 3:
            super().enter(task)


class NoEffect(Reference):
    def effect(self, task, value=None):
        if task != 1:
            super().effect(task, value)


class Fickle(Reference):
    def public_state(self):
        ordinal = int(self.run.folder.name.removeprefix("run-"))
        return super().public_state() | {"frontier": ordinal}


class WrongCall(Reference):
    def resume(self, v):
        return self.system(lambda: self._resume(v, "one too many"))


class Stumbles(Reference):
    def resume(self, v):
        return {}[v]


class DiesInACall(Reference):
    def resume(self, v):
        print("about to fall over")
        return self.system(lambda: os.kill(os.getpid(), 9))
