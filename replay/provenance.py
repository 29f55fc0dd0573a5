"""What took part in a replay: versions and digests, so that a receipt can be held to them."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adapters.base import Adapter
from adapters.registry import versions_of
from replay.suite import Replay
from tracegen.module import read_module
from tracegen.spec import Spec
from tracegen.tools import Tool, Tools


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(
    spec: Spec,
    adapter: type[Adapter],
    reference: str,
    options: Mapping[str, str],
    tools: Tools,
    apalache: Tool | None = None,
    *,
    fresh: bool,
) -> dict[str, Any]:
    """The stable part: the same on every machine with the same versions.

    Args:
        reference: MODULE:CLASS or FILE.py:CLASS of the adapter; a file has its digest taken.
        options: every option of the adapter.
        apalache: where the traces came from, if not from TLC.
    """
    where = Path(reference.rpartition(":")[0])
    own = {where.name: file_digest(where)} if where.suffix == ".py" else {}
    modules = read_module(spec.path.with_name(f"{spec.observed or spec.module}.tla")).files
    toml = spec.path.with_suffix(".toml")
    configs = {Path(model.config.source) for model in spec.models.values()}
    beside = sorted(path for path in {toml, *configs} if path.is_file())
    return {
        "versions": {
            "tla-mbt": version("tla-mbt"),
            **versions_of(adapter),
            **({"Apalache": apalache.version} if apalache else {}),
        },
        "digests": {
            **{name: hashlib.sha256(text).hexdigest() for name, text in sorted(modules.items())},
            **{path.name: file_digest(path) for path in beside},
            **own,
            "tla2tools.jar": tools.tlc.digest,
            **({"Apalache": apalache.digest} if apalache else {}),
        },
        "processes": "fresh interpreters" if fresh else "forked from a host that only imported",
        "unsupported": adapter.unsupported(options),
    }


def volatile(
    replay: Replay,
    tools: Tools,
    *,
    arguments: Sequence[str],
    started: str,
    seconds: float,
    jobs: int,
) -> Mapping[str, Any]:
    """The other part: what differs from one replay to the next."""
    return {
        "started": started,
        "seconds": round(seconds, 3),
        "command": list(arguments),
        "jobs": jobs,
        "python": sys.version,
        # Which host, without its name: two receipts of one time are not of two hosts.
        "host": hashlib.sha256(platform.node().encode()).hexdigest()[:16],
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "java": str(tools.java.path),
        "jar": str(tools.tlc.path),
        "process_ids": {
            record.trace: list(record.process_ids)
            for result in (*replay.parts, *replay.second_pass)
            for record in result.records
        },
    }
