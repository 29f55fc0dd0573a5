"""AutoGen as it is at its pin; what is expected stands in the paper or was run without mbt."""

import json
import os
import signal
from dataclasses import replace

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, Lab, violated

pytestmark = pytest.mark.framework("autogen_agentchat")
host_of = hosts("autogen", "autogen_agentchat")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]
TEAMS = pytest.mark.parametrize("team", ["assistant", "round-robin", "graph"])


def crash_at(run, task):
    """Kill a run where it is held at a task; the process that follows has not recovered yet."""
    assert (run.at, run.task) == ("held", task)
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return run


@TEAMS
def test_a_host_that_only_imports_has_one_thread(host_of, team):
    assert host_of(team=team)[0].hello["threads"] == 1


@TEAMS
def test_a_run_fires_each_effect_once(host_of, team):
    run = Run(host_of(team=team)).park()
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


@TEAMS
def test_a_kill_before_the_third_task_repeats_the_second(host_of, team):
    """Measured: the state that was saved when the run stopped is the only durable point."""
    run = Run(host_of(team=team)).park().consume("v1")
    assert (run.seen["frontier"], run.seen["consumedVal"]) == (1, "v1")
    crash_at(run, 3).recover()
    assert (run.at, run.task, run.seen["consumedVal"]) == ("held", 2, None)
    run.park().consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (2, "v1", 2), (3, None, 2)]


@TEAMS
def test_a_team_stopped_after_each_turn_repeats_nothing(host_of, team):
    run = Run(host_of(team=team, save="each-turn")).until(2)
    crash_at(run, 2).recover()
    assert (run.at, run.task) == ("held", 2)
    run.park().consume("v1")
    assert (run.seen["frontier"], run.seen["waiting"]) == (2, False)
    crash_at(run, 3).recover()
    assert (run.at, run.task) == ("held", 3)
    run.finish()
    assert (run.at, run.counts()) == ("complete", [1, 1, 1])


@pytest.mark.parametrize(
    ("team", "at", "task"),
    [("assistant", "held", 3), ("round-robin", "held", 1), ("graph", "failed", None)],
)
def test_a_state_saved_while_a_team_runs_is_as_its_documentation_warns(host_of, team, at, task):
    """Run without mbt: an index past the speaker, or nobody ready. "May not be consistent"."""
    run = Run(host_of(team=team, save="running")).park().consume("v1")
    crash_at(run, 3)
    states = json.loads((run.folder / "state-0.json").read_text())["agent_states"].values()
    manager = next(state for state in states if "message_thread" in state)
    if team == "round-robin":
        assert manager["next_speaker_index"] == 0  # it was t3's turn, the last of the four
    if team == "graph":
        assert manager["ready"] == []
    run.recover()
    assert (run.at, run.task) == (at, task)


@TEAMS
def test_a_state_serves_each_value_that_it_is_given(host_of, team):
    run = Run(host_of(team=team)).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert run.effects(branch=2) == [(2, "v2", 2), (3, None, 2)]
    assert run.seen == before
    assert run.finish().seen["outcome"] == ["v1"]


@pytest.mark.parametrize("value", ["same", "other"])
def test_a_second_restore_adds_nothing_where_the_model_has_nothing_left(host_of, value):
    """Paper: a tool that was called is in the assistant's context, and is not called again."""
    run = Run(host_of(stray_value=value)).park().consume("v1").finish()
    run.call("ExtraResume")
    assert (run.at, run.seen["ckpts"], run.counts()) == ("complete", VALID, [1, 1, 1])


@pytest.mark.parametrize("team", ["round-robin", "graph"])
@pytest.mark.parametrize("stray", ["resume", "recover"])
def test_a_finished_team_that_is_run_again_starts_over(host_of, team, stray):
    """Measured: the finished state restored and run fires t1 again, and hands off again."""
    run = Run(host_of(team=team, stray=stray)).park().consume("v1").finish()
    run.call("ExtraResume").park()
    assert run.effects()[3:] == [(1, None, 1)]


def test_a_stray_resume_of_the_parked_state_fires_again(host_of):
    run = Run(host_of(stray_state="parked")).park().consume("v1").finish()
    run.call("ExtraResume").finish()
    assert (run.at, run.counts()) == ("complete", [1, 2, 2])


@TEAMS
def test_of_two_that_load_the_same_state_both_fire(host_of, team):
    run = Run(host_of(team=team)).park()
    second = run.spawn()
    run.call("Consume", v="v1")
    raced = second.call("RaceConsume", {"v": "v2"})
    assert (run.at, run.task, raced["at"], raced["task"]) == ("held", 2, "held", 2)
    run.go()
    second.ask({"op": "release", "poison": False})
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (2, "v2", 2)]
    second.kill()


@TEAMS
def test_an_output_that_breaks_its_schema_is_refused_and_not_saved(host_of, team):
    run = Run(host_of(team=team, save="each-turn")).park().consume("v1").go(poison=True)
    assert (run.at, run.report["error"]["type"]) == ("refused", "RuntimeError")
    assert run.report["error"]["message"].startswith("ValidationError: 1 validation error")
    assert "Traceback" not in run.report["error"]["message"]
    assert (run.seen["frontier"], run.seen["ckpts"]) == (2, VALID[:2])


@pytest.mark.parametrize(
    "damage",
    [
        lambda states: states.pop("t2"),
        lambda states: manager_of(states).update(current_turn="x"),
    ],
    ids=["an agent is missing", "a field of another type"],
)
def test_a_tampered_state_is_refused(host_of, damage):
    """Paper: ValidationError; at 0.7.5 `load_state` of a team raises ValueError from it."""
    run = Run(host_of(team="round-robin")).park()
    file = run.folder / "state-0.json"
    state = json.loads(file.read_text())
    damage(state["agent_states"])
    file.write_text(json.dumps(state))
    run.call("Consume", v="v1")
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValueError")
    assert run.effects() == [(1, None, 1)]


def manager_of(states):
    return next(state for state in states.values() if "message_thread" in state)


@TEAMS
@pytest.mark.parametrize(("tasks", "gate"), [(2, 2), (5, 4)])
def test_the_workflow_is_the_models(host_of, team, tasks, gate):
    run = Run(host_of(team=team, tasks=tasks, gate=gate)).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1").finish()
    assert [task for task, _, _ in run.effects()] == list(range(1, tasks + 1))
    assert run.effects()[gate - 1] == (gate, "v1", 1)


@TEAMS
def test_with_each_turn_saved_it_conforms(lab, team):
    """All traces stand in the receipts; this one has a crash, a fork, and no stray resume."""
    fork = ("CrashRecover", "ForkResume", "ExecTask")
    trace = lab.trace("ExecTask", "EmitInterrupt", "Consume", *fork)
    assert len(trace.steps) == 6
    part = replace(lab.parts[ONE_CRASH], traces=(trace,))
    found = lab.replay("autogen", parts=[part], repeat=3, team=team, save="each-turn")
    assert found.conforms
    assert violated(found.parts[0], lab.spec) == set()


def test_a_race_is_won_by_both():
    r11 = Lab("R11_ConsumeCount")
    (trace,) = r11.part("R11-effect").traces
    record = r11.walk("autogen", trace, save="each-turn")
    (raced,) = [micro for micro in record.micro if micro.action == "RaceConsume"]
    assert (raced.error, raced.observed["effects"]) == (None, [1, 2, 0])
