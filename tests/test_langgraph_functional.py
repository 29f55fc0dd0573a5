"""LangGraph's functional API at its pin; what is expected was run in scripts without mbt."""

import os
import signal
import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, POISON, Lab, violated

from adapters.services import open_services
from tracegen.values import to_python

pytestmark = pytest.mark.framework("langgraph")
host_of = hosts("langgraph-functional", "langgraph")
slow_host_of = hosts(f"{Path(__file__).parent}/systems/slow_writes.py:SlowWrites", "langgraph")

VALID = [{"task": task, "valid": True} for task in (1, 2, 3)]


@pytest.fixture(scope="module")
def postgres():
    with open_services(["postgres"]) as services:
        yield services


@pytest.fixture
def begin(host_of, request):
    """Start a run; one over PostgreSQL in a database of its own."""
    with ExitStack() as stack:

        def start(saver="sqlite", **options):
            given = {}
            if saver == "postgres":
                given = stack.enter_context(request.getfixturevalue("postgres").for_run()).addresses
            return Run(host_of(saver=saver, **options), given)

        yield start


@pytest.fixture(scope="module")
def twice():
    return Lab("LangGraphFork")


# -- what LangGraph does, without mbt ------------------------------------------------------


def workflow(saver, ledger, body=lambda task: None):
    from langgraph.func import entrypoint, task
    from langgraph.types import interrupt

    def call(number):
        def run():
            body(number)
            answer = interrupt("?") if number == 2 else None
            ledger.append((number, answer))
            return number

        run.__name__ = f"t{number}"
        return task(run)

    tasks = [call(number) for number in (1, 2, 3)]

    @entrypoint(checkpointer=saver)
    def wf(_input):
        return [called().result() for called in tasks]

    return wf


THREAD = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}


def test_a_result_is_handed_on_before_it_is_stored():
    """With durability="sync", the second task's body runs while the first one's write waits."""
    from langgraph.checkpoint.memory import InMemorySaver

    entered, saver = threading.Event(), InMemorySaver()
    put_writes, waited = saver.put_writes, []

    def late(config, writes, *rest):
        if any(channel == "__return__" for channel, _ in writes):
            waited.append(entered.wait(30))
        put_writes(config, writes, *rest)

    saver.put_writes = late
    wf = workflow(saver, [], lambda task: entered.set() if task == 2 else None)
    wf.invoke(1, THREAD, durability="sync")
    assert waited == [True]


def test_the_public_state_shows_an_interrupt_until_the_entrypoint_returns():
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    shown = []

    def look(task):
        if task == 3:
            state = wf.get_state(THREAD)
            shown.append((state.next, state.values, len(state.tasks[0].interrupts)))

    ledger = []
    wf = workflow(InMemorySaver(), ledger, look)
    wf.invoke(1, THREAD, durability="sync")
    wf.invoke(Command(resume="v1"), THREAD, durability="sync")
    assert shown == [(("wf",), None, 1)]
    assert ledger == [(1, None), (2, "v1"), (3, None)]


# -- the adapter ---------------------------------------------------------------------------


def test_a_run_is_held_only_once_the_results_before_it_are_stored(slow_host_of):
    run = Run(slow_host_of()).until(2)
    assert (run.seen["frontier"], run.seen["ckpts"]) == (1, VALID[:1])
    run.park().consume("v1")
    assert (run.at, run.task, run.seen["frontier"]) == ("held", 3, 2)
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 3)


