"""DBOS's system database behind a barrier: an operation is a transaction that wrote and committed.

What SQLAlchemy tells of a connection is public: the statements that it executes, that it is about
to commit, and that it was given back, which is the first word after a commit.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from adapters.barrier import Barrier

#: What a connection that writes keeps beside it: the lock that it holds, how many rows it had
#: changed before, what it writes, and whether it was told to commit.
_OPEN, _BEFORE, _WRITES, _COMMITTED = "mbt open", "mbt before", "mbt writes", "mbt committed"
_WRITE = re.compile(
    r'\s*(INSERT|UPDATE|DELETE)\s+(?:OR\s+\w+\s+)?(?:INTO\s+|FROM\s+)?(?:"?main"?\.)?"?(\w+)', re.I
)
#: What is written where DBOS is launched, whatever workflows there are.
_LAUNCH = {"dbos_migrations", "application_versions", "queues"}


def put_behind(barrier: Barrier) -> None:
    """Put all system databases of this process behind a barrier."""
    from sqlalchemy import Engine, event
    from sqlalchemy.pool import Pool

    @event.listens_for(Engine, "before_cursor_execute")
    def _(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if (written := _written(statement)) is None:
            return
        if _OPEN not in connection.info:
            opened = ExitStack()
            opened.enter_context(barrier.lock)
            changes = connection.connection.dbapi_connection.total_changes
            connection.info.update({_OPEN: opened, _BEFORE: changes, _WRITES: []})
        connection.info[_WRITES].append(written)

    @event.listens_for(Engine, "commit")
    def _(connection: Any) -> None:
        connection.info[_COMMITTED] = True

    @event.listens_for(Pool, "checkin")
    def _(connection: Any, record: Any) -> None:
        committed = record.info.pop(_COMMITTED, False)
        if _OPEN not in record.info:
            return
        opened, before, writes = (record.info.pop(key) for key in (_OPEN, _BEFORE, _WRITES))
        with opened:
            # DBOS's queues are looked after beside the workflow, by updates that find no row.
            if committed and connection.total_changes > before:
                with barrier.operation(f"commit({', '.join(dict.fromkeys(writes))})"):
                    pass  # it is durable


def _written(statement: str) -> str | None:
    """What a statement does to which table; None where it writes nothing of a workflow."""
    found = _WRITE.match(statement)
    if found is None or found[2] in _LAUNCH:
        return None
    return f"{found[1].lower()} {found[2]}"


def holdings(path: Path) -> dict[str, Any]:
    """What the system database holds of the run: status, steps in order, and how many messages."""
    rows = sqlite3.connect(path, timeout=60)
    try:
        return {
            "status": [s for (s,) in rows.execute("SELECT status FROM workflow_status")],
            "steps": [
                name
                for (name,) in rows.execute(
                    "SELECT function_name FROM operation_outputs ORDER BY function_id"
                )
            ],
            "messages": rows.execute("SELECT count(*) FROM notifications").fetchone()[0],
        }
    finally:
        rows.close()
