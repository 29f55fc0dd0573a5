"""Explanation: the smallest sets of fault switches under which a model admits all runs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from replay.compare import Model, track
from replay.record import RunRecord
from tracegen.spec import Spec

Faults = tuple[str, ...]

MOST_SWITCHES = 3
"""How many switches a set holds at most; larger sets explain nearly anything."""


@dataclass(frozen=True)
class Explanation:
    """Which mechanisms account for the whole of a replay.

    A set of switches is a tuple in the order of the specification.

    Attributes:
        smallest: the smallest sets of switches that admit every run; the empty set is the
            reference machine. No sets where none of at most `MOST_SWITCHES` switches does.
        larger: sets with one switch more that admit every run as well.
        stopped: for each set tried that does not, the first run that it does not admit.
        titles: what the specification calls a switch, or "reference".
    """

    smallest: tuple[Faults, ...]
    larger: tuple[Faults, ...]
    stopped: Mapping[Faults, str]
    titles: Mapping[str, str]

    def name(self, faults: Faults) -> str:
        """Name a set: "reference", "Replay", "Replay with ForkIgnore and DoubleConsume"."""
        names = [self.titles.get(switch, switch.removeprefix("Fault")) for switch in faults]
        first, *others = names or [self.titles.get("reference", "reference")]
        return f"{first} with {' and '.join(others)}" if others else first


def explain(
    spec: Spec,
    parts: Sequence[tuple[str, Sequence[RunRecord]]],
    model_of: Callable[[str, frozenset[str]], Model],
    merges: Mapping[str, Sequence[str]],
) -> Explanation:
    """Find the sets of switches that admit every run of every part of a suite.

    Args:
        parts: the model whose bounds a part's runs are compared at, and the runs.
        model_of: returns the state graph at the bounds of a named model under some switches.
        merges: actions that the system takes in one go.
    """
    smallest: tuple[Faults, ...] = ()
    stopped: dict[Faults, str] = {}
    titles = spec.explain.titles
    for size in range(min(MOST_SWITCHES, len(spec.explain.switches)) + 1):
        sets = list(_sets(spec, size))
        # A set costs a run of the checker or two: they go side by side.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            names = list(
                pool.map(
                    lambda faults: _first_not_admitted(spec, parts, model_of, merges, faults), sets
                )
            )
        stopped |= {faults: n for faults, n in zip(sets, names, strict=True) if n is not None}
        admitting = [faults for faults, n in zip(sets, names, strict=True) if n is None]
        if smallest:
            return Explanation(smallest, tuple(admitting), stopped, titles)
        smallest = tuple(admitting)
    return Explanation(smallest, (), stopped, titles)


def _sets(spec: Spec, size: int) -> Iterator[Faults]:
    return itertools.combinations(spec.explain.switches, size)


def _first_not_admitted(
    spec: Spec,
    parts: Sequence[tuple[str, Sequence[RunRecord]]],
    model_of: Callable[[str, frozenset[str]], Model],
    merges: Mapping[str, Sequence[str]],
    faults: Faults,
) -> str | None:
    only_poisoned = frozenset(spec.explain.poison_only)
    for name, runs in parts:
        for run in runs:
            # Without a poisoned output, a switch that persists one means the reference.
            acting = frozenset(faults) if run.poisoned else frozenset(faults) - only_poisoned
            tracking = track(
                run,
                model_of(name, acting),
                merges=merges,
                refusable=not only_poisoned & set(faults),
                resynchronise=False,
            )
            if tracking.divergence is not None:
                return run.trace
    return None
