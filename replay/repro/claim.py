"""What a receipt says of one of its runs, in words that somebody reads who does not know mbt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import gated_tasks
from replay.record import RunRecord
from replay.reopened import Reopened
from replay.stored import StoredRun


@dataclass(frozen=True)
class Claim:
    """What is said of a run.

    Attributes:
        run: the name of its trace.
        violated: the names of the properties that fail in it.
        divergence: index of the micro-step at which it diverges, None where it does not.
        diverges: the sentence that says so, "" where it does not.
        differs: the variables by which it diverges; none where an action is not allowed at all.
        title, sentence: all of it in one line.
        paragraphs: the same at length.
    """

    run: str
    violated: Sequence[str]
    divergence: int | None
    diverges: str
    differs: Sequence[str]
    title: str
    sentence: str
    paragraphs: Sequence[str]


def shortest_by_property(receipt: Reopened) -> dict[str, str]:
    """For each property that fails somewhere, the name of a shortest run in which it does."""
    found: dict[str, str] = {}
    for run in sorted(receipt.failing, key=lambda run: run.steps):
        for name in receipt.violated_in(run):
            found.setdefault(name, run.record.trace)
    return found


def claim_of(receipt: Reopened, run: StoredRun) -> Claim:
    """What the receipt says of a run."""
    record, rules = run.record, receipt.content["properties"]
    violated = receipt.violated_in(run)
    found = [d for d in receipt.part(run.part)["divergences"] if d["trace"] == record.trace]
    diverges = str(found[0]["sentence"]) if found else ""
    gates = gated_tasks(receipt.spec.workflow_of(receipt.part(run.part)["model"]))
    words = [_words(name, rules[name]["title"], record, gates) for name in violated]
    who = _who(receipt)
    if words:
        told = "; ".join(words)
        first = f"{who} violates {', '.join(rules[name]['title'] for name in violated)}."
    else:
        told = _refusal(record, int(found[0]["micro"]))
        told = told or f"the run goes otherwise than the model allows: {diverges}"
        first = f"{who}: a run goes otherwise than its model allows."
    return Claim(
        run=record.trace,
        violated=violated,
        divergence=int(found[0]["micro"]) if found else None,
        diverges=diverges,
        differs=[d["variable"] for d in found[0]["differences"]] if found else [],
        title=first,
        sentence=told,
        paragraphs=[f"{word[0].upper()}{word[1:].removesuffix('.')}." for word in words or [told]],
    )


def _who(receipt: Reopened) -> str:
    names = [name for name in receipt.content["versions"] if name != "tla-mbt"]
    version = receipt.content["versions"][names[0]] if names else ""
    return f"{names[0]} {version}" if names else receipt.adapter


def _words(name: str, title: str, record: RunRecord, gates: Sequence[int]) -> str:
    """A property that fails in a run, in plain words with its figures."""
    if name == "FD":
        forks = [
            f"the one given {b.value} got {b.outcome[0]}"
            for b in record.branches
            if b.outcome and b.outcome[0] != b.value
        ]
        return f"a fork is not answered with what it was given: {', '.join(forks)}"
    if name in _ONCE:
        return f"{_ONCE[name]}: {_repeated(record, gates if name != 'EO' else None)}"
    if name == "CV":
        bad = [c["task"] for c in record.micro[-1].observed.get("ckpts", ()) if not c["valid"]]
        return (
            "an output that breaks the schema is stored: that of task "
            f"{', '.join(map(str, dict.fromkeys(bad)))}"
        )
    return _WORDS.get(name, title)


def _expected(violated: Sequence[str]) -> list[str]:
    """What would have been right, in one paragraph; nothing where only the model says so."""
    means = dict.fromkeys(_EXPECTED[name] for name in violated if name in _EXPECTED)
    return [f"Expected instead: {'; '.join(means)}."] if means else []


def _refusal(record: RunRecord, index: int) -> str:
    """A divergence that is an error of the framework's, "" where it is none."""
    micro = record.micro[index]
    if micro.error is None:
        return ""
    what = _CALLS.get(micro.action, micro.action)
    return f"{what} ends with {micro.error['type']}: {micro.error['message']}"


_CALLS = {
    "CrashRecover": "recovering a killed run",
    "ExtraResume": "delivering to a completed run once more",
    "ForkResume": "forking from the question",
    "Consume": "answering",
    "ExecTask": "a task, or what follows it,",
}
_ONCE = {
    "EO": "an effect fires more than once",
    "CO": "one answer lets what it allows happen more than once",
    "CO-e": "two callers that answer at once both have it happen",
}
_EXPECTED = {
    "PC": "a run goes on behind the last task whose completion is stored",
    "EO": "each task's effect fires once",
    "FD": "a fork gets the answer that it is given",
    "CV": "what breaks the schema is not stored",
    "CO": "one answer is consumed once",
    "CO-e": "one answer is consumed once",
    "CO-c": "one answer is consumed once",
    "RD": "equal stores are recovered in the same way",
}
_WORDS = {
    "PC": "the run goes back into tasks whose completion was stored before",
    "CO-c": "two callers that answer at once are both let through",
    "RD": "two recoveries from equal stores decide differently",
}


def _repeated(record: RunRecord, only: Sequence[int] | None) -> str:
    """Which tasks' effects fired how often, in the run and in each of its forks."""
    fired = Counter((row.branch, row.task) for row in record.ledger)
    for branch in record.branches:
        for task, times in enumerate(branch.inherited, 1):
            fired[branch.number, task] += times
    told = [
        f"task {task}, {times} times" + (f" on fork {branch}" if branch else "")
        for (branch, task), times in sorted(fired.items())
        if times > 1 and (only is None or task in only)
    ]
    return ", ".join(told)
