"""CrewAI's @persist without a question; what is expected stands in the paper, section VI-C."""

import pytest
from by_hand import Run, hosts

from adapters.crewai_persist import CrewAIPersist

pytestmark = pytest.mark.framework("crewai")
host_of = hosts("crewai-persist", "crewai")


def tasks_of(run):
    return [checkpoint["task"] for checkpoint in run.seen["ckpts"]]


def test_a_crash_in_the_second_task_repeats_the_first(host_of):
    """The paper's 12 where exactly-once is 11: one unit of state and one effect too many."""
    run = Run(host_of(answer="none")).until(2)
    run.kill()
    run.recover()
    assert (run.at, run.task) == ("held", 1)
    run.finish()
    assert (run.at, run.counts(), tasks_of(run)) == ("complete", [2, 1, 1], [1, 1, 2, 3])


def test_a_re_kick_of_a_completed_flow_repeats_all(host_of):
    """Both effect counters read 2."""
    run = Run(host_of(answer="none", stray="recover")).finish()
    assert (run.counts(), tasks_of(run)) == ([1, 1, 1], [1, 2, 3])
    run.call("ExtraResume").finish()
    assert (run.counts(), tasks_of(run)) == ([2, 2, 2], [1, 2, 3, 1, 2, 3])


def test_an_answer_among_the_inputs_repeats_what_came_before_the_gate(host_of):
    run = Run(host_of()).park()
    assert run.seen == {
        "pc": 2,
        "frontier": 1,
        "consumedVal": None,
        "ckpts": [{"task": 1, "valid": True}],
    }
    run.consume("v1")
    assert (run.at, run.task, run.seen["outcome"]) == ("held", 3, ["v1"])
    assert run.counts() == [2, 1]


def test_a_fork_is_a_flow_of_its_own_that_starts_over(host_of):
    run = Run(host_of()).park().consume("v1")
    before = run.seen
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", ["v2"])
    assert [(task, value) for task, value, _ in run.effects(branch=2)] == [
        (1, None),
        (2, "v2"),
        (3, None),
    ]
    assert {**run.seen, "pc": 3} == before
    assert run.finish().seen["outcome"] == ["v1"]


def test_a_write_that_breaks_the_schema_is_stored_without_a_word_and_restored_with_an_error(
    host_of,
):
    run = Run(host_of(answer="none")).until(3).go(poison=True)
    assert run.at == "complete"
    assert run.seen["ckpts"][-1] == {"task": 3, "valid": False}
    run.kill()
    run.recover()
    assert (run.at, run.report["error"]["type"]) == ("refused", "ValidationError")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"answer": "inputs", "stray": "resume"}, set()),
        (
            {"answer": "none", "stray": "resume"},
            {"Consume", "ForkResume", "RaceConsume", "Invoke", "ExtraResume"},
        ),
        (
            {"answer": "none", "stray": "recover"},
            {"Consume", "ForkResume", "RaceConsume", "Invoke"},
        ),
    ],
)
def test_without_a_gate_nothing_is_answered(options, names):
    assert set(CrewAIPersist.unsupported(options)) == names
