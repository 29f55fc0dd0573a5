"""No framework under test talks to anything but this machine, and what tries to is written down."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

#: What makes the frameworks quiet: telemetry, tracing, version checks, update notices.
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    # One thread a library: a forked process has none of its parent's threads.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

#: The file, in the host's private home, in which attempts are written down.
ATTEMPTS = "network.txt"

_HOST_FIRST = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_ADDRESS_SECOND = {"socket.connect", "socket.sendto", "socket.sendmsg"}


class NetworkForbidden(OSError):
    """Something tried to reach another machine."""


def _is_local(host: str) -> bool:
    if host in {"", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _target(event: str, arguments: tuple[Any, ...]) -> str:
    """The machine that an audited event is about to reach or to look up, "" where none."""
    if event in _HOST_FIRST:
        host = arguments[0] or ""
    elif event == "socket.getnameinfo":
        host = arguments[0][0]
    elif event in _ADDRESS_SECOND and arguments[0].family in {socket.AF_INET, socket.AF_INET6}:
        # No address: a message on a socket that is connected.
        host = arguments[1][0] if isinstance(arguments[1], tuple) else ""
    else:
        return ""
    return host.decode(errors="replace") if isinstance(host, (bytes, bytearray)) else str(host)


def forbid_network(record: Path) -> None:
    """Make every attempt of this process and its forks to leave the machine fail.

    An audit hook (PEP 578) cannot be taken out again by what is imported later. It sees what goes
    through Python's sockets: not a library that opens its own in C, and not another program.

    Args:
        record: where each attempt is written down, a line each, before it fails: whoever made
            it may swallow the error.
    """

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not event.startswith("socket."):
            return
        host = _target(event, arguments)
        if _is_local(host):
            return
        file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, f"{host[:200]!r}\n".encode())
        finally:
            os.close(file)
        raise NetworkForbidden(f"network is off while a framework is under test: {host}")

    sys.addaudithook(hook)


def attempts(record: Path) -> list[str]:
    """Which machines were tried to be reached, in order, once for each attempt."""
    if not record.exists():
        return []
    return [line.strip("'\"") for line in record.read_text(errors="replace").splitlines()]
