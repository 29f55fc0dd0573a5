"""Receipts: the evidence of a replay, as files that anyone can read and check.

A receipt is a folder:

    receipt.json    what was replayed, on what, with which verdicts and explanation
    runs.jsonl      one run a line: every micro-step, observation, ledger row and death
    second.jsonl    the traces of the second pass, where there was one (`mbt replay --traces`)
    volatile.json   what differs from one replay to the next: process ids, times, paths

All but the last are the *stable* part: the same replay writes the same bytes again, whatever
the number of jobs. MANIFEST, above all receipts, holds the SHA-256 of every stable file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from replay.compare import Divergence
from replay.explanation.explain import Explanation
from replay.record import Event, MicroStep, RunRecord
from replay.suite import PartResult, Replay
from tracegen.errors import MbtError
from tracegen.trace import write_traces

FORMAT = 2
LONGEST_NAME = 160
SECOND_PASS = "second.jsonl"
STABLE = ("receipt.json", "runs.jsonl", SECOND_PASS)
MANIFEST = "MANIFEST"
SINGLE = ("matrix/*.json", "studies/*.json", "predictions/*/*.json", "predictions/*/traces.jsonl")
"""Receipts that are a file each: of grids (`tracegen.matrix`), of `replay.studies`, and the files
of `replay.prediction.chain`."""


def summary(replay: Replay, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of receipt.json.

    Args:
        provenance: versions and digests of what took part (`replay.provenance`).
    """
    spec = replay.spec
    return {
        "format": FORMAT,
        "module": spec.module,
        "adapter": replay.adapter,
        "options": dict(replay.options),
        "repeat": replay.repeat,
        **provenance,
        "servers": dict(replay.servers),
        "properties": {
            name: {
                "title": rule.title,
                "invariant": rule.invariant,
                "verdict": replay.cell(name),
                "parts": {
                    result.part.name: {
                        "verdict": result.cell(name),
                        "provoked_by": len(result.judgement.provoked[name]),
                        "violated_at": _first_findings(result, name),
                    }
                    for result in replay.parts
                },
            }
            for name, rule in spec.properties.items()
        },
        "explanation": _explanation(replay.explanation),
        "parts": [_part(replay, result) for result in replay.parts],
        "second_pass": [_part(replay, result) for result in replay.second_pass],
    }


def _first_findings(result: PartResult, name: str) -> dict[str, int]:
    """Where a property first fails: run (or run/branch) -> index of the micro-step."""
    first: dict[str, int] = {}
    for finding in result.judgement.findings:
        if finding.property == name:
            where = f"{finding.trace}/{finding.branch}" if finding.branch else finding.trace
            first.setdefault(where, finding.micro)
    return first


def _explanation(explanation: Explanation | None) -> dict[str, Any] | None:
    if explanation is None:
        return None
    return {
        "smallest": [list(faults) for faults in explanation.smallest],
        "larger": [list(faults) for faults in explanation.larger],
        "names": [explanation.name(faults) for faults in explanation.smallest],
        "stopped": {explanation.name(faults): name for faults, name in explanation.stopped.items()},
    }


def _part(replay: Replay, result: PartResult) -> dict[str, Any]:
    return {
        "name": result.part.name,
        "model": result.part.model,
        "cover": result.part.cover,
        "graph": result.graph_digest,
        "judged_by": result.judgement.module_digest,
        "traces": len(result.records),
        "steps": result.part.steps,
        "applicable": result.part.steps - result.inapplicable,
        "compared": result.compared,
        "unobserved": result.unobserved(replay.spec),
        "transitions": result.transitions,
        "covered": len(result.covered),
        "unsteady": list(result.unsteady),
        "recovered_twice": result.recovered_twice,
        "decided_otherwise": list(result.decided_otherwise),
        "explanation": _explanation(result.explanation),
        "divergences": [
            {"trace": record.trace, **divergence_data(tracking.divergence)}
            for record, tracking in zip(result.records, result.trackings, strict=True)
            if tracking.divergence is not None
        ],
    }


