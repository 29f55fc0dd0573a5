"""Conformance by set tracking: which states of a model agree with all that was observed so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from replay.record import MicroStep, RunRecord
from tracegen.graph import Edge, StateGraph
from tracegen.spec import Spec
from tracegen.values import TRUE, ModelValue, Value, from_python

_REFUSED = frozenset({"refused", "failed"})


@dataclass(frozen=True)
class Difference:
    """One variable, what the model allows and what was observed (TLA+ text)."""

    variable: str
    model: tuple[str, ...]
    observed: str


@dataclass(frozen=True)
class Divergence:
    """The first observation that no state of the model explains.

    Attributes:
        micro: index of the micro-step in the record.
        step: index of the trace's step, None at the start and while draining.
        action: the action that was observed.
        differences: the variables by which the nearest states of the model miss it; empty where
            the model does not allow the action there at all.
    """

    micro: int
    step: int | None
    action: str
    differences: tuple[Difference, ...]

    def sentence(self) -> str:
        """Say it in one sentence."""
        what = f"after {self.action}" if self.action else "at the start"
        if not self.differences:
            return f"{self.action or 'the start'} happened where the model does not allow it"
        expected = " and ".join(f"{d.variable} = {' or '.join(d.model)}" for d in self.differences)
        seen = " and ".join(f"{d.variable} = {d.observed}" for d in self.differences)
        return f"{what} the model has {expected}; the system showed {seen}"


@dataclass(frozen=True)
class Tracking:
    """One run against one model.

    Attributes:
        divergence: None where every observation has its explanation.
        covered: ids of the edges that were certainly taken, before any divergence.
        resynchronised: indices of the micro-steps at which the tracking had to start anew.
        compared: at how many micro-steps at least one variable was observed, and so compared.
    """

    divergence: Divergence | None
    covered: frozenset[int]
    resynchronised: tuple[int, ...]
    compared: int


class Model:
    """A state graph, as the tracking reads it."""

    def __init__(self, graph: StateGraph, spec: Spec) -> None:
        self.graph = graph
        self.spec = spec
        self.column = {name: i for i, name in enumerate(graph.variables)}
        self.value_ids = {value: i for i, value in enumerate(graph.values)}
        self.null = ModelValue(spec.null) if spec.null else None
        self._dead = self.column.get(spec.variables.dead or "", -1)
        self._true = self.value_ids.get(TRUE, -1)

    @cached_property
    def rows(self) -> list[list[int]]:
        """For each state, the ids of its values."""
        rows: list[list[int]] = self.graph.columns.tolist()
        return rows

    @cached_property
    def edges(self) -> list[dict[str, list[Edge]]]:
        """For each state, its outgoing edges by action."""
        table: list[dict[str, list[Edge]]] = [{} for _ in range(len(self.graph))]
        for edge in self.graph.edges:
            table[edge.source].setdefault(edge.action, []).append(edge)
        return table

    def view(self, observed: Mapping[str, Any]) -> list[tuple[int, int]]:
        """Translate an observation: (column, value id) of each variable that is compared.

        A value that occurs nowhere in the graph gets the id -1, which no state has.
        """
        return [
            (self.column[name], self.value_ids.get(self.value(observed[name]), -1))
            for name in self.spec.variables.observed
            if name in observed and name in self.column
        ]

    def value(self, observed: Any) -> Value:
        """An observed value as a value of the model."""
        return from_python(observed, null=self.null)

    def matches(self, state: int, view: Iterable[tuple[int, int]]) -> bool:
        """Whether a state agrees with an observation."""
        row = self.rows[state]
        return all(row[column] == value for column, value in view)

    def dead(self, state: int) -> bool:
        """Whether no run stands in a state: by the module's word, False where it has none."""
        return self._dead >= 0 and self.rows[state][self._dead] == self._true

    def steps(
        self, states: Iterable[int], path: Sequence[str], params: Mapping[str, Any]
    ) -> list[tuple[tuple[int, ...], int]]:
        """All ways along a path of actions: (edge ids, last state), the tester's choices kept."""
        ways: list[tuple[tuple[int, ...], int]] = [((), state) for state in states]
        for action in path:
            chosen = self.spec.actions[action].tester if action in self.spec.actions else {}
            wanted = [
                (source, self.value(params[name]))
                for name, source in chosen.items()
                if name in params
            ]
            ways = [
                ((*edges, edge.id), edge.target)
                for edges, state in ways
                for edge in self.edges[state].get(action, ())
                if all(
                    source.read(self.graph.state(edge.target)) == value for source, value in wanted
                )
            ]
        return ways


