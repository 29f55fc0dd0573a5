"""How long a dump of TLC takes to become a state graph, against the run of TLC that wrote it.

Makes dumps of specs/ResumeContract.tla at four bounds, reads each in a fresh process, and puts two
other readers beside ours on the smallest. Exit code 1 where a limit is missed.

    python benchmarks/parse.py                   all sizes; a few minutes, 1 GB of disk
    python benchmarks/parse.py --sizes 1k,10k    some
    python benchmarks/parse.py --json            the same as data
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from tracegen.cfg import read_config
from tracegen.outcome import Outcome
from tracegen.tlc import CheckResult, dump
from tracegen.tools import Tools, find_tools

SPECS = Path(__file__).resolve().parent.parent / "specs"
PEER_LIMIT_S = 300.0


@dataclass(frozen=True)
class Size:
    """Bounds of the model, the distinct states they give, and the limits set for reading them."""

    tasks: int
    gate: int
    values: int
    resumes: int
    crashes: int
    extra: int
    states: int
    most_of_tlc: float | None = None
    """Wall time, start of Python included, as a part of the wall time of TLC."""
    most_mb: float | None = None

    def constants(self) -> dict[str, str]:
        """The constants of the module."""
        values = ", ".join(f'"v{number}"' for number in range(1, self.values + 1))
        return {
            "NTasks": str(self.tasks),
            "IP": str(self.gate),
            "Values": f"{{{values}}}",
            "MaxResumes": str(self.resumes),
            "MaxCrashes": str(self.crashes),
            "MaxExtraResumes": str(self.extra),
        }


SIZES = {
    "1k": Size(4, 2, 2, 4, 2, 1, states=1_087),
    "10k": Size(6, 3, 3, 4, 2, 1, states=10_576),
    "100k": Size(6, 3, 3, 5, 3, 2, states=101_302, most_of_tlc=0.5),
    "1M": Size(8, 4, 3, 6, 3, 4, states=977_395, most_of_tlc=1.0, most_mb=1500.0),
}


@dataclass(frozen=True)
class Reading:
    """One dump, written and read."""

    size: str
    states: int
    transitions: int
    dump_mb: float
    tlc_s: float
    read_s: float
    peak_mb: float
    part_of_tlc: float
    most_of_tlc: float | None
    most_mb: float | None

    @property
    def within_limits(self) -> bool:
        """Whether both limits were kept."""
        return self.part_of_tlc < (self.most_of_tlc or float("inf")) and self.peak_mb < (
            self.most_mb or float("inf")
        )


@dataclass(frozen=True)
class PeerReading:
    """What another reader made of a dump: its time and the states it got, or why it got none."""

    reader: str
    size: str
    read_s: float | None
    found: str


@contextmanager
def written(size: Size, tools: Tools) -> Iterator[tuple[CheckResult, Path]]:
    """The dump of the model at these bounds, in a folder that goes when the context ends."""
    config = read_config(SPECS / "ResumeContract_R0.cfg").with_constants(**size.constants())
    with dump(SPECS / "ResumeContract.tla", config, tools=tools) as (result, path):
        if result.outcome is not Outcome.HOLDS or result.distinct != size.states:
            raise SystemExit(f"TLC: {result.outcome.value}, {result.distinct} distinct states")
        yield result, path


OURS = """
import json, resource, sys
from pathlib import Path
from tracegen.dot import read_dump
graph = read_dump(Path(sys.argv[1]))
peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([len(graph), graph.transitions, peak_kb / 1024]))
"""


def read(name: str, size: Size, result: CheckResult, path: Path) -> Reading:
    """Read a dump in a process of its own, so that time and memory are those of reading alone."""
    started = time.perf_counter()
    ours = subprocess.run(
        [sys.executable, "-c", OURS, str(path)], capture_output=True, text=True, check=True
    )
    read_s = time.perf_counter() - started
    states, transitions, peak_mb = json.loads(ours.stdout)
    if states != result.distinct:
        raise SystemExit(f"{states} states read where TLC counted {result.distinct}")
    return Reading(
        size=name,
        states=states,
        transitions=transitions,
        dump_mb=path.stat().st_size / 1e6,
        tlc_s=result.seconds,
        read_s=read_s,
        peak_mb=peak_mb,
        part_of_tlc=read_s / result.seconds,
        most_of_tlc=size.most_of_tlc,
        most_mb=size.most_mb,
    )


NETWORKX = """
import sys, networkx
graph = networkx.nx_pydot.read_dot(sys.argv[1])
print(f"{graph.number_of_nodes()} nodes and {graph.number_of_edges()} edges, values not parsed")
"""
# It reads what Graphviz makes of a dump, not the dump, so only its parser of states is tried.
STATE_GRAPH_UTILS = """
import re, sys
from pathlib import Path
from tlaplus_state_graph_utils.state.tlaplus_to_model import tlaplus_state_to_dataclasses
text = Path(sys.argv[1]).read_text()
labels = re.findall(r'(?m)^-?[0-9]+ [[]label="((?:[^"\\\\]|\\\\.)*)"', text)
for label in labels:
    unescaped = re.sub(r"\\\\(.)", lambda found: found[1].replace("n", "\\n"), label)
    tlaplus_state_to_dataclasses(unescaped)
