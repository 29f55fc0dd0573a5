"""The OpenAI Agents SDK as it is at its pin; what is expected was run without mbt."""

import json
import os
import signal
from dataclasses import replace

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, Lab, violated

pytestmark = pytest.mark.framework("agents")
host_of = hosts("openai-agents", "agents")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]
SESSION = {"session": "sqlite", "recover": "input"}


def crash_at(run, task):
    """Kill a run where it is held at a task; the process that follows has not recovered yet."""
    assert (run.at, run.task) == ("held", task)
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return run


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
    }
    run.consume("v1").finish()
    assert (run.at, run.seen["ckpts"], run.seen["outcome"]) == ("complete", VALID, ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


def test_the_state_is_the_sdks_own_text(host_of):
    """Nothing of the adapter's is in it: the approval, and the answer as the context."""
    run = Run(host_of()).park()
    parked = json.loads((run.folder / "state-0.json").read_text())
    assert parked["current_step"]["type"] == "next_step_interruption"
    assert [item["type"] for item in parked["generated_items"]] == [
        "tool_call_item",
        "tool_call_output_item",
        "tool_call_item",
        "tool_approval_item",
    ]
    run.consume("v1").finish()
    ended = json.loads((run.folder / "state-0.json").read_text())
    assert ended["context"]["context"] == {"answer": "v1"}
    assert ended["context"]["approvals"]["t2"]["approved"] == ["call-2"]


def test_a_kill_before_the_third_task_repeats_the_second(host_of):
    """Measured: the state with which the run parked is the only durable point."""
    run = Run(host_of()).park().consume("v1")
    assert (run.seen["frontier"], run.seen["consumedVal"]) == (1, "v1")
    crash_at(run, 3).recover()
    assert (run.at, run.task, run.seen["consumedVal"]) == ("held", 2, None)
    run.park().consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (2, "v1", 2), (3, None, 2)]


def test_a_kill_before_the_run_parked_leaves_nothing(host_of):
    run = Run(host_of()).until(2)
    crash_at(run, 2).recover()
    assert (run.at, run.task) == ("held", 1)
    run.park()
    assert run.effects() == [(1, None, 1), (1, None, 2)]


@pytest.mark.parametrize("chosen", [{"save": "each-turn"}, SESSION], ids=["each-turn", "session"])
def test_with_each_turn_kept_nothing_is_repeated(host_of, chosen):
    """Measured: with a session, and the input re-sent, a kill before t3 does not repeat t2."""
    run = Run(host_of(**chosen)).until(2)
    crash_at(run, 2).recover()
    assert (run.at, run.task) == ("held", 2)
    run.park().consume("v1")
    assert (run.seen["frontier"], run.seen["waiting"]) == (2, False)
    crash_at(run, 3).recover()
    assert (run.at, run.task) == ("held", 3)
    run.finish()
    assert (run.at, run.counts()) == ("complete", [1, 1, 1])


def test_a_session_does_not_save_whoever_resumes_the_parked_state(host_of):
    """Measured: the session holds t2's output, and the parked state is run all the same."""
    run = Run(host_of(session="sqlite")).park().consume("v1")
    assert run.seen["frontier"] == 2
    crash_at(run, 3).recover()
    assert (run.at, run.task, run.seen["frontier"]) == ("held", 2, 2)
    run.park().consume("v1").finish()
    assert run.counts() == [1, 2, 1]


@pytest.mark.parametrize("chosen", [{}, SESSION], ids=["state", "session"])
def test_a_state_serves_each_value_that_it_is_given(host_of, chosen):
    run = Run(host_of(**chosen)).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert run.effects(branch=2) == [(2, "v2", 2), (3, None, 2)]
    assert run.seen == before
    assert run.finish().seen["outcome"] == ["v1"]


@pytest.mark.parametrize("value", ["same", "other"])
def test_a_stray_resume_of_the_finished_state_is_inert(host_of, value):
    run = Run(host_of(stray_value=value)).park().consume("v1").finish()
    before = run.seen
    run.call("ExtraResume")
    assert (run.at, run.seen, run.counts()) == ("complete", before, [1, 1, 1])


def test_a_stray_resume_of_the_parked_state_fires_again(host_of):
    run = Run(host_of(stray_state="parked")).park().consume("v1").finish()
    run.call("ExtraResume").finish()
    assert (run.at, run.counts()) == ("complete", [1, 2, 2])


def test_the_input_once_more_starts_over_without_a_session(host_of):
    run = Run(host_of(recover="input", stray="recover")).park().consume("v1").finish()
    run.call("ExtraResume").park()
    assert run.effects()[3:] == [(1, None, 1)]


def test_of_two_that_read_the_same_state_both_fire(host_of):
    run = Run(host_of()).park()
    second = run.spawn()
    run.call("Consume", v="v1")
    raced = second.call("RaceConsume", {"v": "v2"})
    assert (run.at, run.task, raced["at"], raced["task"]) == ("held", 2, "held", 2)
    run.go()
    second.ask({"op": "release", "poison": False})
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (2, "v2", 2)]
    second.kill()


def test_a_context_without_a_json_is_refused_and_nothing_is_kept(host_of):
    run = Run(host_of(save="each-turn")).park().consume("v1").go(poison=True)
    assert (run.at, run.report["error"]["type"]) == ("refused", "TypeError")
    assert (run.seen["frontier"], run.seen["ckpts"]) == (2, VALID[:2])
    run.kill()
    assert (run.recover().at, run.task) == ("held", 3)


def test_an_output_of_another_type_is_kept_without_a_word(host_of):
    run = Run(host_of(poison="other-type")).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]


def test_a_damaged_state_is_refused_or_not_as_measured(host_of):
    """Measured: another version is a UserError; emptied items are accepted, and t1 runs again."""
    for damage, expected in (
        ({"$schemaVersion": "99"}, ("refused", "UserError")),
        ({"generated_items": []}, ("held", None)),
    ):
        run = Run(host_of()).park()
        file = run.folder / "state-0.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | damage))
        run.kill()
        run.call("Consume", v="v1")
        assert (run.at, run.report.get("error", {}).get("type")) == expected
    run.until(1)  # the approved tool first, then the plan from its beginning
    assert run.effects() == [(1, None, 1), (2, "v1", 2)]


@pytest.mark.parametrize(("tasks", "gate"), [(2, 2), (5, 4)])
def test_the_workflow_is_the_models(host_of, tasks, gate):
    run = Run(host_of(tasks=tasks, gate=gate)).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1").finish()
    assert [task for task, _, _ in run.effects()] == list(range(1, tasks + 1))
    assert run.effects()[gate - 1] == (gate, "v1", 1)


@pytest.mark.parametrize("chosen", [{"save": "each-turn"}, SESSION], ids=["each-turn", "session"])
def test_with_each_turn_kept_it_conforms(lab, chosen):
    """All traces stand in the receipts; this is one with a crash behind the interrupt."""
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", "CrashRecover")
    part = replace(lab.parts[ONE_CRASH], traces=(trace,))
    found = lab.replay("openai-agents", parts=[part], repeat=3, **chosen)
    assert found.conforms
    assert violated(found.parts[0], lab.spec) == set()


def test_a_race_is_won_by_both():
    r11 = Lab("R11_ConsumeCount")
    (trace,) = r11.part("R11-effect").traces
    record = r11.walk("openai-agents", trace, save="each-turn")
    (raced,) = [micro for micro in record.micro if micro.action == "RaceConsume"]
    assert (raced.error, raced.observed["effects"]) == (None, [1, 2, 0])
