"""The search for what explains runs one by one, and all of them at once.

Graphs are what a search costs, so that they are made for what is still open alone:

- the empty set and single switches are tried on every run;
- larger sets on the runs that no smaller one admits, as far as `most_switches` goes;
- sets that might admit all runs at once on one run after the other, until one stops. Many are out
  without a graph: they differ from what was tried before in nothing that the run could show
  (`Admission.known`). Tried first are unions of the sets that admit the runs one by one, since a
  system has all its mechanisms at once; then every smaller set up to `most_switches`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from replay.compare import Divergence
from replay.explanation.explain import MOST_SWITCHES, Admission, Faults, rivals_meet, sets_by_size
from replay.record import RunRecord
from tracegen.spec import Spec

Stops = Mapping[int, Divergence | None]
MANY, MOST_OF_MANY = 10, 2
"""Of a module with more than `MANY` switches every set of at most `MOST_OF_MANY` is tried."""
MOST_UNIONS = 64


@dataclass(frozen=True)
class Found:
    """What the sets of a module admit.

    Attributes:
        rows: for each set tried, the runs that it was tried on (by number), and what it does not
            admit of each, None where it admits the run.
        smallest: the smallest sets that admit all runs at once.
    """

    rows: Mapping[Faults, Stops]
    smallest: tuple[Faults, ...]

    def one_by_one(self, run: int) -> tuple[Faults, ...]:
        """The smallest sets that admit a run."""
        sets = [f for f, stops in self.rows.items() if stops.get(run, _UNTRIED) is None]
        least = min(map(len, sets), default=0)
        return tuple(faults for faults in sets if len(faults) == least)


_UNTRIED = Divergence(0, None, "", ())


def most_switches(spec: Spec) -> int:
    """How many switches the sets have of which every one is tried."""
    return MOST_SWITCHES if len(spec.explain.switches) <= MANY else MOST_OF_MANY


def search(
    admission: Admission,
    runs: Sequence[tuple[str, RunRecord]],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Found:
    """Search the sets of a module's switches for those that admit runs.

    Args:
        runs: the model at whose bounds a run is compared, and the run.
        progress: told how many sets of a step of the search were tried, and of how many.
    """
    spec = admission.spec
    rows: dict[Faults, dict[int, Divergence | None]] = {}
    everything = range(len(runs))

    def attempt(sets: Sequence[Faults], which: Sequence[int], *, whole: bool = False) -> None:
        """Try sets on runs; where it is about the whole, each until it stops."""
        done = itertools.count(1)

        def row(faults: Faults) -> dict[int, Divergence | None]:
            stops: dict[int, Divergence | None] = dict(rows.get(faults, {}))
            for number in which:
                stops[number] = admission(*runs[number], faults)
                if whole and stops[number] is not None:
                    break
            progress(next(done), len(sets))
            return stops

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rows.update(zip(sets, pool.map(row, sets), strict=True))

    def admitting(sets: Iterable[Faults]) -> tuple[Faults, ...]:
        return tuple(f for f in sets if len(rows[f]) == len(runs) and not any(rows[f].values()))

    def together(sets: Sequence[Faults]) -> tuple[Faults, ...]:
        """Those of the sets that admit all runs at once."""
        # A run that few sets admit comes first: it stops most.
        order = sorted(
            everything, key=lambda n: sum(s.get(n, _UNTRIED) is None for s in rows.values())
        )
        left = [f for f in sets if not any(_stops(admission, runs[n], f) for n in order)]
        attempt(left, order, whole=True)
        return admitting(left)

    open_runs: Sequence[int] = everything
    for sets in itertools.islice(sets_by_size(spec), most_switches(spec) + 1):
        few = len(sets[0]) < 2 if sets else True
        if open_runs:
            attempt(sets, everything if few else open_runs)
        if few and (found := admitting(sets)):
            return Found(rows, found)
        open_runs = [
            n for n in open_runs if not any(s.get(n, _UNTRIED) is None for s in rows.values())
        ]
    # A set of more switches is worth a word where no smaller one will do.
    joint: dict[int, tuple[Faults, ...]] = {}
    partial = Found(rows, ())
    unions = _unions(spec, [partial.one_by_one(n) for n in everything])
    for size, group in itertools.groupby(unions, len):
        if joint_sets := together([*group]):
            joint[size] = joint_sets
            break
    largest = min((*joint, most_switches(spec)))
    for sets in itertools.islice(sets_by_size(spec), 2, largest + 1):
        if found := together(sets):
            return Found(rows, found)
    return Found(rows, next(iter(joint.values()), ()))


def _stops(admission: Admission, run: tuple[str, RunRecord], faults: Faults) -> bool:
    answer = admission.known(*run, faults)
    return answer is not None and answer[0] is not None


def _unions(spec: Spec, kinds: Iterable[tuple[Faults, ...]]) -> list[Faults]:
    """Unions of sets that admit the runs one by one, the smallest first; at most `MOST_UNIONS`.

    None at all where some run is admitted by no set, or where there are more.
    """
    unions: set[frozenset[str]] = {frozenset()}
    for kind in dict.fromkeys(kinds):
        unions = {union.union(faults) for union in unions for faults in kind}
        unions = {u for u in unions if not rivals_meet(spec, tuple(u))}
        if len(unions) > MOST_UNIONS:
            return []
    sets = (tuple(s for s in spec.explain.switches if s in union) for union in unions)
    return sorted(sets, key=lambda faults: (len(faults), faults))
