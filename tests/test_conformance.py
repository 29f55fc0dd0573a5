"""mbt conformance: cells from receipts, labels from statements, provenance from the paper."""

import contextlib
import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from kept import copy_committed

from mbt.cli import main
from mbt.commands import conformance_forms as forms
from mbt.commands import conformance_run
from mbt.workers import Worker
from replay.conformance.cells import COLUMNS, Evidence, Measured, measure, stuck
from replay.conformance.claims import CLAIMS, ClaimsError, label, read_claims
from replay.conformance.conformance import conformance, grouped
from replay.conformance.paper import PaperError, read_paper
from replay.rows import Row, RowsError, read_rows

REPOSITORY = Path(__file__).parent.parent
CLAIMED = read_claims()
RAN = conformance_run.Done(1, "")
ROWS = """
[[table]]
title = "The reference engine"
framework = "engine"
mechanism = "log"
modules = ["ResumeContract", "R11_ConsumeCount"]
adapter = "reference"
rows = [{}, { fault = "Replay" }]

[[table]]
title = "Raced for"
framework = "engine"
mechanism = "log"
modules = ["R11_ConsumeCount"]
adapter = "reference"
rows = [{ fault = "ConcurrentConsume,RaceEffect" }]
"""
PAPER = """
[[rows]]
table = "V"
row = "engine"
cells = { PC = "✓", EO = "✗" }

[[rows.beside]]
adapter = "reference"
options = {}
because.EO = "made up here"

[[pairs]]
frameworks = ["engine", "another"]
kind = "behavioral"
cells = ["EO"]
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder of five of the committed receipts, with rows and a paper of its own."""
    root = tmp_path_factory.mktemp("kept") / "receipts"
    root.mkdir()
    (root / "rows.toml").write_text(ROWS)
    (root / "paper.toml").write_text(PAPER)
    copy_committed(root)
    assert main(["conformance", "--write", "--receipts", str(root)]) == 0
    return root


@pytest.fixture
def mbt(capsys):
    """Run a command line in this process: exit code, output, errors."""

    def run(*words):
        code = main([*words])
        return SimpleNamespace(returncode=code, **capsys.readouterr()._asdict())

    return run


@pytest.fixture
def root(kept, tmp_path):
    """A copy of it to be changed."""
    shutil.copytree(kept, tmp_path / "receipts")
    return tmp_path / "receipts"


def cells(content, **options):
    (row,) = [row for row in content["rows"] if row["options"] == options]
    return {name: cell["label"] for name, cell in row["cells"].items()}


# -- cells -------------------------------------------------------------------------------


def test_cells_come_from_the_receipts_of_all_modules_of_a_form(kept):
    found = conformance(kept)
    assert (found.problems, found.missing) == ([], [])
    assert set(cells(found.content).values()) == {"✓"}
    replayed = cells(found.content, fault="Replay")
    assert {name for name, text in replayed.items() if text == "U"} == {"PC", "EO", "CO"}
    raced = cells(found.content, fault="ConcurrentConsume,RaceEffect")
    assert raced["CO-c"] == "U"
    assert {raced[name] for name in ("PC", "EO", "FD", "CV", "CO", "RD")} == {"not run"}
    explained = {row["explained_by"] for row in found.content["rows"]}
    assert explained == {"reference", "Replay", ""}


def test_every_cell_that_was_run_leads_to_a_receipt_that_is_there(kept):
    for row in conformance(kept).content["rows"]:
        for name, cell in row["cells"].items():
            module = "R11_ConsumeCount" if name == "CO-c" else "ResumeContract"
            assert (cell["receipt"] is None) == (cell["label"] == "not run")
            if cell["receipt"]:
                assert (kept / cell["receipt"]).is_file()
                if row["explained_by"]:
                    assert cell["receipt"].startswith(module)


def run(*micro, branches=(), trace="T-1"):
    return {"trace": trace, "micro": list(micro), "branches": list(branches), "doubles": []}


def micro(action, at, effects=None, **more):
    return {"action": action, "at": at, "changed": {"effects": effects} if effects else {}, **more}


