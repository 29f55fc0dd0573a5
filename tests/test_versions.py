"""mbt sweep versions: releases of a small framework of our own, installed by uv from a folder."""

import copy
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from adapters.host import Host, MissingFramework, Unprepared
from adapters.registry import load_adapter, locate
from mbt.cli import main
from replay import studies
from replay.receipts import receipt_name
from replay.studies import audit_studies, read_study, write_study
from replay.sweeps import environments, versions_audit
from replay.sweeps.environments import (
    NotInstalled,
    check_release,
    environment_name,
    find_uv,
    open_environment,
    requirements_of,
)
from replay.sweeps.release import run_digest
from replay.sweeps.swept import SWEPT, Form, Swept
from replay.sweeps.versions import cells, content_of, dropped, groups, page, problems, version_key
from tracegen.cache import Cache, digest_of
from tracegen.errors import MbtError
from tracegen.jvm import Processes

REPOSITORY = Path(__file__).parent.parent
RECEIPTS = REPOSITORY / "receipts"

STORE = "import json\ndef store(file, state):\n    file.write_text(json.dumps(state))\n"
# Its second release forgets what is neither waiting nor complete, as the example's option
# save=when-idle does, of which docs/adapters.md says: EO is violated in 28 of the 40 traces.
FORGETS = STORE.replace(
    "    file", "    if state['waiting'] or len(state['done']) == 3:\n        file"
)
RELEASES = {
    "1.0": STORE,
    "1.1": FORGETS,
    "2.0": STORE.replace("def store", "def keep"),
    "3.0": "raise RuntimeError('set TINYFLOW_HOME')",
    "4.0": "import click\n" + STORE,
    "5.0": "def store(state):\n    pass\n",
}
ADAPTER = """
import importlib.util

spec = importlib.util.spec_from_file_location("json_workflow", {example!r})
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


class Tiny(example.JsonWorkflow):
    distributions = ("tinyflow",)

    @classmethod
    def prepare(cls, workflow, options):
        from tinyflow import store

        cls.kept = staticmethod(store)

    def save(self, state):
        self.kept(self.file, state)


class AsksForMore(Tiny):
    @classmethod
    def services(cls, options):
        return ("teapot",)
"""


