"""CrewAI as it is at its pin; what is expected stands in the paper or was run without mbt."""

import os
import signal
import sqlite3

import pytest
from by_hand import Run, hosts

pytestmark = pytest.mark.framework("crewai")
host_of = hosts("crewai", "crewai")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]


def test_a_host_that_only_imports_has_one_thread(host_of):
    """A process with CrewAI's threads must not be forked: its children hang."""
    assert host_of()[0].hello["threads"] == 1


def test_a_run_fires_each_effect_once(host_of):
    run = Run(host_of()).park()
    assert run.seen == {
        "pc": 2,
        "frontier": 1,
        "waiting": True,
        "consumedVal": None,
        "ckpts": VALID[:1],
    }
    run.consume("v1").finish()
    assert (run.at, run.seen["ckpts"], run.seen["outcome"]) == ("complete", VALID, ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


def test_a_crash_and_a_re_kick_repeat_all_and_ask_again(host_of):
    """Paper, section VI-C: the method that completed and persisted is executed again."""
    run = Run(host_of()).park().consume("v1")
    assert (run.at, run.task) == ("held", 3)
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    run.recover()
    assert (run.at, run.task) == ("held", 1)
    run.park().consume("v1").finish()
    assert (run.at, run.counts()) == ("complete", [2, 2, 1])
    assert [c["task"] for c in run.seen["ckpts"]] == [1, 2, 1, 2, 3]


def test_a_fork_is_a_copy_and_leaves_the_run_alone(host_of):
    run = Run(host_of()).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert run.effects(branch=2) == [(2, "v2", 2), (3, None, 2)]
    assert run.seen == before
    assert run.finish().seen["outcome"] == ["v1"]


@pytest.mark.parametrize("value", ["same", "other"])
def test_a_stray_resume_is_a_value_error(host_of, value):
    run = Run(host_of(stray_value=value)).park().consume("v1").finish()
    run.call("ExtraResume")
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValueError")
    assert run.notes["flow"] not in run.report["error"]["message"]
    assert run.counts() == [1, 1, 1]


def test_a_stray_re_kick_repeats_all(host_of):
    """Paper, section VI-C: both methods of a completed flow are executed again."""
    run = Run(host_of(stray="recover")).park().consume("v1").finish()
    run.call("ExtraResume").park().consume("v1").finish()
    assert run.counts() == [2, 2, 2]


def test_a_write_that_breaks_the_schema_is_stored_without_a_word_and_restored_with_an_error(
    host_of,
):
    run = Run(host_of()).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]
    run.kill()
    run.recover()
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValidationError")


def test_a_parked_run_survives_a_kill(host_of):
    run = Run(host_of()).park()
    run.kill()
    assert run.process.ask({"op": "observe"})["observed"]["waiting"] is True
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_a_kill_in_the_gated_task_leaves_nothing_to_resume(host_of):
    """The pending row is deleted before the method that listens to the answer runs."""
    run = Run(host_of()).park().call("Consume", v="v1")
    assert (run.at, run.task, run.seen["waiting"]) == ("held", 2, True)  # loaded, not yet taken
    run.go()
    assert (run.at, run.task, run.seen["waiting"]) == ("held", 2, False)
    run.kill()
    run.call("Consume", v="v1")
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValueError")
    assert (run.recover().at, run.task) == ("held", 1)


def test_nothing_is_locked_while_a_run_is_held(host_of):
    run = Run(host_of()).until(2)
    store = sqlite3.connect(run.folder / "crewai.db", timeout=0, isolation_level=None)
    store.execute("BEGIN EXCLUSIVE")
    store.execute("ROLLBACK")
    assert store.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
    store.close()


@pytest.mark.parametrize(("tasks", "gate"), [(2, 2), (5, 4)])
def test_the_workflow_is_the_models(host_of, tasks, gate):
    run = Run(host_of(tasks=tasks, gate=gate)).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1").finish()
    assert [task for task, _, _ in run.effects()] == list(range(1, tasks + 1))
    assert run.effects()[gate - 1] == (gate, "v1", 1)


def test_a_second_consumer_writes_into_the_flows_own_history(host_of):
    """Both loaded the question: both fire, and the last to write is what the flow restores."""
    run = Run(host_of()).park().call("Consume", v="v1")
    racer = run.spawn()
    report = racer.call("RaceConsume", {"v": "v2"})
    assert (run.at, run.task, report["at"], report["task"]) == ("held", 2, "held", 2)
    run.until(3)
    while report["task"] == 2:
        report = racer.ask({"op": "release", "poison": False})
    racer.kill()
    run.seen = run.process.ask({"op": "observe"})["observed"]
    assert [c["task"] for c in run.seen["ckpts"]] == [1, 2, 2]
    assert run.seen["consumedVal"] == "v2"
    assert [value for task, value, _ in run.effects() if task == 2] == ["v1", "v2"]
