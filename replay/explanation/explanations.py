"""The study `explanations`: what explains the runs of every receipt that diverges.

It is computed from the stored runs alone. A row names the digest of the runs that it was computed
from, and the digests of the modules whose switches were tried; `stale` holds them to what is here.
A receipt that no set explains has a paragraph in docs/findings.md, with the line
"receipt: `NAME`".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import specs
from replay.explanation.apart import relate
from replay.explanation.explain import MOST_SWITCHES
from replay.explanation.explained import Account, Candidate, admits, candidate_data
from replay.receipts import read_manifest
from replay.rows import Receipt, Row
from tracegen.module import read_module
from tracegen.spec import Spec

NAME = "explanations"
FINDINGS = Path("docs") / "findings.md"
SPECS = Path(specs.__file__).parent
Content = Mapping[str, Any]
_NAMED = re.compile(r"^receipt: `([^`]+)`", re.MULTILINE)


def has_to_be_explained(receipt: Receipt) -> bool:
    """Whether runs of a receipt diverge, and its module has fault switches."""
    parts = (*receipt["parts"], *receipt["second_pass"])
    return receipt["explanation"] is not None and any(part["divergences"] for part in parts)


def entry(name: str, account: Account) -> dict[str, Any]:
    """The row of a receipt that diverges."""
    whole = account.whole
    nearest, stops = account.tried[0]
    return {
        "receipt": name,
        "module": account.evidence.spec.module,
        "companions": [attempt.spec.module for attempt in account.attempts[1:]],
        "digest": file_digest(account.evidence.folder / "runs.jsonl"),
        "runs": len(account.runs),
        "diverging": len(account.diverging),
        "explained_by": [*map(candidate_data, whole)],
        "sentences": [account.sentence(each, account.diverging) for each in whole],
        "told_apart": [relate(account, *two).sentence() for two in combinations(whole, 2)],
        "parts": {part: _part(account, part) for part in account.evidence.models},
        "groups": [_group(account, sets, which) for sets, which in account.groups.items()],
        "nearest": None if whole else {**candidate_data(nearest), "admits": admits(stops)},
    }


def _part(account: Account, part: str) -> dict[str, int]:
    which = [i for i in account.diverging if account.runs[i].part == part]
    return {
        "diverging": len(which),
        "explained": sum(bool(account.one_by_one(i)) for i in which),
    }


def _group(account: Account, sets: Sequence[Candidate], which: Sequence[int]) -> dict[str, Any]:
    first = account.divergence(which[0])
    return {
        "explained_by": [*map(candidate_data, sets)],
        "runs": len(which),
        "first": account.runs[which[0]].record.trace,
        "sentence": (
            account.sentence(sets[0], which) if sets else first.sentence() if first else ""
        ),
    }


def whole(row: Content) -> bool:
    """Whether some set admits all runs of a row's receipt at once."""
    return bool(row["explained_by"])


def digests_of(loaded: Iterable[Spec]) -> dict[str, str]:
    """File -> SHA-256, of modules and of what says how each is driven."""
    found: dict[str, str] = {}
    for spec in loaded:
        for name, text in read_module(spec.path).files.items():
            found[name] = hashlib.sha256(text).hexdigest()
        toml = spec.path.with_suffix(".toml")
        found[toml.name] = file_digest(toml)
    return dict(sorted(found.items()))


def changed(content: Content) -> Iterator[str]:
    """The modules of a study that are others than those here."""
    for name, digest in content["modules"].items():
        path = SPECS / name
        if not path.is_file() or file_digest(path) != digest:
            yield f"of another {name} than the one here"


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- the page --------------------------------------------------------------------------


