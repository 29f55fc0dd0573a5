"""What is known already: whether receipts or registrations hold a trace of a system in one form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.prediction.chain import REGISTRATION, folders, read_link
from replay.stored import lines_of, reading
from tracegen.errors import MbtError
from tracegen.trace import Trace

Data = Mapping[str, Any]


def held_already(
    root: Path,
    module: str,
    adapter: str,
    options: Mapping[str, str],
    versions: Mapping[str, str],
    traces: Sequence[Trace],
) -> str | None:
    """Where one of some traces was measured, or is registered, of this system; None where nowhere.

    A trace is the same under another name, and as one of another model at the same bounds.

    Args:
        options: every option of the adapter. Those that a receipt does not know of yet count as
            different.
        versions: of the distributions that the adapter names; mbt's own does not matter.

    Raises:
        MbtError: a receipt cannot be read.
    """
    for path in sorted((root / module).rglob("receipt.json")):
        receipt, runs = _read(path), path.with_name("runs.jsonl")
        with reading(path):
            if receipt["adapter"] != adapter or not _same(receipt, options, versions):
                continue
            parts = {p["name"]: p["model"] for p in [*receipt["parts"], *receipt["second_pass"]]}
        with reading(runs):
            for run in _lines(runs):
                if _is(traces, run["trace"], parts[run["part"]], run["digest"]):
                    return f"{runs} holds trace {run['trace']}"
    names = {trace.name for trace in traces}
    for path in sorted((root / "studies").glob("versions-*.json")):
        study = _read(path)
        with reading(path):
            if study["adapter"] != adapter or study["module"] != module:
                continue
            for row in study["rows"]:
                chosen = {**study["defaults"], **row["options"]}
                told = {"options": chosen, "versions": row["versions"]}
                if "evidence" in row and _same(told, options, versions):
                    parts = study["evidence"][row["evidence"]]["runs"].values()
                    if held := {name for part in parts for name in part} & names:
                        return f"{path} holds trace {min(held)} on {row['version']}"
    for folder in folders(root):
        link = read_link(folder / REGISTRATION).content
        with reading(folder / REGISTRATION):
            if link["adapter"] == adapter and _same(link, options, versions):
                for said in link["predicts"]:
                    if _is(traces, said["trace"], link["model"].partition("+")[0], said["digest"]):
                        return f"{folder / REGISTRATION} is of trace {said['trace']}"
    return None


def _is(traces: Sequence[Trace], name: str, model: str, digest: str) -> bool:
    return any(replace(trace, name=name, model=model).digest == digest for trace in traces)


def _same(told: Data, options: Mapping[str, str], versions: Mapping[str, str]) -> bool:
    kept = {name: v for name, v in told["versions"].items() if name != "tla-mbt"}
    return bool(told["options"] == options and kept == versions)


def _read(path: Path) -> Data:
    try:
        content: Data = json.loads(path.read_text(encoding="utf-8"))
        return content
    except (OSError, ValueError, RecursionError) as error:
        raise MbtError(f"{path}: not a receipt ({error}); mbt audit says what is wrong") from None


def _lines(path: Path) -> Iterator[Data]:
    try:
        yield from map(json.loads, lines_of(path))
    except (OSError, ValueError) as error:
        raise MbtError(f"{path}: not runs ({error}); mbt audit says what is wrong") from None
