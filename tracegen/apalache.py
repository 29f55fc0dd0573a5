"""Running Apalache, the symbolic checker: bounded checks and random symbolic executions.

Written against its documented options and texts (0.60 to 0.62), of which no package registry has a
copy to run: tests use a stand-in. It is never exhaustive: no error is BOUNDED, by the length it was
given. How a run is kept apart and cached is in `tracegen.apalache_run`.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from tracegen.apalache_run import ApalacheRun, environment, numbered, program
from tracegen.cfg import Config
from tracegen.errors import MbtError
from tracegen.jvm import Processes
from tracegen.module import Module
from tracegen.outcome import Outcome
from tracegen.run import CheckResult, RunOptions
from tracegen.simulation import Simulation
from tracegen.tools import Tool, ToolError, find_apalache

LENGTH = 10
"""Apalache's own default: steps from an initial state."""

_VERSION = re.compile(r"\b[0-9]+\.[0-9]+\.[0-9]+\S*")
_ANSWER_LIMIT_S = 60.0


def find(java: Tool, processes: Processes | None = None) -> Tool:
    """Apalache with its version, as it says itself on that Java; "unknown" where it does not.

    Raises ToolError where there is none; see `tracegen.tools.find_apalache`.
    """
    tool = find_apalache()
    if tool is None:
        raise ToolError(
            "no Apalache found; it is in no package registry: unpack a release from its project "
            "page, and set APALACHE_HOME to its folder or APALACHE_JAR to its jar (see mbt doctor)"
        )
    with (
        nullcontext(processes) if processes else Processes() as group,
        tempfile.TemporaryDirectory(prefix="mbt-apalache-", ignore_cleanup_errors=True) as name,
    ):
        ended = group.run(
            [*program(tool, java, None), "version"],
            folder=Path(name),
            timeout_s=_ANSWER_LIMIT_S,
            environment=environment(java, Path(name), None),
        )
    said = _VERSION.search(ended.stdout) if ended.code == 0 else None
    return replace(tool, version=said[0] if said else "unknown")


def check(
    module: Path | Module,
    config: Config,
    *,
    apalache: Tool,
    length: int = LENGTH,
    max_error: int = 1,
    view: str | None = None,
    deadlock: bool = False,
    **run: Unpack[RunOptions],
) -> CheckResult:
    """Check the invariants of a configuration over all executions of at most `length` steps.

    With `max_error` over 1 up to that many counterexamples are found, which differ in the
    definition `view`. CHECK_DEADLOCK in the .cfg overrides `deadlock`. Of `run`, the jar of TLC
    and `progress` are not used.

    Raises MbtError where the module cannot be read or `max_error` lacks a view, MachineryError
    where Apalache cannot be started; every other end is an outcome.
    """
    if max_error > 1 and view is None:
        raise MbtError("several counterexamples need a view, the definition they are to differ in")
    options = [f"--length={length}", *_deadlock(config, deadlock)]
    if view is not None:
        options += [f"--max-error={max_error}", f"--view={view}"]
    this = ApalacheRun(module, config, apalache, length, **run)
    with this.done("check", [*options, *_invariants(config)]) as (result, _):
        if not result.outcome.violated:
            return result
    if len(config.invariants) == 1:
        return replace(result, violated=config.invariants)
    return _named(this, result, max_error, deadlock)


def simulate(
    module: Path | Module,
    config: Config,
    *,
    apalache: Tool,
    number: int,
    length: int,
    deadlock: bool = False,
    **run: Unpack[RunOptions],
) -> Simulation:
    """Run a number of random executions of at most `length` steps.

    There is no seed in what is documented: another run gives other ones, but a kept result stays.
    A violated invariant ends the simulation and is in the result's counterexample, unnamed where
    several are checked. Raises as `check`.
    """
    options = [f"--length={length}", f"--max-run={number}", "--output-traces"]
    options += [*_deadlock(config, deadlock), *_invariants(config)]
    this = ApalacheRun(module, config, apalache, length, **run)
    with this.done("simulate", options) as (result, folder):
        alone = config.invariants if len(config.invariants) == 1 else ()
        if result.outcome.violated:
            result = replace(result, violated=alone)
        behaviours = map(this.behaviour, numbered(folder, "example"))
        return Simulation(result, tuple(behaviours))


def _named(this: ApalacheRun, result: CheckResult, max_error: int, deadlock: bool) -> CheckResult:
    """The result with the names of what is violated, each found by a run of that invariant alone.

    The number that Apalache prints is no more than a hint: it counts verification conditions, and
    an invariant that is a conjunction can be several of them.
    """
    names = this.config.invariants
    hinted = [names[number] for number in this.numbers if number < len(names)]
    length = max(len(found.states) for found in result.counterexamples) - 1
    found = []
    for name in dict.fromkeys([*hinted, *names]):
        alone = ApalacheRun(
            this.module, replace(this.config, invariants=(name,)), this.apalache, length, **this.run
        )
        options = [f"--length={length}", *_deadlock(this.config, deadlock), f"--inv={name}"]
        with alone.done("check", options) as (single, _):
            if not single.outcome.decided:
                return single
        if single.outcome.violated:
            if max_error == 1:
                seconds = result.seconds + single.seconds
                return replace(single, violated=(name,), seconds=seconds, bound=result.bound)
            found.append(name)
    if found:
        return replace(result, violated=tuple(n for n in names if n in found))
    return replace(
        result,
        outcome=Outcome.FAILED,
        reason=f"it found one of {', '.join(names)} violated, but none of them alone",
        counterexamples=(),
    )


def _invariants(config: Config) -> list[str]:
    return [f"--inv={','.join(config.invariants)}"] if config.invariants else []


def _deadlock(config: Config, deadlock: bool) -> list[str]:
    wanted = deadlock if config.check_deadlock is None else config.check_deadlock
    return [] if wanted else ["--no-deadlock"]
