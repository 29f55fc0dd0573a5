"""What the harness costs: the same kills, forks and framework calls with it and without.

With: `mbt`'s own drivers replay the R0 tour of specs/ResumeContract.tla, one job, nothing judged.
Without: benchmarks/bare.py does from a script, read off the records of that replay, what the
replay did. Both leave the same rows in the ledger, fork as many processes and kill as many, or
the benchmark fails. They take turns, a trace each, and a trace's time is its median over rounds.

    python benchmarks/replay.py                      all systems; two minutes
    python benchmarks/replay.py --systems crewai     some
    python benchmarks/replay.py --json               the same as data

Exit code 1 where the harness takes a third or more of a framework's replay, 3 where the two
sides did not do the same.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

# Run as a file, this one would hide the package of the same name.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from adapters.host import Host
from adapters.offline import QUIET
from adapters.registry import load_adapter, locate, versions_of
from adapters.services import Given
from benchmarks.bare import Framework, Row, Scripts, Taken, read_ledger
from benchmarks.scripts import script_of
from replay.engine import replay_trace
from replay.lives import Conduct
from replay.parallel import Drivers
from replay.record import RunRecord
from tracegen.cache import open_cache
from tracegen.jvm import Processes
from tracegen.select import select_traces
from tracegen.spec import Spec, load_spec
from tracegen.tlc import RunOptions
from tracegen.tools import find_tools
from tracegen.trace import Trace

ROOT = Path(__file__).resolve().parent.parent
MODEL = "R0"
MOST = 1 / 3
LIMIT_S = 60.0


@dataclass(frozen=True)
class System:
    """An adapter under some options, and how the bare driver knows its framework.

    `reference` is adapter and engine in one, so there is no bare side to it.
    """

    adapter: str
    options: Mapping[str, str]
    bare: Framework | None


SYSTEMS = {
    "reference": System("reference", {}, None),
    "langgraph": System("langgraph", {}, "langgraph"),
    "langgraph-update": System("langgraph", {"route": "update-state"}, "langgraph"),
    "crewai": System("crewai", {}, "crewai"),
}


@dataclass(frozen=True)
class Result:
    """What one system took.

    Attributes:
        forks, kills: of one round, equal on both sides.
        with_s, without_s: for all traces, each with the median of its rounds.
        share_by_round: as `share`, for each round alone: how far the machine lets it be trusted.
    """

    system: str
    options: Mapping[str, str]
    versions: Mapping[str, str]
    traces: int
    forks: int
    kills: int
    with_s: float
    without_s: float | None
    share_by_round: tuple[float, ...]

    @property
    def share(self) -> float | None:
        """The harness's part of the time with it."""
        return None if self.without_s is None else share_of(self.with_s, self.without_s)

    @property
    def within_limit(self) -> bool:
        """Whether that is less than a third."""
        return self.share is None or self.share < MOST


def share_of(with_s: float, without_s: float) -> float:
    """The harness's part of a time."""
    return (with_s - without_s) / with_s


class Differs(Exception):
    """Both sides did not do the same, so their times say nothing."""


@dataclass(frozen=True)
class Recorded:
    """A trace, what its replay recorded, and what was in the ledger then."""

    trace: Trace
    record: RunRecord
    rows: tuple[Row, ...]


def record_once(
    spec: Spec, traces: Sequence[Trace], system: System, conduct: Conduct
) -> list[Recorded]:
    """Replay each trace once, unmeasured."""
    recorded = []
    with Host(
        locate(system.adapter), spec.workflow_of(MODEL), conduct.options, limit=LIMIT_S
    ) as host:
        for number, trace in enumerate(traces):
            folder = host.folder / f"run-{number}"
            folder.mkdir()
            record = replay_trace(spec, trace, host, folder, conduct, Given())
            recorded.append(Recorded(trace, record, read_ledger(folder / "ledger.db")))
            shutil.rmtree(folder)
    return recorded


class Bare:
    """The bare driver, in a process of its own that imported the framework."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def take(self, number: int) -> Taken:
        """Have it run a script."""
        self.send(f"{number}\n")
        return TypeAdapter(Taken).validate_json(self.hear())

    def send(self, line: str) -> None:
        """Tell it something."""
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def hear(self) -> str:
        """Its answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Differs(f"the bare driver ended:\n{self._log.read_text()[-2000:]}")
        return line