def page(content: Content) -> str:
    """The study's page."""
    rows = content["rows"]
    diverging = sum(row["diverging"] for row in rows)
    explained = sum(_explained(row) for row in rows)
    lines = [
        "# What explains the divergences",
        "",
        "Written by `mbt explain --every --write` from `explanations.json`, which was computed "
        "from the stored runs of the receipts.",
        "",
        f"Receipts with runs that diverge: {len(rows)}; such runs: {diverging:,}. Each admitted by "
        f"some set of fault switches: {explained:,}. Receipts all of whose runs are admitted by "
        f"one set at once: {sum(map(whole, rows))}. What is tried: docs/explanation.md.",
        "",
        "| receipt | diverge | explained, one by one | all at once by |",
        "|---|---|---|---|",
    ]
    for row in rows:
        named = " or ".join(_called(each, row) for each in row["explained_by"])
        lines.append(
            f"| {row['receipt']} | {row['diverging']} of {row['runs']} | {_explained(row)} "
            f"| {named or _nearest(row)} |"
        )
    for row in rows:
        lines += ["", f"## {row['receipt']}", ""]
        lines += [
            f"{_called(each, row)}: {sentence}."
            for each, sentence in zip(row["explained_by"], row["sentences"], strict=True)
        ]
        lines += [f"{sentence}." for sentence in row["told_apart"]]
        lines += [""] * bool(row["explained_by"])
        for group in row["groups"]:
            named = " or ".join(_called(each, row) for each in group["explained_by"]) or "none"
            lines.append(
                f"- {_runs(group['runs'])} ({group['first']} first), {named}: {group['sentence']}"
            )
    return "\n".join(lines) + "\n"


def _explained(row: Content) -> int:
    return sum(group["runs"] for group in row["groups"] if group["explained_by"])


def _called(candidate: Content, row: Content) -> str:
    name = str(candidate["name"])
    return name if candidate["module"] == row["module"] else f"{name} ({candidate['module']})"


def _nearest(row: Content) -> str:
    nearest = row["nearest"]
    return f"none; {_called(nearest, row)} admits {nearest['admits']} of {row['runs']}"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


# -- the audit -------------------------------------------------------------------------


def problems(content: Content) -> Iterator[str]:
    """Where the receipt says what does not follow from what it holds."""
    if content["most_switches"] != MOST_SWITCHES:
        yield f"sets of at most {content['most_switches']} switches, and {MOST_SWITCHES} are tried"
    for row in content["rows"]:
        name, counted = row["receipt"], sum(group["runs"] for group in row["groups"])
        if counted != row["diverging"]:
            yield f"{name}: {row['diverging']} runs diverge, and its groups have {counted}"
        if row["explained_by"] and _explained(row) != row["diverging"]:
            yield f"{name}: all its runs are explained at once, and some not one by one"
        if row["explained_by"] and row["nearest"]:
            yield f"{name}: has sets that explain it, and one that nearly does"
        if any(
            each["module"] not in (row["module"], *row["companions"])
            for of in (row, *row["groups"])
            for each in of["explained_by"]
        ):
            yield f"{name}: explained by a module that was not tried"


def stale(root: Path, content: Content, rows: Sequence[Row]) -> Iterator[str]:
    """Where it is not of the receipts below a folder, or leaves one without a word.

    Args:
        rows: the replays whose receipts are kept.
    """
    digests = read_manifest(root)
    told = {row["receipt"]: row for row in content["rows"]}
    for row in rows:
        receipt = row.receipt()
        if not has_to_be_explained(receipt):
            continue
        found = told.pop(row.name, None)
        if found is None:
            yield f"{row.name} diverges, and has no row"
            continue
        if digests.get(f"{row.name}/runs.jsonl") != found["digest"]:
            yield f"{row.name}: computed from other runs than those of the receipt"
        own = [e["switches"] for e in found["explained_by"] if e["module"] == row.module]
        if [each for each in own if len(each) <= MOST_SWITCHES] != receipt["explanation"][
            "smallest"
        ]:
            yield f"{row.name}: explained by {own}, and its receipt says otherwise"
    yield from (f"{name} has a row, and does not diverge" for name in told)
    yield from _unnamed(root.resolve().parent / FINDINGS, content)


def _unnamed(findings: Path, content: Content) -> Iterator[str]:
    """The receipts that nothing explains and no paragraph names."""
    text = findings.read_text(encoding="utf-8") if findings.is_file() else ""
    named = {*_NAMED.findall(text)}
    for row in content["rows"]:
        if not row["explained_by"] and row["receipt"] not in named:
            yield f"{row['receipt']}: nothing explains all its runs, and {FINDINGS} has no word"
    for name in sorted(named - {row["receipt"] for row in content["rows"]}):
        yield f"{FINDINGS} names {name}, which is no receipt that diverges"
