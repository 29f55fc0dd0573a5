"""The forms in which the conformance table is shown, each made of its data alone."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from mbt.commands.matrix_forms import escaped, piped
from replay.conformance.paper import DIFFERS, NEW, REPRODUCED
from replay.rows import options_text

Data = Mapping[str, Any]

TITLE = "Conformance: frameworks by properties"
LEGEND = (
    "✓ held where something could have broken it. ✗ violated against a citable statement, or a "
    "broken state stored silently. D violated where a weaker statement is citable. U violated, "
    "and no statement was found. ✓* no run went on after a crash, so it holds since nothing "
    "happens. What is no verdict is said in words: not provoked, not observed, not judged, not "
    "expressible. – not run in this form."
)
STRICT = "Strict: ✗ where U would stand."
KINDS = (REPRODUCED, DIFFERS, NEW)
_STYLES = {"✓": "green", "✓*": "yellow", "✗": "red", "U": "red", "D": "yellow"}


def legend(data: Data) -> str:
    """What the marks mean."""
    return f"{LEGEND} {STRICT}" if data["strict"] else LEGEND


def mark(cell: Data) -> str:
    """A cell in short."""
    label: str = "–" if cell["label"] == "not run" else cell["label"]
    return f"{label}*" if cell["idle"] else label


def provenance(row: Data) -> str:
    """How the cells of a row stand to the paper's, in a phrase."""
    groups: dict[str, list[str]] = {}
    for name, cell in row["cells"].items():
        if cell["provenance"]:
            groups.setdefault(cell["provenance"], []).append(name)
    if [*groups] == [NEW]:
        return NEW
    return "; ".join(f"{kind} {' '.join(groups[kind])}" for kind in KINDS if kind in groups)


def about(row: Data) -> str:
    """Mechanism and form of a row."""
    return "; ".join([row["mechanism"], *(f"{n}={v}" for n, v in row["options"].items())])


def differences(data: Data) -> list[tuple[str, Data]]:
    """Cells that differ from the paper, each with a heading."""
    return [
        (f"{row['framework']}, {about(row)}, {name}", cell)
        for row in data["rows"]
        for name, cell in row["cells"].items()
        if cell["provenance"] == DIFFERS
    ]


def screen(data: Data, root: Path) -> Table:
    """For a terminal: a framework's forms below it; a cell is a link to its receipt."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("form", no_wrap=True)
    for heading in data["columns"]:
        table.add_column(heading, min_width=len(heading))
    table.add_column("explained by", min_width=len("InvalidPersist"))
    table.add_column("beside the paper", no_wrap=True)
    before = None
    for row in data["rows"]:
        whose = f"{row['framework']}, {row['mechanism']}"
        if whose != before:
            table.add_row(Text(whose, "bold"))
        before = whose
        cells = [_shown(row["cells"][name], root) for name in data["columns"]]
        options = " ".join(f"{n}={v}" for n, v in row["options"].items()) or "the defaults"
        table.add_row(f"  {options}", *cells, row["explained_by"], _counted(row))
    return table


def _counted(row: Data) -> str:
    """How many cells of a row stand how to the paper's."""
    kinds = Counter(cell["provenance"] for cell in row["cells"].values())
    return ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])


def _shown(cell: Data, root: Path) -> Text:
    style = _STYLES.get(mark(cell), "dim")
    if cell["receipt"]:
        style += f" link {(root / cell['receipt']).resolve().as_uri()}"
    return Text(f"{mark(cell)}{' ≠' if cell['provenance'] == DIFFERS else ''}", style)


def markdown(data: Data) -> str:
    """CONFORMANCE.md: the table, where it differs from the paper, the statements, the pairs."""
    headings = ["framework", "form", *data["columns"], "explained by", "beside the paper"]
    lines = [
        f"# {TITLE}",
        "",
        "Written by `mbt conformance` from the receipts beside this file, and from nothing else. A",
        "cell leads to the receipt that decides it; an option that is not named has its default.",
        "",
        legend(data),
        "",
        *(f"- {name}: {title}" for name, title in data["titles"].items()),
        "",
        piped(headings),
        f"|{'---|' * len(headings)}",
    ]
    for row in data["rows"]:
        cells = [_linked(row["cells"][name]) for name in data["columns"]]
        lines.append(
            piped([row["framework"], about(row), *cells, row["explained_by"], provenance(row)])
        )
    lines += ["", "## Where it differs from the paper", ""]
    for heading, cell in differences(data):
        because = cell["because"] or "no reason is given"
        lines.append(f"- {heading}: {cell['label']}, in the paper {cell['paper']}. {because}")
    lines += [f"- not replayed: {title}" for title in data["not_replayed"]]
    if lines[-1] == "":
        lines.append("Nowhere.")
    lines += ["", "## Beside which row of the paper", ""]
    for row in data["rows"]:
        if row["paper"]:
            note = f" {row['paper_note']}" if row["paper_note"] else ""
            lines.append(f"- {row['framework']}, {about(row)}: {row['paper']}.{note}")
    lines += ["", "## What separates two frameworks", "", *_pairs(data)]
    lines += ["", "## The statements that a label rests on", ""]
    for name, claim in data["claims"].items():
        lines.append(
            f"- `{name}` ({claim['framework']}, {claim['says']}): {claim['text']} "
            f"{claim['source']}; retrieved {claim['retrieved']}."
        )
    lines += ["", "## Versions", ""]
    versions = {
        f"- {row['framework']}: " + ", ".join(f"{n} {v}" for n, v in row["versions"].items()): None
        for row in data["rows"]
        if row["versions"]
    }
    return "\n".join([*lines, *versions])


