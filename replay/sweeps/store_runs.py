"""Runs whose store is made bad: an output that breaks the schema, a file that was tampered with.

No trace is walked here. A run is let go from stand to stand, killed, and recovered by a process
that never saw it; a process beside it asks the framework's own reads what they say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.host import Host, HostError, MissingFramework, Process
from adapters.ledger import Ledger
from adapters.registry import locate, versions_of
from adapters.services import Given, ServiceError, open_services
from replay.lives import Conduct, Lives
from replay.primary import Report
from replay.sweeps.store_planes import POISONED, TAMPERED, Plane
from tracegen.errors import MachineryError, MbtError

TASKS, GATE, ANSWER = 3, 2, "v1"
WORKFLOW = {"tasks": TASKS, "gate": GATE}
#: Where a run is killed one of whose outputs is bad.
KILLS = AT_THE_END, AFTER_THE_WRITE = "at its end", "after the write"
UNTOUCHED = "untouched"
"""The run beside those that were tampered with: what it repeats, no tampering made it repeat."""
STANDS = 40
"""How often a run may be let go on before it counts as going round in circles."""

Run = dict[str, Any]


def measure(names: Sequence[str], on_done: Callable[[str, int, int], None]) -> dict[str, Any]:
    """Make all runs of some adapters, or of all where none is named.

    Args:
        on_done: told the adapter, how many of its runs are over, and how many there are.

    Returns:
        workflow, versions, servers; poisoned and tampered, a dictionary a run.

    Raises:
        MbtError: an adapter has no run here, or its framework is not installed.
        MachineryError: a process hung, died unasked or spoke rubbish.
    """
    known = dict.fromkeys(plane.adapter for plane in (*POISONED, *TAMPERED))
    if strange := [name for name in names if name not in known]:
        raise MbtError(f"no store of {strange[0]} is swept; there are {', '.join(known)}")
    every = [*POISONED, *(plane for plane in TAMPERED if plane not in POISONED)]
    planes = [plane for plane in every if not names or plane.adapter in names]
    found: dict[str, Any] = {
        "workflow": WORKFLOW,
        "versions": {},
        "servers": {},
        "poisoned": [],
        "tampered": [],
    }
    totals = {name: sum(map(_count_of, (p for p in planes if p.adapter == name))) for name in known}
    done = dict.fromkeys(known, 0)
    for plane in planes:
        found["versions"] |= versions_of(plane.kind)
        for group, run, servers in runs_of(plane):
            done[plane.adapter] += 1
            on_done(plane.adapter, done[plane.adapter], totals[plane.adapter])
            found["servers"] |= servers
            if run is not None:
                found[group].append(run)
    for group, order in (("poisoned", POISONED), ("tampered", TAMPERED)):
        found[group].sort(key=lambda run, order=order: _place(order, run))
    return found


def _place(order: Sequence[Plane], run: Run) -> int:
    return order.index(Plane(run["adapter"], run["options"]))


def _count_of(plane: Plane) -> int:
    forms = len(plane.kind.tamperings(plane.options))
    return 2 * TASKS * (plane in POISONED) + (1 + forms) * (plane in TAMPERED)


def runs_of(plane: Plane) -> Iterator[tuple[str, Run | None, Mapping[str, str]]]:
    """Make the runs of a plane, on a host of its own, one each time the next is asked for.

    Yields "poisoned" or "tampered", the run, or None where there is none to tell of, and the
    releases of servers. Raises as `measure` does.
    """
    kind, options = plane.kind, plane.options
    conduct = Conduct.of(kind, options)
    name = {"adapter": plane.adapter, "options": dict(plane.chosen)}
    number = itertools.count()
    try:
        with (
            Host(locate(plane.adapter), WORKFLOW, options) as host,
            open_services(conduct.services) as services,
        ):

            def lead(how: Callable[..., Run | None], *given: Any, observes: bool) -> Run | None:
                folder = host.folder / f"run-{next(number)}"
                folder.mkdir()
                with services.for_run() as addresses:
                    leader = _Leader(host, folder, conduct, addresses, observes=observes)
                    try:
                        leader.begin()
                        return how(leader, *given)
                    except HostError as error:
                        what = ", ".join(map(str, (plane, *given)))
                        raise MachineryError(f"{what}: {error}") from error
                    finally:
                        leader.lives.close()

            if plane in POISONED:
                # At the end it makes no difference whose output it would have been.
                clean: dict[tuple[str, int], Run | None] = {}
                for task, killed in itertools.product(range(1, TASKS + 1), KILLS):
                    run = lead(_poisoned, task, killed, observes=True)
                    key = (killed, 0 if killed == AT_THE_END else task)
                    if run and key not in clean:
                        clean[key] = lead(_clean, task, killed, observes=True)
                    about = {**name, "task": task, "killed": killed}
                    yield (
                        "poisoned",
                        run and {**about, **run, "clean": clean[key]},
                        services.versions,
                    )
            if plane in TAMPERED:
                for form in (UNTOUCHED, *kind.tamperings(options)):
                    run = lead(_tampered, form, observes=False)
                    yield "tampered", run and {**name, "form": form, **run}, services.versions
    except MissingFramework as error:
        raise MbtError(f"{plane.adapter}: {error}") from error
    except ServiceError as error:
        raise MbtError(f"{plane.adapter}: {error}") from error
    except HostError as error:
        raise MachineryError(f"{plane}: {error}") from error


class _Leader:
    """Leads the processes of one run from stand to stand."""

    def __init__(
        self, host: Host, folder: Path, conduct: Conduct, given: Given, *, observes: bool
    ) -> None:
        self.lives = Lives(host, folder, conduct, given, observes=observes)
        self.folder = folder
        self.notes: Mapping[str, Any] = {}
        self.answered = False
        self.stands: list[Report] = []
        self.written: int | None = None  # the stand at which the body of a task was let go
        self.asks = "Consume" not in conduct.unsupported

    def begin(self) -> None:
        """Start the run, in its first process."""
        self.lives.begin({})
        self.take(self.lives.own.call("start", {}))

    def take(self, report: Report) -> None:
        """Stand where a report says."""
        self.notes = report["notes"]
        self.stands.append(report)

    @property
    def at(self) -> str:
        """Where the run stands: "held 2", "parked", "complete", "failed" or "refused"."""
        return _at(self.stands[-1])

    def go_on(
        self, until: Callable[[], bool] = lambda: False, *, of: int = 0, poison: bool = False
    ) -> None:
        """Go on to the end, or until told; answer once; note the write of a task, or poison it."""
        while not until():
            if self.stands[-1]["at"] == "held" and len(self.stands) > STANDS:
                self.stands.append({**self.stands[-1], "at": "goes round in circles"})
            elif self.at == "parked" and not self.answered:
                self.answered = True
                self.take(self.lives.own.call("Consume", {"v": ANSWER}))
            elif self.stands[-1]["at"] == "held":
                task = self.stands[-1]["task"]
                written = task == of and (task != GATE or self.answered or not self.asks)
                if written:  # a gated task may be entered twice: with the answer, and as a body
                    self.written = len(self.stands) - 1
                self.take(_let_go(self.lives.own, self.stands[-1], poison=written and poison))
            else:
                return

    def write(self, task: int, killed: str, *, poison: bool) -> bool:
        """Go on to where it is to be killed; say whether it gets there."""
        ends = killed == AT_THE_END
        self.go_on(
            lambda: not ends and self.written is not None and self.at != f"held {task}",
            of=task,
            poison=poison,
        )
        if self.written is None:
            raise HostError(f"the run ended {self.at} before task {task} was let go")
        return ends or self.at == "parked" or self.at.startswith("held")

    def recover(self) -> dict[str, Any]:
        """Let a process that never saw the run recover it, and go on to where it ends."""
        self.lives.succeed(self.notes)
        before = len(self.stands)
        self.take(self.lives.own.call("CrashRecover", {}))
        self.go_on()
        return {"recovery": _walk(self.stands[before:])}

    def look(self) -> dict[str, Any]:
        """What a process beside the run sees, and what the framework's reads say in it."""
        beside = self.lives.beside(self.notes)
        stored = beside.ask({"op": "observe"})["observed"].get("ckpts")
        reads = _briefly(beside.ask({"op": "read"})["reads"])
        beside.kill()
        return {"stored": stored, "fresh": reads}

    def tamper(self, form: str) -> None:
        """Tamper with the store, from a process beside the run."""
        beside = self.lives.beside(self.notes)
        self.notes = beside.call("tamper", {"form": form})["notes"]
        beside.kill()

    def evidence(self) -> dict[str, Any]:
        """The ledger, and how the processes that were killed ended."""
        ledger = Ledger(self.folder / "ledger.db")
        rows = [[row.task, row.value, row.process] for row in ledger.new_rows()]
        ledger.close()
        return {"ledger": rows, "deaths": [death.status for death in self.lives.deaths]}


