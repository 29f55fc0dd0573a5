"""What was counted in repetitions of a race, and how far such a count can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist, median
from typing import Any

from replay.races.timed_races import CAME, END, FIRES, HELD

CONFIDENCE = 0.95
Repetition = Mapping[str, Any]
Figures = dict[str, Any]


def wilson(count: int, of: int) -> tuple[float, float]:
    """The score interval of a frequency (Wilson 1927), without continuity correction."""
    if of == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = count / of
    scale = 1 + z * z / of
    middle = (share + z * z / (2 * of)) / scale
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / scale
    return max(middle - half, 0.0), min(middle + half, 1.0)


def counted(count: int, of: int) -> str:
    """A frequency for a reader: `9 of 10 (0.60 to 0.98)`."""
    low, high = wilson(count, of)
    return f"{count} of {of} ({low:.2f} to {high:.2f})"


def spread(repetition: Repetition) -> float:
    """Milliseconds from the first racer's call to the last one's."""
    return max(float(racer[CAME]) for racer in repetition["racers"])


def margin(repetition: Repetition) -> float | None:
    """By how many milliseconds the shortest gated body outlasted the arrivals.

    Negative where they were further apart than that; None where no racer was in the body.
    """
    held = [racer[HELD] for racer in repetition["racers"] if racer[HELD] is not None]
    return round(min(held) - spread(repetition), 2) if held else None


def fires(repetition: Repetition) -> int:
    """How often the gated effect fired."""
    return sum(racer[FIRES] for racer in repetition["racers"])


def all_fired(repetition: Repetition) -> bool:
    """Whether every racer fired it."""
    return all(racer[FIRES] for racer in repetition["racers"])


def became(racer: Sequence[Any]) -> str:
    """What became of a racer: "fired", "refused" (and did not fire), or "inert"."""
    if racer[FIRES]:
        return "fired"
    return "refused" if racer[END].startswith("refused") else "inert"


def figures(repetitions: Sequence[Repetition]) -> Figures:
    """What the repetitions of a cell come to; times are in milliseconds."""
    racers = [racer for each in repetitions for racer in each["racers"]]
    ends = Counter(became(racer) for racer in racers)
    spreads = [spread(each) for each in repetitions]
    margins = [(each, margin(each)) for each in repetitions]
    outlasted = [each for each, by in margins if by is not None and by > 0]
    known = [by for _, by in margins if by is not None]
    return {
        "repetitions": len(repetitions),
        "racers": len(racers),
        "fires": sum(fires(each) for each in repetitions),
        **{end: ends[end] for end in ("fired", "refused", "inert")},
        "errors": dict(sorted(Counter(r[END] for r in racers if "refused" in r[END]).items())),
        "more than once": sum(fires(each) > 1 for each in repetitions),
        "by all": sum(all_fired(each) for each in repetitions),
        "apart": [round(median(spreads), 2), max(spreads)],
        "outlasts by": [min(known), round(median(known), 2)] if known else None,
        "outlasted": len(outlasted),
        "outlasted, by all": sum(all_fired(each) for each in outlasted),
    }
