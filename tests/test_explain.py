"""What explains runs: the search, the receipts, planted faults, and traces that decide."""

import itertools
import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import COMMITTED, copy_committed
from lab import SPECS

from mbt.cli import main
from replay.audit import audit_receipts
from replay.compare import Divergence
from replay.explanation import explanations, planted
from replay.explanation.apart import decide, relate
from replay.explanation.explain import MOST_SWITCHES, explain, rivals_meet
from replay.explanation.explained import account_of, evidence_of
from replay.explanation.search import search
from replay.explanation.sentences import sentence_of
from replay.reopened import reopen
from replay.rows import read_rows
from replay.stored import read_runs
from tracegen.spec import load_spec

STOP = Divergence(0, None, "", ())


@pytest.fixture(scope="session")
def graphs(lab):
    """The graphs of ResumeContract, made once."""
    return lambda spec, bounds: lab.models


# -- the search ------------------------------------------------------------------------


class Table:
    """Stands in for `Admission`: whether a set admits a run is looked up, and may be anything."""

    def __init__(self, spec, admitted):
        self.spec = spec
        self._admitted = admitted
        self._asked = {}

    def __call__(self, model, run, faults):
        self._asked[run, faults] = stop = None if (run, faults) in self._admitted else STOP
        return stop

    def known(self, model, run, faults):
        return (self._asked[run, faults],) if (run, faults) in self._asked else None


@st.composite
def tables(draw):
    switches = tuple("ABCD"[: draw(st.integers(1, 4))])
    rivals = draw(st.sampled_from([(), (("A", "B"),), (("A", "B", "C"),)]))
    spec = SimpleNamespace(explain=SimpleNamespace(switches=switches, rivals=rivals))
    runs = draw(st.integers(1, 3))
    sets = [
        faults
        for size in range(MOST_SWITCHES + 1)
        for faults in itertools.combinations(switches, size)
        if not rivals_meet(spec, faults)
    ]
    cells = st.sets(st.sampled_from([*itertools.product(range(runs), sets)]))
    return spec, runs, sets, draw(cells)


@given(tables())
@settings(max_examples=300)
def test_the_search_finds_what_trying_everything_finds(table):
    spec, runs, sets, admitted = table
    found = search(Table(spec, admitted), [("", run) for run in range(runs)])

    def smallest(which):
        good = [f for f in sets if all((run, f) in admitted for run in which)]
        return {f for f in good if len(f) == min(map(len, good))}

    everything = smallest(range(runs))
    assert {*found.smallest} == everything or (not everything and len(found.smallest[0]) > 3)
    if not everything or len(min(everything)) > 1:
        for run in range(runs):
            assert {*found.one_by_one(run)} == smallest([run])
    # Each run is admitted by one of the sets that are said to admit it.
    for run in range(runs):
        assert all((run, faults) in admitted for faults in found.one_by_one(run))


# -- planted faults --------------------------------------------------------------------

EXPECTED = {
    # Table III, and of two switches on one recovery: Replay, PrefixReplay, NondetRecovery.
    ("Replay",): "Replay",
    ("NondetRecovery", "PrefixReplay"): "PrefixReplay",
    ("ForkIgnore", "DoubleConsume"): "ForkIgnore with DoubleConsume",
}


@pytest.mark.parametrize(("faults", "name"), EXPECTED.items(), ids=map("+".join, EXPECTED))
def test_a_planted_fault_is_found_again(lab, graphs, faults, name):
    switches = tuple(f"Fault{fault}" for fault in faults)
    account = planted.plant(lab.spec, [*lab.parts.values()], switches, graphs)
    assert [candidate.name for candidate in account.whole] == [name]
    row = planted.entry(account, switches)
    assert planted.holds(row)
    # Where another set stands for the planted one, the graphs show that it has the same runs.
    assert bool(row["relations"]) == (name.count("with") + 1 < len(faults))
    assert all(relation["same_runs"] for relation in row["relations"])
    assert not [p for p in planted.problems({"rows": [row]}) if faults[0] in p]


