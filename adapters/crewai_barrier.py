"""CrewAI's persistence behind a barrier: flow states, pending questions, checkpoints."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from adapters.barrier import Barrier


def put_behind(barrier: Barrier | None, persistence: Any) -> None:
    """Put a flow persistence behind a barrier, where there is one."""
    if barrier is not None:
        barrier.guard(
            persistence, save_state=_state, save_pending_feedback=None, clear_pending_feedback=None
        )


def put_provider_behind(barrier: Barrier | None, provider: Any) -> None:
    """Put a checkpoint provider behind a barrier, where there is one."""
    if barrier is not None:
        barrier.guard(provider, checkpoint=_checkpoint)


def holdings(rows: sqlite3.Connection) -> dict[str, list[str]]:
    """What a database of SQLiteFlowPersistence holds, of whatever flow: names of methods.

    `states`: whose completion is stored, oldest first; `pending`: the last stored when a question
    was asked that is still there.
    """
    states = rows.execute("SELECT method_name FROM flow_states ORDER BY id").fetchall()
    pending = rows.execute("SELECT context_json FROM pending_feedback ORDER BY id").fetchall()
    return {
        "states": [name for (name,) in states],
        "pending": [json.loads(context)["method_name"] for (context,) in pending],
    }


def _state(*arguments: Any, **named: Any) -> str:
    method = named.get("method_name") or arguments[1]
    return f"save_state({method})"


def _checkpoint(data: str, *_: Any, **__: Any) -> str:
    return f"checkpoint({json.loads(data)['trigger']})"
