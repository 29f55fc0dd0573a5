"""Measure the studies below `studies/` anew (`make sweeps`): what takes long and is no replay.

python receipts/sweeps.py            all of them
python receipts/sweeps.py versions   the sweeps of a kind alone: versions, points
"""

from __future__ import annotations

import sys
from pathlib import Path

from mbt.cli import main

HERE = Path(__file__).resolve().parent
LANGGRAPH = "1.0.5,1.1.0,1.1.3,1.1.10,1.2.9,1.2.24"
CREWAI = "1.13.0,1.14.1,1.14.3,1.14.7,1.15.0,1.15.2,1.15.4,1.15.30"
WORKFLOWS = "2.20.0,2.21.0,2.22.2,2.26.1"
GRAPH = "1.105.0,1.106.0,1.107.1,1.107.10,2.0.0,2.68.0"
DBOS = "2.27.0,3.4.0"
VERSIONS: list[tuple[str, str, list[str]]] = [
    ("langgraph", LANGGRAPH, ["--option", "route=command"]),
    ("langgraph", LANGGRAPH, ["--option", "route=replay"]),
    ("langgraph", LANGGRAPH, ["--option", "route=update-state"]),
    ("langgraph", LANGGRAPH, ["--option", "recover=resubmit"]),
    ("crewai", CREWAI, []),
    ("crewai-persist", CREWAI, []),
    ("crewai-persist", CREWAI, ["--option", "answer=none"]),
    # The first part alone: a restore takes seconds.
    (
        "crewai-checkpoint",
        CREWAI,
        ["--option", "answer=none", "--option", "on_events=all", "--model", "R0"],
    ),
    ("llamaindex", WORKFLOWS, []),
    ("llamaindex", WORKFLOWS, ["--option", "interrupt=wait"]),
    ("pydantic-graph", GRAPH, []),
    ("pydantic-graph", GRAPH, ["--option", "crash_at=boundary"]),
    ("dbos", DBOS, []),
]
COMMANDS = {
    "points": [["sweep", "kill-points"], ["sweep", "stores"], ["race", "points"]],
    "versions": [
        ["sweep", "versions", "--adapter", adapter, "--versions", releases, *more]
        for adapter, releases, more in VERSIONS
    ],
}
MEASURED = {0, 1}
"""How a sweep ends that was measured, whether or not it came out as it did before."""


def run(kinds: list[str]) -> int:
    """Run the sweeps of these kinds; the exit code of the first that could not be measured."""
    for kind in kinds or COMMANDS:
        for words in COMMANDS[kind]:
            if (code := main([*words, "--write", "--receipts", str(HERE)])) not in MEASURED:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
