"""Scripts of `mbt repro` in environments that hold the framework and pytest alone.

For each framework a failing run of a committed receipt is written as a script, and run as a
maintainer would: in an environment made by uv from the script's own list, where nothing of mbt's
can be imported. Ends with 1 where one is not reproduced there, by itself and by pytest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

# Before this folder, which has a replay.py of its own.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from replay.reopened import reopen
from replay.repro.claim import claim_of
from replay.repro.script import requirements, script
from replay.sweeps.environments import find_uv, open_environment
from tracegen.cache import open_cache
from tracegen.jvm import Processes

RECEIPTS = Path(__file__).resolve().parent.parent / "receipts"
ROWS = {
    "ResumeContract/langgraph/default": "R0-02",
    "ResumeContract/langgraph-functional/route=replay": "R0-23",
    "ResumeContract/langgraph-remit/subgraph=first": "R0-25",
    "ResumeContract/crewai/default": "R0-37",
    "ResumeContract/crewai-persist/default": "R0-23",
    "ResumeContract/crewai-checkpoint/on_events=all,answer=none": "R0-23",
    "ResumeContract/llamaindex/save=idle": "R0-23",
    "ResumeContract/pydantic-graph/default": "R0-01",
    "ResumeContract/autogen/default": "R0-23",
    "ResumeContract/openai-agents/default": "R0-23",
    "ResumeContract/dbos/fork_at=past-recv": "R0-25",
    "R11_ConsumeCount/langgraph/route=update-state": "R11-effect-counterexample",
}
OURS = "mbt adapters replay tracegen specs"


def reproduced(row: str, name: str, folder: Path) -> bool:
    """Write one script, make its environment, and run it there in both ways."""
    receipt = reopen(RECEIPTS / row)
    run = receipt.failing_run(name)
    file = folder / "bug.py"
    text = script(receipt, run, claim_of(receipt, run), file.name)
    file.write_text(text)
    with Processes() as processes:
        wanted = [*requirements(text), "pytest"]
        environment = open_environment(wanted, open_cache(), find_uv(), processes)

    def ended(*arguments: str) -> int:
        bare = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
        command = [str(environment.interpreter), *arguments]
        return subprocess.run(command, cwd=folder, env=bare, check=False).returncode

    absent = f"import importlib.util as u; exit(any(map(u.find_spec, {OURS!r}.split())))"
    codes = [ended("-c", absent), ended("bug.py"), ended("-m", "pytest", "-q", "bug.py")]
    return codes == [0, 1, 0]


def main() -> int:
    """Run all of them."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    missed = []
    for row, name in ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            if not reproduced(row, name, Path(folder)):
                missed.append(row)
    print(f"{len(ROWS) - len(missed)} of {len(ROWS)} reproduced")
    print("".join(f"not reproduced: {row}\n" for row in missed), end="")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
