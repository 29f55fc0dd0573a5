"""A framework over its releases: a suite replayed in an environment for each, and what differs.

A row is a release with the adapter's options. Many releases walk a suite run for run alike, so what
a row was found to be is kept once, by its digest (`evidence`), and rows refer to it.

A release that lacks what the adapter imports has a row that says what it lacks. What could not be
installed, or prepared for another reason, was not measured and has no row.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import specs
from replay.rows import options_text
from replay.sweeps.versions_audit import evidence_problems, missing, row_problems
from replay.tables import STYLE
from tracegen.cache import digest_of

SPECS = Path(specs.__file__).parent
Data = Mapping[str, Any]


def version_key(version: str) -> tuple[int, ...]:
    """Releases in their order."""
    return tuple(map(int, re.findall(r"[0-9]+", version)))


# -- receipts -------------------------------------------------------------------------------


def content_of(
    about: Data,
    rows: Sequence[Data],
    evidence: Mapping[str, Data],
    environments: Mapping[str, Data],
    kept: Data | None,
) -> dict[str, Any]:
    """The receipt: these rows, and those of another receipt that they do not replace.

    Args:
        about: framework, adapter, module, digests and so on; what all rows share.
        evidence: digest -> what `evidence_of` says, of these rows.
        environments: version -> interpreter's version and packages, of these rows.
        kept: a receipt of before. Its rows stay where they are of the same modules.
    """
    if kept is None or not same_modules(about, kept):
        kept = {"rows": [], "evidence": {}, "environments": {}}
    new = {_key(row) for row in rows}
    # One environment a release: a row from another one would not be of what is said of it.
    remade = {
        version
        for version, environment in environments.items()
        if kept["environments"].get(version, environment) != environment
    }
    old = [r for r in kept["rows"] if _key(r) not in new and r["version"] not in remade]
    every = sorted([*old, *rows], key=_order)
    known = {**kept["evidence"], **evidence}
    used = dict.fromkeys(row["evidence"] for row in every if "evidence" in row)
    versions = sorted({row["version"] for row in every}, key=version_key)
    found = {**kept["environments"], **environments}
    return {
        **about,
        "environments": {version: found[version] for version in versions},
        "rows": every,
        "evidence": {digest: known[digest] for digest in used},
    }


def dropped(kept: Data, whole: Data) -> list[Data]:
    """The rows of a receipt in whose place another receipt has none."""
    there = {_key(row) for row in whole["rows"]}
    return [row for row in kept["rows"] if _key(row) not in there]


def _order(row: Data) -> tuple[Any, ...]:
    """Table by table, the one of the adapter's defaults first."""
    return bool(row["options"]), *_group(row), version_key(row["version"])


def same_modules(one: Data, other: Data) -> bool:
    """Whether rows of two receipts can stand in one; an option may have come to the adapter."""
    alike = all(one[key] == other.get(key) for key in ("adapter", "module", "digests"))
    return alike and other["defaults"].items() <= one["defaults"].items()


def _key(row: Data) -> tuple[Any, ...]:
    return (*_group(row), row["version"])


def _group(row: Data) -> tuple[str, str]:
    """What the rows of a table share: the options, and what of the suite was replayed."""
    return options_text(row["options"]), ", ".join(row["models"])


def title(row: Data) -> str:
    """What a table is called: the options that are not the default, and the parts."""
    options, models = _group(row)
    return f"{options}{f', model {models} alone' if models else ''}"


def groups(content: Data) -> Iterator[tuple[Data, list[Data]]]:
    """The tables: the row that the others are compared with, and all rows by release.

    It is that of the release that tla-mbt pins, else the newest that was measured.
    """
    tables: dict[tuple[str, str], list[Data]] = {}
    for row in content["rows"]:
        tables.setdefault(_group(row), []).append(row)
    for rows in tables.values():
        measured = [row for row in rows if "evidence" in row]
        pinned = [row for row in measured if row["version"] == content["pin"]]
        yield (pinned or measured or rows)[-1], rows


def cells(content: Data, row: Data) -> dict[str, str]:
    """Column -> text, of a row; a release that lacks something has one for what that is."""
    if "lacks" in row:
        return {"lacks": row["lacks"]}
    found = content["evidence"][row["evidence"]]
    return {
        **{name: STYLE[found["properties"][name]["verdict"]][0] for name in content["properties"]},
        **{
            f"diverge, {part['name']}": f"{_diverging(part)} of {part['traces']}"
            for part in found["parts"]
        },
        "explained by": " or ".join(found["explained_by"]) or "none",
    }


def differing(content: Data) -> list[Data]:
    """The rows of which some cell is not that of the row they are compared with."""
    return [
        row
        for base, rows in groups(content)
        for row in rows
        if cells(content, row) != cells(content, base)
    ]


def _diverging(part: Data) -> int:
    return sum(map(len, part["divergences"].values()))


# -- the page -------------------------------------------------------------------------------