def divergence_data(divergence: Divergence) -> dict[str, Any]:
    """A divergence as data, with the sentence that says it."""
    return {**asdict(divergence), "sentence": divergence.sentence()}


def run_data(part: str, record: RunRecord) -> dict[str, Any]:
    """One line of runs.jsonl.

    A micro-step names what differs from the one before: the variables that `changed`, those that
    have `grown` (lists, with what was appended), those that are `gone`, and a new `process`.
    """
    steps = []
    before: MicroStep | None = None
    for micro in record.micro:
        steps.append(_micro_data(micro, before))
        before = micro
    return {
        "part": part,
        "trace": record.trace,
        "digest": record.digest,
        "micro": steps,
        "branches": [asdict(branch) for branch in record.branches],
        "deaths": [asdict(death) for death in record.deaths],
        "doubles": [asdict(double) for double in record.doubles],
        "inapplicable": {str(step): reason for step, reason in record.inapplicable.items()},
        "dropped": list(record.dropped),
        "facts": list(record.facts),
        # Rows of the ledger: branch, task, value, process.
        "ledger": [[row.branch, row.task, row.value, row.process] for row in record.ledger],
    }


def _micro_data(micro: MicroStep, before: MicroStep | None) -> dict[str, Any]:
    known = before.observed if before else {}
    grown = {n: v[len(known[n]) :] for n, v in micro.observed.items() if _grows(known.get(n), v)}
    return _telling(
        {
            "step": micro.step,
            "part": micro.part,
            "action": micro.action,
            "params": dict(micro.params),
            "at": micro.at,
            "process": micro.process if before is None or micro.process != before.process else None,
            "changed": {
                name: value
                for name, value in micro.observed.items()
                if name not in grown and (name not in known or known[name] != value)
            },
            "grown": grown,
            "gone": sorted(set(known) - set(micro.observed)),
            "events": [_event_data(event) for event in micro.events],
            "error": micro.error,
            "poison": micro.poison,
            "folded": micro.folded,
            # Beside the model's variables: only where it says more than they do.
            "raw": {n: v for n, v in (micro.raw or {}).items() if v != micro.observed.get(n)},
        }
    )


def _grows(old: Any, new: Any) -> bool:
    lists = isinstance(old, list) and isinstance(new, list)
    return lists and len(new) > len(old) and new[: len(old)] == old


