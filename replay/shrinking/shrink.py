"""Shrinking: from a trace that fails to a shortest one that fails in the same way.

A candidate is always a path of the model's graph from an initial state, so that what is left can
be read, replayed and kept like any other trace. The search is delta debugging over the steps of
the path (Zeller and Hildebrandt, TSE 2002) with two ways to close the gap where steps were left
out: the shortest path of the graph to the state behind the gap, or the actions behind the gap,
taken from the state before it as far as the model has them there.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from replay.compare import Divergence
from replay.record import RunRecord
from tracegen.graph import Edge, StateGraph

Path = tuple[int, ...]
"""A path of a graph: the numbers of its edges."""

MOST_SHORTER = 400
"""So many paths are replayed at most to show that no shorter path fails in the same way."""


@dataclass(frozen=True)
class Failure:
    """How a run fails; equal failures are the same way of failing.

    Attributes:
        action: the action at which it diverges first, None where it does not.
        variables: those by which it diverges, none where the action is not allowed there at all.
        violated: the short names of the properties that fail, of the run or of a branch.
    """

    action: str | None
    variables: frozenset[str]
    violated: frozenset[str]

    @classmethod
    def of(cls, divergence: Divergence | None, violated: Sequence[str]) -> Failure:
        """Put together what tracking and judging say."""
        return cls(
            divergence.action if divergence else None,
            frozenset(d.variable for d in divergence.differences) if divergence else frozenset(),
            frozenset(violated),
        )

    def __bool__(self) -> bool:
        """Whether it fails at all."""
        return self.action is not None or bool(self.violated)

    @property
    def text(self) -> str:
        """For a reader."""
        by = f" by {', '.join(sorted(self.variables))}" if self.variables else ""
        diverges = (
            f"diverges at {self.action or 'its start'}{by}" if self.action is not None else ""
        )
        fails = f"violates {', '.join(sorted(self.violated))}" if self.violated else ""
        return " and ".join(text for text in (diverges, fails) if text) or "does not fail"


@dataclass(frozen=True)
class Tried:
    """A path that was replayed, what came of it, and how that fails."""

    path: Path
    record: RunRecord
    failure: Failure


@dataclass(frozen=True)
class Shrunk:
    """What shrinking came to.

    Attributes:
        before: the run that was to be shrunk, replayed again.
        after: the shortest run found.
        replayed: how many other paths were replayed on the way.
        shorter: how many paths of the model are shorter than `after`, None where they are too many
            to be replayed. All of them were, and none fails in the same way.
        without: for each step of `after`, how the run fails whose trace lacks it; None where the
            model does not have the rest of the actions then.
    """

    before: Tried
    after: Tried
    replayed: int
    shorter: int | None
    without: tuple[Failure | None, ...]


def shrink(
    graph: StateGraph, path: Sequence[int], replay: Callable[[Sequence[Path]], Sequence[Tried]]
) -> Shrunk:
    """Shrink a path whose run fails.

    Args:
        replay: replays paths on the system and says of each how it fails, in their order.

    Raises:
        ValueError: the path does not fail.
    """
    (before,) = replay([tuple(path)])
    if not before.failure:
        raise ValueError("the run does not fail")
    seen = {before.path: before}

    def first_alike(paths: Sequence[Path]) -> Tried | None:
        """The first of some paths that fails as the whole does; all are replayed at one go."""
        seen.update((tried.path, tried) for tried in replay([p for p in paths if p not in seen]))
        return next((seen[p] for p in paths if seen[p].failure == before.failure), None)

    best = before
    while True:
        by_length = itertools.groupby(sorted(set(shorter(graph, best.path)), key=_order), key=len)
        better = next((t for _, paths in by_length if (t := first_alike([*paths]))), None)
        if better is None:
            break
        best = better
    while True:
        rest = all_paths(graph, len(best.path) - 1, MOST_SHORTER)
        better = None if rest is None else first_alike(rest)
        if better is None:
            break
        best = better
    return Shrunk(
        before,
        best,
        replayed=len(seen) - 1,
        shorter=None if rest is None else len(rest),
        without=tuple(
            None if less is None else seen[less].failure for less in one_less(graph, best.path)
        ),
    )


def _order(path: Path) -> tuple[int, Path]:
    return len(path), path


def shorter(graph: StateGraph, path: Path) -> Iterator[Path]:
    """Paths that leave out some of the steps of a path, all of them shorter than it."""
    edges = [graph.edges[number] for number in path]
    for start in range(len(edges)):
        head = path[:start]
        if head:
            yield head
        here = edges[start].source
        ways = _shortest_from(graph, here)
        for end in range(start + 1, len(edges) + 1):
            there = edges[end - 1].target
            bridge = ways.get(there)
            if bridge is not None and 0 < len(head + bridge + path[end:]) < len(path):
                yield (*head, *bridge, *path[end:])
            again = _take(graph, here, edges[end:])
            if again:
                yield (*head, *again)


def one_less(graph: StateGraph, path: Path) -> list[Path | None]:
    """For each step of a path, the path without it; None where the model has none, or no step."""
    edges = [graph.edges[number] for number in path]
    rests = [_take(graph, edge.source, edges[place + 1 :]) for place, edge in enumerate(edges)]
    return [
        None if rest is None else (*path[:place], *rest) or None for place, rest in enumerate(rests)
    ]


def _shortest_from(graph: StateGraph, start: int) -> dict[int, Path]:
    """A shortest path to each state that can be reached."""
    ways: dict[int, Path] = {start: ()}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for edge in graph.out(state):
            if edge.target not in ways:
                ways[edge.target] = (*ways[state], edge.id)
                waiting.append(edge.target)
    return ways


def _take(graph: StateGraph, state: int, edges: Sequence[Edge]) -> Path | None:
    """The same actions from another state, each with the values that it chose where it can.

    An action is the same where it changes the variables to the same values as it did; else the
    first one of its name is taken. None where an action is not allowed.
    """
    taken: list[int] = []
    for edge in edges:
        leaving = [other for other in graph.out(state) if other.action == edge.action]
        if not leaving:
            return None
        best = max(leaving, key=lambda other: (_alike(graph, other, edge), -other.id))
        taken.append(best.id)
        state = best.target
    return tuple(taken)


def _alike(graph: StateGraph, one: Edge, other: Edge) -> int:
    """How many of the variables have the same values after both."""
    return int((graph.columns[one.target] == graph.columns[other.target]).sum())


def all_paths(graph: StateGraph, length: int, most: int) -> list[Path] | None:
    """All paths of 1 to `length` steps from an initial state on, shortest first.

    None where there are more than `most`.
    """
    found: list[Path] = []
    level: list[tuple[Path, int]] = [((), state) for state in graph.initial]
    for _ in range(length):
        level = [((*path, e.id), e.target) for path, state in level for e in graph.out(state)]
        if len(found) + len(level) > most:
            return None
        found += [path for path, _ in level]
    return found
