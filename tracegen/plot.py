"""Drawing a picture of a state graph with matplotlib, in our own layout."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tracegen.graph import Edge
from tracegen.layout import layered
from tracegen.picture import Format, Pen, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NODE = 14.0  # points across
_ACROSS, _DOWN = 0.55, 0.9  # inches from state to state, and from layer to layer


def plot(picture: Picture, kind: Format) -> bytes:
    """The picture as a file, the same bytes for equal pictures."""
    # Loaded here, since they take a second.
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    layout = layered(picture.graph)
    places = layout.places
    size = (
        max(5.0, (layout.width + 1) * _ACROSS),
        max(3.0, len(layout.layers) * _DOWN + 0.35 * (len(picture.legend) // 3 + 1)),
    )
    # The salt and the missing date make equal pictures equal files.
    with matplotlib.rc_context({"svg.hashsalt": "mbt", "svg.fonttype": "none"}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_title(_plain(picture.title))
        axes.set_xlim(-size[0] / _ACROSS / 2, size[0] / _ACROSS / 2)
        axes.set_ylim(-len(layout.layers) + 0.4, 0.6)
        abreast: dict[tuple[int, int], int] = {}
        for edge in picture.graph.edges:
            ends = (edge.source, edge.target)
            abreast[ends] = abreast.get(ends, -1) + 1
            _arrow(axes, edge, places, picture.pens[edge.id], abreast[ends])
        for state, (x, y) in places.items():
            _circle(axes, picture, state, x, y)
        handles = [
            Line2D([], [], color=pen.colour, linestyle=pen.line, linewidth=pen.width + 0.6)
            for pen in picture.legend.values()
        ]
        names = [_plain(name) for name in picture.legend]
        figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
        drawn = io.BytesIO()
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        figure.savefig(drawn, format=kind, dpi=120, metadata=dateless)
    return drawn.getvalue()


def _plain(text: str) -> str:
    """A text that matplotlib takes as it is: a dollar would begin mathematics."""
    return text.replace("$", r"\$")


def _circle(axes: Axes, picture: Picture, state: int, x: float, y: float) -> None:
    bold = 2.5 if state in picture.graph.initial else 1.0
    axes.plot(x, y, "o", ms=_NODE, mfc="white", mec="black", mew=bold, zorder=3)
    if state in picture.terminal:
        axes.plot(x, y, "o", ms=_NODE - 4, mfc="white", mec="black", mew=0.8, zorder=3)
    axes.text(x, y, str(state), ha="center", va="center", fontsize=6, zorder=4)


def _arrow(
    axes: Axes, edge: Edge, places: dict[int, tuple[float, float]], pen: Pen, abreast: int
) -> None:
    """A transition; bent where it would else run over another, or over the states of a layer."""
    from matplotlib.patches import FancyArrowPatch

    start, end = places[edge.source], places[edge.target]
    gap = _NODE / 2
    if edge.source == edge.target:  # a loop at the right of the state, from rim to rim
        (x, y), gap = start, 0.0
        start, end = (x + 0.17, y + 0.05), (x + 0.17, y - 0.05)
        bend = -4.0 - 2.0 * abreast
    else:
        bend = (0.0 if end[1] < start[1] else 0.35) + 0.18 * abreast
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>",
            mutation_scale=7,
            shrinkA=gap,
            shrinkB=gap,
            color=pen.colour,
            linestyle=pen.line,
            linewidth=pen.width,
            zorder=1,
        )
    )