def evidence(runs, unsupported=None, **verdicts):
    rules = {
        name: {
            "verdict": verdicts.get(name.replace("-", "_"), "not provoked"),
            "parts": {"part": {"violated_at": {"T-1": 1}}} if name == "CV" else {},
        }
        for name in ("PC", "EO", "FD", "CV", "CO", "RD")
    }
    receipt = {
        "properties": rules,
        "parts": [{"name": "part", "traces": 1}],
        "unsupported": unsupported or {},
    }
    row = Row("", "", "", "ResumeContract", "x", None, 1, {}, {}, "X/y", Path())
    return Evidence(row, receipt, runs)


CRASHED = micro("CrashRecover", "held", [1, 0, 0])


@pytest.mark.parametrize(
    ("runs", "verdict", "idle"),
    [
        ([run(CRASHED, micro("ExecTask", "complete", [1, 1, 1]))], "holds", False),
        ([run(CRASHED, micro("ExecTask", "refused"))], "violated", True),
        ([run(CRASHED, micro("ExecTask", "failed"))], "violated", True),
        # It says that it is complete, and the last task was never run.
        ([run(CRASHED, micro("ExecTask", "complete", [1, 1, 0]))], "violated", True),
        # A stray that is refused takes nothing from a run that came to its end.
        (
            [run(CRASHED, micro("E", "complete", [1, 1, 1]), micro("ExtraResume", "refused"))],
            "holds",
            False,
        ),
        ([run(CRASHED, micro("EmitInterrupt", "parked"))], "not provoked", False),
        ([run(micro("ExecTask", "refused"))], "not provoked", False),
        ([run(CRASHED, micro("ExecTask", "refused", poison=True))], "not provoked", False),
        (
            [
                run(CRASHED, micro("ExecTask", "complete", [1, 1, 1])),
                run(CRASHED, micro("ExecTask", "refused")),
            ],
            "violated",
            False,
        ),
    ],
)
def test_liveness_is_of_runs_that_were_recovered(runs, verdict, idle):
    found = measure([evidence(runs)])
    assert found["liveness"].verdict == verdict
    assert stuck(found) == idle


@pytest.mark.parametrize(
    ("by_traces", "decisions", "verdict"),
    [
        ("not provoked", [], "not provoked"),
        ("not provoked", [("task 3", "task 3")], "holds"),
        ("not provoked", [("task 3", "task 3"), ("task 3", "task 1")], "violated"),
        ("holds", [("task 3", "refused: ValueError")], "violated"),
        ("violated", [("task 3", "task 3")], "violated"),
        ("not observed", [("task 3", "task 3")], "not observed"),
    ],
)
def test_rd_is_also_of_two_recoveries_from_one_store(by_traces, decisions, verdict):
    doubles = [{"step": 2, "store": "s", "own": own, "copy": copy} for own, copy in decisions]
    found = measure([evidence([{**run(), "doubles": doubles}], RD=by_traces)])["RD"]
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("branches", "verdict"),
    [
        ([], "not provoked"),
        ([{"error": None}], "holds"),
        ([{"error": {"type": "ValueError"}}], "violated"),
        ([{"error": None}, {"error": {"type": "ValueError"}}], "violated"),
    ],
)
def test_fork_intent_fails_where_a_fork_is_refused(branches, verdict):
    assert measure([evidence([run(branches=branches)])])["FI"].verdict == verdict


@pytest.mark.parametrize(
    ("action", "unsupported", "verdict"),
    [
        ("RaceConsume", {}, "holds"),
        ("ExtraResume", {}, "not provoked"),
        ("ExtraResume", {"RaceConsume": "nobody else sees its store"}, "not expressible"),
    ],
)
def test_a_stray_that_was_turned_away_is_no_race_that_was_won(action, unsupported, verdict):
    each = evidence([run(micro(action, "complete"))], unsupported)
    rule = {"verdict": "holds", "parts": {}}
    each.receipt["properties"]["CO-c"] = rule
    raced = replace(each, row=replace(each.row, module="R11_ConsumeCount"))
    assert measure([raced])["CO-c"].verdict == verdict


def test_what_a_system_cannot_be_asked_is_not_expressible():
    unsupported = {"ForkResume": "there is no call", "RaceConsume": "there is one handler"}
    found = measure([evidence([run()], unsupported)])
    assert {name for name, cell in found.items() if cell.verdict == "not expressible"} == {
        *("FD", "FI", "CO-c")
    }
    assert found["FD"].note == "there is no call"


