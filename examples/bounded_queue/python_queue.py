"""Python's queues, driven by the model BoundedQueue."""

import queue
from collections.abc import Mapping
from typing import Any, ClassVar

from mbt import Adapter, Option, Run


class PythonQueue(Adapter):
    """A `queue.Queue`, or a class that might be taken for one."""

    options: ClassVar[Mapping[str, Option]] = {
        "kind": Option(
            default="Queue",
            choices=("Queue", "LifoQueue", "SimpleQueue"),
            about="the class of the queue",
        ),
    }

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        kind = getattr(queue, run.options["kind"])
        # SimpleQueue takes no bound: that is what the replay is to find out.
        bound = {} if kind is queue.SimpleQueue else {"maxsize": run.workflow["capacity"]}
        self.queue = kind(**bound)
        self.taken: list[str] = []

    def Put(self, x: str) -> None:
        self.system(lambda: self.queue.put_nowait(x))

    def Overfill(self) -> None:
        self.system(lambda: self.queue.put_nowait("one too many"))

    def Get(self) -> None:
        self.taken.append(self.system(self.queue.get_nowait))

    def observe(self) -> dict[str, Any]:
        return {"taken": list(self.taken), "size": self.queue.qsize()}