def _linked(cell: Data) -> str:
    if not cell["receipt"]:
        return mark(cell)
    about_it = "; ".join(filter(None, [cell["note"], " ".join(cell["claims"])]))
    about_it = about_it.replace('"', "'")
    title = f' "{about_it}"' if about_it else ""
    return f"[{mark(cell).replace('*', chr(92) + '*')}]({cell['receipt']}{title})"


def _pairs(data: Data) -> list[str]:
    lines = [
        "Columns in which the labels of all forms of the one are other than those of all forms of",
        "the other (always), and in which those of some are (by form).",
        "",
        piped(["pair", "always", "by form", "the paper's Table VII"]),
        "|---|---|---|---|",
    ]
    for pair in data["pairs"]:
        lines.append(
            piped(
                [
                    " – ".join(pair["frameworks"]),
                    " ".join(pair["always"]) or "–",
                    " ".join(pair["by_form"]) or "–",
                    pair_text(pair),
                ]
            )
        )
    return lines


def pair_text(pair: Data) -> str:
    """What the paper says of a pair, and whether that is so here."""
    told = pair.get("paper")
    if told is None:
        return "not in it"
    cells = [
        name if separates else f"{name} (not here)" for name, separates in told["cells"].items()
    ]
    outcome = "reproduced" if told["reproduced"] else "differs"
    return f"{told['kind']}: {' '.join(cells) or 'no cell'}; {outcome}"


def latex(data: Data) -> str:
    """A tabular environment, each cell a link; needs amssymb and hyperref."""
    headings = ["framework", "form", *data["columns"]]
    body = []
    for row in data["rows"]:
        cells = [_href(row["cells"][name]) for name in data["columns"]]
        body.append(" & ".join([escaped(row["framework"]), escaped(about(row)), *cells]) + r" \\")
    return "\n".join(
        [
            *(f"% {escaped(line)}" for line in (TITLE, legend(data))),
            "% needs the packages amssymb and hyperref",
            rf"\begin{{tabular}}{{{'l' * len(headings)}}}",
            r"\hline",
            " & ".join(map(escaped, headings)) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
        ]
    )


def _href(cell: Data) -> str:
    text = escaped(mark(cell))
    return rf"\href{{{cell['receipt']}}}{{{text}}}" if cell["receipt"] else text


def comma_separated(data: Data) -> str:
    """A line a cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    told = ("label", "verdict", "note", "provenance", "paper", "because", "receipt")
    writer.writerow(["framework", "mechanism", "adapter", "options", "column", *told, "claims"])
    for row in data["rows"]:
        head = [row["framework"], row["mechanism"], row["adapter"], options_text(row["options"])]
        for name, cell in row["cells"].items():
            values = [cell.get(key) or "" for key in told]
            writer.writerow([*head, name, *values, " ".join(cell["claims"])])
    return text.getvalue().removesuffix("\n")


def changes(found: Data, committed: Data) -> list[str]:
    """Where a table says otherwise than the committed one, a phrase each."""
    phrases: list[str] = []
    was, now = _by_form(committed), _by_form(found)
    for form in dict.fromkeys([*now, *was]):
        if form not in was or form not in now:
            phrases.append(
                f"{form}: only in the {'receipts' if form in now else 'committed table'}"
            )
            continue
        for name, cell in now[form]["cells"].items():
            before = was[form]["cells"].get(name)
            if cell != before:
                then = before["label"] if before else "nothing"
                other = [key for key in cell if before and cell[key] != before.get(key)]
                phrases.append(
                    f"{form}, {name}: {cell['label']}, committed {then} ({', '.join(other)})"
                )
        rest = {key for key in now[form] if key != "cells" and now[form][key] != was[form].get(key)}
        phrases += [f"{form}: {key} is another" for key in sorted(rest)]
    phrases += [
        f"{key} is another" for key in found if key != "rows" and found[key] != committed.get(key)
    ]
    return phrases


def _by_form(data: Data) -> dict[str, Data]:
    rows: Sequence[Data] = data["rows"]
    return {f"{row['adapter']}, {options_text(row['options'])}": row for row in rows}
