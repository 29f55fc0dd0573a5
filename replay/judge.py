"""Judging: the model checker evaluates the module's own invariants on what was observed.

Observed states become the initial states of a small generated module, with one invariant that
prints, for each of them, which properties fail and which were provoked (docs/driving.md,
rules 22 and 23). So there is no second definition of a property in Python.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

from replay.record import Branch, Event, MicroStep, RunRecord
from tracegen.errors import MachineryError
from tracegen.module import read_module
from tracegen.parser import parse_value
from tracegen.spec import Spec
from tracegen.tlc import Outcome, RunOptions, check
from tracegen.values import Function, Int, ModelValue, Value, from_python, record, seq, to_python

MODULE = "ObservedRuns"


@dataclass(frozen=True)
class Finding:
    """A property that fails in an observed state: which run, which micro-step, which branch."""

    property: str
    trace: str
    micro: int
    branch: int


@dataclass(frozen=True)
class Judgement:
    """What the checker says of one suite part.

    Attributes:
        findings: every (property, observed state) that fails, in the order of the runs.
        provoked: property -> names of the traces that provoked it.
        provoked_unseen: property -> names of the traces that provoked it where it could not be
            evaluated, since a variable that it reads was not observed.
        judged: property -> how many observed states it was evaluated on.
        set_aside: properties that were observed but not at issue, since a poisoned output was
            refused in every run.
        module_digest: SHA-256 of the generated module.
    """

    findings: tuple[Finding, ...]
    provoked: dict[str, tuple[str, ...]]
    provoked_unseen: dict[str, tuple[str, ...]]
    judged: dict[str, int]
    set_aside: frozenset[str]
    module_digest: str


@dataclass(frozen=True)
class _State:
    trace: str
    micro: int
    branch: int
    log: int
    upto: int
    properties: tuple[str, ...]
    unseen: tuple[str, ...]
    values: dict[str, Value]


def judge(spec: Spec, model: str, records: Sequence[RunRecord], checker: RunOptions) -> Judgement:
    """Evaluate the properties of a specification on every observed state of some runs.

    Raises:
        MachineryError: the checker failed, or did not judge every state.
    """
    names = tuple(spec.properties)
    logs: list[tuple[Event, ...]] = []
    states: list[_State] = []
    for run in records:
        _states_of_run(spec, run, logs, states)
    text = _module(spec, names, logs, states).encode("ascii", "backslashreplace").decode()
    cache = checker.get("cache")
    config = replace(
        spec.models[model].config,
        specification=None,
        init="MbtInit",
        next="MbtNext",
        invariants=("MbtJudged",),
        properties=(),
    )
    with tempfile.TemporaryDirectory(prefix="mbt-judge-") as folder:
        base = read_module(spec.path.with_name(f"{spec.observed or spec.module}.tla"))
        for name, content in base.files.items():
            (Path(folder) / name).write_bytes(content)
        path = Path(folder) / f"{MODULE}.tla"
        path.write_text(text)
        # Never from the cache: what a verdict is read from was computed for it.
        uncached = {**checker, "cache": cache and replace(cache, results=False), "brief": True}
        result = check(path, config, **cast(RunOptions, uncached))
    if result.outcome is not Outcome.HOLDS:
        raise MachineryError(
            f"the checker could not judge the observed states ({result.outcome.value}): "
            f"{result.reason}"
        )
    verdicts = _verdicts(result.printed)
    if set(verdicts) != set(range(1, len(states) + 1)):
        raise MachineryError(
            f"the checker judged {len(verdicts)} of {len(states)} observed states; "
            "the module that it was given is malformed"
        )
    findings, judged = [], dict.fromkeys(names, 0)
    provoked: dict[str, dict[str, None]] = {name: {} for name in names}
    unseen: dict[str, dict[str, None]] = {name: {} for name in names}
    for number, state in enumerate(states, 1):
        failed, stirred = verdicts[number]
        for index, name in enumerate(names, 1):
            if name in state.unseen and index in stirred:
                unseen[name].setdefault(state.trace)
            if name not in state.properties:
                continue
            judged[name] += 1
            if index in failed:
                findings.append(Finding(name, state.trace, state.micro, state.branch))
            if index in stirred:
                provoked[name].setdefault(state.trace)
    digest = hashlib.sha256(text.encode()).hexdigest()
    aside = {n for n, rule in spec.properties.items() if not rule.poison and not judged[n]}
    return Judgement(
        findings=tuple(findings),
        provoked={name: tuple(traces) for name, traces in provoked.items()},
        provoked_unseen={name: tuple(traces) for name, traces in unseen.items()},
        judged=judged,
        set_aside=frozenset(aside) if all(_refused(run) for run in records) else frozenset(),
        module_digest=digest,
    )


def _refused(run: RunRecord) -> bool:
    return any(micro.poison and micro.at == "refused" for micro in run.micro)


def _states_of_run(
    spec: Spec, run: RunRecord, logs: list[tuple[Event, ...]], states: list[_State]
) -> None:
    """Append the observed states of a run and of its branches, and the logs that they read."""
    events: list[Event] = []
    log = len(logs) + 1
    logs.append(())
    refused = _refused(run)
    for index, micro in enumerate(run.micro):
        events += micro.events
        properties = _observable(spec, micro, events)
        unseen = tuple(name for name in spec.properties if name not in properties)
        if refused:
            properties = tuple(n for n in properties if spec.properties[n].poison)
            unseen = ()
        values = _values(spec, micro)
        states.append(_State(run.trace, index, 0, log, len(events), properties, unseen, values))
    logs[log - 1] = tuple(events)
    asked = tuple(name for name, rule in spec.properties.items() if rule.branches and not refused)
    for branch in run.branches:
        effects = _branch_effects(branch)
        logs.append(effects)
        last = len(run.micro) - 1
        states.append(
            _State(run.trace, last, branch.number, len(logs), len(effects), asked, (), {})
        )


def _branch_effects(branch: Branch) -> tuple[Event, ...]:
    counts = zip(branch.inherited or (0,) * len(branch.own), branch.own, strict=True)
    return tuple(
        Event("effect", task)
        for task, (inherited, own) in enumerate(counts, 1)
        for _ in range(inherited + own)
    )


def _observable(spec: Spec, micro: MicroStep, events: Sequence[Event]) -> tuple[str, ...]:
    """The properties all of whose variables were observed."""
    seen = set(micro.observed) | set(spec.variables.computed)
    if any(event.kind == "recover" and not event.store for event in events):
        seen.discard("recHist")  # which recoveries found equal stores is not known
    return tuple(name for name, rule in spec.properties.items() if set(rule.reads) <= seen)


def _values(spec: Spec, micro: MicroStep) -> dict[str, Value]:
    null = ModelValue(spec.null) if spec.null else None
    return {
        name: from_python(value, null)
        for name, value in micro.observed.items()
        if name in spec.source.variables and name not in spec.variables.computed
    }


def _module(
    spec: Spec,
    names: Sequence[str],
    logs: Sequence[Sequence[Event]],
    states: Sequence[_State],
) -> str:
    """The generated module, as text."""
    named = [*spec.variables.observed, *spec.variables.driven, *spec.variables.history]
    variables = [*named, *(name for name in spec.source.variables if name not in named)]
    plain = [name for name in variables if name not in spec.variables.computed]
    # Of a type that TLC compares with hardly anything: a property that reads it, though its
    # `reads` does not say so, ends in an evaluation error instead of a verdict.
    unobserved: Value = from_python({frozenset({"unobserved"})})
    rows = [
        record(
            {"log": Int(state.log), "upto": Int(state.upto)}
            | {"judge": from_python({names.index(n) + 1 for n in state.properties})}
            | {name: state.values.get(name, unobserved) for name in plain}
        )
        for state in states
    ]
    # Names of our own begin with mbt, so as not to be a variable's of the module.
    assigned = [f"/\\ {name} = mbtState.{name}" for name in plain]
    assigned += [
        f"/\\ {name} = {operator}(MbtLog(mbtState))"
        for name, operator in spec.variables.computed.items()
    ]
    fails = [
        f"({number} \\in MbtStates[mbtId].judge /\\ ~{spec.properties[name].invariant})"
        for number, name in enumerate(names, 1)
    ]
    # A property that does not say what provokes it is asked of every state alike.
    provoked = [
        f"{operator}(MbtLog(MbtStates[mbtId]))" if operator else "TRUE"
        for operator in (spec.properties[n].provoked for n in names)
    ]
    return "\n".join(
        [
            f"---- MODULE {MODULE} ----",
            f"EXTENDS {spec.observed or spec.module}, TLC, Sequences",
            "VARIABLE mbtId",
            "MbtLogs == <<",
            _rows(_log(events) for events in logs),
            ">>",
            "MbtStates == <<",
            _rows(rows),
            ">>",
            "MbtLog(mbtState) == SubSeq(MbtLogs[mbtState.log], 1, mbtState.upto)",
            "MbtInit == \\E mbtNumber \\in DOMAIN MbtStates :",
            "  LET mbtState == MbtStates[mbtNumber] IN",
            "  /\\ mbtId = mbtNumber",
            *(f"  {line}" for line in assigned),
            f"MbtNext == FALSE /\\ UNCHANGED <<mbtId, {', '.join(variables)}>>",
            'MbtJudged == PrintT(<<"judged", mbtId,',
            *_choice(fails),
            "  ,",
            *_choice(provoked),
            "  >>)",
            "====",
            "",
        ]
    )


def _choice(conditions: Sequence[str]) -> list[str]:
    """A set expression: the numbers of the conditions that hold."""
    arms = [
        f"  {'' if i == 1 else chr(92) + 'cup '}(IF {condition} THEN {{{i}}} ELSE {{}})"
        for i, condition in enumerate(conditions, 1)
    ]
    return arms or ["  {}"]


def _rows(values: Iterable[Value]) -> str:
    return ",\n".join(str(value) for value in values)


def _log(events: Sequence[Event]) -> Function:
    return seq(
        record({name: from_python(value) for name, value in asdict(event).items()})
        for event in events
    )


def _verdicts(printed: Iterable[str]) -> dict[int, tuple[set[int], set[int]]]:
    """State id -> numbers of the properties that fail, and of those that were provoked."""
    verdicts: dict[int, tuple[set[int], set[int]]] = {}
    for line in printed:
        if '"judged"' in line[:12]:
            _, number, failed, provoked = to_python(parse_value(line))
            verdicts[number] = (set(failed), set(provoked))
    return verdicts