@pytest.mark.parametrize(
    ("steps", "silent"),
    [
        ([micro("ExecTask", "held", poison=True), micro("ExecTask", "complete")], True),
        # It is stored without a word, and raises when it is read: deferred, and not told.
        ([micro("E", "held", poison=True), micro("E", "failed", error={"type": "X"})], True),
        ([micro("ExecTask", "failed", poison=True, error={"type": "X"})], False),
    ],
)
def test_a_broken_state_is_stored_silently_or_not(steps, silent):
    found = measure([evidence([run(*steps)], CV="violated")])["CV"]
    assert (found.verdict, found.silent) == ("violated", silent)


# -- labels ------------------------------------------------------------------------------

VIOLATED = Measured("violated")
SILENT = Measured("violated", silent=True)
LABELS = [
    # Rows of the tables of facts: adapter, options, column, what was measured, label.
    ("langgraph", {"recover": "resubmit"}, "EO", VIOLATED, "✗"),
    ("langgraph", {"recover": "resubmit"}, "PC", VIOLATED, "✗"),
    ("langgraph", {"route": "command"}, "FD", VIOLATED, "✗"),
    ("langgraph", {}, "CV", SILENT, "✗"),
    ("langgraph", {}, "CO-c", VIOLATED, "U"),
    ("langgraph", {}, "RD", Measured("holds"), "✓"),
    ("llamaindex", {"interrupt": "wait-late", "save": "step"}, "PC", VIOLATED, "D"),
    ("llamaindex", {"interrupt": "wait-late", "save": "step"}, "EO", VIOLATED, "D"),
    (
        "llamaindex",
        {"interrupt": "two-step", "save": "step", "stray": "resume"},
        "EO",
        VIOLATED,
        "✗",
    ),
    ("crewai", {}, "PC", VIOLATED, "U"),
    ("crewai", {}, "EO", VIOLATED, "U"),
    ("crewai", {}, "CV", SILENT, "✗"),
    ("crewai-persist", {}, "EO", VIOLATED, "U"),
    ("crewai-checkpoint", {}, "PC", VIOLATED, "✗"),
    ("crewai-checkpoint", {}, "EO", VIOLATED, "✗"),
    ("pydantic-graph", {}, "liveness", VIOLATED, "✗"),
    ("pydantic-graph", {}, "CV", SILENT, "✗"),
    ("autogen", {"save": "running"}, "liveness", VIOLATED, "D"),
    ("autogen", {"save": "stopped"}, "EO", VIOLATED, "U"),
    ("dbos", {"fork_at": "recv"}, "EO", VIOLATED, "✗"),
    ("nobody-s", {}, "CV", VIOLATED, "U"),
]


@pytest.mark.parametrize(("adapter", "options", "column", "measured", "text"), LABELS)
def test_the_label_rule(adapter, options, column, measured, text):
    assert label(measured, column, adapter, options, CLAIMED).text == text


@pytest.mark.parametrize(("adapter", "options", "column", "measured", "text"), LABELS)
def test_strict_makes_a_violation_of_what_is_unstated_and_nothing_else(
    adapter, options, column, measured, text
):
    found = label(measured, column, adapter, options, CLAIMED, strict=True).text
    assert found == ("✗" if text == "U" else text)


@pytest.mark.parametrize(
    "verdict", ["not observed", "not provoked", "not judged", "not expressible", "not run"]
)
@pytest.mark.parametrize("strict", [False, True])
def test_what_is_no_verdict_is_itself(verdict, strict):
    for column in COLUMNS:
        measured = Measured(verdict)
        assert label(measured, column, "langgraph", {}, CLAIMED, strict=strict).text == verdict


@pytest.mark.parametrize("column", COLUMNS)
def test_no_statement_changes_what_holds_or_hides_a_violation(column):
    for claim in CLAIMED:
        for adapter in claim.adapters:
            options = {name: choices[0] for name, choices in claim.when.items()}
            assert label(Measured("holds"), column, adapter, options, CLAIMED).text == "✓"
            assert label(VIOLATED, column, adapter, options, CLAIMED).text in {"✗", "D", "U"}


def test_without_statements_all_but_what_is_silent_is_unstated():
    assert label(VIOLATED, "EO", "langgraph", {}, ()).text == "U"
    assert label(SILENT, "CV", "langgraph", {}, ()).text == "✗"


