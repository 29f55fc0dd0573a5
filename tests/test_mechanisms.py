"""The mechanisms that frameworks showed: the modules, and the committed runs that they admit."""

import json
from functools import cache
from pathlib import Path

import pytest

from replay.compare import track
from replay.models import Models
from replay.stored import read_runs
from tracegen.cfg import read_config
from tracegen.outcome import Outcome
from tracegen.spec import companions_of, load_spec
from tracegen.tlc import check, state_graph

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "specs"
RECEIPTS = ROOT / "receipts"

# Variables that one of two modules has and the other has not.
HIDDEN = {"dead", "unsaved", "mode", "racer", "consumeCount", "raceUsed", "emitted"}
OLD = ["Replay", "ForkIgnore", "InvalidPersist", "NondetRecovery", "DoubleConsume", "PrefixReplay"]


@cache
def spec_of(module):
    return load_spec(SPECS / f"{module}.tla")


def transitions(checker, module, config):
    """The transitions of a model, as far as the variables tell them that all modules share."""
    _, graph = state_graph(SPECS / f"{module}.tla", config, **checker)

    def shared(state):
        return frozenset((n, v) for n, v in graph.state(state).items() if n not in HIDDEN)

    return {(shared(e.source), e.action, shared(e.target)) for e in graph.edges}


# --------------------------------------------------------- the modules


@pytest.mark.parametrize("switch", [None, *OLD])
def test_without_the_new_switches_the_steps_are_those_of_the_resume_plane(checker, switch):
    """One crash: 87 states generated, 59 distinct, and each old switch does what it did."""
    faults = [f"Fault{switch}"] if switch else []
    bounds = read_config(SPECS / "ResumeContract_R0.cfg")
    theirs = transitions(
        checker, "ResumeContract", bounds.with_constants(dict.fromkeys(faults, True))
    )
    ours = transitions(
        checker, "ResumeMechanisms", spec_of("ResumeMechanisms").config_at(bounds, faults)
    )
    assert ours == theirs
    if not faults:
        assert len(ours) == 87 - 1  # all that is generated, but the initial state


def test_two_consumers_that_both_fire_are_those_of_the_counted_race(checker):
    bounds = read_config(SPECS / "R11_ConsumeCount_R11-effect.cfg")
    theirs = transitions(checker, "R11_ConsumeCount", bounds.with_invariants())
    ours = transitions(
        checker,
        "ResumeMechanisms",
        spec_of("ResumeMechanisms").config_at(bounds, ["FaultBothFire"]),
    )
    assert ours == theirs
    assert "RaceConsume" in {action for _, action, _ in ours}


def test_the_parked_machine_is_the_other_one_with_durable_parking(checker):
    bounds = read_config(SPECS / "ResumeContractParked_durable.cfg")
    spec = spec_of("ParkedMechanisms")
    theirs = transitions(checker, "ResumeContractParked", bounds)
    assert transitions(checker, "ParkedMechanisms", spec.config_at(bounds, [])) == theirs
    replay = spec.config_at(bounds, ["FaultReplay"])
    theirs = transitions(
        checker, "ResumeContractParked", bounds.with_constants({"FaultReplay": True})
    )
    assert transitions(checker, "ParkedMechanisms", replay) == theirs


def test_a_run_that_is_parked_is_found_and_one_that_was_answered_is_not(checker):
    bounds = read_config(SPECS / "ResumeContractParked_durable.cfg")
    config = spec_of("ParkedMechanisms").config_at(bounds, ["FaultLostPending"])
    _, graph = state_graph(SPECS / "ParkedMechanisms.tla", config, **checker)
    found = {
        (e.action, str(graph.state(e.target)["pc"]), str(graph.state(e.target)["waiting"]))
        for e in graph.edges
        if e.action in {"CrashRecover", "CrashWhileParked"}
    }
    assert found == {("CrashRecover", "1", "FALSE"), ("CrashWhileParked", "2", "TRUE")}


MODELS = [
    (module, name)
    for module in ("ResumeMechanisms", "ParkedMechanisms")
    for name in spec_of(module).models
]


@pytest.mark.parametrize(("module", "name"), MODELS)
def test_each_mechanism_breaks_what_it_is_said_to_break(checker, module, name):
    model = spec_of(module).models[name]
    on = {constant for constant, value in model.config.constants.items() if value == "TRUE"}
    assert on == ({f"Fault{name.partition('-')[2]}"} if "-" in name else set())
    result = check(SPECS / f"{module}.tla", model.config, **checker)
    assert (result.violated[:1] or (None,)) == (model.expect.property,)
    figures = {"generated": result.generated, "distinct": result.distinct, "states": result.states}
    expected = model.expect.model_dump(include=figures.keys(), exclude_none=True)
    assert {key: figures[key] for key in expected} == expected
    if model.expect.verdict == "holds":
        assert result.outcome is Outcome.HOLDS
        assert len(model.config.invariants) == 7  # TypeOK and the six


