"""A lease in a table of SQLite, driven by the model Leases."""

import sqlite3
from collections.abc import Mapping
from typing import Any, ClassVar

from mbt import Adapter, Option, Run

CREATE = "CREATE TABLE IF NOT EXISTS lease AS SELECT 'nobody' AS owner, 0 AS token, 0 AS expires"
ACQUIRE = """UPDATE lease SET owner = :client, token = token + 1, expires = :now + :term
             WHERE expires <= :now RETURNING token, expires"""
RENEW = "UPDATE lease SET expires = :now + :term WHERE {} RETURNING token, expires"
OWN, LIVE = "owner = :client", "expires > :now"
FAULTS = ("none", "any-owner", "any-time", "no-commit")
NO_REPLY = {"to": "nobody", "token": 0}


class SqliteLeases(Adapter):
    """Clients in one process, which die with it; the lease is in a file, which does not."""

    options: ClassVar[Mapping[str, Option]] = {
        "fault": Option("none", FAULTS, "what is forgotten: whose, until when, to commit"),
    }

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        fault, clients = run.options["fault"], run.workflow["clients"]
        self.db = sqlite3.connect(run.folder / "leases.db")
        if fault != "no-commit":
            self.db.isolation_level = None  # each statement commits by itself
        self.db.execute(CREATE)
        self.renewal = {"any-owner": LIVE, "any-time": OWN}.get(fault, f"{OWN} AND {LIVE}")
        self.until, self.reply = dict.fromkeys(clients, 0), NO_REPLY
        self.now = run.notes.setdefault("now", 0)  # notes outlive a process, as time does

    def ask(self, statement: str, client: str) -> None:
        values = {"client": client, "now": self.now, "term": self.run.workflow["term"]}
        row = self.system(lambda: self.db.execute(statement, values).fetchone())
        token, self.until[client] = row or (0, 0)
        self.reply = {"to": client, "token": token}

    def Acquire(self, c: str) -> None:
        self.ask(ACQUIRE, c)

    def Renew(self, c: str) -> None:
        self.ask(RENEW.format(self.renewal), c)

    def Tick(self) -> None:
        self.now = self.run.notes["now"] = self.now + 1
        self.reply = NO_REPLY

    def Crash(self) -> None:
        """Nothing: it is called in the process that comes after the kill."""

    def observe(self) -> dict[str, Any]:
        cursor = self.db.execute("SELECT owner, token, expires FROM lease")
        row = dict(zip(("owner", "token", "expires"), cursor.fetchone(), strict=True))
        return {"row": row, "until": self.until, "reply": self.reply}
