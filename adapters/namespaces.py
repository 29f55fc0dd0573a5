"""Two hosts on one machine: network namespaces of our own, joined by a pair of virtual devices.

A namespace lives as long as a process of ours in it, and its devices and addresses with it. So
there is nothing to clean up: however the driver goes, the processes that hold the namespaces see
their input end, and go.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NEAR, FAR = "10.213.47.1", "10.213.47.2"
"""The addresses of the two hosts; nothing outside of the namespaces can see them."""
PREFIX = 30
RELAY_PORT = 5433
_DEVICE = "mbt0"
_CLONE_NEWNET = 0x40000000


class NoNamespaces(Exception):
    """This machine has no two hosts for us; the message says what is missing."""


@dataclass(frozen=True)
class Hosts:
    """Two hosts, each a network namespace, as paths that `enter` takes."""

    near: Path
    far: Path


def enter(namespace: Path) -> None:
    """Be in a network namespace from now on, with all that this thread connects to.

    Raises:
        OSError: it is gone, or may not be entered.
    """
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        _check(ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET))
    finally:
        os.close(descriptor)


@contextmanager
def inside(namespace: Path) -> Iterator[None]:
    """Be there for a while: what this thread starts meanwhile stays."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(namespace)
        yield
    finally:
        enter(Path(f"/proc/self/fd/{own}"))
        os.close(own)


def _leave_network() -> None:
    _check(ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Two namespaces that reach each other, and nothing else.

    Raises:
        NoNamespaces: the machine does not allow it.
    """
    if not sys.platform.startswith("linux"):
        raise NoNamespaces("network namespaces are Linux's")
    if os.geteuid() != 0:
        raise NoNamespaces("network namespaces need root")
    for tool in ("ip", "nsenter"):
        if shutil.which(tool) is None:
            raise NoNamespaces(f"the program {tool} is missing (packages iproute2, util-linux)")
    with _namespace() as near, _namespace() as far:
        peer = far.parts[2]  # /proc/PID/ns/net
        _run(near, f"ip link add {_DEVICE} type veth peer name {_DEVICE} netns {peer}")
        for namespace, address in ((near, NEAR), (far, FAR)):
            _run(namespace, f"ip address add {address}/{PREFIX} dev {_DEVICE}")
            _run(namespace, "ip link set lo up")
            _run(namespace, f"ip link set {_DEVICE} up")
        yield Hosts(near, far)


@contextmanager
def _namespace() -> Iterator[Path]:
    """A network namespace, held by a process that ends when its input does."""
    try:
        holder = subprocess.Popen(
            ["cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            preexec_fn=_leave_network,
            start_new_session=True,  # Ctrl-C is for the driver, which then ends it
        )
    except subprocess.SubprocessError as error:
        raise NoNamespaces("the kernel refuses a network namespace") from error
    try:
        yield Path(f"/proc/{holder.pid}/ns/net")
    finally:
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait()


def _run(namespace: Path, command: str) -> None:
    done = subprocess.run(
        ["nsenter", f"--net={namespace}", *command.split()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NoNamespaces(f"{command}: {done.stderr.strip()}")


# -- the way between them --------------------------------------------------------------


@contextmanager
def relay(socket_file: Path, delay: float) -> Iterator[str]:
    """A way from the far host to a server on the near one that takes its time; started there.

    A process that passes on what comes, each way, after a delay. It stands in for a queue of the
    kernel's (netem), which many kernels are built without: nothing gets lost on it, and opening a
    connection is not delayed.

    Args:
        socket_file: where the server listens.
        delay: one way, in seconds.

    Yields:
        The host and port, as libpq takes them.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "adapters.namespaces", str(socket_file), repr(delay)],
        stdin=subprocess.PIPE,  # whose end ends it
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline() != b"ready\n":
            raise NoNamespaces(f"no relay can be had at {NEAR}, port {RELAY_PORT}")
        yield f"host={NEAR} port={RELAY_PORT}"
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


async def _pass_on(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, delay: float
) -> None:
    """Pass bytes on, each so many seconds after it came, until the source ends."""
    loop = asyncio.get_running_loop()
    while chunk := await source.read(1 << 16):
        loop.call_later(delay, target.write, chunk)
    loop.call_later(delay, target.close)


async def _serve(socket_file: str, delay: float) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):  # a side may go, and so may we
            there_reader, there_writer = await asyncio.open_unix_connection(socket_file)
            await asyncio.gather(
                _pass_on(reader, there_writer, delay), _pass_on(there_reader, writer, delay)
            )

    async with await asyncio.start_server(connect, NEAR, RELAY_PORT):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)


def main() -> None:
    """Be a relay: argv holds the server's socket file and the delay."""
    asyncio.run(_serve(sys.argv[1], float(sys.argv[2])))


if __name__ == "__main__":
    main()
