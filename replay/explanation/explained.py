"""What explains the runs of a receipt: sets of switches of its module, else of its companions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adapters.base import Adapter
from adapters.registry import UnknownAdapter, load_adapter, locate
from replay.compare import Divergence
from replay.explanation.explain import Admission, Faults, name_of
from replay.explanation.search import Found, search
from replay.explanation.sentences import sentence_of
from replay.models import Models
from replay.receipts import divergence_data
from replay.reopened import Reopened
from replay.stored import StoredRun
from tracegen.errors import MbtError
from tracegen.spec import Spec, companions_of
from tracegen.tlc import RunOptions


@dataclass(frozen=True)
class Candidate:
    """A set of switches of a module."""

    module: str
    faults: Faults
    name: str


@dataclass(frozen=True)
class Attempt:
    """The switches of one module, tried on all runs."""

    admission: Admission
    found: Found

    @property
    def spec(self) -> Spec:
        """The module."""
        return self.admission.spec

    def candidates(self, sets: Iterable[Faults]) -> tuple[Candidate, ...]:
        """Sets, with what they are called."""
        titles = self.spec.explain.titles
        return tuple(Candidate(self.spec.module, each, name_of(each, titles)) for each in sets)


@dataclass(frozen=True)
class Evidence:
    """A receipt, as an explanation needs it.

    Attributes:
        models: part -> the model at whose bounds its runs are compared.
    """

    folder: Path
    spec: Spec
    adapter_name: str
    adapter: type[Adapter]
    options: Mapping[str, str]
    models: Mapping[str, str]
    runs: tuple[StoredRun, ...]

    @property
    def merges(self) -> dict[str, tuple[str, ...]]:
        """Actions that the system takes in one go."""
        return self.adapter.merged_actions(self.options)

    @property
    def observed(self) -> frozenset[str]:
        """The model's variables that its runs show anywhere."""
        shown = {name for run in self.runs for m in run.record.micro for name in m.observed}
        return frozenset(shown.intersection(self.spec.variables.observed))


def evidence_of(opened: Reopened) -> Evidence:
    """What an explanation needs of a receipt.

    Raises:
        MbtError: its module has no fault switches, it names a model or an adapter that is not
            there, or has a run of no part.
    """
    path, spec = opened.folder / "receipt.json", opened.spec
    if not spec.explain.switches:
        raise MbtError(f"{path}: of {spec.module}, which has no fault switches, so nothing to try")
    models = {part["name"]: part["model"] for part in opened.parts}
    for model in models.values():
        spec.model(model)
    for run in opened.runs:
        opened.part(run.part)
    try:
        adapter = load_adapter(locate(opened.adapter))
    except UnknownAdapter as error:
        raise MbtError(f"{path}: {error}") from None
    return Evidence(
        opened.folder, spec, opened.adapter, adapter, opened.options, models, opened.runs
    )


@dataclass(frozen=True)
class Account:
    """What explains the runs.

    Attributes:
        attempts: the receipt's own module first, then, where that does not admit all runs, its
            companions.
    """

    evidence: Evidence
    attempts: tuple[Attempt, ...]

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """All runs of the receipt."""
        return self.evidence.runs

    @property
    def everything(self) -> range:
        """The number of each run."""
        return range(len(self.runs))

    def divergence(self, number: int) -> Divergence | None:
        """Where a run leaves the reference machine."""
        return self.attempts[0].found.rows[()][number]

    @cached_property
    def diverging(self) -> tuple[int, ...]:
        """The runs that the reference machine does not admit."""
        return tuple(i for i in self.everything if self.divergence(i) is not None)

    @cached_property
    def whole(self) -> tuple[Candidate, ...]:
        """The smallest sets that admit every run: the module's own, else those of companions."""
        own, *others = (a.candidates(a.found.smallest) for a in self.attempts)
        return own or tuple(each for found in others for each in found)

    def one_by_one(self, number: int) -> tuple[Candidate, ...]:
        """The smallest sets that admit a run: the module's own, else those of companions."""
        own, *others = (a.candidates(a.found.one_by_one(number)) for a in self.attempts)
        return own or tuple(each for found in others for each in found)

    @cached_property
    def groups(self) -> dict[tuple[Candidate, ...], tuple[int, ...]]:
        """The runs that diverge, by the sets that admit the run; the largest group first."""
        found: dict[tuple[Candidate, ...], list[int]] = {}
        for number in self.diverging:
            found.setdefault(self.one_by_one(number), []).append(number)
        return {
            sets: tuple(numbers)
            for sets, numbers in sorted(found.items(), key=lambda group: -len(group[1]))
        }

    @cached_property
    def tried(self) -> list[tuple[Candidate, Mapping[int, Divergence | None]]]:
        """The sets that were tried on every run, those that admit most first."""
        return sorted(
            (
                (candidate, stops)
                for attempt in self.attempts
                for candidate, stops in zip(
                    attempt.candidates(attempt.found.rows), attempt.found.rows.values(), strict=True
                )
                if len(stops) == len(self.runs)
            ),
            key=lambda row: -admits(row[1]),
        )

    def sentence(self, candidate: Candidate, which: Sequence[int]) -> str:
        """Say of these runs what the mechanisms of a set did in them."""
        spec = next(a.spec for a in self.attempts if a.spec.module == candidate.module)
        return sentence_of(spec, candidate.faults, [self.runs[i].record for i in which])


