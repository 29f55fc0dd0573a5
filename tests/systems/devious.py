"""Adapters that mislead: each would have got a wrong verdict, or hung, if nobody looked."""

import os

from adapters.base import CrashedHere
from adapters.reference import Reference


class RefusesRecovery(Reference):
    def recover(self):
        def refuse():
            raise ValueError("cannot be restored")

        return self.system(refuse)


class RefusesStart(Reference):
    def start(self):
        return RefusesRecovery.recover(self)


class RecoversNowhere(Reference):
    def recover(self):
        return None


class SaysDone(Reference):
    def start(self):
        return "done"


class HidesOutcomesOfBranches(Reference):
    def public_state(self):
        seen = super().public_state()
        if self.run.branch:
            seen.pop("outcome", None)
        return seen


class HidesWhatIsInvalid(Reference):
    def public_state(self):
        seen = super().public_state()
        if not all(checkpoint["valid"] for checkpoint in seen["ckpts"]):
            del seen["ckpts"]
        return seen


class FiresTaskZero(Reference):
    def effect(self, task, value=None):
        super().effect(task - 1 if task == 1 else task, value)


class ShowsAFraction(Reference):
    def public_state(self):
        return super().public_state() | {"frontier": 1.0}


class FiresTwiceOnBranches(Reference):
    def effect(self, task, value=None):
        super().effect(task, value)
        if self.run.branch:
            super().effect(task, value)


class BranchesForEver(Reference):
    def fork(self, v):
        while True:
            self.enter(1)


class GatedForEver(Reference):
    def resume(self, v):
        while True:
            self.enter(self.gated)


class RecoversForEver(Reference):
    def recover(self):
        while True:
            self.enter(1)


class NeverAsks(Reference):
    def consumed(self):
        return "v"

    def _asks(self, task):
        return False


class ForksInABody(Reference):
    def effect(self, task, value=None):
        super().effect(task, value)
        if task == 1:
            os.fork()


class OutlivesItsCrash(Reference):
    """Says that it crashes by exception, and swallows it."""

    @classmethod
    def crash_form(cls, options):
        return "exception"

    def enter(self, task):
        try:
            super().enter(task)
        except CrashedHere:
            self.pc = task


class MergesNonsense(Reference):
    @classmethod
    def merged_actions(cls, options):
        return {"EmitInterrupt": ("Nonsense",)}