def _telling(data: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that say something; a number always does."""
    return {
        name: value
        for name, value in data.items()
        if value not in (None, "", [], {}, ()) and value is not False
    }


def _event_data(event: Event) -> dict[str, Any]:
    data = asdict(event)
    if event.kind not in {"exec", "recover"}:
        del data["frontier"]
        if event.kind not in {"effect", "poison"}:
            del data["task"]
    return _telling(data)


def receipt_name(
    module: str,
    adapter: str,
    options: Mapping[str, str],
    defaults: Mapping[str, str],
    selection: str = "",
) -> str:
    """Name a receipt's folder: module, adapter, the options that are not the default's.

    Args:
        selection: what of the suite was replayed, empty for all of it.
    """
    chosen = [f"{name}={value}" for name, value in options.items() if value != defaults[name]]
    row = ",".join(chosen) or "default"
    safe = "".join(c if c.isalnum() or c in "=,.+-_" else "_" for c in row + selection)
    if len(safe) > LONGEST_NAME:
        safe = f"{safe[:LONGEST_NAME]}-{hashlib.sha256(safe.encode()).hexdigest()[:8]}"
    # FILE.py:CLASS by both, since two files may have a class of one name.
    where, _, class_name = adapter.rpartition(":")
    who = f"{Path(where).stem}.{class_name}" if where else adapter
    return f"{module}/{who}/{safe}"


def write_receipt(
    root: Path, name: str, replay: Replay, content: Mapping[str, Any], volatile: Mapping[str, Any]
) -> Path:
    """Write a receipt, whole or not at all, and enter it in the manifest; return its folder."""
    target = root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".receipt-", dir=root))
    try:
        (staging / "receipt.json").write_text(readable(content) + "\n")
        with (staging / "runs.jsonl").open("w") as lines:
            for result in (*replay.parts, *replay.second_pass):
                for record in result.records:
                    data = run_data(result.part.name, record)
                    lines.write(json.dumps(data, separators=(",", ":"), ensure_ascii=False) + "\n")
        again = [trace for result in replay.second_pass for trace in result.part.traces]
        if again:
            write_traces(staging / SECOND_PASS, again)
        (staging / "volatile.json").write_text(json.dumps(volatile, indent=1) + "\n")
        staging.chmod(0o755)
        with _manifest_lock(root):
            if target.exists():
                shutil.rmtree(target)
            staging.rename(target)
            _enter(root, target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return target


def readable(value: Any, depth: int = 4, indent: str = "") -> str:
    """Return JSON with a line an entry down to a depth, and what is deeper in one line."""
    inside = indent + " "
    if depth and isinstance(value, dict) and value:
        rows = (f"{json.dumps(k)}: {readable(v, depth - 1, inside)}" for k, v in value.items())
        return "{\n" + ",\n".join(inside + row for row in rows) + f"\n{indent}}}"
    if depth and isinstance(value, list) and any(isinstance(item, dict) for item in value):
        rows = (readable(item, depth - 1, inside) for item in value)
        return "[\n" + ",\n".join(inside + row for row in rows) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


@contextmanager
def _manifest_lock(root: Path) -> Iterator[None]:
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _enter(root: Path, folder: Path) -> None:
    """Put a receipt's stable files into the manifest, in place of those it had."""
    prefix = f"{folder.relative_to(root).as_posix()}/"
    entries = {
        path: digest for path, digest in read_manifest(root).items() if not path.startswith(prefix)
    }
    files = [folder / name for name in STABLE if (folder / name).exists()]
    _write_manifest(root, entries | _digests(root, files))


def enter_file(root: Path, file: Path) -> None:
    """Put a stable file that is a receipt by itself (`SINGLE`) into the manifest."""
    with _manifest_lock(root):
        _write_manifest(root, read_manifest(root) | _digests(root, [file]))


def _digests(root: Path, files: Sequence[Path]) -> dict[str, str]:
    return {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def _write_manifest(root: Path, entries: Mapping[str, str]) -> None:
    """In the form of sha256sum(1)."""
    staged = root / f".{MANIFEST}.{os.getpid()}"
    staged.write_text("".join(f"{entries[path]}  {path}\n" for path in sorted(entries)))
    staged.replace(root / MANIFEST)


def read_manifest(root: Path) -> dict[str, str]:
    """Path of each stable file, relative to the receipts -> its SHA-256."""
    manifest = root / MANIFEST
    if not manifest.exists():
        return {}
    entries = {}
    for number, line in enumerate(manifest.read_text().splitlines(), 1):
        digest, gap, path = line.partition("  ")
        if not gap:
            raise MbtError(
                f"{manifest}:{number}: not a line of sha256sum(1); "
                "restore the file, or remove it to have it written anew"
            )
        entries[path] = digest
    return entries


def check_writable(root: Path) -> None:
    """Make the folder of receipts, before any work goes into one.

    Raises:
        MbtError: nothing can be written there.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise MbtError(f"{root}: no receipt can be written there: {error.strerror}") from error
    read_manifest(root)


def broken_entries(root: Path) -> list[str]:
    """What in the receipts differs from the manifest: changed, missing or unlisted files."""
    entries = read_manifest(root)
    found = {
        path.relative_to(root).as_posix()
        for name in (*STABLE, *SINGLE)
        for path in root.rglob(name)
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
    }
    broken = [f"{path}: not in the manifest" for path in sorted(found - set(entries))]
    for path, digest in sorted(entries.items()):
        if path not in found:
            broken.append(f"{path}: missing")
        elif hashlib.sha256((root / path).read_bytes()).hexdigest() != digest:
            broken.append(f"{path}: changed since it was written")
    return broken
