"""The reference engine, seen through a keyhole: variables that nobody can see."""

from adapters.reference import Reference


class WithoutCheckpoints(Reference):
    def public_state(self):
        seen = super().public_state()
        del seen["ckpts"]
        return seen


class WithoutDigest(Reference):
    def canonical_store(self):
        return None


class ForksRefused(Reference):
    def fork(self, v):
        def refuse():
            raise ValueError("no forks here")

        return self.system(refuse)
