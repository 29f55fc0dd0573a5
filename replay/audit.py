"""Whether receipts are what they say: their digests, their parts, the modules they are of.

Every problem is one line that begins with file and line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import specs
from replay.conformance.measured import GRAVITY
from replay.explanation import explanations, planted
from replay.prediction.predictions_audit import audit_predictions
from replay.receipts import MANIFEST, broken_entries
from replay.rows import ROWS, Receipt, Row, unlisted
from replay.studies import FOLDER, audit_studies, read_study
from tracegen.errors import MbtError

SPECS = Path(specs.__file__).parent
TIMES, HOSTS = ("started", "timestamp"), ("host", "platform")
"""Keys under which a JSON object says when, and on what host, it came about."""
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What reading a receipt ends with that was changed by hand, and is none any more."""


def audit_receipts(root: Path, rows: Sequence[Row]) -> list[str]:
    """What is wrong with the receipts below a folder."""
    problems = [*_manifest(root), *unlisted(root, rows), *same_times(root)]
    for row in rows:
        try:
            problems += _receipt(row)
        except MbtError as error:
            problems.append(f"{root / ROWS}: {row.name}: {error}")
        except MALFORMED as error:
            problems.append(f"{row.folder}: not a receipt ({type(error).__name__}: {error})")
    problems += [*_grids(root), *audit_studies(root), *_explanations(root, rows)]
    return [*problems, *audit_predictions(root)]


def line_of(path: Path, text: str) -> str:
    """`FILE:LINE` of the first line of a file that holds a text, or the file alone."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    number = next((number for number, line in enumerate(lines, 1) if text in line), None)
    return f"{path}:{number}" if number else f"{path}"


def _manifest(root: Path) -> Iterator[str]:
    for broken in broken_entries(root):
        path = broken.rpartition(": ")[0]
        yield f"{line_of(root / MANIFEST, f'  {path}')}: {broken}"


def _receipt(row: Row) -> Iterator[str]:
    """Whether a receipt is of the modules here, and its figures those of its runs."""
    path = row.folder / "receipt.json"
    receipt = row.receipt()
    yield from _digests(path, receipt["digests"])
    parts = [*receipt["parts"], *receipt["second_pass"]]
    runs: dict[str, list[Mapping[str, Any]]] = {part["name"]: [] for part in parts}
    with (row.folder / "runs.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            run = json.loads(line)
            if run["part"] not in runs:
                yield f"{row.folder / 'runs.jsonl'}:{number}: of no part of the receipt"
                continue
            runs[run["part"]].append(run)
            if said := _run(run):
                yield f"{row.folder / 'runs.jsonl'}:{number}: {run['trace']}: {said}"
    for part in parts:
        where = line_of(path, f'"name": "{part["name"]}"')
        yield from (f"{where}: {phrase}" for phrase in _part(part, runs[part["name"]]))
    for name, rule in receipt["properties"].items():
        where = line_of(path, f' "{name}": {{')
        yield from (f"{where}: {name} {phrase}" for phrase in _rule(rule, receipt, runs))


def _digests(path: Path, digests: Mapping[str, str]) -> Iterator[str]:
    for name, digest in digests.items():
        here = SPECS / name
        if here.is_file() and hashlib.sha256(here.read_bytes()).hexdigest() != digest:
            where = line_of(path, f'"{name}": "{digest}"')
            yield f"{where}: of another {name} than the one here"


def _run(run: Mapping[str, Any]) -> str | None:
    """Whether each crash has a death, and the effects observed last are those of the ledger."""
    events = (event for micro in run["micro"] for event in micro.get("events", ()))
    crashes = sum(event["kind"] == "crash" for event in events)
    if crashes != len(run["deaths"]):
        return f"{crashes} crashes, and {len(run['deaths'])} processes that ended by one"
    told = [
        micro["changed"]["effects"]
        for micro in run["micro"]
        if "effects" in micro.get("changed", {})
    ]
    if not told:
        return None
    rows = [task for branch, task, _, _ in run["ledger"] if branch == 0]
    counted = [rows.count(task) for task in range(1, len(told[-1]) + 1)]
    # What fires while the run is being ended is in the ledger alone.
    if any(seen > fired for seen, fired in zip(told[-1], counted, strict=True)):
        return f"effects {told[-1]} were observed, and its ledger holds {counted}"
    return None


def _part(part: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Whether the figures of a part are those of its runs."""
    if part["traces"] != len(runs):
        yield f"{part['traces']} traces, and {len(runs)} runs"
    skipped = sum(len(run.get("inapplicable", ())) for run in runs)
    if part["steps"] - part["applicable"] != skipped:
        yield f"{part['applicable']} of {part['steps']} steps applicable, {skipped} in no run"
    compared = sum(not micro.get("folded") for run in runs for micro in run["micro"])
    if part["compared"] > compared:
        yield f"compared at {part['compared']} of {compared} micro-steps"
    doubles = [(run["trace"], double) for run in runs for double in run["doubles"]]
    if part["recovered_twice"] != len(doubles):
        yield f"{part['recovered_twice']} stores recovered twice, {len(doubles)} by the runs"
    otherwise = {trace for trace, double in doubles if double["own"] != double["copy"]}
    if {*part["decided_otherwise"]} != otherwise:
        yield f"{part['decided_otherwise']} decided otherwise, {sorted(otherwise)} by the runs"
    known = {run["trace"] for run in runs}
    for divergence in part["divergences"]:
        if divergence["trace"] not in known:
            yield f"{divergence['trace']} diverges, and is no run"
    covered, transitions = part["covered"], part["transitions"]
    if covered > transitions:
        yield f"covers {covered} of {transitions} transitions"


