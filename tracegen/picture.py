"""A picture of a state graph: actions as colours, or what a replay covered.

Drawn by Graphviz where `dot` is on the PATH, else in our own layout by matplotlib. Of a state the
picture shows its number; in an SVG by Graphviz its values appear under the pointer.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracegen.errors import MachineryError, MbtError
from tracegen.graph import Edge, StateGraph

MOST_STATES = 300
"""States above which a picture is refused: nobody could read it."""
Format = Literal["svg", "png", "pdf"]
Line = Literal["solid", "dashed", "dotted"]
_DOT_SECONDS = 120

# Okabe and Ito's colours, which the colour-blind can tell apart; then again with other lines.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F5C00", "#000000")
_LINES: tuple[Line, ...] = ("solid", "dashed", "dotted")
_COVERED, _NOT_COVERED, _DIVERGED = "#0072B2", "#AAAAAA", "#D50000"


@dataclass(frozen=True)
class Coverage:
    """Transitions, by number, that replayed runs took, and at which some diverged."""

    covered: frozenset[int]
    diverged: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pen:
    """How a transition is drawn."""

    colour: str
    """#RRGGBB"""
    line: Line = "solid"
    width: float = 1.2
    """In points."""


@dataclass(frozen=True)
class Picture:
    """A graph with a pen for each transition, and what the pens mean."""

    graph: StateGraph
    title: str
    pens: Mapping[int, Pen]
    """By the number of the transition."""
    legend: Mapping[str, Pen]
    terminal: frozenset[int] = field(default_factory=frozenset)
    """States that nothing leaves."""


def picture_of(graph: StateGraph, title: str, coverage: Coverage | None = None) -> Picture:
    """Choose the pens: by action, or by coverage where there is one.

    Raises MbtError above MOST_STATES.
    """
    if len(graph) > MOST_STATES:
        raise MbtError(
            f"a picture of {len(graph):,} states could not be read (at most {MOST_STATES}); draw a "
            "model with smaller bounds in its .cfg, or see the numbers without --picture"
        )
    by_kind = _by_action(graph) if coverage is None else _by_coverage(graph, coverage)
    pens = {number: pen for pen, numbers in by_kind.values() for number in numbers}
    legend = {f"{name} ({len(numbers)})": pen for name, (pen, numbers) in by_kind.items()}
    leaving = set(graph.sources.tolist())
    return Picture(graph, title, pens, legend, frozenset(range(len(graph))) - leaving)


def draw(picture: Picture, target: Path) -> str:
    """Draw into a file, whose name says how: .svg, .png or .pdf. Returns "dot" or "matplotlib".

    The file appears whole or not at all. Raises MbtError for another name, or where the file cannot
    be written; MachineryError where dot fails.
    """
    kinds: Mapping[str, Format] = {".svg": "svg", ".png": "png", ".pdf": "pdf"}
    kind = kinds.get(target.suffix.lower())
    if kind is None:
        raise MbtError(f"{target}: name a picture .svg, .png or .pdf")
    dot = shutil.which("dot")
    if dot is None:
        from tracegen.plot import plot

        drawn, by = plot(picture, kind), "matplotlib"
    else:
        drawn, by = _run_dot(dot, dot_text(picture), kind), "dot"
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_bytes(drawn)
        partial.replace(target)
    except OSError as error:
        raise MbtError(f"cannot write {target}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return by


def dot_text(picture: Picture) -> str:
    """The picture in Graphviz's language; whatever a model's names and values hold is quoted."""
    graph = picture.graph
    lines = [
        "digraph {",
        f"label={_quoted(picture.title)}; labelloc=t; fontname=sans; rankdir=TB;",
        "node [shape=circle, fontname=sans, fontsize=10, width=0.35, margin=0.03];",
        "edge [fontname=sans, fontsize=9, arrowsize=0.6];",
        *(f"{number} [{_state(picture, number)}];" for number in range(len(graph))),
        f"{{rank=source; {' '.join(f'{number};' for number in graph.initial)}}}",
    ]
    for edge in graph.edges:
        text = _quoted(f"{edge.action}: {edge.source} to {edge.target}")
        lines.append(f"{edge.source} -> {edge.target} [{_pen(picture.pens[edge.id])}, "
                     f"tooltip={text}];")  # fmt: skip
    lines.append('subgraph cluster_legend { label=""; color=white; node [shape=plaintext];')
    for place, (name, pen) in enumerate(picture.legend.items()):
        lines.append(f"legend{place} [label={_quoted(name)}, fontcolor={_quoted(pen.colour)}];")
        lines.append(f'bar{place} [label="", width=0.1];')
        lines.append(f"bar{place} -> legend{place} [{_pen(pen)}, arrowhead=none];")
    return "\n".join([*lines, "}", "}", ""])


def _state(picture: Picture, number: int) -> str:
    values = picture.graph.state(number).items()
    tooltip = "\n".join([f"state {number}", *(f"{name} = {value}" for name, value in values)])
    shape = ", shape=doublecircle" if number in picture.terminal else ""
    bold = ", penwidth=2.5" if number in picture.graph.initial else ""
    return f"tooltip={_quoted(tooltip)}{shape}{bold}"


def _pen(pen: Pen) -> str:
    return f"color={_quoted(pen.colour)}, style={pen.line}, penwidth={pen.width}"


def _quoted(text: str) -> str:
    """A string of DOT that stands for exactly this text: backslashes would begin an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "\\n")
    return f'"{escaped}"'


def _run_dot(dot: str, text: str, kind: Format) -> bytes:
    try:
        ended = subprocess.run(
            [dot, f"-T{kind}"],
            input=text.encode(),
            capture_output=True,
            timeout=_DOT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MachineryError(f"{dot} did not end within {_DOT_SECONDS} s") from None
    except OSError as error:
        raise MachineryError(f"cannot run {dot}: {error.strerror}") from None
    if ended.returncode != 0 or not ended.stdout:
        said = " ".join(ended.stderr.decode(errors="replace").split())
        raise MachineryError(f"{dot} ended with {ended.returncode}: {said or 'it said nothing'}")
    return ended.stdout


def _by_action(graph: StateGraph) -> dict[str, tuple[Pen, list[int]]]:
    pens = [Pen(colour, line) for line in _LINES for colour in _COLOURS]
    by_action: dict[str, tuple[Pen, list[int]]] = {
        action: (pens[place % len(pens)], []) for place, action in enumerate(graph.actions)
    }
    for edge in graph.edges:
        by_action[edge.action][1].append(edge.id)
    return by_action


def _by_coverage(graph: StateGraph, coverage: Coverage) -> dict[str, tuple[Pen, list[int]]]:
    def kind(edge: Edge) -> str:
        if edge.id in coverage.diverged:
            return "diverged there"
        return "covered" if edge.id in coverage.covered else "not covered"

    by_kind: dict[str, tuple[Pen, list[int]]] = {
        "covered": (Pen(_COVERED, width=1.8), []),
        "not covered": (Pen(_NOT_COVERED, "dashed"), []),
        "diverged there": (Pen(_DIVERGED, width=2.4), []),
    }
    for edge in graph.edges:
        by_kind[kind(edge)][1].append(edge.id)
    return by_kind
