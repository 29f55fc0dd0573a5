"""mbt adapter: say what is wrong with an adapter, for its author."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from adapters.base import Adapter
from adapters.host import HostError, MissingFramework
from adapters.resume import ResumeAdapter
from adapters.services import ServiceError
from mbt.commands.common import (
    CheckerOptions,
    checker_options,
    chosen_options,
    named_adapter,
    spec_path,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.adapter_check import check_class, choose_traces
from replay.adapter_runs import check_runs
from replay.parts import Selection, plan_parts
from tracegen.errors import MachineryError, MbtError

FINE, FINDINGS = 0, 1
RESUME_PLANE = "ResumeContract"


@click.group()
def adapter() -> None:
    """Look at an adapter."""


@adapter.command()
@click.argument("name", metavar="NAME|FILE.py:CLASS")
@click.argument("spec_text", metavar="[SPEC]", required=False)
@click.option(
    "--option",
    "chosen",
    multiple=True,
    metavar="K=V",
    help="A concrete form of the adapter, as for `mbt replay`.",
)
@click.option("--model", metavar="M", help="Whose traces to walk; by default the suite's first.")
@click.option(
    "--limit",
    type=click.FloatRange(0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a process may take for one step.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@checker_options
def check(
    name: str,
    spec_text: str | None,
    chosen: tuple[str, ...],
    model: str | None,
    limit: float,
    as_json: bool,
    checker: CheckerOptions,
) -> int:
    """Say what is wrong with an adapter; SPEC may be left out for the resume plane.

    A few traces are walked, each twice. Ends with 0 where nothing is wrong, 1 where something is, 2
    on wrong use. It is no verdict on the system: `mbt replay` gives one.
    """
    kind, reference = named_adapter(name)
    options = chosen_options(kind, name, chosen)
    spec = checker.load(_spec(kind, name, spec_text))
    findings = check_class(spec, kind, options)
    walked = []
    if not any(finding.check in {"action", "observe"} for finding in findings):
        with checker.running() as run, Stages(quiet=as_json) as stages:
            part = plan_parts(spec, Selection(models=(model,) if model else ()), run)[0]
            traces = choose_traces(spec, part.traces)
            walked = [trace.name for trace in traces]
            try:
                findings += check_runs(
                    spec,
                    traces,
                    reference,
                    kind,
                    options,
                    limit=limit,
                    progress=lambda done, total: stages.traces("runs", done, total),
                )
            except MissingFramework as error:
                extra = f'; pip install "tla-mbt[{kind.extra}]"' if kind.extra else ""
                raise MbtError(f"adapter {name}: {error}{extra}") from error
            except ServiceError as error:
                raise MbtError(f"adapter {name}: {error}") from error
            except HostError as error:
                raise MachineryError(str(error)) from error
    if as_json:
        print_json(
            {
                "adapter": name,
                "options": options,
                "spec": spec.module,
                "walked": walked,
                "findings": [vars(finding) for finding in findings],
            }
        )
    else:
        screen = console()
        for finding in findings:
            screen.print(Text("✗ ", "red") + Text(finding.line), soft_wrap=True)
        found = f"{len(findings)} found" if findings else "nothing found"
        runs = f"{len(walked)} traces of {spec.module}, twice each" if walked else "no trace walked"
        screen.print(f"{name}: {found} ({runs})", soft_wrap=True)
    return FINDINGS if findings else FINE


def _spec(kind: type[Adapter], name: str, text: str | None) -> Path:
    if text is None and not issubclass(kind, ResumeAdapter):
        raise MbtError(
            f"adapter {name} is none of the resume plane: name the module that it is driven by "
            f"(mbt adapter check {name} SPEC.tla)"
        )
    return spec_path(text or RESUME_PLANE)
