"""Process groups are killed whole, and an AOT cache is made once or done without."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tracegen.errors import MachineryError
from tracegen.jvm import Processes, aot_cache, java_command, supports_aot
from tracegen.tools import Tool, Tools

# A process that starts another one, says who that is, and waits for it.
PARENT = ["/bin/sh", "-c", "sleep 60 & echo $!; wait"]


def is_alive(number: int) -> bool:
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_dead(number: int) -> None:
    end = time.monotonic() + 10
    while is_alive(number):
        assert time.monotonic() < end, f"process {number} outlived its group"
        time.sleep(0.01)


def test_a_process_that_ends_by_itself(tmp_path):
    seen: list[str] = []
    with Processes() as processes:
        ended = processes.run(
            ["/bin/sh", "-c", "pwd; echo $LC_ALL$JAVA_TOOL_OPTIONS; echo bad >&2; exit 7"],
            folder=tmp_path,
            on_line=seen.append,
        )
    assert ended.code == 7
    assert ended.stdout == f"{tmp_path}\nC.UTF-8\n" == "".join(seen)
    assert ended.stderr == "bad\n"
    assert not ended.timed_out


def test_a_timeout_kills_the_whole_group(tmp_path):
    with Processes() as processes:
        ended = processes.run(PARENT, folder=tmp_path, timeout_s=0.3)
    assert (ended.code, ended.timed_out) == (-9, True)
    assert 0.3 <= ended.seconds < 10
    wait_until_dead(int(ended.stdout))


def test_what_a_process_leaves_behind_is_killed(tmp_path):
    with Processes() as processes:
        ended = processes.run(["/bin/sh", "-c", "sleep 60 >/dev/null & echo $!"], folder=tmp_path)
    assert ended.code == 0
    wait_until_dead(int(ended.stdout))


def test_leaving_the_work_ends_runs_in_other_threads(tmp_path):
    started, ends = threading.Event(), []
    lines: list[str] = []

    def work(processes: Processes) -> None:
        def on_line(line: str) -> None:
            lines.append(line)
            started.set()

        ends.append(processes.run(PARENT, folder=tmp_path, on_line=on_line))

    with pytest.raises(KeyboardInterrupt), Processes() as processes:
        thread = threading.Thread(target=work, args=(processes,))
        thread.start()
        assert started.wait(10)
        raise KeyboardInterrupt
    thread.join(10)
    assert [ended.code for ended in ends] == [-9]
    wait_until_dead(int(lines[0]))
    with pytest.raises(MachineryError, match="broken off"):
        processes.run(PARENT, folder=tmp_path)


def test_an_interrupt_kills_the_run_that_it_falls_into(tmp_path):
    numbers: list[int] = []

    def interrupt(line: str) -> None:
        numbers.append(int(line))
        raise KeyboardInterrupt

    with Processes() as processes, pytest.raises(KeyboardInterrupt):
        processes.run(PARENT, folder=tmp_path, on_line=interrupt)
    wait_until_dead(numbers[0])


def test_what_cannot_be_started(tmp_path):
    with Processes() as processes, pytest.raises(MachineryError, match="cannot start /nowhere"):
        processes.run(["/nowhere"], folder=tmp_path)


def test_each_run_has_its_own_folder_for_temporary_files(checker, tmp_path):
    command = java_command(checker["tools"], "tlc2.TLC", scratch=tmp_path, memory_mb=100)
    assert f"-Djava.io.tmpdir={tmp_path}" in command
    assert "-Xmx100m" in command


def fake_tools(folder: Path, script: str, version: str = "25.0.2") -> Tools:
    """Tools whose Java is a script; `$CACHE` in it is the file that it is told to write."""
    java = folder / "java"
    find = 'for a; do case "$a" in -XX:AOTCacheOutput=*) CACHE="${a#*=}";; esac; done\n'
    java.write_text(f"#!/bin/sh\n{find}{script}\n")
    java.chmod(0o755)
    tool = Tool(java, version, "0" * 64, "a test")
    return Tools(java=tool, tlc=replace(tool, version="none"))


def test_an_aot_cache_is_made_once(tmp_path):
    tools = fake_tools(tmp_path, f'echo trained > "$CACHE"; echo >> {tmp_path}/runs')
    with Processes() as processes:
        paths = {aot_cache(tools, tmp_path / "aot", lambda _: [], processes) for _ in range(3)}
    (made,) = paths
    assert made is not None
    assert made.read_text() == "trained\n"
    assert (tmp_path / "runs").read_text() == "\n"
    assert not list((tmp_path / "aot").glob("*.partial"))


def test_a_training_that_fails_is_not_tried_again(tmp_path):
    tools = fake_tools(tmp_path, f"echo >> {tmp_path}/runs; exit 1")
    with Processes() as processes:
        for _ in range(3):
            assert aot_cache(tools, tmp_path / "aot", lambda _: [], processes) is None
    assert (tmp_path / "runs").read_text() == "\n"


def test_while_another_trains_one_does_without(tmp_path):
    tools = fake_tools(
        tmp_path,
        f'mkfifo {tmp_path}/in; echo > {tmp_path}/on; read x < {tmp_path}/in; echo t > "$CACHE"',
    )
    (tmp_path / "on").touch()
    made: list[Path | None] = []
    with Processes() as processes:
        training = threading.Thread(
            target=lambda: made.append(aot_cache(tools, tmp_path / "aot", lambda _: [], processes))
        )
        training.start()
        while not (tmp_path / "on").read_text():
            time.sleep(0.01)
        assert aot_cache(tools, tmp_path / "aot", lambda _: [], processes) is None
        (tmp_path / "in").write_text("go\n")
        training.join(10)
    assert made[0] is not None


def test_java_that_makes_no_aot_cache_in_one_step(tmp_path):
    tools = fake_tools(tmp_path, "exit 1", version="21.0.4")
    assert not supports_aot(tools.java)
    with Processes() as processes:
        assert aot_cache(tools, tmp_path / "aot", lambda _: [], processes) is None
    assert not (tmp_path / "aot").exists()


def test_a_cache_folder_that_cannot_be_written_is_done_without(tmp_path):
    tools = fake_tools(tmp_path, 'echo trained > "$CACHE"')
    (tmp_path / "aot").touch()
    with Processes() as processes:
        assert aot_cache(tools, tmp_path / "aot", lambda _: [], processes) is None
