"""Bad outputs and tampered stores; what is expected stands in the paper or was run without mbt."""

import contextlib
import copy
import importlib.util
import itertools
import json
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.base import Adapter, AdapterFault, Run
from adapters.host import Host
from adapters.reference import Reference
from adapters.registry import locate, versions_of
from adapters.stores import drop, put, readings, truncated
from mbt.cli import main
from replay.sweeps.store_planes import Plane
from replay.sweeps.store_runs import runs_of
from replay.sweeps.stores import conclude, of_poisoned, of_tampered, page, problems

RECEIPTS = Path(__file__).parent.parent / "receipts"
BAD = "not a number"
framework = pytest.mark.framework


def runs(adapter, group, count=None, **chosen):
    """The first runs of a group on a plane, by task or form; no more are made."""
    plane = Plane(adapter, chosen)
    if "not installed" in versions_of(plane.kind).values():
        pytest.skip(f"the framework of {adapter} is not installed")
    with contextlib.closing(runs_of(plane)) as made:
        return list(
            itertools.islice((run for kind, run, _ in made if kind == group and run), count)
        )


def read(run, name, where="fresh"):
    """What a read says, or the type of the error that it raised."""
    found = run[where][name]
    return found["error"]["type"] if "error" in found else found["says"]


@pytest.fixture(scope="module")
def kept():
    """The committed receipt."""
    return json.loads((RECEIPTS / "studies" / "stores.json").read_text())


# -- outputs that break the schema ----------------------------------------------------------


@framework("langgraph")
def test_langgraph_stores_a_bad_output_and_says_so_only_where_a_node_reads_it():
    """Paper, probe 150: a terminal write is silent, get_state returns it; mid-graph it is not."""
    first, gated, last = runs("langgraph", "poisoned", 3)
    for run in (first, gated):
        assert of_poisoned(run)["write"] == "stored, then refused"
        assert run["error"]["type"] == run["recovery"]["error"]["type"] == "ValidationError"
        for where in ("same", "fresh"):
            assert read(run, "get_state", where) == "ValidationError"
            assert read(run, "get_state_history", where) == "ValidationError"
    assert [task for task, _, _ in gated["ledger"]] == [1, 2]
    assert of_poisoned(last)["write"] == "stored without a word"
    assert read(last, "get_state") == read(last, "get_state", "same") == [1, 2, BAD]
    assert read(last, "get_state_history")[:2] == [[1, 2, BAD], [1, 2]]
    assert last["stored"] == [{"task": t, "valid": t != 3} for t in (1, 2, 3)]


@framework("remit")
def test_what_remit_refused_is_still_read():
    """Run without mbt: the refused output is there as a pending write, and recovery meets it."""
    (run,) = runs("langgraph-remit", "poisoned", 1)
    assert of_poisoned(run)["write"] == "refused, yet read"
    assert (run["stored"], read(run, "get_state_history")) == ([], [[], []])
    assert read(run, "get_state") == [BAD]
    assert run["recovery"]["error"]["type"] == "RemitValidityError"
    assert run["ledger"] == [[1, None, 1]]


@framework("llamaindex")
def test_llamaindex_does_not_save_what_has_no_json():
    """Paper: it fails fast with ValueError; the context saved before is gone on from."""
    first, *_ = runs("llamaindex", "poisoned", 1)
    found = of_poisoned(first)
    assert (found["write"], found["error"], found["again"]) == ("refused", "ValueError", [1])
    assert (read(first, "Context.store.get_state"), found["recovery"]) == ([], "completes")


@framework("pydantic-graph")
def test_pydantic_graph_writes_a_bad_state_and_reads_it_no_more():
    """Facts: a bad state is written, and raises later."""
    first, _, last = runs("pydantic-graph", "poisoned", 3)
    assert of_poisoned(first)["write"] == "stored, then refused"
    assert of_poisoned(last)["write"] == "stored without a word"
    for run in (first, last):
        assert read(run, "load_all") == read(run, "load_next") == "ValidationError"
        assert run["recovery"]["error"]["type"] == "ValidationError"
    # Without a bad output it refuses too, since nothing is left to restore, and says so.
    assert last["clean"]["recovery"]["error"]["type"] == "GraphRuntimeError"


@framework("crewai")
def test_crewai_stores_in_silence_and_cannot_restore():
    """Facts: @persist stores invalid states silently, and restoring one raises."""
    end, soon = runs("crewai-persist", "poisoned", 2)
    assert (end["task"], soon["killed"], soon["same"]) == (1, "after the write", None)
    assert of_poisoned(soon)["write"] == "stored without a word"
    assert read(soon, "load_state") == [BAD]
    assert soon["recovery"]["error"]["type"] == "ValidationError"
    assert soon["clean"]["recovery"]["error"] is None
    assert of_poisoned(end)["write"] == "stored, then refused"
    assert of_poisoned(end)["later"] == 2  # when the flow is kicked off with the answer