def wheel(folder, version, text):
    info = f"tinyflow-{version}.dist-info"
    with zipfile.ZipFile(folder / f"tinyflow-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr("tinyflow.py", text)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tinyflow\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Environment of a command that finds our releases, and the adapter."""
    folder = tmp_path_factory.mktemp("tiny")
    for version, text in RELEASES.items():
        wheel(folder, version, text)
    # The user's own configuration of uv says where packages come from.
    (folder / "uv.toml").write_text(f"no-index = true\nfind-links = [{str(folder)!r}]\n")
    example = REPOSITORY / "examples/json_workflow/json_workflow.py"
    (folder / "tiny.py").write_text(ADAPTER.format(example=str(example)))
    return folder


@pytest.fixture(scope="module")
def uv_configured(tiny):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_CONFIG_FILE", str(tiny / "uv.toml"))
        patch.setenv("UV_OFFLINE", "1")
        yield


def sweep(*words, code):
    done = subprocess.run(
        [sys.executable, "-m", "mbt", "sweep", "versions", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def swept(tiny, uv_configured):
    """What a sweep over all releases, and one that is not there, says."""
    words = ["--versions", "1.0,1.1,2.0,3.0,4.0,5.0,9.9", "--model", "R0", "--json"]
    done = sweep("--adapter", f"{tiny}/tiny.py:Tiny", *words, code=3)
    return json.loads(done.stdout)


def test_a_release_is_measured_in_an_environment_of_its_own(swept):
    rows = {row["version"]: row for row in swept["rows"]}
    assert [*rows] == ["1.0", "1.1", "2.0"]
    assert {v: row["versions"] for v, row in rows.items()} == {v: {"tinyflow": v} for v in rows}
    assert swept["environments"]["1.0"]["packages"] == ["tinyflow==1.0"]
    fine, forgets = (cells(swept, rows[version]) for version in ("1.0", "1.1"))
    assert (fine["PC"], fine["EO"], fine["diverge, one crash"]) == ("✓", "✓", "0 of 40")
    assert fine["explained by"] == "reference"
    assert forgets["EO"] == "✗"
    found = swept["evidence"][rows["1.1"]["evidence"]]
    places = found["properties"]["EO"]["parts"]["one crash"]["violated_at"]
    assert len({where.partition("/")[0] for where in places}) == 28


def test_what_a_release_lacks_is_said_and_is_no_verdict(swept):
    (lacking,) = (row for row in swept["rows"] if "lacks" in row)
    assert lacking["version"] == "2.0" and "evidence" not in lacking
    assert lacking["lacks"].startswith("ImportError: cannot import name 'store' from 'tinyflow'")


def test_what_could_not_be_measured_has_no_row(swept):
    said = swept["not_measured"]
    assert [*said] == ["3.0", "4.0", "5.0", "9.9"]
    assert "cannot be prepared: RuntimeError: set TINYFLOW_HOME" in said["3.0"]
    # Not tinyflow's lack: click is in our environment, and was not let through into this one.
    assert said["4.0"] == "what is missing is not the release's: No module named 'click'"
    # The call of ours fits no longer. The release refused nothing of what the model is about.
    assert said["5.0"].startswith(
        "every run was refused before anything could be delivered: TypeError: store() takes"
    )
    assert said["9.9"].startswith("tinyflow==9.9 cannot be installed; uv: No solution found")


def test_a_release_that_is_not_there_ends_with_2_and_says_what_uv_said(tiny, uv_configured):
    words = ["--adapter", f"{tiny}/tiny.py:Tiny", "--model", "R0"]
    done = sweep(*words, "--versions", "9.9", code=2)
    assert "tinyflow 9.9 was not measured: tinyflow==9.9 cannot be installed" in done.stderr


def test_a_table_says_which_release_differs(tiny, uv_configured):
    words = ["--adapter", f"{tiny}/tiny.py:Tiny", "--model", "R0"]
    done = sweep(*words, "--versions", "2.0,1.0", code=1)
    row = {line.partition(" ")[0]: line.split() for line in done.stdout.splitlines() if line}
    assert [*row].index("2.0") == [*row].index("1.0") + 1  # in the order of their numbers
    assert row["1.0"].count("✓") == 4 and row["1.0"][-1] == "reference"
    assert " ".join(row["2.0"][1:]).startswith("lacks it: ImportError: cannot import name 'store'")
    assert "environments: " in done.stdout


def test_a_server_that_cannot_be_had_is_one_message(tiny, uv_configured):
    words = ["--adapter", f"{tiny}/tiny.py:AsksForMore", "--model", "R0", "--versions", "1.0"]
    done = sweep(*words, code=2)
    assert "AsksForMore: no service 'teapot' is known" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--adapter", "lang", "--versions", "1"], "unknown adapter 'lang'"),
        (["--adapter", "reference", "--versions", "1"], "names no distribution"),
        (["--adapter", "crewai", "--versions", "latest"], "'latest' is no version of crewai"),
        (["--adapter", "crewai", "--versions", "1;x"], "'1;x' is no version of crewai"),
        (["--adapter", "crewai", "--versions", " ,"], "--versions names no release"),
        (["--adapter", "crewai", "--versions", "1", "--option", "a=b"], "has no option 'a'"),
        (["--adapter", "autogen", "--versions", "1", "--write"], "--write keeps the sweeps of "),
    ],
)
def test_wrong_use_is_one_message(words, message):
    done = sweep(*words, code=2)
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_missing_uv_says_how_to_get_it(monkeypatch, tmp_path):
    assert find_uv().name == "uv"
    monkeypatch.setattr(environments.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MbtError, match="pip install uv"):
        find_uv()


# -- environments ---------------------------------------------------------------------------


def test_the_companions_are_those_of_the_extra_without_their_pins():
    adapter = load_adapter(locate("langgraph"))
    assert requirements_of(adapter, "langgraph", "1.0.5") == [
        "langgraph==1.0.5",
        "langgraph-checkpoint",
        "langgraph-checkpoint-postgres",
        "langgraph-checkpoint-sqlite",
        "psycopg[binary]",
    ]


def test_an_environment_is_named_after_all_that_decides_about_it(monkeypatch):
    asked = ["psycopg[binary]==3.3.4", "x"]
    name = environment_name(asked)
    assert name.startswith("psycopg_binary_-3.3.4-") and "/" not in name
    assert environment_name(asked) == name
    assert environment_name(asked[:1]) != name
    monkeypatch.setattr(environments.platform, "python_version", lambda: "3.99.0")
    assert environment_name(asked) != name


def test_an_environment_is_whole_or_not_there(tiny, uv_configured, tmp_path):
    cache = Cache(tmp_path / "cache")
    with Processes() as processes:
        with pytest.raises(NotInstalled):
            open_environment(["tinyflow==9.9"], cache, find_uv(), processes)
        assert [path for path in cache.root.rglob("*") if path.is_file()] == []
        made = open_environment(["tinyflow==1.0"], cache, find_uv(), processes)
        assert made.packages == ("tinyflow==1.0",)
        made.interpreter.unlink()
        with pytest.raises(MbtError, match="remove it"):
            open_environment(["tinyflow==1.0"], cache, find_uv(), processes)


def test_a_release_has_one_name(tiny, uv_configured, tmp_path):
    with Processes() as processes:
        made = open_environment(["tinyflow==1"], Cache(tmp_path), find_uv(), processes)
    check_release(made, "tinyflow", "1.0")
    with pytest.raises(NotInstalled, match=r"installed for it is 1\.0: ask for it by that name"):
        check_release(made, "tinyflow", "1")


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_installed(tmp_path):
    (tmp_path / "environments").write_text("no folder")
    with Processes() as processes, pytest.raises(MbtError, match="MBT_CACHE names another folder"):
        open_environment(["tinyflow==1.0"], Cache(tmp_path), Path("/no/uv"), processes)


def test_a_host_runs_in_the_interpreter_it_is_given(tiny, uv_configured, tmp_path):
    reference, options = f"{tiny}/tiny.py:Tiny", {"save": "each-task"}
    workflow = {"tasks": 3, "gate": 2}
    with pytest.raises(MissingFramework, match="No module named 'tinyflow'") as missing:
        Host(reference, workflow, options).__enter__()
    assert (missing.value.error, missing.value.owners) == ("ModuleNotFoundError", ())
    with Processes() as processes:
        made = open_environment(["tinyflow==1.0"], Cache(tmp_path), find_uv(), processes)
        fails = open_environment(["tinyflow==3.0"], Cache(tmp_path), find_uv(), processes)
    with Host(reference, workflow, options, interpreter=made.interpreter) as host:
        assert host.versions == {"tinyflow": "1.0"}
    with pytest.raises(Unprepared, match="set TINYFLOW_HOME"):
        Host(reference, workflow, options, interpreter=fails.interpreter).__enter__()


# -- the receipt ----------------------------------------------------------------------------


@pytest.fixture
def content(swept, monkeypatch):
    found = {key: value for key, value in copy.deepcopy(swept).items() if key != "not_measured"}
    (lacks,) = (row["lacks"] for row in found["rows"] if "lacks" in row)
    form = Form(models=("R0",), lacks={"2.0": lacks})
    monkeypatch.setitem(versions_audit.SWEPT, "tiny", Swept(("1.0", "1.1", "2.0"), (form,)))
    return {**found, "study": "versions-tiny", "adapter": "tiny", "pin": "1.0"}


def redigested(content, change):
    """The receipt with its evidence changed, and a digest that hides it."""
    rows, changed = [], {}
    for row in content["rows"]:
        if "evidence" in row:
            found = copy.deepcopy(content["evidence"][row["evidence"]])
            change(found)
            changed[digest_of(found)] = found
            row = {**row, "evidence": digest_of(found)}
        rows.append(row)
    return {**content, "rows": rows, "evidence": changed}


def test_a_receipt_as_it_was_written_has_no_problem(content):
    assert list(problems(content)) == []


def _a_verdict(found):
    found["properties"]["EO"]["verdict"] = "not provoked"


def _a_cell(found):
    found["properties"]["FD"]["parts"]["one crash"]["verdict"] = "violated"


def _a_place(found):
    found["properties"]["FD"]["parts"]["one crash"] = {
        "verdict": "violated",
        "provoked_by": 20,
        "violated_at": {"R0-01": 3},
    }
    found["properties"]["FD"]["verdict"] = "violated"


def _no_run(found):
    del found["runs"]["one crash"]["R0-01"]


def _an_explanation(found):
    found["parts"][0]["explained_by"] = ["reference"]
    found["parts"][0]["divergences"] = {"so": {"R0-01": 1}}


def _ledgers(found):
    for run in found["runs"]["one crash"].values():
        run["ledger"] = []
    found["properties"]["EO"]["parts"]["one crash"]["violated_at"].setdefault("R0-02", 1)
    found["properties"]["EO"]["parts"]["one crash"]["verdict"] = "violated"
    found["properties"]["EO"]["verdict"] = "violated"


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (_a_verdict, "EO is not provoked, and "),
        (_a_cell, "FD is violated in one crash, violated at 0 places"),
        (_a_place, "FD is violated in one crash by R0-01, and its run does not show it"),
        (_no_run, "one crash: 40 traces, and 39 runs"),
        (_an_explanation, "one crash: 1 diverge, explained by ['reference']"),
        (_ledgers, "EO is violated in one crash by R0-02, and its run does not show it"),
    ],
)
def test_what_does_not_follow_from_the_runs_is_found(content, change, phrase):
    assert any(phrase in found for found in problems(redigested(content, change)))


