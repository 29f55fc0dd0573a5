"""The figures that a page shows of replays, held against the receipts that they come from.

A page shows what a command printed, in a block of the kind `console`. Where the command is a
replay that has a receipt, each line that holds a figure has to be the one that the receipt makes:
of a property, of a part, of what explains it, of what was noticed, of how runs diverged, and of
the micro-steps of one trace. What is no such line is not looked at.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.conformance.measured import GRAVITY
from replay.rows import Row
from tracegen.errors import MbtError

MARKS = {"violated": "✗", "holds": "✓"}
MADE = {"make replay": "mbt replay specs/ResumeContract.tla --adapter crewai"}
"""What targets of the Makefile run."""


@dataclass(frozen=True)
class Shown:
    """A command of a page and what it is said to print, with the line of each."""

    page: Path
    words: Sequence[str]
    lines: Sequence[tuple[int, str]]


def audit_page(page: Path, rows: Sequence[Row]) -> tuple[list[str], int]:
    """What a page shows otherwise than the receipts, and how many of its lines were compared."""
    problems, compared = [], 0
    for shown in shown_in(page):
        row, models, only = _replayed(shown.words, rows)
        if row is None:
            continue
        try:
            check = _picture(row, only, shown) if only else _tables(row, models, shown)
        except MbtError as error:
            problems.append(f"{page}:{shown.lines[0][0] if shown.lines else 1}: {error}")
            continue
        for number, problem in check:
            compared += 1
            if problem:
                problems.append(f"{page}:{number}: {problem}")
    return problems, compared


def shown_in(page: Path) -> Iterator[Shown]:
    """The commands of a page's blocks, each with what follows it."""
    words: list[str] | None = None
    lines: list[tuple[int, str]] = []
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```") or (inside and line.startswith("$ ")):
            if words is not None:
                yield Shown(page, words, lines)
            words, lines = None, []
            if line.startswith("```"):
                inside = line == "```console"
                continue
            command = line.removeprefix("$ ").strip()
            words = shlex.split(MADE.get(command, command), comments=True)
        elif words is not None:
            lines.append((number, line))


def _replayed(
    words: Sequence[str], rows: Sequence[Row]
) -> tuple[Row | None, Sequence[str], str | None]:
    """The row whose receipt a command's output comes from, the models and the trace it names."""
    if list(words[:2]) != ["mbt", "replay"] or len(words) < 3:
        return None, (), None
    given: dict[str, list[str]] = {}
    rest = iter(words[3:])
    for word in rest:
        name, equals, value = word.partition("=")
        given.setdefault(name, []).append(value if equals else next(rest, ""))
    options = dict(text.partition("=")[::2] for text in given.get("--option", ()))
    only = given.get("--only", [None])[0]
    if {"--traces", "--cover", "--checker"} & given.keys():
        return None, (), None
    for row in rows:
        same = {**row.defaults, **options} == row.options and row.model is None
        if (
            same
            and row.repeat == 1
            and Path(words[2]).stem == row.module
            and [row.adapter] == given.get("--adapter")
        ):
            return row, given.get("--model", ()), only
    return None, (), None


# -- tables ------------------------------------------------------------------------------


def _tables(row: Row, models: Sequence[str], shown: Shown) -> Iterator[tuple[int, str | None]]:
    receipt = row.receipt()
    parts = [p for p in receipt["parts"] if not models or p["model"] in models]
    second = [] if models else receipt["second_pass"]
    runs = _runs(row, {part["name"] for part in parts})
    expected = {*_lines(receipt, parts, second, runs, whole=not models)}
    for number, line in shown.lines:
        # What is admitted beside the smallest sets is in a receipt without its name.
        text = " ".join(line.split()).partition(" (admitted as well by ")[0]
        if any(re.match(kind, text) for kind in _kinds(receipt, parts)):
            wrong = text not in expected and not any(
                text.endswith("...") and known.startswith(text.removesuffix("...").rstrip())
                for known in expected
            )
            yield number, f"{text!r} is not what {row.name} comes to" if wrong else None


