"""Where a LangGraph run is in its thread, whoever else writes there.

A thread is a tree of checkpoints with one head, the newest of them. A fork writes into the
thread of the run that it branches from, so it moves the head away from that run. The run's own
last checkpoint is therefore kept by whoever drives it: it is the one that a process of the run
put last, or executed a body from, and is never read from the thread's head after another process
may have written there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from adapters.base import AdapterFault

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

    #: Seconds that a checkpoint may take to be written.
    LIMIT = 30.0

    def __init__(self, saver: Any, notes: dict[str, Any]) -> None:
        """Read through a checkpointer, apart from the one that the run writes through."""
        self._saver = saver
        self._notes = notes
        self._moved = threading.Condition()

    def follow(self, saver: Any) -> Any:
        """Follow what a checkpointer puts, which is the run's own; return the checkpointer."""
        put, put_writes = saver.put, saver.put_writes

        def put_and_tell(config: Config, checkpoint: Any, *rest: Any) -> Any:
            written = put(config, checkpoint, *rest)
            if not config["configurable"].get("checkpoint_ns"):  # no subgraph's
                self.move(checkpoint["id"])
            return written

        def put_writes_and_tell(*arguments: Any) -> None:
            put_writes(*arguments)
            with self._moved:
                self._moved.notify_all()

        saver.put, saver.put_writes = put_and_tell, put_writes_and_tell
        return saver

    def move(self, identifier: str) -> None:
        """Be at a checkpoint: what follows is written there."""
        with self._moved:
            self._notes["head"] = identifier
            self._moved.notify_all()

    def arrive(self, identifier: str) -> None:
        """Be where a body is executed from, once that checkpoint is durable.

        LangGraph 1.2.9 puts the checkpoint of a replay while the first body already runs, with
        durability="sync" too: a run that is held there may not be looked at before.

        Raises:
            AdapterFault: nobody put that checkpoint in time.
        """
        with self._moved:
            if self._notes.get("head") == identifier:
                return  # which is stored: nothing becomes the head before it is
        self.until(lambda: self._stored(identifier), f"checkpoint {identifier}")
        self.move(identifier)

    def until(self, stored: Callable[[], bool], what: str) -> None:
        """Wait until what this process has under way is stored.

        Raises:
            AdapterFault: it was not in time.
        """
        with self._moved:
            if not self._moved.wait_for(stored, self.LIMIT):
                raise AdapterFault(f"a body is executed, and not stored yet is {what}")

    def _stored(self, identifier: str) -> bool:
        return self._saver.get_tuple(at_checkpoint(identifier)) is not None

    def last(self) -> Any:
        """The run's own last checkpoint, as the saver returns it."""
        return self._saver.get_tuple(self.head())

    def newest(self) -> str | None:
        """The id of the thread's head, whoever wrote it."""
        record = self._saver.get_tuple(THREAD)
        return record.checkpoint["id"] if record else None

    def head(self) -> Config:
        """The address of the run's own last checkpoint."""
        return at_checkpoint(self._notes["head"])

    def address(self, mode: str) -> Config:
        """Where a call that goes on is addressed to.

        Args:
            mode: "thread", and the run is wherever the thread's head is; "address", the run's
                own last checkpoint; "auto", the thread while its head is that checkpoint.
        """
        newest = self.newest()
        if mode == "address" or (mode == "auto" and newest != self._notes["head"]):
            return self.head()
        if newest is not None:
            self.move(newest)
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

    def holdings(self) -> list[list[Any]]:
        """Every checkpoint of the thread, oldest first: what put it, and what is written there."""
        return [
            [
                f"{record.metadata['source']} {record.metadata['step']}",
                sorted(channel for _, channel, _ in record.pending_writes or ()),
            ]
            for record in [*self._saver.list(THREAD)][::-1]
        ]