@contextmanager
def bare(scripts: Scripts) -> Iterator[Bare]:
    """Start the bare driver, in an environment and on a file system as the harness's hosts."""
    with tempfile.TemporaryDirectory(prefix="bare-", ignore_cleanup_errors=True) as home:
        given, log = Path(home) / "scripts.json", Path(home) / "log.txt"
        given.write_bytes(TypeAdapter(Scripts).dump_json(scripts))
        names = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.bare", str(given)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**kept, **QUIET, "HOME": home, "TMPDIR": home},
                text=True,
                start_new_session=True,
            )
        try:
            driver = Bare(process, log)
            driver.hear()
            yield driver
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def measure(name: str, spec: Spec, traces: Sequence[Trace], rounds: int) -> Result:
    """Measure one system.

    Raises:
        Differs: the two sides did not do the same.
    """
    system = SYSTEMS[name]
    adapter = load_adapter(locate(system.adapter))
    defaults = {option: rule.default for option, rule in adapter.options.items()}
    options = {**defaults, **system.options}
    conduct = Conduct.of(adapter, options)
    workflow = spec.workflow_of(MODEL)
    recorded = record_once(spec, traces, system, conduct)
    with_s: list[list[float]] = []  # a round each, a trace each
    without_s: list[list[float]] = []
    with ExitStack() as stack:
        drivers = stack.enter_context(
            Drivers(locate(system.adapter), workflow, conduct, jobs=1, fresh=False, limit=LIMIT_S)
        )
        if system.bare:
            scripts = tuple(script_of(entry.record) for entry in recorded)
            route = options.get("route")
            driver = stack.enter_context(
                bare(Scripts(system.bare, route, workflow["tasks"], workflow["gate"], scripts))
            )
        for _ in range(rounds):
            with_s.append([])
            without_s.append([])
            for number, entry in enumerate(recorded):
                started = time.perf_counter()
                (record,) = drivers.replay(spec, [entry.trace], lambda: None)
                with_s[-1].append(time.perf_counter() - started)
                hold_to(entry, record)
                if system.bare:
                    taken = driver.take(number)
                    without_s[-1].append(taken.seconds)
                    hold_to_script(entry, taken)
    return Result(
        system=name,
        options=options,
        versions=versions_of(adapter),
        traces=len(traces),
        forks=sum(len(entry.record.process_ids) for entry in recorded),
        kills=sum(kills_of(entry.record) for entry in recorded),
        with_s=sum(map(statistics.median, zip(*with_s, strict=True))),
        without_s=(
            sum(map(statistics.median, zip(*without_s, strict=True))) if system.bare else None
        ),
        share_by_round=(
            tuple(map(share_of, map(sum, with_s), map(sum, without_s))) if system.bare else ()
        ),
    )


def kills_of(record: RunRecord) -> int:
    """Kills of a run: those of its trace, and the one that ends it."""
    return len(record.deaths) + 1


def hold_to(entry: Recorded, record: RunRecord) -> None:
    """Hold a measured replay to the one that the script was read off."""
    if replace(record, process_ids=entry.record.process_ids) != entry.record:
        raise Differs(f"trace {entry.trace.name}: two replays of it differ")


def hold_to_script(entry: Recorded, taken: Taken) -> None:
    """Hold what the bare driver did to what the replay did."""
    done = (taken.rows, taken.forks, taken.kills)
    replayed = (entry.rows, len(entry.record.process_ids), kills_of(entry.record))
    if done != replayed:
        raise Differs(
            f"trace {entry.trace.name}: ledger rows, forks and kills were\n"
            f"  {replayed} with the harness and\n  {done} without"
        )


def tour() -> tuple[Spec, list[Trace]]:
    """The specification and the traces that are replayed."""
    spec = load_spec(ROOT / "specs" / "ResumeContract.tla")
    with Processes() as processes:
        checker = RunOptions(
            tools=find_tools(),
            cache=open_cache(),
            processes=processes,
            memory_mb=None,
            timeout_s=None,
        )
        return spec, list(select_traces(spec, MODEL, "transitions", checker))


def show(results: Sequence[Result], about: Mapping[str, str]) -> None:
    """Print a table."""
    table = Table(title=f"the {MODEL} tour, one job, with and without the harness")
    table.add_column("system", no_wrap=True)
    for heading in ("traces/s\nwith", "traces/s\nwithout", f"share\n< {MOST:.2f}",
                    "share by\nround", "forks, kills\na trace"):  # fmt: skip
        table.add_column(heading, justify="right")
    for r in results:
        per_trace = f"{r.forks / r.traces:.1f}, {r.kills / r.traces:.1f}"
        cells = ["-", "-", "-"]
        if r.without_s is not None and r.share is not None:
            style = "green" if r.within_limit else "red"
            cells = [
                f"{r.traces / r.without_s:.1f}",
                f"[{style}]{r.share:.2f}[/]",
                f"{min(r.share_by_round):.2f}..{max(r.share_by_round):.2f}",
            ]
        table.add_row(r.system, f"{r.traces / r.with_s:.1f}", *cells, per_trace)
    console = Console()
    console.print(table, *(f"{key}: {value}" for key, value in about.items()), sep="\n")


def main() -> int:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description="What the harness costs a replay.")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="of %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each trace (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print data in place of a table")
    chosen = parser.parse_args()
    systems = chosen.systems.split(",")
    if unknown := set(systems) - set(SYSTEMS):
        parser.error(f"no system {', '.join(sorted(unknown))}; there are {', '.join(SYSTEMS)}")

    spec, traces = tour()
    try:
        results = [measure(name, spec, traces, chosen.rounds) for name in systems]
    except Differs as error:
        print(f"not comparable: {error}", file=sys.stderr)
        return 3
    about = {
        "rounds": str(chosen.rounds),
        "Python": platform.python_version(),
        "processors": str(os.cpu_count()),
    }
    about |= {name: version for r in results for name, version in r.versions.items()}
    if chosen.json:
        data = [
            {**asdict(r), "share": r.share, "traces_per_s_with": r.traces / r.with_s,
             "traces_per_s_without": r.without_s and r.traces / r.without_s}
            for r in results
        ]  # fmt: skip
        print(json.dumps({"about": about, "results": data}, indent=2))
    else:
        show(results, about)
    return 0 if all(result.within_limit for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