def test_statements_name_choices_that_their_adapters_have():
    from adapters.registry import load_adapter, locate

    for claim in CLAIMED:
        for adapter in claim.adapters:
            rules = load_adapter(locate(adapter)).options
            for name, choices in claim.when.items():
                assert {*choices} <= {*rules[name].choices}, (claim.id, adapter)


@pytest.mark.parametrize(
    ("distribution", "claim", "words"),
    [
        ("langgraph", "langgraph-task-cached", ["will not be re-executed", "checkpointer"]),
        ("langgraph", "langgraph-interrupted-node", ["resumes from the start of the node"]),
        ("langgraph", "langgraph-time-travel", ["time-traveling", "new branch"]),
        ("llama-index-workflows", "llamaindex-wait", ["replays", "entire step", "safe to repeat"]),
        ("autogen-agentchat", "autogen-running", ["while it is running", "may not be consistent"]),
        ("dbos", "dbos-fork", ["Restart a workflow with a new workflow ID from a specific step"]),
        ("pydantic-graph", "pydantic-graph-restore", ["restore the node and state"]),
        ("openai-agents", "openai-agents-state", ["durable pause/resume boundary"]),
        ("remit-contract", "remit-gate", ["cross-process consume-once gate"]),
    ],
)
def test_a_statement_stands_in_the_installed_file_that_it_names(distribution, claim, words):
    import importlib.metadata

    (told,) = [each for each in CLAIMED if each.id == claim]
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")
    assert told.version == f"{distribution} {found.version}"
    text = Path(str(found.locate_file(told.source))).read_text()
    assert [word for word in words if word not in text] == []


def test_a_statement_about_no_column_is_refused_with_its_line(tmp_path):
    file = tmp_path / "claims.toml"
    file.write_text(CLAIMS.read_text().replace('cells = ["FD"]', 'cells = ["FF"]', 1))
    with pytest.raises(ClaimsError, match=r"claims.toml:\d+: .*no column 'FF'"):
        read_claims(file)


# -- beside the paper --------------------------------------------------------------------


def test_a_difference_carries_its_reason_and_the_rest_is_reproduced_or_new(kept):
    (row,) = [row for row in conformance(kept).content["rows"] if not row["options"]]
    assert row["paper"] == "Table V: engine"
    told = {name: cell["provenance"] for name, cell in row["cells"].items()}
    assert (told.pop("PC"), told.pop("EO")) == ("reproduced", "differs")
    assert set(told.values()) == {"new"}
    assert (row["cells"]["EO"]["paper"], row["cells"]["EO"]["because"]) == ("✗", "made up here")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('because.EO = "made up here"\n', "", "EO is ✓, ✗ in the paper, and no `because` says why"),
        ("because.EO", "because.PC", "PC does not differ from the paper; take its `because` out"),
    ],
)
def test_a_reason_that_is_missing_or_idle_is_a_difference(mbt, root, old, new, message):
    file = root / "paper.toml"
    file.write_text(file.read_text().replace(old, new))
    done = mbt("conformance", "--receipts", str(root))
    assert done.returncode == 1
    assert f"paper.toml:7: rows.0.beside.0: {message}" in done.err


def test_a_column_that_the_paper_does_not_have_is_refused(root):
    file = root / "paper.toml"
    file.write_text(file.read_text().replace("PC =", "PP ="))
    with pytest.raises(PaperError, match=r"paper.toml:\d+: .*no column 'PP'"):
        read_paper(root)


def test_pairs_of_frameworks_are_told_apart_by_their_labels(root):
    text = (root / "rows.toml").read_text()
    (root / "rows.toml").write_text(
        text.replace('rows = [{}, { fault = "Replay" }]', "rows = [{}]")
        + """
[[table]]
title = "Another"
framework = "another"
modules = ["ResumeContract"]
adapter = "reference"
rows = [{ fault = "Replay" }]
"""
    )
    beside = '[[rows.beside]]\nadapter = "reference"\noptions = { fault = "Replay" }\n'
    told = (root / "paper.toml").read_text()
    (root / "paper.toml").write_text(told.replace("[[pairs]]", f"{beside}\n[[pairs]]"))
    (pair,) = conformance(root).content["pairs"]
    assert (pair["always"], pair["by_form"]) == (["PC", "EO", "CO"], [])
    assert pair["paper"] == {"kind": "behavioral", "cells": {"EO": True}, "reproduced": True}