def test_tampered_evidence_rows_and_environments_are_found(content):
    first = content["rows"][0]["evidence"]
    content["evidence"][first]["facts"] = {"re-armed": 1}
    content["rows"][1]["versions"] = {"tinyflow": "1.2"}
    content["environments"]["2.0"]["packages"] = []
    content["digests"]["ResumeContract.tla"] = "0" * 64
    found = "\n".join(problems(content))
    assert f"evidence {first} is not what its digest is of" in found
    assert "1.1, {}: was measured on 1.2" in found
    assert "2.0, {}: measured with tinyflow 2.0, and None installed" in found
    assert "of another ResumeContract.tla than the one here" in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["rows"].pop(0), "model R0: no row of 1.0"),
        (lambda c: c["rows"].append(c["rows"][0]), "model R0: 2 rows of 1.0, and 1 to be there"),
        (lambda c: c["rows"][0].update(models=[]), "defaults: 1 rows of 1.0, and 0 to be there"),
        (
            lambda c: (
                c["rows"][1].update(lacks=c["rows"][2]["lacks"]) or c["rows"][1].pop("evidence")
            ),
            "is known to lack None",
        ),
        (lambda c: c["rows"][2].update(lacks="ImportError: no"), "2.0 lacks ImportError: no, and "),
        (lambda c: c.update(adapter="dbos"), "of adapter dbos, and the study is versions-tiny"),
        (lambda c: c.update(adapter="tea"), "adapter tea is swept over no releases"),
    ],
)
def test_rows_that_are_missing_or_invented_are_found(content, change, said):
    change(content)
    assert any(said in phrase for phrase in problems(content))


