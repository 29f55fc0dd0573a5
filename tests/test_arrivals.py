"""A second consumer at each point of the first one's progress, and two recoverers of one run."""

import copy
import json
import sqlite3
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from adapters.host import Host, HostError
from adapters.registry import load_adapter, locate
from adapters.services import open_services
from mbt.cli import main, mbt
from replay.lives import Conduct
from replay.races import arrivals
from replay.races.arrival_runs import (
    BEFORE,
    BODY,
    COMPLETE,
    GATE,
    NEXT,
    POINTS,
    VALUES,
    WORKFLOW,
    Race,
    measure,
    stands,
)
from replay.races.arrivals import comes_to, fired_again, fires, outcome, problems, trace

REMIT = {"process_gate": "on"}
needs = pytest.mark.framework


class Planes:
    """Races on planes, a host a plane."""

    def __init__(self, stack):
        self.stack = stack
        self.hosts = {}
        self.numbers = count()

    def race(self, adapter, **chosen):
        """A run that is parked, closed when the tests are over."""
        key = (adapter, *chosen.items())
        if key not in self.hosts:
            kind = load_adapter(locate(adapter))
            options = {name: option.default for name, option in kind.options.items()} | chosen
            conduct = Conduct.of(kind, options)
            services = self.stack.enter_context(open_services(conduct.services))
            host = self.stack.enter_context(Host(locate(adapter), WORKFLOW, options))
            self.hosts[key] = (host, conduct, services)
        host, conduct, services = self.hosts[key]
        folder = host.folder / f"run-{next(self.numbers)}"
        folder.mkdir()
        given = self.stack.enter_context(services.for_run())
        race = self.stack.enter_context(closing(Race(host, folder, conduct, given)))
        race.folder = folder
        return race

    def arrival(self, adapter, point, values="different", **chosen):
        arrival = {"values": values}
        arrival |= self.race(adapter, **chosen).arrival(point, VALUES[values])
        assert stands(arrival)
        return arrival


@pytest.fixture(scope="module")
def planes():
    with ExitStack() as stack:
        yield Planes(stack)