def test_a_trace_decides_between_two_mechanisms(lab, graphs):
    """The counterexample, a crash after task 1, is a run of all that go on at task 1 again."""
    account = planted.plant(lab.spec, [lab.part("R9")], ("FaultPrefixReplay",), graphs)
    replayed, _, prefix = account.whole
    assert [each.name for each in account.whole] == ["Replay", "NondetRecovery", "PrefixReplay"]
    relation = relate(account, replayed, prefix)
    # What tells them apart is a crash after Consume: the gate crossed once more.
    steps = ["ExecTask", "EmitInterrupt", "Consume", "CrashRecover", "ExecTask", "ExecTask"]
    assert [[step.action for step in t.steps] for t in relation.traces] == [steps, steps]
    for trace in relation.traces:
        assert decide(account, trace, account.whole).left == (prefix,)


def test_variables_that_no_run_shows_tell_nothing_apart(lab, graphs):
    account = planted.plant(lab.spec, [lab.part("R9")], ("FaultPrefixReplay",), graphs)
    evidence = SimpleNamespace(
        observed=frozenset({"pc"}), merges={}, models=account.evidence.models, spec=lab.spec
    )
    relation = relate(
        SimpleNamespace(evidence=evidence, attempts=account.attempts), *account.whole[::2]
    )
    assert relation.equal
    assert relation.sentence().startswith("Replay and PrefixReplay have the same runs")


def test_the_committed_study_of_planted_faults():
    content = json.loads((COMMITTED / "studies" / "planted.json").read_text())
    assert len(content["rows"]) == 6 + 15
    assert not [*planted.problems(content)]
    broken = json.loads(json.dumps(content))
    broken["rows"][0]["smallest"] = broken["rows"][1]["smallest"]
    assert [*planted.problems(broken)] == ["Replay: no smallest set has its runs"]
    del content["rows"][3]
    assert "not each switch and each two of them" in [*planted.problems(content)]


# -- receipts --------------------------------------------------------------------------


def test_what_a_receipt_says_of_its_explanation_follows_from_its_runs(lab):
    folder = COMMITTED / "ResumeContract" / "reference" / "fault=Replay"
    receipt = json.loads((folder / "receipt.json").read_text())
    parts = {part["name"]: (part["model"], []) for part in receipt["parts"]}
    for run in read_runs(folder):
        parts[run.part][1].append(run.record)
    found = explain(lab.spec, [*parts.values()], lab.models, {})
    told = receipt["explanation"]
    assert [[*faults] for faults in found.smallest] == told["smallest"]
    assert [[*faults] for faults in found.larger] == told["larger"]
    assert {found.name(faults): run for faults, run in found.stopped.items()} == told["stopped"]


@pytest.mark.parametrize("fault", ["Replay", "PrefixReplay", "ForkIgnore", "NondetRecovery"])
def test_stored_runs_say_what_the_replay_said(lab, graphs, fault):
    folder = COMMITTED / "ResumeContract" / "reference" / f"fault={fault}"
    receipt = json.loads((folder / "receipt.json").read_text())
    account = account_of(evidence_of(reopen(folder)), graphs)
    assert [[*each.faults] for each in account.whole] == receipt["explanation"]["smallest"]
    diverging = sum(len(part["divergences"]) for part in receipt["parts"])
    assert len(account.diverging) == diverging


def test_a_sentence_is_told_of_the_runs(lab, graphs):
    folder = COMMITTED / "ResumeContract" / "reference" / "fault=PrefixReplay"
    account = account_of(evidence_of(reopen(folder)), graphs)
    assert (
        account.sentence(account.whole[0], account.diverging)
        == "recovery restarted at task 1 and the gate was served from the record"
    )


def test_a_sentence_without_a_run_says_no_more_than_the_switch(lab):
    assert (
        sentence_of(lab.spec, ["FaultPrefixReplay"], [])
        == "recovery restarted at an earlier task and the gate was served from the record"
    )


