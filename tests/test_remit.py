"""remit-contract under LangGraph at its pin; expected: the paper, and scripts without mbt."""

from contextlib import ExitStack

import pytest
from by_hand import Run, hosts
from lab import ONE_CRASH, POISON, Lab

from adapters.langgraph_remit import LangGraphRemit
from adapters.services import open_services

pytestmark = pytest.mark.framework("remit")
host_of = hosts("langgraph-remit", "remit")
bare_host_of = hosts("langgraph", "langgraph")

SAVERS = ["sqlite", "postgres"]
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
def r11():
    return Lab("R11_ConsumeCount")


def resume(run, value):
    """Resume the run in a process of its own; return it and its first report."""
    process = run.spawn()
    return process, process.call("RaceConsume", {"v": value})


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("process_gate", ["off", "on"])
@pytest.mark.parametrize("intent", ["address", "flag"])
@pytest.mark.parametrize("answer", ["bare", "map"])
def test_a_fork_by_command_is_served_its_own_answer(begin, answer, intent, process_gate, saver):
    """Paper, Table V: without the wrapper both forms are served the first answer."""
    run = begin(saver, answer=answer, intent=intent, process_gate=process_gate)
    run.park().consume("v1").finish()
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert run.effects(branch=2) == [(2, "v2", 2), (3, None, 2)]
    assert (run.seen["outcome"], run.counts()) == (["v1"], [1, 1, 1])


@pytest.mark.parametrize("answer", ["bare", "map"])
def test_without_the_wrapper_it_is_served_the_first_answer(bare_host_of, answer):
    run = Run(bare_host_of(answer=answer)).park().consume("v1").finish()
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v1"])
    assert run.effects(branch=2) == [(2, "v1", 2), (3, None, 2)]


def test_an_answer_by_name_finds_no_question_where_update_state_made_the_fork(begin):
    """The new checkpoint has not asked yet, and will under another name."""
    run = begin(answer="map", route="update-state").park().consume("v1").finish()
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["consumedVal"]) == ("parked", None)
    assert run.effects(branch=2) == []


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("task", [1, 2, 3])
def test_a_state_that_breaks_the_schema_is_refused_loudly_and_not_stored(begin, task, saver):
    run = begin(saver)
    if task == 1:
        run.go(poison=True)
    elif task == 2:
        run.park().call("Consume", v="v1").go(poison=True)
    else:
        run.park().consume("v1").go(poison=True)
    assert (run.at, run.report["error"]["type"]) == ("refused", "RemitValidityError")
    assert run.seen["ckpts"] == VALID[: task - 1]


def test_after_a_refused_state_every_recovery_is_refused_the_same(begin):
    """What the task wrote is stored beside its checkpoint, and is put together again each time."""
    run = begin().park().consume("v1").go(poison=True)
    for _ in range(2):
        run.kill()
        run.recover()
        assert (run.at, run.report["error"]["type"]) == ("refused", "RemitValidityError")
    assert [task for task, _, _ in run.effects()] == [1, 2, 3]


def test_without_a_validator_it_is_stored_as_it_is_without_the_wrapper(begin):
    run = begin(validator="no").park().consume("v1").go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"] == [*VALID[:2], {"task": 3, "valid": False}]


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("intent", ["address", "flag"])
def test_of_four_consumers_one_is_served_and_the_others_are_refused_before_any_task(
    begin, intent, saver
):
    run = begin(saver, process_gate="on", intent=intent).park()
    run.call("Consume", v="v1")
    assert (run.at, run.task) == ("held", 2)
    for value in ("v1", "v2", "v3"):
        process, report = resume(run, value)
        assert (report["at"], report["error"]["type"]) == ("refused", "RemitConsumeConflict")
        process.kill()
    run.finish()
    assert (run.at, run.seen["outcome"]) == ("complete", ["v1"])
    assert run.effects() == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


@pytest.mark.parametrize("saver", SAVERS)
def test_of_four_consumers_all_are_served_without_the_process_gate(begin, saver):
    run = begin(saver).park()
    run.call("Consume", v="v1")
    others = [resume(run, value) for value in ("v1", "v2", "v3")]
    for process, report in others:
        assert (report["at"], report["task"]) == ("held", 2)
        process.ask({"op": "release", "poison": False})
        process.kill()
    run.finish()
    assert [task for task, _, _ in run.effects()].count(2) == 4


def test_a_consumer_that_dies_with_its_claim_leaves_a_run_that_nobody_can_resume(begin):
    run = begin(process_gate="on").park()
    run.call("Consume", v="v1")
    run.kill()
    assert run.process.ask({"op": "observe"})["observed"]["waiting"] is True
    for call, params in [("Consume", {"v": "v1"}), ("CrashRecover", {})]:
        run.call(call, **params)
        assert (run.at, run.report["error"]["type"]) == ("refused", "RemitConsumeConflict")
    assert run.effects() == [(1, None, 1)]


def test_a_parked_run_that_nobody_had_claimed_survives_a_kill(begin):
    run = begin(process_gate="on").park()
    run.kill()
    run.consume("v1").finish()
    assert run.effects() == [(1, None, 1), (2, "v1", 2), (3, None, 2)]


def test_the_process_gate_needs_a_database():
    options = {name: option.default for name, option in LangGraphRemit.options.items()}
    chosen = {"process_gate": "on", "saver": "memory"}
    assert "saver=sqlite or saver=postgres" in LangGraphRemit.check_options(options | chosen)
    assert LangGraphRemit.check_options(options | {"process_gate": "on"}) is None


def test_in_memory_a_fork_is_served_its_own_answer(begin):
    run = begin("memory").park().consume("v1").finish()
    message = {"op": "branch", "branch": 2, "process": 2, "action": "ForkResume"}
    report = run.process.ask(message | {"params": {"v": "v2"}})
    while report["at"] == "held":
        report = run.process.ask({"op": "release", "poison": False})
    assert report["observed"]["outcome"] == ["v2"]


# -- the models ----------------------------------------------------------------------------


def test_over_the_tour_it_conforms_where_langgraph_ignores_the_fork(lab):
    found = lab.replay("langgraph-remit", parts=[ONE_CRASH, POISON], process_gate="on")
    assert found.conforms
    assert found.explanation.smallest == ((),)
    assert [found.cell(name) for name in ("PC", "EO", "FD", "CV", "CO")] == ["holds"] * 5
    (poisoned,) = found.parts[1].records
    assert poisoned.micro[-1].error["type"] == "RemitValidityError"


def test_under_the_process_gate_a_racer_is_refused_at_its_read(r11):
    found = r11.replay("langgraph-remit", process_gate="on")
    assert found.conforms
    assert found.cell("CO-c") == found.cell("CO-e") == "holds"
    raced = [
        micro
        for part in found.parts
        for record in part.records
        for micro in record.micro
        if micro.action == "RaceConsume"
    ]
    assert len(raced) == 17
    assert {micro.error["type"] for micro in raced} == {"RemitConsumeConflict"}
    assert {micro.observed["effects"][1] for micro in raced} == {1}


def test_the_serving_rule_is_a_slot_for_each_invocation():
    found = Lab("LangGraphFork").replay("langgraph-remit", answer="map", process_gate="on")
    assert [found.explanation.name(faults) for faults in found.explanation.smallest] == ["LGF-B"]
    assert found.conforms
