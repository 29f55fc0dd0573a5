"""What a person sees of a replay: verdicts, explanation, coverage, divergences, next commands."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from adapters.base import Option
from replay.compare import Divergence
from replay.explanation.explain import MOST_SWITCHES, Explanation
from replay.receipts import SECOND_PASS
from replay.record import RunRecord
from replay.suite import Cell, PartResult, Replay
from tracegen.trace import Trace

STYLE: Mapping[Cell, tuple[str, str]] = {
    "holds": ("✓", "green"),
    "violated": ("✗", "red"),
    "not observed": ("not observed", "yellow"),
    "not provoked": ("not provoked", "yellow"),
    "not judged": ("not judged", "dim"),
}


def mechanisms(explanation: Explanation | None) -> str:
    """Name the smallest sets of switches that admit every run."""
    if explanation is None:
        return ""
    return " or ".join(map(explanation.name, explanation.smallest)) or "none"


def explanation_text(explanation: Explanation) -> str:
    """Say in a sentence or two which mechanisms admit every run."""
    if not explanation.smallest:
        nearest = explanation.stopped.get(())
        where = f" (the reference machine does not admit {nearest})" if nearest else ""
        return f"none: no set of at most {MOST_SWITCHES} fault switches admits every run{where}"
    text = mechanisms(explanation)
    # A superset of what explains it already is no news; a model that contains it is worth a word.
    if explanation.larger:
        more = ", ".join(map(explanation.name, explanation.larger))
        text += f" (admitted as well by {more})"
    return text


@dataclass(frozen=True)
class DivergenceGroup:
    """Runs of a part that diverge in the same way, those that do so soonest first."""

    part: str
    divergence: Divergence
    traces: tuple[str, ...]


def divergence_groups(results: Sequence[PartResult]) -> list[DivergenceGroup]:
    """Collect the divergences of a replay by what they say, the most frequent first."""
    groups: dict[tuple[str, str], list[tuple[Divergence, str]]] = {}
    for result in results:
        for record, tracking in zip(result.records, result.trackings, strict=True):
            if tracking.divergence is not None:
                key = (result.part.name, tracking.divergence.sentence())
                groups.setdefault(key, []).append((tracking.divergence, record.trace))
    found = []
    for (part, _), runs in groups.items():
        runs.sort(key=lambda run: run[0].micro)  # what shows it soonest is the one to look at
        found.append(DivergenceGroup(part, runs[0][0], tuple(trace for _, trace in runs)))
    return sorted(found, key=lambda group: -len(group.traces))


@dataclass(frozen=True)
class Invocation:
    """What was typed, as far as it takes to type it again.

    Attributes:
        spec: SPEC as typed.
        words: the options that chose the traces.
        options: the adapter's options, with their rules.
        receipt: the folder of the receipt.
        place: the options that chose where receipts go.
    """

    spec: str
    words: Sequence[str]
    options: Mapping[str, Option]
    receipt: Path
    place: Sequence[str] = ()

    def replay(self, replay: Replay, *more: str) -> str:
        """A command for the same system and options, with its receipt at the same place."""
        words = ["mbt", "replay", self.spec, "--adapter", replay.adapter, *self.place]
        for name, value in replay.options.items():
            if value != self.options[name].default:
                words += ["--option", f"{name}={value}"]
        return shlex.join([*words, *more])

    def repeat(self, replay: Replay, group: DivergenceGroup) -> str:
        """The exact command that replays the first trace of a group again."""
        second = {result.part.name for result in replay.second_pass}
        source = (
            ["--traces", str(self.receipt / SECOND_PASS)] if group.part in second else self.words
        )
        return self.replay(replay, *source, "--only", group.traces[0])


def report(
    replay: Replay, typed: Invocation, versions: Mapping[str, str]
) -> Iterator[RenderableType]:
    """The whole report for a screen, item by item: tables, and lines that are not to be broken."""
    yield from _heading(replay, versions)
    yield _properties(replay)
    yield Text()
    yield _parts(replay)
    yield from _statements(replay, typed)
    yield from _other_forms(replay, typed)


def _heading(replay: Replay, versions: Mapping[str, str]) -> Iterator[Text]:
    released = {**versions, **replay.servers}
    what = ", ".join(f"{name} {version}" for name, version in released.items()) or replay.adapter
    yield Text(f"{replay.spec.module} on {what}", "bold")
    if replay.options:
        chosen = "  ".join(f"{name}={value}" for name, value in replay.options.items())
        yield Text(f"options: {chosen}", "dim")


def _properties(replay: Replay) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("property")
    table.add_column("verdict")
    results = (*replay.parts, *replay.second_pass)
    for result in results:
        table.add_column(result.part.name, justify="right")
    for name, rule in replay.spec.properties.items():
        mark, style = STYLE[replay.cell(name)]
        cells = [_part_cell(result, name) for result in results]
        table.add_row(f"{name:3} {rule.title}", Text(mark, style), *cells)
    return table


def _part_cell(result: PartResult, name: str) -> Text:
    violating = len(result.violating(name))
    if violating:
        return Text(f"✗ in {violating} of {len(result.records)}", "red")
    cell = result.cell(name)
    provoked = len(result.judgement.provoked[name])
    return Text(f"✓ of {provoked}", "green") if cell == "holds" else Text(cell, STYLE[cell][1])


def _parts(replay: Replay) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("traces of")
    table.add_column("model")
    for title in ("traces", "steps", "applicable", "compared", "unobserved", "diverge", "covered"):
        table.add_column(title, justify="right")
    explained = replay.explanation is not None
    if explained:
        table.add_column("explained by")
    for result in (*replay.parts, *replay.second_pass):
        diverging = len(result.diverging)
        unobserved = result.unobserved(replay.spec)
        table.add_row(
            result.part.name,
            result.part.model,
            str(len(result.records)),
            str(result.part.steps),
            str(result.part.steps - result.inapplicable),
            str(result.compared),
            str(max(unobserved.values(), default=0)),
            Text(f"{diverging} of {len(result.records)}", "red" if diverging else "green"),
            f"{len(result.covered)} of {result.transitions}",
            *([mechanisms(result.explanation)] if explained else []),
        )
    return table


def _statements(replay: Replay, typed: Invocation) -> Iterator[RenderableType]:
    if replay.explanation is not None:
        said = explanation_text(replay.explanation)
        what = "\nexplained by " if len(replay.parts) == 1 else "\nthe whole is explained by "
        yield Text.assemble((what, "bold"), said)
        if not replay.explanation.smallest:
            yield Text(f"  mbt explain {shlex.quote(str(typed.receipt))}", "cyan")
    yield from _steadiness(replay)
    yield from _recoveries(replay)
    unobserved = {n for r in replay.parts for n in r.unobserved(replay.spec)}
    if unobserved:
        yield Text(f"not observed, so not compared: {', '.join(sorted(unobserved))}", "yellow")
    facts = noticed(replay)
    for fact, count in facts.items():
        yield Text(f"noticed in {_runs(count)}: {fact}", "dim")
    for reason, count in _inapplicable(replay).items():
        yield Text(f"inapplicable in {_runs(count)}: {reason}", "dim")
    groups = divergence_groups((*replay.parts, *replay.second_pass))
    for number, group in enumerate(groups):
        if number == 6:
            yield Text(f"... and {len(groups) - 6} more kinds of divergence (--json)", "dim")
            break
        yield Text.assemble(
            (f"\n{group.part}, {_runs(len(group.traces))}: ", "bold"),
            (group.divergence.sentence(), "red"),
        )
        yield Text(f"  {typed.repeat(replay, group)}", "cyan")


def _steadiness(replay: Replay) -> Iterator[Text]:
    """Whether traces that were replayed several times went the same way each time."""
    unsteady = [name for result in replay.parts for name in result.unsteady]
    if unsteady:
        yield Text(f"went otherwise in one of {replay.repeat}: {', '.join(unsteady)}", "red")
    elif replay.repeat > 1:
        yield Text(f"each trace replayed {replay.repeat} times, each time the same", "green")


def _recoveries(replay: Replay) -> Iterator[Text]:
    """Whether recoveries from copies of what crashes left decided as the runs' own did."""
    results = (*replay.parts, *replay.second_pass)
    total = sum(result.recovered_twice for result in results)
    other = [name for result in results for name in result.decided_otherwise]
    if other:
        yield Text(f"a copy of the store was recovered otherwise in {_runs(len(other))}", "red")
    elif total:
        yield Text(f"each of {total} stores recovered twice, once in a copy: no difference", "dim")


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _inapplicable(replay: Replay) -> dict[str, int]:
    """Why stimuli were not delivered -> in how many runs."""
    reasons: dict[str, int] = {}
    for result in replay.parts:
        for record in result.records:
            for reason in set(record.inapplicable.values()):
                reasons[reason] = reasons.get(reason, 0) + 1
    return dict(sorted(reasons.items()))