print(f"{len(labels)} states, no transitions")
"""


def peers(python: str, size: str, path: Path) -> Iterator[PeerReading]:
    """Let other readers read a dump, with an interpreter that may have them installed."""
    yield peer("networkx + pydot", size, [python, "-c", NETWORKX, str(path)])
    with tempfile.TemporaryDirectory() as folder:
        adapted = Path(folder) / "dump.dot"
        adapted.write_text(for_pydot(path.read_text(encoding="utf-8")), encoding="utf-8")
        reader = "networkx + pydot, dump rewritten for it"
        yield peer(reader, size, [python, "-c", NETWORKX, str(adapted)])
    yield peer("tlaplus-state-graph-utils", size, [python, "-c", STATE_GRAPH_UTILS, str(path)])


def for_pydot(text: str) -> str:
    """A dump with its names in quotes (pydot knows no negative ones) and without its cluster."""
    quoted = re.sub(r"(?m)^(-?[0-9]+)(?: -> (-?[0-9]+))? (?=\[)", _quoted, text)
    return re.sub(r"(?m)^(?:\{rank|subgraph cluster_graph|color=).*\n", "", quoted).removesuffix(
        "}"
    )


def _quoted(start: re.Match[str]) -> str:
    return " -> ".join(f'"{name}"' for name in start.groups() if name) + " "


def peer(reader: str, size: str, command: list[str]) -> PeerReading:
    """Run another reader; where it fails, what it said last is the reason."""
    started = time.perf_counter()
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PEER_LIMIT_S)
    except subprocess.TimeoutExpired:
        return PeerReading(reader, size, None, f"not done within {PEER_LIMIT_S:.0f} s")
    seconds = time.perf_counter() - started
    if run.returncode == 0:
        return PeerReading(reader, size, seconds, run.stdout.strip())
    # pydot prints why it does not understand a file, and networkx then stumbles over its silence.
    reason = (run.stdout.strip() or run.stderr.strip()).split("\n")[-1]
    missing = re.search(r"No module named '([^']+)'", reason)
    return PeerReading(reader, size, None, f"needs {missing[1]} installed" if missing else reason)


def show(readings: list[Reading], others: list[PeerReading], about: dict[str, str]) -> None:
    """Print both tables."""
    title = "reading a dump, against the TLC run that wrote it (limits: <)"
    ours = Table(title=title, box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    for heading in ("size", "states", "transitions", "dump MB", "TLC s", "read s", "read / TLC",
                    "peak MB"):  # fmt: skip
        ours.add_column(heading, justify="right", no_wrap=True)
    for r in readings:
        ours.add_row(
            r.size, f"{r.states:,}", f"{r.transitions:,}", f"{r.dump_mb:.1f}", f"{r.tlc_s:.1f}",
            f"{r.read_s:.2f}", f"{r.part_of_tlc:.2f}{_limit(r.most_of_tlc)}",
            f"{r.peak_mb:.0f}{_limit(r.most_mb)}",
        )  # fmt: skip
    beside = Table(title="other readers", box=box.SIMPLE, pad_edge=False)
    for heading in ("reader", "size", "read s", "what it found, or why it did not"):
        beside.add_column(heading)
    for p in others:
        seconds = "-" if p.read_s is None else f"{p.read_s:.1f}"
        beside.add_row(p.reader, p.size, seconds, p.found)
    console = Console()
    console.print(ours, beside, *(f"{key}: {value}" for key, value in about.items()), sep="\n")


def _limit(limit: float | None) -> str:
    return "" if limit is None else f" < {limit:g}"


def main() -> int:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description="Reading dumps of TLC, against TLC's own time.")
    parser.add_argument("--sizes", default=",".join(SIZES), help="of %(default)s")
    parser.add_argument("--json", action="store_true", help="print data in place of tables")
    parser.add_argument(
        "--peers-python", default=sys.executable, help="an interpreter with the other readers"
    )
    options = parser.parse_args()
    sizes = options.sizes.split(",")
    if unknown := set(sizes) - set(SIZES):
        parser.error(f"no size {', '.join(sorted(unknown))}; there are {', '.join(SIZES)}")

    tools = find_tools()
    readings: list[Reading] = []
    others: list[PeerReading] = []
    for name in sizes:
        with written(SIZES[name], tools) as (result, path):
            readings.append(read(name, SIZES[name], result, path))
            if name == sizes[0]:
                others.extend(peers(options.peers_python, name, path))
    about = {
        "TLC": f"{tools.tlc.version}, one worker",
        "Java": tools.java.version,
        "Python": platform.python_version(),
        "processors": str(os.cpu_count()),
    }
    if options.json:
        data = {"about": about, "readings": list(map(asdict, readings))}
        print(json.dumps({**data, "others": list(map(asdict, others))}, indent=2))
    else:
        show(readings, others, about)
    return 0 if all(reading.within_limits for reading in readings) else 1


if __name__ == "__main__":
    sys.exit(main())