# -- rows --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('adapter = "reference"', 'adapter = "referee"', "unknown adapter 'referee'"),
        ("fault =", "failt =", "no option 'failt'"),
        ("{}", '{ crash_at = "noon" }', "crash_at is one of"),
        ("{},", '{}, { fault = "none" },', "stands in 'The reference engine' too"),
        ("modules", "module", "unknown key"),
    ],
)
def test_a_row_that_is_wrong_is_refused_with_its_line(tmp_path, old, new, message):
    (tmp_path / "rows.toml").write_text(ROWS.replace(old, new, 1))
    with pytest.raises(RowsError, match=rf"rows.toml:\d+: .*{message}"):
        read_rows(tmp_path)


def test_a_single_model_and_many_repetitions_are_no_form_of_a_framework(tmp_path):
    (tmp_path / "rows.toml").write_text(
        ROWS.replace('title = "Raced for"', 'title = "Raced for"\nrepeat = 100')
    )
    groups = [[row.module for row in group] for _, group in grouped(read_rows(tmp_path))]
    assert groups == [["ResumeContract", "R11_ConsumeCount"]] * 2


def test_a_receipt_of_another_form_is_missing_and_not_read(root):
    path = root / "ResumeContract/reference/default/receipt.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "format": 0}))
    found = conformance(root)
    assert len(found.missing) == 1 and "another form" in found.missing[0]
    assert cells(found.content)["PC"] == "not run"
    assert cells(found.content)["CO-c"] == "✓"


# -- replaying what is missing -----------------------------------------------------------


def stand_in_replay(monkeypatch, *, interrupted_at=None, done=RAN):
    """A stand-in for the process that runs `mbt replay`: it writes down what it is asked for."""
    asked = []

    class Worker(contextlib.nullcontext):
        def run(self, words):
            if len(asked) == interrupted_at:
                raise KeyboardInterrupt
            command, *rest = words
            assert (command, rest[-2:]) == ("replay", ["--jobs", "1"])
            asked.append(rest[:-2])
            return done

        def interrupt(self):
            pass

    Worker.__enter__ = lambda self: self
    monkeypatch.setattr(conformance_run, "Worker", Worker)
    return asked


def test_what_stands_is_not_replayed_again(root, monkeypatch, capsys):
    asked = stand_in_replay(monkeypatch)
    assert main(["conformance", "--run", "--receipts", str(root)]) == 0
    assert asked == []
    shutil.rmtree(root / "R11_ConsumeCount/reference/default")
    assert main(["conformance", "--run", "--receipts", str(root)]) == 0
    (words,) = asked
    assert words[:3] == ["specs/R11_ConsumeCount.tla", "--adapter", "reference"]
    assert "5 of 5: R11_ConsumeCount/reference/default" in capsys.readouterr().err
    assert main(["conformance", "--run", "--again", "--receipts", str(root)]) == 0
    assert len(asked) == 6


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: text.replace('"0.1.0"', '"0.0.9"', 1), id="version"),
        pytest.param(
            lambda text: text.replace('"digests": {', '"digests": { "x": "",'), id="digest"
        ),
        pytest.param(lambda text: text + " ", id="not as in the manifest"),
        pytest.param(lambda text: text[:-20], id="cut off"),
    ],
)
def test_what_is_not_whole_or_of_something_else_is_replayed(root, monkeypatch, spoil):
    asked = stand_in_replay(monkeypatch)
    path = root / "ResumeContract/reference/fault=Replay/receipt.json"
    text = path.read_text()
    assert spoil(text) != text
    path.write_text(spoil(text))
    main(["conformance", "--run", "--receipts", str(root)])
    assert [words[-2:] for words in asked] == [["--receipts", str(root)]]
    assert "--option=fault=Replay" in asked[0]


def test_leaving_early_says_what_is_kept(root, monkeypatch, capsys):
    shutil.rmtree(root / "R11_ConsumeCount")
    asked = stand_in_replay(monkeypatch, interrupted_at=1)
    assert main(["conformance", "--run", "--jobs", "1", "--receipts", str(root)]) == 130
    assert len(asked) == 1
    error = capsys.readouterr().err
    assert "3 of 5: R11_ConsumeCount/reference/default" in error
    assert "3 of 5 replays are done and kept" in error


