"""Running TLC: checking a model, dumping its state graph. (`tracegen.simulation` simulates.)

How a run is kept apart, cached and judged is in `tracegen.run`; each function here takes the
options of `RunOptions` besides its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from tracegen.cfg import Config
from tracegen.dot import read_dump
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.module import Module
from tracegen.outcome import Outcome
from tracegen.run import OUT, CheckResult, Progress, Run, RunOptions

__all__ = [
    "CheckResult",
    "Outcome",
    "Progress",
    "RunOptions",
    "check",
    "dump",
    "state_graph",
]

_DUMP = "graph.dot"


def check(
    module: Path | Module,
    config: Config,
    *,
    workers: int = 1,
    fp: int = 0,
    deadlock: bool = False,
    keep_going: bool = False,
    **run: Unpack[RunOptions],
) -> CheckResult:
    """Check what a configuration names, breadth first.

    With one worker and one fingerprint polynomial `fp` the counterexample is the same twice. With
    `keep_going` all violations are reported, of a successor state only the first; whether TLC came
    to the end is in `complete`. CHECK_DEADLOCK in the .cfg overrides `deadlock`.

    Raises MbtError where the module cannot be read, MachineryError where Java cannot be started;
    every other end is an outcome.
    """
    options = [*_search(config, workers, fp, deadlock), *(["-continue"] if keep_going else [])]
    with Run(module, config, **run).done(options) as (result, _):
        return result


@contextmanager
def dump(
    module: Path | Module,
    config: Config,
    *,
    deadlock: bool = False,
    **run: Unpack[RunOptions],
) -> Iterator[tuple[CheckResult, Path]]:
    """Check, and write the states and transitions explored to a DOT file with action names.

    The file is to be read inside the context, and not to be changed. A violation ends the search
    early: for the whole graph see `state_graph`. Raises as `check`.
    """
    options = [*_search(config, 1, 0, deadlock), "-dump", "dot,actionlabels", f"{OUT}/{_DUMP}"]
    with Run(module, config, **run).done(options) as (result, folder):
        yield result, folder / _DUMP


def state_graph(
    module: Path | Module, config: Config, **run: Unpack[RunOptions]
) -> tuple[CheckResult, StateGraph]:
    """The complete state graph of a model, whether or not its properties hold, and its run.

    Under a CONSTRAINT the graph is complete within it (the outcome is BOUNDED). Raises MbtError or
    MachineryError where there is no graph; see `CheckResult.decided`.
    """
    # Nothing is checked: a violation would end the search, liveness would add steps to the dump.
    bare = replace(config, invariants=(), properties=(), check_deadlock=False)
    with dump(module, bare, **run) as (result, path):
        if result.decided().outcome not in (Outcome.HOLDS, Outcome.BOUNDED):
            raise MbtError(result.reason)
        return result, read_dump(path)


def _search(config: Config, workers: int, fp: int, deadlock: bool) -> list[str]:
    fixed = ["-workers", str(workers), "-fp", str(fp), "-seed", "0"]
    return [*fixed, *_deadlock(config, deadlock)]


def _deadlock(config: Config, deadlock: bool) -> list[str]:
    wanted = deadlock if config.check_deadlock is None else config.check_deadlock
    return [] if wanted else ["-deadlock"]  # the option turns the check off
