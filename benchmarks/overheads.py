"""What stands between a question and its answered effect costs: the paper's Table VIII, as ratios.

No harness takes part: a workflow of one task that asks and then fires an effect, started until it
asks, then answered. Three spans are timed: from the start until it asks, from the answer until the
effect is durable, and from the answer until the call or the workflow ends. Every configuration runs
once a round on a store of its own, opened before the clock starts, in an order that moves on by one
each round; a figure is the median over the rounds of its ratio to the stock saver of its backend
(for DBOS: the stock SQLite saver) in the same round. Milliseconds are of one machine and one hour;
ratios are less so. A run whose effect is not there once, with the answer, is no measurement.

    python benchmarks/overheads.py                     40 rounds of all; about two minutes
    python benchmarks/overheads.py --rounds 5          fewer
    python benchmarks/overheads.py --only sqlite dbos  some backends: memory, sqlite, postgres, dbos
    python benchmarks/overheads.py --json              the same as data, each round of it
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from adapters.services import Services, open_services

ANSWER, TOPIC = "approved", "answers"
DBOS_POLLING_S = 0.02
"""How often DBOS looks for a message in SQLite, which tells it of none."""
SPANS = ("ask", "effect", "end")
BACKENDS = ("memory", "sqlite", "postgres", "dbos")


@dataclass(frozen=True)
class Spans:
    """Seconds of one run: start to ask, answer to durable effect, answer to end."""

    ask: float
    effect: float
    end: float


class Effects:
    """A ledger with a row an effect, durable when `fire` returns; knows when that was."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self.connection.execute("CREATE TABLE effects (value TEXT)")
        self.fired = 0.0

    def fire(self, value: str | None) -> None:
        """Fire an effect."""
        self.connection.execute("INSERT INTO effects VALUES (?)", (value,))
        self.fired = time.perf_counter()

    def hold(self, configuration: str) -> None:
        """Raise SystemExit unless the effect is there once, with the answer."""
        rows = self.connection.execute("SELECT value FROM effects").fetchall()
        self.connection.close()
        if rows != [(ANSWER,)]:
            raise SystemExit(f"{configuration}: the effects are {rows}, not one of {ANSWER!r}")


#: Makes ready in a folder, yields what runs the protocol once.
Configuration = Callable[[Path], AbstractContextManager[Callable[[Effects], Spans]]]


