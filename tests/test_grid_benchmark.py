"""The benchmark of grids, on one of few cells: what it measures, not how fast this machine is."""

import json
import subprocess
import sys

from conftest import REPOSITORY


def test_three_cells():
    run = subprocess.run(
        [sys.executable, "benchmarks/grid.py", "--grid", "indcheck", "--json"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    data = json.loads(run.stdout)
    assert (data["grid"], data["cells"]) == ("indcheck", 3)
    assert data["by_hand_s"] > data["cached_s"] > 0
    assert data["part"] == data["matrix_s"] / data["by_hand_s"]
    kept = data["part"] <= 0.4 and data["cached_s"] < 2
    assert run.returncode == (0 if kept else 1)
