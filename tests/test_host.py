"""Processes: forks, kills, reaping, and every way in which the machinery can fail."""

import os
import signal
import time
from pathlib import Path

import pytest

from adapters.host import Host, HostError, MissingFramework
from adapters.registry import UnknownAdapter, load_adapter, locate

SYSTEMS = Path(__file__).parent / "systems" / "misbehaving.py"


def hosted(name, **limits):
    return Host(f"{SYSTEMS}:{name}", {}, {}, **({"limit": 5.0} | limits))


def forked(host, process=1):
    folder = host.folder / f"run-{process}"
    folder.mkdir()
    context = {"folder": str(folder), "notes": {}, "process": process, "recovery": 0, "branch": 0}
    return host.fork(context)


def alive(pid):
    """Whether it still runs; a zombie that waits for init to reap it does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(pids):
    """Whether they are, or soon will be: a group that was killed takes its time to go."""
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(alive(pid) for pid in pids)


def test_a_killed_process_is_reaped_with_its_status():
    with hosted("PrintsALot") as host:
        process = forked(host)
        assert process.call("start", {})["observed"] == {"x": 0}
        status = process.kill()
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert not alive(process.pid)


def test_what_a_framework_prints_is_no_message():
    with hosted("PrintsALot") as host:
        assert forked(host).call("start", {})["at"] is None


def test_a_hanging_process_is_an_error_and_is_ended_with_the_host():
    with hosted("Hangs", limit=0.3) as host:
        process = forked(host)
        with pytest.raises(HostError, match=r"start.* did not come back.*0\.3 s"):
            process.call("start", {})
    assert gone([process.pid])


def test_a_process_that_dies_unasked_is_an_error_with_its_status_and_last_words():
    with hosted("Dies") as host, pytest.raises(HostError) as caught:
        forked(host).call("start", {})
    assert f"wait status {7 << 8}" in str(caught.value)
    assert "about to fall over" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Raises", "the adapter is wrong"),
        ("Blind", "Blind has no observe"),
        ("SpeaksRubbish", "spoke rubbish"),
        ("FailsInTheFramework", "KeyError"),
    ],
)
def test_a_fault_of_the_adapter_is_an_error_and_no_refusal(name, message):
    with hosted(name) as host, pytest.raises(HostError, match=message):
        forked(host).call("start", {})


def test_the_network_is_off_for_the_system_under_test():
    with hosted("ReachesOut") as host:
        report = forked(host).call("start", {})
    assert report["at"] == "refused"
    assert report["error"]["type"] == "NetworkForbidden"


def test_a_fresh_interpreter_serves_like_a_fork():
    with hosted("PrintsALot", fresh=True, limit=30.0) as host:
        process = forked(host)
        assert process.call("start", {})["observed"] == {"x": 0}
        assert process.kill() == signal.SIGKILL


def test_nothing_is_left_when_the_host_closes():
    with hosted("PrintsALot") as host:
        processes = [forked(host, number) for number in range(1, 4)]
        home = host.folder
    assert gone([process.pid for process in processes])
    assert not home.exists()


def test_a_sibling_does_not_hold_a_dead_process_open():
    """A process that dies is noticed while another, forked after it, lives on."""
    with hosted("Dies") as host:
        first, second = forked(host, 1), forked(host, 2)
        with pytest.raises(HostError, match="died unasked"):
            first.call("start", {})
        assert alive(second.pid)


def test_a_framework_that_is_missing_is_told_apart_from_a_failure(tmp_path):
    module = tmp_path / "absent.py"
    module.write_text(
        "from adapters.base import Adapter\n"
        "class A(Adapter):\n"
        "    @classmethod\n"
        "    def prepare(cls, workflow, options):\n"
        "        import no_such_framework\n"
    )
    with pytest.raises(MissingFramework, match="no_such_framework"), Host(f"{module}:A", {}, {}):
        pass


def test_a_host_with_threads_is_not_forked_from():
    with pytest.raises(HostError, match="started threads"), hosted("StartsThreads"):
        pass


def test_adapters_are_found_by_name_file_and_module(tmp_path):
    assert locate("reference") == "adapters.reference:Reference"
    assert locate(f"{SYSTEMS}:Hangs").endswith("misbehaving.py:Hangs")
    assert load_adapter("adapters.reference:Reference").__name__ == "Reference"
    with pytest.raises(UnknownAdapter, match=r"unknown adapter 'refernce'; known: .*reference"):
        locate("refernce")
    with pytest.raises(UnknownAdapter, match="no such file"):
        locate("absent.py:A")
    with pytest.raises(UnknownAdapter, match="not a subclass"):
        load_adapter(f"{SYSTEMS}:NotAnAdapter")
