"""CrewAI's checkpoints at the pin; what is expected stands in the paper or was run without mbt."""

import pytest
from by_hand import Run, hosts

pytestmark = pytest.mark.framework("crewai")
host_of = hosts("crewai-checkpoint", "crewai")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]


def stand(run):
    return run.at, run.task


def crash(run):
    run.kill()
    return run.recover()


def test_a_host_that_only_imports_has_one_thread(host_of):
    assert host_of()[0].hello["threads"] == 1


def test_a_run_fires_each_effect_once(host_of):
    run = Run(host_of()).park()
    assert run.seen == {
        "pc": 2,
        "frontier": 1,
        "waiting": True,
        "consumedVal": None,
        "ckpts": VALID[:1],
        "flushed": True,
    }
    run.consume("v1").finish()
    assert (run.at, run.seen["ckpts"], run.seen["outcome"]) == ("complete", VALID, ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


def test_written_when_methods_finish_a_checkpoint_is_gone_on_from(host_of):
    """What the documentation says of restoring; the crash is in the second method."""
    run = crash(Run(host_of(answer="none")).until(2))
    assert stand(run) == ("held", 2)
    run.finish()
    assert (run.at, run.counts()) == ("complete", [1, 1, 1])


@pytest.mark.parametrize("chosen", [{"on_events": "flow_created"}, {"on_events": "all"}])
def test_written_when_a_flow_is_created_it_starts_over(host_of, chosen):
    """Paper, section VI-C: the completed method is executed again, over a state made anew."""
    run = crash(Run(host_of(answer="none", **chosen)).until(2))
    assert stand(run) == ("held", 1)
    assert run.finish().counts() == [2, 1, 1]


def test_with_another_flow_in_the_process_that_one_is_restored(host_of):
    run = Run(host_of(answer="none", other_flow="yes")).until(2)
    flow = run.notes["flow"]
    assert stand(crash(run)) == ("held", 1)
    assert run.notes["flow"] != flow


@pytest.mark.parametrize(("recover", "task"), [("from_checkpoint", 2), ("kickoff", 1)])
def test_a_restored_flow_is_not_restored_again(host_of, recover, task):
    """It writes no checkpoint, or one whose first flow is the bare one: run without mbt."""
    run = crash(Run(host_of(answer="none", recover=recover)).until(2)).go()
    assert stand(run) == ("held", 3)
    assert stand(crash(run)) == ("held", task)


def test_a_flow_that_was_resumed_forgot_what_came_before_the_question(host_of):
    run = crash(Run(host_of()).park().consume("v1"))
    assert stand(run) == ("held", 1)
    assert stand(run.go()) == ("held", 3)  # the gated task is passed over, and not asked for
    assert run.finish().counts() == [2, 1, 1]


@pytest.mark.parametrize("answer", ["feedback", "inputs"])
def test_a_fork_starts_from_the_checkpoint_before_the_question(host_of, answer):
    run = Run(host_of(answer=answer)).park().consume("v1")
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert [(task, value) for task, value, _ in run.effects(branch=2)] == [(2, "v2"), (3, None)]
    assert run.finish().seen["outcome"] == ["v1"]


def test_a_write_that_breaks_the_schema_is_stored_without_a_word(host_of):
    run = Run(host_of()).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]