def test_the_command(tmp_path, capsys):
    asked = ["replay", str(SPECS / "ResumeContract.tla"), "--adapter", "reference"]
    asked += ["--model", "R9", "--option", "fault=PrefixReplay", "--receipts", str(tmp_path)]
    assert main(asked) == 1
    (receipt,) = tmp_path.glob("*/*/*/receipt.json")
    capsys.readouterr()
    assert main(["explain", str(receipt.parent), "--separate", "--replay"]) == 0
    said = capsys.readouterr().out
    assert "recovery restarted at task 1 and the gate was served from the record" in said
    assert "left is PrefixReplay\n" in said
    assert main(["explain", str(receipt.parent), "--run", "R9-counterexample", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in told["explained_by"]] == [
        "Replay",
        "NondetRecovery",
        "PrefixReplay",
    ]
    (reference,) = (row for row in told["tried"] if row["name"] == "reference")
    # The model skips what is durable: after the crash the run goes on at task 2.
    assert reference["stop"]["differences"][0] == {
        "variable": "pc",
        "model": ["2"],
        "observed": "1",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name one RECEIPT"),
        (["nowhere"], "cannot read nowhere/receipt.json"),
        (
            ["ResumeContract/reference/fault=Replay", "--part", "x"],
            "no part 'x'; known: 'one crash', ",
        ),
        (["ResumeContract/reference/fault=Replay", "--run", "x"], "no run 'x'; there are R0-01 to"),
        (["ResumeContract/reference/fault=Replay", "--write"], "--write keeps"),
        (["ResumeContract/reference/fault=Replay", "--replay"], "add --separate"),
        (["--every", "--run", "x"], "leave them out"),
    ],
)
def test_wrong_use(words, message, capsys):
    assert main(["explain", *words, "--receipts", str(COMMITTED)]) == 2
    assert message in capsys.readouterr().err


# -- the study of every receipt --------------------------------------------------------


@pytest.fixture
def kept():
    return json.loads((COMMITTED / "studies" / "explanations.json").read_text())


def test_the_committed_explanations_are_of_the_committed_runs(kept):
    assert not [*explanations.problems(kept)]
    assert not [*explanations.changed(kept)]
    assert not [*explanations.stale(COMMITTED, kept, read_rows(COMMITTED))]


ROWS = """
[[table]]
title = "two"
modules = ["ResumeContract"]
adapter = "reference"
rows = [{}, { fault = "ForkIgnore" }]
"""


def test_every_receipt_that_diverges_is_explained_and_audited(tmp_path, capsys):
    (tmp_path / "rows.toml").write_text(ROWS)
    copy_committed(tmp_path)
    assert main(["explain", "--every", "--write", "--receipts", str(tmp_path)]) == 0
    page = (tmp_path / "studies" / "explanations.md").read_text()
    assert "Receipts with runs that diverge: 1; such runs: 60." in page
    assert audit_receipts(tmp_path, read_rows(tmp_path)) == []
    receipt = tmp_path / "studies" / "explanations.json"
    content = json.loads(receipt.read_text())
    (row,) = content["rows"]
    assert [each["name"] for each in row["explained_by"]] == ["ForkIgnore"]
    (group,) = row["groups"]
    assert (group["runs"], group["sentence"]) == (
        60,
        "a fork given v2 was served v1: the value supplied with fork intent was not used",
    )
    row["digest"] = "0" * 64
    receipt.write_text(json.dumps(content))
    told = audit_receipts(tmp_path, read_rows(tmp_path))
    assert any("computed from other runs than those of the receipt" in line for line in told)


def test_what_is_unexplained_has_to_be_named(kept, tmp_path):
    row = kept["rows"][0]
    row["explained_by"], row["sentences"] = [], []
    rows = [each for each in read_rows(COMMITTED) if each.name == row["receipt"]]
    kept["rows"] = [row]
    told = [*explanations.stale(COMMITTED, kept, rows)]
    assert any(f"{row['receipt']}: nothing explains all its runs" in line for line in told)
    row["digest"] = "0"
    told = [*explanations.stale(COMMITTED, kept, rows)]
    assert any("computed from other runs" in line for line in told)
    assert [f"{row['receipt']} diverges, and has no row"] == [
        line
        for line in explanations.stale(COMMITTED, {**kept, "rows": []}, rows)
        if "no row" in line
    ]


def test_figures_that_do_not_add_up_are_found(kept):
    row = kept["rows"][0]
    row["diverging"] += 1
    assert any("its groups have" in problem for problem in explanations.problems(kept))


def test_rivals_are_switches(tmp_path):
    spec = load_spec(SPECS / "R10_Separations.tla")
    assert rivals_meet(spec, ("FaultRegate", "FaultRebuild"))
    assert not rivals_meet(spec, ("FaultRegate", "FaultRedeliver"))
