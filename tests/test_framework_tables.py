"""Real frameworks over the whole tour: the tables of docs/driving.md, combination by combination.

Expected are measurements made on a prototype with the same rules, before this code was written.
"""

import pytest
from lab import ONE_CRASH, POISON, TWO_CRASHES, part_of, violated

NONE = ()
LANGGRAPH = [
    # options, violated, diverging of 40, inapplicable steps, explained by (sets of switches)
    ({"route": "update-state"}, "", 0, 0, [""]),
    ({"route": "update-state", "address": "address"}, "", 0, 0, [""]),
    ({"route": "replay"}, "", 0, 0, [""]),
    ({"route": "replay", "address": "address"}, "FD", 6, 0, NONE),
    ({"route": "command"}, "FD", 20, 0, ["ForkIgnore"]),
    ({"route": "command", "address": "address"}, "FD", 20, 0, ["ForkIgnore"]),
    ({"route": "command", "address": "thread"}, "FD", 22, 0, NONE),
    ({"route": "update-state", "address": "thread"}, "", 4, 0, NONE),
    ({"route": "replay", "address": "thread"}, "", 4, 0, NONE),
    (
        {"recover": "resubmit", "re_answer": "no", "route": "update-state"},
        "EO PC",
        28,
        20,
        NONE,
    ),
    ({"recover": "resubmit", "re_answer": "no", "route": "replay"}, "EO PC", 28, 20, NONE),
    ({"recover": "resubmit", "route": "update-state"}, "EO PC CO", 28, 0, ["Replay"]),
    ({"recover": "resubmit", "route": "replay"}, "EO PC CO", 28, 0, ["Replay"]),
    ({"recover": "resubmit", "route": "command"}, "EO PC CO FD", 34, 0, ["Replay ForkIgnore"]),
]
CREWAI = [
    ({}, "EO PC CO", 28, 0, ["Replay"]),
    ({"re_answer": "no"}, "EO PC", 28, None, NONE),
]


def faults(text):
    return tuple(f"Fault{name}" for name in text.split())


def check(lab, adapter, options, expected, diverging, inapplicable, explained):
    found = lab.replay(adapter, parts=[ONE_CRASH], **options)
    (result,) = found.parts
    assert violated(result, lab.spec) == set(expected.split())
    assert len(result.diverging) == diverging
    if inapplicable is not None:
        assert result.inapplicable == inapplicable
    assert found.explanation.smallest == tuple(faults(text) for text in explained)
    killed = [death for record in result.records for death in record.deaths]
    assert len(killed) == 28 and {death.status for death in killed} == {9}


@pytest.mark.parametrize(
    ("options", "expected", "diverging", "inapplicable", "explained"),
    LANGGRAPH,
    ids=[" ".join(row[0].values()) for row in LANGGRAPH],
)
def test_langgraph(lab, options, expected, diverging, inapplicable, explained):
    check(lab, "langgraph", options, expected, diverging, inapplicable, explained)


@pytest.mark.parametrize(
    ("options", "expected", "diverging", "inapplicable", "explained"),
    CREWAI,
    ids=["re-answer", "no re-answer"],
)
def test_crewai(lab, options, expected, diverging, inapplicable, explained):
    check(lab, "crewai", options, expected, diverging, inapplicable, explained)


def test_langgraph_conforms_at_two_crashes_too(lab):
    found = lab.replay("langgraph", parts=[TWO_CRASHES], route="update-state")
    (result,) = found.parts
    assert (len(result.diverging), len(result.records)) == (0, 80)
    assert found.cell("RD") == "holds"
    assert len(result.covered) == result.transitions


def test_langgraph_stores_a_poisoned_terminal_write_silently(lab):
    found = lab.replay("langgraph", parts=[POISON])
    result = part_of(found, POISON)
    assert violated(result, lab.spec) == {"CV"}
    assert result.records[0].micro[-1].at == "complete"
    assert result.records[0].micro[-1].error is None
    assert found.explanation.smallest == (faults("InvalidPersist"),)


def test_langgraph_in_memory_crashes_by_exception_and_says_so(lab):
    found = lab.replay("langgraph", parts=[ONE_CRASH], saver="memory")
    (result,) = found.parts
    deaths = [death for record in result.records for death in record.deaths]
    assert {(death.form, death.status) for death in deaths} == {("exception", None)}
    assert violated(result, lab.spec) == {"FD"}
    assert len(result.diverging) == 20


def test_langgraph_stopped_at_boundaries_shows_the_same(lab):
    body, boundary = (
        lab.replay("langgraph", parts=[ONE_CRASH], crash_at=where).parts[0]
        for where in ("body", "boundary")
    )
    for inside, between in zip(body.records, boundary.records, strict=True):
        assert [(m.action, m.observed) for m in inside.micro] == [
            (m.action, m.observed) for m in between.micro
        ]
