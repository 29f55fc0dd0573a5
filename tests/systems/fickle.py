"""The reference engine, recovering otherwise in every other run that a host is given."""

from adapters.reference import Reference


class Fickle(Reference):
    def recover(self):
        number = int(self.run.folder.name.split("-")[1])
        return self._go_on(1) if number % 2 else super().recover()
