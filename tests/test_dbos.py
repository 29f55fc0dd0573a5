"""DBOS as it is at its pin; what is expected stands in the paper or was run without mbt."""

import os
import signal
import sqlite3
from dataclasses import replace

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, TWO_CRASHES, Lab, violated

pytestmark = pytest.mark.framework("dbos")
host_of = hosts("dbos", "dbos")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]


def release(process):
    return process.ask({"op": "release", "poison": False})


def test_a_host_that_only_registers_has_one_thread(host_of):
    """Launching starts threads, so a run's process launches and the host does not."""
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


def test_a_launch_after_a_kill_skips_what_has_an_output(host_of):
    """Documented: a step with a saved output is skipped when the workflow is executed again."""
    run = Run(host_of()).park().consume("v1")
    assert (run.at, run.task) == ("held", 3)
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    run.recover()
    assert (run.at, run.task, run.seen["consumedVal"]) == ("held", 3, "v1")
    run.finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


def test_a_kill_in_the_gated_task_keeps_the_answer(host_of):
    """The message is received and stored in one transaction, before the step that uses it."""
    run = Run(host_of()).park().call("Consume", v="v1").go()
    assert (run.at, run.task, run.seen["consumedVal"]) == ("held", 2, "v1")
    run.kill()
    assert (run.recover().at, run.task) == ("held", 2)
    run.finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_a_parked_run_survives_a_kill_and_takes_its_answer_elsewhere(host_of):
    run = Run(host_of()).park()
    digest = run.digest()
    run.kill()
    assert run.process.ask({"op": "observe"})["observed"]["waiting"] is True
    assert run.digest() == digest
    assert run.recover().at == "parked"
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_two_recoveries_of_one_store_find_the_same_digest(host_of):
    """How often a workflow was recovered is stored too, and decides nothing here."""
    run = Run(host_of()).park().consume("v1")
    digests = []
    for _ in range(2):
        run.kill()
        digests.append(run.digest())
        assert (run.recover().at, run.task) == ("held", 3)
    assert digests[0] == digests[1]


@pytest.mark.parametrize(("fork_at", "served"), [("recv", "v2"), ("past-recv", "v1")])
def test_a_fork_is_served_what_its_own_recv_receives(host_of, fork_at, served):
    run = Run(host_of(fork_at=fork_at)).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", [served])
    assert run.effects(branch=2) == [(2, served, 2), (3, None, 2)]
    assert run.seen == before
    assert run.finish().seen["outcome"] == ["v1"]


@pytest.mark.parametrize(
    "chosen", [{}, {"stray_value": "other"}, {"stray": "recover"}], ids=["same", "other", "launch"]
)
def test_a_stray_delivery_is_silent_and_inert(host_of, chosen):
    run = Run(host_of(**chosen)).park().consume("v1").finish()
    before = run.seen
    run.call("ExtraResume")
    assert (run.at, run.seen, run.counts()) == ("complete", before, [1, 1, 1])


def test_of_two_senders_one_is_received_and_the_other_stays_unread(host_of):
    """Measured: two senders held before they send, one consumed."""
    run = Run(host_of()).park()
    second = run.spawn()
    first, raced = (
        run.call("Consume", v="v1").report,
        second.call("RaceConsume", {"v": "v2"}),
    )
    assert (first["at"], raced["at"]) == ("held", "held")
    run.go().go()
    assert (run.at, run.task) == ("held", 3)
    report = release(second)
    assert (report["at"], report["error"]["type"]) == ("refused", "Unread")
    assert report["observed"]["consumedVal"] == "v1"
    second.finish()
    run.finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


def test_of_two_processes_that_recover_one_workflow_both_fire(host_of):
    """Measured on 2.27.0: an executor's name is all that tells whose a workflow is."""
    run = Run(host_of()).park().consume("v1")
    run.kill()
    assert (run.recover().at, run.task) == ("held", 3)
    other = run.spawn(recovery=2)
    assert other.call("CrashRecover", {})["at"] == "held"
    assert run.go().at == "complete"
    assert release(other)["at"] == "complete"
    assert run.effects()[2:] == [(3, None, 2), (3, None, 3)]
    other.finish()


def test_an_output_that_cannot_be_serialised_ends_the_workflow_loudly(host_of):
    run = Run(host_of()).park().consume("v1").go(poison=True)
    assert (run.at, run.report["error"]["type"]) == ("refused", "TypeError")
    assert (run.seen["frontier"], run.seen["ckpts"]) == (2, VALID[:2])
    run.kill()
    run.recover()
    assert (run.at, run.effects()[2:]) == ("refused", [(3, None, 1)])


def test_an_output_of_another_type_is_stored_without_a_word(host_of):
    run = Run(host_of(poison="other-type")).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]


def test_nothing_is_locked_while_a_run_is_held(host_of):
    run = Run(host_of()).until(2)
    # DBOS's own threads look into the store now and then, for as long as a look takes.
    store = sqlite3.connect(run.folder / "dbos.db", timeout=5, isolation_level=None)
    store.execute("BEGIN EXCLUSIVE")
    store.execute("ROLLBACK")
    store.close()


@pytest.mark.parametrize(("tasks", "gate"), [(2, 2), (5, 4)])
def test_the_workflow_is_the_models(host_of, tasks, gate):
    run = Run(host_of(tasks=tasks, gate=gate)).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1")
    assert run.fork("v2")["observed"]["outcome"] == ["v2"]
    run.finish()
    assert [task for task, _, _ in run.effects()] == list(range(1, tasks + 1))
    assert run.effects()[gate - 1] == (gate, "v1", 1)


def test_it_conforms_also_where_it_recovers_twice(lab):
    """verdicts.md: DBOS conforms in every cell. All traces stand in the receipts."""
    parts = [
        replace(lab.parts[name], traces=lab.parts[name].traces[first::step])
        for name, first, step in ((ONE_CRASH, 3, 20), (TWO_CRASHES, 5, 40))
    ]
    found = lab.replay("dbos", parts=parts, repeat=2)
    for result in found.parts:
        assert violated(result, lab.spec) == set()
        assert (result.diverging, result.inapplicable, result.unsteady) == ((), 0, ())
    assert found.conforms
    assert found.cell("EO") == found.cell("FD") == "holds"


def test_a_race_for_the_interrupt_is_won_by_the_first():
    r11 = Lab("R11_ConsumeCount")
    (trace,) = r11.part("R11-effect").traces
    record = r11.walk("dbos", trace)
    (raced,) = [micro for micro in record.micro if micro.action == "RaceConsume"]
    assert (raced.error["type"], raced.observed["effects"]) == ("Unread", [1, 1, 0])
