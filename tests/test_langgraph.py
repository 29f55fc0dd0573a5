"""LangGraph as it is at its pin; what is expected stands in the paper or was run without mbt."""

import os
import signal
import sqlite3

import pytest
from by_hand import Run, hosts

pytestmark = pytest.mark.framework("langgraph")
host_of = hosts("langgraph", "langgraph")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]


def test_a_crash_in_a_body_and_a_resume_repeat_nothing(host_of):
    """Paper, Table V, EO across a crash is for the input re-sent; invoke(None) continues."""
    run = Run(host_of()).park().consume("v1")
    assert (run.at, run.task) == ("held", 3)
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    run.finish()
    assert run.at == "complete"
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


def test_a_crash_and_the_input_sent_again_repeat_all_and_ask_again(host_of):
    run = Run(host_of(recover="resubmit")).park().consume("v1")
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 1)
    run.park().consume("v1").finish()
    assert run.at == "complete"
    assert run.counts() == [2, 2, 1]
    assert [c["task"] for c in run.seen["ckpts"]] == [1, 2, 1, 2, 3]


@pytest.mark.parametrize("saver", ["sqlite", "memory"])
@pytest.mark.parametrize(
    ("route", "served"), [("command", "v1"), ("replay", "v2"), ("update-state", "v2")]
)
def test_what_a_fork_is_served_depends_on_its_route(host_of, route, served, saver):
    """A second Command(resume) at the interrupt's checkpoint is served the recorded answer."""
    run = Run(host_of(route=route, saver=saver)).park().consume("v1").finish()
    branch = run.fork("v2") if saver == "sqlite" else nested_fork(run, "v2")
    assert branch["at"] == "complete"
    assert branch["observed"]["outcome"] == [served]
    assert run.effects(branch=2) == [(2, served, 2), (3, None, 2)]
    assert run.seen["outcome"] == ["v1"]


def nested_fork(run, value):
    """A fork where the store lives in the process of the run, and so must the branch."""
    message = {"op": "branch", "branch": 2, "process": 2, "action": "ForkResume"}
    report = run.process.ask(message | {"params": {"v": value}})
    while report["at"] == "held":
        report = run.process.ask({"op": "release", "poison": False})
    return report


@pytest.mark.parametrize("crash_at", ["body", "boundary"])
def test_a_fork_leaves_a_run_alone_that_lives_in_another_process(host_of, crash_at):
    run = Run(host_of(route="update-state", crash_at=crash_at)).park().consume("v1")
    before = run.seen
    run.fork("v2")
    assert run.seen == before
    run.finish()
    assert (run.at, run.seen["consumedVal"], run.seen["ckpts"]) == ("complete", "v1", VALID)
    assert run.counts() == [1, 1, 1]


@pytest.mark.parametrize("crash_at", ["body", "boundary"])
def test_after_a_fork_a_recovery_finds_the_run_at_its_own_checkpoint(host_of, crash_at):
    run = Run(host_of(route="update-state", crash_at=crash_at)).park().consume("v1")
    run.fork("v2")
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    run.finish()
    assert (run.at, run.seen["consumedVal"], run.counts()) == ("complete", "v1", [1, 1, 1])


def test_after_a_fork_a_recovery_of_the_thread_is_one_of_the_fork(host_of):
    run = Run(host_of(route="update-state", address="thread")).park().consume("v1")
    run.fork("v2")
    run.kill()
    run.recover()
    assert (run.at, run.seen["consumedVal"]) == ("complete", "v2")
    assert [task for task, _, _ in run.effects()] == [1, 2]


def test_a_call_that_writes_nothing_does_not_take_the_forks_head(host_of):
    run = Run(host_of(route="update-state")).park().consume("v1").finish()
    run.fork("v2")
    run.call("ExtraResume")
    assert (run.at, run.seen["consumedVal"]) == ("complete", "v1")