def track(
    record: RunRecord,
    model: Model,
    *,
    merges: Mapping[str, Sequence[str]],
    refusable: bool = True,
    resynchronise: bool = True,
) -> Tracking:
    """Walk a record over a model.

    Args:
        merges: actions that the system takes in one go, observed action -> the model's path.
        refusable: whether the model admits that a poisoned output is refused (one without
            the fault that persists it does).
        resynchronise: go on after a divergence with all states that agree with what was
            observed there; explanation does not.
    """
    states: set[int] = set()
    covered: set[int] = set()
    resynchronised: list[int] = []
    divergence: Divergence | None = None
    compared = 0
    for index, micro in enumerate(record.micro):
        if micro.folded:
            continue
        view = model.view(micro.observed)
        compared += bool(view)
        ways: list[tuple[tuple[int, ...], int]]
        never_stood = _never_stood(model.spec, micro)
        path = tuple(merges.get(micro.action, (micro.action,)))
        if never_stood and model.spec.variables.dead is None:
            ways, view = [], []
        elif micro.part == "start":
            ways = [((), s) for s in model.graph.initial]
        elif not micro.action or _refused(model.spec, micro):
            # The model has no step for what brings a run to the point, nor for what was refused.
            ways = [((), s) for s in states]
        elif micro.poison and micro.at == "refused":
            # Refused(t): nothing changed, and whether the effect fired is not at issue.
            # What else it may leave is for a module to say that knows of dead runs.
            ways = [((), s) for s in states] if refusable else []
            steps = model.steps(sorted(states), path, micro.params)
            ways += [(edges, s) for edges, s in steps if model.dead(s)]
            ledger = model.column.get(model.spec.variables.ledger or "", -1)
            view = [(column, value) for column, value in view if column != ledger]
        else:
            ways = model.steps(sorted(states), path, micro.params)
        # A run that never stood is dead in the model too, and one that stands is not.
        refused = micro.at in _REFUSED
        agreeing = [
            (edges, s)
            for edges, s in ways
            if model.matches(s, view) and never_stood <= model.dead(s) <= refused
        ]
        if agreeing:
            states = {s for _, s in agreeing}
            taken = {edges for edges, _ in agreeing}
            if divergence is None and len(taken) == 1 and view:
                covered.update(*taken)
            continue
        if divergence is None:
            divergence = Divergence(
                index, micro.step, micro.action, _differences(model, micro, {s for _, s in ways})
            )
        if not resynchronise:
            break
        resynchronised.append(index)
        states = {s for s in range(len(model.graph)) if model.matches(s, view)}
    strange = _strange_branch(record)
    if strange is not None and (divergence is None or strange.micro < divergence.micro):
        divergence = strange
    return Tracking(divergence, frozenset(covered), tuple(resynchronised), compared)


def _never_stood(spec: Spec, micro: MicroStep) -> bool:
    """Whether a run was refused its start or its recovery: most modules let none fall there."""
    revived = micro.action in spec.actions and spec.actions[micro.action].delivery == "kill"
    return micro.at in _REFUSED and (micro.part == "start" or revived)


def _refused(spec: Spec, micro: MicroStep) -> bool:
    """Whether a step was refused that a system may refuse."""
    return micro.error is not None and micro.part == "step" and spec.actions[micro.action].refusable


def _strange_branch(record: RunRecord) -> Divergence | None:
    """A branch that no model has: one that comes to no end, or fires an effect of its own twice."""
    for branch in record.branches:
        if branch.at == "failed" or max(branch.own, default=0) > 1:
            index, micro = next(
                (i, m)
                for i, m in enumerate(record.micro)
                if m.step == branch.step and m.part == "step"
            )
            difference = (
                Difference(f"branch {branch.number}", ("an end",), "none")
                if branch.at == "failed"
                else Difference(
                    f"effects of branch {branch.number}",
                    ("at most one a task",),
                    str(list(branch.own)),
                )
            )
            return Divergence(index, branch.step, micro.action, (difference,))
    return None


def _differences(model: Model, micro: MicroStep, candidates: set[int]) -> tuple[Difference, ...]:
    """The variables by which the nearest of the states that the model allows miss it."""
    view = {model.graph.variables[column]: value for column, value in model.view(micro.observed)}
    missed = {
        state: [n for n, value in view.items() if model.rows[state][model.column[n]] != value]
        for state in candidates
    }
    if not missed:
        return ()
    fewest = min(len(names) for names in missed.values())
    nearest = [state for state, names in missed.items() if len(names) == fewest]
    names = sorted({name for state in nearest for name in missed[state]}, key=list(view).index)
    return tuple(
        Difference(
            name,
            tuple(sorted({str(model.graph.state(s)[name]) for s in nearest})),
            str(model.value(micro.observed[name])),
        )
        for name in names
    )