def _rule(
    rule: Mapping[str, Any], receipt: Receipt, runs: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[str]:
    """Whether the verdicts on a property follow from where it was violated and provoked."""
    verdicts = []
    for name, found in rule["parts"].items():
        verdicts.append(found["verdict"])
        if (found["verdict"] == "violated") != bool(found["violated_at"]):
            yield f"is {found['verdict']} in {name}, violated at {len(found['violated_at'])} places"
        if found["verdict"] == "holds" and not found["provoked_by"]:
            yield f"holds in {name}, and nothing provoked it"
        known = {run["trace"]: len(run["micro"]) for run in runs.get(name, ())}
        for where, micro in found["violated_at"].items():
            if not 0 <= micro < known.get(where.partition("/")[0], 0):
                yield f"is violated in {name} at {where}, micro-step {micro}, which is not there"
    # A second pass has no entry of its own, and can only make it graver.
    whole = min(verdicts, key=GRAVITY.index)
    alone = not receipt["second_pass"]
    if (
        (rule["verdict"] != whole)
        if alone
        else GRAVITY.index(rule["verdict"]) > GRAVITY.index(whole)
    ):
        yield f"is {rule['verdict']}, and {whole} by its parts"


def _grids(root: Path) -> Iterator[str]:
    """Whether the receipts of `mbt matrix` are of the modules here."""
    for path in sorted((root / "matrix").glob("*.json")):
        try:
            modules = json.loads(path.read_text(encoding="utf-8"))["modules"]
        except (ValueError, KeyError, TypeError):
            yield f"{path}: not a receipt of a grid"
            continue
        yield from _digests(path, modules)


def _explanations(root: Path, rows: Sequence[Row]) -> Iterator[str]:
    """Whether what explains the runs was computed from the receipts and the modules here."""
    for name in (explanations.NAME, planted.NAME):
        path = root / FOLDER / f"{name}.json"
        if not path.is_file():
            continue
        try:
            content = read_study(root, name)
            found = [*explanations.changed(content)]
            if name == explanations.NAME:
                found += explanations.stale(root, content, rows)
        except (MbtError, *MALFORMED):
            continue  # audit_studies says what it is not
        yield from (f"{path}: {phrase}" for phrase in found)


def timed(root: Path) -> dict[Path, tuple[str, str]]:
    """The JSON files below a folder that say when and on what host they were written.

    The stable part of a receipt says neither; its volatile.json, which is not committed, both.
    """
    found = {}
    for path in sorted(root.rglob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if isinstance(data, dict):
            time = next((str(data[key]) for key in TIMES if key in data), None)
            host = next((str(data[key]) for key in HOSTS if key in data), None)
            if time and host:
                found[path] = (time, host)
    return found


def same_times(root: Path) -> Iterator[str]:
    """Receipts of two hosts that bear the same time: one of them is a copy."""
    first: dict[str, tuple[Path, str]] = {}
    for path, (time, host) in timed(root).items():
        other, of = first.setdefault(time, (path, host))
        if of != host:
            yield f"{line_of(path, time)}: the time of {other}, which is of another host"
