"""Mutants of what becomes of a walk: comparison, explanation, judging, and the tour before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from replay import judge, parts, suite
from replay.compare import Model
from replay.explanation import explain
from replay.selfcheck.mutant import Patches, original, put

# -- comparison and explanation --------------------------------------------------------


def without_effects() -> Patches:
    """Compare without the effects."""
    real = Model.view

    def view(self: Model, observed: Mapping[str, Any]) -> list[tuple[int, int]]:
        return real(self, {name: v for name, v in observed.items() if name != "effects"})

    return [put(Model, "view", view)]


def from_any_state() -> Patches:
    """Take a step from any state of the model."""
    real = Model.steps

    def steps(self: Model, states: Any, path: Any, params: Any) -> Any:
        return real(self, range(len(self.graph)), path, params)

    return [put(Model, "steps", steps)]


def never_diverging() -> Patches:
    """Compare, and forget the divergence."""
    real = original(suite, "track")

    def track(*arguments: Any, **more: Any) -> Any:
        return replace(real(*arguments, **more), divergence=None)

    return [put(suite, "track", track)]


def always_refusable() -> Patches:
    """Explain as if every model admitted the refusal of a poisoned output."""
    real = original(explain, "track")

    def track(*arguments: Any, **more: Any) -> Any:
        return real(*arguments, **{**more, "refusable": True})

    return [put(explain, "track", track)]


def first_run_alone() -> Patches:
    """Explain the first run of each part."""
    real = original(suite, "explain")

    def first(spec: Any, runs: Any, models: Any, merges: Any) -> Any:
        return real(spec, [(model, records[:1]) for model, records in runs], models, merges)

    return [put(suite, "explain", first)]


# -- judging ---------------------------------------------------------------------------

Numbers = set[int]
ALL = set(range(1, 21))
"""Numbers of properties, more than any module has."""


def of_verdicts(
    change: Callable[[Numbers, Numbers], tuple[Numbers, Numbers]],
) -> Callable[[], Patches]:
    """Change what is read of each state: which properties fail in it, which were provoked."""

    def patches() -> Patches:
        real = judge._verdicts

        def verdicts(printed: Any) -> dict[int, tuple[Numbers, Numbers]]:
            return {state: change(*found) for state, found in real(printed).items()}

        return [put(judge, "_verdicts", verdicts)]

    return patches


def first_alone(failed: Numbers, stirred: Numbers) -> tuple[Numbers, Numbers]:
    """The first property that fails, and no other."""
    return {*sorted(failed)[:1]}, stirred


def no_error(failed: Numbers, stirred: Numbers) -> tuple[Numbers, Numbers]:
    """No property fails."""
    return set(), stirred


def always_provoked(failed: Numbers, stirred: Numbers) -> tuple[Numbers, Numbers]:
    """Every property was provoked."""
    return failed, ALL


def never_provoked(failed: Numbers, stirred: Numbers) -> tuple[Numbers, Numbers]:
    """No property was provoked."""
    return failed, set()


def judge_unobserved() -> Patches:
    """Take every property for observed."""
    return [put(judge, "_observable", lambda spec, micro, events: tuple(spec.properties))]


def first_state_lost() -> Patches:
    """Hand the checker all states but the first."""
    real = judge._module
    return [put(judge, "_module", lambda spec, n, logs, states: real(spec, n, logs, states[1:]))]


def last_states_lost() -> Patches:
    """Lose the last state of each run, before anyone counts."""
    real = judge._states_of_run

    def states_of_run(spec: Any, run: Any, logs: Any, states: list[Any]) -> None:
        own: list[Any] = []
        real(spec, run, logs, own)
        last = max(i for i, state in enumerate(own) if not state.branch)
        states += own[:last] + own[last + 1 :]

    return [put(judge, "_states_of_run", states_of_run)]


def old_result() -> Patches:
    """Have the checker answer once."""
    real: Any = original(judge, "check")
    kept: list[Any] = []

    def check(*arguments: Any, **more: Any) -> Any:
        if not kept:
            kept.append(real(*arguments, **more))
        return kept[0]

    return [put(judge, "check", check)]


def hole_in_the_tour() -> Patches:
    """Lose the last trace of each tour."""
    real = original(parts, "select_traces")

    def select_traces(spec: Any, model: str, cover: str, *more: Any) -> list[Any]:
        traces: list[Any] = real(spec, model, cover, *more)
        return traces[:-1] if cover == "transitions" else traces

    return [put(parts, "select_traces", select_traces)]