def _poisoned(leader: _Leader, task: int, killed: str) -> Run | None:
    """A run killed at its end, or at the first stand after a task put out what is bad.

    None where the write ended it, so that there is no such stand.
    """
    if not leader.write(task, killed, poison=True):
        return None
    first = {**_walk(leader.stands), "written": leader.written, "same": None}
    if killed == AT_THE_END:  # elsewhere its framework is in the middle of a call
        first["same"] = _briefly(leader.lives.own.ask({"op": "read"})["reads"])
    leader.lives.crash(0)
    return {**first, **leader.look(), **leader.recover(), **leader.evidence()}


def _clean(leader: _Leader, task: int, killed: str) -> Run:
    """The same run without a bad output."""
    if not leader.write(task, killed, poison=False):
        raise HostError(f"without a bad output the run ended {leader.at} with task {task}")
    first = _walk(leader.stands)
    leader.lives.crash(0)
    return {**first, **leader.recover(), **leader.evidence()}


def _tampered(leader: _Leader, form: str) -> Run:
    """A run killed at the last task, its store tampered with before anyone recovers."""
    leader.go_on(lambda: leader.at == f"held {TASKS}")
    if leader.at != f"held {TASKS}":
        raise HostError(f"the run ended {leader.at} before task {TASKS}")
    first = _walk(leader.stands)
    leader.lives.crash(0)
    if form != UNTOUCHED:
        leader.tamper(form)
    return {**first, **leader.look(), **leader.recover(), **leader.evidence()}


def _at(report: Report) -> str:
    return f"held {report['task']}" if report["at"] == "held" else str(report["at"])


def _walk(stands: Sequence[Report]) -> dict[str, Any]:
    """Where a process stood, and the error that it ended with."""
    return {"stands": [_at(stand) for stand in stands], "error": _brief(stands[-1].get("error"))}


def _briefly(reads: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What reads say, their errors in brief."""
    if reads is None:
        return None
    return {
        name: {"error": _brief(read["error"])} if "error" in read else read
        for name, read in reads.items()
    }


def _brief(error: Mapping[str, str] | None) -> dict[str, str] | None:
    """An error, of its message the first line, without where in a file it is."""
    if error is None:
        return None
    line = error["message"].partition("\n")[0]
    return {"type": error["type"], "message": re.sub(r"(line|column|char) \d+", r"\1 …", line)}


def _let_go(process: Process, report: Report, *, poison: bool) -> Report:
    if report.get("boundary"):
        return process.call("advance", {"poison": poison})
    return process.ask({"op": "release", "poison": poison})
