"""A run that is killed while it is parked is found parked again, by a process that never saw it."""

import signal

import pytest
from lab import Lab, violated


@pytest.fixture(scope="module")
def parked():
    return Lab("ResumeContractParked")


@pytest.mark.parametrize(
    ("adapter", "chosen"), [("reference", {}), ("langgraph", {"route": "update-state"})]
)
def test_durable_parking_survives_a_kill(parked, adapter, chosen):
    """The durable machine has 88 - 1 transitions (model.md); the interrupt survives SIGKILL."""
    found = parked.replay(adapter, **chosen)
    (result,) = found.parts
    assert found.conforms
    assert (len(result.covered), result.transitions, result.inapplicable) == (87, 87, 0)
    assert violated(result, parked.spec) == set()
    crashed = [
        (record, micro)
        for record in result.records
        for micro in record.micro
        if micro.action == "CrashWhileParked"
    ]
    assert crashed
    for record, micro in crashed:
        assert (micro.at, micro.observed["waiting"]) == ("parked", True)
        assert signal.SIGKILL in [death.status for death in record.deaths]


def test_where_parking_is_volatile_nobody_asks_again(parked):
    """The run is safe because it is dead; the model's switch for that explains all of it."""
    found = parked.replay("reference", parking="volatile")
    (result,) = found.parts
    (record,) = [r for r in result.records if r.trace in result.diverging]
    assert [(m.at, m.observed["waiting"]) for m in record.micro][-1] == ("idle", False)
    assert result.explanation.smallest == (("ParkDurable",),)
    assert violated(result, parked.spec) == set()


def test_crewai_finds_its_question_again(parked):
    records = parked.replay("crewai").parts[0].records
    crashed = [m for r in records for m in r.micro if m.action == "CrashWhileParked"]
    assert crashed
    assert {micro.at for micro in crashed} == {"parked"}
