"""The state graph of a model: states, and the transitions between them by action name.

The graph is a multigraph: two actions may join the same two states, and both edges are kept.
It is held in arrays with values interned, so that a million states fit, and it is *canonical*:
numbers of states and edges follow from the content alone, whatever order the checker wrote it in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from tracegen.errors import MbtError
from tracegen.values import Value

if TYPE_CHECKING:
    import networkx as nx

IntArray = npt.NDArray[np.int32]

NETWORKX_LIMIT = 200_000
"""States and transitions together up to which a networkx view is given (about 1 kB for each)."""


class Edge(NamedTuple):
    """One transition: its number in the graph, the states it joins, and the action's name."""

    id: int
    source: int
    action: str
    target: int


@dataclass(frozen=True, eq=False)
class StateGraph:
    """A canonical state graph; make one with `build` or `from_arrays`.

    States are numbered by their distance from the initial states, then by content; edges by
    source, action name and target. So the initial states come first, from 0 on, and a graph is the
    same in whatever order it was written.
    """

    variables: tuple[str, ...]
    actions: tuple[str, ...]
    """Names of the actions that label an edge, sorted."""
    initial: tuple[int, ...]
    values: tuple[Value, ...]
    """Every value that occurs, each once, sorted."""
    columns: IntArray
    """Shape (states, variables): an index into `values`."""
    sources: IntArray
    """Shape (transitions,), as are `action_ids` (an index into `actions`) and `targets`."""
    action_ids: IntArray
    targets: IntArray
    offsets: npt.NDArray[np.int64]
    """Shape (states + 1,): the edges that leave state s are offsets[s] up to offsets[s + 1]."""

    @classmethod
    def build(
        cls,
        variables: Sequence[str],
        states: Iterable[Sequence[Value]],
        initial: Iterable[int],
        edges: Iterable[tuple[int, str, int]],
    ) -> StateGraph:
        """Build a graph from states (tuples of values in the order of `variables`) and edges.

        `initial` and `edges` (source, action name, target) name states by their place in `states`.
        An edge given twice is kept once; parallel edges of different actions are kept.
        """
        table: dict[Value, int] = {}
        rows = [[table.setdefault(value, len(table)) for value in state] for state in states]
        names: dict[str, int] = {}
        triples = [(s, names.setdefault(action, len(names)), t) for s, action, t in edges]
        joined = np.array(triples, dtype=np.int32).reshape(len(triples), 3)
        return cls.from_arrays(
            variables,
            list(table),
            np.array(rows, dtype=np.int32).reshape(len(rows), len(variables)),
            np.fromiter(initial, dtype=np.int32),
            joined[:, 0],
            joined[:, 1],
            joined[:, 2],
            list(names),
        )

    @classmethod
    def from_arrays(
        cls,
        variables: Sequence[str],
        values: Sequence[Value],
        state_columns: npt.NDArray[np.integer],
        initial: npt.ArrayLike,
        sources: npt.NDArray[np.integer],
        action_ids: npt.NDArray[np.integer],
        targets: npt.NDArray[np.integer],
        actions: Sequence[str],
    ) -> StateGraph:
        """Build a graph from arrays, in any order and with repeated edges.

        `state_columns` has shape (states, variables) and holds indices into `values`; `initial`,
        `sources` and `targets` hold row numbers of it; `action_ids` holds indices into `actions`.
        `values` may hold equal values, and `values` and `actions` may hold some that nothing uses.

        Raises MbtError when two rows are the same state.
        """
        table, ranks = _sorted_table(values, state_columns)
        columns = ranks[state_columns]
        names = sorted({actions[i] for i in np.unique(action_ids)})
        renamed = np.zeros(len(actions), dtype=np.int64)
        for number, name in enumerate(actions):
            renamed[number] = names.index(name) if name in names else -1

        states = len(columns)
        starts = np.unique(np.asarray(initial, dtype=np.int64))
        content = _content_ranks(variables, columns)
        edge_order = np.argsort(sources, kind="stable")
        offsets = _offsets(sources[edge_order], states)
        depth = distances(offsets, targets[edge_order], starts)
        depth[depth < 0] = states  # out of reach: last
        order = np.lexsort((content, depth))
        number_of = np.empty(states, dtype=np.int64)
        number_of[order] = np.arange(states)

        keys = number_of[sources] * len(names) + renamed[action_ids]
        keys = np.unique(keys * states + number_of[targets])
        source_action, target = np.divmod(keys, max(states, 1))
        source, action = np.divmod(source_action, max(len(names), 1))
        return cls(
            variables=tuple(variables),
            actions=tuple(names),
            initial=tuple(sorted(number_of[starts].tolist())),
            values=table,
            columns=_frozen(columns[order]),
            sources=_frozen(source),
            action_ids=_frozen(action),
            targets=_frozen(target),
            offsets=_offsets(source, states),
        )

    def __len__(self) -> int:
        """The number of states."""
        return len(self.columns)

    def __repr__(self) -> str:
        """Sizes only: a graph may hold millions of states."""
        return f"<StateGraph of {len(self):,} states and {self.transitions:,} transitions>"

    @property
    def transitions(self) -> int:
        """The number of distinct (source, action, target)."""
        return len(self.sources)

    @property
    def edges(self) -> Sequence[Edge]:
        """All edges, in the order of their numbers."""
        return _Edges(self)

    def state(self, number: int) -> dict[str, Value]:
        """The values of the variables in a state, in the order of `variables`."""
        row = self.columns[number].tolist()
        return {name: self.values[i] for name, i in zip(self.variables, row, strict=True)}

    def out(self, number: int) -> list[Edge]:
        """The edges that leave a state, in the order of their numbers."""
        edges = self.edges
        return [edges[e] for e in range(self.offsets[number], self.offsets[number + 1])]

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the graph's content, the same whatever order it was written in."""
        by_name = sorted(range(len(self.variables)), key=self.variables.__getitem__)
        texts = (*(self.variables[i] for i in by_name), *self.actions, *map(str, self.values))
        sizes = (*self.columns.shape, len(self.actions), len(self.values), self.transitions)
        digest = hashlib.sha256(repr((sizes, self.initial, texts)).encode())
        for array in (self.columns[:, by_name], self.sources, self.action_ids, self.targets):
            digest.update(array.astype("<i4").tobytes())
        return digest.hexdigest()

    def networkx(self) -> nx.MultiDiGraph[int]:
        """The graph as a networkx multigraph, for algorithms on small graphs.

        A node is a state's number, with `initial` (a bool) and `state` (its values); an edge's
        key is its number, with `action`. Raises MbtError above NETWORKX_LIMIT.
        """
        size = len(self) + self.transitions
        if size > NETWORKX_LIMIT:
            raise MbtError(
                f"{self!r} is too large for networkx ({size:,} of at most {NETWORKX_LIMIT:,}); "
                "use smaller bounds in the .cfg, or the arrays of StateGraph"
            )
        import networkx as nx

        view: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        initial = set(self.initial)
        for number in range(len(self)):
            view.add_node(number, initial=number in initial, state=self.state(number))
        for edge in self.edges:
            view.add_edge(edge.source, edge.target, key=edge.id, action=edge.action)
        return view


