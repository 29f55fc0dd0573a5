"""A whole log against a model, and the mechanisms that explain what the model does not."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from replay.explanation.explain import Faults, name_of, sets_by_size
from replay.models import Models
from replay.validation.log import Line, Log, LoggedRun
from replay.validation.validate import follow
from tracegen.errors import MbtError
from tracegen.reach import START, switches_in_reach
from tracegen.spec import Spec, companions_of
from tracegen.tlc import RunOptions

OWN, COMPANIONS = 2, 1
"""How many switches a set holds at most: of the module itself, and of a companion."""


@dataclass(frozen=True)
class Mechanisms:
    """A set of fault switches of a module, with what it is called.

    Attributes:
        uncompared: the actions of which a logged parameter was not compared, because this module
            does not say where it is.
    """

    module: str
    faults: Faults
    name: str
    uncompared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tried:
    """Sets of switches, by size, and whether each explains each run.

    Attributes:
        module: whose own switches were tried first.
        rows: of each set tried, whether it explains a run, in the log's order of runs.
    """

    module: str
    rows: Mapping[Mechanisms, tuple[bool, ...]]

    def smallest(self, which: Sequence[int]) -> tuple[Mechanisms, ...]:
        """The smallest sets that explain all of these runs: the module's own, else companions'."""
        found = [each for each, row in self.rows.items() if all(row[i] for i in which)]
        found = [each for each in found if each.module == self.module] or found
        least = min((len(each.faults) for each in found), default=0)
        return tuple(each for each in found if len(each.faults) == least)


def hidden_actions(
    log: Log, spec: Spec, actions: Sequence[str], chosen: Sequence[str]
) -> frozenset[str]:
    """The actions that may be taken unseen: the chosen ones, else those that the log never names.

    Args:
        actions: those of the model, where no TOML names them.
        chosen: names from the command line; "none" stands for no action.

    Raises MbtError for an action that the specification has not.
    """
    known = frozenset(spec.actions or actions)
    if not chosen:
        return known - log.named
    wanted = frozenset(chosen) - {"none"}
    if unknown := sorted(wanted - known):
        raise MbtError(
            f"--hidden {unknown[0]}: {spec.module} has no such action; known: "
            f"{', '.join(sorted(known))}"
        )
    return wanted


def explaining(
    log: Log,
    spec: Spec,
    model: str,
    hidden: frozenset[str],
    checker: RunOptions,
    on_graph: Callable[[str], None] = lambda what: None,
) -> Tried:
    """Try sets of fault switches on all runs, up to the size at which one explains them all.

    The module's own come first, then those of its companions; none of these explains a run whose
    variables it lacks. Bounds are those of `model`.
    """
    rows: dict[Mechanisms, tuple[bool, ...]] = {}
    sizes = [(spec, OWN), *((other, COMPANIONS) for other in companions_of(spec))]
    for other, most in sizes:
        explains = _Explains(spec, model, Models(other, checker, on_graph, bounds=spec), hidden)
        titles, uncompared = other.explain.titles, () if other is spec else _uncompared(log, other)
        # A companion without a switch is the reference machine once more: where it explains a run,
        # what it does not compare is what the run stopped at, so its switches say nothing of it.
        mute = [
            other is not spec and (explains.lacks(run) or explains(run, ())) for run in log.runs
        ]
        if all(mute):
            continue
        for sets in itertools.islice(_sets(other, most), other is not spec, None):
            # A set costs a run of the checker: they go side by side.
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(pool.map(lambda s, e=explains, m=mute: _row(e, log.runs, m, s), sets))
            for faults, row in zip(sets, found, strict=True):
                rows[Mechanisms(other.module, faults, name_of(faults, titles), uncompared)] = row
            if any(map(all, found)):
                return Tried(spec.module, rows)
    return Tried(spec.module, rows)


class _Explains:
    """Whether a module under some switches explains a run; any number of threads may ask."""

    def __init__(self, bounds: Spec, model: str, models: Models, hidden: frozenset[str]) -> None:
        self._models, self._model, self._hidden = models, model, hidden
        spec, config = models.spec, bounds.models[model].config
        self._all, self._variables = frozenset(spec.explain.switches), {*spec.source.variables}
        self._reach = switches_in_reach(spec.source, [config], spec.actions.keys(), self._all)
        # Of each run: the switches that mattered up to where it stopped, those of them that acted.
        self._known: dict[str, list[tuple[frozenset[str], frozenset[str], bool]]] = {}

    def __call__(self, run: LoggedRun, faults: Faults) -> bool:
        acting, known = frozenset(faults), self._known.setdefault(run.name, [])
        for mattered, acted, explained in known:
            if mattered & acting == acted:
                return explained
        acting &= self._mattering(run.lines)
        found = follow(run, self._models(self._model, acting), self._hidden)
        mattered = self._mattering(run.lines[: found.explained + 1])
        known.append((mattered, mattered & acting, found.stop is None))
        return found.stop is None

    def lacks(self, run: LoggedRun) -> bool:
        """Whether a run shows a variable that the module has not."""
        return any(line.state.keys() - self._variables for line in run.lines)

    def _mattering(self, lines: Sequence[Line]) -> frozenset[str]:
        """The switches within reach of the actions of some lines, and of the hidden ones."""
        taken = {START, *self._hidden, *(line.action for line in lines if line.action)}
        return frozenset().union(*(self._reach.get(action, self._all) for action in taken))


def _row(
    explains: _Explains, runs: Sequence[LoggedRun], mute: Sequence[bool], faults: Faults
) -> tuple[bool, ...]:
    return tuple(not m and explains(run, faults) for run, m in zip(runs, mute, strict=True))


def _uncompared(log: Log, spec: Spec) -> tuple[str, ...]:
    """The actions that the log names with a parameter of which a specification says no place."""
    lines = [line for run in log.runs for line in run.lines]
    lost = {a.action for a in lines if a.params.keys() - spec.params.get(a.action or "", {}).keys()}
    return tuple(sorted(name for name in lost if name))


def _sets(spec: Spec, most: int) -> Iterator[list[Faults]]:
    for size, sets in enumerate(sets_by_size(spec)):
        if size > most:
            return
        yield sets
