"""The rules of docs/driving.md, each on the reference engine. Numbers are the rules'."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lab import ONE_CRASH, POISON, TWO_CRASHES, violated

from replay.compare import Divergence, Model, Tracking, track
from replay.judge import judge
from replay.receipts import run_data
from replay.record import Event
from replay.suite import Part, PartResult, plan_again
from tracegen.graph import StateGraph
from tracegen.trace import trace_of_path
from tracegen.values import Int

BLIND = str(Path(__file__).parent / "systems" / "blind.py")
REFERENCE = frozenset()


def labels(record):
    return [(micro.part, micro.action) for micro in record.micro]


def test_1_what_happens_is_recorded_as_it_happened(lab):
    """After the crash the model skips to task 3; the system runs tasks 1 and 2 again."""
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "CrashRecover", "ExecTask")
    record = lab.walk("reference", trace, fault="Replay")
    after = record.micro[[m.action for m in record.micro].index("CrashRecover") :]
    assert [m.observed["pc"] for m in after][:4] == [1, 2, 3, 4]
    assert [m.action for m in after][1:4] == ["ExecTask", "ExecTask", "ExecTask"]
    assert after[-1].observed["effects"] == [2, 2, 1]


def test_2_observations_are_made_at_quiescent_points_only(lab):
    found = lab.replay("reference", parts=[ONE_CRASH], fault="Replay", rearm="yes", re_answer="no")
    stood = {micro.at for record in found.parts[0].records for micro in record.micro}
    assert stood == {"held", "parked", "complete"}


def test_3_a_system_before_the_point_catches_up_and_one_beyond_is_let_be(lab):
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "CrashRecover", "ForkResume")
    behind = lab.walk("reference", trace, fault="Replay")
    assert ("catch-up", "ExecTask") in labels(behind)

    begin = ("ExecTask", "EmitInterrupt", "Consume", "ForkResume", "CrashRecover", "ExecTask")
    trace = lab.trace(*begin, part=TWO_CRASHES)
    beyond = lab.walk("reference", trace, heads="shared", address="thread")
    assert beyond.dropped == (5,)


def test_4_a_stimulus_whose_guard_does_not_hold_is_inapplicable_and_no_coverage(lab):
    found = lab.replay("reference", parts=[ONE_CRASH], fault="Replay", rearm="yes", re_answer="no")
    (result,) = found.parts
    reasons = {reason for r in result.records for reason in r.inapplicable.values()}
    assert reasons == {
        "the run was parked; it needs a run that is answered",
        "the run was parked; it needs a run that is complete",
    }
    assert result.inapplicable == 20
    for record in result.records:
        assert not set(record.inapplicable) & {
            m.step for m in record.micro if m.action == "ExtraResume"
        }


def test_5_a_release_is_named_by_how_it_ended_and_latched_by_the_frontier_before_it(lab):
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "CrashRecover", "ExecTask")
    record = lab.walk("reference", trace, fault="Replay")
    parked = [m.action for m in record.micro if m.at == "parked"]
    assert parked == ["EmitInterrupt"]
    executed = [e for m in record.micro for e in m.events if e.kind == "exec"]
    # Tasks 1, then after the crash 1, 2 and 3; tasks 1 and 2 were durable, and their latch reads
    # the highest frontier that was ever seen.
    assert [(e.task, e.frontier) for e in executed] == [(1, 0), (1, 2), (2, 2), (3, 2)]


def test_6_consume_passes_the_gated_tasks_own_gate_silently(lab):
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume")
    record = lab.walk("reference", trace)
    start = [m.action for m in record.micro].index("Consume")
    consume = record.micro[start]
    assert [m.action for m in record.micro].count("Consume") == 1
    assert (consume.at, consume.observed["pc"]) == ("held", 3)
    assert [e.kind for e in consume.events] == ["consume", "effect"]
    assert record.micro[start - 1].observed["effects"] == [1, 0, 0]


def test_7_a_crash_is_a_kill_and_the_recovery_never_saw_the_run(lab):
    trace = lab.trace("ExecTask", "CrashRecover")
    record = lab.walk("reference", trace)
    (death,) = record.deaths
    assert (death.process, death.form, death.status) == (1, "kill", 9)
    recovered = next(m for m in record.micro if m.action == "CrashRecover")
    assert recovered.process == 2
    (event,) = [e for e in recovered.events if e.kind == "recover"]
    assert (event.task, event.frontier) == (2, 1) and event.store
    assert len(set(record.process_ids)) == len(record.process_ids) >= 2
    assert not [fact for fact in record.facts if "wrote before" in fact]


def test_7_fresh_interpreters_and_forks_show_the_same(lab):
    part = lab.parts[ONE_CRASH]
    few = replace(part, traces=part.traces[:2])
    forked, fresh = (
        lab.replay("reference", parts=[few], fresh=fresh).parts[0] for fresh in (False, True)
    )
    assert [run_data("", record) for record in forked.records] == [
        run_data("", record) for record in fresh.records
    ]


def test_8_where_the_kill_lands_changes_no_observation(lab):
    body, boundary = (
        lab.replay("reference", parts=[ONE_CRASH], crash_at=where).parts[0]
        for where in ("body", "boundary")
    )
    for inside, between in zip(body.records, boundary.records, strict=True):
        assert [(m.action, m.observed) for m in inside.micro] == [
            (m.action, m.observed) for m in between.micro
        ]
    assert not boundary.diverging


def test_9_a_rearmed_gate_is_answered_again_and_compared_as_one_step(lab):
    found = lab.replay("reference", parts=[ONE_CRASH], fault="Replay", rearm="yes")
    (result,) = found.parts
    assert violated(result, lab.spec) == {"EO", "PC", "CO"}
    assert (len(result.diverging), result.inapplicable) == (28, 0)
    assert found.explanation.smallest == (("FaultReplay",),)
    rearmed = [r for r in result.records if "re-armed" in r.facts]
    assert rearmed
    for record in rearmed:
        folded = next(i for i, m in enumerate(record.micro) if m.folded)
        assert record.micro[folded].action == "EmitInterrupt"
        assert (record.micro[folded + 1].part, record.micro[folded + 1].action) == (
            "re-answer",
            "ExecTask",
        )
    without = lab.replay(
        "reference", parts=[ONE_CRASH], fault="Replay", rearm="yes", re_answer="no"
    )
    assert without.explanation.smallest == ()
    assert violated(without.parts[0], lab.spec) == {"EO", "PC"}


def test_10_a_fork_runs_to_its_end_and_its_effects_are_its_own(lab):
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "ForkResume")
    record = lab.walk("reference", trace)
    index = next(i for i, m in enumerate(record.micro) if m.action == "ForkResume")
    assert record.micro[index].observed["effects"] == record.micro[index - 1].observed["effects"]
    branch = record.branches[0]
    assert (branch.at, branch.inherited, branch.own) == ("complete", (1, 0, 0), (0, 1, 1))
    assert branch.process not in {m.process for m in record.micro}
    assert branch.outcome == [branch.value]


def test_10_each_branch_is_held_to_at_most_once(lab):
    """A branch whose gated effect fired twice violates EO, though the primary is in order."""
    record = lab.walk("reference", lab.trace("ExecTask", "EmitInterrupt", "Consume", "ForkResume"))
    twice = replace(record.branches[0], own=(0, 2, 1))
    verdict = judge(lab.spec, "R0", [replace(record, branches=(twice,))], lab.checker)
    assert {(f.property, f.branch) for f in verdict.findings} == {("EO", twice.number)}
    inherited = replace(record.branches[0], inherited=(2, 0, 0))
    verdict = judge(lab.spec, "R0", [replace(record, branches=(inherited,))], lab.checker)
    assert {(f.property, f.branch) for f in verdict.findings} == {("EO", twice.number)}


@pytest.mark.parametrize(("address", "diverging"), [("auto", 0), ("address", 0), ("thread", 4)])
def test_11_after_a_fork_the_primary_is_recovered_by_its_own_address(lab, address, diverging):
    found = lab.replay("reference", parts=[ONE_CRASH], heads="shared", address=address)
    assert len(found.parts[0].diverging) == diverging
    assert found.explanation.smallest == (() if diverging else ((),))
    assert all(r.branches for r in found.parts[0].records), "every trace of the tour forks"


def test_12_a_stray_comes_after_a_drain_and_may_start_a_completed_run_again(lab):
    found = lab.replay("reference", parts=[ONE_CRASH], stray="recover", on_complete="restart")
    (result,) = found.parts
    assert len(result.diverging) == 24
    assert violated(result, lab.spec) == {"EO", "PC", "CO"}
    inert = lab.replay("reference", parts=[ONE_CRASH], stray="recover")
    other = lab.replay("reference", parts=[ONE_CRASH], stray_value="other")
    assert inert.conforms and other.conforms


def test_14_a_refused_output_ends_the_run_there_and_only_validity_is_judged(lab):
    found = lab.replay("reference", parts=[POISON])
    (result,) = found.parts
    (record,) = result.records
    assert (record.micro[-1].at, record.micro[-1].error["type"]) == ("refused", "ValidationError")
    assert record.micro[-1].observed["ckpts"] == record.micro[-2].observed["ckpts"]
    assert not result.diverging
    assert {name: result.cell(name) for name in lab.spec.properties} == {
        "CV": "holds"
    } | dict.fromkeys(("PC", "EO", "FD", "CO", "RD"), "not judged")

    unchecked = lab.replay("reference", parts=[POISON], validate="no")
    assert violated(unchecked.parts[0], lab.spec) == {"CV"}
    assert unchecked.explanation.smallest == (("FaultInvalidPersist",),)


def test_15_a_run_is_drained_after_its_last_step(lab):
    short = lab.trace("ExecTask", "CrashRecover")
    short = replace(short, steps=short.steps[:2])
    record = lab.walk("reference", short)
    assert [(m.part, m.at) for m in record.micro][-1] == ("drain", "parked")
    whole = lab.trace("ExecTask", "EmitInterrupt", "Consume")
    record = lab.walk("reference", replace(whole, steps=whole.steps[:3]))
    assert [(m.part, m.at) for m in record.micro][-1] == ("drain", "complete")


def test_16_decisions_go_by_the_recoverys_ordinal_within_its_run(lab):
    chosen = {"fault": "NondetRecovery", "decisions": "reexec,skip"}
    one = lab.replay("reference", parts=[TWO_CRASHES], jobs=1, **chosen)
    two = lab.replay("reference", parts=[TWO_CRASHES], jobs=2, **chosen)
    lines = [[json.dumps(run_data("", r)) for r in found.parts[0].records] for found in (one, two)]
    assert lines[0] == lines[1]
    for record in one.parts[0].records:
        entered = [
            (e.frontier, e.task) for m in record.micro for e in m.events if e.kind == "recover"
        ]
        assert [task - frontier for frontier, task in entered] == [0, 1][: len(entered)]


def test_18_actions_that_a_system_takes_in_one_go_are_compared_as_their_path(lab):
    found = lab.replay("reference", parts=[ONE_CRASH], interrupt_gate="no")
    (result,) = found.parts
    assert not result.diverging
    assert result.inapplicable == 12  # nobody can crash it between the two
    merged = next(m for m in result.records[-1].micro if m.at == "parked")
    assert (merged.action, [e.kind for e in merged.events]) == ("EmitInterrupt", ["exec", "effect"])
    model = lab.models("R0", REFERENCE)
    assert track(result.records[-1], model, merges={}).divergence is not None


def test_18_after_a_divergence_the_walk_goes_on_resynchronised(lab):
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "ForkResume", "ExecTask")
    other = next(
        t
        for t in lab.parts[ONE_CRASH].traces
        if [s.action for s in t.steps[:4]] == [s.action for s in trace.steps[:4]]
        and t.steps[3].params != t.steps[2].params
    )
    record = lab.walk("reference", other, fault="ForkIgnore")
    tracking = track(record, lab.models("R0", REFERENCE), merges={})
    assert tracking.divergence.action == "ForkResume"
    assert [d.variable for d in tracking.divergence.differences] == ["forkOuts"]
    assert tracking.resynchronised[0] == tracking.divergence.micro


def test_19_a_run_is_compared_at_the_bounds_of_its_own_model(lab):
    """R4's counterexample crashes twice, which R0 does not allow and R4's bounds do."""
    part = lab.part("R4")
    assert [s.action for s in part.traces[0].steps].count("CrashRecover") == 2
    found = lab.replay("reference", parts=[part])
    assert found.conforms
    record = found.parts[0].records[0]
    assert track(record, lab.models("R0", REFERENCE), merges={}).divergence is not None


@pytest.mark.parametrize(
    ("faults", "explained"),
    [
        ("Replay,ForkIgnore", ["FaultReplay", "FaultForkIgnore"]),
        ("DoubleConsume,ForkIgnore", ["FaultForkIgnore", "FaultDoubleConsume"]),
        # Replay takes the recovery; the gate stays memoized, which is PrefixReplay's whole.
        ("Replay,PrefixReplay", ["FaultPrefixReplay"]),
    ],
)
def test_20_two_mechanisms_are_explained_by_the_smallest_set(lab, faults, explained):
    found = lab.replay("reference", parts=[ONE_CRASH], fault=faults)
    assert found.explanation.smallest == (tuple(explained),)


def test_21_coverage_ends_at_a_divergence(lab):
    found = lab.replay("reference", parts=[ONE_CRASH], fault="ForkIgnore", again=True)
    (result,) = found.parts
    assert len(result.diverging) == 20
    # What can be reached without a fork to another value, and nothing else: so there is nothing
    # that the divergences hid and that a second pass could reach.
    model = lab.models("R0", REFERENCE)
    reachable, seen, frontier = set(), set(model.graph.initial), list(model.graph.initial)
    while frontier:
        for edge in model.graph.out(frontier.pop()):
            values = model.graph.state(edge.target)["forkVals"].as_list()
            if edge.action == "ForkResume" and values[0] != values[1]:
                continue
            reachable.add(edge.id)
            if edge.target not in seen:
                seen.add(edge.target)
                frontier.append(edge.target)
    assert result.covered == reachable
    assert not found.second_pass


def test_21_what_divergences_hid_is_planned_again_around_them(lab):
    """0 -A-> 1, 0 -C-> 1, 1 -B-> 2: where A diverges, B was hidden and is reached through C."""
    graph = StateGraph.build(
        ("x",), [(Int(0),), (Int(1),), (Int(2),)], [0], [(0, "A", 1), (0, "C", 1), (1, "B", 2)]
    )
    number = {edge.action: edge.id for edge in graph.edges}
    paths = [[number["A"], number["B"]], [number["C"]]]
    traces = tuple(
        trace_of_path(graph, path, name=f"t{i}", module="M", model="R0", params={})
        for i, path in enumerate(paths)
    )
    trackings = (
        Tracking(Divergence(1, 0, "A", ()), frozenset(), (), 2),
        Tracking(None, frozenset({number["C"]}), (), 1),
    )
    first = PartResult(Part("p", "R0", "transitions", traces), (), trackings, None, None, 3, "")
    again = plan_again(lab.spec, first, Model(graph, lab.spec))
    assert [[step.action for step in trace.steps] for trace in again.traces] == [["C", "B"]]
    assert again.name == "p, second pass"


def test_22_the_checker_judges_as_the_definition_says(lab):
    """Against a direct evaluation, over every observed state of a run of each kind."""
    found = lab.replay("reference", parts=[ONE_CRASH], fault="DoubleConsume")
    (result,) = found.parts
    expected = {
        (record.trace, index)
        for record in result.records
        for index, micro in enumerate(record.micro)
        if any(count > 1 for count in micro.observed["effects"])
    }
    judged = {(f.trace, f.micro) for f in result.judgement.findings if f.property == "EO"}
    assert judged == expected != set()


def test_22_what_was_not_observed_is_not_judged_and_hides_nothing_else(lab):
    found = lab.replay(f"{BLIND}:WithoutCheckpoints", parts=[ONE_CRASH], fault="Replay")
    (result,) = found.parts
    assert result.cell("CV") == "not observed"
    assert violated(result, lab.spec) == {"EO", "PC", "CO"}
    assert result.unobserved(lab.spec) == {"ckpts": result.compared}


def test_23_recoveries_count_as_equal_only_where_their_stores_were(lab):
    chosen = {"fault": "NondetRecovery", "parts": [TWO_CRASHES]}
    known = lab.replay("reference", **chosen)
    unknown = lab.replay(f"{BLIND}:WithoutDigest", **chosen)
    assert known.cell("RD") == "violated"
    assert unknown.parts[0].cell("RD") != "violated"

    record = next(r for r in known.parts[0].records if known.parts[0].violating("RD")[0] == r.trace)
    last = max(i for i, m in enumerate(record.micro) if m.action == "CrashRecover")
    events = tuple(
        replace(e, store="another") if e.kind == "recover" else e for e in record.micro[last].events
    )
    micro = list(record.micro)
    micro[last] = replace(micro[last], events=events)
    verdict = judge(lab.spec, "R0C2", [replace(record, micro=tuple(micro))], lab.checker)
    assert "RD" not in {f.property for f in verdict.findings}
    assert verdict.provoked["RD"] == ()


def test_23_provoked_is_what_the_properties_say(lab):
    record = replace(lab.walk("reference", lab.trace("ExecTask")), branches=())

    def provoked(*events):
        states = (replace(record.micro[0], events=events),)
        verdict = judge(lab.spec, "R0", [replace(record, micro=states)], lab.checker)
        return {name for name, traces in verdict.provoked.items() if traces}

    effect, stray = Event("effect", 1), Event("stray")
    crash = Event("recover", 2, 1, store="a")
    consume, fork = Event("consume", value="v1"), Event("fork", value="v2")
    assert provoked(crash, effect) == set()
    assert provoked(effect, Event("crash")) == set(), "nothing recovered from it"
    assert provoked(effect, crash) == {"EO", "PC"}
    assert provoked(effect, stray) == {"EO", "PC"}
    assert provoked(consume, stray) == {"CO"}
    assert provoked(consume, fork) == {"FD"}
    assert provoked(consume, Event("fork", value="v1")) == set()
    assert provoked(consume, Event("fork refused", value="v2")) == set()
    assert provoked(Event("poison", 3)) == {"CV"}
    twice = Event("recover", 2, 1, store="a"), Event("recover", 2, 1, store="a")
    assert provoked(*twice) == {"RD"}
    assert provoked(twice[0], replace(twice[1], store="b")) == set()


def test_24_a_fork_that_is_refused_provokes_nothing(lab):
    found = lab.replay(f"{BLIND}:ForksRefused", parts=[ONE_CRASH])
    (result,) = found.parts
    assert result.cell("FD") == "not provoked"
    assert "ForkResume was refused: ValueError" in result.records[0].facts
    assert result.diverging, "the model does not know of forks that are refused"
