"""mbt replay as a person meets it: exit codes, messages, receipts, and what Ctrl-C leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replay.receipts import broken_entries

SYSTEMS = Path(__file__).parent / "systems"
SPEC = "specs/ResumeContract.tla"
REPOSITORY = Path(__file__).parent.parent


def mbt(*words, cwd=REPOSITORY, **more):
    return subprocess.run(
        [sys.executable, "-m", "mbt", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **more,
    )


def replay(tmp_path, *words, adapter="reference", **more):
    receipts = tmp_path / "receipts"
    return mbt("replay", SPEC, "--adapter", adapter, "--receipts", str(receipts), *words, **more)


def test_a_conforming_system_ends_with_0_and_says_under_which_options(tmp_path):
    done = replay(tmp_path, "--model", "R0")
    assert done.returncode == 0, done.stderr
    assert "0 of 40" in done.stdout and "86 of 86" in done.stdout
    assert "fault=none" in done.stdout and "Other forms: " in done.stdout
    assert done.stderr == ""


def test_a_diverging_system_ends_with_1_and_says_how_to_repeat_it(tmp_path):
    done = replay(tmp_path, "--model", "R0", "--option", "fault=Replay")
    assert done.returncode == 1
    assert "28 of 40" in done.stdout
    assert "after CrashRecover the model has pc = 3; the system showed pc = 1" in done.stdout
    command = next(line.split() for line in done.stdout.splitlines() if "--only" in line)
    assert command[:2] == ["mbt", "replay"]
    again = replay(tmp_path, *command[3:])
    assert again.returncode == 1
    assert f"--only {command[-1]}" in again.stdout and "✗" in again.stdout


def test_json_is_the_receipt(tmp_path):
    done = replay(tmp_path, "--model", "R3", "--json")
    printed = json.loads(done.stdout)
    (file,) = (tmp_path / "receipts").rglob("receipt.json")
    assert printed == json.loads(file.read_text())
    assert printed["parts"][0]["traces"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--adapter", "lang"], "unknown adapter 'lang'; known: "),
        (["--adapter", "no.py:A"], "no.py: no such file"),
        (["--model", "R77"], "R77"),
        (["--cover", "everything"], "unknown cover 'everything'; known: states, transitions"),
        (["--model", "R0", "--cover", "counterexample"], "model R0 has no counterexample"),
        (["--option", "fault"], "write it as NAME=VALUE"),
        (["--option", "falt=Replay"], "has no option 'falt'; known: fault"),
        (["--option", "fault=Repaly"], "unknown fault 'Repaly'; known: none, Replay"),
        (["--option", "rearm=maybe"], "rearm is one of no, yes"),
        (["--model", "R0", "--only", "R0-99"], "no trace is named 'R0-99'"),
        (["--traces", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_wrong_use_is_one_clear_message_and_2(tmp_path, words, message):
    done = replay(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "receipts").exists()


def test_a_corrupt_file_of_traces_is_named_with_its_line(tmp_path):
    good = tmp_path / "good.jsonl"
    assert (
        mbt(
            "traces", SPEC, "--model", "R3", "--cover", "counterexample", "-o", str(good)
        ).returncode
        == 0
    )
    done = replay(tmp_path, "--traces", str(good))
    assert done.returncode == 0, done.stderr
    bad = tmp_path / "bad.jsonl"
    bad.write_text(good.read_text() + good.read_text()[:100] + "\n")
    done = replay(tmp_path, "--traces", str(bad))
    assert done.returncode == 2
    assert f"{bad}:2: " in done.stderr


def test_traces_of_another_module_are_refused(tmp_path):
    file = tmp_path / "t.jsonl"
    mbt("traces", SPEC, "--model", "R3", "--cover", "counterexample", "-o", str(file))
    file.write_text(file.read_text().replace('"ResumeContract"', '"Other"'))
    done = replay(tmp_path, "--traces", str(file))
    assert done.returncode == 2
    assert "is of module Other, not of ResumeContract" in done.stderr


def test_a_framework_that_is_not_installed_names_its_extra(tmp_path):
    adapter = tmp_path / "absent.py"
    adapter.write_text(
        "from adapters.reference import Reference\n"
        "class Absent(Reference):\n"
        "    extra = 'langgraph'\n"
        "    @classmethod\n"
        "    def prepare(cls, workflow, options):\n"
        "        import no_such_framework\n"
    )
    done = replay(tmp_path, "--model", "R3", adapter=f"{adapter}:Absent")
    assert done.returncode == 2
    assert "No module named 'no_such_framework'" in done.stderr
    assert 'pip install "tla-mbt[langgraph]"' in done.stderr


def test_a_system_of_which_nothing_is_seen_is_no_conforming_one(tmp_path):
    adapter = tmp_path / "queue.py"  # a name that the library has, too
    adapter.write_text(
        "from adapters.reference import Reference\n"
        "class Unseen(Reference):\n"
        "    def observe(self): return {}\n"
    )
    done = replay(tmp_path, "--model", "R3", adapter=f"{adapter}:Unseen")
    assert done.returncode == 0, "its ledger is seen all the same"
    line = next(text for text in done.stdout.splitlines() if text.startswith("not observed"))
    assert "waiting" in line and "effects" not in line and "pc" not in line
    done = mbt(
        *("replay", "examples/bounded_queue/BoundedQueue.tla", "--adapter"),
        *(f"{SYSTEMS / 'misbehaving.py'}:SeesNothing", "--receipts", str(tmp_path / "receipts")),
    )
    assert done.returncode == 2, done.stdout
    assert "observe() returned none of the model's variables" in done.stderr
    assert not list(tmp_path.rglob("BoundedQueue"))


def test_an_adapter_without_a_method_for_an_action_is_told_which(tmp_path):
    done = replay(tmp_path, "--model", "R3", adapter=f"{SYSTEMS / 'misbehaving.py'}:Blind")
    assert done.returncode == 2
    assert "Blind has no method Consume" in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Hangs", "did not come back"),
        ("Dies", "died unasked"),
        ("SpeaksRubbish", "spoke rubbish"),
        ("Raises", "the adapter is wrong"),
    ],
)
def test_broken_machinery_is_3_and_never_a_verdict(tmp_path, name, message):
    adapter = f"{SYSTEMS / 'misbehaving.py'}:{name}"
    done = replay(tmp_path, "--model", "R3", "--limit", "1", adapter=adapter)
    assert done.returncode == 3, done.stderr
    assert message in done.stderr and "R3-counterexample" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.rglob("receipt.json"))


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopping_it_leaves_no_process_and_no_half_written_receipt(tmp_path, stop):
    receipts = tmp_path / "receipts"
    adapter = f"{SYSTEMS / 'misbehaving.py'}:Hangs"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "mbt", "replay", SPEC, "--adapter", adapter),
            *("--model", "R3", "--receipts", str(receipts)),
        ],
        cwd=REPOSITORY,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("mbt-*/run-*/log.txt")):
        assert time.monotonic() < deadline and process.poll() is None, "it never came to hang"
        time.sleep(0.05)
    children = _descendants(process.pid)
    assert children
    process.send_signal(stop)
    _, said = process.communicate(timeout=30)
    expected = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[stop]
    assert process.returncode == expected, said
    assert "Traceback" not in said
    deadline = time.monotonic() + 20
    while _running(children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(children)
    assert not list(receipts.rglob("*.json*")) if receipts.exists() else True
    if stop != signal.SIGKILL:
        assert not list(tmp_path.glob("mbt-*"))


def _descendants(pid):
    found, frontier = set(), {pid}
    while frontier:
        parents, frontier = frontier, set()
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[1]) in parents:
                    frontier.add(int(folder.name))
        found |= frontier
    return found


def _running(pids):
    alive = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            alive.add(pid)
    return alive


def test_two_replays_write_the_same_bytes_whatever_the_jobs(tmp_path):
    stable = []
    for jobs in ("1", "2"):
        root = tmp_path / jobs
        done = replay(root, "--model", "R0", "--option", "fault=Replay", "--jobs", jobs)
        assert done.returncode == 1
        stable.append(
            {
                file.relative_to(root): file.read_bytes()
                for name in ("receipt.json", "runs.jsonl", "MANIFEST")
                for file in root.rglob(name)
            }
        )
        assert not broken_entries(root / "receipts")
    assert stable[0] == stable[1] and len(stable[0]) == 3


def test_a_receipt_holds_wait_status_ordinals_ledger_rows_and_digests(tmp_path):
    replay(tmp_path, "--model", "R0", "--only", "R0-13", "--option", "fault=Replay")
    (folder,) = (p.parent for p in tmp_path.rglob("runs.jsonl"))
    run = json.loads((folder / "runs.jsonl").read_text())
    assert run["deaths"] == [{"process": 1, "step": 3, "form": "kill", "status": signal.SIGKILL}]
    rows = [e for m in run["micro"] for e in m.get("events", []) if e["kind"] == "effect"]
    assert rows[:2] == [
        {"kind": "effect", "task": 1},
        {"kind": "effect", "task": 2, "value": "v1"},
    ]
    content = json.loads((folder / "receipt.json").read_text())
    assert {
        "ResumeContract.tla",
        "ResumeContract.toml",
        "ResumeContractObserved.tla",
        "ResumeContract_R0.cfg",
        "tla2tools.jar",
    } <= set(content["digests"])
    volatile = json.loads((folder / "volatile.json").read_text())
    stable = (folder / "runs.jsonl").read_text() + (folder / "receipt.json").read_text()
    assert len(volatile["process_ids"]["R0-13"]) == 3
    assert str(tmp_path) not in stable and volatile["started"] not in stable


def test_a_changed_receipt_is_noticed(tmp_path):
    replay(tmp_path, "--model", "R3")
    root = tmp_path / "receipts"
    assert broken_entries(root) == []
    (file,) = root.rglob("runs.jsonl")
    name = file.relative_to(root).as_posix()
    file.write_text(file.read_text().replace("v1", "v2"))
    assert broken_entries(root) == [f"{name}: changed since it was written"]
    file.unlink()
    assert broken_entries(root) == [f"{name}: missing"]


@pytest.mark.parametrize(("code", "succeeds"), [(0, True), (1, True), (2, False), (3, False)])
def test_make_replay_fails_on_wrong_use_and_broken_machinery_alone(tmp_path, code, succeeds):
    stand_in = tmp_path / "mbt"  # a stand-in for mbt, which ends as it is told to
    stand_in.write_text(f"#!/bin/sh\nexit {code}\n")
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["make", "--assume-old", ".venv/.ready", "replay", f"MBT={stand_in}"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    assert (done.returncode == 0) == succeeds


@pytest.fixture
def queue(tmp_path):
    """A copy of the bounded queue, to be spoilt."""
    source = REPOSITORY / "examples" / "bounded_queue"
    return Path(shutil.copytree(source, tmp_path / "queue"))


def test_a_response_of_a_module_without_program_points_is_refused(queue):
    """It would be dropped each time, and the replay conform though nothing was done."""
    toml = queue / "BoundedQueue.toml"
    text = toml.read_text().replace('kind = "stimulus"\ndelivery = "call"', 'kind = "response"', 1)
    toml.write_text(text)
    done = mbt("replay", "BoundedQueue.tla", "--adapter", "python_queue.py:PythonQueue", cwd=queue)
    assert done.returncode == 2
    assert "is a response, but no `point` says where" in done.stderr


def test_a_path_that_leads_nowhere_is_told_with_its_file(queue):
    toml = queue / "BoundedQueue.toml"
    toml.write_text(toml.read_text().replace("given[-1]", "given[-1].kye"))
    done = mbt("replay", "BoundedQueue.tla", "--adapter", "python_queue.py:PythonQueue", cwd=queue)
    assert done.returncode == 2
    assert "BoundedQueue.toml: a parameter's path leads nowhere: given[-1].kye" in done.stderr


def test_a_model_too_large_to_hold_is_refused_before_anything_is_explored(tmp_path):
    traces = tmp_path / "r8.jsonl"
    words = ("--cover", "simulation", "--count", "2", "--depth", "6", "-o", str(traces))
    assert mbt("traces", SPEC, "--model", "R8", *words).returncode == 0
    done = replay(tmp_path, "--traces", str(traces))
    assert done.returncode == 2
    assert "the state graph of R8 is too large to be held" in done.stderr
