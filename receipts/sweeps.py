"""Measure the studies below `studies/` anew (`make sweeps`): what takes long and is no replay.

python receipts/sweeps.py            all of them
python receipts/sweeps.py versions   those of a kind alone: points, races, versions, runs, harness
"""

from __future__ import annotations

import sys
from pathlib import Path

from mbt.cli import main
from replay.sweeps.swept import sweeps

HERE = Path(__file__).resolve().parent
COMMANDS = {
    "points": [["sweep", "kill-points"], ["sweep", "stores"], ["race", "points"]],
    "races": [["race", "timing"], ["race", "hosts"]],
    "versions": [["sweep", "versions", *words] for words in sweeps()],
    "runs": [["explain", "--planted"], ["explain", "--every"], ["shrink", "--every"]],
    "harness": [["selfcheck"]],
}
MEASURED = {0, 1}
"""How a sweep ends that was measured, whether or not it came out as it did before."""
WRONG_USE = 2


def run(kinds: list[str]) -> int:
    """Run the sweeps of these kinds; the exit code of the first that could not be measured."""
    if unknown := [kind for kind in kinds if kind not in COMMANDS]:
        known = ", ".join(COMMANDS)
        print(f"sweeps: {unknown[0]!r} is no kind of sweep; there are {known}", file=sys.stderr)
        return WRONG_USE
    for kind in kinds or COMMANDS:
        for words in COMMANDS[kind]:
            if (code := main([*words, "--write", "--receipts", str(HERE)])) not in MEASURED:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