# --- the cells that were measured by plain scripts


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(
    ("adapter", "chosen"),
    [
        pytest.param("langgraph", {}, marks=needs("langgraph")),
        pytest.param("langgraph", {"saver": "postgres"}, marks=needs("langgraph")),
        pytest.param("langgraph-functional", {}, marks=needs("langgraph")),
        pytest.param("crewai", {}, marks=needs("crewai")),
        pytest.param("openai-agents", {}, marks=needs("agents")),
        pytest.param("autogen", {}, marks=needs("autogen_agentchat")),
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(value.values()),
)
def test_two_that_are_held_past_their_read_both_fire(planes, adapter, chosen, values):
    arrival = planes.arrival(adapter, GATE, values, **chosen)
    assert outcome(arrival) == "both fire"
    gated = [row[1:] for row in arrival["ledger"] if row[0] == 2]
    second = arrival["second"]["process"]
    assert gated == [["v1", 1], [VALUES[values], second]]


@needs("langgraph")
def test_on_langgraph_the_history_shows_both(planes):
    arrival = planes.arrival("langgraph", GATE)
    assert trace(arrival) == "a history each"
    assert [arrival["after"][who]["consumed"] for who in ("first", "second")] == ["v1", "v2"]


@needs("dbos")
def test_on_dbos_one_is_consumed(planes):
    arrival = planes.arrival("dbos", GATE)
    assert [row[1] for row in arrival["ledger"] if row[0] == 2] == ["v1"]


@needs("crewai")
def test_a_load_after_the_release_is_refused_by_crewai(planes):
    arrival = planes.arrival("crewai", BODY)
    assert outcome(arrival) == "refused: ValueError, before any body"
    assert arrival["found"] == {"first": "held at task 2", "gated effects": 1, "waiting": False}


@needs("langgraph")
def test_under_remits_gate_the_loser_is_refused_before_any_node(planes):
    arrival = planes.arrival("langgraph-remit", GATE, **REMIT)
    second = arrival["second"]
    assert outcome(arrival) == "refused: RemitConsumeConflict, before any body"
    assert not [row for row in arrival["ledger"] if row[2] == second["process"]]
    assert second["entered"] is False


@needs("langgraph")
def test_under_remits_gate_who_reads_first_wins(planes):
    arrival = planes.arrival("langgraph-remit", BEFORE, **REMIT)
    assert (fires(arrival, "first"), fires(arrival, "second")) == (0, 1)
    assert arrival["first"]["end"] == "refused: RemitConsumeConflict"


@pytest.mark.parametrize(
    "adapter",
    [
        pytest.param("langgraph", marks=needs("langgraph")),
        pytest.param("dbos", marks=needs("dbos")),
    ],
)
def test_two_recoverers_both_fire(planes, adapter):
    """DBOS 2.27.0: two processes that are both held in a step before its effect."""
    found = planes.race(adapter).recoveries()
    assert (found["killed in"], found["status"]) == (3, 9)
    assert [each["stood"] for each in found["recoverers"]] == ["held at task 3"] * 2
    assert fired_again(found) == [1, 1]
    assert [row[0] for row in found["ledger"]] == [1, 2, 3, 3]


# --- the points


def test_inside_the_gated_body_the_effect_fired_and_nothing_is_written(planes):
    race = planes.race("reference")
    race.answer()
    race.bring(BODY)
    ledger = sqlite3.connect(race.folder / "ledger.db")
    store = sqlite3.connect(race.folder / "reference.db")
    with closing(ledger), closing(store):
        assert ledger.execute("SELECT task FROM effects").fetchall() == [(1,), (2,)]
        written = store.execute("SELECT task FROM checkpoints WHERE task IS NOT NULL").fetchall()
        assert written == [(1,)]
    race.first.go()
    assert race.first.where == "held at task 3"  # a pause is good for one effect
    race.first.go()
    assert race.first.where == "complete"


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (GATE, "refused: AlreadyConsumed"),
        (BODY, "refused: AlreadyConsumed"),
        (NEXT, "inert"),
        (COMPLETE, "inert"),
    ],
)
def test_the_reference_engine_fires_once_wherever_the_second_arrives(planes, point, words):
    arrival = planes.arrival("reference", point)
    assert outcome(arrival) == words
    assert [row[0] for row in arrival["ledger"]] == [1, 2, 3]


@needs("langgraph")
def test_langgraph_asks_nobody_again_and_runs_the_next_task_twice(planes):
    arrival = planes.arrival("langgraph", NEXT)
    assert outcome(arrival) == "inert, but runs t3"
    assert [row[0] for row in arrival["ledger"]] == [1, 2, 3, 3]


@needs("autogen_agentchat")
def test_a_state_that_the_caller_keeps_at_the_end_lets_in_until_then(planes):
    assert outcome(planes.arrival("autogen", NEXT)) == "both fire"
    assert outcome(planes.arrival("autogen", COMPLETE)) == "inert"


# --- the study


@pytest.fixture(scope="module")
def measured():
    kind = load_adapter(locate("reference"))
    options = {name: option.default for name, option in kind.options.items()}
    plane = {"adapter": "reference", "chosen": {}} | measure(kind, locate("reference"), options)
    return {"planes": [plane | {"comes_to": comes_to(plane)}]}


def test_what_the_reference_engine_comes_to(measured):
    (plane,) = measured["planes"]
    assert plane["comes_to"] == {
        "admitted": [BEFORE, GATE, BODY],
        "both_fire": [],
        "refused_before_running": [],
        "trace": [],
        "explained_by": "compare-and-swap",
        "recoverers_fired": [1, 1],
    }


@pytest.fixture
def audited(measured, monkeypatch):
    monkeypatch.setattr(arrivals, "PLANES", (("reference", {}),))
    return copy.deepcopy(measured)


def test_a_receipt_that_is_whole_has_no_problems(audited):
    assert [*problems(audited)] == []


