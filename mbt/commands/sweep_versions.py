"""mbt sweep versions: one adapter on several releases of its framework."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from adapters.services import ServiceError
from mbt.commands.common import (
    CheckerOptions,
    checker_options,
    chosen_options,
    named_adapter,
    packaged_modules,
    receipts_option,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.models import Models
from replay.parts import Selection, plan_parts
from replay.provenance import provenance
from replay.receipts import check_writable
from replay.studies import STUDIES, read_study, write_study
from replay.sweeps.environments import (
    DISTRIBUTION,
    FOLDER,
    NotInstalled,
    check_release,
    find_uv,
    framework_of,
    open_environment,
    pins_of,
    requirements_of,
)
from replay.sweeps.release import Sweep, measure
from replay.sweeps.versions import (
    cells,
    content_of,
    differing,
    dropped,
    groups,
    same_modules,
    title,
)
from tracegen.cache import open_cache
from tracegen.errors import MachineryError, MbtError
from tracegen.jvm import Processes

MODULE = "ResumeContract"
SAME, DIFFERS, NOT_INSTALLED, BROKEN = 0, 1, 2, 3
Data = Mapping[str, Any]


@click.command()
@click.option("--adapter", "name", required=True, metavar="NAME", help="A name, or FILE.py:CLASS.")
@click.option(
    "--versions",
    "listed",
    required=True,
    metavar="V,V,...",
    help="Releases of the framework, which is the first distribution that the adapter names.",
)
@click.option(
    "--option",
    "chosen",
    multiple=True,
    metavar="K=V",
    help="A concrete form of the adapter, as for `mbt replay`.",
)
@click.option("--model", "models", multiple=True, metavar="M", help="Only this part of the suite.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=None,
    help="Traces at a time; by default one a core.",
)
@click.option(
    "--write", is_flag=True, help="Keep the rows: they replace those of the same releases."
)
@receipts_option("Where they are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt instead of tables.")
@checker_options
def versions(
    name: str,
    listed: str,
    chosen: tuple[str, ...],
    models: tuple[str, ...],
    jobs: int | None,
    write: bool,
    receipts: Path,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Replay ResumeContract on releases of a framework, each in an environment of its own.

    uv makes the environments, from the index that it is configured for, and they stay in the cache
    (MBT_CACHE names it; its folder `environments` can be removed at will).

    Ends with 0 where all releases show the same, 1 where one shows something else than the release
    that is pinned (else the newest one) or lacks what the adapter imports, 2 where one cannot be
    installed, 3 where one could not be measured; neither is a verdict.
    """
    adapter, reference = named_adapter(name)
    framework = framework_of(adapter, name)
    options = chosen_options(adapter, name, chosen)
    wanted = {v: requirements_of(adapter, framework, v) for v in _split(listed)}
    study = f"versions-{name}"
    if write and study not in STUDIES:
        known = ", ".join(s.removeprefix("versions-") for s in STUDIES if s.startswith("versions-"))
        raise MbtError(f"--write keeps the sweeps of {known}; print another one with --json")
    if write:
        check_writable(receipts)
    cache, uv = open_cache(), find_uv()
    spec = checker.load(packaged_modules()[MODULE])
    failed: dict[str, NotInstalled | MachineryError] = {}
    with checker.running() as run, Processes() as processes, Stages(quiet=as_json) as stages:
        sweep = Sweep(
            spec,
            tuple(plan_parts(spec, Selection(models), run)),
            models,
            name,
            reference,
            adapter,
            options,
            Models(spec, run, on_run=stages.graph),
            run,
            jobs or os.cpu_count() or 1,
        )
        about = _about(sweep, framework)
        content = content_of(about, [], {}, {}, None)
        for version, requirements in wanted.items():
            try:
                environment = open_environment(requirements, cache, uv, processes)
                check_release(environment, framework, version)
                row, evidence = measure(
                    sweep, version, environment, partial(_tell, stages, version)
                )
            except (NotInstalled, MachineryError) as error:
                failed[version] = error
                continue
            except ServiceError as error:
                raise MbtError(f"adapter {name}: {error}") from error
            content = content_of(about, [row], evidence, {version: environment.listed}, content)
            if write:
                _keep(receipts, study, about, content)
    unknown = {version: str(why) for version, why in failed.items()}
    for version, why in unknown.items():
        click.echo(f"mbt: {framework} {version} was not measured: {why}", err=True)
    if as_json:
        print_json({**content, "not_measured": unknown})
    else:
        _print(content)
        screen = console()
        screen.print(f"\nenvironments: {cache.root / FOLDER}", style="dim", soft_wrap=True)
    if failed:
        broken = any(isinstance(why, MachineryError) for why in failed.values())
        return BROKEN if broken else NOT_INSTALLED
    return DIFFERS if differing(content) else SAME


def _about(sweep: Sweep, framework: str) -> dict[str, Any]:
    """What all rows of a receipt share."""
    pins = {pin.name: pin.version for pin in pins_of(sweep.adapter)}
    whole = provenance(
        sweep.spec,
        sweep.adapter,
        sweep.reference,
        sweep.options,
        sweep.checker["tools"],
        fresh=False,
    )
    return {
        "framework": framework,
        "adapter": sweep.name,
        "module": sweep.spec.module,
        "pin": pins.get(framework),
        "tla-mbt": version_of(DISTRIBUTION),
        "defaults": {name: option.default for name, option in sweep.adapter.options.items()},
        "properties": {name: rule.title for name, rule in sweep.spec.properties.items()},
        "digests": whole["digests"],
    }


def _tell(stages: Stages, version: str, stage: str, done: int, total: int) -> None:
    stages.traces(f"{version}: {stage}", done, total)


def _split(listed: str) -> list[str]:
    found = [version.strip() for version in listed.split(",") if version.strip()]
    if not found:
        raise MbtError("--versions names no release; write them as 1.0.5,1.1.0")
    return [*dict.fromkeys(found)]


def _keep(receipts: Path, study: str, about: Data, content: Data) -> None:
    """Write the rows so far into the receipt, beside those of other releases and options."""
    try:
        kept = (
            read_study(receipts, study)
            if (receipts / "studies" / f"{study}.json").exists()
            else None
        )
    except MbtError as error:
        raise MbtError(f"{error}; remove it, and it is written anew") from None
    whole = content_of(about, content["rows"], content["evidence"], content["environments"], kept)
    if kept is not None and not same_modules(about, kept):
        click.echo(f"mbt: note: the rows of {study} were of other modules: left out", err=True)
    elif kept is not None:
        for row in dropped(kept, whole):
            click.echo(
                f"mbt: note: the row of {row['version']} ({title(row)}) in {study} was of another "
                "environment than the one that is there now: left out; sweep it again",
                err=True,
            )
    write_study(receipts, study, whole)


def _print(content: Data) -> None:
    screen = console()
    screen.print(f"{content['module']} on releases of {content['framework']}", style="bold")
    for base, rows in groups(content):
        screen.print(f"options: {title(base)}", style="dim")
        compared = cells(content, base)
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("release")
        for column in compared:
            table.add_column(column)
        table.add_column("")
        for row in rows:
            shown = cells(content, row)
            lacks = "lacks" in shown and "lacks" not in compared
            texts = [*shown.values()] if not lacks else [""] * len(compared)
            said = f"lacks it: {shown['lacks']}" if lacks else ""
            differs = shown != compared and not lacks
            said = f"not as on {base['version']}" if differs else said
            table.add_row(row["version"], *texts, said)
        screen.print(table)
