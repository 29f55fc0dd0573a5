"""The committed receipts: whole, of the modules and versions that are here, and as predicted."""

import json
import sys
from pathlib import Path

import pytest

from replay.provenance import file_digest
from replay.receipts import broken_entries
from replay.studies import STUDIES, read_study, study

REPOSITORY = Path(__file__).parent.parent
RECEIPTS = REPOSITORY / "receipts"
sys.path.insert(0, str(RECEIPTS))

import regenerate  # noqa: E402

from adapters.registry import load_adapter, locate, versions_of  # noqa: E402

PARTS = {
    "ResumeContract": [40, 80, 1],
    "R11_ConsumeCount": [1, 56],
    "LangGraphFork": [4],
    "ResumeContractParked": [40],
    "ConsumeRace": [6, 66, 192],
    "TwoGates": [56],
    "ParallelGates": [84],
    "FanOut": [8],
}
ROWS = list(regenerate.rows())


def receipt(folder):
    return json.loads((folder / "receipt.json").read_text())


def test_every_receipt_is_as_the_manifest_says():
    assert broken_entries(RECEIPTS) == []


@pytest.mark.parametrize("row", ROWS, ids=[str(r.folder.relative_to(RECEIPTS)) for r in ROWS])
def test_a_receipt_is_of_what_is_here(row):
    content = receipt(row.folder)
    module, adapter = content["module"], content["adapter"]
    assert row.chosen.items() <= content["options"].items()
    for name, digest in content["digests"].items():
        if name.endswith(".tla"):
            assert file_digest(REPOSITORY / "specs" / name) == digest, (
                f"make receipts: {name} changed"
            )
    installed = versions_of(load_adapter(locate(adapter)))
    assert installed.items() <= content["versions"].items(), "make receipts: other versions"
    runs = [json.loads(line) for line in (row.folder / "runs.jsonl").read_text().splitlines()]
    expected = sum(part["traces"] for part in [*content["parts"], *content["second_pass"]])
    assert len(runs) == expected
    assert [part["traces"] for part in content["parts"]] == PARTS[module][: len(content["parts"])]
    assert not [name for part in content["parts"] for name in part["unsteady"]]


def test_langgraph_fires_twice_a_hundred_times_of_a_hundred():
    content = receipt(RECEIPTS / "R11_ConsumeCount/langgraph/default+R11-effect+repeat=100")
    (part,) = content["parts"]
    assert (content["repeat"], part["unsteady"]) == (100, [])
    assert part["explanation"]["names"] == ["ConcurrentConsume with RaceEffect"]
    failing = {n for n, rule in content["properties"].items() if rule["verdict"] == "violated"}
    assert failing == {"EO", "CO-e", "CO-c"}


def test_the_table_is_made_of_the_receipts_alone():
    assert (RECEIPTS / "TABLE.md").read_text() == regenerate.table()


@pytest.mark.parametrize("name", [*STUDIES])
def test_every_study_is_kept_and_follows_from_its_evidence(name):
    content = read_study(RECEIPTS, name)
    assert [*study(name).problems(content)] == []
    page = (RECEIPTS / "studies" / f"{name}.md").read_text(encoding="utf-8")
    assert page == study(name).page(content)


def test_every_receipt_belongs_to_a_row():
    listed = {row.folder for row in ROWS}
    assert {path.parent for path in RECEIPTS.rglob("receipt.json")} == listed


@pytest.mark.parametrize("adapter", ["reference", "langgraph"])
def test_replaying_a_row_again_writes_the_committed_bytes(tmp_path, adapter):
    from test_replay_command import mbt

    done = mbt(
        *("replay", "specs/ResumeContract.tla", "--adapter", adapter),
        *("--receipts", str(tmp_path)),
    )
    assert done.returncode in {0, 1}, done.stderr
    name = f"ResumeContract/{adapter}/default"
    for file in ("receipt.json", "runs.jsonl"):
        assert (tmp_path / name / file).read_bytes() == (RECEIPTS / name / file).read_bytes()
