"""What a run says of a prediction: confirmed, refuted, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replay.compare import Divergence
from replay.judge import Judgement
from replay.models import Models
from replay.prediction.candidates import Candidate, admits
from replay.record import RunRecord
from tracegen.spec import Spec

Word = Literal["confirmed", "refuted", "undecided"]
WORDS: tuple[Word, ...] = ("refuted", "undecided", "confirmed")
"""Of several, the first that occurs is said of all of them together."""


@dataclass(frozen=True)
class Verdict:
    """What came of one trace.

    Attributes:
        sentence: why it was refuted, or is undecided; empty where it is confirmed.
        follows: which of the two models admits the whole run: "model", "rival", "both",
            "neither"; None where there is no rival.
        violated: the properties that failed.
        unseen: variables that the run did not show everywhere: nothing is said of them there.
        compared: at how many micro-steps something was seen, and so compared.
    """

    trace: str
    word: Word
    sentence: str
    follows: str | None
    violated: tuple[str, ...]
    unseen: tuple[str, ...]
    compared: int


def decide(
    spec: Spec,
    models: Models,
    candidate: Candidate,
    rival: Candidate | None,
    said: Mapping[str, Any],
    record: RunRecord,
    judgement: Judgement,
    merges: Mapping[str, Sequence[str]],
) -> Verdict:
    """Hold a run against what was said of its trace.

    Args:
        said: of the trace, by `replay.prediction.foresight.foresee`.
        judgement: of runs that this one is among.
    """
    own = admits(candidate, record, models, merges)
    follows = None
    if rival is not None:
        other = admits(rival, record, models, merges).divergence is None
        follows = {
            (True, True): "both",
            (True, False): "model",
            (False, True): "rival",
            (False, False): "neither",
        }[own.divergence is None, other]
    failed = {f.property for f in judgement.findings if f.trace == record.trace}
    word, sentence = _decided(spec, said, record, own.divergence, follows, failed)
    return Verdict(
        record.trace,
        word,
        sentence,
        follows,
        tuple(name for name in spec.properties if name in failed),
        unseen(spec, record),
        own.compared,
    )


def _decided(
    spec: Spec,
    said: Mapping[str, Any],
    record: RunRecord,
    divergence: Divergence | None,
    follows: str | None,
    failed: set[str],
) -> tuple[Word, str]:
    if divergence is not None and _before_any_gap(divergence, record):
        return "refuted", divergence.sentence()
    if reason := undelivered(record) or unlooked(spec, record):
        return "undecided", reason
    if surprise := sorted(failed - {*said["violated"]}):
        return "refuted", f"{', '.join(surprise)} was violated, which was not predicted"
    if follows == "both" and said["separates"]:
        return "undecided", "both models admit what was seen: where they differ, nothing was"
    for name in said["violated"]:
        if name not in failed:
            if hidden := {*spec.properties[name].reads} & {*unseen(spec, record)}:
                seen = f"{', '.join(sorted(hidden))} was not always seen"
                return "undecided", f"{name} was to be violated, and {seen}"
            return "refuted", f"{name} was to be violated, and was not"
    return "confirmed", ""


def _before_any_gap(divergence: Divergence, record: RunRecord) -> bool:
    """Whether a run diverged before the first step that could not be delivered.

    What goes otherwise behind such a step may do so because the step is missing.
    """
    if not record.inapplicable or divergence.micro == 0:
        return True
    return divergence.step is not None and divergence.step <= min(record.inapplicable)


def undelivered(record: RunRecord) -> str:
    """Which step of a run could not be delivered, and why; empty where all were."""
    for step, reason in record.inapplicable.items():
        return f"step {step + 1} could not be delivered: {reason}"
    return ""


def unlooked(spec: Spec, record: RunRecord) -> str:
    """After which step of a run nothing was seen; empty where there is none."""
    for micro in record.compared:
        if not any(name in micro.observed for name in spec.variables.observed):
            return f"nothing was seen after {micro.action or 'the start'}"
    return ""


def unseen(spec: Spec, record: RunRecord) -> tuple[str, ...]:
    """The variables that a run did not show at every micro-step that is compared."""
    micro = record.compared
    return tuple(n for n in spec.variables.observed if any(n not in m.observed for m in micro))
