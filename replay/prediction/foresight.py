"""What models say before anyone looks: what each step will show, and what will be violated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from replay.judge import judge
from replay.models import Models
from replay.prediction.candidates import Candidate, admits
from replay.prediction.walks import foreseen, seen_as
from replay.record import RunRecord
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace


@dataclass(frozen=True)
class Separation:
    """The first step after which a rival has something else to show.

    Attributes:
        step: index of the trace's step, None at the start and while draining.
        action: what is done there.
        rival: variable -> what the rival may have instead (TLA+ text); empty where it does not
            allow the action there.
    """

    step: int | None
    action: str
    rival: Mapping[str, Sequence[str]]


def foresee(
    spec: Spec,
    models: Models,
    candidate: Candidate,
    rival: Candidate | None,
    traces: Sequence[Trace],
    checker: RunOptions,
) -> list[dict[str, Any]]:
    """What a candidate says of traces, as a registration holds it.

    Args:
        spec: at the bounds of the prediction, as `models` are.

    Raises:
        MbtError: a trace is no behaviour of the candidate, the candidate leaves open how it goes,
            or the rival says the same of all traces.
    """
    graph = models(candidate.model, candidate.faults)
    runs = [foreseen(spec, graph, trace) for trace in traces]
    violated = _violated(spec, candidate, runs, checker)
    apart = [rival and _separation(rival, run, models) for run in runs]
    if rival is not None and not any(apart):
        raise MbtError(
            f"{candidate.text} and {rival.text} say the same of every trace, so none "
            "of them can decide between the two; find another trace, or leave out --against"
        )
    return [
        {
            "trace": run.trace,
            "digest": run.digest,
            "violated": violated[run.trace],
            "separates": asdict(parting) if parting else None,
            "steps": [
                {
                    "part": micro.part,
                    "action": micro.action,
                    "params": {name: str(value) for name, value in micro.params.items()},
                    "shows": shows,
                }
                for micro, shows in zip(run.micro, seen_as(spec, run.micro), strict=True)
            ],
        }
        for run, parting in zip(runs, apart, strict=True)
    ]


def _separation(rival: Candidate, run: RunRecord, models: Models) -> Separation | None:
    """Where a rival does not admit the run that is foreseen."""
    found = admits(rival, run, models, {}).divergence
    if found is None:
        return None
    return Separation(
        found.step, found.action, {d.variable: list(d.model) for d in found.differences}
    )


def _violated(
    spec: Spec, candidate: Candidate, runs: Sequence[RunRecord], checker: RunOptions
) -> dict[str, list[str]]:
    """Trace -> the properties that the states foreseen of it violate, by the judge of real runs.

    All variables are the model's own, so that nothing needs to be computed from events.
    """
    every = {
        "observed": tuple(spec.source.variables),
        "driven": (),
        "history": (),
        "computed": {},
    }
    bare = {"provoked": None, "branches": False, "reads": ()}
    told = replace(
        spec,
        variables=spec.variables.model_copy(update=every),
        properties={n: rule.model_copy(update=bare) for n, rule in spec.properties.items()},
    )
    found = {(f.trace, f.property) for f in judge(told, candidate.model, runs, checker).findings}
    return {r.trace: [n for n in spec.properties if (r.trace, n) in found] for r in runs}
