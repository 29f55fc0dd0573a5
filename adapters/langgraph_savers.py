"""LangGraph's checkpointers: where a run's thread is stored, and what a process opens of it."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from adapters.base import Option, Run

SAVER = {"saver": Option("sqlite", ("sqlite", "postgres", "memory"), "the checkpointer")}

DISTRIBUTIONS = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
)

_CLASSES = {
    "sqlite": ("langgraph.checkpoint.sqlite", "SqliteSaver"),
    "postgres": ("langgraph.checkpoint.postgres", "PostgresSaver"),
    "memory": ("langgraph.checkpoint.memory", "InMemorySaver"),
}


def services(options: Mapping[str, str]) -> tuple[str, ...]:
    """The servers that a choice of checkpointer needs."""
    return ("postgres",) if options["saver"] == "postgres" else ()


class Savers:
    """Opens checkpointers of one kind; made in the host, used in the processes of runs."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Import the checkpointer, and connect to nothing."""
        self.kind = options["saver"]
        module, name = _CLASSES[self.kind]
        self._class: Any = getattr(importlib.import_module(module), name)
        if self.kind == "postgres":
            self._psycopg: Any = importlib.import_module("psycopg")
        if self.kind == "memory":
            self._memory = self._class()  # a fork of the host has an empty one of its own

    def open(self, run: Run, opened: list[Any], make: Callable[..., Any] | None = None) -> Any:
        """A checkpointer over the run's store, with a connection of its own.

        Args:
            opened: where its connection is put, for whoever closes it.
            make: makes a checkpointer of its class and the arguments of that; by default by
                calling the class.
        """
        make = make or (lambda kind, *arguments: kind(*arguments))
        if self.kind == "memory":
            saver = make(self._class)
            vars(saver).update(vars(self._memory))  # which shares what it stores
            return saver
        opened.append(self._connect(run))
        return make(self._class, opened[-1])

    def _connect(self, run: Run) -> Any:
        """A connection to the run's database.

        SQLite does not wait for the disk: what is written outlives the process, which is what
        gets killed here, not the machine.
        """
        if self.kind == "postgres":
            rows = self._psycopg.rows.dict_row
            return self._psycopg.connect(
                run.services["postgres"], autocommit=True, row_factory=rows
            )
        connection = sqlite3.connect(
            run.folder / "langgraph.db", timeout=60, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous=OFF")
        return connection
