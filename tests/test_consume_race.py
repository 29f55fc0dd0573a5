"""ConsumeRace: counted anew, its schedules replayed, and no verdict that depends on time."""

import json
import random
import shutil
import time
from collections import deque
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import Lab, violated

from adapters.host import Process
from adapters.registry import load_adapter, locate
from mbt.cli import mbt
from replay.lives import Conduct
from replay.parallel import Drivers
from replay.receipts import run_data
from tracegen.errors import MbtError

langgraph = pytest.mark.framework("langgraph")
TWO, THREE, FOUR = (
    "two, every interleaving",
    "three, every interleaving",
    "four, every transition",
)
BARE = {"fault": "ConcurrentConsume,RaceEffect"}


@pytest.fixture(scope="module")
def race():
    return Lab("ConsumeRace")


# --- the model, written a second time


def steps(state, deliveries, swap):
    """What can happen next: (late, consumed, refused, in time, early, last) -> such states."""
    late, consumed, refused, timely, early, _ = state
    for r in deliveries:
        if r not in late | timely:
            if consumed:
                yield (late | {r}, consumed, refused, timely, early, r)
            else:
                yield (late, consumed, refused, timely | {r}, early, r)
        elif r in timely - consumed - refused:
            first = not (consumed | refused) & timely
            now = timely if first else early
            if not (swap and consumed):
                yield (late, consumed | {r}, refused, timely, now, r)
            if swap and (consumed or timely - consumed - refused - {r}):
                yield (late, consumed, refused | {r}, timely, now, r)


def explored(number, swap):
    """Every state with its distance from the first one, and how many successors there are."""
    deliveries = range(1, number + 1)
    first = (*[frozenset()] * 5, 0)
    distance, generated, waiting = {first: 0}, 1, deque([first])
    while waiting:
        state = waiting.popleft()
        for following in steps(state, deliveries, swap):
            generated += 1
            if following not in distance:
                distance[following] = distance[state] + 1
                waiting.append(following)
    return distance, generated


def nearest(distance, fails):
    """States of the shortest counterexample, None where there is none."""
    return min((far + 1 for state, far in distance.items() if fails(state)), default=None)


@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("swap", [True, False])
def test_the_state_counts_are_those_of_an_enumeration_by_hand(race, number, swap):
    distance, generated = explored(number, swap)
    expect = race.spec.models[f"K{number}" if swap else f"K{number}-bare-clean"].expect
    assert (len(distance), generated) == (expect.distinct, expect.generated)
    twice = nearest(distance, lambda state: len(state[1]) > 1)
    assert twice == (None if swap else 5)
    broken = race.spec.models[f"K{number}-bare"].expect
    assert (broken.property, broken.states) == ("ConsumeOnceCount", 5)


@pytest.mark.parametrize("number", [2, 3, 4])
def test_without_a_swap_those_consume_that_had_read_before_the_first_write(number):
    everyone = set(range(1, number + 1))
    for late, consumed, refused, _, early, _ in explored(number, swap=False)[0]:
        assert consumed <= early
        if late | consumed | refused == everyone:
            assert consumed == early


def schedules(number):
    """Every order of reads and writes; a delivery that reads after a write writes no more."""

    def go(done):
        wrote = any(kind == "Write" for kind, _ in done)
        begun = {r: at for at, (kind, r) in enumerate(done) if kind == "Read"}
        first = next((at for at, (kind, _) in enumerate(done) if kind == "Write"), len(done))
        moves = [("Read", r) for r in range(1, number + 1) if r not in begun]
        moves += [
            ("Write", r) for r, at in begun.items() if at < first and ("Write", r) not in done
        ]
        assert wrote == (first < len(done))
        if not moves:
            yield tuple(done)
        for move in moves:
            yield from go([*done, move])

    return set(go([]))


@pytest.mark.parametrize(("part", "number", "count"), [(TWO, 2, 6), (THREE, 3, 66)])
def test_the_suite_holds_every_interleaving(race, part, number, count):
    walked = [
        tuple((step.action, int(str(step.params["r"]))) for step in trace.steps)
        for trace in race.parts[part].traces
    ]
    assert len(walked) == count
    assert set(walked) == schedules(number)