def _moved(plane):
    plane["arrivals"][2]["found"]["gated effects"] = 0


def _fired(plane):
    arrival = plane["arrivals"][1]
    arrival["ledger"].append([2, "v1", arrival["second"]["process"]])


def _left_out(plane):
    del plane["arrivals"][-1]


def _survived(plane):
    plane["recoveries"]["status"] = 0


def _renamed(plane):
    plane["adapter"] = "another"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_moved, "was not inside the gated body when the second arrived"),
        (_fired, "its figures do not follow from its runs"),
        (_left_out, "not one arrival with each value at each point"),
        (_survived, "was not killed by SIGKILL"),
        (_renamed, "not of the planes that the study names"),
    ],
)
def test_a_receipt_that_was_changed_is_found_out(audited, change, said):
    change(audited["planes"][0])
    assert [phrase for phrase in problems(audited) if said in phrase]


def _arrivals(waiting, *second):
    """Arrivals at which the second consumer fired so often."""
    return [
        {
            "point": GATE,
            "found": {"waiting": shown},
            "first": {"process": 1},
            "second": {"process": 2},
            "ledger": [[1, None, 1], [2, "v1", 1], *[[2, "v2", 2]] * times],
        }
        for shown, times in zip(waiting, second, strict=True)
    ]


@pytest.mark.parametrize(
    ("waiting", "second", "explanation"),
    [
        ((True, False), (0, 0), "compare-and-swap"),
        ((True, False), (1, 0), "no compare-and-swap"),
        ((True, False), (1, 1), "neither"),
        ((True, True), (1, 0), "neither"),
        ((None,), (1,), "neither"),
        ((True, None), (1, 0), "neither"),
        ((True,), (2,), "neither"),
    ],
)
def test_what_explains_a_plane(waiting, second, explanation):
    assert arrivals.explained(_arrivals(waiting, *second)) == explanation


def test_the_page_has_a_row_a_plane_and_every_point(audited):
    page = arrivals.page(audited)
    assert page.count("| reference |") == 3
    assert all(words in page for words in POINTS.values())


# --- the command


@pytest.mark.parametrize("words", [["--adapter", "reference"], ["--write"]])
def test_what_contradicts_itself_is_neither_printed_nor_kept(
    measured, words, tmp_path, capsys, monkeypatch
):
    from mbt.commands import race_points

    (plane,) = copy.deepcopy(measured["planes"])
    plane["arrivals"].pop()
    monkeypatch.setattr(race_points, "measure", lambda *_: plane)
    assert main(["race", "points", *words, "--receipts", str(tmp_path)]) == 3
    said = capsys.readouterr()
    assert "what was measured contradicts itself" in said.err and not said.out
    assert not [*tmp_path.iterdir()]


def test_a_first_consumer_that_is_not_at_its_point_is_the_machinerys_failure(monkeypatch):
    monkeypatch.setattr(Race, "bring", lambda self, point: None)
    kind = load_adapter(locate("reference"))
    options = {name: option.default for name, option in kind.options.items()}
    with pytest.raises(HostError, match="was not inside the gated body when the second arrived"):
        measure(kind, locate("reference"), options)


def test_the_command_prints_what_the_receipt_holds(measured):
    result = CliRunner().invoke(mbt, ["race", "points", "--adapter", "reference", "--json"])
    assert json.loads(result.stdout) == measured


def test_the_group_lists_its_commands():
    result = CliRunner().invoke(mbt, ["race", "--help"])
    assert "points" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--adapter", "nobody"], "the study is of reference, langgraph"),
        (["--adapter", "reference", "--write"], "leave out --adapter"),
    ],
)
def test_wrong_use_is_said(words, said, capsys):
    assert main(["race", "points", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_receipt_that_is_kept_is_of_every_plane():
    path = Path(__file__).parent.parent / "receipts" / "studies" / "arrivals.json"
    content = json.loads(path.read_text())
    assert [*problems(content)] == []
