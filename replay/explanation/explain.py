"""Explanation: the smallest sets of fault switches under which a model admits runs.

Sets are tried by size, and at the first size at which one admits all runs the search ends. A
superset may admit less (where two switches act on one step, one of them takes precedence), so that
a set says nothing of those that contain it. What is left untried is only

- two switches of one choice together, where the specification says so (`Explain.rivals`);
- a set that differs from one tried in switches alone that are out of reach of every action that
  the run took up to where it stopped (`tracegen.reach`): the tracking is the same, step by step.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from replay.compare import Divergence, Model, track
from replay.record import RunRecord
from tracegen.reach import START, switches_in_reach
from tracegen.spec import Spec

Faults = tuple[str, ...]
ModelOf = Callable[[str, frozenset[str]], Model]

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
        return name_of(faults, self.titles)


def name_of(faults: Faults, titles: Mapping[str, str]) -> str:
    """Name a set of switches, as `Explanation.name`."""
    names = [titles.get(switch, switch.removeprefix("Fault")) for switch in faults]
    first, *others = names or [titles.get("reference", "reference")]
    return f"{first} with {' and '.join(others)}" if others else first


class Admission:
    """Whether a model under some switches admits a run; any number of threads may ask."""

    def __init__(self, spec: Spec, model_of: ModelOf, merges: Mapping[str, Sequence[str]]) -> None:
        """Prepare.

        Args:
            model_of: returns the state graph at the bounds of a named model under some switches.
            merges: actions that the system takes in one go.
        """
        self.spec = spec
        self.model_of = model_of
        self._merges = merges
        self._only_poisoned = frozenset(spec.explain.poison_only)
        self._reach = switches_in_reach(
            spec.source,
            [model.config for model in spec.models.values()],
            spec.actions.keys(),
            spec.explain.switches,
        )
        # Of each run at the bounds of a model: the switches that mattered up to where it stopped,
        # those of them that acted, and where it stopped.
        self._known: dict[
            tuple[str, int], list[tuple[frozenset[str], frozenset[str], Divergence | None]]
        ] = {}

    def known(self, model: str, run: RunRecord, faults: Faults) -> tuple[Divergence | None] | None:
        """The answer, in a tuple, where it follows from those given before; no graph is made."""
        acting = self._acting(run, faults)
        for mattered, acted, divergence in self._known.get((model, id(run)), ()):
            if mattered & acting == acted:
                return (divergence,)
        return None

    def __call__(self, model: str, run: RunRecord, faults: Faults) -> Divergence | None:
        """What of a run is not admitted at the bounds of a model under exactly these switches."""
        if answer := self.known(model, run, faults):
            return answer[0]
        acting = self._acting(run, faults) & self._mattering(run, None)
        divergence = track(
            run,
            self.model_of(model, acting),
            merges=self._merges,
            refusable=not self._only_poisoned & acting,
            resynchronise=False,
        ).divergence
        mattered = self._mattering(run, divergence)
        known = self._known.setdefault((model, id(run)), [])
        known.append((mattered, mattered & acting, divergence))
        return divergence

    def _acting(self, run: RunRecord, faults: Faults) -> frozenset[str]:
        """Without a poisoned output, a switch that persists one means the reference."""
        return frozenset(faults) - (frozenset() if run.poisoned else self._only_poisoned)

    def _mattering(self, run: RunRecord, divergence: Divergence | None) -> frozenset[str]:
        """The switches that can have changed anything up to a divergence, or to the run's end."""
        micro = run.micro if divergence is None else run.micro[: divergence.micro + 1]
        taken = {action for m in micro for action in self._merges.get(m.action, (m.action,))}
        reached = self._reach[START].union(*(self._reach.get(a, frozenset()) for a in taken))
        return reached | (self._only_poisoned if run.poisoned else frozenset())


def explain(
    spec: Spec,
    parts: Sequence[tuple[str, Sequence[RunRecord]]],
    model_of: ModelOf,
    merges: Mapping[str, Sequence[str]],
) -> Explanation:
    """Find the sets of switches that admit every run of every part of a suite.

    Args:
        parts: the model whose bounds a part's runs are compared at, and the runs.
        model_of: returns the state graph at the bounds of a named model under some switches.
        merges: actions that the system takes in one go.
    """
    admission = Admission(spec, model_of, merges)

    def first_not_admitted(faults: Faults) -> str | None:
        return next(
            (
                run.trace
                for name, runs in parts
                for run in runs
                if admission(name, run, faults) is not None
            ),
            None,
        )

    smallest: tuple[Faults, ...] = ()
    stopped: dict[Faults, str] = {}
    titles = spec.explain.titles
    for sets in sets_by_size(spec):
        # A set costs a run of the checker or two: they go side by side.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            names = list(pool.map(first_not_admitted, sets))
        stopped |= {faults: n for faults, n in zip(sets, names, strict=True) if n is not None}
        admitting = [faults for faults, n in zip(sets, names, strict=True) if n is None]
        if smallest:
            return Explanation(smallest, tuple(admitting), stopped, titles)
        smallest = tuple(admitting)
    return Explanation(smallest, (), stopped, titles)


def sets_by_size(spec: Spec) -> Iterator[list[Faults]]:
    """The sets of switches that are tried, from the empty one to those of `MOST_SWITCHES`."""
    for size in range(min(MOST_SWITCHES, len(spec.explain.switches)) + 1):
        sets = itertools.combinations(spec.explain.switches, size)
        yield [faults for faults in sets if not rivals_meet(spec, faults)]


def rivals_meet(spec: Spec, faults: Faults) -> bool:
    """Whether a set has two switches of one choice."""
    return any(len({*group}.intersection(faults)) > 1 for group in spec.explain.rivals)
