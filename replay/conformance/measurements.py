"""TABLE.md: what each replay measured, part by part, from the receipts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.rows import Row, options_text

NAME = "TABLE.md"


def measurements(rows: Sequence[Row]) -> str:
    """The text of TABLE.md.

    Raises:
        MbtError: a row has no receipt.
    """
    lines = [
        "# What was measured",
        "",
        "Written by `make receipts` from the receipts beside this file, and from nothing else. A",
        "part says which properties fail and how many of its traces diverge. What explains it is",
        "of the module's own switches; where that is none, the companions' may do:",
        "[explanations](studies/explanations.md).",
    ]
    heading: tuple[str, str] | None = None
    several = _of_several_modules(rows)
    for row in rows:
        receipt = row.receipt()
        parts = {part["name"]: part for part in receipt["parts"]}
        if (row.title, row.module) != heading:
            heading = row.title, row.module
            lines += _head(row, receipt, parts, several)
        cells = [_part(receipt, name, part) for name, part in parts.items()]
        first = _mechanisms(receipt["parts"][0]["explanation"])
        whole = _mechanisms(receipt["explanation"])
        lines.append(f"| {options_text(row.chosen)} | {' | '.join(cells)} | {first} | {whole} |")
    return "\n".join(lines) + "\n"


def _of_several_modules(rows: Sequence[Row]) -> set[str]:
    modules: dict[str, set[str]] = {}
    for row in rows:
        modules.setdefault(row.title, set()).add(row.module)
    return {title for title, found in modules.items() if len(found) > 1}


def _head(
    row: Row,
    receipt: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, Any]],
    several: set[str],
) -> Iterator[str]:
    module = f" ({row.module})" if row.title in several else ""
    yield from ("", f"## {row.title}{module}", "")
    took_part = {**receipt["versions"], **receipt["servers"]}
    versions = [f"{name} {text}" for name, text in took_part.items() if name != "tla-mbt"]
    if versions:
        yield from (", ".join(versions), "")
    names = [f"{name} ({part['traces']})" for name, part in parts.items()]
    yield (
        f"| options | {' | '.join(names)} | {next(iter(parts))} explained by | whole explained by |"
    )
    yield f"|---|{'---|' * len(names)}---|---|"


def _part(receipt: Mapping[str, Any], name: str, part: Mapping[str, Any]) -> str:
    failing = [
        key
        for key, rule in receipt["properties"].items()
        if rule["parts"][name]["verdict"] == "violated"
    ]
    skipped = part["steps"] - part["applicable"]
    text = f"{' '.join(failing) or '–'}; {len(part['divergences'])}"
    return f"{text}; {skipped} steps inapplicable" if skipped else text


def _mechanisms(explanation: Mapping[str, Any] | None) -> str:
    return "" if explanation is None else " or ".join(explanation["names"]) or "none"