@pytest.mark.parametrize(
    ("done", "code", "said"),
    [
        (conformance_run.Done(3, "a line\nmbt: trace R0-01: it hung"), 3, "trace R0-01: it hung"),
        (conformance_run.Done(2, "mbt: no such adapter"), 2, "no such adapter"),
        (None, 3, "its process ended before the replay did"),
    ],
)
def test_a_replay_that_fails_ends_the_run_and_is_named(root, monkeypatch, capsys, done, code, said):
    shutil.rmtree(root / "R11_ConsumeCount")
    asked = stand_in_replay(monkeypatch, done=done)
    assert main(["conformance", "--run", "--jobs", "1", "--receipts", str(root)]) == code
    assert len(asked) == 1
    error = capsys.readouterr().err
    assert f"R11_ConsumeCount/reference/default: {said}" in error
    assert "2 of 5 replays are done and kept" in error


def test_rows_of_no_framework_are_replayed_when_asked_for(root, monkeypatch):
    beside = """
[[table]]
title = "Beside the table"
modules = ["ResumeContract"]
adapter = "reference"
rows = [{ fault = "ForkIgnore" }]
"""
    (root / "rows.toml").write_text((root / "rows.toml").read_text() + beside)
    asked = stand_in_replay(monkeypatch)
    main(["conformance", "--run", "--receipts", str(root)])
    assert asked == []
    main(["conformance", "--run", "--every", "--receipts", str(root)])
    assert ["--option=fault=ForkIgnore" in words for words in asked] == [True]


def test_a_worker_runs_command_after_command(tmp_path):
    with Worker() as worker:
        first = worker.run(["replay", "nowhere.tla", "--adapter", "reference"])
        second = worker.run(["specs"])
    assert first.code == 2 and "nowhere.tla" in first.said
    assert (second.code, second.said) == (0, "")
    assert worker.run(["specs"]) is None  # it is gone


# -- forms and the table that is kept ----------------------------------------------------


def test_the_table_that_is_kept_is_what_the_receipts_come_to(mbt, root):
    assert mbt("conformance", "--check", "--receipts", str(root)).returncode == 0
    file = root / "CONFORMANCE.json"
    content = json.loads(file.read_text())
    assert content["rows"][1]["cells"]["EO"]["label"] == "U"
    content["rows"][1]["cells"]["EO"]["label"] = "✓"
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    done = mbt("conformance", "--check", "--receipts", str(root))
    assert done.returncode == 1
    assert "reference, fault=Replay, EO: U, committed ✓ (label)" in done.err


@pytest.mark.parametrize("name", ["CONFORMANCE.md", "TABLE.md"])
def test_a_table_that_was_touched_is_told_with_its_line(mbt, root, name):
    file = root / name
    lines = file.read_text().split("\n")
    file.write_text("\n".join([*lines[:4], f"{lines[4]}!", *lines[5:]]))
    done = mbt("conformance", "--check", "--receipts", str(root))
    assert done.returncode == 1
    assert f"{name}:5: not what the receipts come to" in done.err


def test_all_forms_are_of_the_same_cells(mbt, kept):
    content = conformance(kept).content
    row = content["rows"][1]
    lines = list(csv.DictReader(io.StringIO(forms.comma_separated(content))))
    assert len(lines) == 3 * len(COLUMNS)
    of_row = {line["column"]: line["label"] for line in lines if line["options"] == "fault=Replay"}
    assert of_row == {name: cell["label"] for name, cell in row["cells"].items()}
    (in_markdown,) = [
        line
        for line in forms.markdown(content).splitlines()
        if line.startswith("| engine | log; fault=Replay")
    ]
    assert in_markdown.count("[U](ResumeContract/reference/fault=Replay/receipt.json") == 3
    assert in_markdown.count("[✓](R11_ConsumeCount/reference/fault=Replay/receipt.json)") == 1
    (in_latex,) = [
        line
        for line in forms.latex(content).splitlines()
        if "fault=Replay}" in line or "fault=Replay &" in line
    ]
    assert in_latex.count(r"}{U}") == 3 and in_latex.count(r"}{$\checkmark$}") == 6
    printed = mbt("conformance", "--json", "--receipts", str(kept))
    assert json.loads(printed.out) == content
    screen = mbt("conformance", "--receipts", str(kept)).out
    assert "fault=Replay" in screen and "✗" not in screen.split("✓ held")[0] and "✓ ≠" in screen


