"""mbt replay: walk a model's traces on a real system and say what came of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.text import Text

from adapters.base import Adapter
from adapters.host import HostError, MissingFramework
from adapters.registry import versions_of
from adapters.services import ServiceError
from mbt.commands.common import (
    RECEIPTS,
    CheckerOptions,
    Choice,
    bounds_options,
    checker_choice,
    checker_options,
    chosen_options,
    named_adapter,
    receipts_option,
    refuse_seed,
    spec_argument,
    spec_as_typed,
)
from mbt.commands.progress import Stages
from mbt.console import console, print_json
from replay.models import Models
from replay.parts import Selection, plan_parts
from replay.provenance import provenance, volatile
from replay.racers import method_of
from replay.receipts import check_writable, receipt_name, summary, write_receipt
from replay.suite import Part, Replay, replay_suite, require_paths
from replay.tables import Invocation, report, walk_picture
from tracegen.errors import MachineryError, MbtError
from tracegen.select import COVERS, SAMPLED, Bounds
from tracegen.spec import Spec

CONFORMS, DIVERGES = 0, 1


@click.command()
@spec_argument
@click.option(
    "--adapter",
    "adapter_name",
    required=True,
    metavar="NAME",
    help="The system to drive: a name, or FILE.py:CLASS.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="M",
    help="Only this part of the suite, or a model that is in no part.",
)
@click.option(
    "--cover",
    metavar="C",
    help=f"What the traces are to cover: {', '.join(COVERS)}.",
)
@bounds_options
@click.option(
    "--traces",
    "trace_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Replay the traces of a file instead (see `mbt traces`).",
)
@click.option("--only", multiple=True, metavar="TRACE", help="Only the trace of this name.")
@click.option(
    "--option",
    "chosen",
    multiple=True,
    metavar="K=V",
    help="A concrete form of the adapter; see the line under the table.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=None,
    help="Traces at a time; by default one a core.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Replay each trace N times and require that it goes the same way.",
)
@click.option(
    "--fresh", is_flag=True, help="A fresh interpreter for every process, instead of a fork."
)
@click.option(
    "--limit",
    type=click.FloatRange(0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a process may take for one step.",
)
@receipts_option("Where the receipt goes.")
@click.option("--json", "as_json", is_flag=True, help="Print receipt.json instead of tables.")
@checker_choice
@checker_options
def replay(
    spec_path: Path,
    adapter_name: str,
    models: tuple[str, ...],
    cover: str | None,
    bounds: Bounds,
    trace_file: Path | None,
    only: tuple[str, ...],
    chosen: tuple[str, ...],
    jobs: int | None,
    repeat: int,
    fresh: bool,
    limit: float,
    receipts: Path,
    as_json: bool,
    choice: Choice,
    checker: CheckerOptions,
) -> int:
    """Replay the traces of SPEC on a system.

    With --checker apalache the traces (of the covers counterexample and simulation) are Apalache's;
    comparison and judging stay TLC's.

    Ends with 0 where it conforms, 1 where it diverges or violates a property, 2 on wrong use, 3
    where the machinery failed (which is never a verdict on the system).
    """
    if choice.length is not None:
        refuse_seed()
        if trace_file:
            raise MbtError("--traces names where the traces come from; leave out --checker")
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    spec = checker.load(spec_path)
    adapter, reference = named_adapter(adapter_name)
    options = chosen_options(adapter, adapter_name, chosen)
    with checker.running() as run, Stages(quiet=as_json) as stages:
        symbolic = choice.open(run)
        selection = Selection(models, cover, trace_file, only, bounds, symbolic)
        graphs = Models(spec, run, on_run=stages.graph)
        parts = plan_parts(spec, selection, run)
        _check_methods(spec, adapter, adapter_name, parts)
        _check_merges(spec, adapter, adapter_name, options)
        for part in parts if trace_file else ():
            require_paths(spec, part, graphs)
        check_writable(receipts)
        jobs = jobs or os.cpu_count() or 1
        try:
            found = replay_suite(
                spec,
                parts,
                adapter_name,
                reference,
                adapter,
                options,
                graphs,
                run,
                jobs=jobs,
                fresh=fresh,
                limit=limit,
                again=not only,
                repeat=repeat,
                progress=stages.traces,
            )
        except MissingFramework as error:
            extra = (
                f'; install it with: pip install "tla-mbt[{adapter.extra}]"'
                if adapter.extra
                else ""
            )
            raise MbtError(f"adapter {adapter_name}: {error}{extra}") from error
        except ServiceError as error:
            raise MbtError(f"adapter {adapter_name}: {error}") from error
        except HostError as error:
            raise MachineryError(str(error)) from error
        if blind := next((r.part.name for r in found.parts if not r.compared), None):
            raise MbtError(
                f"adapter {adapter_name}: observe() returned none of the model's variables over "
                f"the whole of {blind!r} (observed: {', '.join(spec.variables.observed)}), so "
                "nothing was compared"
            )
        apalache = symbolic.tool if symbolic else None
        content = summary(
            found,
            provenance(spec, adapter, reference, options, run["tools"], apalache, fresh=fresh),
        )
        defaults = {name: option.default for name, option in adapter.options.items()}
        folder = write_receipt(
            receipts,
            receipt_name(
                spec.module,
                adapter_name,
                options,
                defaults,
                selection.text + (f"+repeat={repeat}" if repeat > 1 else ""),
            ),
            found,
            content,
            volatile(
                found,
                run["tools"],
                arguments=sys.argv,
                started=started,
                seconds=time.monotonic() - began,
                jobs=jobs,
            ),
        )
    if as_json:
        print_json(content)
    else:
        place = () if receipts == RECEIPTS else ("--receipts", str(receipts))
        typed = Invocation(spec_as_typed(), selection.words, adapter.options, folder, place)
        _print(found, typed, versions_of(adapter))
    return CONFORMS if found.conforms else DIVERGES


def _print(found: Replay, typed: Invocation, versions: Mapping[str, str]) -> None:
    screen = console()
    runs = [
        walk
        for result in found.parts
        for walk in zip(result.part.traces, result.records, result.trackings, strict=True)
    ]
    if len(runs) == 1:
        trace, record, tracking = runs[0]
        screen.print(walk_picture(trace, record, tracking.divergence))
        screen.print()
    for item in report(found, typed, versions):
        # Lines are the terminal's to break: a command is there to be copied.
        screen.print(item, soft_wrap=isinstance(item, Text))
    if {*typed.words} >= {"simulation", "apalache"}:
        screen.print("\na sample, not all there is; Apalache takes no seed to repeat it by")
    elif {*typed.words} & SAMPLED:
        again = " ".join(typed.words)
        screen.print(f"\na sample, not all there is; the same again: {again}", soft_wrap=True)
    screen.print(f"\nreceipt: {typed.receipt}", style="dim", soft_wrap=True)


def _check_methods(spec: Spec, adapter: type[Adapter], name: str, parts: Sequence[Part]) -> None:
    """Every action that is going to be delivered needs its method."""
    actions = {step.action for part in parts for trace in part.traces for step in trace.steps}
    for action in sorted(actions):
        method = method_of(action, spec.actions[action])
        if spec.actions[action].kind == "stimulus" and method and not hasattr(adapter, method):
            raise MbtError(
                f"adapter {name}: {adapter.__name__} has no method {method}; "
                "an adapter has one for each action that is delivered (docs/adapters.md)"
            )


def _check_merges(
    spec: Spec, adapter: type[Adapter], name: str, options: Mapping[str, str]
) -> None:
    """What an adapter says it takes in one go has to be actions of the model."""
    for observed, path in adapter.merged_actions(options).items():
        if unknown := [action for action in (observed, *path) if action not in spec.actions]:
            raise MbtError(
                f"adapter {name}: merged_actions() names {unknown[0]!r}, which is no action of "
                f"{spec.module}; known: {', '.join(spec.actions)}"
            )
