"""The benchmark of reading dumps, at its smallest."""

import json
import subprocess
import sys

from conftest import REPOSITORY


def test_the_smallest_size():
    run = subprocess.run(
        [sys.executable, "benchmarks/parse.py", "--sizes", "1k", "--json"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    data = json.loads(run.stdout)
    (reading,) = data["readings"]
    assert reading["states"] == 1087
    assert reading["read_s"] > 0
    assert 0 < reading["peak_mb"] < 500
    assert [peer["reader"] for peer in data["others"]] == [
        "networkx + pydot",
        "networkx + pydot, dump rewritten for it",
        "tlaplus-state-graph-utils",
    ]
    for peer in data["others"]:
        assert peer["found"]
