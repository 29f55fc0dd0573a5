"""A run of a real framework, driven by hand: no trace, no model, one message at a time."""

import importlib.util
import itertools

import pytest

from adapters.host import Host
from adapters.ledger import Ledger
from adapters.registry import load_adapter, locate


def hosts(adapter, framework):
    """A fixture that hands out hosts of an adapter by their options, each started once."""

    @pytest.fixture(scope="module")
    def host_of():
        if importlib.util.find_spec(framework) is None:
            pytest.skip(f"{framework} is not installed")
        started = {}
        defaults = {name: o.default for name, o in load_adapter(locate(adapter)).options.items()}

        def get(*, tasks=3, gate=2, gates=(), **options):
            key = (tasks, gate, gates, *sorted(options.items()))
            if key not in started:
                workflow = {"tasks": tasks, **({"gates": [*gates]} if gates else {"gate": gate})}
                host = Host(locate(adapter), workflow, defaults | options)
                started[key] = (host.__enter__(), itertools.count())
            return started[key]

        yield get
        for host, _ in started.values():
            host.close()

    return host_of


class Run:
    """One run, its processes and where it stands; `at`, `task` and `seen` are the last report's."""

    def __init__(self, hosted, services=None):
        self.host, numbers = hosted
        self.services = services or {}
        self.folder = self.host.folder / f"run-{next(numbers)}"
        self.folder.mkdir()
        self.notes = {}
        self.processes = 0
        self.process = self.spawn()
        self.take(self.process.call("start", {}))

    def spawn(self, **context):
        self.processes += 1
        place = {"folder": str(self.folder), "services": self.services, "notes": self.notes}
        context = {"recovery": 0, "branch": 0} | context
        return self.host.fork({**place, "process": self.processes, **context})

    def take(self, report):
        self.report = report
        self.notes = report["notes"]
        self.at, self.task = report["at"], report.get("task")
        self.seen = report["observed"]
        return self

    def go(self, poison=False):
        """Let the body go at whose gate the run is held, or take the step from a boundary."""
        return self.take(_let_go(self.process, self.report, poison))

    def until(self, task):
        """Go on to the gate of a task."""
        while (self.at, self.task) != ("held", task):
            self.go()
        return self

    def park(self):
        while self.at == "held":
            self.go()
        assert self.at == "parked"
        return self

    def finish(self):
        while self.at == "held":
            self.go()
        return self

    def call(self, action, **params):
        return self.take(self.process.call(action, params))

    def consume(self, value):
        """Answer, and pass the gates up to the gated task's own."""
        gated = self.seen["pc"]
        self.call("Consume", v=value)
        while self.at == "held" and self.task <= gated:
            self.go()
        return self

    def fork(self, value):
        """Run a branch to its end, in a process of its own; return its last report."""
        process = self.spawn(branch=2)
        report = process.call("ForkResume", {"v": value})
        while report["at"] == "held":
            report = _let_go(process, report)
        process.finish()
        self.seen = self.process.ask({"op": "observe"})["observed"]
        return report

    def kill(self):
        """SIGKILL the run; put a process in its place that never saw it. Return the wait status."""
        status = self.process.kill()
        self.process = self.spawn(recovery=1)
        return status

    def recover(self):
        return self.call("CrashRecover")

    def digest(self):
        return self.process.ask({"op": "digest"})["digest"]

    def effects(self, branch=0):
        """The rows of the ledger that a branch left, as (task, value, process)."""
        ledger = Ledger(self.folder / "ledger.db")
        rows = [(r.task, r.value, r.process) for r in ledger.new_rows() if r.branch == branch]
        ledger.close()
        return rows

    def counts(self, branch=0):
        """How often the effect of each task fired."""
        tasks = [task for task, _, _ in self.effects(branch)]
        return [tasks.count(task) for task in range(1, self.seen["pc"])]


def _let_go(process, report, poison=False):
    if report.get("boundary"):
        return process.call("advance", {"poison": poison})
    return process.ask({"op": "release", "poison": poison})
