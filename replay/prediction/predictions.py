"""All predictions below the receipts: as a table, as totals, and as the page made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.prediction.chain import (
    FOLDER,
    INDEX,
    LACKED,
    OUTCOME,
    REGISTRATION,
    Data,
    Link,
    chain,
    folders,
)
from replay.prediction.verdicts import WORDS
from tracegen.errors import MbtError

OPEN = "not run yet"
KINDS = ("new", "replication")
COLUMNS = ("id", "what", "system", "kind", "model", "separates from", "outcome", "follows")


@dataclass(frozen=True)
class Listed:
    """A prediction, in the words of the table.

    Attributes:
        system: the adapter, with the options that are not its defaults, and the releases.
        rival: the model that it is separated from, None where there is none.
        follows: which of both the runs followed, "" where it was not run or there is no rival.
        traces: how many of its traces came to what.
    """

    id: str
    title: str
    why: str
    system: str
    kind: str
    model: str
    rival: str | None
    outcome: str
    follows: str
    traces: dict[str, int]
    sentences: tuple[str, ...]
    lacked: str


def predictions(root: Path) -> list[Listed]:
    """All predictions, by id.

    Raises:
        MbtError: the chain is not whole, or a file is not of its form.
    """
    links = {link.path: link for link in chain(root)}
    found = []
    for folder in folders(root):
        try:
            found.append(_listed(folder, links))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise MbtError(
                f"{folder}: not of the form of a prediction ({type(error).__name__}: {error})"
            ) from None
    return found


def _listed(folder: Path, links: dict[Path, Link]) -> Listed:
    told = links[folder / REGISTRATION].content
    outcome = links.get(folder / OUTCOME)
    lacked = links.get(folder / LACKED)
    traces = outcome.content["traces"] if outcome else []
    follows = dict.fromkeys(trace["follows"] for trace in traces if trace["follows"])
    bounds = ", ".join(f"{name} = {value}" for name, value in told["constants"].items())
    return Listed(
        id=folder.name.partition("-")[0],
        title=told["title"],
        why=told["why"],
        system=_system(told),
        kind=KINDS[bool(told["replication"])],
        model=f"{told['module']}: {told['model']}" + (f" ({bounds})" if bounds else ""),
        rival=told["against"],
        outcome=outcome.content["outcome"] if outcome else OPEN,
        follows=", ".join(follows),
        traces=dict(outcome.content["counts"]) if outcome else {},
        sentences=tuple(f"{t['trace']}: {t['sentence']}" for t in traces if t["sentence"]),
        lacked=lacked.content["text"] if lacked else "",
    )


def _system(told: Data) -> str:
    chosen = [f"{name}={value}" for name, value in told["chosen"].items()]
    versions = [f"{name} {version}" for name, version in [*told["versions"].items()][:1]]
    return ", ".join([told["adapter"], *chosen, *versions])


def cells(one: Listed) -> tuple[str, ...]:
    """A row of the table."""
    counts = ", ".join(f"{count} {word}" for word, count in one.traces.items() if count)
    outcome = f"{one.outcome} ({counts})" if len(one.traces) and "," in counts else one.outcome
    return (
        one.id,
        one.title,
        one.system,
        one.kind,
        one.model,
        one.rival or "",
        outcome,
        one.follows,
    )


def totals(found: Sequence[Listed]) -> dict[str, dict[str, int]]:
    """Kind -> how many predictions there are, separate models, and came to what."""
    table = {}
    for kind in KINDS:
        these = [one for one in found if one.kind == kind]
        counted = Counter(one.outcome for one in these)
        table[kind] = {
            "registered": len(these),
            "with a rival": sum(one.rival is not None for one in these),
            **{word: counted[word] for word in (*reversed(WORDS), OPEN)},
        }
    return table


def page(root: Path) -> str:
    """The page of all predictions, from their files alone."""
    found = predictions(root)
    links = chain(root)
    lines = [
        "# What was predicted, and what came of it",
        "",
        "Written by `mbt predict` from the files in the folders beside this one; "
        "docs/predictions.md says what the words mean. A *replication* is of a protocol whose "
        "outcome was known.",
        "",
        "| |" + "|".join(f" {word} " for word in totals(found)["new"]) + "|",
        "|---" * (len(totals(found)["new"]) + 1) + "|",
    ]
    for kind, counts in totals(found).items():
        lines.append(f"| {kind} | {' | '.join(map(str, counts.values()))} |")
    lines += ["", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(map(plain, cells(one)))} |" for one in found]
    for one in found:
        lines += ["", f"## {one.id}: {plain(one.title)}", ""]
        lines += [plain(one.why)] if one.why else []
        lines += ["", *(f"- {plain(text)}" for text in one.sentences)] if one.sentences else []
        lines += ["", f"What the model lacked: {plain(one.lacked)}"] if one.lacked else []
    head = links[-1].digest if links else "none"
    lines += ["", f"The chain has {len(links)} links; the last one's digest is `{head}`."]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """A text on one line, with nothing that Markdown reads."""
    return "".join(f"\\{c}" if c in "\\`*_<>|#[]" else c for c in " ".join(text.split()))


def write_index(root: Path) -> None:
    """Write the page beside the predictions."""
    path = root / FOLDER / INDEX
    staged = path.with_suffix(".new")
    staged.write_text(page(root), encoding="utf-8")
    staged.replace(path)
