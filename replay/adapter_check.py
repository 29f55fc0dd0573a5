"""What is wrong with an adapter, for its author: found by looking at it and by a few runs.

Nothing here judges the system. A finding is something that would stop a replay, or that would let
it believe what nobody saw.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version

from adapters.authoring import mismatch, place
from adapters.base import Adapter
from adapters.resume import ResumeAdapter
from replay.racers import method_of
from tracegen.spec import Action, Spec
from tracegen.trace import Trace

NONSENSE = "mbt-no-such-choice"
"""What an option of free text should be refused with."""
_NEEDS = {"Consume": "resume", "ForkResume": "fork", "CrashRecover": "recover"}
"""What an adapter of the resume plane overrides, by the action that would need it."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        check: what it was found by.
        where: a method, or a place in a run.
        what: what is wrong.
        do: what to do about it.
    """

    check: str
    where: str
    what: str
    do: str

    @property
    def line(self) -> str:
        """All of it, in one line."""
        return f"{self.check}: {self.where}: {self.what}; {self.do}"


def check_class(spec: Spec, adapter: type[Adapter], options: Mapping[str, str]) -> list[Finding]:
    """What can be seen without running anything."""
    checks = (_observation, _methods, _merges, _options, _declarations)
    return [finding for check in checks for finding in check(spec, adapter, options)]


def _observation(
    spec: Spec, adapter: type[Adapter], options: Mapping[str, str]
) -> Iterator[Finding]:
    name, base = (
        ("public_state", ResumeAdapter)
        if issubclass(adapter, ResumeAdapter) and adapter.observe is ResumeAdapter.observe
        else ("observe", Adapter)
    )
    if getattr(adapter, name) is getattr(base, name):
        yield Finding(
            "observe",
            adapter.__name__,
            f"it has no {name}(), so nothing of the system would be compared",
            f"return from it what can be seen of {', '.join(spec.variables.observed)}",
        )


def taken_by(action: Action) -> tuple[str, ...]:
    """The parameters that the method of an action is called with, by name.

    A delivery that is brought to its gate is called with its value (`replay.racers`).
    """
    return ("v",) if action.delivery == "bring" else tuple(action.tester)


def _methods(spec: Spec, adapter: type[Adapter], options: Mapping[str, str]) -> Iterator[Finding]:
    unsupported = adapter.unsupported(options)
    for name, action in spec.actions.items():
        method = method_of(name, action)
        if action.kind != "stimulus" or method is None or method in unsupported:
            continue
        if wrong := mismatch(adapter, method, taken_by(action)):
            mine = [entry for entry in dir(adapter) if not hasattr(Adapter, entry)]
            close = difflib.get_close_matches(method, mine, 1) if method not in mine else []
            do = f"is {close[0]} meant to be it?" if close else "or name it in unsupported()"
            yield Finding("action", name, wrong, do)
        needed = _NEEDS.get(method)
        if (
            issubclass(adapter, ResumeAdapter)
            and needed is not None
            and getattr(adapter, method) is getattr(ResumeAdapter, method)
            and getattr(adapter, needed) is getattr(ResumeAdapter, needed)
        ):
            yield Finding(
                "action",
                name,
                f"{adapter.__name__} has no {needed}(), which makes the call for it",
                "write it, or name the action in unsupported() with the reason",
            )
    if spec.point and adapter.start is Adapter.start:
        yield Finding(
            "action",
            "start",
            f"{adapter.__name__} has no start(), and the model's runs begin by themselves",
            'write it; it returns where the run stands: "parked" or "complete"',
        )


def _merges(spec: Spec, adapter: type[Adapter], options: Mapping[str, str]) -> Iterator[Finding]:
    for observed, path in adapter.merged_actions(options).items():
        for unknown in {observed, *path} - {*spec.actions}:
            yield Finding(
                "action",
                place(adapter.merged_actions),
                f"{unknown!r} is no action of {spec.module}",
                f"it has {', '.join(spec.actions)}",
            )


def _options(spec: Spec, adapter: type[Adapter], options: Mapping[str, str]) -> Iterator[Finding]:
    for name, option in adapter.options.items():
        where = f"option {name}"
        if option.choices and option.default not in option.choices:
            yield Finding(
                "options",
                where,
                f"its default {option.default!r} is none of its choices",
                f"make it one of {', '.join(option.choices)}",
            )
        if not option.choices and adapter.check_options({**options, name: NONSENSE}) is None:
            yield Finding(
                "options",
                where,
                f"it has no choices, and check_options() takes {NONSENSE!r} for it",
                "list its choices, or refuse there what it cannot be: a typing error would pass",
            )
        if not option.about:
            yield Finding(
                "options", where, "nothing says what it decides", "say it in `about`, in one line"
            )


def _declarations(
    spec: Spec, adapter: type[Adapter], options: Mapping[str, str]
) -> Iterator[Finding]:
    for name in adapter.distributions:
        try:
            version(name)
        except PackageNotFoundError:
            yield Finding(
                "options",
                f"distributions of {adapter.__name__}",
                f"no distribution {name!r} is installed, so a receipt would not say its version",
                "write it as pip does",
            )
    if (form := adapter.crash_form(options)) not in {"kill", "exception"}:
        yield Finding(
            "options",
            place(adapter.crash_form),
            f"it returned {form!r}",
            'return "kill", or "exception" for a store that lives in the process',
        )


def choose_traces(spec: Spec, traces: Sequence[Trace], most: int = 4) -> list[Trace]:
    """A few traces that together deliver each stimulus where they can, and one cut short.

    Args:
        traces: what to choose from, of one model.
    """
    chosen: list[Trace] = []
    seen: set[object] = set()
    while len(chosen) < most:
        best = max(traces, key=lambda trace: len(_deliveries(spec, trace) - seen))
        if not _deliveries(spec, best) - seen:
            break
        chosen.append(best)
        seen |= _deliveries(spec, best)
    # Nothing delivered: such a run ends where it asks.
    begun = replace(traces[0], name=f"{traces[0].name}-begun", steps=())
    return [begun, *chosen] if spec.point else chosen


def _deliveries(spec: Spec, trace: Trace) -> set[object]:
    """The stimuli of a trace, each with the program point that it is delivered at."""
    before = [trace.initial, *(step.state for step in trace.steps)]
    return {
        (step.action, *(str(state[name]) for name in spec.point))
        for step, state in zip(trace.steps, before, strict=False)
        if spec.actions[step.action].kind == "stimulus"
    }
