"""Kill points: a process is killed with exactly so many operations durable, and what that repeats.

What is expected of LangGraph stands in the paper (probes 160, 163, 136), or was printed by a script
without mbt: a checkpointer whose class writes down each call, over the same three tasks.
"""

import asyncio
import copy
import importlib.util
import json
import sqlite3
import threading
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from adapters.barrier import EFFECT, OPERATION, Barrier
from adapters.langgraph_barrier import Submissions
from mbt.cli import main
from replay.stops import until
from replay.sweeps.kill_order import first_task, recover_log
from replay.sweeps.kill_page import page
from replay.sweeps.kill_points import figures, problems, repeated
from replay.sweeps.kill_sweep import Sweep, check_oracle, station, sweep_points

RECEIPTS = Path(__file__).parent.parent / "receipts"
# What a plain SqliteSaver wrote down: three tasks, the second one asks. Five checkpoints; of the
# writes, a row a channel: eleven.
OPERATIONS = [
    "put(input -1)",
    "put_writes(branch:to:t1, log)",
    "put(loop 0)",
    "put_writes(branch:to:t2, log)",
    "put(loop 1)",
    "put_writes(__interrupt__)",
    "put_writes(__resume__)",
    "put_writes(__resume__, branch:to:t3, consumed, log)",
    "put(loop 2)",
    "put_writes(log)",
    "put(loop 3)",
]
langgraph = pytest.mark.framework("langgraph")


def quiet(*_):
    pass


@pytest.fixture(scope="module")
def lab_bench():
    """A host of LangGraph over SQLite."""
    if importlib.util.find_spec("langgraph") is None:
        pytest.skip("langgraph is not installed")
    with station(Sweep("langgraph", {})) as bench:
        yield bench


@pytest.fixture(scope="module")
def kept():
    """The committed receipt."""
    return json.loads((RECEIPTS / "studies" / "kill-points.json").read_text())


def sweep_of(kept, adapter, tasks=3, **options):
    (found,) = (
        sweep
        for sweep in kept["sweeps"]
        if (sweep["adapter"], sweep["options"], sweep["tasks"]) == (adapter, options, tasks)
    )
    return found


# -- the barrier ---------------------------------------------------------------------------


@langgraph
@pytest.mark.parametrize("number", [1, 4, 8, 10])
def test_a_process_is_killed_with_exactly_so_many_operations_durable(lab_bench, number):
    """Read with SQLite alone, after the kill and before anyone opens the store to recover."""
    with lab_bench.life() as life:
        left = iter(range(number - 1, -1, -1))
        passed = until(life, lambda stop: stop.kind == OPERATION and next(left) == 0)
        assert life.kill() == 9
        with closing(sqlite3.connect(life.folder / "langgraph.db")) as store:
            checkpoints = store.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
            writes = store.execute("SELECT count(*) FROM writes").fetchone()[0]
        names = [stop.name for stop in passed if stop.kind == OPERATION]
        assert names == OPERATIONS[:number]
        assert checkpoints == sum(name.startswith("put(") for name in names)
        assert writes == sum(name.count(",") + 1 for name in names if "put_writes" in name)


@langgraph
def test_a_run_that_is_let_go_stops_at_each_operation_and_around_each_effect(lab_bench):
    with lab_bench.life() as life:
        course = list(life.stops())
        rows = [(row.task, row.value, row.process) for row in life.ledger()]
    assert [stop.name for stop in course if stop.kind == OPERATION] == OPERATIONS
    names = [stop.name for stop in course]
    for task, before, after in ((1, 2, 3), (2, 6, 7), (3, 8, 9)):
        first = names.index(f"t{task}")
        assert names[first - 1 : first + 3] == [
            OPERATIONS[before],
            f"t{task}",  # about to fire
            f"t{task}",  # fired
            OPERATIONS[after],
        ]
    assert rows == [(1, None, 1), (2, "v1", 1), (3, None, 1)]


def test_operations_and_effects_wait_for_whoever_is_stopped():
    stopped, let_go, order = threading.Event(), threading.Event(), []

    def stop(kind, name):
        order.append((kind, name))
        if name == "first":
            stopped.set()
            assert let_go.wait(30)

    barrier = Barrier(stop)

    def first():
        with barrier.operation("first"):
            pass

    def second():
        with barrier.effect(1):
            order.append("fired")

    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    assert stopped.wait(30)
    other.start()
    assert order == [(OPERATION, "first")]
    let_go.set()
    one.join(30)
    other.join(30)
    assert order[1:] == [("before effect", "t1"), "fired", (EFFECT, "t1")]


