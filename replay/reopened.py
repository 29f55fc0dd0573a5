"""A receipt opened again: what it is of, its runs, and the traces that they walked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

import specs
from replay.receipts import FORMAT, SECOND_PASS
from replay.stored import StoredRun, read_runs
from tracegen.errors import MbtError
from tracegen.select import COVERS, Bounds, select_traces
from tracegen.spec import Spec, load_spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace, read_traces

SPECS = Path(specs.__file__).parent


class _Shape(BaseModel):
    """A part of receipt.json that questions are asked of; what else there is goes unread."""

    model_config = ConfigDict(strict=True)


class _Difference(_Shape):
    variable: str


class _Divergence(_Shape):
    trace: str
    micro: int
    sentence: str
    differences: list[_Difference]


class _Part(_Shape):
    name: str
    model: str
    cover: str
    divergences: list[_Divergence]


class _Violated(_Shape):
    violated_at: dict[str, int]


class _Property(_Shape):
    title: str
    parts: dict[str, _Violated]


class _Receipt(_Shape):
    adapter: str
    options: dict[str, str]
    versions: dict[str, str]
    parts: list[_Part]
    second_pass: list[_Part]
    properties: dict[str, _Property]


@dataclass(frozen=True)
class Reopened:
    """A receipt, ready for more questions.

    Attributes:
        content: receipt.json.
        runs: in its order, all parts and passes.
    """

    folder: Path
    content: Mapping[str, Any]
    spec: Spec
    runs: tuple[StoredRun, ...]

    @property
    def adapter(self) -> str:
        """The adapter, as `--adapter` names it."""
        return str(self.content["adapter"])

    @property
    def options(self) -> dict[str, str]:
        """Every option of the adapter."""
        return dict(self.content["options"])

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        """Its parts, those of the second pass last."""
        return [*self.content["parts"], *self.content["second_pass"]]

    def part(self, name: str) -> Mapping[str, Any]:
        """A part by name. Raises MbtError, which lists them."""
        for part in self.parts:
            if part["name"] == name:
                return part
        known = ", ".join(part["name"] for part in self.parts)
        raise MbtError(f"{self.folder}: no part {name!r}; it has {known}")

    def run(self, name: str) -> StoredRun:
        """A run by the name of its trace. Raises MbtError."""
        for run in self.runs:
            if run.record.trace == name:
                return run
        first, last = self.runs[0].record.trace, self.runs[-1].record.trace
        raise MbtError(f"{self.folder}: no run {name!r}; it has {first} to {last}")

    @property
    def failing(self) -> list[StoredRun]:
        """The runs that diverge or violate a property."""
        named = {d["trace"] for part in self.parts for d in part["divergences"]}
        for rule in self.content["properties"].values():
            for part in rule["parts"].values():
                named |= {where.partition("/")[0] for where in part["violated_at"]}
        return [run for run in self.runs if run.record.trace in named]

    def violated_in(self, run: StoredRun) -> list[str]:
        """The properties that fail in a run or in one of its branches."""
        return [
            name
            for name, rule in self.content["properties"].items()
            if any(
                where.partition("/")[0] == run.record.trace
                for where in rule["parts"].get(run.part, {"violated_at": ()})["violated_at"]
            )
        ]

    def failing_run(self, name: str | None) -> StoredRun:
        """The run of this name, else a shortest one that violates a property, or diverges.

        Raises:
            MbtError: there is no such run, or nothing fails in it, or in the receipt.
        """
        failing = self.failing
        if name is not None:
            run = self.run(name)
            if run.record.trace not in {other.record.trace for other in failing}:
                raise MbtError(
                    f"{self.folder}: nothing fails in run {name}"
                    + (f"; a run that fails is {failing[0].record.trace}" if failing else "")
                )
            return run
        if not failing:
            raise MbtError(f"{self.folder}: no run of this receipt diverges or violates a property")
        return min(failing, key=lambda run: (not self.violated_in(run), run.steps))

    def trace(self, run: StoredRun, checker: RunOptions) -> Trace:
        """The trace that a run walked, made again the way it was made.

        Raises:
            MbtError: it came from elsewhere, or what is made now is another one.
        """
        name = run.record.trace
        for trace in self._traces(self.part(run.part), checker):
            if trace.name == name and trace.digest == run.record.digest:
                return trace
        raise MbtError(
            f"{self.folder}: the trace {name} cannot be made again from {self.spec.path.name}: "
            "the module is another one than the receipt's (mbt audit says which file)"
        )

    def _traces(self, part: Mapping[str, Any], checker: RunOptions) -> list[Trace]:
        if any(part["name"] == again["name"] for again in self.content["second_pass"]):
            return read_traces(self.folder / SECOND_PASS)
        cover, *words = part["cover"].split()
        if cover not in COVERS or "apalache" in words:
            raise MbtError(
                f"{self.folder}: the traces of {part['name']!r} are not TLC's of a model, and a "
                "receipt does not hold them; replay from their file again"
            )
        given = {
            word.removeprefix("--"): int(n)
            for word, n in itertools.pairwise(words)
            if word.startswith("--")
        }
        return select_traces(self.spec, part["model"], cover, checker, Bounds(**given))


def reopen(folder: Path, spec: Path | None = None) -> Reopened:
    """Open a receipt.

    Args:
        folder: with receipt.json and runs.jsonl.
        spec: its module, where it is none of those that come with mbt.

    Raises:
        MbtError: there is no receipt of this format there, or its module cannot be found.
    """
    path = folder / "receipt.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        module, form = str(content["module"]), content["format"]
    except OSError as error:
        raise MbtError(
            f"cannot read {path}: {error.strerror}; name the folder of a receipt, as mbt replay "
            "prints it last"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MbtError(f"{path}: not a receipt") from None
    if form != FORMAT:
        raise MbtError(f"{path}: of format {form}, this mbt reads {FORMAT}; replay it again")
    try:
        _Receipt.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise MbtError(f"{path}: {where}: not of a receipt ({first['msg']})") from None
    file = spec or SPECS / f"{module}.tla"
    if not module.isidentifier() or file.stem != module or not file.is_file():
        raise MbtError(f"{path}: of the module {module}; name its file with --spec")
    opened = Reopened(folder, content, load_spec(file), tuple(read_runs(folder)))
    if not opened.runs:
        raise MbtError(f"{folder / 'runs.jsonl'}: no run is in it")
    for part in {run.part for run in opened.runs}:
        opened.spec.model(opened.part(part)["model"])
    return opened
