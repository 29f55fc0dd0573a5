"""Whether predictions are what they say: the chain, every digest, and each verdict once more.

A verdict is derived again without any model: the registration holds, as text, what each step was
to show, and the runs hold what was seen. A run that was confirmed shows exactly that.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import specs
from replay.prediction.chain import (
    FOLDER,
    INDEX,
    LINKS,
    OUTCOME,
    REGISTRATION,
    RUNS,
    TRACES,
    chain_problems,
    folders,
    read_link,
)
from replay.prediction.predictions import page
from replay.prediction.registered import spec_of
from replay.prediction.repository import committed, is_here
from replay.prediction.verdicts import WORDS, undelivered, unseen
from replay.prediction.walks import seen_as
from replay.record import RunRecord
from replay.stored import read_runs, reading
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.trace import read_traces

Data = Mapping[str, Any]
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SPECS = Path(specs.__file__).parent


def audit_predictions(root: Path) -> Iterator[str]:
    """What is wrong with the predictions below the receipts, each with its file."""
    place = root / FOLDER
    if not place.is_dir():
        return
    yield from _strangers(place, root)
    broken = [*chain_problems(root)]
    yield from broken
    for folder in folders(root):
        try:
            yield from _prediction(folder)
        except MbtError as error:
            yield f"{error}"
    if broken:
        return  # of which no page can be made
    index = place / INDEX
    try:
        text = page(root)
        if not index.is_file() or index.read_bytes() != text.encode():
            yield f"{index}: not what the predictions come to; mbt predict list --write writes it"
    except MbtError as error:
        yield f"{error}"


def _strangers(place: Path, root: Path) -> Iterator[str]:
    """Files that belong to no prediction, and folders that are none."""
    known = {*LINKS, TRACES, RUNS}
    for path in sorted(place.iterdir()):
        if not path.is_dir() and path.name != INDEX:
            yield f"{path}: of no prediction"
    for folder in folders(root):
        for path in sorted(folder.iterdir()):
            if path.name not in known:
                yield f"{path}: not a file of a prediction"
        if not (folder / REGISTRATION).is_file():
            yield f"{folder / REGISTRATION}: missing"


def _prediction(folder: Path) -> Iterator[str]:
    """Whether a registration is of its traces, and an outcome of its runs."""
    path = folder / REGISTRATION
    if not path.is_file():
        return
    link = read_link(path)
    with reading(path):
        told = link.content
        said = [(row["trace"], row["digest"]) for row in told["predicts"]]
        if said != [(t.name, t.digest) for t in read_traces(folder / TRACES)]:
            yield f"{path}: of other traces than those in {TRACES}"
        if not (folder / OUTCOME).is_file():
            return
        same = all(
            hashlib.sha256((SPECS / name).read_bytes()).hexdigest() == digest
            for name, digest in told["digests"].items()
            if (SPECS / name).is_file()
        )
        spec = spec_of(link) if same else None
    outcome = folder / OUTCOME
    with reading(outcome):
        content = read_link(outcome).content
        for phrase in (*_before(content["commit"], folder), *_outcome(told, content, folder, spec)):
            yield f"{outcome}: {phrase}"


def _before(commit: str, folder: Path) -> Iterator[str]:
    """Whether the commit that an outcome was measured at holds the registration; where it is here.

    A commit that is not here says nothing: a copy need not have the history.
    """
    if not _COMMIT.fullmatch(commit):
        yield f"{commit!r} is no commit"
    elif is_here(folder, commit):
        for name in (REGISTRATION, TRACES):
            if not committed(folder / name, commit):
                yield f"measured at {commit}, which does not hold {folder / name} as it is now"


def _outcome(told: Data, content: Data, folder: Path, spec: Spec | None) -> Iterator[str]:
    """Whether an outcome follows from its traces, and each of those from its run."""
    traces = content["traces"]
    counted = Counter(trace["word"] for trace in traces)
    if content["counts"] != {word: counted[word] for word in reversed(WORDS)}:
        yield f"counts {content['counts']}, and {dict(counted)} by its traces"
    if content["outcome"] != next((word for word in WORDS if counted[word]), None):
        yield f"is {content['outcome']}, which does not follow from its traces"
    runs = [stored.record for stored in read_runs(folder)]
    rows = [(row["trace"], row["digest"]) for row in told["predicts"]]
    if rows != [(r.trace, r.digest) for r in runs] or len(rows) != len(traces):
        yield f"its runs are not of the traces that were registered ({len(runs)}, {len(rows)})"
        return
    for verdict, run, said in zip(traces, runs, told["predicts"], strict=True):
        if verdict["trace"] != run.trace:
            yield f"{verdict['trace']} is said of the run of {run.trace}"
        elif spec is not None and (phrase := _verdict(spec, told, verdict, run, said)):
            yield f"{run.trace} is {verdict['word']}, and {phrase}"


def _verdict(spec: Spec, told: Data, verdict: Data, run: RunRecord, said: Data) -> str | None:
    """Why a verdict does not follow from the run; None where it does."""
    kept = shows_what_was_said(spec, told, run, said)
    properties = {*verdict["violated"]} == {*said["violated"]}
    if verdict["word"] == "confirmed":
        if not kept:
            return "its run does not show what was registered"
        if undelivered(run) or not properties or not verdict["compared"]:
            return "not all of it was delivered, seen and violated as registered"
        if said["separates"] and verdict["follows"] != "model":
            return "its run does not follow the registered model alone"
    if [*verdict["unseen"]] != [*unseen(spec, run)]:
        return "other variables are missing in its run than it says"
    if verdict["word"] == "refuted" and kept and properties:
        return "its run shows what was registered"
    if verdict["word"] == "undecided" and not (undelivered(run) or verdict["unseen"]):
        return "all of it was delivered and seen"
    return None


def shows_what_was_said(spec: Spec, told: Data, run: RunRecord, said: Data) -> bool:
    """Whether a run took the steps that were registered and showed, of what was seen, the same."""
    steps = iter(said["steps"])
    last: Data = {}
    for micro, shown in zip(run.compared, seen_as(spec, run.compared), strict=True):
        # What brings a run to the point where the model begins is no step of the model.
        if micro.action or micro.part == "start":
            path = told["merges"].get(micro.action, [micro.action])
            taken = [step for _, step in zip(path, steps, strict=False)]
            if [step["action"] for step in taken] != path:
                return False
            last = taken[-1]
        if any(last["shows"][name] != value for name, value in shown.items()):
            return False
    return next(steps, None) is None
