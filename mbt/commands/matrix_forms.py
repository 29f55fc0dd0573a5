"""The forms in which a grid is shown, each made of its receipt alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from tracegen.matrix import Receipt

Cell = Mapping[str, Any]
Rows = Sequence[Sequence[str]]

LEGEND = (
    "✓ holds: the complete state space was explored; ✗ n violated: n states in the counterexample"
)
_MARKS = {"holds": "✓", "violated": "✗"}
_STYLES = {"✓": "green", "✗": "red", "≠": "bold red"}
_FIGURES = ("states", "generated", "distinct", "depth")
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "✓": r"$\checkmark$", "✗": r"$\times$", "×": r"$\times$", "≠": r"$\neq$", "–": "--",
}  # fmt: skip


def contradicted(cell: Cell) -> bool:
    """Whether what was measured is the opposite of what the checker found."""
    measured = cell.get("measured")
    return measured is not None and {measured["verdict"], cell["verdict"]} == {*_MARKS}


def contradictions(receipt: Receipt) -> list[str]:
    """The cells that are contradicted, a phrase each."""
    return [
        f"{cell['row']} × {cell['column']}: {cell['verdict']}, but {cell['measured']['verdict']} "
        f"in replays on {cell['measured']['adapter']}"
        for cell in receipt["cells"]
        if contradicted(cell)
    ]


def legend(receipt: Receipt) -> str:
    """What the marks in its table mean."""
    adapters = {cell["measured"]["adapter"] for cell in receipt["cells"] if cell.get("measured")}
    if not adapters:
        return LEGEND
    names = ", ".join(sorted(adapters))
    return f"{LEGEND}; behind the stroke what replays on {names} came to, ≠ where it contradicts"


def screen(receipt: Receipt) -> Table:
    """For a terminal."""
    headings, rows = _table(receipt)
    table = Table(box=None, header_style="dim")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in _FIGURES else "left")
    for row in rows:
        table.add_row(row[0], *(Text(text, _style(text)) for text in row[1:]))
    return table


def markdown(receipt: Receipt) -> str:
    """A heading, a table and the legend."""
    headings, rows = _table(receipt)
    lines = [piped(headings), f"|{'---|' * len(headings)}", *map(piped, rows)]
    return "\n".join([f"**{receipt['title']}**", "", *lines, "", f"{legend(receipt)}."])


def latex(receipt: Receipt) -> str:
    """A tabular environment; the marks need amssymb."""
    headings, rows = _table(receipt)
    body = [" & ".join(map(escaped, row)) + r" \\" for row in (headings, *rows)]
    about = (receipt["title"], legend(receipt), "needs the package amssymb")
    return "\n".join(
        [
            *(f"% {escaped(line)}" for line in about),
            rf"\begin{{tabular}}{{{'l' * len(headings)}}}",
            r"\hline",
            body[0],
            r"\hline",
            *body[1:],
            r"\hline",
            r"\end{tabular}",
        ]
    )


def comma_separated(receipt: Receipt) -> str:
    """A line a cell, with all figures."""
    measured = any("measured" in cell for cell in receipt["cells"])
    plain = ("row", "column", "module", "base", "verdict", *_FIGURES)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*plain, "checks", *(["measured"] if measured else [])])
    for cell in receipt["cells"]:
        found = (cell.get("measured") or {}).get("verdict", "")
        values = ["" if cell[name] is None else cell[name] for name in plain]
        writer.writerow([*values, " ".join(cell["checks"]), *([found] if measured else [])])
    return text.getvalue().removesuffix("\n")


def _table(receipt: Receipt) -> tuple[Sequence[str], Rows]:
    """Headings and rows: a row a cell where there is one column, else a column a check."""
    columns = receipt["columns"]
    if len(columns) == 1:
        headings = ("", "checks", "verdict", *_FIGURES)
        return headings, [_single(cell) for cell in receipt["cells"]]
    at = {(cell["row"], cell["column"]): cell for cell in receipt["cells"]}
    labels = dict.fromkeys(cell["row"] for cell in receipt["cells"])
    rows = [
        [label, *(_mark(at[label, column]) if (label, column) in at else "" for column in columns)]
        for label in labels
    ]
    return ["", *columns], rows


def _single(cell: Cell) -> Sequence[str]:
    figures = ["" if cell[name] is None else f"{cell[name]:,}" for name in _FIGURES]
    verdict = _beside(cell, _word(cell["verdict"]))
    return [cell["row"], " ".join(cell["checks"]), verdict, *figures]


def _mark(cell: Cell) -> str:
    verdict = _word(cell["verdict"])
    return _beside(cell, f"{verdict} {cell['states']}" if cell["states"] else verdict)


def _beside(cell: Cell, model: str) -> str:
    """What the model came to, and where replays are looked at what they did."""
    if "measured" not in cell:
        return model
    measured = _word(cell["measured"]["verdict"]) if cell["measured"] else "–"
    return f"{model} / {measured}{' ≠' if contradicted(cell) else ''}"


def _word(verdict: str) -> str:
    return _MARKS.get(verdict, verdict)


def _style(text: str) -> str:
    return next((style for mark, style in reversed(_STYLES.items()) if mark in text), "")


def piped(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def escaped(text: str) -> str:
    """Text for LaTeX."""
    return "".join(_LATEX.get(sign, sign) for sign in text)
