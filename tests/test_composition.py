"""Composition: gates in sequence and side by side, a fan-out broken off, a gate in a subgraph.

What LangGraph is expected to do comes from the paper (probes 138, 141 and 155) and from the plain
scripts at the end, which use nothing of mbt.
"""

import operator
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from by_hand import Run, hosts
from lab import Lab, violated

from adapters.base import gated_tasks
from adapters.langgraph import LangGraph
from adapters.ledger import Ledger
from mbt.cli import main
from replay.primary import Primary
from tracegen.outcome import Outcome
from tracegen.tlc import check

COMPOSED = Path(__file__).parent / "systems" / "composed.py"
langgraph = pytest.mark.framework("langgraph")
host_of = hosts("langgraph", "langgraph")


@pytest.fixture(scope="module")
def labs():
    made = {}
    return lambda module: made.setdefault(module, Lab(module))


# -- the models ----------------------------------------------------------------------------


def two_gates():
    """Tasks 1 to 5, gates 2 and 4, two values, one fork, one crash, one stray, counted by hand."""
    before = 3  # held at 1 and 2, parked at 2
    between = 2 * 3  # by the first answer: held at 3 and 4, parked at 4
    after = 4 * 3 * 3  # by both answers; no fork, or one of two: held at 5, complete, strayed
    never_crashed = before + between + after
    crashed = never_crashed - 1  # anywhere but at task 1
    return never_crashed + crashed


def parallel_gates():
    """By what was given; a bare resume leaves its mark until the next call."""
    nothing = 2 + 3  # crashed or not; with a bare resume: alone, before the crash, after it
    free = 2 * 2 * 2  # once one was answered: bare, crashed, strayed
    return nothing + (2 + 2) * free + 2 * 2 * free


def fan_out():
    """Two tasks that can be unlucky, by failing or by being held; each ends in two ways."""
    return 1 + 2 * 2 + 2 * 2 * 2


@pytest.mark.parametrize(
    ("module", "model", "distinct"),
    [
        ("TwoGates", "G2", two_gates()),
        ("ParallelGates", "PG", parallel_gates()),
        ("FanOut", "FO", fan_out()),
    ],
)
def test_the_reference_machines_hold_and_are_as_large_as_counted(labs, module, model, distinct):
    lab = labs(module)
    config = lab.spec.model(model).config
    assert {rule.invariant for rule in lab.spec.properties.values()} <= set(config.invariants)
    result = check(lab.spec.path, config, **lab.checker)
    assert (result.outcome, result.complete) == (Outcome.HOLDS, True)
    assert result.distinct == distinct


# What each switch breaks, by the short names of the properties.
BREAKS = {
    "TwoGates": {
        "Replay": {"PC", "EO", "CO"},
        "ForkIgnore": {"FD"},
        "DoubleConsume": {"EO", "CO"},
        "FirstAnswer": {"OA", "FD"},
    },
    "ParallelGates": {
        "Replay": {"EO", "OA", "JW"},
        "BareToAll": {"EO", "CO", "OA"},
        "Cross": {"OA"},
        "EarlyJoin": {"EO", "JW"},
        "DoubleConsume": {"EO", "CO"},
    },
    "FanOut": {
        "RetrySuperstep": {"EO", "SR"},
        "RetryReplay": {"EO", "SR"},
        "CrashSuperstep": {"EO", "SD"},
        "CrashReplay": {"EO", "SD"},
    },
}
EACH = [(module, fault) for module, faults in BREAKS.items() for fault in faults]
SYSTEM = {
    "TwoGates": "reference",
    "ParallelGates": f"{COMPOSED}:Gates",
    "FanOut": f"{COMPOSED}:FanOut",
}


@pytest.mark.parametrize(("module", "fault"), EACH)
def test_a_switch_breaks_nothing_else(labs, module, fault):
    """The other properties hold in every state of the faulty machine."""
    lab = labs(module)
    (model,) = {part.model for part in lab.parts.values()}
    kept = [r.invariant for n, r in lab.spec.properties.items() if n not in BREAKS[module][fault]]
    config = lab.spec.model(model).config.with_constants({f"Fault{fault}": True})
    result = check(lab.spec.path, config.with_invariants(*kept), **lab.checker)
    assert (result.outcome, result.complete) == (Outcome.HOLDS, True)


@pytest.mark.parametrize("module", BREAKS)
def test_a_plane_without_a_fault_conforms_on_every_transition(labs, module):
    found = labs(module).replay(SYSTEM[module])
    (result,) = found.parts
    assert found.conforms
    assert violated(result, labs(module).spec) == set()
    assert len(result.covered) == result.transitions
    assert all(result.judgement.provoked.values())
    assert result.inapplicable == 0


@pytest.mark.parametrize(("module", "fault"), EACH)
def test_a_fault_is_found_and_explained(labs, module, fault):
    found = labs(module).replay(SYSTEM[module], fault=fault)
    (result,) = found.parts
    assert result.explanation.smallest == ((f"Fault{fault}",),)
    assert violated(result, labs(module).spec) == BREAKS[module][fault]