def admits(stops: Mapping[int, Divergence | None]) -> int:
    """How many of the runs that a set was tried on it admits."""
    return sum(stop is None for stop in stops.values())


def account_of(
    evidence: Evidence,
    models: Callable[[Spec, Spec], Models],
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> Account:
    """Try the module's own switches on the runs, and where they do not do, its companions'.

    Args:
        models: makes the graphs of a module at the bounds of the models of another.

    Raises:
        MachineryError: the checker did not explore a whole space.
    """
    spec = evidence.spec
    runs = [(evidence.models[run.part], run.record) for run in evidence.runs]

    def attempt(other: Spec) -> Attempt:
        admission = Admission(other, models(other, spec), evidence.merges)
        stage = f"sets of {other.module}"
        return Attempt(admission, search(admission, runs, lambda d, t: progress(stage, d, t)))

    own = attempt(spec)
    if own.found.smallest:
        return Account(evidence, (own,))
    return Account(evidence, (own, *map(attempt, companions_of(spec))))


def graphs_of(
    checker: RunOptions, on_graph: Callable[[str], None] = lambda what: None
) -> Callable[[Spec, Spec], Models]:
    """Make the graphs of modules once for many receipts."""
    made: dict[tuple[Path, Path], Models] = {}

    def graphs(spec: Spec, bounds: Spec) -> Models:
        key = (spec.path, bounds.path)
        if key not in made:
            made[key] = Models(spec, checker, on_graph, bounds=bounds)
        return made[key]

    return graphs


def account_data(account: Account) -> dict[str, Any]:
    """An account as data."""
    return {
        "module": account.evidence.spec.module,
        "companions": [attempt.spec.module for attempt in account.attempts[1:]],
        "runs": len(account.runs),
        "diverging": len(account.diverging),
        "explained_by": [*map(candidate_data, account.whole)],
        "sentences": [account.sentence(c, account.diverging) for c in account.whole],
        "groups": [group_data(account, sets, which) for sets, which in account.groups.items()],
        "tried": [
            {**candidate_data(each), "admits": admits(stops), "stop": _stop(account, stops)}
            for each, stops in account.tried
        ],
    }


def candidate_data(candidate: Candidate) -> dict[str, Any]:
    """A set as data."""
    return {
        "module": candidate.module,
        "switches": [*candidate.faults],
        "name": candidate.name,
    }


def group_data(account: Account, sets: Sequence[Candidate], which: Sequence[int]) -> dict[str, Any]:
    """Runs that the same sets explain, as data."""
    first = account.divergence(which[0])
    return {
        "explained_by": [*map(candidate_data, sets)],
        "runs": [account.runs[i].record.trace for i in which],
        "sentences": [account.sentence(each, which) for each in sets],
        "first": first and divergence_data(first),
    }


def _stop(account: Account, stops: Mapping[int, Divergence | None]) -> dict[str, Any] | None:
    for number, stop in sorted(stops.items()):
        if stop is not None:
            return {"run": account.runs[number].record.trace, **divergence_data(stop)}
    return None
