"""Candidates: models that a prediction is made by, or is held against.

A candidate is written MODEL, a named model with its own fault switches, or MODEL+SWITCH+..., the
bounds of that model under exactly these. All candidates of a prediction are at the same bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replay.compare import Tracking, track
from replay.models import Models
from replay.record import RunRecord
from tracegen.errors import MbtError
from tracegen.spec import Spec


@dataclass(frozen=True)
class Candidate:
    """The bounds of a named model, under exactly these switches."""

    text: str
    model: str
    faults: frozenset[str]


def read_candidate(spec: Spec, text: str) -> Candidate:
    """Read MODEL or MODEL+SWITCH+...; raises MbtError, which lists what is known."""
    name, *switches = text.split("+")
    model = spec.model(name).name
    if unknown := sorted({*switches} - {*spec.explain.switches}):
        known = ", ".join(spec.explain.switches) or "none"
        raise MbtError(f"{text}: {spec.module} has no fault switch {unknown[0]!r}; known: {known}")
    return Candidate(text, model, frozenset(switches) or spec.faults_of(model))


def read_constants(spec: Spec, given: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE each, VALUE in TLA+; raises MbtError for what is no bound of the module."""
    constants = {}
    for text in given:
        name, equals, value = text.partition("=")
        bounds = [n for n in spec.source.constants if n not in spec.explain.switches]
        if not equals or name not in bounds:
            raise MbtError(
                f"--constant {text}: write it as NAME=VALUE, of a constant of {spec.module} that "
                f"is no fault switch: {', '.join(bounds) or 'there is none'}"
            )
        constants[name] = value
    return constants


def at_bounds(spec: Spec, constants: Mapping[str, str]) -> Spec:
    """The specification with these constants in each of its models."""
    return replace(
        spec,
        models={
            name: replace(model, config=model.config.with_constants(constants), slow=False)
            for name, model in spec.models.items()
        }
        if constants
        else spec.models,
    )


def admits(
    candidate: Candidate,
    record: RunRecord,
    models: Models,
    merges: Mapping[str, Sequence[str]],
) -> Tracking:
    """Track a run over a candidate, up to the first observation that it does not explain."""
    explain = models.spec.explain
    # Without a poisoned output, a switch that persists one means the reference.
    acting = candidate.faults if record.poisoned else candidate.faults - {*explain.poison_only}
    return track(
        record,
        models(candidate.model, acting),
        merges=merges,
        refusable=not candidate.faults & {*explain.poison_only},
        resynchronise=False,
    )