@pytest.mark.parametrize("saver", ["sqlite", "postgres"])
def test_a_crash_in_a_body_and_a_resume_repeat_nothing(begin, saver):
    run = begin(saver=saver).park()
    assert run.seen == {
        "pc": 2,
        "frontier": 1,
        "waiting": True,
        "consumedVal": None,
        "ckpts": VALID[:1],
    }
    run.consume("v1")
    assert (run.at, run.task, run.seen["waiting"]) == ("held", 3, False)
    status = run.kill()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    run.finish()
    assert (run.at, run.seen["ckpts"], run.seen["outcome"]) == ("complete", VALID, ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


@pytest.mark.parametrize(("answer", "asks"), [("bare", False), ("map", True)])
def test_a_crash_and_the_input_sent_again_repeat_all(begin, answer, asks):
    """A bare answer is kept under no task, and is served to the new run without a question."""
    run = begin(recover="resubmit", answer=answer).park().consume("v1")
    run.kill()
    run.recover()
    assert (run.at, run.task, run.seen["frontier"]) == ("held", 1, 0)
    run.finish()
    assert run.at == ("parked" if asks else "complete")
    if asks:
        run.consume("v1").finish()
    assert (run.at, run.counts(), run.seen["consumedVal"]) == ("complete", [2, 2, 1], "v1")
    assert [c["task"] for c in run.seen["ckpts"]] == [1, 2, 1, 2, 3]


def test_a_recovery_by_address_is_served_no_result(begin):
    """An explicit checkpoint_id is a replay: tasks are executed though their results are stored."""
    run = begin(address="address").park().consume("v1")
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 1)
    run.park().consume("v1").finish()
    assert (run.at, run.counts()) == ("complete", [2, 2, 1])


ALL_AGAIN = [(1, None, 2), (2, "v1", 2), (3, None, 2)], ["v1"]
ALL_ANEW = [(1, None, 2), (2, "v2", 2), (3, None, 2)], ["v2"]
NOTHING = [], None


@pytest.mark.parametrize(
    ("route", "saver", "answer", "made"),
    [
        ("command", "sqlite", "bare", ALL_AGAIN),
        ("command", "sqlite", "map", ALL_AGAIN),
        ("command", "postgres", "bare", ALL_AGAIN),
        ("replay", "sqlite", "bare", ALL_ANEW),
        ("replay", "sqlite", "map", ALL_ANEW),
        ("replay", "postgres", "bare", ALL_ANEW),
        ("update-state", "sqlite", "bare", NOTHING),
        ("update-state", "postgres", "bare", NOTHING),
    ],
)
def test_every_fork_repeats_what_came_before_the_gate_or_does_nothing(
    begin, route, saver, answer, made
):
    """`update_state` passes for the entrypoint's return, so there is nothing left to resume."""
    run = begin(route=route, saver=saver, answer=answer).park().consume("v1").finish()
    branch = run.fork("v2")
    assert branch["at"] == "complete"
    assert (run.effects(branch=2), branch["observed"].get("outcome")) == made
    assert (run.seen["outcome"], run.counts()) == (["v1"], [1, 1, 1])


def test_a_fork_by_command_writes_its_results_to_the_runs_own_checkpoint(begin):
    run = begin(route="command").park().consume("v1")
    before = run.digest()
    run.fork("v2")
    assert (run.seen["frontier"], run.seen["ckpts"]) == (3, VALID)
    assert run.digest() != before
    run.finish()
    assert (run.at, run.seen["outcome"], run.counts()) == ("complete", ["v1"], [1, 1, 1])


def test_a_fork_by_replay_leaves_the_runs_own_checkpoint_alone(begin):
    run = begin(route="replay").park().consume("v1")
    before = run.seen
    run.fork("v2")
    assert run.seen == before


@pytest.mark.parametrize(("address", "ends"), [("auto", ("held", 1)), ("thread", ("complete", 3))])
def test_after_a_fork_a_crashed_run_is_begun_again_or_is_the_fork(begin, address, ends):
    run = begin(route="replay", address=address).park().consume("v1")
    run.fork("v2")
    run.kill()
    run.recover()
    assert (run.at, run.task or 3) == ends
    if address == "auto":
        run.park().consume("v1").finish()
        assert run.counts() == [2, 2, 1]
    else:
        assert (run.seen["consumedVal"], run.counts()) == ("v2", [1, 1, 0])


def test_stores_are_equal_only_where_a_recovery_is_addressed_alike(begin):
    run = begin(route="replay").park().consume("v1")
    first = run.digest()
    run.kill()
    assert run.digest() == first
    run.recover()
    assert run.digest() == first
    run.fork("v2")
    assert run.digest() != first


@pytest.mark.parametrize("value", ["same", "other"])
@pytest.mark.parametrize("stray", ["resume", "recover"])
def test_a_stray_delivery_is_silent_and_inert(begin, stray, value):
    run = begin(stray=stray, stray_value=value).park().consume("v1").finish()
    before = run.seen
    run.call("ExtraResume")
    assert (run.at, run.seen, run.counts()) == ("complete", before, [1, 1, 1])


