"""Simulating with TLC: random behaviours of a model whose state space need not be held, or end.

TLC's simulation files name no actions, but a violation is printed with those of its behaviour. So
the model's properties give way to one that every behaviour violates at the asked number of steps,
and the check for deadlock is on for those that come to an end before. With -continue TLC 2.15 goes
on after each, to as many behaviours as asked for, and prints them all.

As in any of its counterexamples, TLC names each step by the first action of Next, in the order of
Next, that joins the two states: of two actions that do, the second is never named. The behaviour
is one of the model all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from tracegen.cfg import Config
from tracegen.errors import MbtError
from tracegen.module import Module, read_module
from tracegen.outcome import Outcome
from tracegen.output import Counterexample
from tracegen.run import CheckResult, Run, RunOptions

_MODULE, _LONG = "MbtSimulation", "MbtLong"
_DEADLOCK = 2114
_ENDS = frozenset({2110, 2107, _DEADLOCK})  # an invariant violated, or by an initial state
_ENDED = (Outcome.VIOLATED_INVARIANT, Outcome.VIOLATED_INITIAL, Outcome.DEADLOCK)


@dataclass(frozen=True)
class Simulation:
    """Random behaviours of a model, in the order in which TLC made them, and the run they are of.

    They are a sample: what they do not show may be there all the same.
    """

    result: CheckResult
    behaviours: tuple[Counterexample, ...]


def simulate(
    module: Path | Module,
    config: Config,
    *,
    number: int,
    depth: int,
    seed: int,
    **run: Unpack[RunOptions],
) -> Simulation:
    """Make a number of random behaviours of at most `depth` steps; equal seeds make equal ones.

    Whether the properties of the model hold is not looked at. A behaviour is shorter where it
    comes to a state that nothing leaves, or that a CONSTRAINT excludes; the excluded is left out.

    Raises MbtError where module or configuration are at fault, or something asked for cannot be;
    MachineryError where the checker, a limit or the machine are.
    """
    if config.action_constraints:
        raise MbtError(
            f"{config.source}: behaviours under an ACTION_CONSTRAINT cannot be simulated, since "
            "TLC prints none that it ends; bound the model by its constants or a CONSTRAINT"
        )
    base = module if isinstance(module, Module) else read_module(module)
    bare = replace(
        config,
        # A constraint that is broken ends a behaviour in silence; as an invariant it is printed.
        invariants=(_LONG, *config.constraints),
        constraints=(),
        properties=(),
        symmetry=None,
        view=None,
    )
    # TLC 2.15 counts steps as levels and newer builds states: to be cut to size in either case.
    options = ["-continue", "-simulate", f"num={number}", "-depth", str(depth + 3)]
    options += ["-workers", "1", "-seed", str(seed)]
    with Run(_wrapped(base, depth), bare, **run).done(options) as (result, _):
        pass
    for found in result.counterexamples:
        if found.reason is None or found.reason.code not in _ENDS:
            said = " ".join(found.reason.text.split()) if found.reason else "TLC gives no reason"
            raise MbtError(f"{base.path}: a simulated behaviour ends in an error: {said}")
    if result.decided().outcome not in _ENDED:
        raise MbtError(f"{base.path}: no behaviour was simulated: {result.reason}")
    return Simulation(result, tuple(_cut(found, depth) for found in result.counterexamples))


def _wrapped(module: Module, depth: int) -> Module:
    """The module, and on top of it the invariant that behaviours of more than `depth` violate."""
    text = (
        f"---- MODULE {_MODULE} ----\n"
        f"EXTENDS {module.name}\n"
        "MbtTLC == INSTANCE TLC\n"  # named, so as not to meet a definition of the module
        f'{_LONG} == MbtTLC!TLCGet("level") <= {depth}\n'
        "====\n"
    )
    return replace(
        module,
        name=_MODULE,
        files={**module.files, f"{_MODULE}.tla": text.encode()},
        definitions=module.definitions | {_LONG},
    )


def _cut(found: Counterexample, depth: int) -> Counterexample:
    """The behaviour without the steps past `depth`, and without a state that is excluded."""
    states = found.states[: depth + 1]
    assert found.reason is not None
    excluded = found.reason.code != _DEADLOCK and f" {_LONG} " not in found.reason.text
    if excluded and len(states) == len(found.states):
        states = states[:-1]
    return replace(found, states=states)