def test_methods_plain_and_async_stop_after_what_they_do():
    done = []

    class Store:
        def save(self, name):
            done.append(name)

        async def store(self, name):
            done.append(name)

        @asynccontextmanager
        async def span(self, name):
            done.append(f"enter {name}")
            yield
            done.append(f"leave {name}")

    store, barrier = Store(), Barrier(lambda kind, name: done.append((kind, name)))
    barrier.guard(store, save=lambda name: f"save({name})", store=None)
    barrier.guard_span(store, "span", "begins", "ends")

    async def use():
        store.save("a")
        await store.store("b")
        async with store.span("c"):
            done.append("inside")

    asyncio.run(use())
    assert done == [
        "a",
        (OPERATION, "save(a)"),
        "b",
        (OPERATION, "store"),
        "enter c",
        (OPERATION, "begins"),
        "inside",
        "leave c",
        (OPERATION, "ends"),
    ]


def test_operations_are_performed_in_the_order_submitted():
    """The executor starts the second one first, which then waits for its turn."""

    class Pool:
        def __init__(self):
            self.calls = []

        def submit(self, call, *arguments):
            self.calls.append(lambda: call(*arguments))

    done, names = [], []
    order = Submissions(names)
    order.watch(Pool)

    class Saver:
        def put(self, what):
            done.append(what)

        def put_writes(self, what):
            done.append(what)

    saver, pool = Saver(), Pool()
    saver.put = order.in_turn(saver.put)
    saver.put_writes = order.in_turn(saver.put_writes)
    pool.submit(lambda method, what: method(what), saver.put_writes, "writes")
    pool.submit(lambda method, what: method(what), str.upper, "a body")
    pool.submit(lambda method, what: method(what), saver.put, "checkpoint")
    early = threading.Thread(target=pool.calls[2])
    early.start()
    early.join(0.2)
    assert (done, early.is_alive()) == ([], True)
    pool.calls[1]()
    pool.calls[0]()
    early.join(30)
    assert done == ["writes", "checkpoint"]
    assert names == ["put_writes", "put"]


# -- what is measured ----------------------------------------------------------------------


@langgraph
def test_after_the_input_is_sent_again_all_four_boundaries_repeat_and_recover():
    """Paper, probe 160: put, three put_writes, put; all four incomplete boundaries repeat."""
    sweep = sweep_points(
        Sweep("langgraph-functional", {"recover": "resubmit"}, tasks=2, gate=0), quiet
    )
    kinds = [step["name"].partition("(")[0] for step in sweep["operations"]]
    assert kinds == ["put", "put_writes", "put_writes", "put_writes", "put"]
    told = figures(sweep)
    assert (told["boundaries"], told["boundaries that repeat"]) == (4, 4)
    assert told["boundaries that recover"] == 4
    assert [point["decision"] for point in sweep["points"]] == [1] * 7


@langgraph
def test_the_ledger_tells_a_durable_write_from_a_missing_one():
    """Paper, probe 163: 0, 1 and 1 at the crash, and only the middle one fires twice."""
    rows = check_oracle(Sweep("langgraph", {"recover": "resume"}), quiet)
    counted = [
        (
            row["task"],
            sum(task == row["task"] for task, _, _ in row["crash"]),
            sum(task == row["task"] for task, _, _ in row["ledger"]),
        )
        for row in rows
    ]
    assert counted == [
        (task, crash, end) for task in (1, 2, 3) for crash, end in ((0, 1), (1, 2), (1, 1))
    ]


@langgraph
@pytest.mark.parametrize(("order", "again"), [("submitted", [2, 3]), ("deferred", [1, 2, 3])])
def test_a_recovery_depends_on_the_order_of_writes_amid_a_fan_out(order, again):
    """Run without mbt as well: invoke(None) runs s2 with the writes kept, s1 and s2 without."""
    row = recover_log("fan-out, one done", order, "resume")
    assert row["submitted"] == ["put", "put_writes", "put", "put_writes"]
    assert sorted(task for task, _, process in row["ledger"] if process == 2) == again
    assert first_task(row) == again[0]
    assert row["end"] == "complete"
    stored = {"submitted": ["put_writes", "put", "put_writes"], "deferred": ["put", "put_writes"]}
    assert [name.partition("(")[0] for name in row["stored"]] == ["put", *stored[order]]


# -- the committed receipt -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "options"),
    [
        ("langgraph", {"recover": "resume"}),
        ("langgraph", {"saver": "postgres", "recover": "resume"}),
        ("langgraph-functional", {"recover": "resume"}),
        ("langgraph-remit", {"recover": "resume"}),
        ("dbos", {}),
    ],
)
def test_what_was_durable_is_not_done_again(kept, adapter, options):
    """Measured by hand, at 7 kill points of the graph API, 5 of the functional API, and on DBOS."""
    told = sweep_of(kept, adapter, **options)["figures"]
    assert told["kills at an operation that repeat"] == 0
    assert told["kills at an effect that repeat"] == 3
    assert told["boundaries that recover"] == told["boundaries"]


