"""The parts of a replay: the specification's own suite, or what was asked for instead."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from replay.suite import Part
from tracegen.errors import MbtError
from tracegen.from_itf import read_itf_file
from tracegen.itf import is_itf
from tracegen.select import COVERS, Bounds, bounds_used, bounds_words, select_traces
from tracegen.sources import traces_of
from tracegen.spec import Spec, SuitePart
from tracegen.symbolic import Symbolic
from tracegen.tlc import RunOptions
from tracegen.trace import Trace, read_traces


@dataclass(frozen=True)
class Selection:
    """What a user asked for; all of the suite where nothing.

    Attributes:
        models: parts of the suite by their models, or models that are in no part.
        cover: instead of the part's own.
        file: traces from a file instead.
        only: names of traces.
        bounds: of a cover that has no end of its own.
        symbolic: Apalache as the source of the traces, instead of TLC.
    """

    models: tuple[str, ...] = ()
    cover: str | None = None
    file: Path | None = None
    only: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    symbolic: Symbolic | None = None

    @property
    def words(self) -> list[str]:
        """The options that ask for the same again, without `only`."""
        words = [word for name in self.models for word in ("--model", name)]
        words += ["--cover", self.cover] if self.cover else []
        words += self.cover_words(self.cover)
        return words + (["--traces", str(self.file)] if self.file else [])

    @property
    def text(self) -> str:
        """What was asked for, short, for the name of a receipt; empty where all of the suite."""
        used = (self.symbolic.bounds if self.symbolic else bounds_used)(self.cover, self.bounds)
        bounds = ",".join(f"{k}={v}" for k, v in used.items())
        source = "apalache" if self.symbolic else self.file and self.file.stem
        chosen = [*self.models, self.cover, bounds, source, *self.only]
        return "".join(f"+{word}" for word in chosen if word)

    def cover_words(self, cover: str | None) -> list[str]:
        """The options that ask for a cover from the same source within the same bounds again."""
        return (self.symbolic.words if self.symbolic else bounds_words)(cover, self.bounds)


def plan_parts(spec: Spec, selection: Selection, checker: RunOptions) -> list[Part]:
    """Return the parts to replay.

    Raises:
        MbtError: nothing is left to replay, something is asked for that is not there, or the
            specification does not say how to drive it.
    """
    plan = _from_file if selection.file else _from_suite
    parts = plan(spec, selection, checker)
    if selection.only:
        known = [trace.name for part in parts for trace in part.traces]
        if unknown := [name for name in selection.only if name not in known]:
            raise MbtError(
                f"no trace is named {unknown[0]!r}; "
                f"there are {known[0]} to {known[-1]} (`mbt traces` writes them to a file)"
            )
        parts = [
            replace(part, traces=tuple(t for t in part.traces if t.name in selection.only))
            for part in parts
        ]
    parts = [part for part in parts if part.traces]
    if not parts and selection.file:
        raise MbtError(f"{selection.file}: there is no trace in it")
    if not parts:
        raise MbtError(
            f"{spec.path.name} names no suite; say which model to walk with --model "
            f"({', '.join(spec.models) or 'it has none: write a .cfg beside it'})"
        )
    _require_drivable(spec, parts)
    return parts


def _require_drivable(spec: Spec, parts: Sequence[Part]) -> None:
    """Refuse what would fail halfway, or find no divergence because nothing was compared."""
    toml = spec.path.with_suffix(".toml")
    taken = {step.action for part in parts for trace in part.traces for step in trace.steps}
    if unknown := sorted(taken - spec.actions.keys()):
        raise MbtError(
            f"{toml}: nothing says how to drive the action {unknown[0]}; "
            f"add a table [actions.{unknown[0]}], or, where it is a helper of an action, give that "
            "action a second conjunct (TLC takes the innermost name)"
        )
    responses = sorted(name for name in taken if spec.actions[name].kind == "response")
    if responses and not spec.point:
        raise MbtError(
            f"{toml}: {responses[0]} is a response, but no `point` says where in its program a run "
            "stands, so nothing could be let go on; make it a stimulus, or name the variables"
        )
    for name, action in spec.actions.items():
        if action.delivery in {"bring", "let-go"} and len(action.tester) != 1:
            raise MbtError(
                f"{toml}: actions.{name}: a step of one of several deliveries has one tester "
                f"parameter, the number of the delivery; it has {len(action.tester)}"
            )
        for variable, source in action.appends.items():
            if source != "outcome" and source not in action.tester:
                raise MbtError(
                    f"{toml}: actions.{name}.appends.{variable}: {source!r} is neither a tester "
                    'parameter of the action nor "outcome"'
                )
    if not spec.variables.observed:
        raise MbtError(
            f"{toml}: no variable is observed, so nothing would be compared; "
            "name those that are in [variables], as observed"
        )


def _from_suite(spec: Spec, selection: Selection, checker: RunOptions) -> list[Part]:
    if selection.cover is not None and selection.cover not in COVERS:
        raise MbtError(f"unknown cover {selection.cover!r}; known: {', '.join(COVERS)}")
    wanted: Sequence[SuitePart] = spec.suite
    if selection.models:
        wanted = [part for name in selection.models for part in _parts_of(spec, name)]
    parts = []
    for part in wanted:
        cover = selection.cover or part.cover
        traces = select_traces(
            spec, part.model, cover, checker, selection.bounds, selection.symbolic
        )
        words = [cover, *selection.cover_words(cover)]
        # What a part of the suite is called says what its own cover is.
        name = part.name if cover == part.cover else f"{part.model} by {cover}"
        parts.append(Part(name, part.model, " ".join(words), tuple(traces)))
    return parts


def _parts_of(spec: Spec, name: str) -> list[SuitePart]:
    model = spec.model(name)
    parts = [part for part in spec.suite if part.model == name]
    violated = model.expect is not None and model.expect.verdict == "violated"
    return parts or [
        SuitePart(
            name=model.title or name,
            model=name,
            cover="counterexample" if violated else "transitions",
        )
    ]


def _from_file(spec: Spec, selection: Selection, checker: RunOptions) -> list[Part]:
    assert selection.file is not None
    by_model: dict[str, list[Trace]] = {}
    itf = is_itf(selection.file)
    for trace in _itf(spec, selection, checker) if itf else read_traces(selection.file):
        if trace.module != spec.module:
            raise MbtError(
                f"{selection.file}: trace {trace.name} is of module {trace.module}, "
                f"not of {spec.module}"
            )
        for number, step in enumerate(trace.steps, 1):
            if spec.actions and step.action not in spec.actions:
                raise MbtError(
                    f"{selection.file}: trace {trace.name}, step {number}: {spec.module} has no "
                    f"action {step.action!r}; known: {', '.join(spec.actions)}"
                )
        by_model.setdefault(spec.model(trace.model).name, []).append(trace)
    return [
        Part(f"{selection.file.name}, {model}", model, "file", tuple(traces))
        for model, traces in by_model.items()
        if not selection.models or model in selection.models
    ]


def _itf(spec: Spec, selection: Selection, checker: RunOptions) -> list[Trace]:
    """The trace of an ITF file, which does not say of which model; what is noted goes to stderr."""
    assert selection.file is not None
    if len(selection.models) > 1:
        raise MbtError(f"{selection.file}: name one --model, the one that the trace is of")
    model = spec.model(selection.models[0] if selection.models else None)
    behaviour = read_itf_file(spec, model, selection.file)
    traces, notes = traces_of(spec, model, [behaviour], checker)
    for note in notes:
        print(f"mbt: note: {note}", file=sys.stderr)
    return traces
