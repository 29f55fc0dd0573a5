"""Running a prediction: once, after its registration was committed, with what it was made of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from replay.models import Models
from replay.prediction.candidates import Candidate
from replay.prediction.chain import (
    LACKED,
    OUTCOME,
    REGISTRATION,
    RUNS,
    TRACES,
    Link,
    chain,
    enter,
    write_link,
)
from replay.prediction.foresight import foresee
from replay.prediction.registration import Subject, described
from replay.prediction.repository import committed, head_of
from replay.prediction.verdicts import WORDS, decide
from replay.receipts import run_data
from replay.suite import Part, Replay, replay_suite
from replay.sweeps.release import reached
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.tlc import RunOptions
from tracegen.trace import read_traces


@dataclass(frozen=True)
class Registered:
    """A registration, with what is here of what it names.

    Attributes:
        spec: at the bounds of the prediction.
    """

    link: Link
    spec: Spec
    candidate: Candidate
    rival: Candidate | None
    subject: Subject

    @property
    def folder(self) -> Path:
        """Of the prediction."""
        return self.link.path.parent


def require_open(root: Path, folder: Path) -> None:
    """Refuse what was run before, or is registered in no commit.

    Raises:
        MbtError: it was run, was broken off while its outcome was written, is not committed, or
            the chain of predictions is broken.
    """
    chain(root)
    if (folder / OUTCOME).exists():
        raise MbtError(
            f"{folder / OUTCOME}: a prediction is run once, and this one was; "
            "register another one to measure again"
        )
    if (folder / RUNS).exists():
        raise MbtError(
            f"{folder / RUNS}: runs without an outcome, of a run that was broken off; remove them"
        )
    for name in (REGISTRATION, TRACES):
        if not committed(folder / name):
            raise MbtError(
                f"{folder / name}: not committed as it is now; commit the registration first, so "
                "that anyone can see that it was there before the run"
            )


def require_unchanged(here: Registered, checker: RunOptions) -> None:
    """Refuse a registration of other modules, adapters or releases than those here.

    Raises:
        MbtError: names the first thing that is not what was registered.
    """
    told = here.link.content
    now = json.loads(json.dumps(described(here.spec, here.subject, checker)))
    for key, value in now.items():
        if told[key] != value:
            what = key
            if isinstance(value, dict) and isinstance(told[key], dict):
                every = {**told[key], **value}
                odd = sorted(n for n in every if told[key].get(n) != value.get(n))
                what = f"{key} of {odd[0]}"
            raise MbtError(
                f"{here.link.path}: {what}: not what was registered; restore it, "
                "or register the prediction anew"
            )


def run_prediction(
    root: Path,
    here: Registered,
    models: Models,
    checker: RunOptions,
    *,
    jobs: int,
    limit: float,
    progress: Callable[[str, int, int], None],
) -> Mapping[str, Any]:
    """Measure what was predicted, and write down what came of it; return the outcome.

    Raises:
        MbtError: it may not be run (`require_open`, `require_unchanged`).
        MachineryError: the machinery failed; nothing is written.
    """
    folder, told, environment = here.folder, here.link.content, here.subject.environment
    traces = tuple(read_traces(folder / TRACES))
    said = foresee(here.spec, models, here.candidate, here.rival, traces, checker)
    if told["predicts"] != json.loads(json.dumps(said)):
        raise MbtError(f"{here.link.path}: not what the registered model says of these traces")
    part = Part(told["title"], here.candidate.model, "file", traces)
    found = replay_suite(
        # What explains the runs is not asked here.
        replace(here.spec, explain=here.spec.explain.model_copy(update={"switches": ()})),
        [part],
        here.subject.name,
        here.subject.reference,
        here.subject.adapter,
        here.subject.options,
        models,
        checker,
        jobs=jobs,
        limit=limit,
        again=False,
        interpreter=environment.interpreter if environment else None,
        progress=progress,
    )
    (result,) = reached(found).parts
    lines = [
        json.dumps(run_data(part.name, record), separators=(",", ":"), ensure_ascii=False)
        for record in result.records
    ]
    content = outcome_of(here, said, models, found) | {"commit": head_of(folder)}
    staged = folder / f"{RUNS}.new"
    staged.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    staged.replace(folder / RUNS)
    write_link(root, folder / OUTCOME, content)
    enter(root, folder)
    return content


def outcome_of(
    here: Registered, said: list[dict[str, Any]], models: Models, found: Replay
) -> dict[str, Any]:
    """What came of a prediction, trace by trace."""
    (result,) = found.parts
    merges = here.subject.adapter.merged_actions(here.subject.options)
    verdicts = [
        decide(
            here.spec,
            models,
            here.candidate,
            here.rival,
            of_trace,
            record,
            result.judgement,
            merges,
        )
        for of_trace, record in zip(said, result.records, strict=True)
    ]
    counted = Counter(verdict.word for verdict in verdicts)
    return {
        "outcome": next(word for word in WORDS if counted[word]),
        "counts": {word: counted[word] for word in reversed(WORDS)},
        "servers": dict(found.servers),
        "judged_by": result.judgement.module_digest,
        "traces": [asdict(verdict) for verdict in verdicts],
    }


def write_lacked(root: Path, folder: Path, text: str) -> None:
    """Say what the model lacked, beside the outcome that refuted it; once.

    Raises:
        MbtError: there is no outcome yet, it refuted nothing, or it was said already.
    """
    links = {link.path: link for link in chain(root)}
    outcome = links.get(folder / OUTCOME)
    if outcome is None or outcome.content["outcome"] != "refuted":
        raise MbtError(f"{folder}: no prediction that was refuted, so nothing was lacking")
    write_link(root, folder / LACKED, {"text": text})
    enter(root, folder)
