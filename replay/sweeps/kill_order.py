"""Whether a recovery depends on the order in which two writes of one task become durable.

A task's writes and the checkpoint that is made of them are submitted together, and nothing orders
them (LangGraph's issue #8039). A checkpointer that stores the writes after the checkpoint is as
legal as one that stores them as they come, so two logs are legal at a crash: with the writes, and
without. Each is made by a kill, and recovered by each recovery call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replay.stops import Stop, operations, until
from replay.sweeps.kill_sweep import (
    Data,
    Progress,
    Sweep,
    after_effect,
    at_effect,
    killed,
    station,
)

CHAIN, FAN_OUT = (
    "adapters.langgraph_order:LangGraphOrder",
    "adapters.langgraph_order:LangGraphFanOut",
)
LOGS = {"submitted": "writes kept", "deferred": "writes lost"}
"""The order of a checkpointer -> what is called so of the log that it leaves."""
RECOVERIES = ("resume", "resubmit")


@dataclass(frozen=True)
class Case:
    """A workflow and a place to kill it.

    Attributes:
        adapter: MODULE:CLASS of the workflow.
        about: workflow and place, for a reader.
        choose: makes what chooses the stop at which the run is killed.
    """

    adapter: str
    about: str
    choose: Callable[[], Callable[[Stop], bool]]

    def sweep(self, order: str, recover: str) -> Sweep:
        """Its form; nothing is asked where two tasks run at a time."""
        gate = 2 if self.adapter == CHAIN else 0
        return Sweep(self.adapter, {"order": order, "recover": recover}, gate=gate)


CASES = {
    "chain": Case(
        CHAIN,
        "t1, then t2 and t3; killed at the first operation after t1's effect, which is to store its"
        " writes or the checkpoint behind them",
        lambda: after_effect(1),
    ),
    "fan-out, one done": Case(
        FAN_OUT,
        "t1 and t2 in one superstep, then t3; t1 is over, and its writes were handed to the"
        " checkpointer; killed at t2's effect",
        lambda: at_effect(2),
    ),
    "fan-out, both done": Case(
        FAN_OUT,
        "t1 and t2 in one superstep, then t3; killed at the first operation after t2's effect,"
        " which is to store its writes or the checkpoint behind those of both",
        lambda: after_effect(2),
    ),
}


def measure_order(progress: Progress) -> list[Data]:
    """Make both logs of each case and recover each by each call: the evidence, as JSON."""
    logs = [(name, call, order) for name in CASES for call in RECOVERIES for order in LOGS]
    rows = []
    for done, (name, call, order) in enumerate(logs):
        progress("order of writes", done, len(logs))
        rows.append(recover_log(name, order, call))
    progress("order of writes", len(logs), len(logs))
    return rows


def recover_log(name: str, order: str, call: str) -> Data:
    """Make one log of a case, and recover it by one call.

    Raises:
        HostError: the machinery failed.
    """
    case = CASES[name]
    with station(case.sweep(order, call)) as place, place.life() as life:
        passed = operations(until(life, case.choose()))
        return {
            "case": name,
            "about": case.about,
            "log": LOGS[order],
            "recover": call,
            "submitted": life.notes["submitted"],
            "stored": [stop.name for stop in passed],
            "holds": passed[-1].holds,
            **killed(life, stops=case.adapter == FAN_OUT),
        }


def first_task(row: Mapping[str, Any]) -> int | None:
    """The task that the recovery came to first: its gate; of those of a fan-out, the lowest."""
    if row["decision"] is not None:
        return int(row["decision"])
    return min((task for task, _, process in row["ledger"] if process > 1), default=None)
