"""Systems and adapters that mislead: judged right, or ended as a failure, and never believed."""

from pathlib import Path

import pytest
from lab import ONE_CRASH, part_of, violated
from test_replay_command import replay

from tracegen.errors import MachineryError

DEVIOUS = str(Path(__file__).parent / "systems" / "devious.py")


def one_crash(lab, name, **options):
    found = lab.replay(f"{DEVIOUS}:{name}", parts=[ONE_CRASH], **options)
    return found, found.parts[0]


@pytest.mark.parametrize(("name", "diverging"), [("RefusesRecovery", 28), ("RefusesStart", 40)])
def test_a_run_that_is_refused_its_start_or_recovery_diverges(lab, name, diverging):
    found, result = one_crash(lab, name)
    assert len(result.diverging) == diverging  # the traces of the tour with a crash, or all
    assert found.explanation.smallest == ()


def test_a_crash_that_nothing_recovered_from_provokes_nothing(lab):
    _, result = one_crash(lab, "RefusesRecovery")
    # What is left are the strays of the 12 traces without a crash.
    crashing = {r.trace for r in result.records if r.deaths}
    assert not crashing & set(result.judgement.provoked["EO"])


def test_outcomes_that_nobody_saw_are_no_outcomes(lab):
    _, result = one_crash(lab, "HidesOutcomesOfBranches")
    assert result.cell("FD") == "not observed"
    assert not result.diverging
    assert result.unobserved(lab.spec)["forkOuts"] > 0


def test_a_property_provoked_out_of_sight_is_not_observed(lab):
    found = lab.replay(f"{DEVIOUS}:HidesWhatIsInvalid", parts=["poisoned output"], validate="no")
    assert part_of(found, "poisoned output").cell("CV") == "not observed"


def test_an_effect_that_fires_twice_on_a_branch_is_no_reference_machine(lab):
    found, result = one_crash(lab, "FiresTwiceOnBranches")
    assert violated(result, lab.spec) == {"EO"}
    assert len(result.diverging) == 40
    assert found.explanation.smallest == ()


@pytest.mark.parametrize("name", ["BranchesForEver", "GatedForEver", "RecoversForEver"])
def test_what_goes_on_without_end_is_left_and_said(lab, name):
    found, result = one_crash(lab, name)
    assert result.diverging
    assert found.explanation.smallest == ()
    assert any("went on without end" in record.facts for record in result.records)


def test_a_system_that_never_asks_is_judged(lab):
    _, result = one_crash(lab, "NeverAsks")
    assert len(result.diverging) == 40
    assert result.cell("FD") == "not provoked"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RecoversNowhere", "did not say where the run stands"),
        ("SaysDone", "returned 'done'"),
        ("FiresTaskZero", "effect of task 0"),
        ("ShowsAFraction", "frontier = 1.0, not an integer"),
        ("ForksInABody", "answered by another process or out of turn"),
        ("OutlivesItsCrash", "went on though it was crashed"),
    ],
)
def test_a_fault_of_the_adapter_is_no_finding(lab, name, message):
    with pytest.raises(MachineryError, match=message):
        one_crash(lab, name)


def test_a_merge_of_what_is_no_action_is_wrong_use(tmp_path):
    done = replay(tmp_path, "--model", "R3", adapter=f"{DEVIOUS}:MergesNonsense")
    assert done.returncode == 2
    assert "merged_actions() names 'Nonsense'" in done.stderr


def test_a_trace_that_is_no_behaviour_of_its_model_is_refused(tmp_path):
    from test_replay_command import SPEC, mbt

    file = tmp_path / "t.jsonl"
    mbt("traces", SPEC, "--model", "R0", "-o", str(file))
    line = file.read_text().splitlines()[12]
    assert '"action":"Consume","params":{"v":"v1"}' in line
    bent = {
        "another parameter": line.replace('"params":{"v":"v1"}', '"params":{"v":"v2"}', 1),
        "another state": line.replace('"extraResumes":0', '"extraResumes":7'),
        "no parameter": line.replace('"params":{"v":"v1"}', '"params":{}', 1),
    }
    for what, text in bent.items():
        file.write_text(text + "\n")
        done = replay(tmp_path, "--traces", str(file))
        assert done.returncode == 2, what
        assert "is no behaviour of model R0" in done.stderr or "parameter v" in done.stderr
