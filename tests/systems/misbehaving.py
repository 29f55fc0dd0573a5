"""Adapters that go wrong, each in its own way: what the machinery has to tell from a verdict."""

import os
import socket
import threading
import time

from adapters.base import Adapter


class Base(Adapter):
    def Consume(self, v): ...
    def ForkResume(self, v): ...
    def CrashRecover(self): ...
    def ExtraResume(self): ...

    def observe(self):
        return {"x": 0}


class Hangs(Base):
    def start(self):
        time.sleep(3600)


class Dies(Base):
    def start(self):
        print("about to fall over")
        os._exit(7)


class Raises(Base):
    def start(self):
        raise RuntimeError("the adapter is wrong")


class Blind(Adapter):
    def start(self):
        return None


class SpeaksRubbish(Base):
    def start(self):
        # Not through the channel's own code: bytes that are no message.
        os.write(self.run._channel._end.fileno(), b"rubbish\n")


class PrintsALot(Base):
    def start(self):
        print('{"at": "complete"}\n' * 1000, flush=True)


class ReachesOut(Base):
    def start(self):
        def connect():
            socket.create_connection(("192.0.2.1", 80), timeout=1)

        self.system(connect)


class FailsInTheFramework(Base):
    """An error of ours inside a call of the framework's, which swallows it."""

    def start(self):
        def framework_call():
            try:
                with self.run.ours():
                    raise KeyError("ours")
            except KeyError:
                return "fine"

        self.system(framework_call)


class StartsThreads(Base):
    @classmethod
    def prepare(cls, workflow, options):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


class SeesNothing(Adapter):
    """For any module: every action is taken, and nothing can be seen of it."""

    Put = Get = Overfill = lambda self, **params: None

    def observe(self):
        return {}


class NotAnAdapter:
    pass