@framework("dbos")
def test_dbos_ends_a_workflow_whose_output_cannot_be_stored():
    """Facts: an unpicklable result is loud, status ERROR."""
    (run,) = runs("dbos", "poisoned", 1)
    assert of_poisoned(run)["write"] == "refused"
    assert (read(run, "get_status"), read(run, "list_workflow_steps")) == ("ERROR", [])


# -- tampered stores ------------------------------------------------------------------------


def outcomes_of(adapter, **chosen):
    return {run["form"]: of_tampered(run) for run in runs(adapter, "tampered", **chosen)}


@framework("autogen_agentchat")
def test_autogen_refuses_what_it_cannot_place_and_follows_what_it_can():
    """Facts: missing agent, unknown type: ValueError; ready=['t1'] accepted and t1 fires."""
    found = outcomes_of("autogen", save="each-turn", team="graph")
    for form in ("an agent missing", "message's type unknown"):
        assert (found[form]["outcome"], found[form]["loading"]) == (
            "refused on loading",
            "ValueError",
        )
    assert found["next speaker t1, which is done"]["again"] == [1]
    assert found["next speaker is nobody"]["outcome"] == "refused on running"
    assert found["untouched"]["outcome"] == "goes on"


@framework("agents")
def test_openai_refuses_what_names_nothing_and_does_again_what_it_finds_no_trace_of():
    """Facts: bad version, unknown agent, truncated: UserError; items emptied or bogus: t1 again."""
    found = outcomes_of("openai-agents", save="each-turn")
    for form in ("version unknown", "agent unknown", "truncated"):
        assert (found[form]["outcome"], found[form]["loading"]) == (
            "refused on loading",
            "UserError",
        )
    for form in ("items emptied", "item's type unknown"):
        assert (found[form]["outcome"], found[form]["again"]) == ("repeats", [1, 2])
    assert found["output of t2 removed"]["again"] == [2]


@framework("llamaindex")
def test_llamaindex_waits_for_ever_where_no_step_is_left():
    """Run without mbt: from_dict raises, or the run ends at its timeout with no step entered."""
    found = outcomes_of("llamaindex")
    assert found["version unknown"]["loading"] == "ContextSerdeError"
    assert found["flag of another type"]["loading"] == "ContextSerdeError"
    assert found["event's type unknown"]["loading"] == "ImportError"
    for form in ("no step left", "step in progress removed", "its step missing"):
        assert (found[form]["outcome"], found[form]["loading"]) == ("waits", None)
    for form in ("state emptied", "step t9, which is no step"):
        assert found[form]["outcome"] == "goes on"


@framework("pydantic-graph")
def test_pydantic_graph_refuses_what_its_types_do_not_allow():
    """Facts: a truncated file is rejected."""
    found = outcomes_of("pydantic-graph", crash_at="boundary")
    for form in ("truncated", "status unknown", "next node T9, which is no node"):
        assert (found[form]["outcome"], found[form]["loading"]) == (
            "refused on loading",
            "ValidationError",
        )
    assert found["next node T1, which is done"]["again"] == [1]
    assert found["newest snapshot removed"]["recovery"] == "refused: GraphRuntimeError"


# -- the parts ------------------------------------------------------------------------------


class Keeps(Adapter):
    """An adapter with a file."""

    reads: ClassVar = {
        "open": lambda self: json.loads(self.store_file().read_text()),
        "ours": lambda self: None,
    }

    @classmethod
    def tamperings(cls, options):
        return {"cut": truncated, "none": put(1, "a"), "gone": drop("b", 0)}

    def store_file(self):
        return self.run.folder / "store.json"


@pytest.fixture
def keeps(tmp_path):
    (tmp_path / "store.json").write_text('{"a": 1, "b": [2, 3]}')
    return Keeps(Run(tmp_path, {}, {}, {}))


def test_an_error_of_the_framework_is_what_its_read_says(keeps):
    assert readings(keeps)["open"] == {"says": {"a": 1, "b": [2, 3]}}
    keeps.tamper("gone")
    assert readings(keeps)["open"] == {"says": {"a": 1, "b": [3]}}
    keeps.tamper("cut")
    assert readings(keeps)["open"]["error"]["type"] == "JSONDecodeError"


def test_an_error_of_ours_is_no_word_of_the_framework(keeps, monkeypatch):
    monkeypatch.setattr(Keeps, "store_file", Adapter.store_file)
    with pytest.raises(NotImplementedError, match="store_file"):
        readings(keeps)


def test_a_tampering_that_changes_nothing_is_none(keeps):
    with pytest.raises(AdapterFault, match="changed nothing"):
        keeps.tamper("none")


def test_an_adapter_does_not_look_at_a_store_that_may_be_damaged():
    options = {name: option.default for name, option in Reference.options.items()}
    with Host(locate("reference"), {"tasks": 3, "gate": 2}, options) as host:
        for observes in (True, False):
            folder = host.folder / str(observes)
            folder.mkdir()
            context = {"folder": str(folder), "notes": {}, "process": 1, "recovery": 0}
            process = host.fork({**context, "branch": 0, "observes": observes})
            assert bool(process.call("start", {})["observed"]) == observes
            process.kill()


