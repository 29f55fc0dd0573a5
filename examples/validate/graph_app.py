"""An application on LangGraph that logs its runs: an order is drafted, approved by hand, sent.

    python graph_app.py FOLDER ORDER begin [--dies-in TASK]

and, each in a process of its own, `answer`, `go-on` (the way to recover) or `send-again` (a way
that looks right and is not). The log is FOLDER/runs.jsonl.
"""

import argparse
import operator
import os
import signal
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from mbt.loggers.langgraph import LangGraphLog

INPUT = {"done": []}

words = argparse.ArgumentParser()
words.add_argument("folder", type=Path)
words.add_argument("order")
words.add_argument("call", choices=["begin", "answer", "go-on", "send-again"])
words.add_argument("--dies-in")
given = words.parse_args()

log = LangGraphLog(
    given.folder / "runs.jsonl", tasks={"draft": 1, "approve": 2, "send": 3}, gate="approve"
)


class Order(TypedDict):
    done: Annotated[list[str], operator.add]


def enter(task: str) -> None:
    if task == given.dies_in:
        os.kill(os.getpid(), signal.SIGKILL)


def work(task: str, config: RunnableConfig) -> dict[str, list[str]]:
    # Here the order would be written, paid or sent; this counts how often.
    log.effect(config)
    return {"done": [task]}


def draft(order: Order, config: RunnableConfig) -> dict[str, list[str]]:
    enter("draft")
    return work("draft", config)


def approve(order: Order, config: RunnableConfig) -> dict[str, list[str]]:
    enter("approve")
    interrupt("may it be sent?")
    return work("approve", config)


def send(order: Order, config: RunnableConfig) -> dict[str, list[str]]:
    enter("send")
    return work("send", config)


graph = StateGraph(Order)
graph.add_sequence([draft, approve, send])
graph.add_edge(START, "draft")

with SqliteSaver.from_conn_string(str(given.folder / "orders.db")) as saver:
    inputs = {"answer": Command(resume="yes"), "go-on": None}.get(given.call, INPUT)
    config = {"configurable": {"thread_id": given.order}, "callbacks": [log]}
    # By default the next task may start before the last one's completion is durable.
    graph.compile(checkpointer=saver).invoke(inputs, config, durability="sync")