# -- gates in sequence ---------------------------------------------------------------------


def test_a_workflow_names_one_gate_or_several():
    assert gated_tasks({"tasks": 3, "gate": 2}) == (2,)
    assert gated_tasks({"tasks": 5, "gates": [4, 2]}) == (2, 4)
    assert gated_tasks({"capacity": 2}) == ()


def test_the_gate_of_a_run_is_the_one_it_stands_at_or_comes_to_next(labs, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    run = Primary(labs("TwoGates").spec, tasks=5, gates=(2, 4), ledger=ledger)
    seen = []
    for task in range(1, 6):
        run.task = task
        seen.append(run.gate)
    assert seen == [2, 2, 4, 4, 4]
    run.task, run.at, run.answers[2] = 3, "held", ("Consume", {"v": "v1"})
    assert run.answer is None  # of the gate ahead
    run.task, run.at = 4, "parked"
    assert run.point == (4, True)
    ledger.close()


@langgraph
@pytest.mark.parametrize("subgraph", ["no", "first"])
@pytest.mark.parametrize(
    ("adapter", "chosen", "fails", "explained"),
    [
        ("langgraph", {}, {"FD"}, "FaultForkIgnore"),
        ("langgraph-remit", {"intent": "flag"}, set(), None),
    ],
)
def test_two_gates_compose(labs, adapter, chosen, fails, explained, subgraph):
    """Paper, probe 138; with the first gate in a checkpointed subgraph, probe 155."""
    if adapter == "langgraph-remit":
        pytest.importorskip("remit")
    lab = labs("TwoGates")
    found = lab.replay(adapter, subgraph=subgraph, **chosen)
    (result,) = found.parts
    assert violated(result, lab.spec) == fails
    assert result.explanation.smallest == ((explained,) if explained else (),)
    assert result.inapplicable == 0
    assert all(result.judgement.provoked.values())


@langgraph
def test_a_session_that_restarts_between_the_gates(host_of):
    run = Run(host_of(tasks=5, gates=(2, 4))).park().call("Consume", v="first")
    run.until(3).kill()
    run.recover().until(4).go()
    assert (run.at, run.seen["pc"], run.seen["consumedVal"]) == ("parked", 4, "first")
    run.kill()
    run.call("CrashWhileParked")
    assert (run.at, run.seen["pc"]) == ("parked", 4)
    run.consume("second").finish()
    values = [(task, value) for task, value, _ in run.effects()]
    assert values == [(1, None), (2, "first"), (3, None), (4, "second"), (5, None)]


@langgraph
def test_recovered_by_the_original_input_both_gates_ask_again(labs):
    lab = labs("TwoGates")
    (result, *_) = lab.replay("langgraph", recover="resubmit", route="update-state").parts
    assert violated(result, lab.spec) == {"PC", "EO", "CO"}
    assert result.explanation.smallest == (("FaultReplay",),)


# -- a gate in a subgraph ------------------------------------------------------------------


@langgraph
@pytest.mark.parametrize(
    ("route", "outcome", "own"),
    [
        ("command", "v1", [3]),
        ("update-state", "v1", [3]),
        ("replay", "v2", [2, 3]),
        ("within", "v2", [2, 3]),
    ],
)
def test_what_a_fork_of_a_gate_in_a_subgraph_is_served(host_of, route, outcome, own):
    """The plain script below: from the outside, the subgraph is not executed a second time."""
    run = Run(host_of(subgraph="first", route=route)).park().consume("v1").finish()
    branch = run.fork("v2")
    assert (branch["at"], branch["observed"]["outcome"]) == ("complete", [outcome])
    assert [task for task, _, _ in run.effects(branch=2)] == own
    assert (run.seen["outcome"], run.counts()) == (["v1"], [1, 1, 1])


@langgraph
def test_a_route_within_needs_a_subgraph(host_of):
    defaults = {name: option.default for name, option in LangGraph.options.items()}
    assert "subgraph=first" in LangGraph.check_options(defaults | {"route": "within"})
    boundary = {"subgraph": "first", "crash_at": "boundary"}
    assert "crash_at=body" in LangGraph.check_options(defaults | boundary)
    assert LangGraph.check_options(defaults | {"route": "within", "subgraph": "first"}) is None


# -- gates side by side, and a fan-out -----------------------------------------------------


@langgraph
@pytest.mark.parametrize(
    ("chosen", "fails", "explained"),
    [
        ({}, set(), None),
        ({"rest": "bare"}, set(), None),
        ({"saver": "memory"}, set(), None),
        ({"recover": "resubmit"}, {"EO", "OA", "JW"}, "FaultReplay"),
    ],
)
def test_parallel_gates(labs, chosen, fails, explained):
    """Paper, probe 141: a map routes each value to its branch, and a stray map is inert."""
    lab = labs("ParallelGates")
    found = lab.replay("langgraph-parallel-gates", **chosen)
    (result,) = found.parts
    assert violated(result, lab.spec) == fails
    assert result.explanation.smallest == ((explained,) if explained else (),)
    refused = {m.error["type"] for r in result.records for m in r.micro if m.error}
    assert refused == {"RuntimeError"}
    assert all(
        (m.error is not None) == (m.action == "BareResume") for r in result.records for m in r.micro
    )


@langgraph
@pytest.mark.parametrize("retry", ["resume", "resubmit"])
@pytest.mark.parametrize("recover", ["resume", "resubmit"])
def test_a_fan_out_is_kept_by_the_call_that_continues(labs, retry, recover):
    """Paper, probe 141: its contrast is that of retry=resume with recover=resubmit."""
    lab = labs("FanOut")
    (result,) = lab.replay("langgraph-fan-out", retry=retry, recover=recover, repeat=3).parts
    lost = {"SR": retry == "resubmit", "SD": recover == "resubmit"}
    assert violated(result, lab.spec) == {n for n, is_lost in lost.items() if is_lost} | (
        {"EO"} if any(lost.values()) else set()
    )
    assert result.unsteady == ()
    held = [r for r in result.records if r.micro[1].action == "RunHeld" and r.deaths]
    assert len(held) == 2  # either task, killed in its body


# -- LangGraph without mbt -----------------------------------------------------------------

THREAD = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}


