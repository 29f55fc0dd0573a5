"""What a receipt holds is read back as it was written, and a damaged one is refused."""

import json
import shutil
from pathlib import Path

import pytest

from replay.receipts import run_data
from replay.reopened import reopen
from replay.stored import read_runs
from tracegen.errors import MbtError

RECEIPTS = Path(__file__).parent.parent / "receipts"
ROWS = [
    "ResumeContract/crewai/re_answer=no",  # steps that were not delivered, a gate armed again
    "ResumeContract/llamaindex/save=idle",  # refusals
    "R11_ConsumeCount/langgraph/default",  # races, branches
    "ResumeContractParked/reference/parking=volatile",
]


@pytest.mark.parametrize("row", ROWS)
def test_runs_come_back_as_they_were_written(row):
    lines = (RECEIPTS / row / "runs.jsonl").read_text().splitlines()
    runs = read_runs(RECEIPTS / row)
    assert len(runs) == len(lines)
    for line, run in zip(lines, runs, strict=True):
        assert json.loads(json.dumps(run_data(run.part, run.record))) == json.loads(line)


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    for text in ("{}", "[1]", "null", '{"part": "one crash"}', "not JSON"):
        path.write_text(text + "\n")
        with pytest.raises(MbtError, match=r"runs\.jsonl:1: not a run of a receipt"):
            read_runs(tmp_path)


def test_the_traces_of_a_receipt_are_made_again(checker):
    receipt = reopen(RECEIPTS / "ResumeContract/reference/fault=Replay")
    for run in (receipt.run("R0-01"), receipt.run("R3-counterexample")):
        trace = receipt.trace(run, checker)
        assert (trace.name, trace.digest) == (run.record.trace, run.record.digest)
    receipt = reopen(RECEIPTS / "ResumeContract/langgraph/address=thread")
    hidden = {part["name"] for part in receipt.content["second_pass"]}
    again = next(run for run in receipt.runs if run.part in hidden)
    assert receipt.trace(again, checker).digest == again.record.digest


def test_what_is_no_receipt_is_refused(tmp_path):
    with pytest.raises(MbtError, match="name the folder of a receipt"):
        reopen(tmp_path)
    kept = tmp_path / "kept"
    shutil.copytree(RECEIPTS / "ResumeContract/reference/default", kept)
    content = json.loads((kept / "receipt.json").read_text())
    for change, message in [
        ({"format": 1}, "replay it again"),
        ({"module": "Nowhere"}, "name its file with --spec"),
        ({"module": "../ResumeContract"}, "name its file with --spec"),
    ]:
        (kept / "receipt.json").write_text(json.dumps(content | change))
        with pytest.raises(MbtError, match=message):
            reopen(kept)
