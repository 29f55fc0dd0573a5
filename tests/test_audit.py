"""mbt audit: what was changed by hand is found, with file and line."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from kept import COMMITTED, copy_committed

from mbt.cli import main
from replay.audit import same_times
from replay.conformance.figures import audit_page
from replay.receipts import MANIFEST
from replay.rows import read_rows

ROWS = """
[[table]]
title = "The reference engine"
framework = "engine"
mechanism = "log"
modules = ["ResumeContract"]
adapter = "reference"
rows = [{}, { fault = "Replay" }]
"""
RECEIPT = "ResumeContract/reference/fault=Replay/receipt.json"
RUNS = "ResumeContract/reference/fault=Replay/runs.jsonl"
# Table III's row of Replay, and what docs/driving.md says of its tours.
PAGE = """
```console
$ mbt replay specs/ResumeContract.tla --adapter reference --option fault=Replay
...
EO  effect exactly-once   ✗             ✗ in 28 of 40  ✗ in 68 of 80       not judged
one crash        R0         40    248         248  ...
the whole is explained by Replay
```
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder of two of the committed receipts, with its tables."""
    root = tmp_path_factory.mktemp("kept") / "receipts"
    root.mkdir()
    (root / "rows.toml").write_text(ROWS)
    (root / "paper.toml").write_text("rows = []\n")
    copy_committed(root)
    assert main(["conformance", "--write", "--receipts", str(root)]) == 0
    return root


@pytest.fixture
def root(kept, tmp_path):
    """A copy of it to be changed, with a page beside it."""
    shutil.copytree(kept, tmp_path / "receipts")
    (tmp_path / "README.md").write_text(PAGE)
    return tmp_path / "receipts"


@pytest.fixture
def audit(capsys):
    """Audit a folder: exit code, output."""

    def run(root, *words):
        capsys.readouterr()
        code = main(["audit", "--receipts", str(root), *words])
        return SimpleNamespace(code=code, **capsys.readouterr()._asdict())

    return run


def change(root, name, old, new, *, entered=True):
    """Change a file; by default enter it in the manifest, as who knows the manifest would."""
    path = root / name
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1))
    if entered and (root / MANIFEST).read_text().find(f"  {name}\n") > 0:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest = (root / MANIFEST).read_text()
        entered_now = re.sub(rf"^\w+(?=  {re.escape(name)}$)", digest, manifest, flags=re.M)
        (root / MANIFEST).write_text(entered_now)
    return before[: before.index(old)].count("\n") + 1


def test_what_nobody_touched_is_sound(audit, root):
    done = audit(root)
    assert (done.code, done.err) == (0, "")
    assert "0 problems; 2 receipts, 4 digests, 3 lines of figures on 1 pages" in done.out


def test_a_receipt_that_was_changed_is_not_what_the_manifest_says(audit, root):
    change(root, RECEIPT, '"format": 2', '"format":  2', entered=False)
    done = audit(root)
    line = (root / MANIFEST).read_text().split(f"  {RECEIPT}")[0].count("\n") + 1
    assert done.code == 1
    assert f"MANIFEST:{line}: {RECEIPT}: changed since it was written" in done.out


VIOLATED = '"one crash": {"verdict": "violated", '
MUTANTS = [
    # a file, what of it, in whose place, and what is said: verdicts first
    (RECEIPT, VIOLATED, '"one crash": {"verdict": "holds", ', "is holds in one crash, violated at"),
    (RECEIPT, '"verdict": "violated",\n', '"verdict": "holds",\n', "is holds, and violated by its"),
    (RECEIPT, '"R0-01": ', '"R0-99": ', "violated in one crash at R0-99"),
    (RECEIPT, '"traces": 40', '"traces": 41', "41 traces, and 40 runs"),
    (RECEIPT, '"applicable": 248', '"applicable": 240', "240 of 248 steps applicable"),
    (RECEIPT, '{"trace": "R0-01"', '{"trace": "R0-77"', "R0-77 diverges, and is no run"),
    (RUNS, '"ledger":[[0,1,null,1],', '"ledger":[', "were observed, and its ledger holds"),
    (RUNS, '{"kind":"crash"},', "", "0 crashes, and 1 processes that ended by one"),
    (RUNS, '"part":"one crash"', '"part":"no crash"', "of no part of the receipt"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), MUTANTS, ids=[m[3] for m in MUTANTS])
def test_a_receipt_whose_manifest_was_mended_contradicts_itself(audit, root, file, old, new, said):
    change(root, file, old, new)
    done = audit(root)
    assert done.code == 1
    assert "MANIFEST" not in done.out
    (found,) = [line for line in done.out.splitlines() if said in line]
    assert re.search(rf"{re.escape(file)}:\d+: ", found)


def test_a_receipt_of_another_module_is_found(audit, root):
    digest = json.loads((root / RECEIPT).read_text())["digests"]["ResumeContract.tla"]
    line = change(root, RECEIPT, digest, "0" * 64)
    done = audit(root)
    assert done.code == 1
    assert f"receipt.json:{line}: of another ResumeContract.tla than the one here" in done.out


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("TABLE.md", "PC EO CO; 28", "PC EO; 28"),
        ("CONFORMANCE.md", "[U]", "[✓]"),
        ("CONFORMANCE.json", '"label": "U"', '"label": "✓"'),
    ],
)
def test_a_table_that_was_changed_is_found_with_its_line(audit, root, name, old, new):
    line = change(root, name, old, new)
    done = audit(root)
    assert done.code == 1
    assert f"{name}:{line}: not what the receipts come to" in done.out


def test_a_receipt_of_no_row_and_a_row_without_receipt_are_found(audit, root):
    change(root, "rows.toml", '{ fault = "Replay" }', '{ fault = "ForkIgnore" }')
    done = audit(root)
    assert done.code == 1
    assert "ResumeContract/reference/fault=Replay is of no row" in done.out
    assert "fault=ForkIgnore/receipt.json: No such file" in done.out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("28 of 40", "27 of 40"),
        ("248         248", "248         247"),
        ("by Replay", "by ForkIgnore"),
    ],
)
def test_a_figure_of_a_page_that_is_not_the_receipts_is_found(audit, root, old, new):
    page = root.parent / "README.md"
    line = change(root.parent, "README.md", old, new, entered=False)
    done = audit(root)
    assert done.code == 1
    assert re.search(rf"README.md:{line}: .* is not what ResumeContract/reference/", done.out)
    page.write_text(PAGE)
    assert audit(root).code == 0


def test_the_steps_of_one_trace_are_those_of_its_run(root):
    runs = [json.loads(line) for line in (root / RUNS).read_text().splitlines()]
    run = next(run for run in runs if run["trace"] == "R0-01")
    crash = next(n for n, m in enumerate(run["micro"]) if m.get("action") == "CrashRecover")
    first = run["micro"][1]["changed"] | run["micro"][1]["grown"]
    page = root.parent / "steps.md"
    page.write_text(
        "```console\n"
        "$ mbt replay ResumeContract --adapter reference --option fault=Replay --only R0-01\n"
        "   step  process  action  then  what changed\n"
        "·        1        start   held  everything, to its initial value\n"
        "·  1     1        ExecTask held "
        + "\n      ".join(f"{name}={value}" for name, value in first.items())
        + "\n...\n```\n"
    )
    rows = read_rows(root)
    assert audit_page(page, rows) == ([], 2)
    page.write_text(page.read_text().replace("effects=[1, 0, 0]", "effects=[2, 0, 0]"))
    problems, _ = audit_page(page, rows)
    assert len(problems) == 1 and "steps.md:5: R0-01 went otherwise" in problems[0]
    assert crash > 1


def test_a_replay_that_has_no_receipt_is_left_alone(root):
    page = root.parent / "other.md"
    for words in ("--option fault=ForkIgnore", "--cover paths", "--traces x.jsonl"):
        page.write_text(PAGE.replace("--option fault=Replay", words).replace("28", "1"))
        assert audit_page(page, read_rows(root)) == ([], 0)


def test_two_hosts_do_not_write_at_one_time(tmp_path):
    for name, host, time in [("a", "one", "T1"), ("b", "one", "T1"), ("c", "two", "T2")]:
        (tmp_path / f"{name}.json").write_text(json.dumps({"host": host, "started": time}))
    assert list(same_times(tmp_path)) == []
    (tmp_path / "d.json").write_text('{"host": "two",\n "started": "T1"}')
    (found,) = same_times(tmp_path)
    assert found.startswith(f"{tmp_path / 'd.json'}:2: the time of {tmp_path / 'a.json'}")


def test_a_copied_receipt_with_another_host_is_found(audit, root):
    for name, host in [("default", "one"), ("fault=Replay", "two")]:
        volatile = root / "ResumeContract/reference" / name / "volatile.json"
        volatile.write_text(json.dumps({"started": "2026-11-30T10:00:00+00:00", "host": host}))
    done = audit(root)
    assert done.code == 1 and "which is of another host" in done.out


def test_as_json(audit, root):
    change(root, "TABLE.md", "PC EO CO; 28", "PC EO; 28")
    done = audit(root, "--json")
    found = json.loads(done.out)
    assert done.code == 1 and len(found["problems"]) == 1
    assert found["checked"]["receipts"] == 2


def test_the_committed_receipts_are_sound(audit):
    done = audit(COMMITTED)
    assert done.code == 0, done.out
    assert Path(COMMITTED, "CONFORMANCE.md").is_file()
