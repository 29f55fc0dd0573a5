"""Races at real times, on one host and on two: what is counted, and that nothing decides there."""

import copy
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from adapters import namespaces
from adapters.namespaces import (
    NEAR,
    RELAY_PORT,
    NoNamespaces,
    enter,
    inside,
    relay,
    two_hosts,
)
from mbt.cli import main, mbt
from replay.races import race_hosts, race_timing
from replay.races.frequencies import became, counted, figures, margin, wilson
from replay.races.race_plots import draw
from replay.races.race_timing import Shape, planned
from replay.races.timed_races import GATED, STOCK, drawn, plane, repetition

needs = pytest.mark.framework
STUDIES = Path(__file__).parent.parent / "receipts" / "studies"


# --- statistics


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_wilsons(count, of, low, high):
    """Method 3 in table I of Newcombe, Statistics in Medicine 17 (1998) 857-872."""
    assert wilson(count, of) == pytest.approx((low, high), abs=5e-5)
    assert wilson(of - count, of) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_of_nothing_nothing_is_known():
    assert wilson(0, 0) == (0.0, 1.0)
    assert counted(0, 0) == "0 of 0 (0.00 to 1.00)"


RACED = {
    # Called 10 ms apart, in the body for 25 and 30 ms: the body outlasts by 15.
    "racers": [[0.0, 0.0, 25.0, 40.0, 1, "complete"], [10.0, 10.0, 30.0, 50.0, 1, "complete"]],
    "effects": [1, 2],
}
LATE = {
    "racers": [[0.0, 0.0, 5.0, 20.0, 1, "complete"], [90.0, 90.0, None, 8.0, 0, "complete"]],
    "effects": [1, 1],
}
REFUSED = {
    "racers": [
        [0.0, 0.0, None, None, 0, "refused: RemitConsumeConflict"],
        [0.0, 1.0, 5.0, 20.0, 1, "complete"],
    ],
    "effects": [1, 1],
}


def test_figures_by_hand():
    assert [margin(each) for each in (RACED, LATE, REFUSED)] == [15.0, -85.0, 4.0]
    assert [became(racer) for racer in LATE["racers"] + REFUSED["racers"]] == [
        *("fired", "inert", "refused", "fired")
    ]
    assert figures([RACED, LATE, REFUSED]) == {
        "repetitions": 3,
        "racers": 6,
        "fires": 4,
        "fired": 4,
        "refused": 1,
        "inert": 1,
        "errors": {"refused: RemitConsumeConflict": 1},
        "more than once": 1,
        "by all": 1,
        "apart": [10.0, 90.0],
        "outlasts by": [-85.0, 4.0],
        "outlasted": 2,
        "outlasted, by all": 1,
    }


def test_a_racer_that_fired_and_was_then_refused_has_fired():
    assert became([0.0, 0.0, 5.0, None, 1, "refused: OperationalError"]) == "fired"
    found = figures([{"racers": [[0, 0, 5, None, 1, "refused: OperationalError"]]}])
    assert (found["fired"], found["refused"]) == (1, 0)
    assert found["errors"] == {"refused: OperationalError": 1}


def test_offsets_are_drawn_from_the_seed():
    assert drawn("a", 3, 0.0) == [0.0, 0.0, 0.0]
    assert drawn("a", 8, 25.0) == drawn("a", 8, 25.0) != drawn("b", 8, 25.0)
    assert all(0 <= offset <= 25 for offset in drawn("a", 100, 25.0))
    cells = [cell for cell in Shape().sweep() if cell["racers"] == 4 and cell["jitter"]]
    assert len({tuple(planned(cell, n)) for cell in cells for n in range(3)}) == 3 * len(cells)
    assert planned({"offset": 1.5, "lasts": 25.0}, 0) == [0.0, 37.5]


# --- races


def check(found, racers):
    """What is so at whatever times the racers came."""
    assert found["effects"][0] == 1
    assert len(found["racers"]) == racers
    assert sum(racer[4] for racer in found["racers"]) == found["effects"][1] >= 1
    by = figures([found])
    assert by["fired"] + by["refused"] + by["inert"] == racers


