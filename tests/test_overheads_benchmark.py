"""The benchmark of overheads: that it measures what it says, not how fast this machine is."""

import json
import statistics
import subprocess
import sys

import pytest
from conftest import REPOSITORY

pytestmark = [
    pytest.mark.framework("langgraph"),
    pytest.mark.framework("remit"),
    pytest.mark.framework("dbos"),
]


@pytest.fixture
def benchmark(monkeypatch):
    pytest.importorskip("langgraph.checkpoint.sqlite")
    pytest.importorskip("remit")
    monkeypatch.syspath_prepend(REPOSITORY)
    from benchmarks import overheads

    return overheads


def test_two_rounds_of_each_without_a_server():
    for name in ("langgraph.checkpoint.sqlite", "remit", "dbos"):
        pytest.importorskip(name)
    chosen = ["--only", "memory", "sqlite", "dbos", "--rounds", "2", "--json"]
    run = subprocess.run(
        [sys.executable, "benchmarks/overheads.py", *chosen],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    data = json.loads(run.stdout)
    names = ["memory stock", "memory shim", "sqlite stock", "sqlite shim", "sqlite gate", "dbos"]
    assert [list(row) for row in data["rounds"]] == [names, names]
    for row in data["rounds"]:
        for spans in row.values():
            assert 0 < spans["effect"] <= spans["end"] and spans["ask"] > 0
    for span in ("ask", "effect", "end"):
        assert data["summary"]["sqlite stock"][span]["ratio"] == 1
        ratios = [row["dbos"][span] / row["sqlite stock"][span] for row in data["rounds"]]
        assert data["summary"]["dbos"][span]["ratio"] == pytest.approx(statistics.median(ratios))


@pytest.mark.parametrize("rows", [[], ["approved", "approved"], ["another"]])
def test_a_run_without_its_one_effect_is_no_measurement(benchmark, tmp_path, rows):
    effects = benchmark.Effects(tmp_path / "effects.db")
    for row in rows:
        effects.fire(row)
    with pytest.raises(SystemExit, match="not one of 'approved'"):
        effects.hold("sqlite stock")
