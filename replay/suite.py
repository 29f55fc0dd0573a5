"""A replay: the parts of a suite on one adapter, from traces to verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from adapters.base import Adapter
from replay.compare import Model, Tracking, track
from replay.explanation.explain import Explanation, explain
from replay.judge import Judgement, judge
from replay.lives import Conduct
from replay.models import Models
from replay.parallel import Drivers
from replay.record import RunRecord
from tracegen.cover import transition_tour
from tracegen.errors import MbtError
from tracegen.select import traces_of_paths
from tracegen.spec import Spec
from tracegen.tlc import RunOptions
from tracegen.trace import Trace

Cell = Literal["holds", "violated", "not observed", "not provoked", "not judged"]
REFERENCE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Part:
    """Traces that are reported as one: where they came from, at whose bounds they are compared."""

    name: str
    model: str
    cover: str
    traces: tuple[Trace, ...]

    @property
    def steps(self) -> int:
        """The steps of all its traces."""
        return sum(len(trace.steps) for trace in self.traces)


@dataclass(frozen=True)
class PartResult:
    """A part, as one adapter walked it.

    Attributes:
        records, trackings: one a trace, in the order of the traces.
        explanation: which mechanisms account for this part alone, None without fault switches.
        transitions: how many transitions the fault-free model has at the bounds of the part.
        unsteady: names of the traces that went otherwise when they were replayed again.
    """

    part: Part
    records: tuple[RunRecord, ...]
    trackings: tuple[Tracking, ...]
    judgement: Judgement
    explanation: Explanation | None
    transitions: int
    graph_digest: str
    unsteady: tuple[str, ...] = ()

    @property
    def diverging(self) -> tuple[str, ...]:
        """Names of the traces that diverge."""
        pairs = zip(self.records, self.trackings, strict=True)
        return tuple(r.trace for r, t in pairs if t.divergence is not None)

    @property
    def covered(self) -> frozenset[int]:
        """Transitions that were certainly taken before any divergence of their run."""
        return frozenset().union(*(t.covered for t in self.trackings))

    @property
    def recovered_twice(self) -> int:
        """Crashes whose store was recovered from twice, once in a copy."""
        return sum(len(record.doubles) for record in self.records)

    @property
    def decided_otherwise(self) -> tuple[str, ...]:
        """Names of the traces in which two recoveries from one store decided differently."""
        return tuple(r.trace for r in self.records if any(d.own != d.copy for d in r.doubles))

    @property
    def inapplicable(self) -> int:
        """Steps whose guard did not hold on what was observed."""
        return sum(len(record.inapplicable) for record in self.records)

    @property
    def compared(self) -> int:
        """Micro-steps at which something was observed and compared with the model."""
        return sum(tracking.compared for tracking in self.trackings)

    def unobserved(self, spec: Spec) -> dict[str, int]:
        """Model variable -> at how many of the compared micro-steps nobody could see it."""
        missing: dict[str, int] = {}
        for record in self.records:
            for micro in record.compared:
                for name in spec.variables.observed:
                    if name not in micro.observed:
                        missing[name] = missing.get(name, 0) + 1
        return missing

    def violating(self, name: str) -> tuple[str, ...]:
        """Names of the traces in which a property fails."""
        found = (f.trace for f in self.judgement.findings if f.property == name)
        return tuple(dict.fromkeys(found))

    def cell(self, name: str) -> Cell:
        """The verdict on a property over this part."""
        if self.violating(name):
            return "violated"
        if name in self.judgement.set_aside:
            return "not judged"
        if self.judgement.provoked[name]:
            return "holds"
        unseen = self.judgement.provoked_unseen[name] or not self.judgement.judged[name]
        return "not observed" if unseen else "not provoked"


@dataclass(frozen=True)
class Replay:
    """What a replay found out.

    Attributes:
        second_pass: what early divergences hid, planned again from the first pass; apart from it.
        repeat: how often each trace was replayed; what is reported is the first time.
        servers: releases of the servers that took part.
    """

    spec: Spec
    adapter: str
    options: Mapping[str, str]
    parts: tuple[PartResult, ...]
    second_pass: tuple[PartResult, ...]
    explanation: Explanation | None
    repeat: int = 1
    servers: Mapping[str, str] = field(default_factory=dict)

    def cell(self, name: str) -> Cell:
        """The verdict on a property over the whole suite: the gravest of its parts and passes."""
        cells = [result.cell(name) for result in (*self.parts, *self.second_pass)]
        order: tuple[Cell, ...] = (
            "violated",
            "holds",
            "not observed",
            "not provoked",
            "not judged",
        )
        return next(cell for cell in order if cell in cells)

    @property
    def conforms(self) -> bool:
        """No run diverges, no property fails, in either pass, and all can be repeated.

        Every run, where it is replayed again, and every recovery, from a copy of its store.
        """
        results = (*self.parts, *self.second_pass)
        return not any(
            r.diverging or r.judgement.findings or r.unsteady or r.decided_otherwise
            for r in results
        )


def replay_suite(
    spec: Spec,
    parts: Sequence[Part],
    adapter_name: str,
    adapter_reference: str,
    adapter: type[Adapter],
    options: Mapping[str, str],
    models: Models,
    checker: RunOptions,
    *,
    jobs: int = 1,
    fresh: bool = False,
    limit: float = 60.0,
    again: bool = True,
    repeat: int = 1,
    interpreter: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> Replay:
    """Replay the parts of a suite on an adapter, compare, judge and explain.

    Args:
        jobs: traces that are replayed at a time, each on a host of its own.
        fresh: a new interpreter for every process instead of a fork.
        limit: seconds within which a process has to come back from a step.
        again: whether to plan and replay what early divergences hid.
        repeat: how often to replay each trace, to see whether it goes the same way.
        interpreter: the Python of the environment that the system is in, by default ours.
        progress: told the stage, how much of it is done, and of how much.

    Raises:
        MachineryError: the machinery failed; nothing of this replay is a verdict.
    """
    merges = adapter.merged_actions(options)
    conduct = Conduct.of(adapter, options)

    def accounted_for(runs: Sequence[tuple[str, Sequence[RunRecord]]]) -> Explanation | None:
        return explain(spec, runs, models, merges) if spec.explain.switches else None

    def one(part: Part, drivers: Drivers) -> PartResult:
        model = models(part.model, REFERENCE)
        number, done = len(part.traces), itertools.count(1)
        total = number * repeat
        progress(part.name, 0, total)
        everything = drivers.replay(
            spec, part.traces * repeat, lambda: progress(part.name, next(done), total)
        )
        records = everything[:number]
        unsteady = {
            record.trace
            for position, record in enumerate(everything)
            if not record.same(records[position % number])
        }
        return PartResult(
            part=part,
            records=tuple(records),
            trackings=tuple(track(record, model, merges=merges) for record in records),
            judgement=judge(spec, part.model, records, checker),
            explanation=accounted_for([(part.model, records)]),
            transitions=model.graph.transitions,
            graph_digest=model.graph.digest,
            unsteady=tuple(sorted(unsteady)),
        )

    results: list[PartResult] = []
    second: list[PartResult] = []
    with ExitStack() as stack:
        hosts: dict[str, Drivers] = {}
        servers: dict[str, str] = {}

        def drivers_for(part: Part) -> Drivers:
            workflow = spec.workflow_of(part.model)
            key = repr(workflow)
            if key not in hosts:
                hosts[key] = stack.enter_context(
                    Drivers(
                        adapter_reference,
                        workflow,
                        conduct,
                        jobs=jobs,
                        fresh=fresh,
                        limit=limit,
                        interpreter=interpreter,
                    )
                )
                servers.update(hosts[key].services.versions)
            return hosts[key]

        for part in parts:
            results.append(one(part, drivers_for(part)))
        for result in results if again else ():
            if hidden := plan_again(spec, result, models(result.part.model, REFERENCE)):
                second.append(one(hidden, drivers_for(hidden)))
    whole = accounted_for([(result.part.model, result.records) for result in results])
    return Replay(
        spec, adapter_name, options, tuple(results), tuple(second), whole, repeat, servers
    )


def plan_again(spec: Spec, result: PartResult, model: Model) -> Part | None:
    """Traces over what was not covered that keep clear of the steps at which runs diverged.

    Planned from all divergences of a complete pass, in order, so that it does not depend on
    which run came first. None where there is nothing left that can be reached.
    """
    graph = model.graph
    diverged: set[int] = set()
    for trace, tracking in zip(result.part.traces, result.trackings, strict=True):
        if tracking.divergence is not None and tracking.divergence.step is not None:
            edges = edges_of_trace(model, trace)
            if edges is None:
                return None  # the trace is no path of this graph, so neither is a plan from it
            diverged.add(edges[tracking.divergence.step])
    if not diverged:
        return None
    targets = set(range(graph.transitions)) - result.covered - diverged
    paths = transition_tour(graph, targets=sorted(targets), avoid=sorted(diverged))
    if not paths:
        return None
    name = f"{result.part.name}, second pass"
    traces = traces_of_paths(spec, result.part.model, graph, paths, f"{result.part.model}-again")
    return Part(name, result.part.model, "what the first pass hid", tuple(traces))


def require_paths(spec: Spec, part: Part, models: Models) -> None:
    """Refuse traces from elsewhere that are no behaviour of the model that they name.

    Raises:
        MbtError: a trace is no path of its model, or its parameters are not those of its steps.
    """
    model = models(part.model, spec.faults_of(part.model))
    for trace in part.traces:
        if edges_of_trace(model, trace) is None:
            raise MbtError(f"{part.name}: trace {trace.name} is no behaviour of model {part.model}")
        for number, step in enumerate(trace.steps, 1):
            for name, source in spec.actions[step.action].tester.items():
                if step.params.get(name) != source.read(step.state):
                    raise MbtError(
                        f"{part.name}: trace {trace.name}, step {number}: parameter {name} of "
                        f"{step.action} is not what the state after it shows ({source.text})"
                    )


def edges_of_trace(model: Model, trace: Trace) -> list[int] | None:
    """The edges of a graph that a trace takes, None where it is no path of that graph."""
    states = {tuple(row): number for number, row in enumerate(model.rows)}

    def number_of(state: Mapping[str, Any]) -> int | None:
        row = tuple(model.value_ids.get(state[name], -1) for name in model.graph.variables)
        return states.get(row)

    here, edges = number_of(trace.initial), []
    for step in trace.steps:
        there = number_of(step.state)
        if here is None or there is None:
            return None
        leaving = model.edges[here].get(step.action, ())
        taken = next((edge.id for edge in leaving if edge.target == there), None)
        if taken is None:
            return None
        edges.append(taken)
        here = there
    return edges
