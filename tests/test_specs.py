"""The companion modules come out as the paper says: R7, R10, the parked machine, IndCheck."""

import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tracegen.cfg import read_config
from tracegen.outcome import Outcome
from tracegen.spec import load_spec
from tracegen.tlc import check, state_graph
from tracegen.values import TRUE, Str

SPECS = Path(__file__).resolve().parent.parent / "specs"

SIX = {
    "PrefixConsistency",
    "EffectExactlyOnce",
    "ForkDeterminism",
    "CheckpointValidity",
    "ConsumeOnce",
    "RecoveryDeterminism",
}


@pytest.fixture
def run(checker):
    def checked(module, model, **changed):
        config = load_spec(SPECS / f"{module}.tla").model(model).config.with_constants(changed)
        return config, check(SPECS / f"{module}.tla", config, **checker)

    return checked


def explored(checker, module, base, **constants):
    """The transitions of a model, each as (state before, action, state after)."""
    config = read_config(SPECS / f"{module}_{base}.cfg").with_constants(constants)
    _, graph = state_graph(SPECS / f"{module}.tla", config, **checker)
    return [(graph.state(e.source), e.action, graph.state(e.target)) for e in graph.edges]


def without(step, *variables):
    """A step as far as the other variables tell it."""
    before, action, after = (
        part if isinstance(part, str) else frozenset((n, v) for n, v in part.items())
        for part in step
    )
    kept = [frozenset(pair for pair in s if pair[0] not in variables) for s in (before, after)]
    return kept[0], action, kept[1]


# --- R7: the last row of the fault matrix


def test_the_three_cells_of_r7(run):
    config, intact = run("R7_StateRebuild", "R7")
    assert intact.outcome is Outcome.HOLDS
    assert config.constants["FaultStateRebuild"] == "TRUE"
    assert set(config.invariants) == {"TypeOK", "EffectExactlyOnce"}
    config, broken = run("R7_StateRebuild", "R7-PC")
    assert (broken.violated, broken.states) == (("PrefixContinuation",), 3)
    assert config.constants["FaultStateRebuild"] == "TRUE"


def test_r7_without_its_fault(run):
    config, result = run("R7_StateRebuild", "R7-reference")
    assert result.outcome is Outcome.HOLDS
    assert set(config.invariants) == {"TypeOK", "EffectExactlyOnce", "PrefixContinuation"}


# --- R10: three rows, each with one property violated


def test_r10_without_its_switches_is_the_reference_machine(run, checker):
    config, result = run("R10_Separations", "R10")
    assert (result.outcome, result.generated, result.distinct) == (Outcome.HOLDS, 87, 59)
    assert set(config.invariants) == SIX | {"TypeOK"}
    ours = [
        without(step, "lineage", "replaying")
        for step in explored(checker, "R10_Separations", "R10")
    ]
    theirs = [without(step) for step in explored(checker, "ResumeContract", "R0")]
    assert len(ours) == len(set(ours)) == 86
    assert set(ours) == set(theirs)


@pytest.mark.parametrize(
    ("switch", "violated"),
    [
        ("Regate", "RecoveryDeterminism"),
        ("Rebuild", "PrefixConsistency"),
        ("Redeliver", "EffectExactlyOnce"),
    ],
)
def test_each_switch_breaks_one_property_and_no_other(run, switch, violated):
    config, broken = run("R10_Separations", f"R10-{switch}")
    assert config.invariants == (violated,)
    assert (broken.outcome, broken.violated) == (Outcome.VIOLATED_INVARIANT, (violated,))
    clean, intact = run("R10_Separations", f"R10-{switch}-clean")
    # The same machine, the whole of it, and all that is left.
    assert clean.constants == config.constants
    on = {name for name, value in config.constants.items() if value == "TRUE"}
    assert on == {f"Fault{switch}"}
    assert set(clean.invariants) == (SIX | {"TypeOK"}) - {violated}
    assert (intact.outcome, intact.complete) == (Outcome.HOLDS, True)


# --- the parked machine


@pytest.mark.parametrize("model", ["durable", "volatile"])
def test_parked_safety(run, model):
    config, result = run("ResumeContractParked", model)
    assert (result.outcome, result.complete) == (Outcome.HOLDS, True)
    assert set(config.invariants) == SIX | {"TypeOK"}


def test_durable_parking_is_live(run):
    config, result = run("ResumeContractParked", "durable-live")
    assert config.properties == ("EventuallyCompletes",)
    assert (result.outcome, result.complete) == (Outcome.HOLDS, True)


