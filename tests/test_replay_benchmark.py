"""The benchmark of the harness's cost: that both sides do the same, not what they take."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from conftest import REPOSITORY

LANGGRAPH, CREWAI = pytest.mark.framework("langgraph"), pytest.mark.framework("crewai")


@pytest.fixture
def benchmark(monkeypatch):
    pytest.importorskip("langgraph")
    monkeypatch.syspath_prepend(REPOSITORY)
    from benchmarks import replay

    return replay


@pytest.mark.parametrize(
    "system", [pytest.param("langgraph", marks=LANGGRAPH), pytest.param("crewai", marks=CREWAI)]
)
def test_both_sides_fork_and_kill_as_the_tour_says(system):
    """All 40 traces hold a fork and 28 a crash; each run's last process is killed as well."""
    if importlib.util.find_spec(system) is None:
        pytest.skip(f"{system} is not installed")
    chosen = ["--systems", system, "--rounds", "1", "--json"]
    run = subprocess.run(
        [sys.executable, "benchmarks/replay.py", *chosen],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr  # 1: too slow here and now
    (result,) = json.loads(run.stdout)["results"]
    assert (result["traces"], result["forks"], result["kills"]) == (40, 40 + 40 + 28, 40 + 28)
    assert result["with_s"] > 0
    assert result["without_s"] > 0


@LANGGRAPH
def test_a_bare_side_that_does_something_else_is_no_measurement(benchmark):
    """A script that answers the question with another value leaves another ledger."""
    from benchmarks.bare import Act, Scripts

    spec, traces = benchmark.tour()
    system = benchmark.SYSTEMS["langgraph"]
    adapter = benchmark.load_adapter(benchmark.locate(system.adapter))
    options = {name: option.default for name, option in adapter.options.items()}
    conduct = benchmark.Conduct.of(adapter, options)
    (entry,) = benchmark.record_once(spec, traces[:1], system, conduct)
    script = benchmark.script_of(entry.record)

    def answered_otherwise(act: Act) -> Act:
        if act.life is None or act.life.branch:
            return act
        calls = tuple(replace(c, value=c.value and "other") for c in act.life.calls)
        return replace(act, life=replace(act.life, calls=calls))

    otherwise = tuple(map(answered_otherwise, script))
    with benchmark.bare(Scripts("langgraph", "command", 3, 2, (script, otherwise))) as driver:
        benchmark.hold_to_script(entry, driver.take(0))
        with pytest.raises(benchmark.Differs, match="with the harness"):
            benchmark.hold_to_script(entry, driver.take(1))
