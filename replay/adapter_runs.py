"""What a few runs show to be wrong with an adapter: each trace is walked twice, and watched."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from adapters.authoring import place
from adapters.base import Adapter, gated_tasks
from adapters.host import HostError, Threaded, Unprepared
from adapters.services import open_services
from replay.adapter_check import Finding
from replay.adapter_looks import Looks, Walk
from replay.engine import replay_trace
from replay.leaks import GRACE, held_open, left_lying, left_running
from replay.lives import Conduct
from replay.racers import method_of
from replay.watched import WatchedHost
from tracegen.spec import Spec
from tracegen.trace import Trace


def check_runs(
    spec: Spec,
    traces: Sequence[Trace],
    reference: str,
    adapter: type[Adapter],
    options: Mapping[str, str],
    *,
    limit: float = 60.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Finding]:
    """Prepare an adapter, walk each trace twice on it, and say what is wrong.

    Args:
        traces: of one model (`choose_traces`).
        limit: seconds within which a process has to come back from a step.
        progress: told how many of the runs are done, and of how many.

    Raises:
        adapters.host.MissingFramework, adapters.services.ServiceError: there is nothing to check.
    """
    found: list[Finding] = []
    conduct = Conduct.of(adapter, options)
    workflow = spec.workflow_of(traces[0].model)
    with ExitStack() as stack:
        services = stack.enter_context(open_services(conduct.services))
        host = WatchedHost(reference, workflow, options, limit=limit)
        try:
            stack.enter_context(host)
        except Threaded:
            found.append(
                Finding(
                    "prepare",
                    place(adapter.prepare),
                    "it started threads, which no forked process has",
                    "start them in __init__ or start(); until then --fresh is needed",
                )
            )
            host = WatchedHost(reference, workflow, options, limit=limit, fresh=True)
            stack.enter_context(host)
        except Unprepared as error:
            return [
                Finding(
                    "prepare", place(adapter.prepare), _one_line(error), "prepare what is there"
                )
            ]
        host.deliveries = frozenset(
            method
            for name, action in spec.actions.items()
            if (method := method_of(name, action)) is not None
            and (action.answers or action.delivery in {"branch", "race", "bring"})
        )
        host.gates = gated_tasks(workflow)
        looks = Looks(spec, adapter, conduct)
        runs = _Runs(spec, host, conduct, looks)
        runs.prepared()
        for number, trace in enumerate(traces):
            pair = []
            for again in (0, 1):
                with services.for_run() as given:
                    pair.append(runs.walk(trace, 2 * number + again, given))
                runs.after(f"trace {trace.name}")
                progress(2 * number + again + 1, 2 * len(traces))
            looks.compare(trace, *pair)
        looks.conclude(workflow)
        return [*found, *looks.findings.values()]


def _one_line(error: BaseException) -> str:
    return " | ".join(line.strip() for line in str(error).splitlines())[:600]


class _Runs:
    def __init__(self, spec: Spec, host: WatchedHost, conduct: Conduct, looks: Looks) -> None:
        self.spec = spec
        self.host = host
        self.conduct = conduct
        self.looks = looks
        self.lying: set[str] = set()

    # -- one run -----------------------------------------------------------------------

    def walk(self, trace: Trace, number: int, given: Any) -> Walk | None:
        """Walk a trace; None where it failed."""
        folder = self.host.folder / f"run-{number}"
        folder.mkdir()
        self.host.watch(str(folder))
        tried = len(self.host.attempts())
        where = f"trace {trace.name}"
        try:
            record = replay_trace(self.spec, trace, self.host, folder, self.conduct, given)
            if self.looks.killed:
                self.host.look_after_the_end()
        except HostError as error:
            self.looks.add(
                "run", str(error)[:60], where, _one_line(error), "see the adapter's method"
            )
            return None
        finally:
            self.network(where, self.host.attempts()[tried:])
            self.looks.looked(where, self.host.sightings, self.host.successions)
            shutil.rmtree(folder, ignore_errors=True)
        return record, self.host.sightings

    def network(self, where: str, names: Sequence[str]) -> None:
        """Report what was tried to be reached."""
        for name in names:
            self.looks.add(
                "network",
                name,
                where,
                f"it tried to reach {name}, and was kept from it",
                "switch off what does: nothing under test leaves the machine",
            )

    def prepared(self) -> None:
        """Report what the preparation did that no preparation may."""
        where = place(self.looks.adapter.prepare)
        self.network(where, self.host.prepared)
        self.running("prepare", where)
        self.lying = left_lying(self.host)  # a framework's own, as it is imported
        for name in sorted(held_open(self.host)):
            self.looks.add(
                "prepare",
                name,
                where,
                f"it holds {name} open, which every process of every run would share",
                "open it in __init__, in the run's own process",
            )

    def after(self, where: str) -> None:
        """Report what a run left behind."""
        self.running("leak", where)
        lying = left_lying(self.host)
        for name in sorted(lying - self.lying):
            self.looks.add(
                "leak",
                "files",
                where,
                f"{name} is left in HOME or TMPDIR, which all runs share",
                "write below run.folder: no run may see what another wrote",
            )
        self.lying |= lying

    def running(self, check: str, where: str) -> None:
        """Report processes that are alive though none should be."""
        known = any(found == check for found, _ in self.looks.findings)
        for words in left_running(self.host, 0 if known else GRACE).values():
            self.looks.add(
                check,
                words,
                where,
                f"a process is left running: {words[:100]}",
                "end what was started, also where the process of the run is killed "
                "(a child dies with its parent by PR_SET_PDEATHSIG)",
            )
