"""Registering a prediction: what is written down, and committed, before anyone looks."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.base import Adapter
from adapters.registry import versions_of
from replay.models import Models
from replay.prediction.candidates import Candidate
from replay.prediction.chain import FOLDER, REGISTRATION, TRACES, chain, enter, folders, write_link
from replay.prediction.foresight import foresee
from replay.prediction.known import held_already
from replay.prediction.repository import head_of, top_of
from replay.provenance import file_digest, provenance
from replay.receipts import check_writable
from replay.sweeps.environments import Environment
from tracegen.errors import MbtError
from tracegen.spec import Spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace, write_traces

_SLUG = re.compile(r"[a-z0-9]+")
LONGEST_SLUG = 60


@dataclass(frozen=True)
class Subject:
    """What a prediction is of: a system, in one form and one environment.

    Attributes:
        name, reference: of the adapter, as `adapters.registry.locate` takes and gives it.
        options: every option of the adapter, with the choice made.
        release: NAME==VERSION of the framework, where it is another one than is installed here.
        environment: which holds that release.
    """

    name: str
    reference: str
    adapter: type[Adapter]
    options: Mapping[str, str]
    release: str | None = None
    environment: Environment | None = None

    @property
    def chosen(self) -> dict[str, str]:
        """The options that are not the adapter's default."""
        rules = self.adapter.options
        return {name: v for name, v in self.options.items() if v != rules[name].default}

    @property
    def versions(self) -> dict[str, str]:
        """Distribution -> version, of what the adapter names."""
        if self.environment is None:
            return versions_of(self.adapter)
        installed = dict(line.partition("==")[::2] for line in self.environment.packages)
        return {name: installed.get(name, "not installed") for name in self.adapter.distributions}


@dataclass(frozen=True)
class Prediction:
    """What is said of a subject, and by what.

    Attributes:
        spec: at the bounds of the prediction.
        typed: how the module is named on a command line: a file of the repository, or a module
            that comes with mbt.
        constants: the bounds that are not the named models' own, as TLA+ text.
        rival: the candidate that is expected not to admit the runs.
        replication: whether the outcome is known already.
    """

    spec: Spec
    typed: str
    constants: Mapping[str, str]
    candidate: Candidate
    rival: Candidate | None
    traces: tuple[Trace, ...]
    title: str
    why: str
    replication: bool


def register(
    root: Path, prediction: Prediction, subject: Subject, models: Models, checker: RunOptions
) -> Path:
    """Write a prediction down below the receipts; return its folder.

    Raises:
        MbtError: it is no prediction: the receipts or an earlier registration hold these traces
            already, the models say the same, or there is no repository to commit it to.
    """
    if missing := [name for name, v in subject.versions.items() if v == "not installed"]:
        raise MbtError(f"adapter {subject.name}: {missing[0]} is not installed")
    head = head_of(root.resolve().parent)
    check_writable(root)
    chain(root)
    if not prediction.replication:
        where = held_already(
            root,
            prediction.spec.module,
            subject.name,
            subject.options,
            subject.versions,
            prediction.traces,
        )
        if where is not None:
            raise MbtError(
                f"{where}: what it comes to is known, so this is no prediction; "
                "--replication registers it as what it is"
            )
    content = {
        "title": prediction.title,
        "why": prediction.why,
        "replication": prediction.replication,
        "module": prediction.spec.module,
        "spec": prediction.typed,
        "constants": dict(prediction.constants),
        "model": prediction.candidate.text,
        "against": prediction.rival.text if prediction.rival else None,
        **described(prediction.spec, subject, checker),
        "chosen": subject.chosen,
        "commit": head,
        "predicts": foresee(
            prediction.spec,
            models,
            prediction.candidate,
            prediction.rival,
            prediction.traces,
            checker,
        ),
    }
    place = root / FOLDER
    place.mkdir(exist_ok=True)
    number = max((int(f.name.partition("-")[0]) for f in folders(root)), default=0) + 1
    slug = "-".join(_SLUG.findall(prediction.title.lower()))[:LONGEST_SLUG].strip("-")
    folder = place / f"{number:04}-{slug or 'prediction'}"
    staging = Path(tempfile.mkdtemp(prefix=".new-", dir=place))
    try:
        write_traces(staging / TRACES, prediction.traces)
        write_link(root, staging / REGISTRATION, content)
        staging.chmod(0o755)
        staging.rename(folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    enter(root, folder)
    return folder


def described(spec: Spec, subject: Subject, checker: RunOptions) -> dict[str, Any]:
    """What a subject is, and the digests of all that a measurement of it would be made with."""
    tools = checker["tools"]
    whole = provenance(
        spec, subject.adapter, subject.reference, subject.options, tools, fresh=False
    )
    environment = subject.environment
    return {
        "adapter": subject.name,
        "options": dict(subject.options),
        "merges": {
            action: list(path)
            for action, path in subject.adapter.merged_actions(subject.options).items()
        },
        "with": subject.release,
        "versions": subject.versions,
        "packages": list(environment.packages) if environment else None,
        "digests": {**whole["digests"], **sources_of(subject.reference)},
    }


def sources_of(reference: str) -> dict[str, str]:
    """Name -> SHA-256 of the files of an adapter: its own, and those of ours that it imports."""
    where = reference.rpartition(":")[0]
    first = Path(where) if where.endswith(".py") else _file_of(where)
    found: dict[Path, str] = {}
    todo = [first] if first else []
    while todo:
        path = todo.pop()
        if path in found:
            continue
        own = path.parent.name == "adapters"
        found[path] = f"adapters/{path.name}" if own else path.name
        todo += [file for name in _imported(path) if (file := _file_of(name))]
    return {name: file_digest(path) for path, name in sorted(found.items(), key=lambda f: f[1])}


def _imported(path: Path) -> Sequence[str]:
    """The modules of `adapters` that a file imports, at any place in it."""
    tree = ast.parse(path.read_bytes())
    names = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module]
    names += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    return [name for name in names if name.startswith("adapters.")]


def _file_of(module: str) -> Path | None:
    found = importlib.util.find_spec(module)
    return Path(found.origin) if found and found.origin else None


def portable(path: Path, folder: Path) -> str:
    """A file as a registration names it: relative to the repository that the receipts are in.

    Raises:
        MbtError: it is outside of the repository, so nobody else would find it.
    """
    top = top_of(folder)
    try:
        return path.resolve().relative_to(top).as_posix()
    except ValueError:
        raise MbtError(
            f"{path} is outside of the repository {top}, so a registration cannot name it"
        ) from None
