"""An application on CrewAI that logs its runs: an order is drafted, approved by hand, sent.

    python flow_app.py FOLDER ORDER begin [--dies-in TASK]

and, each in a process of its own, `answer`, or `begin` again, which is how a flow under @persist
is recovered. The log is FOLDER/runs.jsonl.
"""

import argparse
import os
import signal
from pathlib import Path

from crewai.flow import HumanFeedbackResult, human_feedback
from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.flow import Flow, FlowState, listen, start
from crewai.flow.persistence import SQLiteFlowPersistence, persist

from mbt.loggers.crewai import CrewAILog

words = argparse.ArgumentParser()
words.add_argument("folder", type=Path)
words.add_argument("order")
words.add_argument("call", choices=["begin", "answer"])
words.add_argument("--dies-in")
given = words.parse_args()

log = CrewAILog(
    given.folder / "runs.jsonl", "Order", tasks={"draft": 1, "pay": 2, "send": 3}, gate="approve"
)
store = SQLiteFlowPersistence(str(given.folder / "orders.db"))


class AskLater:
    def request_feedback(self, context: PendingFeedbackContext, flow: Flow) -> str:
        raise HumanFeedbackPending(context=context)


def enter(task: str) -> None:
    if task == given.dies_in:
        log.flush()  # or the log may lack what happened just before
        os.kill(os.getpid(), signal.SIGKILL)


@persist(store)
class Order(Flow[FlowState]):
    @start()
    def draft(self) -> None:
        enter("draft")
        log.effect(self, 1)

    @listen(draft)
    @human_feedback(message="may it be paid?", llm=None, provider=AskLater())
    def approve(self) -> str:
        enter("approve")
        return "may it be paid?"

    @listen(approve)
    def pay(self, answer: HumanFeedbackResult) -> None:
        enter("pay")
        log.effect(self, 2)

    @listen(pay)
    def send(self) -> None:
        enter("send")
        log.effect(self, 3)


if given.call == "answer":
    Order.from_pending(given.order, store).resume("yes")
else:
    Order(persistence=store).kickoff(inputs={"id": given.order})