def test_volatile_parking_is_dead(run):
    _, result = run("ResumeContractParked", "volatile-live")
    assert result.outcome is Outcome.VIOLATED_LIVENESS
    assert result.violated == ("EventuallyCompletes",)
    (found,) = result.counterexamples
    assert found.stuttering
    assert found.back_to is None
    last = {name: str(value) for name, value in found.states[-1].state.items()}
    # At the gate, asked before, and nobody will ask again.
    assert (last["pc"], last["waiting"], last["consumedVal"]) == ("2", "FALSE", "NoVal")
    assert last["emitted"] == "TRUE"
    assert found.states[-1].action == "CrashWhileParked"


def test_the_parked_machine_adds_one_action_to_the_reference_machine(checker):
    steps = explored(checker, "ResumeContractParked", "durable")
    ours = {without(step, "emitted") for step in steps}
    theirs = {without(step) for step in explored(checker, "ResumeContract", "R0")}
    assert theirs < ours
    assert {action for _, action, _ in ours - theirs} == {"CrashWhileParked"}


# Parked at the gate of task 2, the frontier is 1: again from the start, or from the frontier.
@pytest.mark.parametrize(
    ("switch", "goes_on"),
    [
        ("Replay", {("replay", 1)}),
        ("PrefixReplay", {("prefixreplay", 1)}),
        ("NondetRecovery", {("skip", 2), ("reexec", 1)}),
    ],
)
def test_a_switch_acts_on_a_crash_while_parked(checker, switch, goes_on):
    steps = explored(checker, "ResumeContractParked", "durable", **{f"Fault{switch}": True})
    parked = [after for _, action, after in steps if action == "CrashWhileParked"]
    found = {(s["recHist"].as_list()[-1][Str("dec")].value, s["pc"].value) for s in parked}
    assert found == goes_on
    assert all(s["waiting"] == TRUE for s in parked)


# --- IndCheck

BOUNDS = {  # tasks, gate, values, resumes, crashes, extra resumes
    "I1": (3, 2, 2, 2, 1, 1),
    "I2": (4, 3, 2, 2, 2, 1),
    "I3": (3, 2, 3, 3, 1, 2),
}


def invariant_states(tasks, gate, values, resumes, crashes, extra):
    """How many states satisfy the invariant, counted by hand.

    The program counter fixes frontier, effects and log; only at the gate the run may wait as well.
    A recovery found any frontier, a branch took any value, and both are independent of the rest.
    """
    assert 2 <= gate <= tasks
    places = (tasks + 1) + 1
    recoveries = sum((tasks + 1) ** n for n in range(crashes + 1))
    branches = sum(values**n for n in range(resumes + 1))
    return places * (values + 1) * (extra + 1) * recoveries * branches