def test_the_tour_of_four_deliveries_covers_every_transition(race):
    """A transition of the enumeration by hand: the state before, and what happens there."""
    wanted = {
        (before, following[-1], following)
        for before in explored(4, swap=False)[0]
        for following in steps(before, range(1, 5), False)
    }
    taken = set()
    for trace in race.parts[FOUR].traces:
        at = (*[frozenset()] * 5, 0)
        for step in trace.steps:
            r = int(str(step.params["r"]))
            (following,) = (s for s in steps(at, [r], False))
            taken.add((at, r, following))
            at = following
    assert len(wanted) == 564
    assert taken == wanted


# --- the schedules, on systems


def explained(found):
    return [found.explanation.name(faults) for faults in found.explanation.smallest]


def early_and_late(trace):
    """How many deliveries of a schedule read before the first write, and how many after."""
    kinds = [step.action for step in trace.steps]
    first = kinds.index("Write")
    return kinds[:first].count("Read"), kinds[first:].count("Read")


def some(part, step):
    """A part of the suite with every so many of its traces; the receipts hold all of them."""
    return replace(part, traces=part.traces[::step])


@pytest.mark.parametrize(
    ("adapter", "chosen", "step"),
    [("reference", BARE, 1), pytest.param("langgraph", {}, 3, marks=langgraph)],
    ids=["reference", "langgraph"],
)
def test_without_a_swap_each_that_read_in_time_consumes_and_fires(race, adapter, chosen, step):
    chosen_parts = [TWO, some(race.parts[THREE], step)]
    found = race.replay(adapter, parts=chosen_parts, again=False, **chosen)
    for result in found.parts:
        assert violated(result, race.spec) == {"CO-c", "CO-e"}
        racing = {t.name for t in result.part.traces if early_and_late(t)[0] > 1}
        assert {*result.diverging} == racing
        for trace, record in zip(result.part.traces, result.records, strict=True):
            early, late = early_and_late(trace)
            assert [row.task for row in record.ledger].count(2) == early
            kinds = [event.kind for micro in record.micro for event in micro.events]
            assert (kinds.count("write"), kinds.count("late")) == (early, late)
            assert record.inapplicable == {}
    assert explained(found) == ["no compare-and-swap"]
    assert found.cell("SV") == "holds"


def test_a_swap_at_the_write_refuses_all_but_the_first_to_write(race):
    found = race.replay("reference", parts=[TWO, THREE])
    assert found.conforms
    assert explained(found) == ["compare-and-swap"]
    assert {found.cell(name) for name in race.spec.properties} == {"holds"}
    for result in found.parts:
        for trace, record in zip(result.part.traces, result.records, strict=True):
            writes = [micro for micro in record.micro if micro.action == "Write"]
            early, _ = early_and_late(trace)
            assert writes[0].error is None
            refused = [micro.error["type"] for micro in writes[1:]]
            assert refused == ["AlreadyConsumed"] * (early - 1)


@langgraph
def test_a_claim_at_the_read_refuses_all_but_the_first_to_read(race):
    """remit's gate across processes: nobody but the first to read comes as far as a node."""
    parts = [TWO, some(race.parts[THREE], 3)]
    found = race.replay("langgraph-remit", parts=parts, process_gate="on")
    assert found.conforms
    assert explained(found) == ["compare-and-swap"]
    assert {found.cell(name) for name in race.spec.properties} == {"holds"}
    refusal = "Read was refused, before any task was entered: RemitConsumeConflict"
    for result in found.parts:
        for trace, record in zip(result.part.traces, result.records, strict=True):
            first = next(micro for micro in record.micro if micro.action == "Read")
            (fired,) = [row for row in record.ledger if row.task == 2]
            assert fired.process == first.process
            racing = early_and_late(trace)[0] > 1
            assert (refusal in record.facts) == racing


def test_four_deliveries_race_as_the_model_says(race):
    found = race.replay("reference", parts=[some(race.parts[FOUR], 8)], again=False, **BARE)
    (result,) = found.parts
    assert violated(result, race.spec) == {"CO-c", "CO-e"}
    assert explained(found) == ["no compare-and-swap"]
    for trace, record in zip(result.part.traces, result.records, strict=True):
        wrote = [step.action for step in trace.steps].count("Write")
        assert [row.task for row in record.ledger].count(2) == wrote


