"""The study of shrunk traces: for each row that fails, a shortest trace that fails in the same way.

Of a row the first run is taken that fails, in the order of its receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adapters.registry import load_adapter, locate
from replay.models import Models
from replay.provenance import file_digest
from replay.reopened import Reopened, reopen
from replay.rows import Row
from replay.shrinking.shrink import Failure
from replay.shrinking.shrink_run import ShrunkRun, shrink_run
from tracegen.tlc import RunOptions
from tracegen.trace import Step, Trace
from tracegen.values import to_python

Content = Mapping[str, Any]
TITLE = "Shrunk traces"


def measure(
    rows: Sequence[Row],
    checker: RunOptions,
    jobs: int,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Shrink a trace of each row that fails; the study's receipt.

    Raises:
        MbtError: a receipt is missing, or its run does not fail any more.
        HostError, MissingFramework, ServiceError, MachineryError: the machinery failed.
    """
    models: dict[str, Models] = {}
    found = []
    for number, row in enumerate(rows):
        progress(row.name, number, len(rows))
        receipt = reopen(row.folder)
        if receipt.failing:
            known = models.setdefault(receipt.spec.module, Models(receipt.spec, checker))
            reference = locate(receipt.adapter)
            shrunk = shrink_run(
                receipt,
                receipt.failing[0],
                load_adapter(reference),
                reference,
                known,
                checker,
                jobs=jobs,
            )
            found.append(_entry(row.name, receipt, shrunk))
    return {"rows": found}


def _entry(name: str, receipt: Reopened, found: ShrunkRun) -> dict[str, Any]:
    shrunk = found.shrunk
    return {
        "receipt": name,
        "runs": file_digest(receipt.folder / "runs.jsonl"),
        "trace": found.before.name,
        "fails": shrunk.after.failure.text,
        "sentence": found.divergence.sentence() if found.divergence else "",
        "before": _steps(found.before),
        "after": _steps(found.after),
        "replayed": shrunk.replayed,
        "shorter": shrunk.shorter,
        "without": [_told(failure) for failure in shrunk.without],
    }


def _told(failure: Failure | None) -> str | None:
    return None if failure is None else failure.text


def _steps(trace: Trace) -> list[str]:
    return [_step(step) for step in trace.steps]


def _step(step: Step) -> str:
    values = ", ".join(str(to_python(value)) for value in step.params.values())
    return f"{step.action}({values})" if values else step.action


def problems(content: Content) -> Iterator[str]:
    """Where an entry contradicts itself."""
    for entry in content["rows"]:
        name, after = entry["receipt"], entry["after"]
        if len(after) > len(entry["before"]):
            yield f"{name}: {len(after)} steps are left of {len(entry['before'])}"
        if len(entry["without"]) != len(after):
            yield f"{name}: {len(entry['without'])} steps were left out, of {len(after)}"
        if entry["fails"] in entry["without"]:
            yield f"{name}: a step can be left out of what is left"
        tried = sum(less is not None for less in entry["without"])
        if entry["replayed"] < tried:
            yield f"{name}: {entry['replayed']} paths were replayed, and {tried} with a step less"


def page(content: Content) -> str:
    """The page."""
    rows = content["rows"]
    before = sum(len(entry["before"]) for entry in rows)
    after = sum(len(entry["after"]) for entry in rows)
    proven = sum(entry["shorter"] is not None for entry in rows)
    lines = [
        f"# {TITLE}",
        "",
        "Of each row of the conformance table that fails, the first run that does, made shorter",
        "by `mbt shrink` as long as it stays a path of the model, diverges at the same action by",
        "the same variables, and violates the same properties. Written by `mbt shrink --every",
        "--write`.",
        "",
        f"{len(rows)} traces of {before} steps came to {after} steps. No step can be left out",
        f"of any. Of {proven} of them every shorter path of the model was replayed too, and none",
        "fails like that.",
        "",
        "| receipt | trace | steps | left | what is left | how it fails |",
        "|---|---|---|---|---|---|",
    ]
    for entry in rows:
        steps = ", ".join(entry["after"])
        lines.append(
            f"| `{entry['receipt']}` | {entry['trace']} | {len(entry['before'])} "
            f"| {len(entry['after'])} | {steps} | {entry['fails']} |"
        )
    return "\n".join([*lines, ""])
