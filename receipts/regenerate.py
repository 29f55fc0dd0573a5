"""Write the committed receipts anew (`make receipts`), and TABLE.md from them.

python receipts/regenerate.py           replay every row of rows.toml, then the table
python receipts/regenerate.py --table   the table alone, from the receipts that are there
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adapters.registry import load_adapter, locate
from mbt.cli import main as mbt
from replay.explain import name_faults
from replay.receipts import receipt_name

HERE = Path(__file__).resolve().parent
SPEC = "ResumeContract"


def rows() -> Iterator[tuple[str, str, Mapping[str, str], Path]]:
    """Title of the table, adapter, options chosen, folder of the receipt."""
    tables = tomllib.loads((HERE / "rows.toml").read_text())["table"]
    for table in tables:
        adapter = table["adapter"]
        rules = load_adapter(locate(adapter)).options
        defaults = {name: option.default for name, option in rules.items()}
        for chosen in table["rows"]:
            folder = HERE / receipt_name(SPEC, adapter, defaults | chosen, defaults)
            yield table["title"], adapter, chosen, folder


def replay_all() -> int:
    """Replay every row; return the exit code of the first that failed, else 0."""
    for _, adapter, chosen, folder in rows():
        words = ["replay", f"specs/{SPEC}.tla", "--adapter", adapter, "--receipts", str(HERE)]
        for name, value in chosen.items():
            words += ["--option", f"{name}={value}"]
        print(f"== {folder.relative_to(HERE)}", flush=True)
        code = mbt(words)
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
    for of_table, _, chosen, folder in rows():
        receipt = json.loads((folder / "receipt.json").read_text())
        parts = {part["name"]: part for part in receipt["parts"]}
        if of_table != title:
            title = of_table
            versions = ", ".join(
                f"{name} {version}"
                for name, version in receipt["versions"].items()
                if name != "tla-mbt"
            )
            lines += ["", f"## {title}", "", *([versions, ""] if versions else [])]
            names = [f"{name} ({part['traces']})" for name, part in parts.items()]
            lines += [
                f"| options | {' | '.join(names)} | one crash explained by | whole explained by |",
                f"|---|{'---|' * len(names)}---|---|",
            ]
        options = ", ".join(f"{n}={v}" for n, v in chosen.items()) or "the defaults"
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
    return " or ".join(name_faults(names) for names in explanation["smallest"]) or "none"


if __name__ == "__main__":
    code = 0 if "--table" in sys.argv[1:] else replay_all()
    if code == 0:
        (HERE / "TABLE.md").write_text(table())
    sys.exit(code)