def test_a_receipt_of_another_study_is_found(tmp_path):
    kept = {**read_study(RECEIPTS, "versions-langgraph"), "study": "versions-dbos"}
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "versions-dbos.json").write_text(json.dumps(kept))
    assert any("of adapter langgraph, and the study is versions-dbos" in phrase
               for phrase in audit_studies(tmp_path))  # fmt: skip


WHOLE = ("sweeps", "rows", "planes", "poisoned", "cells", "sweep", "digests", "adapter", "skipped")


@pytest.mark.parametrize("study", [*studies.STUDIES])
@pytest.mark.parametrize("spoil", [dict, lambda: dict.fromkeys(WHOLE, None)], ids=["empty", "null"])
def test_a_study_that_is_not_of_its_form_is_named(tmp_path, study, spoil):
    path = tmp_path / "studies" / f"{study}.json"
    path.parent.mkdir()
    path.write_text(json.dumps({**spoil(), "format": 1, "study": study}))
    found = [phrase for phrase in audit_studies(tmp_path) if phrase.startswith(f"{path}: ")]
    assert any("not of the form of this study" in phrase for phrase in found)


def test_the_page_marks_where_a_release_differs_from_the_pinned_one(content):
    lines = page(content).splitlines()
    row = {}
    for line in (line for line in lines if line.startswith("| ")):
        row.setdefault(line.split(" | ")[0].strip("| "), line)
    assert "**" not in row["1.0 (pinned)"] and "40 of 40" in row["1.0 (pinned)"]
    assert "**✗**" in row["1.1"] and "40 of 40" not in row["1.1"].split(" | ")[-1]
    assert "**lacks it: ImportError: " in row["2.0"]