def test_strict_is_said_and_keeps_no_u(mbt, kept):
    done = mbt("conformance", "--strict", "--format", "csv", "--receipts", str(kept))
    labels = {line["label"] for line in csv.DictReader(io.StringIO(done.out))}
    assert labels == {"✓", "✗", "not run"}
    assert forms.STRICT in mbt("conformance", "--strict", "--receipts", str(kept)).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--strict", "--check"), "not strict"),
        (("--adapter", "reference", "--write"), "every row"),
        (("--again",), "--again is of --run"),
        (("--adapter", "referee"), "no row is of adapter 'referee'; there are: reference"),
    ],
)
def test_wrong_use_is_refused(mbt, kept, words, message):
    done = mbt("conformance", *words, "--receipts", str(kept))
    assert done.returncode == 2 and message in done.err


def test_a_folder_without_rows_is_refused(mbt, tmp_path):
    done = mbt("conformance", "--receipts", str(tmp_path))
    assert done.returncode == 2 and "rows.toml" in done.err


# -- the committed table -----------------------------------------------------------------

EXPECTED = {
    # The tables of facts: adapter, options that are not the default, labels.
    ("langgraph", ""): "PC✓ EO✓ FD✗ CV✗ CO✓ RD✓ CO-cU FI✓ liveness✓",
    ("langgraph", "saver=memory"): "PC✓ EO✓ FD✗ CV✗ CO✓",
    ("langgraph", "saver=postgres"): "PC✓ EO✓ FD✗ CV✗ CO✓",
    ("langgraph", "route=update-state"): "PC✓ EO✓ FD✓ CV✗ CO✓ CO-cU",
    ("langgraph", "route=replay"): "PC✓ EO✓ FD✓ CO✓",
    ("langgraph", "recover=resubmit route=update-state"): "PC✗ EO✗ FD✓ CO✗",
    ("langgraph", "recover=resubmit"): "PC✗ EO✗ FD✗ CO✗",
    ("langgraph-remit", ""): "FD✓ CV✓",
    ("langgraph-remit", "process_gate=on"): "CO-c✓",
    ("llamaindex", ""): "PC✓ EO✓ FD✓ CV✓ CO✓",
    ("llamaindex", "interrupt=wait-late"): "PCD EOD FD✓ CV✓ CO✓",
    ("crewai", ""): "PCU EOU FD✓ CV✗ COU",
    ("crewai", "re_answer=no"): "PCU EOU FD✓ CO✓",
    ("crewai-checkpoint", ""): "PC✓ EO✓",
    ("crewai-checkpoint", "on_events=all"): "PC✗ EO✗",
    ("crewai-checkpoint", "on_events=flow_created"): "PC✗ EO✗",
    ("pydantic-graph", ""): "liveness✗",
    ("pydantic-graph", "crash_at=boundary"): "PC✓ EO✓ liveness✓",
    ("dbos", ""): "PC✓ EO✓ FD✓ CV✓ CO✓ CO-c✓ FI✓ liveness✓",
}


@pytest.fixture(scope="module")
def committed():
    return json.loads((REPOSITORY / "receipts" / "CONFORMANCE.json").read_text())


def test_the_committed_table_has_the_verdicts_of_the_facts(committed):
    found = {
        (row["adapter"], " ".join(sorted(f"{n}={v}" for n, v in row["options"].items()))): row
        for row in committed["rows"]
    }
    assert {adapter for adapter, _ in found} >= {"langgraph", "crewai"}
    for form, text in EXPECTED.items():
        if form in found:
            labels = {name: cell["label"] for name, cell in found[form]["cells"].items()}
            expected = dict(_split(cell) for cell in text.split())
            assert {name: labels[name] for name in expected} == expected, form


def _split(cell):
    name = max((name for name in COLUMNS if cell.startswith(name)), key=len)
    return name, cell.removeprefix(name)


def test_no_committed_difference_is_without_its_reason(committed):
    assert conformance(REPOSITORY / "receipts").problems == []
    for _, cell in forms.differences(committed):
        assert cell["because"]