def page(content: Data) -> str:
    """The tables, a row a release; bold is what is not as at the release compared with."""
    lines = [f"# {content['framework']} over its releases: adapter {content['adapter']}", ""]
    lines += [
        f"{content['module']}, in an environment a release. Bold is what a release shows otherwise "
        "than the one that tla-mbt pins, or the newest where that was not measured. *Runs alike*: "
        "how many of the runs are the same, step for step, as there.",
        "",
        f"Options by default: {options_text(content['defaults'])}.",
    ]
    for base, rows in groups(content):
        lines += ["", f"## {title(base)}", ""]
        lines += _table(content, base, rows)
        lines += _notes(content, rows)
    lines += ["", "## What was installed", ""]
    lines += _installed(content)
    return "\n".join(lines) + "\n"


def _table(content: Data, base: Data, rows: Sequence[Data]) -> Iterator[str]:
    compared = cells(content, base)
    yield f"| release | {' | '.join(compared)} | runs alike |"
    yield "|---" * (len(compared) + 2) + "|"
    for row in rows:
        shown = cells(content, row)
        release = row["version"] + (" (pinned)" if row["version"] == content["pin"] else "")
        if "lacks" in shown and "lacks" not in compared:
            empty = " |" * (len(compared) - 1)
            yield f"| {release} | **lacks it: {_plain(shown['lacks'])}** |{empty} - |"
            continue
        texts = [text if text == compared[name] else f"**{text}**" for name, text in shown.items()]
        yield f"| {release} | {' | '.join(texts)} | {_alike(content, base, row)} |"


def _alike(content: Data, base: Data, row: Data) -> str:
    if "lacks" in row or "lacks" in base:
        return "-"
    ours, theirs = (_runs(content["evidence"][r["evidence"]]) for r in (row, base))
    same = sum(theirs.get(name) == digest for name, digest in ours.items())
    return f"{same} of {len(ours)}"


def _runs(found: Data) -> dict[tuple[str, str], str]:
    first = [part["name"] for part in found["parts"]]
    return {
        (part, trace): run["run"] for part in first for trace, run in found["runs"][part].items()
    }


def _notes(content: Data, rows: Sequence[Data]) -> Iterator[str]:
    """What forks came to, what was refused and what was noticed, and in which releases."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if "evidence" in row:
            for text in _noted(content["evidence"][row["evidence"]]):
                said.setdefault(text, []).append(row["version"])
    if said:
        yield ""
    for text, versions in said.items():
        where = (
            "all that were measured" if len(versions) == _measured(rows) else ", ".join(versions)
        )
        yield f"- {_plain(text)} ({where})"


def _measured(rows: Sequence[Data]) -> int:
    return sum("evidence" in row for row in rows)


def _noted(found: Data) -> Iterator[str]:
    forks = [
        fork
        for part in found["parts"]
        for run in found["runs"][part["name"]].values()
        for fork in run["forks"]
    ]
    if forks:
        took = sum(outcome == [value] for value, outcome, _ in forks)
        short = sum(0 in effects for _, _, effects in forks)
        yield (
            f"{len(forks)} forks: {took} made of the interrupt what they were given, {short} ended "
            "with a task that never fired"
        )
    yield from (f"{text}, in {count} runs" for text, count in found["refusals"].items())
    # A refusal is a fact too, in fewer words.
    facts = {text: count for text, count in found["facts"].items() if " refused: " not in text}
    yield from (f"{text}, in {count} runs" for text, count in facts.items())


def _plain(text: str) -> str:
    """A text of a system on one line, with nothing that Markdown reads."""
    return re.sub(r"([\\`*_<>|#\[\]])", r"\\\1", " ".join(text.split()))


def _installed(content: Data) -> Iterator[str]:
    named = {name: None for row in content["rows"] for name in row["versions"]}
    yield f"| release | Python | {' | '.join(named)} | packages |"
    yield "|---" * (len(named) + 3) + "|"
    for version, found in content["environments"].items():
        installed = dict(line.partition("==")[::2] for line in found["packages"])
        texts = [installed.get(name, "-") for name in named]
        count = len(found["packages"])
        yield f"| {version} | {found['python']} | {' | '.join(texts)} | {count} |"


# -- the audit ------------------------------------------------------------------------------


def problems(content: Data) -> Iterator[str]:
    """Where the receipt contradicts itself, or is of other modules than those here."""
    for name, digest in content["digests"].items():
        here = SPECS / name
        if here.is_file() and hashlib.sha256(here.read_bytes()).hexdigest() != digest:
            yield f"of another {name} than the one here"
    yield from missing(content)
    for row in content["rows"]:
        yield from row_problems(content, row)
    used = {row.get("evidence") for row in content["rows"]}
    for digest, found in content["evidence"].items():
        if digest not in used:
            yield f"evidence {digest} is of no row"
        if digest_of(found) != digest:
            yield f"evidence {digest} is not what its digest is of"
        yield from (f"evidence {digest}: {phrase}" for phrase in evidence_problems(found))
