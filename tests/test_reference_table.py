"""The yardstick: each fault of the reference engine gives the footprint that the model predicts.

Expected are the rows of the paper's Table III (which properties a mechanism breaks), and, of the
prototype's measurements, how many traces of the minimal tours meet it.
"""

import pytest
from lab import ONE_CRASH, POISON, TWO_CRASHES, part_of, violated

# Table III: mechanism -> the properties that it breaks, all others intact.
TABLE_III = {
    "Replay": {"EO", "PC", "CO"},
    "ForkIgnore": {"FD"},
    "InvalidPersist": {"CV"},
    "NondetRecovery": {"EO", "PC", "CO", "RD"},
    "DoubleConsume": {"EO", "CO"},
    "PrefixReplay": {"EO", "PC"},
}

# options -> one crash: violated, diverging of 40; two crashes: violated, diverging of 80 (None:
# no figure); the explanation.
ROWS = [
    ({}, set(), 0, set(), 0, "reference"),
    ({"fault": "Replay"}, TABLE_III["Replay"], 28, TABLE_III["Replay"], None, "Replay"),
    ({"fault": "ForkIgnore"}, {"FD"}, 20, {"FD"}, None, "ForkIgnore"),
    ({"fault": "InvalidPersist"}, set(), 0, set(), 0, "InvalidPersist"),
    ({"fault": "DoubleConsume"}, {"EO", "CO"}, 24, {"EO", "CO"}, None, "DoubleConsume"),
    ({"fault": "PrefixReplay"}, {"EO", "PC"}, 28, {"EO", "PC"}, None, "PrefixReplay"),
    (
        {"fault": "NondetRecovery", "decisions": "skip,reexec"},
        set(),
        0,
        TABLE_III["NondetRecovery"],
        44,
        "NondetRecovery",
    ),
    (
        {"fault": "NondetRecovery", "decisions": "reexec,skip"},
        {"EO", "PC", "CO"},
        28,
        TABLE_III["NondetRecovery"],
        68,
        "NondetRecovery",
    ),
    (
        {"fault": "NondetRecovery", "decisions": "skip,skip"},
        set(),
        0,
        set(),
        0,
        "reference",
    ),
    (
        {"fault": "NondetRecovery", "decisions": "reexec,reexec"},
        {"EO", "PC", "CO"},
        28,
        {"EO", "PC", "CO"},
        None,
        "NondetRecovery",
    ),
]


def named(explanation):
    return () if explanation == "reference" else (f"Fault{explanation}",)


@pytest.mark.parametrize(
    ("options", "one", "one_diverging", "two", "two_diverging", "explained"),
    ROWS,
    ids=["-".join(row[0].values()) or "none" for row in ROWS],
)
def test_the_footprint_of_each_fault(
    lab, options, one, one_diverging, two, two_diverging, explained
):
    found = lab.replay("reference", **options)
    first, second, poison = (part_of(found, name) for name in (ONE_CRASH, TWO_CRASHES, POISON))

    assert (len(first.records), first.part.steps) == (40, 248)
    assert (len(second.records), second.part.steps) == (80, 552)
    assert violated(first, lab.spec) == one
    assert violated(second, lab.spec) == two
    assert len(first.diverging) == one_diverging
    if two_diverging is not None:
        assert len(second.diverging) == two_diverging
    persists = options.get("fault") == "InvalidPersist"
    assert violated(poison, lab.spec) == ({"CV"} if persists else set())
    assert found.explanation.smallest == (named(explained),)


def test_the_union_over_decisions_is_the_row_of_table_iii(lab):
    union = set()
    for decisions in ("skip,reexec", "reexec,skip"):
        found = lab.replay(
            "reference", parts=[TWO_CRASHES], fault="NondetRecovery", decisions=decisions
        )
        union |= violated(part_of(found, TWO_CRASHES), lab.spec)
    assert union == TABLE_III["NondetRecovery"]


def test_without_a_fault_everything_conforms_and_what_was_provoked_holds(lab):
    found = lab.replay("reference")
    assert found.conforms
    for result in found.parts:
        assert result.inapplicable == 0
        assert result.unobserved(lab.spec) == {}
        assert not result.diverging
    assert {name: found.cell(name) for name in lab.spec.properties} == dict.fromkeys(
        ("PC", "EO", "FD", "CV", "CO", "RD"), "holds"
    )
    first = part_of(found, ONE_CRASH)
    # 28 of the traces hold a crash and 24 a stray; 20 fork with another value; with one crash no
    # two recoveries can be compared, and no output is poisoned.
    assert len(first.judgement.provoked["CO"]) == 24
    assert len(first.judgement.provoked["FD"]) == 20
    assert first.cell("RD") == first.cell("CV") == "not provoked"
    assert len(first.covered) == first.transitions
    # NondetRecovery may skip every time, and so contains the reference machine.
    assert ("FaultNondetRecovery",) in found.explanation.larger