@pytest.mark.parametrize("task", [1, 3])
def test_a_result_that_breaks_the_schema_is_stored_without_a_word(begin, task):
    run = begin()
    if task == 3:
        run.park().consume("v1")
    run.go(poison=True)
    if task == 1:
        run.park().consume("v1")
    run.finish()
    assert run.at == "complete"
    assert [c["valid"] for c in run.seen["ckpts"]] == [number != task for number in (1, 2, 3)]


def test_a_parked_run_survives_a_kill(begin):
    run = begin().park()
    run.kill()
    assert run.process.ask({"op": "observe"})["observed"]["waiting"] is True
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_in_memory_a_crash_is_an_exception(begin):
    run = begin(saver="memory").park().consume("v1")
    assert run.process.ask({"op": "crash"})["at"] == "crashed"
    run.process.ask({"op": "succeed", "process": 2, "recovery": 1})
    assert run.digest() is not None
    run.recover()
    assert (run.at, run.task) == ("held", 3)
    assert run.finish().effects() == [(1, None, 1), (2, "v1", 1), (3, None, 2)]


def test_nothing_is_locked_while_a_run_is_held(begin):
    run = begin().until(2)
    store = sqlite3.connect(run.folder / "langgraph.db", timeout=0, isolation_level=None)
    store.execute("BEGIN EXCLUSIVE")
    store.execute("ROLLBACK")
    assert store.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
    store.close()


@pytest.mark.parametrize(("tasks", "gate"), [(2, 2), (5, 4)])
def test_the_workflow_is_the_models(begin, tasks, gate):
    run = begin(tasks=tasks, gate=gate).park()
    assert (run.seen["pc"], run.seen["frontier"]) == (gate, gate - 1)
    run.consume("v1").finish()
    assert [task for task, _, _ in run.effects()] == list(range(1, tasks + 1))
    assert run.effects()[gate - 1] == (gate, "v1", 1)


# -- the models ----------------------------------------------------------------------------


def test_over_the_tour_a_fork_costs_exactly_once_and_a_crash_after_it_all_but_fork_determinism(
    lab,
):
    """All 40 traces hold a fork; in four of them the run is crashed after it."""
    found = lab.replay("langgraph-functional", parts=[ONE_CRASH], route="replay")
    (result,) = found.parts
    assert violated(result, lab.spec) == {"EO", "PC", "CO"}
    assert len(result.violating("EO")) == 40
    assert len(result.violating("PC")) == len(result.violating("CO")) == 4
    assert len(result.diverging) == 4


def test_a_poisoned_result_breaks_checkpoint_validity(lab):
    found = lab.replay("langgraph-functional", parts=[POISON])
    assert violated(found.parts[0], lab.spec) == {"CV"}
    assert found.parts[0].records[0].micro[-1].at == "complete"


def racers(trace):
    """The values of the consumers of a trace, where they race before anything is forked."""
    raced = [(s.action, to_python(s.params["v"])) for s in trace.steps if "v" in s.params]
    return [value for action, value in raced if action in {"Consume", "RaceConsume"}]


def test_two_consumers_both_fire_and_the_store_keeps_the_first_ones_answer():
    r11 = Lab("R11_ConsumeCount")
    trace = next(t for t in r11.part("R11-race-clean").traces if racers(t) == ["v1", "v2"])
    record = r11.walk("langgraph-functional", trace)
    (raced,) = [micro for micro in record.micro if micro.action == "RaceConsume"]
    assert [row.value for row in record.ledger if row.task == 2] == ["v1", "v2"]
    assert raced.observed["effects"][1] == 2
    assert raced.observed["forkOuts"] == [["v1"], ["v1"]]


@pytest.mark.parametrize(("route", "rule"), [("command", "LGF-A"), ("replay", "LGF-B")])
def test_which_serving_rule_explains_a_fork(twice, route, rule):
    found = twice.replay("langgraph-functional", route=route)
    assert [found.explanation.name(faults) for faults in found.explanation.smallest] == [rule]