def test_rows_of_other_releases_and_options_stay(content):
    about = {k: v for k, v in content.items() if k not in {"rows", "evidence", "environments"}}
    one = {**content["rows"][1], "version": "1.0", "versions": {"tinyflow": "1.0"}}
    environment = {"1.0": content["environments"]["1.0"]}
    again = content_of(about, [one], {}, environment, content)
    assert [row["version"] for row in again["rows"]] == ["1.0", "1.1", "2.0"]
    assert again["rows"][0]["evidence"] == again["rows"][1]["evidence"]
    assert [*again["evidence"]] == [one["evidence"]]  # and what no row refers to is gone
    # Another set of options is another table; made in another environment, the older row goes.
    other = {**one, "options": {"save": "when-idle"}}
    assert len(list(groups(content_of(about, [other], {}, environment, content)))) == 2
    remade = {"1.0": {"python": "3.11", "packages": ["tinyflow==1.0", "x==1"]}}
    whole = content_of(about, [other], {}, remade, content)
    assert sorted((r["version"], len(r["options"])) for r in whole["rows"]) == [
        ("1.0", 1),
        ("1.1", 0),
        ("2.0", 0),
    ]
    assert [(row["version"], row["options"]) for row in dropped(content, whole)] == [("1.0", {})]
    assert dropped(content, again) == []
    # Rows of another module do not stand beside these.
    moved = {**about, "digests": {}}
    assert len(content_of(moved, [one], content["evidence"], environment, content)["rows"]) == 1


def test_a_sweep_is_a_study(content, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "STUDIES", {"versions-tiny": "replay.sweeps.versions"})
    path = write_study(tmp_path, "versions-tiny", content)
    assert read_study(tmp_path, "versions-tiny")["rows"] == content["rows"]
    assert list(audit_studies(tmp_path)) == []
    path.with_suffix(".md").write_text("better\n")
    assert list(audit_studies(tmp_path)) == [
        f"{path.with_suffix('.md')}: not what {path.name} comes to"
    ]


def test_rows_that_go_with_a_remade_environment_are_said(content, tmp_path, capsys, monkeypatch):
    from mbt.commands.sweep_versions import _keep

    monkeypatch.setitem(studies.STUDIES, "versions-tiny", "replay.sweeps.versions")
    write_study(tmp_path, "versions-tiny", content)
    about = {k: v for k, v in content.items() if k not in {"rows", "evidence", "environments"}}
    one = {**content["rows"][0], "options": {"save": "when-idle"}}
    remade = {"1.0": {"python": "3.11", "packages": ["tinyflow==1.0", "x==1"]}}
    new = content_of(about, [one], content["evidence"], remade, None)
    _keep(tmp_path, "versions-tiny", about, new)
    said = capsys.readouterr().err
    assert "the row of 1.0 (the defaults, model R0 alone) in versions-tiny was of another" in said
    assert said.count("note: ") == 1
    _keep(tmp_path, "versions-tiny", about, new)
    assert not capsys.readouterr().err


def test_the_list_of_sweeps_is_that_of_the_commands(capsys, monkeypatch):
    found = importlib.util.spec_from_file_location("sweeps", RECEIPTS / "sweeps.py")
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)
    assert script.run(["tea"]) == 2
    assert "'tea' is no kind of sweep; there are points, races, versions" in capsys.readouterr().err
    made = []
    monkeypatch.setattr(script, "main", lambda words: made.append(words) or 0)
    assert script.run([]) == 0
    assert len(made) == 5 + 4 + sum(len(swept.forms) for swept in SWEPT.values())
    for words in made:
        assert main([*words[:-3], "--help"]) == 0


def test_releases_are_in_the_order_of_their_numbers():
    assert sorted(["1.1.10", "1.1.3", "1.0.5"], key=version_key) == ["1.0.5", "1.1.3", "1.1.10"]


# -- the committed receipts -----------------------------------------------------------------


def committed(adapter):
    """Options -> release -> row, of a committed sweep, and the sweep."""
    content = read_study(RECEIPTS, f"versions-{adapter}")
    tables = {}
    for row in content["rows"]:
        options = " ".join(f"{name}={value}" for name, value in row["options"].items())
        tables.setdefault(options, {})[row["version"]] = row
    return tables, content


