"""The examples, each by its one command, without and with their planted faults."""

import itertools
import json
import signal
from collections import OrderedDict
from pathlib import Path

import pytest
from pages import run

from mbt import load_spec, read_traces
from tracegen.values import to_python

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUEUE = f"{EXAMPLES}/bounded_queue/BoundedQueue.tla", f"{EXAMPLES}/bounded_queue/python_queue.py"
LEASES = f"{EXAMPLES}/leases/Leases.tla", f"{EXAMPLES}/leases/sqlite_leases.py"
CACHE = f"{EXAMPLES}/lru_cache/LruCache.tla", f"{EXAMPLES}/lru_cache/python_cache.py"
CLASSES = {QUEUE: "PythonQueue", LEASES: "SqliteLeases", CACHE: "PythonCache"}


def replay(folder, example, *words):
    """Replay an example; return the exit code and the receipt."""
    spec, adapter = example
    more = " ".join(words)
    done = run(folder, f"mbt replay {spec} --adapter {adapter}:{CLASSES[example]} --json {more}")
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def graph(folder, example):
    done = run(folder, f"mbt graph {example[0]} --model {next(iter(load(example).models))} --json")
    return json.loads(done.stdout)


def load(example):
    return load_spec(Path(example[0]))


def verdicts(receipt):
    return {name: rule["verdict"] for name, rule in receipt["properties"].items()}


def sentences(receipt):
    return {found["sentence"] for part in receipt["parts"] for found in part["divergences"]}


@pytest.mark.parametrize("example", CLASSES)
def test_an_adapter_is_short_and_its_models_are_typed_and_expected_to_come_out(example):
    assert len(Path(example[1]).read_text().splitlines()) < 60
    text = Path(example[0]).read_text()
    declared = load(example).source.constants + load(example).source.variables
    assert text.count("@type") >= len(declared)
    assert all(model.expect for model in load(example).models.values())
    checked = run(Path.cwd(), f"mbt check {example[0]}")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("example", "transitions"),
    # The queue: see below. The cache: 3 keys in each of the 43 states with calls left.
    [(QUEUE, 64), (LEASES, 451), (CACHE, 3 * (1 + 3 + 9 + 15 + 15))],
)
def test_the_real_thing_conforms_and_takes_every_transition(tmp_path, example, transitions):
    code, receipt = replay(tmp_path, example)
    assert code == 0
    (part,) = receipt["parts"]
    assert part["covered"] == part["transitions"] == transitions
    assert part["divergences"] == [] and part["unobserved"] == {}
    assert set(verdicts(receipt).values()) == {"holds"}
    assert receipt["second_pass"] == []


# -- a bounded queue --------------------------------------------------------------------


def test_the_queues_graph_has_the_size_that_a_formula_says(tmp_path):
    """A state is a word of length n <= 3 over two items, and how many of them are still in."""
    held = [(n, size) for n in range(4) for size in range(min(n, 2) + 1)]
    found = graph(tmp_path, QUEUE)
    assert found["states"] == sum(2**n for n, _ in held) == 41
    assert found["by_action"] == {
        "Put": sum(2 ** (n + 1) for n, size in held if n < 3 and size < 2),
        "Overfill": sum(2**n for n, size in held if size == 2),
        "Get": sum(2**n for n, size in held if size > 0),
    }
    assert found["by_action"] == {"Put": 26, "Overfill": 12, "Get": 26}


def test_a_stack_is_no_queue(tmp_path):
    code, receipt = replay(tmp_path, QUEUE, "--option kind=LifoQueue")
    assert code == 1
    assert verdicts(receipt) == {"IO": "violated", "BD": "holds"}
    # Put(a), Put(b), Get, or the same with the items exchanged.
    for one, other in itertools.permutations("ab"):
        expected = f'the model has taken = <<"{one}">>; the system showed taken = <<"{other}">>'
        assert f"after Get {expected}" in sentences(receipt)


def test_a_queue_without_a_bound_is_overfilled(tmp_path):
    code, receipt = replay(tmp_path, QUEUE, "--option kind=SimpleQueue")
    assert code == 1
    assert verdicts(receipt) == {"IO": "holds", "BD": "violated"}
    assert sentences(receipt) == {
        "after Overfill the model has size = 2; the system showed size = 3"
    }


# -- a cache ----------------------------------------------------------------------------


def test_the_caches_graph_has_the_size_that_the_tutorial_counts(tmp_path):
    assert graph(tmp_path, CACHE)["states"] == 1 + 3 + 9 + 15 + 15 + 15


def hits(keys, *, fifo):
    """Which of some calls of a cache of two are hits."""
    kept, found = OrderedDict(), []
    for key in keys:
        found.append(key in kept)
        if key in kept and not fifo:
            kept.move_to_end(key)
        elif key not in kept:
            if len(kept) == 2:
                kept.popitem(last=False)
            kept[key] = None
    return found


def differ(keys):
    return hits(keys, fifo=True) != hits(keys, fifo=False)


def test_first_in_first_out_is_found_in_the_traces_that_tell_it_apart(tmp_path):
    file = tmp_path / "calls.jsonl"
    run(tmp_path, f"mbt traces {CACHE[0]} -o calls.jsonl")
    calls = {
        trace.name: [str(step.params["k"]) for step in trace.steps] for trace in read_traces(file)
    }
    code, receipt = replay(tmp_path, CACHE, "--option fault=fifo")
    assert code == 1
    assert verdicts(receipt) == {"BD": "holds"}
    (part,) = receipt["parts"]
    found = {divergence["trace"]: divergence for divergence in part["divergences"]}
    assert found and set(found) == {name for name, keys in calls.items() if differ(keys)}
    for divergence in found.values():
        assert divergence["step"] == 4 and divergence["differences"][0]["variable"] == "last"
    assert receipt["explanation"]["smallest"] == [["FaultFifo"]]