def latest(_old, new):
    return new


class Plain(TypedDict, total=False):
    log: Annotated[list, operator.add]
    answer: Annotated[str, latest]


@pytest.fixture
def plain():
    """Build a graph whose nodes write down what they did, by their number and whether they ask."""
    pytest.importorskip("langgraph")
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import StateGraph
    from langgraph.types import interrupt

    did = []

    def node(number, asks):
        def body(_state):
            answer = interrupt(number) if asks else None
            did.append((number, answer))
            return {"log": [number], **({"answer": answer} if asks else {})}

        return body

    def graph(edges, asking, within=()):
        built = StateGraph(Plain)
        for number in sorted({n for edge in edges for n in edge}):
            body = node(number, number in asking)
            if number in within:
                inner = StateGraph(Plain).add_node("asks", body).set_entry_point("asks")
                body = inner.compile(checkpointer=True)
            built.add_node(str(number), body)
        built.set_entry_point("1")
        for source, target in edges:
            built.add_edge(str(source), str(target))
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        return built.compile(checkpointer=SqliteSaver(connection))

    return graph, did


@langgraph
def test_plain_two_questions_at_once(plain):
    from langgraph.types import Command

    graph, did = plain
    run = graph([(1, 2), (1, 3)], asking={2, 3})
    run.invoke({"log": []}, THREAD)
    ids = {i.value: i.id for task in run.get_state(THREAD).tasks for i in task.interrupts}
    assert set(ids) == {2, 3}
    with pytest.raises(RuntimeError):
        run.invoke(Command(resume="whose?"), THREAD)
    run.invoke(Command(resume={ids[2]: "left"}), THREAD)
    state = run.get_state(THREAD)
    assert state.next == ("3",)
    # What was answered is still shown among the questions.
    assert {i.value for task in state.tasks for i in task.interrupts} == {2, 3}
    run.invoke(Command(resume={ids[2]: "again"}), THREAD)
    run.invoke(Command(resume={ids[3]: "right"}), THREAD)
    run.invoke(Command(resume={ids[2]: "stray", ids[3]: "stray"}), THREAD)
    assert Counter(did) == Counter({(1, None): 1, (2, "left"): 1, (3, "right"): 1})


@langgraph
@pytest.mark.parametrize(("within", "served", "executed"), [((), "v1", [2, 3]), ((2,), "v1", [3])])
def test_plain_a_fork_by_command(plain, within, served, executed):
    from langgraph.types import Command

    graph, did = plain
    run = graph([(1, 2), (2, 3)], asking={2}, within=within)
    run.invoke({"log": []}, THREAD)
    parked = run.get_state(THREAD, subgraphs=True)
    run.invoke(Command(resume="v1"), THREAD)
    did.clear()
    assert run.invoke(Command(resume="v2"), parked.config)["answer"] == served
    assert [number for number, _ in did] == executed
    if within:
        did.clear()
        inside = parked.tasks[0].state.config
        assert run.invoke(Command(resume="v2"), inside)["answer"] == "v2"
        assert did == [(2, "v2"), (3, None)]


@pytest.mark.framework("pydantic-graph")
def test_an_adapter_of_one_gate_says_that_two_are_not_for_it(capsys, tmp_path):
    words = ["replay", "specs/TwoGates.tla", "--adapter", "pydantic-graph"]
    assert main([*words, "--only", "G2-01", "--receipts", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "it needs the workflow's role 'gate', and the module names: tasks, gates" in said
