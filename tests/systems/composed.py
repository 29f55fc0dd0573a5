"""Small planes that keep the contracts of ParallelGates and FanOut, or break them as told."""

import json
from collections.abc import Mapping
from typing import ClassVar

from adapters.base import Adapter, Option


def _fault(*names):
    return {"fault": Option("none", ("none", *names), "the fault that is built in")}


class Kept(Adapter):
    """State in a file, written after each call: what a later process of the run finds."""

    NEW: ClassVar[dict] = {}

    def __init__(self, run):
        super().__init__(run)
        self.file = run.folder / "state.json"
        kept = json.loads(self.file.read_text()) if self.file.exists() else self.NEW
        self.state = json.loads(json.dumps(kept))
        self.fault = run.options["fault"]
        self.refused = False

    def fire(self, *tasks):
        for task in sorted(tasks):
            self.run.effect(task)

    def keep(self):
        self.refused = False
        self.file.write_text(json.dumps(self.state))

    def refuse(self):
        def call():
            raise ValueError("not like that")

        self.refused = True
        self.system(call)

    def observe(self):
        return {**self.state, "refused": self.refused}


class Gates(Kept):
    NEW: ClassVar[dict] = {"waits": [True, True], "served": [None, None]}
    options: ClassVar[Mapping[str, Option]] = _fault(
        "Replay", "BareToAll", "Cross", "EarlyJoin", "DoubleConsume"
    )

    def start(self):
        self.fire(1)
        self.keep()

    def go_on(self, values):
        waits, served = self.state["waits"], self.state["served"]
        early = self.fault == "EarlyJoin" and served == [None, None]
        for branch, value in values.items():
            self.fire(branch + 2)
            waits[branch], served[branch] = False, value
        if early or not any(waits):
            self.fire(4)
        self.keep()

    def AnswerLeft(self, v):
        self.go_on({0: v})

    def AnswerRight(self, v):
        self.go_on({1: v})

    def AnswerBoth(self, v, w):
        self.go_on({0: w, 1: v} if self.fault == "Cross" else {0: v, 1: w})

    def BareResume(self):
        if self.fault != "BareToAll":
            self.refuse()
        self.go_on({0: "v1", 1: "v1"})

    def StrayMap(self):
        if self.fault == "DoubleConsume":
            self.fire(*(b + 2 for b in (0, 1) if self.state["served"][b] is not None))
        self.keep()

    def Crash(self):
        if self.fault == "Replay":
            self.state = json.loads(json.dumps(self.NEW))
            self.fire(1)
            self.keep()


class FanOut(Kept):
    NEW: ClassVar[dict] = {"durable": [False] * 4}
    options: ClassVar[Mapping[str, Option]] = _fault(
        "RetrySuperstep", "RetryReplay", "CrashSuperstep", "CrashReplay"
    )

    def RunHeld(self, task):
        self.done(1, 5 - task)

    def RunFails(self, task):
        self.done(1, 5 - task)
        self.refuse()

    def Proceed(self):
        self.done(*self.left())

    def Retry(self):
        self.again("Retry")

    def Crash(self):
        self.again("Crash")

    def left(self):
        return [task for task in range(1, 5) if not self.state["durable"][task - 1]]

    def again(self, call):
        anew = {f"{call}Superstep": (2, 3), f"{call}Replay": (1, 2, 3)}.get(self.fault, ())
        self.done(*{*self.left(), *anew})

    def done(self, *tasks):
        self.fire(*tasks)
        for task in tasks:
            self.state["durable"][task - 1] = True
        self.keep()