def verdicts(content, table, name):
    return {v: cells(content, row).get(name) for v, row in table.items() if "evidence" in row}


@pytest.mark.parametrize("adapter", SWEPT)
def test_a_committed_sweep_is_sound(adapter):
    _, content = committed(adapter)
    assert list(problems(content)) == []
    assert (RECEIPTS / f"studies/versions-{adapter}.md").read_text() == page(content)


def test_langgraph_releases_differ_in_the_routes_of_a_fork_alone():
    tables, content = committed("langgraph")
    serves_two_values = {"": "✗✗✗✗✗✗", "route=replay": "✗✗✗✓✓✓", "route=update-state": "✓✓✓✓✓✓"}
    for options, expected in {**serves_two_values, "recover=resubmit": "✗✗✗✗✗✗"}.items():
        table = tables[options]
        assert [*table] == ["1.0.5", "1.1.0", "1.1.3", "1.1.10", "1.2.9", "1.2.24"]
        assert "".join(verdicts(content, table, "FD").values()) == expected
        for name in ("PC", "EO", "CV", "CO", "RD"):
            assert len({*verdicts(content, table, name).values()}) == 1, (options, name)


def test_langgraph_forked_by_replay_is_served_the_first_value_then_none_then_its_own():
    tables, content = committed("langgraph")
    came_to = {}
    for version, row in tables["route=replay"].items():
        runs = content["evidence"][row["evidence"]]["runs"]["one crash"].values()
        forks = [fork for run in runs for fork in run["forks"]]
        own = {outcome == [value] for value, outcome, _ in forks}
        came_to[version] = ({effects[1] for _, _, effects in forks}, own)
    served, asked_again = {True, False}, {0}
    assert came_to == {
        "1.0.5": ({1}, served),  # the gated task fired, half of the time with the other value
        "1.1.0": (asked_again, served),
        "1.1.3": (asked_again, served),
        "1.1.10": ({1}, {True}),
        "1.2.9": ({1}, {True}),
        "1.2.24": ({1}, {True}),
    }


def test_crewai_checkpoints_are_not_in_every_release():
    tables, _ = committed("crewai-checkpoint")
    (table,) = tables.values()
    lacking = {version: row["lacks"] for version, row in table.items() if "lacks" in row}
    assert lacking == {
        "1.13.0": "ModuleNotFoundError: No module named 'crewai.state'",
        "1.14.1": "AttributeError: CheckpointConfig has no field restore_from",
    }
    assert len(table) == 8


def test_persist_is_the_same_on_eight_releases_of_crewai():
    tables, content = committed("crewai-persist")
    table = tables["answer=none"]
    assert len(table) == 8 and all("evidence" in row for row in table.values())
    assert len({tuple(cells(content, row).items()) for row in table.values()}) == 1
    assert cells(content, table["1.15.2"])["EO"] == "✗"


def test_pydantic_graph_2_has_no_persistence():
    tables, _ = committed("pydantic-graph")
    said = "ModuleNotFoundError: No module named 'pydantic_graph.persistence'"
    for table in tables.values():
        assert {v: row.get("lacks") for v, row in table.items()} == {
            **dict.fromkeys(["1.105.0", "1.106.0", "1.107.1", "1.107.10"]),
            **dict.fromkeys(["2.0.0", "2.68.0"], said),
        }


@pytest.mark.parametrize("adapter", SWEPT)
def test_the_pinned_release_walks_as_in_its_own_receipt(adapter):
    """In another environment, with other companions: step for step, store by store the same."""
    tables, content = committed(adapter)
    for table in tables.values():
        row = table[content["pin"]]
        options = {**content["defaults"], **row["options"]}
        name = receipt_name("ResumeContract", adapter, options, content["defaults"])
        lines = (RECEIPTS / name / "runs.jsonl").read_text().splitlines()
        kept = {(run["part"], run["trace"]): run_digest(run) for run in map(json.loads, lines)}
        found = content["evidence"][row["evidence"]]
        swept = {
            (part, trace): run["run"]
            for part, runs in found["runs"].items()
            for trace, run in runs.items()
        }
        assert swept and {key: kept.get(key) for key in swept} == swept