@needs("langgraph")
def test_racers_of_a_body_that_is_long():
    with plane(STOCK, "sqlite") as raced:
        found = repetition(raced, raced.host.folder / "run", [0.0, 5.0], 300.0)
    check(found, 2)
    assert [racer[0] for racer in found["racers"]] == [0.0, 5.0]
    assert all(racer[2] is None or racer[2] >= 300 for racer in found["racers"])


@needs("langgraph")
@needs("remit")
def test_under_the_gate_one_is_served_whenever_they_come():
    with plane(GATED, "sqlite") as raced:
        found = repetition(raced, raced.host.folder / "run", [0.0] * 3, 300.0)
    check(found, 3)
    assert found["effects"] == [1, 1]
    assert figures([found])["errors"].keys() <= {"refused: RemitConsumeConflict"}


@needs("langgraph")
@needs("remit")
def test_the_command_measures_what_it_is_asked_for(tmp_path, capsys):
    chosen = "--k 3 --jitter 2 --dose 4 --backend sqlite --repetitions 1"
    arguments = ["race", "timing", *chosen.split(), "--plot", str(tmp_path), "--json"]
    assert main(arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert [(c["kind"], c["racers"], c["lasts"]) for c in content["sweep"]] == [
        *((STOCK, 3, 0.0), (STOCK, 3, 4.0), (GATED, 3, 4.0))
    ]
    assert [cell["offset"] for cell in content["response"]] == [0.0, 0.5, 1.0, 1.5, 2.0, 4.0]
    for cell in content["sweep"]:
        check(cell["repetitions"][0], 3)
    assert content["versions"]["langgraph"]
    assert len([*tmp_path.iterdir()]) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["timing", "--k", "1"],
        ["timing", "--k", "65"],
        ["timing", "--dose", "0"],
        ["timing", "--dose", "nan"],
        ["timing", "--jitter", "-1"],
        ["timing", "--backend", "memory"],
        ["timing", "--repetitions", "0"],
        ["timing", "--k", "2", "--write"],
        ["hosts", "--repetitions", "3", "--write"],
    ],
)
def test_wrong_use(arguments, tmp_path, capsys):
    assert main(["race", *arguments, "--receipts", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["timing", "hosts"])
def test_the_help_says_that_it_decides_nothing(name):
    text = " ".join(CliRunner().invoke(mbt, ["race", name, "--help"]).output.split())
    assert "never verdicts" in text


# --- the receipt, its page and its pictures


@pytest.fixture
def kept():
    return json.loads((STUDIES / "race-timing.json").read_text())


def test_the_kept_receipt_follows_from_its_repetitions(kept):
    assert not [*race_timing.problems(kept)]
    assert "no verdicts" in race_timing.page(kept)


def _fire(content):
    content["sweep"][0]["repetitions"][0]["racers"][0][4] += 1


def _drop(content):
    del content["sweep"][3]


def _shorten(content):
    content["response"][2]["repetitions"].pop()


def _replan(content):
    content["sweep"][1]["repetitions"][0]["racers"][0][0] += 1


def _boast(content):
    content["response"][0]["comes to"]["by all"] = 0
    content["response"][-1]["comes to"]["by all"] = 10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_fire, "did not fire what the ledger holds"),
        (_drop, "not the cells that the study names"),
        (_shorten, "9 repetitions, not 10"),
        (_replan, "not to call when the seed has it"),
        (_boast, "its figures do not follow"),
    ],
)
def test_a_receipt_that_was_changed_is_found_out(kept, change, said):
    change(kept)
    assert any(said in problem for problem in race_timing.problems(kept))


