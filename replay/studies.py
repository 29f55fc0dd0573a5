"""Studies: what is measured beside the traces of a model, a receipt each and a page made of it.

A study is a module with `page(content)`, which writes its page from the receipt alone, and
`problems(content)`, which says where the receipt contradicts itself. Its receipt is
`studies/NAME.json` below the receipts, entered in the manifest; its page is `studies/NAME.md`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from replay.receipts import enter_file, readable
from replay.sweeps.swept import SWEPT
from tracegen.errors import MbtError

FORMAT = 1
FOLDER = "studies"
STUDIES: dict[str, str] = {
    "kill-points": "replay.sweeps.kill_points",
    "stores": "replay.sweeps.stores",
    **{f"versions-{adapter}": "replay.sweeps.versions" for adapter in SWEPT},
    "arrivals": "replay.races.arrivals",
    "race-timing": "replay.races.race_timing",
    "race-hosts": "replay.races.race_hosts",
    "selfcheck": "replay.selfcheck.study",
    "shrunk": "replay.shrinking.shrunk",
    "explanations": "replay.explanation.explanations",
    "planted": "replay.explanation.planted",
}
"""Name of a study -> the module that it is."""
Content = Mapping[str, Any]
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What reading a receipt ends with that is not of the form of its study."""


class Study(Protocol):
    """What a study's module offers."""

    def page(self, content: Content) -> str:
        """The text of the study's page, from its receipt alone."""

    def problems(self, content: Content) -> Iterator[str]:
        """Where the receipt says what does not follow from what it holds, a phrase each."""


def study(name: str) -> Study:
    """The module of a study, loaded when asked for."""
    return cast(Study, importlib.import_module(STUDIES[name]))


def write_study(root: Path, name: str, content: Content) -> Path:
    """Keep a study's receipt and its page; return the path of the receipt."""
    path = root / FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"format": FORMAT, "study": name, **content}
    staged = path.with_suffix(".new")
    staged.write_text(readable(whole) + "\n", encoding="utf-8")
    staged.replace(path)
    path.with_suffix(".md").write_text(study(name).page(whole), encoding="utf-8")
    enter_file(root, path)
    return path


def read_study(root: Path, name: str) -> Content:
    """A study's receipt.

    Raises:
        MbtError: there is none, or it is none of this study.
    """
    path = root / FOLDER / f"{name}.json"
    try:
        content: Content = json.loads(path.read_text(encoding="utf-8"))
        if (content["format"], content["study"]) != (FORMAT, name):
            raise ValueError
    except OSError as error:
        raise MbtError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise MbtError(f"{path}: not a receipt of the study {name}") from None
    return content


def audit_studies(root: Path) -> Iterator[str]:
    """What is wrong with the studies below the receipts, each with its file.

    A folder of receipts need not hold every study. One that it held is in the manifest.
    """
    for name in STUDIES:
        path = root / FOLDER / f"{name}.json"
        if not path.is_file():
            continue
        try:
            content = read_study(root, name)
        except MbtError as error:
            yield f"{error}"
            continue
        page = path.with_suffix(".md")
        try:
            yield from (f"{path}: {phrase}" for phrase in study(name).problems(content))
            text = study(name).page(content)
        except _MALFORMED as error:
            yield f"{path}: not of the form of this study ({type(error).__name__}: {error})"
            continue
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            yield f"{page}: not what {path.name} comes to"