def noticed(replay: Replay) -> dict[str, int]:
    """Facts beside the model's variables -> in how many runs they were noticed."""
    facts: dict[str, int] = {}
    for result in replay.parts:
        for record in result.records:
            for fact in record.facts:
                facts[fact] = facts.get(fact, 0) + 1
    return facts


def _other_forms(replay: Replay, typed: Invocation) -> Iterator[RenderableType]:
    """The forms that were not run: a verdict can change with them."""
    others = [
        (name, choice)
        for name, option in typed.options.items()
        for choice in option.choices
        if choice != replay.options[name]
    ]
    if others:
        forms = ", ".join(f"{name}={choice}" for name, choice in others)
        first = dataclasses.replace(replay, options={**replay.options, others[0][0]: others[0][1]})
        yield Text.assemble(
            ("\nA verdict holds for the options that it was reached with. Other forms: ", "dim"),
            (forms, "dim"),
            ("\nTo run one: ", "dim"),
            (typed.replay(first, *typed.words), "cyan"),
        )


def walk_picture(trace: Trace, record: RunRecord, divergence: Divergence | None) -> Table:
    """One run, step by step: what was done, where it led, what changed, where it diverged."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "step", "process", "action", "then", "what changed"):
        table.add_column(title)
    before: dict[str, object] = {}
    for index, micro in enumerate(record.micro):
        changed = [f"{n}={v}" for n, v in micro.observed.items() if before.get(n, ...) != v]
        before = dict(micro.observed)
        values = ", ".join(str(value) for value in micro.params.values())
        action = f"{micro.action}({values})" if values else micro.action or "start"
        if micro.part in {"catch-up", "re-answer", "drain"}:
            action += f"  [{micro.part}]"
        here = divergence is not None and divergence.micro == index
        table.add_row(
            Text("✗" if here else "·", "red" if here else "dim"),
            "" if micro.step is None else str(micro.step + 1),
            str(micro.process),
            Text(action + ("  [poisoned]" if micro.poison else "")),  # brackets are no markup
            (micro.at or "") + (f": {micro.error['type']}" if micro.error is not None else ""),
            Text(" ".join(changed) if index else "everything, to its initial value"),
        )
    return table