@langgraph
def test_on_postgres_two_deliveries_fire_twice(race):
    found = race.replay("langgraph", parts=[TWO], saver="postgres")
    assert violated(found.parts[0], race.spec) == {"CO-c", "CO-e"}
    assert explained(found) == ["no compare-and-swap"]


@pytest.mark.framework("crewai")
def test_on_crewai_who_loaded_the_question_in_time_fires(race):
    """And a load after the other's release is refused."""
    found = race.replay("crewai", parts=[TWO])
    assert explained(found) == ["no compare-and-swap"]
    for trace, record in zip(found.parts[0].part.traces, found.parts[0].records, strict=True):
        early, late = early_and_late(trace)
        assert [row.task for row in record.ledger].count(2) == early
        refused = "Read after a consumption was refused: ValueError" in record.facts
        assert refused == bool(late)


@pytest.mark.framework("agents")
def test_a_late_delivery_that_is_let_in_is_explained_by_neither(race):
    """OpenAI Agents SDK: until the first run stops, the newest state is that of the parked run."""
    found = race.replay("openai-agents", parts=[TWO], again=False)
    assert explained(found) == []
    for trace, record in zip(found.parts[0].part.traces, found.parts[0].records, strict=True):
        assert [row.task for row in record.ledger].count(2) == 2
        let_in = "Read after a consumption was let in" in record.facts
        assert let_in == (early_and_late(trace) == (1, 1))


@langgraph
def test_what_holds_no_delivery_is_inapplicable_with_the_reason(race):
    found = race.replay("langgraph", parts=[TWO], saver="memory")
    reasons = {reason for r in found.parts[0].records for reason in r.inapplicable.values()}
    assert reasons == {
        "a store in the run's own process has no second consumer",
        "the delivery did not come in time",
    }
    assert {found.cell(name) for name in race.spec.properties} == {"not provoked"}


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ('tester = { r = "last" }\nneeds', "needs", "actions.Read: a step of one of several"),
        ('tester = { r = "last" }\nneeds', 'tester = { r = "waiting" }\nneeds', "Read: a delivery"),
    ],
)
def test_a_delivery_without_its_number_is_refused(race, tmp_path, written, instead, message):
    for path in race.spec.path.parent.glob("ConsumeRace*"):
        shutil.copy(path, tmp_path)
    toml = tmp_path / "ConsumeRace.toml"
    toml.write_text(toml.read_text().replace(written, instead))
    words = [str(tmp_path / "ConsumeRace.tla"), "--adapter", "reference", "--model", "K2"]
    result = CliRunner().invoke(mbt, ["replay", *words, "--receipts", str(tmp_path / "receipts")])
    assert isinstance(result.exception, MbtError)
    assert message in str(result.exception)


# --- time


def line(record):
    """What of a record goes into the stable part of a receipt."""
    return json.dumps(run_data(THREE, record))


@pytest.mark.parametrize(
    ("adapter", "chosen"),
    [("reference", BARE), pytest.param("langgraph", {}, marks=langgraph)],
    ids=["reference", "langgraph"],
)
def test_no_verdict_depends_on_time(race, adapter, chosen, monkeypatch):
    """Random delays at every call and every gate, and the stable receipt is the same.

    Every schedule of two deliveries and of three.
    """
    traces = [*race.parts[TWO].traces, *race.parts[THREE].traces]
    assert len(traces) == 6 + 66
    conduct = Conduct.of(load_adapter(locate(adapter)), race.options(adapter, **chosen))
    ask = Process.ask

    def walked():
        """Each schedule on a host of its workflow; the lines of their records."""
        lines = []
        for part in (TWO, THREE):
            traces = race.parts[part].traces
            workflow = race.spec.workflow_of(traces[0].model)
            reference = locate(adapter)
            with Drivers(reference, workflow, conduct, jobs=2, fresh=False, limit=60) as drivers:
                lines += map(line, drivers.replay(race.spec, traces, lambda: None))
        return lines

    usual = walked()
    assert len({*usual}) > 6

    @settings(max_examples=2, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 2**32 - 1))
    def one(seed):
        delays = random.Random(seed)

        def slowly(process, message):
            if message["op"] in {"release", "call"}:
                time.sleep(delays.uniform(0, 0.02))
            return ask(process, message)

        with monkeypatch.context() as patched:
            patched.setattr(Process, "ask", slowly)
            assert walked() == usual

    one()
