"""A crash's store is recovered from twice, once in a copy, and the decisions are compared."""

import multiprocessing
import os
import signal
import sqlite3

import pytest
from lab import ONE_CRASH, Lab

from adapters.copies import copy_store, moved


@pytest.fixture(scope="module")
def lab():
    return Lab("ResumeContract")


@pytest.mark.parametrize(
    ("chosen", "differ"),
    [
        ({}, 0),
        ({"fault": "Replay"}, 0),
        # By ordinal of the recovery (rule 16): the run's own decides first, its double second.
        ({"fault": "NondetRecovery", "decisions": "skip,reexec"}, 28),
        ({"fault": "NondetRecovery", "decisions": "reexec,reexec"}, 0),
    ],
)
def test_recoveries_from_one_store_are_compared(lab, chosen, differ):
    """28 of R0's 40 traces crash, once each (driving.md: 28 of 40 diverge under Replay)."""
    found = lab.replay("reference", parts=[ONE_CRASH], **chosen)
    (result,) = found.parts
    assert result.recovered_twice == 28
    assert len(result.decided_otherwise) == differ
    if differ:
        assert not result.diverging  # the model shows one crash nothing of it
        assert not found.conforms


def test_a_memory_only_store_has_no_copy(lab):
    trace = next(t for t in lab.parts[ONE_CRASH].traces if "CrashRecover" in _actions(t))
    record = lab.walk("langgraph", trace, saver="memory")
    assert [death.form for death in record.deaths] == ["exception"]
    assert record.doubles == ()


def _actions(trace):
    return {step.action for step in trace.steps}


def _write_and_die(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (v)")
    connection.execute("INSERT INTO t VALUES ('durable')")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_copy_holds_what_a_killed_process_left_in_the_log_beside(tmp_path):
    """Rule 17: as files, database and -wal are not what the database holds."""
    source = tmp_path / "run"
    (source / "deep").mkdir(parents=True)
    writer = multiprocessing.get_context("spawn").Process(
        target=_write_and_die, args=(source / "store.db",)
    )
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    assert (source / "store.db-wal").stat().st_size
    (source / "deep" / "state.json").write_text(f'{{"location": "{source}/deep"}}')
    (source / "run-wal").write_text("of no database")
    for name in ("ledger.db", "log.txt"):
        (source / name).write_text("the run's own")
    copy_store(source, tmp_path / "copy")
    assert sorted(
        str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")
    ) == ["deep", "deep/state.json", "run-wal", "store.db"]
    moved_text = (tmp_path / "copy" / "deep" / "state.json").read_text()
    assert moved_text == f'{{"location": "{tmp_path}/copy/deep"}}'
    with sqlite3.connect(tmp_path / "copy" / "store.db") as copied:
        assert copied.execute("SELECT v FROM t").fetchall() == [("durable",)]
    with sqlite3.connect(source / "store.db") as kept:  # nor was the source touched
        assert kept.execute("SELECT v FROM t").fetchall() == [("durable",)]


def test_paths_of_the_run_lead_into_the_copy(tmp_path):
    run, copy = tmp_path / "run-1", tmp_path / "run-1-copy"
    notes = {"file": f"{run}/a.json", "list": [str(run), 3, None], "other": f"{run}0/a.json"}
    assert moved(notes, run, copy) == {
        "file": f"{copy}/a.json",
        "list": [str(copy), 3, None],
        "other": f"{run}0/a.json",
    }
