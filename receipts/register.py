"""Register the predictions of `predictions.toml`, in its order, those that are not there yet.

python receipts/register.py          then commit, then `mbt predict run` each of them
python receipts/register.py --run    run all that are committed and were not run
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mbt.cli import main
from replay.prediction.predictions import OPEN, predictions

HERE = Path(__file__).resolve().parent
MEASURED = {0, 1}
"""How a run ends that was measured, whatever came of it."""


def words(entry: Mapping[str, Any]) -> Iterator[str]:
    """What `mbt predict register` is asked for."""
    yield entry["spec"]
    yield from ("--model", entry["model"], "--adapter", entry["adapter"])
    yield from ("--title", entry["title"], "--why", entry["why"])
    for name in ("against", "with"):
        yield from (f"--{name}", entry[name]) if name in entry else ()
    for option, table in (("constant", "constants"), ("option", "options"), ("walk", "walks")):
        for name, value in entry.get(table, {}).items():
            yield from (f"--{option}", f"{name}={value}")
    yield from ["--replication"] if entry.get("replication") else ()


def register() -> int:
    """Register what is not registered; the exit code of the first that cannot be."""
    entries = tomllib.loads((HERE / "predictions.toml").read_text(encoding="utf-8"))["prediction"]
    there = {one.title for one in predictions(HERE)}
    for entry in entries:
        if entry["title"] in there:
            continue
        code = main(["predict", "register", *words(entry), "--receipts", str(HERE)])
        if code:
            return code
    return 0


def run() -> int:
    """Run what was not run; the exit code of the worst that could not be measured."""
    worst = 0
    for one in predictions(HERE):
        if one.outcome == OPEN:
            code = main(["predict", "run", one.id, "--receipts", str(HERE)])
            worst = max(worst, 0 if code in MEASURED else code)
    return worst


if __name__ == "__main__":
    sys.exit(run() if "--run" in sys.argv[1:] else register())
