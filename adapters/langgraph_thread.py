"""Where a LangGraph run is in its thread, whoever else writes there.

A thread is a tree of checkpoints with one head, the newest of them. A fork writes into the
thread of the run that it branches from, so it moves the head away from that run. The run's own
last checkpoint is therefore kept by whoever drives it: it is the head after the last step that
a process of the run took, never one that another process wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Config = dict[str, Any]

#: The run's thread, as a caller names it: one run a store, so one name does for all. Addresses
#: name the namespace too, or `update_state` raises KeyError.
THREAD: Config = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}


def at_checkpoint(identifier: str) -> Config:
    """The address of one checkpoint of the thread."""
    return {"configurable": {**THREAD["configurable"], "checkpoint_id": identifier}}


class Place:
    """A run's place in its thread.

    Notes: `head`, the id of the run's own last checkpoint.
    """

    def __init__(self, saver: Any, notes: dict[str, Any]) -> None:
        """Read through a checkpointer, apart from the one that the run writes through."""
        self._saver = saver
        self._notes = notes
        self._seen: str | None = None

    def newest(self) -> str | None:
        """The id of the thread's head, whoever wrote it."""
        record = self._saver.get_tuple(THREAD)
        return record.checkpoint["id"] if record else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is written to the thread meanwhile is the run's own."""
        self._seen = self.newest()
        try:
            yield
        finally:
            self._follow()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within `writing`: what is written to the thread meanwhile is not the run's."""
        self._follow()
        try:
            yield
        finally:
            self._seen = self.newest()

    def _follow(self) -> None:
        """Take the thread's head for the run's, unless the run wrote nothing that moved it."""
        newest = self.newest()
        if newest != self._seen:
            self._notes["head"] = self._seen = newest

    def head(self) -> Config:
        """The address of the run's own last checkpoint."""
        return at_checkpoint(self._notes["head"])

    def move(self, identifier: str) -> None:
        """Go to another checkpoint: what follows is written there."""
        self._notes["head"] = identifier

    def address(self, mode: str) -> Config:
        """Where a call that goes on is addressed to.

        Args:
            mode: "thread", and the run is wherever the thread's head is; "address", the run's
                own last checkpoint; "auto", the thread while its head is that checkpoint.
        """
        newest = self.newest()
        if mode == "address" or (mode == "auto" and newest != self._notes["head"]):
            return self.head()
        self._notes["head"] = newest
        return THREAD

    def lineage(self) -> list[Any]:
        """The checkpoints from the start of the run to its own last, as the saver returns them."""
        stored = {record.checkpoint["id"]: record for record in self._saver.list(THREAD)}
        line = []
        identifier = self._notes.get("head")
        while identifier is not None:
            line.append(stored[identifier])
            parent = stored[identifier].parent_config
            identifier = parent and parent["configurable"]["checkpoint_id"]
        return line[::-1]