@pytest.mark.parametrize(("address", "served"), [("auto", "v2"), ("address", "v1")])
def test_a_recovery_by_address_makes_the_interrupt_one_of_a_fork(host_of, address, served):
    """`invoke(None)` there does not ask again, since the checkpoint is a fork's already."""
    run = Run(host_of(route="replay", address=address)).until(2)
    run.kill()
    run.recover().park().consume("v1")
    assert run.fork("v2")["observed"]["outcome"] == [served]


def test_a_run_is_held_at_a_checkpoint_that_is_durable(host_of):
    """Of 200 replays, 14 entered the body with their own checkpoint in the store already."""
    run = Run(host_of(address="address")).until(2)
    run.kill()
    before = run.notes["head"]
    run.recover()
    assert (run.at, run.task) == ("held", 2)
    store = sqlite3.connect(run.folder / "langgraph.db")
    parent = store.execute(
        "SELECT parent_checkpoint_id FROM checkpoints WHERE checkpoint_id = ?",
        (run.notes["head"],),
    ).fetchone()
    store.close()
    assert parent == (before,)


@pytest.mark.parametrize("value", ["same", "other"])
@pytest.mark.parametrize("stray", ["resume", "recover"])
def test_a_stray_delivery_is_silent_and_inert(host_of, stray, value):
    run = Run(host_of(stray=stray, stray_value=value)).park().consume("v1").finish()
    before = run.seen
    run.call("ExtraResume")
    assert (run.at, run.seen) == ("complete", before)
    assert run.counts() == [1, 1, 1]


@pytest.mark.parametrize("crash_at", ["body", "boundary"])
def test_a_terminal_write_that_breaks_the_schema_is_stored_without_a_word(host_of, crash_at):
    """Paper, Table V, CV: no error, one of three checkpoints is invalid."""
    run = Run(host_of(crash_at=crash_at)).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]


@pytest.mark.parametrize("crash_at", ["body", "boundary"])
def test_a_write_amid_the_graph_that_breaks_the_schema_is_refused_a_superstep_later(
    host_of, crash_at
):
    run = Run(host_of(crash_at=crash_at)).go(poison=True)
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValidationError")
    assert run.seen["ckpts"] == [{"task": 1, "valid": False}]


@pytest.mark.parametrize("crash_at", ["body", "boundary"])
def test_a_parked_run_survives_a_kill(host_of, crash_at):
    run = Run(host_of(crash_at=crash_at)).park()
    run.kill()
    assert run.process.ask({"op": "observe"})["observed"]["waiting"] is True
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_in_memory_a_crash_is_an_exception(host_of):
    run = Run(host_of(saver="memory")).park().consume("v1")
    assert run.process.ask({"op": "crash"})["at"] == "crashed"
    run.process.ask({"op": "succeed", "process": 2, "recovery": 1})
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    assert run.finish().effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


def test_at_a_boundary_nothing_runs(host_of):
    run = Run(host_of(crash_at="boundary"))
    assert (run.at, run.task, run.effects()) == ("held", 1, [])
    run.go()
    assert (run.at, run.task, run.effects()) == ("held", 2, [(1, None, 1)])
    run.kill()
    assert (run.recover().at, run.task, run.effects()) == ("held", 2, [(1, None, 1)])


def test_stores_are_equal_after_a_recovery_that_was_killed_at_its_first_gate(host_of):
    run = Run(host_of()).park().consume("v1")
    first = run.digest()
    for _ in range(2):
        run.kill()
        assert run.digest() == first
        run.recover()
    assert run.go().digest() != first


def test_a_fork_by_command_does_not_change_what_a_recovery_reads(host_of):
    run = Run(host_of(route="command")).park().consume("v1")
    before = run.digest()
    run.fork("v2")
    assert run.digest() == before


def test_nothing_is_locked_while_a_run_is_held(host_of):
    run = Run(host_of()).until(2)
    store = sqlite3.connect(run.folder / "langgraph.db", timeout=0, isolation_level=None)
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