class _Edges(Sequence[Edge]):
    """The edges of a graph, made when asked for."""

    def __init__(self, graph: StateGraph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph.transitions

    def __iter__(self) -> Iterator[Edge]:
        graph = self._graph
        columns = (graph.sources.tolist(), graph.action_ids.tolist(), graph.targets.tolist())
        for number, (source, action, target) in enumerate(zip(*columns, strict=True)):
            yield Edge(number, source, graph.actions[action], target)

    @overload
    def __getitem__(self, index: int) -> Edge: ...
    @overload
    def __getitem__(self, index: slice) -> list[Edge]: ...
    def __getitem__(self, index: int | slice) -> Edge | list[Edge]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        graph = self._graph
        number = range(len(self))[index]
        action = graph.actions[graph.action_ids[number]]
        return Edge(number, int(graph.sources[number]), action, int(graph.targets[number]))


def distances(
    offsets: npt.NDArray[np.integer],
    targets: npt.NDArray[np.integer],
    starts: npt.NDArray[np.integer],
) -> npt.NDArray[np.int64]:
    """The number of steps from the nearest of `starts` to each vertex, -1 where there is no way.

    The graph is given as compressed rows: vertex v has the successors
    targets[offsets[v]:offsets[v + 1]].
    """
    distance = np.full(len(offsets) - 1, -1, dtype=np.int64)
    level, frontier = 0, np.unique(starts)
    while frontier.size:
        distance[frontier] = level
        first, count = offsets[frontier], offsets[frontier + 1] - offsets[frontier]
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        reached = targets[np.repeat(first, count) + within]
        level, frontier = level + 1, np.unique(reached[distance[reached] < 0])
    return distance


def _sorted_table(
    values: Sequence[Value], state_columns: npt.NDArray[np.integer]
) -> tuple[tuple[Value, ...], IntArray]:
    """The values that occur, each once and in their order, and the new index of each old one."""
    used = {values[i] for i in np.unique(state_columns).tolist()}
    table = sorted(used, key=lambda value: value.sort_key())
    place = {value: i for i, value in enumerate(table)}
    ranks = np.array([place.get(value, -1) for value in values], dtype=np.int32)
    return tuple(table), ranks


def _content_ranks(variables: Sequence[str], columns: IntArray) -> npt.NDArray[np.int64]:
    """Each state's place in the order by content: its values, variables taken by name."""
    by_name = sorted(range(len(variables)), key=variables.__getitem__, reverse=True)
    order = np.lexsort([columns[:, i] for i in by_name]) if by_name else np.arange(len(columns))
    twins = np.flatnonzero((columns[order[1:]] == columns[order[:-1]]).all(axis=1))
    if twins.size:
        first, second = sorted(order[twins[0] : twins[0] + 2].tolist())
        raise MbtError(f"states {first} and {second} (counted from 0) of the graph are the same")
    ranks = np.empty(len(columns), dtype=np.int64)
    ranks[order] = np.arange(len(columns))
    return ranks


def _offsets(sorted_sources: npt.NDArray[np.integer], states: int) -> npt.NDArray[np.int64]:
    return np.searchsorted(sorted_sources, np.arange(states + 1)).astype(np.int64)


def _frozen(array: npt.NDArray[np.integer]) -> IntArray:
    frozen = np.ascontiguousarray(array, dtype=np.int32)
    frozen.flags.writeable = False
    return frozen
