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

from mbt.commands.common import CheckerOptions, checker_options, spec_argument
from mbt.console import console, print_json
from tracegen.errors import MachineryError, MbtError
from tracegen.spec import Expect, Model, Spec
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@checker_options
def check(
    spec_path: Path, names: tuple[str, ...], workers: int, as_json: bool, checker: CheckerOptions
) -> int:
    """Check every model of SPEC that is not slow.

    Ends with 0 where each gave the verdict and the figures that its TOML expects (without a TOML:
    where it holds), with 1 where one did not, 2 on bad input, 3 where the checker failed or came
    to a limit.
    """
    spec = checker.load(spec_path)
    chosen = [spec.model(name) for name in dict.fromkeys(names)]
    models = chosen or [model for model in spec.models.values() if not model.slow]
    started = time.monotonic()
    results = _check_all(spec, models, workers, checker, quiet=as_json)
    wrong = {m.name: differences(m, results[m.name], exact=workers == 1) for m in models}
    if as_json:
        print_json([_row(model, results[model.name], wrong[model.name]) for model in models])
    else:
        _print(models, results, wrong, time.monotonic() - started)
        left_out = [model.name for model in spec.models.values() if model not in models]
        if left_out and not chosen:
            click.echo(f"slow, checked when named: {', '.join(left_out)}")
    _raise_undecided(results)
    return NOT_AS_EXPECTED if any(wrong.values()) else AS_EXPECTED


def differences(model: Model, result: CheckResult, *, exact: bool) -> list[str]:
    """What came out otherwise than expected, a phrase each; figures of a violation if `exact`.

    A model without an expectation is expected to hold, if only within its constraint. A run
    without a verdict differs in nothing.
    """
    expect = model.expect
    if not result.outcome.decided:
        return []
    if expect is None:
        fine = result.outcome in (Outcome.HOLDS, Outcome.BOUNDED)
        return [] if fine else [f"{result.outcome.verdict}, expected to hold"]
    if result.outcome.verdict != expect.verdict:
        return [f"{result.outcome.verdict}, expected {_expected(expect)}"]
    found = []
    if expect.property is not None and expect.property not in result.violated:
        found.append(f"violates {', '.join(result.violated)}, expected {expect.property}")
    if exact or not result.outcome.violated:
        for figure in ("generated", "distinct", "states", "depth"):
            wanted, came = getattr(expect, figure), getattr(result, figure)
            if wanted is not None and wanted != came:
                found.append(f"{figure} {came}, expected {wanted}")
    return found


def _expected(expect: Expect) -> str:
    return f"{expect.verdict} {expect.property}" if expect.property else expect.verdict


def _check_all(
    spec: Spec, models: Sequence[Model], workers: int, checker: CheckerOptions, *, quiet: bool
) -> dict[str, CheckResult]:
    """The results by model, two at a time; leaving early kills what runs."""
    cores = os.cpu_count() or 1
    at_a_time = max(1, min(_AT_A_TIME, cores // workers, len(models)))
    # The processes end before the threads that wait for them are waited for.
    with _bars(quiet) as bars, ThreadPoolExecutor(at_a_time) as pool, checker.running() as run:
        total = bars.add_task("models", total=len(models))
        started: dict[Future[CheckResult], str] = {
            pool.submit(_check_one, spec, model, workers, run, bars): model.name for model in models
        }
        results = {}
        for future in as_completed(started):
            results[started[future]] = future.result()
            bars.advance(total)
    return results


def _check_one(spec: Spec, model: Model, workers: int, run: RunOptions, bars: Bars) -> CheckResult:
    task = bars.add_task(model.name, total=None)
    try:
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


def _row(model: Model, result: CheckResult, wrong: Sequence[str]) -> dict[str, Any]:
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
        "seconds": result.seconds,
        "cached": result.cached,
        "tlc": result.tlc_version,
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
    tools = f"TLC {ran.tlc_version}, jar {ran.jar_digest[:12]}, Java {ran.java_version}"
    out.print(f"{number} in {seconds:.1f} s; {tools}", style="dim")


def _cells(model: Model, result: CheckResult, wrong: Sequence[str]) -> Iterable[Text | str]:
    outcome = result.outcome
    verdict = outcome.verdict
    if result.violated:
        verdict = f"violated: {', '.join(result.violated)}"
    elif outcome is Outcome.HOLDS and not (model.config.invariants or model.config.properties):
        verdict = "holds: nothing is checked"
    elif outcome is Outcome.BOUNDED:
        verdict = outcome.value
    yield model.name
    yield model.title
    yield verdict
    if wrong or not outcome.decided:
        yield Text("no" if wrong else "", "bold red")
    else:
        yield Text("yes" if model.expect else "–", "green")
    yield _figure(result.generated)
    yield _figure(result.distinct)
    yield f"{result.states} states" if result.states else _figure(result.depth)
    yield "cached" if result.cached else f"{result.seconds:.1f}"


def _figure(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
