"""Telling two explanations apart: a trace that one of them does not admit, replayed to decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.registry import locate
from replay.compare import Divergence, Model
from replay.explanation.explain import Admission
from replay.explanation.explained import Account, Candidate, Evidence
from replay.explanation.separate import containment
from replay.lives import Conduct
from replay.parallel import Drivers
from replay.record import RunRecord
from tracegen.trace import Trace, trace_of_path


@dataclass(frozen=True)
class Relation:
    """Two sets of switches, at the bounds of a receipt's models.

    Attributes:
        only_first: a shortest trace of the first that the second does not admit, None where the
            second admits every run of the first.
        only_second: the other way round.
        bounds: the models whose bounds were looked at.
        pairs: how many pairs of a state and a set of states were visited.
    """

    first: Candidate
    second: Candidate
    only_first: Trace | None
    only_second: Trace | None
    bounds: tuple[str, ...]
    pairs: int

    @property
    def equal(self) -> bool:
        """Whether they have the same runs within the bounds."""
        return not self.traces

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The traces that separate them, the shortest first."""
        found = {t.name: t for t in (self.only_first, self.only_second) if t is not None}
        return tuple(sorted(found.values(), key=lambda trace: len(trace.steps)))

    def sentence(self) -> str:
        """Say it."""
        first, second = self.first.name, self.second.name
        within = (
            f"within the bounds of {' and '.join(self.bounds)} ({self.pairs:,} pairs of states)"
        )
        if self.equal:
            return f"{first} and {second} have the same runs {within}"
        if self.only_first and self.only_second:
            return f"{first} and {second}: each has runs that the other does not admit"
        wide, narrow = (first, second) if self.only_first else (second, first)
        return f"{wide} admits every run of {narrow} {within}, and has others"


@dataclass(frozen=True)
class Decision:
    """A separating trace as the system walked it.

    Attributes:
        stops: what each of the candidates does not admit of the run, None where it admits it.
    """

    trace: Trace
    record: RunRecord
    stops: Mapping[Candidate, Divergence | None]

    @property
    def left(self) -> tuple[Candidate, ...]:
        """The candidates that admit the run."""
        return tuple(candidate for candidate, stop in self.stops.items() if stop is None)


def relate(account: Account, first: Candidate, second: Candidate) -> Relation:
    """Whether two sets of switches have the same runs, at the bounds of the receipt's models.

    Variables that the receipt's runs never show are left out.

    Raises:
        MbtError: a space is too large to be held.
        MachineryError: the checker did not explore the whole of a space.
    """
    evidence = account.evidence
    one, other = admission_of(account, first), admission_of(account, second)
    pairs = 0
    only: dict[Candidate, Trace] = {}

    def separating(model: str, inner: Model, outer: Model, name: str) -> Trace | None:
        nonlocal pairs
        found = containment(inner, outer, evidence.observed, evidence.merges)
        pairs += found.pairs
        if found.walk is None:
            return None
        spec = inner.spec
        return trace_of_path(
            inner.graph, found.walk, name=name, module=spec.module, model=model, params=spec.params
        )

    bounds = distinct_bounds(evidence)
    there = [(one, other, first, second), (other, one, second, first)]
    for model in bounds:
        # Without a poisoned output, a switch that persists one means the reference.
        for inner, outer, mine, theirs in there:
            for poisoned in (False, True):
                if mine in only or (poisoned and not _persisted(inner, mine)):
                    continue
                trace = separating(
                    model,
                    inner.model_of(model, _acting(inner, mine, poisoned)),
                    outer.model_of(model, _acting(outer, theirs, poisoned)),
                    f"{_label(mine)}-not-{_label(theirs)}",
                )
                if trace is not None:
                    only[mine] = trace
                    if poisoned and not _persisted(outer, theirs):
                        # The refusal of the same output is a run of the other's alone.
                        only.setdefault(theirs, trace)
    return Relation(first, second, only.get(first), only.get(second), bounds, pairs)


def distinct_bounds(evidence: Evidence) -> tuple[str, ...]:
    """Models of a receipt, one of those that differ in fault switches alone."""
    switches = evidence.spec.explain.switches
    found: dict[str, str] = {}
    for name in evidence.models.values():
        constants = evidence.spec.models[name].config.constants
        key = repr(sorted((n, text) for n, text in constants.items() if n not in switches))
        found.setdefault(key, name)
    return tuple(found.values())


def admission_of(account: Account, candidate: Candidate) -> Admission:
    """The module of a candidate, as its switches were tried."""
    return next(
        attempt.admission for attempt in account.attempts if attempt.spec.module == candidate.module
    )


def decide(
    account: Account,
    trace: Trace,
    candidates: Sequence[Candidate],
    *,
    limit: float = 60.0,
    on_done: Callable[[], None] = lambda: None,
) -> Decision:
    """Replay a separating trace on the receipt's adapter, with its options.

    Args:
        limit: seconds within which a process has to come back from a step.

    Raises:
        MachineryError: the machinery failed; nothing is decided.
        MissingFramework: the adapter's framework is not installed.
    """
    evidence = account.evidence
    spec = next(a.spec for a in account.attempts if a.spec.module == trace.module)
    with Drivers(
        locate(evidence.adapter_name),
        evidence.spec.workflow_of(trace.model),
        Conduct.of(evidence.adapter, evidence.options),
        jobs=1,
        fresh=False,
        limit=limit,
    ) as drivers:
        (record,) = drivers.replay(spec, [trace], on_done)
    return Decision(
        trace,
        record,
        {
            candidate: admission_of(account, candidate)(trace.model, record, candidate.faults)
            for candidate in candidates
        },
    )


def _persisted(admission: Admission, candidate: Candidate) -> frozenset[str]:
    """Those switches of a set that mean the reference where no output is poisoned."""
    return frozenset(candidate.faults).intersection(admission.spec.explain.poison_only)


def _acting(admission: Admission, candidate: Candidate, poisoned: bool) -> frozenset[str]:
    faults = frozenset(candidate.faults)
    return faults if poisoned else faults - _persisted(admission, candidate)


def _label(candidate: Candidate) -> str:
    return "+".join(switch.removeprefix("Fault") for switch in candidate.faults) or "reference"