def langgraph(backend: str, wrapping: str, services: Services) -> Configuration:
    """LangGraph over a saver: `wrapping` is stock, shim or gate (remit-contract's)."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt
    from typing_extensions import TypedDict

    class State(TypedDict):
        answer: str

    def wrapped(kind: Any, *arguments: Any) -> Any:
        if wrapping == "stock":
            return kind(*arguments)
        import remit

        return remit.wrap(kind, *arguments, cross_process_gate=wrapping == "gate")

    @contextmanager
    def saver(folder: Path) -> Iterator[Any]:
        if backend == "memory":
            from langgraph.checkpoint.memory import InMemorySaver

            yield wrapped(InMemorySaver)
        elif backend == "sqlite":
            from langgraph.checkpoint.sqlite import SqliteSaver

            connection = sqlite3.connect(folder / "store.db", check_same_thread=False)
            with contextlib.closing(connection):
                yield wrapped(SqliteSaver, connection)
        else:
            import psycopg
            from langgraph.checkpoint.postgres import PostgresSaver

            rows: Any = psycopg.rows.dict_row
            with (
                services.for_run() as given,
                psycopg.connect(
                    given.addresses["postgres"], autocommit=True, row_factory=rows
                ) as connection,
            ):
                yield wrapped(PostgresSaver, connection)

    @contextmanager
    def ready(folder: Path) -> Iterator[Callable[[Effects], Spans]]:
        with saver(folder) as opened:
            if hasattr(opened, "setup"):
                opened.setup()
            thread: Any = {"configurable": {"thread_id": "run"}}

            def run(effects: Effects) -> Spans:
                def task(_state: State) -> State:
                    answer = interrupt("may it go on?")
                    effects.fire(answer)
                    return {"answer": answer}

                builder: Any = StateGraph(State)
                builder.add_node("task", task)
                builder.add_edge(START, "task")
                builder.add_edge("task", END)
                graph = builder.compile(checkpointer=opened)
                began = time.perf_counter()
                asked = graph.invoke({"answer": ""}, thread, durability="sync")
                parked = time.perf_counter()
                assert "__interrupt__" in asked
                sent = time.perf_counter()
                graph.invoke(Command(resume=ANSWER), thread, durability="sync")
                ended = time.perf_counter()
                return Spans(parked - began, effects.fired - sent, ended - sent)

            yield run

    return ready


def dbos() -> Configuration:
    """DBOS as an embedded worker over SQLite, answered by `send` from the same process."""
    from dbos import DBOS

    asks, here = threading.Event(), {}

    @DBOS.step()
    def fire(answer: str) -> None:
        here["effects"].fire(answer)

    @DBOS.step()
    def ask() -> None:
        asks.set()

    @DBOS.workflow()
    def workflow() -> None:
        ask()
        fire(DBOS.recv(TOPIC, timeout_seconds=60))

    @contextmanager
    def ready(folder: Path) -> Iterator[Callable[[Effects], Spans]]:
        DBOS(
            config={
                "name": "overheads",
                "system_database_url": f"sqlite:///{folder / 'dbos.db'}",
                "run_admin_server": False,
                "enable_otlp": False,
                "log_level": "ERROR",
                "notification_listener_polling_interval_sec": DBOS_POLLING_S,
            }
        )
        DBOS.launch()

        def run(effects: Effects) -> Spans:
            here["effects"] = effects
            asks.clear()
            began = time.perf_counter()
            handle = DBOS.start_workflow(workflow)
            assert asks.wait(60)
            parked = time.perf_counter()
            sent = time.perf_counter()
            DBOS.send(handle.workflow_id, ANSWER, TOPIC)
            handle.get_result(polling_interval_sec=0.001)
            ended = time.perf_counter()
            return Spans(parked - began, effects.fired - sent, ended - sent)

        try:
            yield run
        finally:
            DBOS.destroy()

    return ready


def configurations(only: Sequence[str], services: Services) -> dict[str, Configuration]:
    """Name -> configuration; the name begins with the backend."""
    forms = {"memory": ("stock", "shim"), "sqlite": ("stock", "shim", "gate")}
    forms["postgres"] = forms["sqlite"]
    found = {
        f"{backend} {form}": langgraph(backend, form, services)
        for backend in only
        for form in forms.get(backend, ())
    }
    return found | ({"dbos": dbos()} if "dbos" in only else {})


def baseline(name: str) -> str:
    """What a configuration is held against."""
    return "sqlite stock" if name == "dbos" else f"{name.split()[0]} stock"


def measure(found: dict[str, Configuration], rounds: int) -> list[dict[str, Spans]]:
    """Run every configuration once a round, after one round that only warms up."""
    names = [*found]
    rows = []
    for number in range(rounds + 1):
        row = {}
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            with tempfile.TemporaryDirectory(prefix="overheads-") as temporary:
                folder = Path(temporary)
                effects = Effects(folder / "effects.db")
                with found[name](folder) as run:
                    row[name] = run(effects)
                effects.hold(name)
        rows.append({name: row[name] for name in names})
    return rows[1:]


def summary(rows: Sequence[dict[str, Spans]]) -> dict[str, dict[str, dict[str, float]]]:
    """Configuration -> span -> median milliseconds, and median ratio to its baseline."""
    return {
        name: {
            span: {
                "ms": 1000 * statistics.median(getattr(row[name], span) for row in rows),
                "ratio": statistics.median(
                    getattr(row[name], span) / getattr(row[baseline(name)], span) for row in rows
                ),
            }
            for span in SPANS
        }
        for name in rows[0]
    }


def show(found: dict[str, dict[str, dict[str, float]]], about: dict[str, str]) -> None:
    """Print the table."""
    table = Table(title="the interrupt protocol, without mbt", box=box.SIMPLE, pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading in ("start to ask", "answer to effect", "answer to end"):
        table.add_column(f"{heading}, ms", justify="right", no_wrap=True)
        table.add_column("× stock", justify="right", no_wrap=True)
    for name, spans in found.items():
        cells = [
            text
            for span in SPANS
            for text in (f"{spans[span]['ms']:.1f}", f"{spans[span]['ratio']:.2f}")
        ]
        table.add_row(name, *cells)
    Console(width=120).print(table, *(f"{key}: {value}" for key, value in about.items()), sep="\n")


def main() -> int:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description="The interrupt protocol, stock and wrapped.")
    parser.add_argument("--rounds", type=int, default=40, help="default: %(default)s")
    parser.add_argument("--only", nargs="+", choices=BACKENDS, default=BACKENDS)
    parser.add_argument("--json", action="store_true", help="print data in place of a table")
    options = parser.parse_args()
    only = [backend for backend in BACKENDS if backend in {*options.only}]
    if options.rounds < 1 or ("dbos" in only and "sqlite" not in only):
        parser.error("at least one round; dbos is held against sqlite")
    os.environ |= {"OTEL_SDK_DISABLED": "true", "LANGSMITH_TRACING": "false"}
    with ExitStack() as stack:
        needed = ["postgres"] if "postgres" in only else []
        services = stack.enter_context(open_services(needed))
        rows = measure(configurations(only, services), options.rounds)
        servers = services.versions
    names = ("langgraph", "langgraph-checkpoint-sqlite", "remit-contract", "dbos")
    about = {
        **{name: version(name) for name in names},
        **servers,
        "Python": platform.python_version(),
        "processors": str(os.cpu_count()),
        "rounds": str(options.rounds),
        "DBOS looks for messages": f"every {1000 * DBOS_POLLING_S:g} ms",
    }
    found = summary(rows)
    if options.json:
        kept = [{name: vars(spans) for name, spans in row.items()} for row in rows]
        print(json.dumps({"about": about, "summary": found, "rounds": kept}, indent=1))
    else:
        show(found, about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
