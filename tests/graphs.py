"""Graphs for tests: drawn by hypothesis, written out by their edges, or explored by TLC."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from tracegen.cache import open_cache
from tracegen.cfg import read_config
from tracegen.graph import StateGraph
from tracegen.tlc import state_graph
from tracegen.tools import find_tools
from tracegen.values import Int

SPECS = Path(__file__).resolve().parent.parent / "specs"


@dataclass(frozen=True)
class Plain:
    """A graph of numbered vertices; an edge's number is its place."""

    vertices: int
    initial: Sequence[int]
    edges: Sequence[tuple[int, int]]

    def __len__(self):
        return self.vertices

    @cached_property
    def sources(self):
        return np.array([source for source, _ in self.edges], dtype=np.int64)

    @cached_property
    def targets(self):
        return np.array([target for _, target in self.edges], dtype=np.int64)


@st.composite
def plain_graphs(draw, *, vertices=5, edges=7, acyclic=False):
    """Small graphs with cycles (or without any), self-loops, parallel edges, several starts."""
    size = draw(st.integers(1, vertices))
    places = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(places, places), max_size=edges))
    if acyclic:
        pairs = [(a, b) for a, b in map(sorted, pairs) if a != b]
    return Plain(size, sorted(draw(st.sets(places, min_size=1, max_size=3))), pairs)


def numbered(edges: Iterable[tuple[int, str, int]], initial: Iterable[int] = (0,)) -> StateGraph:
    """The state graph of one variable x over integers, given by its edges and initial states."""
    edges = list(edges)
    initial = list(initial)
    states = sorted({*initial, *(x for source, _, target in edges for x in (source, target))})
    place = {x: i for i, x in enumerate(states)}
    return StateGraph.build(
        ["x"],
        [(Int(x),) for x in states],
        [place[x] for x in initial],
        [(place[source], action, place[target]) for source, action, target in edges],
    )


@cache
def resume_graph(*, crashes: int = 1, fault: str | None = None) -> StateGraph:
    """What TLC explores of specs/ResumeContract.tla at reference bounds."""
    config = read_config(SPECS / "ResumeContract_R0.cfg").with_constants(MaxCrashes=crashes)
    if fault:
        config = config.with_constants({f"Fault{fault}": True})
    module = SPECS / "ResumeContract.tla"
    return state_graph(module, config, tools=find_tools(), cache=open_cache())[1]
