"""Write the committed receipts anew (`make receipts`), and TABLE.md from them.

python receipts/regenerate.py           replay every row of rows.toml, then the table
python receipts/regenerate.py --table   the table alone, from the receipts that are there
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.registry import load_adapter, locate
from mbt.cli import main as mbt
from replay.receipts import receipt_name

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Row:
    """A row of a table: what to type, the options that it is about, where its receipt goes."""

    title: str
    words: tuple[str, ...]
    chosen: Mapping[str, str]
    folder: Path


def rows() -> Iterator[Row]:
    """The rows of rows.toml."""
    for table in tomllib.loads((HERE / "rows.toml").read_text())["table"]:
        module, adapter = table["module"], table["adapter"]
        rules = load_adapter(locate(adapter)).options
        defaults = {name: option.default for name, option in rules.items()}
        words, selected = [f"specs/{module}.tla", "--adapter", adapter], ""
        if model := table.get("model"):
            words, selected = [*words, "--model", model], f"+{model}"
        if repeat := table.get("repeat"):
            words, selected = [*words, "--repeat", str(repeat)], f"{selected}+repeat={repeat}"
        for chosen in table["rows"]:
            options = [f"--option={name}={value}" for name, value in chosen.items()]
            name = receipt_name(module, adapter, defaults | chosen, defaults, selected)
            yield Row(table["title"], (*words, *options), chosen, HERE / name)


def replay_all() -> int:
    """Replay every row; return the exit code of the first that failed, else 0."""
    for row in rows():
        print(f"== {row.folder.relative_to(HERE)}", flush=True)
        code = mbt(["replay", *row.words, "--receipts", str(HERE)])
        if code > 1:  # 1 says that it diverges, which is a result
            return code
    return 0


def table() -> str:
    """TABLE.md, from the receipts alone."""
    lines = [
        "# What was measured",
        "",
        "Written by `make receipts` from the receipts beside this file, and from nothing else. A",
        "part says which properties fail and how many of its traces diverge.",
    ]
    title = ""
    for row in rows():
        receipt = json.loads((row.folder / "receipt.json").read_text())
        parts = {part["name"]: part for part in receipt["parts"]}
        if row.title != title:
            title = row.title
            versions = ", ".join(
                f"{name} {version}"
                for name, version in receipt["versions"].items()
                if name != "tla-mbt"
            )
            lines += ["", f"## {title}", "", *([versions, ""] if versions else [])]
            names = [f"{name} ({part['traces']})" for name, part in parts.items()]
            lines += [
                f"| options | {' | '.join(names)} | {next(iter(parts))} explained by "
                "| whole explained by |",
                f"|---|{'---|' * len(names)}---|---|",
            ]
        options = ", ".join(f"{n}={v}" for n, v in row.chosen.items()) or "the defaults"
        cells = [_part(receipt, name, part) for name, part in parts.items()]
        first = _mechanisms(receipt["parts"][0]["explanation"])
        whole = _mechanisms(receipt["explanation"])
        lines.append(f"| {options} | {' | '.join(cells)} | {first} | {whole} |")
    return "\n".join(lines) + "\n"


def _part(receipt: Mapping[str, Any], name: str, part: Mapping[str, Any]) -> str:
    failing = [
        key
        for key, rule in receipt["properties"].items()
        if rule["parts"][name]["verdict"] == "violated"
    ]
    skipped = part["steps"] - part["applicable"]
    text = f"{' '.join(failing) or '–'}; {len(part['divergences'])}"
    return f"{text}; {skipped} steps inapplicable" if skipped else text


def _mechanisms(explanation: Mapping[str, Any]) -> str:
    return " or ".join(explanation["names"]) or "none"


if __name__ == "__main__":
    code = 0 if "--table" in sys.argv[1:] else replay_all()
    if code == 0:
        (HERE / "TABLE.md").write_text(table())
    sys.exit(code)