@pytest.mark.parametrize("model", BOUNDS)
def test_the_invariant_is_inductive_and_the_six_properties_follow(run, model):
    config, result = run("IndCheck", model)
    given = [config.constants[name] for name in ("NTasks", "IP")]
    given += [str(config.constants["Values"].count('"') // 2)]
    given += [config.constants[f"Max{name}"] for name in ("Resumes", "Crashes", "ExtraResumes")]
    assert tuple(map(int, given)) == BOUNDS[model]
    assert set(config.invariants) == SIX | {"IndInv"}
    assert (result.outcome, result.complete) == (Outcome.HOLDS, True)
    # Every state is an initial one: no step leaves the invariant.
    assert result.depth == 1
    assert result.distinct == invariant_states(*BOUNDS[model])
    assert result.generated > result.distinct


@pytest.mark.parametrize("model", BOUNDS)
def test_the_enumeration_is_the_invariant(run, model):
    config, result = run("IndCheck", f"{model}-equal")
    assert config.invariants == ("IndInit",)
    assert config.constants == load_spec(SPECS / "IndCheck.tla").model(model).config.constants
    assert (result.outcome, result.distinct) == (Outcome.HOLDS, invariant_states(*BOUNDS[model]))


# Dropped, the first lets a step leave the rest of the invariant; so does the second. Without one
# of the others a state satisfies the rest that violates a property.
CONJUNCTS = {
    "FrontierTrails": ("I1", Outcome.VIOLATED_INVARIANT),
    "ParkedAtGate": ("I1", Outcome.VIOLATED_INVARIANT),
    "EffectsAreDurable": ("I1", Outcome.VIOLATED_INITIAL),
    "LogIsPrefix": ("I1", Outcome.VIOLATED_INITIAL),
    "BranchesRouted": ("I1", Outcome.VIOLATED_INITIAL),
    "NeverRegressed": ("I1", Outcome.VIOLATED_INITIAL),
    "RecoveriesSkip": ("I2", Outcome.VIOLATED_INITIAL),  # it takes two recoveries to differ
}


def test_the_conjuncts_are_all_there_are():
    text = (SPECS / "IndCheck.tla").read_text()
    (invariant,) = re.findall(r"^IndInv ==\n((?: +/\\ \w+\n)+)", text, re.MULTILINE)
    assert re.findall(r"\w+", invariant) == sorted(
        ["TypeOK", *CONJUNCTS], key=lambda name: invariant.index(name)
    )


@pytest.mark.parametrize("conjunct", CONJUNCTS)
def test_no_conjunct_can_be_dropped(checker, tmp_path, conjunct):
    model, outcome = CONJUNCTS[conjunct]
    for name in ("IndCheck.tla", "ResumeContract.tla"):
        shutil.copy(SPECS / name, tmp_path)
    module = tmp_path / "IndCheck.tla"
    definition = re.compile(rf"^{conjunct} ==.*?\n\n", re.MULTILINE | re.DOTALL)
    dropped, times = definition.subn(f"{conjunct} == TRUE\n\n", module.read_text())
    assert times == 1
    # DrawnSpec starts from all that the conjuncts let through, however few they are.
    module.write_text(dropped)
    config = read_config(SPECS / f"IndCheck_{model}-equal.cfg").with_invariants("IndInv", *SIX)
    assert config.specification == "DrawnSpec"
    result = check(module, config, **checker)
    assert result.outcome is outcome, result.reason


def test_the_frontier_is_what_keeps_the_prefix(checker, tmp_path):
    """Without FrontierTrails a durable task can be entered again: prefix continuation falls."""
    for name in ("IndCheck.tla", "ResumeContract.tla"):
        shutil.copy(SPECS / name, tmp_path)
    module = tmp_path / "IndCheck.tla"
    text = module.read_text()
    assert "FrontierTrails == frontier = pc - 1\n" in text
    module.write_text(text.replace("== frontier = pc - 1\n", "== TRUE\n"))
    config = read_config(SPECS / "IndCheck_I1-equal.cfg").with_invariants("PrefixConsistency")
    result = check(module, config, **checker)
    assert (result.outcome, result.violated) == (
        Outcome.VIOLATED_INVARIANT,
        ("PrefixConsistency",),
    )
    (found,) = result.counterexamples
    before, after = found.states[-2:]
    assert after.action == "ExecTask"
    assert before.state["pc"].value <= before.state["frontier"].value


def test_the_invariant_is_not_that_of_a_faulty_machine(run):
    _, result = run("IndCheck", "I1", FaultReplay=True)
    assert result.outcome is Outcome.VIOLATED_INVARIANT
    assert "IndInv" in result.violated
    (found,) = result.counterexamples
    assert [b.action for _, b in pairwise(found.states)][-1] == "CrashRecover"


# ------------------------------------------------------- ResumeContractScaled

SMALL = {"NTasks": 3, "IP": 2, "Values": "{v1, v2}", "MaxResumes": 2, "MaxExtraResumes": 1}


@pytest.mark.parametrize(
    ("fault", "crashes", "invariant", "states"),
    [  # Table III
        (None, 1, "ForkDeterminism", None),
        ("FaultReplay", 1, "ConsumeOnce", 7),
        ("FaultForkIgnore", 1, "ForkDeterminism", 5),
        ("FaultInvalidPersist", 1, "CheckpointValidity", 5),
        ("FaultNondetRecovery", 2, "RecoveryDeterminism", 4),
        ("FaultDoubleConsume", 1, "ConsumeOnce", 6),
        ("FaultPrefixReplay", 2, "EffectExactlyOnce", 4),
        ("FaultReplay", 1, "ForkDeterminism", None),
    ],
)
def test_exchanging_values_changes_no_verdict_and_no_depth(
    checker, fault, crashes, invariant, states
):
    config = read_config(SPECS / "ResumeContractScaled_R8.cfg").with_invariants(invariant)
    config = config.with_constants({**SMALL, "MaxCrashes": crashes})
    if fault:
        config = config.with_constants({fault: True})
    result = check(SPECS / "ResumeContractScaled.tla", config, **checker)
    assert result.states == states
    assert result.outcome is (Outcome.VIOLATED_INVARIANT if states else Outcome.HOLDS)
    if not fault:
        assert result.distinct < 59  # what R0 has without the exchange
