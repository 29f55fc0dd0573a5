"""Drawings of the study of races at real times: a heat map, and the dose-response."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from replay.races.frequencies import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format = Literal["svg", "png"]
FORMATS: tuple[Format, ...] = ("svg", "png")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = ("o", "s", "^", "D", "v", "P")
"""For the doses, by colour and by shape."""
NUDGE = 0.05
"""Doses between the points of a place, which would else hide each other."""
Cell = Mapping[str, Any]


def draw(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what a receipt holds; return the files.

    Raises:
        OSError: they cannot be written.
    """
    import matplotlib
    from matplotlib.figure import Figure

    written = []
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"race-saturation": _saturation, "race-dose-response": _response}
    for name, fill in pictures.items():
        # The salt and the missing date make equal pictures equal files.
        with matplotlib.rc_context({"svg.hashsalt": "mbt", "svg.fonttype": "none"}):
            figure = Figure(layout="constrained")
            fill(figure, content)
            for kind in FORMATS:
                written.append(folder / f"{name}.{kind}")
                written[-1].write_bytes(_file(figure, kind))
    return written


def _file(figure: Figure, kind: Format) -> bytes:
    drawn = io.BytesIO()
    metadata = {"svg": {"Date": None}, "png": {}}[kind]
    figure.savefig(drawn, format=kind, dpi=120, metadata=metadata)
    return drawn.getvalue()


def _panels(cells: Sequence[Cell], *keys: str) -> Iterator[tuple[tuple[Any, ...], list[Cell]]]:
    """The cells by what they have under some keys, in the order in which they come."""
    for named in dict.fromkeys(tuple(cell[key] for key in keys) for cell in cells):
        yield named, [cell for cell in cells if tuple(cell[key] for key in keys) == named]


def _saturation(figure: Figure, content: Mapping[str, Any]) -> None:
    """A panel a plane and a dose: fires per run by racers and jitter."""
    panels = [*_panels(content["sweep"], "kind", "lasts", "backend")]
    figure.set_size_inches(2.0 * len(panels) + 1.2, 3.4)
    figure.suptitle("Fires of the gated effect per run; colour: share of the racers", size=10)
    shared: Any = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    for axes, ((kind, lasts, backend), cells) in zip(shared[0], panels, strict=True):
        image = _heat(axes, cells)
        axes.set_title(f"{kind}, {backend}\nbody {lasts:g} ms", fontsize=9)
        axes.set_xlabel("jitter, ms")
    shared[0][0].set_ylabel("racers")
    figure.colorbar(image, ax=shared, shrink=0.9)


def _heat(axes: Axes, cells: Sequence[Cell]) -> Any:
    racers = sorted({cell["racers"] for cell in cells})
    jitters = sorted({cell["jitter"] for cell in cells})
    share = [[0.0] * len(jitters) for _ in racers]
    for cell in cells:
        found, y, x = cell["comes to"], racers.index(cell["racers"]), jitters.index(cell["jitter"])
        share[y][x] = found["fires"] / found["racers"]
        mean = found["fires"] / found["repetitions"]
        ink = "white" if share[y][x] > 0.5 else "black"
        axes.text(x, y, f"{mean:.1f}", ha="center", va="center", color=ink, fontsize=9)
    axes.set_xticks(range(len(jitters)), [f"{jitter:g}" for jitter in jitters])
    axes.set_yticks(range(len(racers)), [str(k) for k in racers])
    return axes.imshow(share, vmin=0, vmax=1, cmap="Blues", aspect="auto", origin="lower")


def _response(figure: Figure, content: Mapping[str, Any]) -> None:
    """A panel a store: how often both fired by the second's offset, a line a dose."""
    panels = [*_panels(content["response"], "backend")]
    figure.set_size_inches(4.6 * len(panels), 3.6)
    figure.suptitle(
        "Two racers: both fired, by when the second one came\n(bars: Wilson, 95 %)", size=10
    )
    shared: Any = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    for axes, ((backend,), cells) in zip(shared[0], panels, strict=True):
        for number, ((lasts,), line) in enumerate(_panels(cells, "lasts")):
            _line(axes, line, f"body {lasts:g} ms", number)
        axes.axvline(1, color="grey", linewidth=0.8, linestyle=":")
        axes.set_title(f"stock, {backend}", fontsize=10)
        axes.set_xlabel("planned offset of the second call, in bodies")
        axes.set_ylim(-0.05, 1.05)
        axes.legend(fontsize=8)
    shared[0][0].set_ylabel("share of the repetitions")


def _line(axes: Axes, cells: Sequence[Cell], label: str, number: int) -> None:
    counts = [(cell["comes to"]["by all"], cell["comes to"]["repetitions"]) for cell in cells]
    share = [count / of for count, of in counts]
    spans = [wilson(count, of) for count, of in counts]
    axes.errorbar(
        [cell["offset"] + NUDGE * number for cell in cells],
        share,
        yerr=[
            [max(at - low, 0.0) for at, (low, _) in zip(share, spans, strict=True)],
            [max(high - at, 0.0) for at, (_, high) in zip(share, spans, strict=True)],
        ],
        label=label,
        color=COLOURS[number % len(COLOURS)],
        marker=MARKS[number % len(MARKS)],
        markersize=5,
        capsize=2,
        linewidth=1.2,
    )
