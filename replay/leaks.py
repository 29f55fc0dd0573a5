"""What a run leaves behind: processes that are alive, files outside its folder."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from adapters.host import Host
from adapters.offline import ATTEMPTS

GRACE = 2.0
"""Seconds that a process whose parent was killed is given to go."""
_OF_THE_HOST = {"host.log", ATTEMPTS, "packages"}


def living(host: Host) -> dict[int, str]:
    """Process id -> command line of what is alive of a host's offspring, the host left out.

    They are told by the private HOME that each of them was given: whatever its parent and its
    session are, it was started from there.
    """
    mark = f"HOME={host.folder}".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) in {host.pid, os.getpid()}:
            continue
        try:
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # gone, or somebody else's
            continue
        if words != [b""]:  # else dead, and not reaped
            found[int(folder.name)] = b" ".join(words).decode(errors="replace").strip()
    return found


def left_running(host: Host, grace: float = GRACE) -> dict[int, str]:
    """As `living`, once what is about to go is gone; what is left is ended."""
    until = time.monotonic() + grace
    while (found := living(host)) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def left_lying(host: Host) -> set[str]:
    """Files with something in them in the host's HOME and TMPDIR, beside the folders of runs."""
    return {
        str(path.relative_to(host.folder))
        for entry in host.folder.iterdir()
        if entry.name not in _OF_THE_HOST and not entry.name.startswith("run-")
        for path in (entry, *entry.rglob("*"))
        if path.is_file() and path.stat().st_size
    }


def held_open(host: Host) -> set[str]:
    """Files and connections that the host holds open, which all processes of runs would share."""
    found = set()
    sockets = []
    for end in Path(f"/proc/{host.pid}/fd").iterdir():
        try:
            target = str(end.readlink())
        except OSError:
            continue
        if target.startswith("socket:"):
            sockets.append(target)
        elif target.startswith("/") and not target.startswith("/dev/") and int(end.name) > 2:
            found.add(target)
    return found | ({"a connection"} if len(sockets) > 1 else set())  # one is the driver's
