"""Two consumers of one interrupt (rule 13), and one interrupt invoked twice, on real systems."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from lab import ONE_CRASH, Lab, violated
from rich.console import Console

from replay.tables import Invocation, report

FICKLE = str(Path(__file__).parent / "systems" / "fickle.py") + ":Fickle"
RACE, EVERY_ORDER, TWICE = "race", "race in every order", "invoked twice"


@pytest.fixture(scope="module")
def r11():
    return Lab("R11_ConsumeCount")


@pytest.fixture(scope="module")
def fork():
    return Lab("LangGraphFork")


def screen_of(found):
    console = Console(record=True, width=200, file=io.StringIO())
    for item in report(found, Invocation("SPEC", [], {}, Path("receipt")), {}):
        console.print(item)
    return console.export_text()


def explained(found):
    return [found.explanation.name(faults) for faults in found.explanation.smallest]


def parts(found):
    return {result.part.name: result for result in found.parts}


@pytest.mark.parametrize(
    ("fault", "fails", "mechanism"),
    [
        ("none", set(), "reference"),
        ("ConcurrentConsume", {"CO-c"}, "ConcurrentConsume"),
        (
            "ConcurrentConsume,RaceEffect",
            {"EO", "CO-e", "CO-c"},
            "ConcurrentConsume with RaceEffect",
        ),
    ],
)
def test_the_reference_engine_races_as_the_model_says(r11, fault, fails, mechanism):
    """16 of the 56 traces of the tour hold a race, 20 a fork; every property else holds."""
    found = r11.replay("reference", fault=fault)
    result = parts(found)[EVERY_ORDER]
    assert violated(result, r11.spec) == fails == violated(parts(found)[RACE], r11.spec)
    assert explained(found) == [mechanism]
    assert found.conforms == (not fails)
    assert result.inapplicable == 0
    assert not result.unobserved(r11.spec)


def test_a_refused_second_consumer_conforms_and_puts_consume_once_to_the_test(r11):
    (record,) = r11.replay("reference", parts=[RACE]).parts[0].records
    (raced,) = [micro for micro in record.micro if micro.action == "RaceConsume"]
    assert raced.error["type"] == "AlreadyConsumed"
    assert raced.observed["effects"] == [1, 1, 0]
    assert raced.observed["forkVals"] == ["v1"]
    assert [event.kind for event in raced.events] == ["race refused"]
    found = r11.replay("reference", parts=[RACE])
    assert found.cell("CO-c") == found.cell("CO-e") == "holds"


def test_both_consumers_read_before_either_is_let_go(r11):
    """The second process is started before the first one's effect is in the ledger."""
    fault = "ConcurrentConsume,RaceEffect"
    (record,) = r11.replay("reference", parts=[RACE], fault=fault).parts[0].records
    assert [(row.branch, row.task, row.process) for row in record.ledger] == [
        (0, 1, 1),
        (0, 2, 1),
        (0, 2, 2),
        (0, 3, 1),
    ]
    (raced,) = [micro for micro in record.micro if micro.action == "RaceConsume"]
    assert (raced.process, raced.at) == (2, "held")
    assert raced.observed["ckpts"] == [{"task": 1, "valid": True}, {"task": 2, "valid": True}]


@pytest.mark.parametrize(
    ("adapter", "chosen", "reason"),
    [
        ("reference", {"crash_at": "boundary"}, "between calls nothing is held past its read"),
        (
            "langgraph",
            {"saver": "memory"},
            "a store in the run's own process has no second consumer",
        ),
    ],
)
def test_what_cannot_be_raced_is_inapplicable_with_the_reason(r11, adapter, chosen, reason):
    found = r11.replay(adapter, parts=[RACE], **chosen)
    (record,) = found.parts[0].records
    assert record.inapplicable == {3: reason}
    assert found.cell("CO-c") == "not provoked"


def test_langgraph_consumes_twice_and_fires_twice(r11):
    """Measured: two racers, two fires; the durable state shows the first one's line alone."""
    found = r11.replay("langgraph", route="update-state")
    result = parts(found)[EVERY_ORDER]
    assert violated(result, r11.spec) == {"EO", "CO-e", "CO-c"}
    assert len(result.diverging) == 16
    assert explained(found) == ["ConcurrentConsume with RaceEffect"]
    for record in result.records:
        for micro in record.micro:
            if micro.action == "RaceConsume":
                assert micro.error is None
                assert micro.observed["effects"][1] == 2
                # Each is served its own value: what the second read did not hold the first's.
                assert micro.observed["forkOuts"] == [[v] for v in micro.observed["forkVals"]]


def test_a_race_goes_the_same_way_each_time(r11):
    found = r11.replay("langgraph", parts=[RACE], repeat=10)
    assert found.parts[0].unsteady == ()
    assert (found.repeat, violated(found.parts[0], r11.spec)) == (10, {"EO", "CO-e", "CO-c"})


def test_crewai_fires_twice_where_both_loaded_the_question(r11):
    """frameworks.md: two processes that both loaded the pending feedback both fire."""
    (record,) = r11.replay("crewai", parts=[RACE]).parts[0].records
    assert [row.task for row in record.ledger].count(2) == 2


@pytest.mark.parametrize(
    ("adapter", "chosen", "mechanism"),
    [
        ("reference", {}, "LGF-B"),
        ("reference", {"fault": "ForkIgnore"}, "LGF-A"),
        ("langgraph", {"route": "command"}, "LGF-A"),
        ("langgraph", {"route": "update-state"}, "LGF-B"),
    ],
)
def test_which_serving_rule_explains_a_fork(fork, adapter, chosen, mechanism):
    found = fork.replay(adapter, **chosen)
    assert explained(found) == [mechanism]
    assert violated(found.parts[0], fork.spec) == ({"FD"} if mechanism == "LGF-A" else set())
    assert found.cell("RI") == "holds"
    assert found.conforms == (mechanism == "LGF-B")


def test_a_run_that_goes_otherwise_is_reported_and_does_not_conform(lab):
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "CrashRecover")
    part = replace(lab.parts[ONE_CRASH], traces=(trace,))
    once = lab.replay(FICKLE, parts=[part], jobs=1)
    assert once.conforms
    twice = lab.replay(FICKLE, parts=[part], jobs=1, repeat=2)
    assert twice.parts[0].unsteady == (trace.name,)
    assert not twice.conforms
    assert "went otherwise in one of 2" in screen_of(twice)