# -- the study ------------------------------------------------------------------------------


def test_the_receipt_follows_from_its_runs_and_the_page_from_the_receipt(kept):
    assert list(problems(kept)) == []
    assert (RECEIPTS / "studies" / "stores.md").read_text() == page(kept)
    assert conclude(kept)["outcomes"] == kept["outcomes"]


def test_the_receipt_says_of_langgraph_what_the_paper_says_on_two_backends(kept):
    for options in ({}, {"saver": "postgres"}):
        writes = [
            run["found"]["write"]
            for run in kept["poisoned"]
            if (run["adapter"], run["options"]) == ("langgraph", options)
        ]
        assert writes == ["stored, then refused"] * 2 + ["stored without a word"]


def killed_soon(content):
    return next(run for run in content["poisoned"] if run["killed"] == "after the write")


def untouched(content):
    return [run for run in content["tampered"] if run["form"] == "untouched"]


def of_form(content, form):
    return next(run for run in content["tampered"] if run["form"] == form)


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (lambda c: c["poisoned"][0]["found"].update(write="refused"), "task 1 killed at its end"),
        (lambda c: c["poisoned"][0].update(deaths=[0]), "not killed once"),
        (lambda c: c["poisoned"][0]["clean"].update(deaths=[]), "unpoisoned: its process"),
        (lambda c: c["poisoned"][0]["ledger"].append([1, None, 1]), "task 1 killed at its end"),
        (lambda c: killed_soon(c)["clean"]["stands"].pop(), "it was killed elsewhere"),
        (lambda c: c["poisoned"].pop(0), "poisoned to the end in tasks"),
        (lambda c: of_form(c, "items emptied")["ledger"].pop(2), "items emptied: found"),
        (lambda c: of_form(c, "truncated")["fresh"].clear(), "truncated: found"),
        (lambda c: c["outcomes"][0].update(waits=9), "count of outcomes"),
        (lambda c: c["tampered"].remove(of_form(c, "untouched")), "no untouched store"),
        (
            lambda c: c.update(
                poisoned=[r for r in c["poisoned"] if r["killed"] != "after the write"]
            ),
            "crewai: killed after the write of tasks [], and to be expected is [1, 2]",
        ),
        (lambda c: c["poisoned"].remove(killed_soon(c)), "killed after the write of tasks [2]"),
        (
            lambda c: c.update(conclude({**c, "tampered": untouched(c)})),
            "llamaindex: tampered with in the forms []",
        ),
        (
            lambda c: c.update(
                conclude({**c, "tampered": [r for r in c["tampered"] if r["form"] != "truncated"]})
            ),
            "which are not all that it has",
        ),
        (
            lambda c: c["tampered"].remove(of_form(c, "version unknown")),
            "the count of outcomes is not that of its runs",
        ),
    ],
)
def test_a_figure_that_was_changed_is_found(kept, tamper, said):
    changed = copy.deepcopy(kept)
    tamper(changed)
    assert any(said in phrase for phrase in problems(changed))


def test_of_some_adapters_their_planes_alone_are_expected(kept):
    def of_dbos(group):
        return [run for run in kept[group] if run["adapter"] == "dbos"]

    part = conclude({**kept, "poisoned": of_dbos("poisoned"), "tampered": []})
    assert [*problems(part, ["dbos"])] == []
    assert [*problems({**part, "poisoned": part["poisoned"][1:]}, ["dbos"])]


# -- the command ----------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--adapter", "dbos"], ["--write"]])
def test_what_contradicts_itself_is_neither_printed_nor_kept(
    kept, words, tmp_path, capsys, monkeypatch
):
    from mbt.commands import sweep_stores

    nothing = {**kept, "poisoned": [], "tampered": []}
    monkeypatch.setattr(sweep_stores, "measure", lambda *_: nothing)
    assert main(["sweep", "stores", *words, "--receipts", str(tmp_path)]) == 3
    said = capsys.readouterr()
    assert "what was measured contradicts itself" in said.err and not said.out
    assert not [*tmp_path.iterdir()]


def test_wrong_use_is_said_in_one_line(capsys):
    assert main(["sweep", "stores", "--adapter", "reference"]) == 2
    assert "no store of reference is swept; there are langgraph," in capsys.readouterr().err
    assert main(["sweep", "stores", "--adapter", "dbos", "--write"]) == 2
    assert "leave out --adapter" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("dbos") is None, reason="dbos is not installed")
def test_one_adapter_can_be_swept_alone(capsys):
    assert main(["sweep", "stores", "--adapter", "dbos", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {run["adapter"] for run in content["poisoned"]} == {"dbos"}
    assert (content["tampered"], content["outcomes"]) == ([], [])
