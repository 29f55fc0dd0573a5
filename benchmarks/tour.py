"""How long the minimum tour of a large graph takes, and how much memory.

Graphs drawn at random, with cycles and without, and the state graph of specs/ResumeContract.tla at
two bounds, each in a fresh process. A tour of 100,000 transitions has to be found within 60 s and
2 GB. Exit code 1 where it is not.

    python benchmarks/tour.py                        all; about two minutes
    python benchmarks/tour.py --graphs cyclic,10k    some
    python benchmarks/tour.py --json                 the same as data
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from tracegen.cfg import read_config
from tracegen.tlc import state_graph
from tracegen.tools import find_tools
from tracegen.tour import Digraph, minimum_tour

SPECS = Path(__file__).resolve().parent.parent / "specs"
MOST_S, MOST_MB = 60.0, 2000.0


@dataclass(frozen=True)
class Drawn:
    """A graph of numbered vertices, of which 0 is the initial one."""

    vertices: int
    sources: np.ndarray
    targets: np.ndarray
    initial: tuple[int, ...] = (0,)

    def __len__(self) -> int:
        return self.vertices


def drawn(vertices: int, edges: int, *, acyclic: bool, seed: int = 1) -> Drawn:
    """A random graph in which every vertex can be reached: a tree, and edges between any two."""
    chance = random.Random(seed)
    pairs = [(chance.randrange(v), v) for v in range(1, vertices)]
    while len(pairs) < edges:
        ends = (chance.randrange(vertices), chance.randrange(vertices))
        if not acyclic or ends[0] != ends[1]:
            pairs.append((min(ends), max(ends)) if acyclic else ends)
    sources, targets = np.array(sorted(pairs), dtype=np.int64).T
    return Drawn(vertices, sources, targets)


def explored(tasks: int, gate: int, values: int, resumes: int, crashes: int, extra: int) -> Digraph:
    """What TLC explores of the resume contract at these bounds."""
    config = read_config(SPECS / "ResumeContract_R0.cfg").with_constants(
        NTasks=tasks,
        IP=gate,
        Values="{" + ", ".join(f'"v{number}"' for number in range(1, values + 1)) + "}",
        MaxResumes=resumes,
        MaxCrashes=crashes,
        MaxExtraResumes=extra,
    )
    return state_graph(SPECS / "ResumeContract.tla", config, tools=find_tools())[1]


GRAPHS: Mapping[str, Callable[[], Digraph]] = {
    "cyclic": lambda: drawn(30_000, 100_000, acyclic=False),
    "acyclic": lambda: drawn(30_000, 100_000, acyclic=True),
    "10k": lambda: explored(6, 3, 3, 4, 2, 1),
    "100k": lambda: explored(6, 3, 3, 5, 3, 2),
}


@dataclass(frozen=True)
class Touring:
    """One tour; the memory is the peak of the process, with the graph and what made it."""

    graph: str
    states: int
    transitions: int
    paths: int
    steps: int
    minimal: bool
    covered: bool
    tour_s: float
    peak_mb: float

    @property
    def within_limits(self) -> bool:
        """Whether it is a proven minimum over all transitions, and both limits were kept."""
        fast = self.tour_s < MOST_S and self.peak_mb < MOST_MB
        return fast and self.minimal and self.covered


def touring(name: str) -> Touring:
    """Make a graph and its tour, in this process."""
    graph = GRAPHS[name]()
    began = time.perf_counter()
    tour = minimum_tour(graph)
    seconds = time.perf_counter() - began
    taken = {edge for path in tour.paths for edge in path}
    return Touring(
        graph=name,
        states=len(graph),
        transitions=len(graph.sources),
        paths=len(tour.paths),
        steps=tour.steps,
        minimal=tour.minimal,
        covered=len(taken) == len(graph.sources),
        tour_s=round(seconds, 2),
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="of " + ", ".join(GRAPHS))
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    names = asked.graphs.split(",")
    if unknown := [name for name in names if name not in GRAPHS]:
        parser.error(f"unknown graph {unknown[0]!r}; known: {', '.join(GRAPHS)}")
    found = []
    for name in names:
        # A process each, so that the peak is the tour's own and not an earlier graph's.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found.append(pool.apply(touring, (name,)))
        print(f"{name}: {found[-1].tour_s} s", file=sys.stderr)
    if asked.json:
        machine = {"python": platform.python_version(), "cores": os.cpu_count()}
        print(json.dumps({**machine, "tours": [asdict(each) for each in found]}, indent=1))
    else:
        table = Table(box=box.SIMPLE)
        for title in ("graph", "states", "transitions", "paths", "steps", "proven", "s", "MB"):
            table.add_column(title, justify="left" if title == "graph" else "right")
        for each in found:
            table.add_row(
                each.graph,
                f"{each.states:,}",
                f"{each.transitions:,}",
                f"{each.paths:,}",
                f"{each.steps:,}",
                "minimal" if each.minimal else "no",
                f"{each.tour_s}",
                f"{each.peak_mb}",
            )
        Console().print(table)
    return 0 if all(each.within_limits for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
