"""mbt check: check the models of a module and compare with what they have to come out as."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from mbt.commands import counterexample
from mbt.commands.common import (
    CheckerOptions,
    Choice,
    checker_choice,
    checker_options,
    spec_argument,
)
from mbt.console import console, print_json
from tracegen.errors import MachineryError, MbtError
from tracegen.spec import Expect, Model, Spec
from tracegen.symbolic import Symbolic, check_symbolically
from tracegen.tlc import CheckResult, Outcome, Progress, RunOptions
from tracegen.tlc import check as check_model

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1
_AT_A_TIME = 2


@click.command()
@spec_argument
@click.option(
    "--model", "names", multiple=True, metavar="M", help="Only these models, slow ones too."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Threads of a run; with more than one, a violated model's figures vary.",
)
@click.option(
    "--show", is_flag=True, help="Print the counterexample of each violated model, step by step."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, counterexamples included.")
@checker_choice
@checker_options
def check(
    spec_path: Path,
    names: tuple[str, ...],
    workers: int,
    show: bool,
    as_json: bool,
    choice: Choice,
    checker: CheckerOptions,
) -> int:
    """Check every model of SPEC that is not slow.

    Ends with 0 where each gave the verdict and the figures that its TOML expects (without a TOML:
    where it holds), with 1 where one did not, 2 on bad input, 3 where the checker failed or came
    to a limit. What is to hold and has no error up to Apalache's length is "bounded", which is
    never called "holds" and ends with 0; an expected violation that is not found ends with 1.
    """
    if choice.length is not None and workers > 1:
        raise MbtError("--workers is TLC's; Apalache has one")
    spec = checker.load(spec_path)
    chosen = [spec.model(name) for name in dict.fromkeys(names)]
    models = chosen or [model for model in spec.models.values() if not model.slow]
    started = time.monotonic()
    results = _check_all(spec, models, workers, checker, choice, quiet=as_json)
    wrong = {m.name: differences(m, results[m.name], exact=workers == 1) for m in models}
    if as_json:
        print_json([_row(spec, model, results[model.name], wrong[model.name]) for model in models])
    else:
        _print(models, results, wrong, time.monotonic() - started)
        left_out = [model.name for model in spec.models.values() if model not in models]
        if left_out and not chosen:
            click.echo(f"slow, checked when named: {', '.join(left_out)}")
        if show:
            for model in models:
                _show_counterexample(spec, model, results[model.name])
    _raise_undecided(results)
    return NOT_AS_EXPECTED if any(wrong.values()) else AS_EXPECTED


def differences(model: Model, result: CheckResult, *, exact: bool) -> list[str]:
    """What came out otherwise than expected, a phrase each; figures of a violation if `exact`.

    A model without an expectation is expected to hold, if only within its constraint. What is
    expected to hold may come out bounded by a checker that has a bound, which knows no figures
    but the states of a counterexample. A run without a verdict differs in nothing.
    """
    expect = model.expect
    if not result.outcome.decided or _so_far_as_expected(model, result):
        return []
    if expect is None:
        fine = result.outcome in (Outcome.HOLDS, Outcome.BOUNDED)
        return [] if fine else [f"{result.outcome.verdict}, expected to hold"]
    if result.outcome.verdict != expect.verdict:
        return [f"{_verdict(result)}, expected {_expected(expect)}"]
    found = []
    if expect.property is not None and expect.property not in result.violated:
        found.append(f"violates {', '.join(result.violated)}, expected {expect.property}")
    if exact or not result.outcome.violated:
        figures = ["states"] if result.bound else ["states", "generated", "distinct", "depth"]
        for figure in figures:
            wanted, came = getattr(expect, figure), getattr(result, figure)
            if wanted is not None and wanted != came:
                found.append(f"{figure} {came}, expected {wanted}")
    return found


def _so_far_as_expected(model: Model, result: CheckResult) -> bool:
    """Whether the result is one up to a length, of a model that is expected to hold."""
    expected = model.expect.verdict if model.expect else "holds"
    return (
        result.bound is not None
        and result.outcome is Outcome.BOUNDED
        and expected in ("holds", "bounded")
    )


def _verdict(result: CheckResult) -> str:
    """The verdict, with the bound where a checker has one."""
    bounded = result.bound is not None and result.outcome is Outcome.BOUNDED
    return f"bounded: {result.reason}" if bounded else result.outcome.verdict


def _expected(expect: Expect) -> str:
    return f"{expect.verdict} {expect.property}" if expect.property else expect.verdict


def _check_all(
    spec: Spec,
    models: Sequence[Model],
    workers: int,
    checker: CheckerOptions,
    choice: Choice,
    *,
    quiet: bool,
) -> dict[str, CheckResult]:
    """The results by model, two at a time; leaving early kills what runs."""
    cores = os.cpu_count() or 1
    at_a_time = max(1, min(_AT_A_TIME, cores // workers, len(models)))
    # The processes end before the threads that wait for them are waited for.
    with _bars(quiet) as bars, ThreadPoolExecutor(at_a_time) as pool, checker.running() as run:
        symbolic = choice.open(run)
        total = bars.add_task("models", total=len(models))
        started: dict[Future[CheckResult], str] = {
            pool.submit(_check_one, spec, model, workers, symbolic, run, bars): model.name
            for model in models
        }
        results = {}
        for future in as_completed(started):
            results[started[future]] = future.result()
            bars.advance(total)
    return results


def _check_one(
    spec: Spec,
    model: Model,
    workers: int,
    symbolic: Symbolic | None,
    run: RunOptions,
    bars: Bars,
) -> CheckResult:
    task = bars.add_task(model.name, total=None)
    try:
        if symbolic:
            return check_symbolically(spec, model.name, symbolic, run)
        shown = RunOptions(**{**run, "progress": partial(_show, bars, task, model.name)})
        return check_model(spec.source, model.config, workers=workers, **shown)
    finally:
        bars.remove_task(task)


def _show(bars: Bars, task: Any, name: str, progress: Progress) -> None:
    text = f"{name}: {progress.distinct:,} states, {progress.queued:,} to go"
    bars.update(task, description=text)


def _bars(quiet: bool) -> Bars:
    screen = Console(stderr=True)
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=quiet or not screen.is_terminal,
    )


def _raise_undecided(results: Mapping[str, CheckResult]) -> None:
    """Raise for the models without a verdict: bad input first, it needs no second try."""
    for kind in (MbtError, MachineryError):
        said = []
        for name, result in results.items():
            try:
                result.decided()
            except kind as error:
                said.append(f"{name}: {error}")
            except (MbtError, MachineryError):
                continue
        if said:
            raise kind("\n     ".join(said))


def _show_counterexample(spec: Spec, model: Model, result: CheckResult) -> None:
    for found in result.counterexamples[:1]:
        violated = f": {', '.join(result.violated)}" if result.violated else ""
        click.echo(f"\n{model.name}: {result.outcome.verdict}{violated}")
        for line in counterexample.lines(spec, found):
            click.echo(line)


def _row(spec: Spec, model: Model, result: CheckResult, wrong: Sequence[str]) -> dict[str, Any]:
    found = result.counterexamples
    return {
        "model": model.name,
        "title": model.title,
        "checks": [*model.config.invariants, *model.config.properties],
        "verdict": result.outcome.verdict,
        "outcome": result.outcome.name,
        "violated": [*result.violated],
        "reason": result.reason,
        "expected": model.expect.model_dump(exclude_none=True) if model.expect else None,
        "differences": [*wrong],
        "generated": result.generated,
        "distinct": result.distinct,
        "depth": result.depth,
        "states": result.states,
        "counterexample": counterexample.as_json(spec, found[0]) if found else None,
        "bound": result.bound,
        "seconds": result.seconds,
        "cached": result.cached,
        "checker": result.checker,
        "version": result.version,
        "jar": result.jar_digest,
        "java": result.java_version,
    }


def _print(
    models: Sequence[Model],
    results: Mapping[str, CheckResult],
    wrong: Mapping[str, Sequence[str]],
    seconds: float,
) -> None:
    table = Table(box=None, header_style="dim")
    for heading in ("model", "what", "verdict", "as expected"):
        table.add_column(heading, no_wrap=heading == "model")
    for heading in ("generated", "distinct", "depth / states", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for model in models:
        table.add_row(*_cells(model, results[model.name], wrong[model.name]))
    out = console()
    out.print(table)
    for name, phrases in wrong.items():
        for phrase in phrases:
            out.print(f"{name}: {phrase}", style="red")
    ran = results[models[0].name]
    number = f"{len(models)} model{'s' if len(models) > 1 else ''}"
    tools = f"{ran.checker} {ran.version}, jar {ran.jar_digest[:12]}, Java {ran.java_version}"
    out.print(f"{number} in {seconds:.1f} s; {tools}", style="dim")


def _cells(model: Model, result: CheckResult, wrong: Sequence[str]) -> Iterable[Text | str]:
    outcome = result.outcome
    verdict = _verdict(result)
    checks = model.config.invariants or model.config.properties
    if result.violated:
        verdict = f"violated: {', '.join(result.violated)}"
    elif outcome in (Outcome.HOLDS, Outcome.BOUNDED) and not checks:
        verdict = f"{outcome.verdict}: nothing is checked"
    elif outcome is Outcome.BOUNDED and result.bound is None:
        verdict = outcome.value
    yield model.name
    yield model.title
    yield verdict
    if _so_far_as_expected(model, result):
        yield Text("so far", "yellow")
    elif wrong or not outcome.decided:
        yield Text("no" if wrong else "", "bold red")
    else:
        yield Text("yes" if model.expect else "–", "green")
    yield _figure(result.generated)
    yield _figure(result.distinct)
    yield f"{result.states} states" if result.states else _figure(result.depth)
    yield "cached" if result.cached else f"{result.seconds:.1f}"


def _figure(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