def _kinds(receipt: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Patterns of the lines that hold figures."""
    for name, rule in receipt["properties"].items():
        yield rf"{re.escape(name)} {re.escape(rule['title'])} "
    for part in parts:
        yield rf"{re.escape(part['name'])} {re.escape(part['model'])} \d"
        yield rf"{re.escape(part['name'])}, \d+ runs?: "
    yield r"(noticed|inapplicable) in \d+ runs?: "
    yield r"(the whole is )?explained by "
    yield r"each of \d+ stores recovered twice"


def _lines(
    receipt: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    second: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
    *,
    whole: bool,
) -> Iterator[str]:
    """The lines with figures that `mbt replay` prints of a receipt, single spaces throughout."""
    names = [part["name"] for part in parts]
    traces = {part["name"]: part["traces"] for part in parts}
    for name, rule in receipt["properties"].items():
        found = {part: rule["parts"][part] for part in names}
        verdict = rule["verdict"] if whole else _gravest(found)
        cells = [_cell(found[part], traces[part]) for part in names]
        yield " ".join([name, rule["title"], MARKS.get(verdict, verdict), *cells])
    for part in (*parts, *second):
        explained = _names(part["explanation"])
        unobserved = max(part["unobserved"].values(), default=0)
        yield (
            f"{part['name']} {part['model']} {part['traces']} {part['steps']} "
            f"{part['applicable']} {part['compared']} {unobserved} "
            f"{len(part['divergences'])} of {part['traces']} "
            f"{part['covered']} of {part['transitions']} {explained}".rstrip()
        )
        sentences = Counter(divergence["sentence"] for divergence in part["divergences"])
        for sentence, count in sentences.items():
            yield f"{part['name']}, {_count(count)}: {' '.join(sentence.split())}"
    explanation = receipt["explanation"] if whole else parts[0]["explanation"]
    if explanation is not None:
        yield f"the whole is explained by {_names(explanation)}"
        yield f"explained by {_names(explanation)}"
    doubles = sum(part["recovered_twice"] for part in (*parts, *second))
    yield f"each of {doubles} stores recovered twice, once in a copy: no difference"
    facts = Counter(fact for run in runs for fact in run["facts"])
    reasons = Counter(why for run in runs for why in {*run["inapplicable"].values()})
    yield from (f"noticed in {_count(n)}: {fact}" for fact, n in facts.items())
    yield from (f"inapplicable in {_count(n)}: {why}" for why, n in reasons.items())


def _cell(found: Mapping[str, Any], traces: int) -> str:
    violating = len({where.partition("/")[0] for where in found["violated_at"]})
    if violating:
        return f"✗ in {violating} of {traces}"
    verdict: str = found["verdict"]
    return f"✓ of {found['provoked_by']}" if verdict == "holds" else verdict


def _gravest(found: Mapping[str, Mapping[str, Any]]) -> str:
    verdicts: list[str] = [each["verdict"] for each in found.values()]
    return min(verdicts, key=GRAVITY.index)


def _names(explanation: Mapping[str, Any] | None) -> str:
    return "" if explanation is None else " or ".join(explanation["names"]) or "none"


def _count(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def _runs(row: Row, parts: set[str]) -> list[Mapping[str, Any]]:
    with (row.folder / "runs.jsonl").open(encoding="utf-8") as lines:
        runs = [json.loads(line) for line in lines]
    return [run for run in runs if run["part"] in parts]


# -- the micro-steps of one trace --------------------------------------------------------


def _picture(row: Row, only: str, shown: Shown) -> Iterator[tuple[int, str | None]]:
    receipt = row.receipt()
    parts = {part["name"] for part in receipt["parts"]}
    run = next((run for run in _runs(row, parts) if run["trace"] == only), None)
    steps = _steps(shown.lines)
    if run is None:
        yield from ((number, f"{row.name} has no run {only}") for number, _ in steps)
        return
    for (number, text), known in zip(steps, _printed(run["micro"]), strict=False):
        same = _loose(text[1:]) == _loose(known)
        yield number, None if same else f"{only} went otherwise in {row.name}: {known}"


def _steps(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines that begin a micro-step, each with those that go on with it."""
    steps: list[tuple[int, str]] = []
    for number, line in lines:
        if line.startswith(("· ", "✗ ")):
            steps.append((number, line))
        elif steps and line.startswith("    ") and number:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]} {line}")
        elif steps:
            break
    return steps


def _printed(micro: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The micro-steps as they are printed, but for the order of what changed."""
    process = 1
    seen: dict[str, Any] = {}
    for each in micro:
        process = each.get("process", process)
        changed = dict(each.get("changed", {}))
        changed |= {name: [*seen[name], *more] for name, more in each.get("grown", {}).items()}
        seen |= changed
        if each["part"] == "start":
            told = ["everything, to its initial value"]
        else:
            told = [f"{name}={value}" for name, value in changed.items()]
        yield " ".join([*_head(each, process), *told])


def _head(micro: Mapping[str, Any], process: int) -> Iterator[str]:
    """What a micro-step says before what changed."""
    values = ", ".join(map(str, micro.get("params", {}).values()))
    action = micro.get("action", "start")
    yield str(micro["step"] + 1) if "step" in micro else ""
    yield str(process)
    yield f"{action}({values})" if values else action
    if micro["part"] in {"catch-up", "re-answer", "drain"}:
        yield f"[{micro['part']}]"
    if micro.get("poison"):
        yield "[poisoned]"
    yield micro.get("at", "") + (f": {micro['error']['type']}" if "error" in micro else "")


def _loose(text: str) -> tuple[str, frozenset[str]]:
    """A step without the order of what changed."""
    head, *changed = re.split(r"\s(?=[A-Za-z]\w*=)", " ".join(text.split()))
    return head, frozenset(changed)
