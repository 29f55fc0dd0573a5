"""pydantic-graph at its pin; what is expected stands in the paper or was run without mbt."""

import json
import os
import signal

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, POISON, Lab

pytestmark = pytest.mark.framework("pydantic-graph")
host_of = hosts("pydantic-graph", "pydantic_graph")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]


def snapshots(run):
    stored = json.loads((run.folder / "run.json").read_text())
    return [(s.get("node", {}).get("node_id"), s.get("status")) for s in stored]


def refused(run, error):
    return (run.at, run.report["error"]["type"]) == ("refused", error)


def test_a_host_that_only_imports_has_one_thread(host_of):
    assert host_of()[0].hello["threads"] == 1


@pytest.mark.parametrize("crash_at", ["body", "boundary"])
def test_a_run_fires_each_effect_once(host_of, crash_at):
    run = Run(host_of(crash_at=crash_at)).park()
    assert run.seen == {
        "pc": 2,
        "frontier": 1,
        "waiting": True,
        "consumedVal": None,
        "ckpts": VALID[:1],
    }
    assert snapshots(run) == [("T1", "success"), ("Ask", "success"), ("Answer", "created")]
    run.consume("v1").finish()
    assert (run.at, run.seen["ckpts"], run.seen["outcome"]) == ("complete", VALID, ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


@pytest.mark.parametrize("task", [2, 3])
def test_a_crash_inside_a_node_leaves_nothing_to_restore(host_of, task):
    """Paper, section VI-D: GraphRuntimeError. No effect repeats, since nothing goes on."""
    run = Run(host_of()).until(2)
    if task == 3:
        run.park().consume("v1")
    assert snapshots(run)[-1] == ({2: "Ask", 3: "T3"}[task], "running")
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    run.recover()
    assert refused(run, "GraphRuntimeError")
    assert [row[0] for row in run.effects()] == list(range(1, task))


def test_a_crash_between_nodes_is_recovered_exactly_once(host_of):
    run = Run(host_of(crash_at="boundary")).park().consume("v1")
    assert (run.at, run.task, snapshots(run)[-1]) == ("held", 3, ("T3", "created"))
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    assert run.finish().at == "complete"
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


def test_the_node_that_crashed_can_be_run_again_by_a_caller_who_reads_the_history(host_of):
    run = Run(host_of(recover="history")).park().consume("v1")
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    assert run.finish().at == "complete"
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


@pytest.mark.parametrize("recover", ["restore", "history"])
def test_a_parked_run_survives_a_kill(host_of, recover):
    run = Run(host_of(recover=recover)).park()
    run.kill()
    assert run.process.ask({"op": "observe"})["observed"]["waiting"] is True
    assert run.recover().at == "parked"
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_a_fork_is_a_copy_of_the_file_and_leaves_the_run_alone(host_of):
    run = Run(host_of()).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert run.effects(branch=2) == [(2, "v2", 2), (3, None, 2)]
    assert run.seen == before
    assert run.finish().seen["outcome"] == ["v1"]


@pytest.mark.parametrize("stray", ["resume", "recover"])
def test_a_stray_is_refused(host_of, stray):
    run = Run(host_of(stray=stray)).park().consume("v1").finish()
    run.call("ExtraResume")
    assert refused(run, "GraphRuntimeError")
    assert run.counts() == [1, 1, 1]


def test_a_second_consumer_finds_the_answer_taken(host_of):
    """The first one marks the snapshot under the file's lock, before its node is run."""
    run = Run(host_of()).park().call("Consume", v="v1")
    assert (run.at, run.task) == ("held", 2)
    second = run.spawn()
    report = second.call("RaceConsume", {"v": "v2"})
    second.finish()
    assert (report["at"], report["error"]["type"]) == ("refused", "GraphRuntimeError")
    assert run.finish().effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


def test_a_state_of_the_wrong_type_is_written_without_a_word_and_read_with_an_error(host_of):
    run = Run(host_of()).park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]
    run.kill()
    assert refused(run.recover(), "ValidationError")


def test_a_state_of_the_wrong_type_in_the_middle_stops_the_next_node(host_of):
    run = Run(host_of()).go(poison=True)
    assert refused(run, "ValidationError")
    assert run.seen["ckpts"] == [{"task": 1, "valid": False}]


def test_what_json_cannot_hold_is_refused_and_not_written(host_of):
    run = Run(host_of(invalid="unserialisable")).park().consume("v1").go(poison=True)
    assert refused(run, "PydanticSerializationError")
    assert run.seen["ckpts"] == VALID[:2]


def test_a_truncated_file_is_refused(host_of):
    run = Run(host_of(crash_at="boundary")).park()
    file = run.folder / "run.json"
    file.write_text(file.read_text()[:-30])
    run.process.kill()
    process = run.spawn(recovery=1)
    with pytest.raises(Exception, match="JSONDecodeError"):  # a file that nobody can look at
        process.call("CrashRecover", {})


@pytest.mark.parametrize(("tasks", "gate"), [(1, 1), (2, 2), (5, 4)])
def test_the_workflow_is_the_models(host_of, tasks, gate):
    run = Run(host_of(tasks=tasks, gate=gate)).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1").finish()
    assert [task for task, _, _ in run.effects()] == list(range(1, tasks + 1))
    assert run.effects()[gate - 1] == (gate, "v1", 1)


def test_killed_between_nodes_it_conforms_over_the_whole_tour(lab):
    found = lab.replay("pydantic-graph", parts=[ONE_CRASH], crash_at="boundary")
    (result,) = found.parts
    assert found.conforms
    assert found.explanation.smallest == ((),)
    assert len(result.covered) == result.transitions
    killed = [death for record in result.records for death in record.deaths]
    assert len(killed) == 28 and {death.status for death in killed} == {9}


@pytest.mark.parametrize(
    ("invalid", "cell"), [("mistyped", "violated"), ("unserialisable", "holds")]
)
def test_checkpoint_validity_depends_on_what_is_invalid(lab, invalid, cell):
    assert lab.replay("pydantic-graph", parts=[POISON], invalid=invalid).cell("CV") == cell


def test_the_race_of_the_model_is_won_by_the_first_each_time(own_cache):
    r11 = Lab("R11_ConsumeCount")
    (trace,) = r11.part("R11-effect").traces
    records = [r11.walk("pydantic-graph", trace) for _ in range(5)]
    assert all(record.same(records[0]) for record in records)
    assert records[0].facts == ("RaceConsume was refused: GraphRuntimeError",)
    assert [row.task for row in records[0].ledger] == [1, 2, 3]
