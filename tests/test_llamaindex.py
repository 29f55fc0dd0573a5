"""LlamaIndex Workflows at its pin; what is expected stands in the paper or was run without mbt."""

import json
import os
import signal

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, POISON, Lab

pytestmark = pytest.mark.framework("llamaindex")
host_of = hosts("llamaindex", "workflows")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]
HEAD_OF_A_STEP = ["two-step", "wait"]


def in_progress(run):
    """The steps that were in progress in what the caller saved last."""
    saved = json.loads((run.folder / "run.json").read_text())
    return [name for name, step in saved["workers"].items() if step["in_progress"]]


def test_a_host_that_only_imports_has_one_thread(host_of):
    assert host_of()[0].hello["threads"] == 1


@pytest.mark.parametrize("save", ["step", "idle"])
@pytest.mark.parametrize("interrupt", HEAD_OF_A_STEP)
def test_a_run_fires_each_effect_once(host_of, interrupt, save):
    run = Run(host_of(interrupt=interrupt, save=save)).park()
    assert run.seen == {
        "pc": 2,
        "frontier": 1,
        "waiting": True,
        "consumedVal": None,
        "ckpts": VALID[:1],
    }
    assert in_progress(run) == []  # the pending request is not in a context
    run.consume("v1").finish()
    assert (run.at, run.seen["ckpts"], run.seen["outcome"]) == ("complete", VALID, ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


@pytest.mark.parametrize("interrupt", HEAD_OF_A_STEP)
def test_a_crash_repeats_nothing_of_what_was_saved_at_each_step(host_of, interrupt):
    run = Run(host_of(interrupt=interrupt)).park().consume("v1")
    assert (run.at, run.task, in_progress(run)) == ("held", 3, ["t3"])
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert run.process.ask({"op": "observe"})["observed"]["ckpts"] == VALID[:2]
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    assert run.finish().at == "complete"
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


def test_before_the_interrupt_too(host_of):
    run = Run(host_of()).until(2)
    run.kill()
    assert (run.recover().at, run.task) == ("held", 2)
    run.park().consume("v1").finish()
    assert run.counts() == [1, 1, 1]


def test_what_was_not_saved_is_done_again(host_of):
    """The answer is asked for again, and the gated effect fires for it again."""
    run = Run(host_of(save="idle")).park().consume("v1")
    assert (run.seen["frontier"], run.seen["consumedVal"]) == (1, "v1")
    run.kill()
    assert run.recover().at == "parked"
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (2, "v1", 2), (3, None, 2)]


def test_where_nothing_was_saved_the_run_begins_anew(host_of):
    run = Run(host_of(save="idle")).until(2)
    run.kill()
    assert (run.recover().at, run.task) == ("held", 1)
    assert run.park().effects() == [(1, None, 1), (1, None, 2)]


def test_work_before_a_wait_is_done_again_when_the_answer_comes(host_of):
    """Paper, Table V, note b: documented (D). No crash is needed."""
    run = Run(host_of(interrupt="wait-late")).park()
    assert run.effects() == [(1, None, 1)]
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (1, None, 1), (2, "v1", 1), (3, None, 1)]
    assert [entry["task"] for entry in run.seen["ckpts"]] == [1, 1, 2, 3]


def test_a_fork_is_the_parked_context_restored_once_more(host_of):
    run = Run(host_of()).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert run.effects(branch=2) == [(2, "v2", 2), (3, None, 2)]
    assert run.seen == before
    assert run.finish().seen["outcome"] == ["v1"]


@pytest.mark.parametrize("interrupt", HEAD_OF_A_STEP)
@pytest.mark.parametrize("value", ["same", "other"])
def test_a_stray_answer_is_inert(host_of, interrupt, value):
    run = Run(host_of(interrupt=interrupt, stray_value=value)).park().consume("v1").finish()
    before = run.seen
    run.call("ExtraResume")
    assert (run.at, run.seen, run.counts()) == ("complete", before, [1, 1, 1])


def test_a_completed_context_starts_over(host_of):
    run = Run(host_of(stray="recover")).park().consume("v1").finish()
    run.call("ExtraResume")
    assert (run.at, run.task) == ("held", 1)
    run.park().consume("v1").finish()
    assert run.counts() == [2, 2, 2]


@pytest.mark.parametrize("interrupt", HEAD_OF_A_STEP)
def test_two_consumers_of_a_parked_context_both_fire(host_of, interrupt):
    run = Run(host_of(interrupt=interrupt)).park().call("Consume", v="v1")
    assert (run.at, run.task) == ("held", 2)
    second = run.spawn()
    report = second.call("RaceConsume", {"v": "v2"})
    assert (report["at"], report["task"]) == ("held", 2)
    assert second.ask({"op": "release", "poison": False})["task"] == 3
    second.kill()
    run.finish()
    assert run.effects() == [(1, None, 1), (2, "v2", 2), (2, "v1", 1), (3, None, 1)]
    assert run.seen["outcome"] == ["v1"]


def test_what_cannot_be_serialised_is_refused_where_the_context_is_saved(host_of):
    """Paper, Table V: fail-fast."""
    run = Run(host_of()).park().consume("v1").go(poison=True)
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValueError")
    assert run.seen["ckpts"] == VALID[:2]


def test_a_state_of_the_wrong_type_is_saved_without_a_word_and_restored_with_an_error(host_of):
    run = Run(host_of(invalid="mistyped")).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]
    run.kill()
    run.recover()
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValidationError")


@pytest.mark.parametrize("interrupt", ["two-step", "wait", "wait-late"])
@pytest.mark.parametrize(("tasks", "gate"), [(1, 1), (2, 2), (5, 4)])
def test_the_workflow_is_the_models(host_of, tasks, gate, interrupt):
    run = Run(host_of(tasks=tasks, gate=gate, interrupt=interrupt)).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1").finish()
    again = [gate - 1] if interrupt == "wait-late" and gate > 1 else []
    order = [*range(1, gate), *again, *range(gate, tasks + 1)]
    assert [task for task, _, _ in run.effects()] == order
    assert (gate, "v1", 1) in run.effects()


def test_saved_at_each_step_it_conforms_over_the_whole_tour(lab):
    found = lab.replay("llamaindex", parts=[ONE_CRASH])
    (result,) = found.parts
    assert found.conforms
    assert found.explanation.smallest == ((),)
    assert len(result.covered) == result.transitions
    killed = [death for record in result.records for death in record.deaths]
    assert len(killed) == 28 and {death.status for death in killed} == {9}


def test_checkpoint_validity_depends_on_what_is_invalid(lab):
    for invalid, cell in (("mistyped", "violated"), ("unserialisable", "holds")):
        assert lab.replay("llamaindex", parts=[POISON], invalid=invalid).cell("CV") == cell


def test_the_race_of_the_model_fires_twice_each_time(own_cache):
    r11 = Lab("R11_ConsumeCount")
    (trace,) = r11.part("R11-effect").traces
    records = [r11.walk("llamaindex", trace) for _ in range(5)]
    assert all(record.same(records[0]) for record in records)
    assert records[0].facts == ()
    assert [(row.task, row.process) for row in records[0].ledger] == [
        (1, 1),
        (2, 1),
        (2, 2),
        (3, 1),
    ]
