"""Cheapest flows by linear programming, with a proof in integers for each answer.

The matrix of a flow is totally unimodular: some optimum of the linear program is integral, and so
is some optimum of its dual. A solver that works in floats only proposes the two; that they prove
each other optimal is checked in integers, so no answer rests on a tolerance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csc_array

from tracegen.errors import MachineryError

Ints = npt.NDArray[np.int64]

# Interior point with crossover is the faster by far on large cyclic graphs (3 s against 63 s for
# a random one of 100,000 edges); simplex is for what it cannot finish.
_METHODS = ("highs-ipm", "highs-ds")


def cheapest_flow(tails: Ints, heads: Ints, costs: Ints, demand: Ints) -> Ints:
    """The cheapest flow that brings each node at least its demand, as an integer for each arc.

    Nodes are 0..len(demand)-1; each gets inflow minus outflow >= demand, so one with a negative
    demand has that much to give away and need not. Node len(demand) is the root, which gives
    without limit. Arcs have no capacity; `costs` are not negative, and `tails`, `heads` and
    `costs` are as long as there are arcs. Each node with a demand must be reachable from the root.

    Among the cheapest flows it is the one with the smallest sum of weights, where an arc's weight
    is a fixed number below 2^30 drawn for its place. Such a sum singles out one flow (two tie with
    a chance below arcs / 2^30), so the answer depends on no solver, release or machine.

    Raises MachineryError when the solver's answer is not provably optimal.
    """
    if not (demand > 0).any():
        return np.zeros(len(costs), dtype=np.int64)
    flow, price = _optimum(tails, heads, costs, demand, np.zeros(len(demand), dtype=bool))
    # By complementary slackness the cheapest flows are those that use tight arcs alone and
    # leave nothing over where the price is positive.
    tight = np.flatnonzero(costs == _gain(price, tails, heads))
    # Unlike default_rng's, the stream of RandomState is frozen across releases of NumPy.
    weights = np.random.RandomState(0).randint(1, 2**30, size=len(costs), dtype=np.int64)
    flow[:] = 0
    flow[tight], _ = _optimum(tails[tight], heads[tight], weights[tight], demand, price > 0)
    return flow


def _optimum(
    tails: Ints, heads: Ints, costs: Ints, demand: Ints, exact: npt.NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """A cheapest flow and the prices of the nodes that prove it; `exact` demands are equations."""
    nodes, arcs = len(demand), len(costs)
    ones, columns = np.ones(arcs, dtype=np.int64), np.arange(arcs)
    entries = (np.r_[ones, -ones], (np.r_[heads, tails], np.r_[columns, columns]))
    balance = csc_array(entries, shape=(nodes + 1, arcs))[:nodes].tocsr()
    for method in _METHODS:
        result = linprog(
            costs,
            A_ub=-balance[~exact],
            b_ub=-demand[~exact],
            A_eq=balance[exact],
            b_eq=demand[exact],
            method=method,
        )
        if result.x is None:
            continue
        flow = np.rint(result.x).astype(np.int64)
        price = np.empty(nodes, dtype=np.int64)
        price[~exact] = np.rint(-result.ineqlin.marginals)
        price[exact] = np.rint(result.eqlin.marginals)
        surplus = balance @ flow - demand
        if (
            (flow >= 0).all()
            and (surplus >= 0).all()
            and not surplus[exact].any()
            and (price[~exact] >= 0).all()
            and (_gain(price, tails, heads) <= costs).all()
            and costs @ flow == demand @ price
        ):
            return flow, price
    raise MachineryError(
        f"the solver did not prove its flow optimal ({nodes:,} nodes, {arcs:,} arcs): "
        f"{result.message}"
    )


def _gain(price: Ints, tails: Ints, heads: Ints) -> Ints:
    priced = np.append(price, 0)  # the root's price is 0
    gain: Ints = priced[heads] - priced[tails]
    return gain