def test_pictures_are_the_same_for_the_same_receipt(kept, tmp_path):
    first, second = (draw(kept, tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert {path.suffix for path in first} == {".svg", ".png"}
    drawn_cells = [
        element.text
        for element in ElementTree.parse(tmp_path / "a" / "race-saturation.svg").iter()
        if element.tag.endswith("text")
    ]
    for cell in kept["sweep"]:
        mean = sum(each["effects"][1] for each in cell["repetitions"]) / 10
        assert f"{mean:.1f}" in drawn_cells


# --- two hosts


def test_the_kept_receipt_of_two_hosts_follows_from_its_repetitions():
    kept = json.loads((STUDIES / "race-hosts.json").read_text())
    assert not [*race_hosts.problems(kept)]
    assert "no verdicts" in race_hosts.page(kept)
    changed = copy.deepcopy(kept)
    if kept["skipped"]:
        changed["cells"] = [{}]
    else:
        changed["cells"][0]["repetitions"][0]["effects"][1] += 1
    assert [*race_hosts.problems(changed)]


def test_without_root_it_is_skipped_and_says_so(monkeypatch):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    content = race_hosts.measure()
    assert content["skipped"] == "network namespaces need root"
    assert "network namespaces need root" in race_hosts.page(content)
    assert not [*race_hosts.problems(content)]


def test_what_was_skipped_replaces_no_receipt(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert main(["race", "hosts", "--write", "--receipts", str(tmp_path)]) == 0
    assert "network namespaces need root" in capsys.readouterr().out
    assert not [*tmp_path.glob("studies/*")]


def test_without_the_programs_it_is_skipped_and_says_so(monkeypatch):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 0)
    monkeypatch.setattr(namespaces.shutil, "which", lambda name: None)
    assert race_hosts.measure()["skipped"].startswith("the program ip is missing")


def test_what_the_kernel_refuses_is_said(monkeypatch):
    def refuse():
        raise PermissionError

    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 0)
    monkeypatch.setattr(namespaces.shutil, "which", lambda name: name)
    monkeypatch.setattr(namespaces, "_leave_network", refuse)
    assert "refuses" in race_hosts.measure()["skipped"]


@pytest.fixture
def hosts():
    try:
        with two_hosts() as found:
            yield found
    except NoNamespaces as error:
        pytest.skip(str(error))


def test_hosts_reach_each_other_after_a_delay_and_nobody_else(hosts, tmp_path):
    echo = socket.socket(socket.AF_UNIX)
    echo.bind(str(tmp_path / "echo"))
    echo.listen()
    own = Path("/proc/thread-self/ns/net").readlink()

    def answer():
        with echo.accept()[0] as side:
            while heard := side.recv(100):
                side.sendall(heard)

    answering = threading.Thread(target=answer)
    answering.start()
    with inside(hosts.near), relay(tmp_path / "echo", 0.02) as address:
        assert address == f"host={NEAR} port={RELAY_PORT}"
        enter(hosts.far)
        with socket.create_connection((NEAR, RELAY_PORT), timeout=30) as side:
            began = time.monotonic()
            side.sendall(b"x")
            assert side.recv(10) == b"x"
            assert time.monotonic() - began >= 0.04
        with pytest.raises(OSError, match="unreachable"), socket.socket() as outside:
            outside.connect(("192.0.2.1", 80))
        answering.join(30)
    echo.close()
    assert not answering.is_alive()
    assert Path("/proc/thread-self/ns/net").readlink() == own


def test_hosts_are_gone_afterwards_however_it_ends(hosts):
    """In a process of its own, which is killed while it has them."""
    code = (
        "import time; from adapters.namespaces import two_hosts\n"
        "with two_hosts() as hosts:\n"
        "    print(hosts.near.parts[2], hosts.far.parts[2], flush=True); time.sleep(60)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    holders = [Path("/proc") / pid for pid in driver.stdout.readline().split()]
    driver.kill()
    driver.wait()
    driver.stdout.close()
    until = time.monotonic() + 30
    while any(map(_lives, holders)) and time.monotonic() < until:
        time.sleep(0.01)
    assert len(holders) == 2
    assert not any(map(_lives, holders))


def _lives(process):
    """Whether a process is there and no zombie that waits for whoever adopted it."""
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except OSError:
        return False


@needs("langgraph")
@needs("remit")
def test_two_racers_on_two_hosts(hosts):
    found = race_hosts.measure(1)
    assert found["skipped"] is None
    for cell in found["cells"]:
        each = cell["repetitions"][0]
        check(each, 2)
        assert each["trips"][1] >= 2 * race_hosts.DELAY
    stock, gated, _ = found["cells"]
    assert gated["repetitions"][0]["effects"] == [1, 1]
    assert stock["comes to"]["errors"] == {}