def test_twelve_of_all_sequences_of_five_calls_tell_the_caches_apart(tmp_path):
    """x y x z x and x y x z y, with x and y any two of three keys."""
    assert sum(map(differ, itertools.product("abc", repeat=5))) == 6 * 2
    code, receipt = replay(tmp_path, CACHE, "--option fault=fifo --cover paths")
    assert code == 1
    (part,) = receipt["parts"]
    assert (part["traces"], len(part["divergences"])) == (3**5, 12)


# -- leases -----------------------------------------------------------------------------


def leases_by_hand():
    """All states and steps of the leases, from the rules in words, without the module."""
    clients, term, end = "ab", 2, 2
    initial = (0, ("nobody", 0, 0), (0, 0), ("nobody", 0))

    def answered(state, client, row):
        now, _, until, _ = state
        told = row[2] if row else 0
        belief = (told, until[1]) if client == "a" else (until[0], told)
        return (now, row or state[1], belief, (client, row[1] if row else 0))

    def steps(state):
        now, (owner, token, expires), until, _ = state
        for client in clients:
            free, own = expires <= now, owner == client
            yield answered(state, client, (client, token + 1, now + term) if free else None)
            yield answered(state, client, (owner, token, now + term) if own and not free else None)
        if now < end:
            yield (now + 1, state[1], until, ("nobody", 0))
        yield (now, state[1], (0, 0), ("nobody", 0))  # a crash

    seen, fresh, taken = {initial}, [initial], 0
    while fresh:
        after = list(steps(fresh.pop()))
        taken += len(after)
        fresh += {*after} - seen
        seen |= {*after}
    return len(seen), taken


def test_the_leases_graph_has_the_size_that_the_rules_give(tmp_path):
    found = graph(tmp_path, LEASES)
    assert leases_by_hand() == (found["states"], found["transitions"]) == (83, 451)


def test_a_lease_outlives_each_of_the_processes_that_were_killed(tmp_path):
    code, receipt = replay(tmp_path, LEASES, "--model no-commit")
    assert (code, verdicts(receipt)) == (0, {"ME": "holds", "BK": "holds"})
    (file,) = (tmp_path / "receipts").rglob("runs.jsonl")
    (record,) = map(json.loads, file.read_text().splitlines())
    assert record["deaths"] == [{"process": 1, "step": 1, "form": "kill", "status": signal.SIGKILL}]
    acquired, crashed = record["micro"][1:]
    assert acquired["changed"]["row"] == {"owner": "a", "token": 1, "expires": 2}
    assert crashed["process"] == 2
    assert crashed["changed"] == {
        "until": {"a": 0, "b": 0},  # nobody remembers
        "reply": {"to": "nobody", "token": 0},
    }


def test_a_kill_shows_that_nothing_was_committed(tmp_path):
    code, receipt = replay(tmp_path, LEASES, "--model no-commit --option fault=no-commit")
    assert code == 1
    assert sentences(receipt) == {
        'after Crash the model has row = [expires |-> 2, owner |-> "a", token |-> 1]; '
        'the system showed row = [expires |-> 0, owner |-> "nobody", token |-> 0]'
    }
    assert receipt["explanation"]["smallest"] == [["FaultNoCommit"]]


def test_a_renewal_by_anyone_breaks_mutual_exclusion(tmp_path):
    code, receipt = replay(tmp_path, LEASES, "--model any-owner --option fault=any-owner")
    assert code == 1
    assert verdicts(receipt) == {"ME": "violated", "BK": "violated"}
    assert sentences(receipt) == {
        "after Renew the model has until = [a |-> 2, b |-> 0] and "
        'reply = [to |-> "b", token |-> 0]; the system showed until = [a |-> 2, b |-> 2] and '
        'reply = [to |-> "b", token |-> 1]'
    }
    assert receipt["explanation"]["smallest"] == [["FaultAnyOwner"]]


def first_late_renewal(trace):
    """The step at which the owner of a lease that is over, and was not taken, renews it."""
    before = trace.initial
    for number, step in enumerate(trace.steps):
        now, row = to_python(before["now"]), to_python(before["row"])
        late = step.action == "Renew" and row["expires"] <= now
        if late and to_python(step.params["c"]) == row["owner"]:
            return number
        before = step.state
    return None


def test_a_late_renewal_diverges_where_it_is_made_and_violates_nothing(tmp_path):
    run(tmp_path, f"mbt traces {LEASES[0]} --model two -o tour.jsonl")
    late = {trace.name: first_late_renewal(trace) for trace in read_traces(tmp_path / "tour.jsonl")}
    at, name = min((at, name) for name, at in late.items() if at is not None)
    code, receipt = replay(tmp_path, LEASES, f"--option fault=any-time --only {name}")
    assert code == 1
    assert verdicts(receipt) == {"ME": "holds", "BK": "holds"}
    (divergence,) = receipt["parts"][0]["divergences"]
    assert (divergence["step"], divergence["action"]) == (at, "Renew")
    assert receipt["explanation"]["smallest"] == [["FaultAnyTime"]]
