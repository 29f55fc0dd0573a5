"""No framework under test talks to anything but this machine."""

from __future__ import annotations

import ipaddress
import sys
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


class NetworkForbidden(OSError):
    """Something tried to reach another machine."""


def _is_local(host: str) -> bool:
    if host in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def forbid_network() -> None:
    """Make every attempt of this process and its forks to leave the machine fail.

    An audit hook (PEP 578) cannot be taken out again by what is imported later.
    """

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            address = arguments[1]
            host = address[0] if isinstance(address, tuple) else ""
        elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
            host = arguments[0] or ""
            host = host.decode() if isinstance(host, bytes) else str(host)
        else:
            return
        if not _is_local(host):
            raise NetworkForbidden(f"network is off while a framework is under test: {host}")

    sys.addaudithook(hook)
