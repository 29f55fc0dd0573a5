"""The tour of 100,000 transitions: within 60 s and 2 GB, and a proven minimum."""

import json
import subprocess
import sys

from conftest import REPOSITORY


def test_a_hundred_thousand_transitions_with_cycles():
    run = subprocess.run(
        [sys.executable, "benchmarks/tour.py", "--graphs", "cyclic", "--json"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (tour,) = json.loads(run.stdout)["tours"]
    assert tour["transitions"] == 100_000
    assert tour["minimal"] and tour["covered"]
    assert tour["tour_s"] < 60
    assert 50 < tour["peak_mb"] < 2000