@pytest.mark.parametrize("saver", [{}, {"saver": "postgres"}])
def test_the_input_sent_again_repeats_whatever_had_fired(kept, saver):
    sweep = sweep_of(kept, "langgraph", **saver, recover="resubmit")
    assert [step["name"] for step in sweep["operations"]] == OPERATIONS
    for point in sweep["points"]:
        assert repeated(point) == [task for task, _, process in point["ledger"] if process == 1]
    assert sweep["figures"]["boundaries that repeat"] == 8  # all but the two before t1 is entered


def test_crewai_begins_again_whatever_was_stored(kept):
    """Paper: a re-kick repeats all effects."""
    sweep = sweep_of(kept, "crewai")
    assert {point["decision"] for point in sweep["points"]} == {1}
    assert sweep["figures"]["boundaries that repeat"] == sweep["figures"]["boundaries"] == 5


def test_crewai_goes_on_from_a_checkpoint_unless_its_flow_was_answered(kept):
    """Run by hand: of finished methods alone, in a fresh process, what is done is not repeated.

    A flow made by from_pending knows of no method but the one that asked: from its checkpoints the
    first task runs again.
    """
    plain = sweep_of(kept, "crewai-checkpoint", answer="none", recover="from_checkpoint")
    assert [p["decision"] for p in plain["points"]] == [2, 2, 3, 3, None]
    assert plain["figures"]["kills at an operation that repeat"] == 0
    asked = sweep_of(kept, "crewai-checkpoint", recover="from_checkpoint")
    assert [p["decision"] for p in asked["points"]] == [2, 2, 2, 1, 1, 1, 1, 1]


def test_pydantic_graph_restores_between_nodes_alone(kept):
    """Paper, note c: after a crash in a node iter_from_persistence raises GraphRuntimeError."""
    sweep = sweep_of(kept, "pydantic-graph", recover="restore")
    names = [step["name"] for step in sweep["operations"]]
    complete = {p["durable"] for p in sweep["points"] if p["end"] == "complete"}
    assert {names[number - 1].partition("(")[0] for number in complete} == {
        "snapshot_node",
        "snapshot_node_if_new",
    }
    refused = {p["error"]["type"] for p in sweep["points"] if p["end"] == "refused"}
    assert refused == {"GraphRuntimeError"}
    assert sweep["figures"]["boundaries that repeat"] == 0


def test_the_order_matters_with_invoke_none_and_not_with_the_input(kept):
    found = {}
    for row in kept["order"]:
        found.setdefault((row["case"], row["recover"]), set()).add(row["first"])
    assert found == {
        ("chain", "resume"): {2},
        ("chain", "resubmit"): {1},
        ("fan-out, one done", "resume"): {1, 2},
        ("fan-out, one done", "resubmit"): {1},
        ("fan-out, both done", "resume"): {3},
        ("fan-out, both done", "resubmit"): {1},
    }


def test_nothing_is_wrong_with_what_is_kept(kept):
    assert [*problems(kept)] == []
    assert (RECEIPTS / "studies" / "kill-points.md").read_text() == page(kept)


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (lambda c: c["sweeps"][1]["figures"].update({"kills that recover": 1}), "kills that"),
        (lambda c: c["sweeps"][1]["points"][6].update(repeated=[]), "[] repeated, by the ledger"),
        (lambda c: c["sweeps"][0]["points"][3].update(status=0), "wait status 0, not by SIGKILL"),
        (lambda c: c["sweeps"][0]["points"].pop(0), "there are 11 operations"),
        (lambda c: c["sweeps"][0]["points"][0]["held"].clear(), "the store held [] after the kill"),
        (lambda c: c["sweeps"][0]["points"][5]["ledger"].pop(0), "are not those of the run"),
        (lambda c: c["sweeps"][0]["operations"][0].update(name="put"), "operation 1 is put"),
        (
            lambda c: c["sweeps"][0]["operations"][1].update(
                holds=c["sweeps"][0]["operations"][0]["holds"]
            ),
            "operations 1 and 2 cannot be told apart",
        ),
        (lambda c: c["oracle"][1]["ledger"].pop(), "the oracle on langgraph, t1"),
        (lambda c: c["oracle"][0]["crash"].append([1, None, 1]), "(1, 1) in the ledger"),
        (lambda c: c["order"][0].update(first=9), "came to t9 first"),
        (lambda c: c["sweeps"][0].pop("figures"), "not of the form of this study"),
        (lambda c: c["sweeps"].clear(), "not the sweeps that the study names"),
        (lambda c: c["sweeps"].pop(4), "not the sweeps that the study names"),
        (lambda c: c["sweeps"][8].update(tasks=2), "not the sweeps that the study names"),
        (lambda c: c["oracle"].clear(), "not a kill at each place of each task"),
        (lambda c: c["oracle"].pop(3), "not a kill at each place of each task"),
        (lambda c: c["order"].clear(), "not both logs of each case"),
        (lambda c: c["order"].pop(), "not both logs of each case"),
        (
            lambda c: c["order"].__setitem__(1, {**c["order"][0], "log": "writes lost"}),
            "chain, resume: by what the store holds the logs cannot be told apart",
        ),
        (
            lambda c: c["order"][3].update(stored=c["order"][2]["stored"]),
            "chain, resubmit: writes lost, and stored as submitted",
        ),
        (
            lambda c: c["sweeps"][0].update(recovery="resubmit"),
            "recovery: resubmit, and its options say resume",
        ),
        (
            lambda c: c["sweeps"][0]["points"][4].update(decision=1),
            "came to t1 first, and the first to fire was t2",
        ),
        (
            lambda c: c["sweeps"][0]["points"][4].update(decision=None, answers=0),
            "t2 fired, and neither was it come to nor was the run answered",
        ),
        (
            lambda c: c["sweeps"][0]["points"][12].update(decision=3),
            "came to t3, which never fired, and is complete",
        ),
        (lambda c: c["sweeps"][0]["points"][4].update(answers=0), "nobody had given it"),
        (lambda c: c["sweeps"][0]["points"][8].update(answered=0), "nobody had given it"),
        (lambda c: c["sweeps"][0]["points"][2].update(answered=1), "before the kills"),
        (lambda c: c["oracle"][0].update(answers=0), "nobody had given it"),
        (lambda c: c["versions"].pop("dbos"), "versions: dbos is not among them"),
        (lambda c: c["versions"].pop("PostgreSQL"), "versions: PostgreSQL is not among them"),
    ],
)
def test_a_figure_that_does_not_follow_is_found(kept, tamper, said):
    content = copy.deepcopy(kept)
    tamper(content)
    assert said in "; ".join(problems(content))