def test_every_new_switch_has_its_model_and_its_sentence():
    both = [spec_of("ResumeMechanisms"), spec_of("ParkedMechanisms")]
    resume, parked = (spec.explain for spec in both)
    assert (resume.switches, resume.sentences) == (parked.switches, parked.sentences)
    assert resume.sentences.keys() == {*resume.switches}
    assert resume.switches[:6] == spec_of("ResumeContract").explain.switches
    shown = {name.partition("-")[2] for spec in both for name in spec.models} - {""}
    assert {f"Fault{name}" for name in shown} == {*resume.switches[6:]}


def test_whose_runs_they_explain():
    assert [
        (module, [c.module for c in companions_of(spec_of(module)) if "Mechanisms" in c.module])
        for module in ("ResumeContract", "R11_ConsumeCount", "ResumeContractParked")
    ] == [
        ("ResumeContract", ["ResumeMechanisms"]),
        ("R11_ConsumeCount", ["ResumeMechanisms"]),
        ("ResumeContractParked", ["ParkedMechanisms"]),
    ]


# ---------------------------------------------------- the committed runs


class Row:
    """A committed receipt, and which of its runs some switches do not admit."""

    def __init__(self, checker, name):
        self.spec = spec_of(name.partition("/")[0])
        (self.companion,) = (c for c in companions_of(self.spec) if "Mechanisms" in c.module)
        self.models = Models(self.companion, checker, bounds=self.spec)
        receipt = json.loads((RECEIPTS / name / "receipt.json").read_text())
        parts = [*receipt["parts"], *receipt["second_pass"]]
        self.model_of = {part["name"]: part["model"] for part in parts}
        self.runs = read_runs(RECEIPTS / name)

    def not_admitted(self, faults, part):
        poison_only = {*self.companion.explain.poison_only}
        names = []
        for run in (stored.record for stored in self.runs if stored.part == part):
            acting = faults if run.poisoned else faults - poison_only
            found = track(
                run,
                self.models(self.model_of[part], frozenset(acting)),
                merges={},
                refusable=not poison_only & faults,
                resynchronise=False,
            )
            names += [run.trace] if found.divergence else []
        return names


# How many of the part's runs stay unexplained without one of the switches.
EXPLAINED = [
    ("ResumeContract/crewai/re_answer=no", "one crash", {"Rearm": 28}),
    ("ResumeContract/llamaindex/interrupt=wait-late", "one crash", {"OneStep": 40}),
    (
        "ResumeContract/autogen/team=graph,save=running",
        "one crash",
        {"DeadRecovery": 28, "RerunCompleted": 8},
    ),
    ("ResumeContract/langgraph/address=thread", "one crash", {"ForkHead": 4, "ForkIgnore": 20}),
    (
        "R11_ConsumeCount/langgraph-functional/route=replay",
        "race in every order",
        {"ForkRestart": 4, "FirstKept": 16},
    ),
    (
        "ResumeContract/openai-agents/session=sqlite,recover=input",
        "poisoned output",
        {"RefusedLate": 1},
    ),
    ("ResumeContractParked/crewai/default", "one crash", {"LostPending": 27}),
]


@pytest.mark.parametrize(("name", "part", "without"), EXPLAINED, ids=[row[0] for row in EXPLAINED])
def test_committed_runs_are_admitted_by_all_of_a_set_and_by_nothing_less(
    checker, name, part, without
):
    row = Row(checker, name)
    faults = {f"Fault{switch}" for switch in without}
    assert row.not_admitted(faults, part) == []
    for switch, runs in without.items():
        assert len(row.not_admitted(faults - {f"Fault{switch}"}, part)) == runs


def test_a_run_that_stands_is_not_admitted_where_none_does(checker):
    row = Row(checker, "ResumeContract/reference/default")
    assert row.not_admitted(set(), "one crash") == []
    # Those with a crash; the others show nothing of it.
    assert len(row.not_admitted({"FaultDeadRecovery"}, "one crash")) == 28


def test_an_output_that_was_refused_is_not_admitted_where_its_record_stays(checker):
    row = Row(checker, "ResumeContract/autogen/default")
    faults = {"FaultSavedAtRest"}
    assert row.not_admitted(faults, "poisoned output") == []
    assert row.not_admitted(faults | {"FaultRefusedLate"}, "poisoned output") != []


def test_the_one_run_that_no_set_admits(checker):
    """The only divergence with a section of its own in docs/findings.md."""
    name = "ResumeContract/llamaindex/save=idle"
    row = Row(checker, name)
    assert row.not_admitted({"FaultSavedAtRest"}, "one crash") == []
    assert row.not_admitted({"FaultSavedAtRest"}, "poisoned output") == ["R3-counterexample"]
    told = (ROOT / "docs" / "findings.md").read_text()
    assert told.count("receipt: `") == told.count(f"receipt: `{name}`") == 1
