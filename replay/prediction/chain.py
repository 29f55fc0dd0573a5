"""The chain of predictions: every registration, outcome and remark names the file before it.

Below the receipts, `predictions/NNNN-slug/` holds a prediction:

    registration.json   what is predicted, of what, by which model
    traces.jsonl        the traces that it is predicted of
    outcome.json        what came of it, once it was run
    runs.jsonl          the runs, as in any receipt
    lacked.json         what the model lacked, where it was refuted

Each JSON file is a *link*: it has a number, the SHA-256 of the link with the number before, and
those of the files beside it that it speaks of. A chain cannot show that its last link was changed:
the manifest of the receipts holds the digest of that too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.receipts import enter_file, readable
from tracegen.encoding import check_json, parse_json
from tracegen.errors import MbtError
from tracegen.values import ValueFormatError

FOLDER = "predictions"
INDEX = "INDEX.md"
REGISTRATION, OUTCOME, LACKED = "registration.json", "outcome.json", "lacked.json"
TRACES, RUNS = "traces.jsonl", "runs.jsonl"
LINKS = (REGISTRATION, OUTCOME, LACKED)
BESIDE = {REGISTRATION: (TRACES,), OUTCOME: (REGISTRATION, RUNS), LACKED: (OUTCOME,)}
"""The files of a link's folder whose digests it holds."""
FORMAT = 1
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Link:
    """A file of the chain: its place in it, its content, and the digest of its bytes."""

    path: Path
    number: int
    previous: str
    digest: str
    content: Data


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file; empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def read_link(path: Path) -> Link:
    """Read a file of the chain. Raises MbtError where it is none."""
    try:
        data = path.read_bytes()
        content = parse_json(data)
        check_json(content, "")
        number, previous = content["link"]["number"], content["link"]["previous"]
        whole = isinstance(number, int) and isinstance(previous, str)
        if content["format"] != FORMAT or content["kind"] != path.stem or not whole:
            raise ValueError
    except OSError as error:
        raise MbtError(f"cannot read {path}: {error.strerror}") from None
    except ValueFormatError as error:
        raise MbtError(f"{path}: not a {path.stem} of a prediction: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise MbtError(f"{path}: not a {path.stem} of a prediction") from None
    return Link(path, number, previous, hashlib.sha256(data).hexdigest(), content)


def folders(root: Path) -> list[Path]:
    """The folders of all predictions below the receipts, by id."""
    return sorted(p for p in (root / FOLDER).glob("*") if p.is_dir() and p.name[:1] != ".")


def folder_of(root: Path, identifier: str) -> Path:
    """The folder of a prediction, by its id or its whole name; raises MbtError."""
    found = [f for f in folders(root) if identifier in (f.name, f.name.partition("-")[0])]
    if len(found) != 1:
        known = ", ".join(f.name.partition("-")[0] for f in folders(root)) or "none"
        raise MbtError(f"{root / FOLDER}: no prediction {identifier!r}; there are: {known}")
    return found[0]


def chain(root: Path) -> list[Link]:
    """All links, by number.

    Raises:
        MbtError: the chain is not whole; the message names the first file that is at fault.
    """
    if problem := next(chain_problems(root), None):
        raise MbtError(f"{problem}: the chain of predictions is not whole; restore the file")
    return sorted(map(read_link, _files(root)), key=lambda link: link.number)


def _files(root: Path) -> list[Path]:
    return [folder / name for folder in folders(root) for name in LINKS if (folder / name).exists()]


def chain_problems(root: Path) -> Iterator[str]:
    """Where the chain is broken, each with its file."""
    links = []
    for path in _files(root):
        try:
            links.append(read_link(path))
        except MbtError as error:
            yield f"{error}"
    before = ""
    for number, link in enumerate(sorted(links, key=lambda link: link.number), 1):
        if link.number != number:
            yield f"{link.path}: is number {link.number} of the chain, where {number} would come"
        elif link.previous != before:
            yield f"{link.path}: the file before it, number {number - 1}, is not what it was"
        before = link.digest
        beside = link.content.get("beside")
        for name in BESIDE[link.path.name]:
            told = beside.get(name) if isinstance(beside, dict) else None
            file = link.path.with_name(name)
            if told != digest_of_file(file):
                yield f"{file}: {'missing, or ' * (not file.is_file())}not what {link.path} is of"


def write_link(root: Path, path: Path, content: Data) -> None:
    """Write the next link of the chain; `enter` puts it into the manifest once it is in place.

    Raises:
        MbtError: it is there already, or the chain is broken.
    """
    if path.exists():
        raise MbtError(f"{path} is there already, and is never written twice")
    before = chain(root)
    whole = {
        "format": FORMAT,
        "kind": path.stem,
        "link": {
            "number": len(before) + 1,
            "previous": before[-1].digest if before else "",
        },
        "beside": {n: digest_of_file(path.with_name(n)) for n in BESIDE[path.name]},
        **content,
    }
    staged = path.with_suffix(".new")
    staged.write_text(readable(whole, 5) + "\n", encoding="utf-8")
    staged.replace(path)


def enter(root: Path, folder: Path) -> None:
    """Enter all files of a prediction in the manifest."""
    for name in (*LINKS, TRACES, RUNS):
        if (folder / name).is_file():
            enter_file(root, folder / name)