def test_of_some_adapters_their_sweeps_alone_are_expected(kept):
    of_dbos = [sweep for sweep in kept["sweeps"] if sweep["adapter"] == "dbos"]
    part = {**kept, "sweeps": of_dbos, "oracle": [], "order": []}
    assert [*problems(part, ["dbos"])] == []
    assert [*problems({**part, "sweeps": []}, ["dbos"])]
    assert [*problems({**part, "oracle": kept["oracle"]}, ["dbos"])]


def test_the_page_says_whose_error_a_listener_without_feedback_meets(kept):
    said = "is raised by the listener of the swept workflow"
    assert said in page(kept)
    others = [sweep for sweep in kept["sweeps"] if sweep["adapter"] != "crewai-checkpoint"]
    assert said not in page({**kept, "sweeps": others})


# -- the command ---------------------------------------------------------------------------


def test_what_is_written_over_is_compared_first(kept, tmp_path, capsys, monkeypatch):
    from mbt.commands import sweep_kill_points

    measured = {key: kept[key] for key in kept if key not in {"format", "study"}}
    monkeypatch.setattr(sweep_kill_points, "measure", lambda *_, **__: copy.deepcopy(measured))
    words = ["sweep", "kill-points", "--write", "--json", "--receipts", str(tmp_path)]
    assert main(words) == 0
    file = tmp_path / "studies" / "kill-points.json"
    other = json.loads(file.read_text())
    other["oracle"].pop()
    file.write_text(json.dumps(other))
    capsys.readouterr()
    assert main(words) == 1
    assert json.loads(capsys.readouterr().out)["differs"] == [
        f"oracle: not what is kept in {tmp_path}"
    ]
    assert json.loads(file.read_text())["oracle"] == kept["oracle"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--adapter", "llamaindex"], "hands the state to the caller"),
        (["--adapter", "nobody"], "none of those that put their persistence"),
        (["--adapter", "dbos", "--write"], "leave --adapter out"),
    ],
)
def test_what_cannot_be_swept_is_refused_with_the_reason(capsys, words, said):
    assert main(["sweep", "kill-points", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.framework("pydantic-graph")
def test_the_command_says_where_it_measured_something_else(kept, tmp_path, capsys):
    if importlib.util.find_spec("pydantic_graph") is None:
        pytest.skip("pydantic-graph is not installed")
    words = ["sweep", "kill-points", "--adapter", "pydantic-graph", "--json", "--receipts"]
    assert main([*words, str(RECEIPTS)]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["sweeps"] == [s for s in kept["sweeps"] if s["adapter"] == "pydantic-graph"]
    other = copy.deepcopy(kept)
    next(s for s in other["sweeps"] if s["adapter"] == "pydantic-graph")["points"].pop()
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "kill-points.json").write_text(json.dumps(other))
    assert main([*words, str(tmp_path)]) == 1
    assert len(json.loads(capsys.readouterr().out)["differs"]) == 1
