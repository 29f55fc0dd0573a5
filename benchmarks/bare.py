"""What a replay is measured against: the frameworks driven by a script, without the harness.

Forked from a process that only imported, the processes of a run make the calls that their script
names, append to the ledger, stop where the script kills or forks, and are killed and reaped.
Nothing is observed, compared or reported, and nothing of mbt is imported.

    python bare.py SCRIPTS.json

Answers each number of a script on standard input, one a line, with what that script took.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import operator
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

Framework = Literal["langgraph", "crewai"]
Method = Literal["start", "resume", "fork", "recover"]
RETURNED = 0  # a stop that is not at the entry of a task: after the call came back


@dataclass(frozen=True)
class Call:
    """One call into the framework, and the tasks at whose entry it stops."""

    method: Method
    value: str | None
    stops: tuple[int, ...]


@dataclass(frozen=True)
class Life:
    """What one process does from its fork to its end; `branch` is 0 for the primary run."""

    process: int
    branch: int
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Act:
    """What the driver does next.

    It forks the primary's process, awaits its next stop, lets it go on from there or kills it;
    or it runs the process of a branch to its end.
    """

    what: Literal["fork", "await", "go", "kill", "branch"]
    life: Life | None = None


@dataclass(frozen=True)
class Scripts:
    """What to run, on which framework, with which workflow."""

    framework: Framework
    route: str | None
    tasks: int
    gate: int
    scripts: tuple[tuple[Act, ...], ...]


Row = tuple[int, int, str | None, int]  # branch, task, value, process


@dataclass(frozen=True)
class Taken:
    """What a script took, and what it left in the ledger."""

    seconds: float
    forks: int
    kills: int
    rows: tuple[Row, ...]


class Process:
    """The process of a run that this is: what the bodies of tasks reach."""

    def __init__(self, folder: Path, life: Life, notes: dict[str, str], end: socket.socket) -> None:
        self.folder = folder
        self.life = life
        self.notes = notes
        self.note: Callable[[], None] = lambda: None
        self._end = end
        self._stops: tuple[int, ...] = ()
        self._ledger: sqlite3.Connection | None = None

    def live(self, system: System) -> None:
        """Make the calls, one after the other."""
        for call in self.life.calls:
            self._stops = call.stops
            arguments = [] if call.value is None else [call.value]
            getattr(system, call.method)(*arguments)
            self.enter(RETURNED)

    def enter(self, task: int) -> None:
        """Stop here, where the script says so, until the driver lets go or kills."""
        if task not in self._stops:
            return
        self.note()
        self._end.sendall(json.dumps(self.notes).encode() + b"\n")
        if not self._end.recv(1):
            os._exit(1)

    def effect(self, task: int, value: str | None) -> None:
        """Append a row to the ledger."""
        if self._ledger is None:
            self._ledger = sqlite3.connect(
                self.folder / "ledger.db", isolation_level=None, timeout=60, check_same_thread=False
            )
            self._ledger.execute("PRAGMA synchronous=OFF")
            self._ledger.execute("PRAGMA journal_mode=WAL")
            self._ledger.execute(
                "CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY, branch INTEGER NOT"
                " NULL, task INTEGER NOT NULL, value TEXT, process INTEGER NOT NULL)"
            )
        self._ledger.execute(
            "INSERT INTO effects (branch, task, value, process) VALUES (?, ?, ?, ?)",
            (self.life.branch, task, value, self.life.process),
        )


class System(Protocol):
    """A framework as one process of a run has it; made after the fork."""

    def __init__(self, process: Process) -> None: ...
    def start(self) -> None: ...  # noqa: D102
    def resume(self, value: str) -> None: ...  # noqa: D102
    def fork(self, value: str) -> None: ...  # noqa: D102
    def recover(self) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


def langgraph(tasks: int, gate: int, route: str | None) -> type[System]:
    """LangGraph's graph API over its SQLite saver; `route` is command or update-state."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt
    from pydantic import create_model

    for tracer in ("context", "stdout"):  # else the first call of each process imports them
        importlib.import_module(f"langchain_core.tracers.{tracer}")
    completion: Any = create_model("Completion", task=(int, ...), output=(int, ...))
    state: Any = create_model(
        "State",
        log=(Annotated[list[completion], operator.add], []),
        consumed=(str | None, None),
    )

    def node(task: int) -> Callable[..., dict[str, Any]]:
        def body(_state: Any, runtime: Any) -> dict[str, Any]:
            process: Process = runtime.context.process
            process.enter(task)
            update: dict[str, Any] = {}
            if task == gate:
                update["consumed"] = interrupt({"task": task})
            process.effect(task, update.get("consumed"))
            return update | {"log": [{"task": task, "output": task}]}

        return body

    thread: Any = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}

    def at(checkpoint: str) -> Any:
        return {"configurable": {**thread["configurable"], "checkpoint_id": checkpoint}}

    class LangGraph:
        def __init__(self, process: Process) -> None:
            self.process = process
            self.connection = sqlite3.connect(
                process.folder / "langgraph.db", timeout=60, check_same_thread=False
            )
            self.connection.execute("PRAGMA synchronous=OFF")
            compiled.checkpointer = self.saver = SqliteSaver(self.connection)
            process.note = self.note_head

        def head(self) -> str:
            record = self.saver.get_tuple(thread)
            assert record is not None
            return str(record.checkpoint["id"])

        def note_head(self) -> None:
            self.process.notes["head"] = self.head()

        def invoke(self, payload: Any, config: Any) -> None:
            result = compiled.invoke(payload, config, context=self, durability="sync")
            if "__interrupt__" in result:
                self.process.notes.setdefault("interrupt", self.head())

        def start(self) -> None:
            self.invoke({"log": []}, thread)

        def resume(self, value: str) -> None:
            self.invoke(Command(resume=value), thread)

        def fork(self, value: str) -> None:
            source = at(self.process.notes["interrupt"])
            if route == "update-state":
                source = compiled.update_state(source, None)
            self.invoke(Command(resume=value), source)

        def recover(self) -> None:
            noted = self.process.notes["head"]  # which a branch may have moved the thread from
            self.invoke(None, thread if self.head() == noted else at(noted))

        def close(self) -> None:
            self.connection.close()

    builder: Any = StateGraph(state, context_schema=LangGraph)
    names = [f"t{task}" for task in range(1, tasks + 1)]
    for task, name in enumerate(names, 1):
        builder.add_node(name, node(task))
    for source, target in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(source, target)
    compiled: Any = builder.compile()
    return LangGraph


def crewai(tasks: int, gate: int, _route: str | None) -> type[System]:
    """CrewAI's `@human_feedback` over SQLiteFlowPersistence, recovered by a re-kick."""
    from crewai.flow import human_feedback
    from crewai.flow.async_feedback import HumanFeedbackPending
    from crewai.flow.flow import Flow, FlowState, listen, start
    from crewai.flow.persistence import SQLiteFlowPersistence, persist
    from pydantic import create_model
    from rich.console import Console
    from rich.panel import Panel

    class Ask:
        def request_feedback(self, context: Any, flow: Any) -> str:
            raise HumanFeedbackPending(context=context)

    def named(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        body.__name__, body.__qualname__ = name, f"Workflow.{name}"
        return body

    def perform(flow: Any, task: int, answer: str | None = None) -> int:
        process: Process = flow.process
        process.enter(task)
        process.effect(task, answer)
        flow.state.done.append(task)
        if answer is not None:
            flow.state.consumed = answer
        return task

    def plain(task: int) -> Callable[..., Any]:
        return named(f"t{task}", lambda self: perform(self, task))

    def gated(task: int) -> Callable[..., Any]:
        return named(f"t{task}", lambda self, feedback: perform(self, task, feedback.feedback))

    def asking(task: int) -> Callable[..., Any]:
        def body(self: Any) -> str:
            self.process.enter(task)
            return f"may task {task} go on?"

        return named("gate", body)

    asks: Any = human_feedback(message="approve?", llm=None, provider=Ask())
    methods: dict[str, Any] = {"t1": start()(plain(1))}
    for task in range(2, tasks + 1):
        before = f"t{task - 1}"
        if task == gate:
            methods["gate"] = listen(before)(asks(asking(task)))
            methods[f"t{task}"] = listen("gate")(gated(task))
        else:
            methods[f"t{task}"] = listen(before)(plain(task))
    flow_class: Any = Flow
    state = create_model(
        "State", __base__=FlowState, done=(list[int], []), consumed=(str | None, None)
    )
    settings = {"_skip_auto_memory": True, "__module__": __name__}
    workflow: Any = type(flow_class)("Workflow", (flow_class[state],), {**settings, **methods})
    persist(SQLiteFlowPersistence(":memory:"))(workflow)
    # Once here, as it would be in each process.
    workflow.flow_definition()
    Console(file=io.StringIO()).print(Panel("⏳ :zzz:"))

    def copy(source: Path, target: Path) -> None:
        with (
            contextlib.closing(sqlite3.connect(source, timeout=60)) as original,
            contextlib.closing(sqlite3.connect(target, timeout=60)) as twin,
        ):
            twin.execute("PRAGMA synchronous=OFF")
            original.backup(twin)

    class CrewAI:
        def __init__(self, process: Process) -> None:
            self.process = process
            self.parked = process.folder / "parked.db"
            self.path = process.folder / "crewai.db"
            if process.life.branch:
                self.path = process.folder / f"fork-{process.life.branch}.db"
                copy(self.parked, self.path)
            self.persistence: Any = SQLiteFlowPersistence(str(self.path))
            # CrewAI opens and closes a connection for each of its statements, and SQLite
            # checkpoints and syncs at the last close. A replay, which observes, has one open all
            # the time; with one here too, both sides sync equally often.
            self.open = sqlite3.connect(self.path)
            self.open.execute("SELECT 1 FROM flow_states").fetchone()

        def flow(self) -> Any:
            flow = workflow(persistence=self.persistence, suppress_flow_events=True)
            flow.process = self.process
            return flow

        def park(self, result: Any) -> None:
            if isinstance(result, HumanFeedbackPending) and not self.parked.exists():
                copy(self.path, self.parked)

        def start(self) -> None:
            flow = self.flow()
            self.process.notes["flow"] = flow.flow_id
            self.park(flow.kickoff())

        def resume(self, value: str) -> None:
            # Where no question is pending: that is how CrewAI answers a stray resume.
            with contextlib.suppress(ValueError):
                flow = workflow.from_pending(
                    self.process.notes["flow"], self.persistence, suppress_flow_events=True
                )
                flow.process = self.process
                self.park(flow.resume(value))

        def fork(self, value: str) -> None:
            self.resume(value)

        def recover(self) -> None:
            self.park(self.flow().kickoff(inputs={"id": self.process.notes["flow"]}))

        def close(self) -> None:
            self.open.close()

    return CrewAI


FRAMEWORKS: dict[Framework, Callable[[int, int, str | None], type[System]]] = {
    "langgraph": langgraph,
    "crewai": crewai,
}


class Run:
    """One script under way."""

    def __init__(self, system: type[System], folder: Path) -> None:
        self.system = system
        self.folder = folder
        self.notes: dict[str, str] = {}
        self.pid = 0
        self.forks = self.kills = 0

    def act(self, act: Act) -> None:
        """Do one thing.

        Raises:
            RuntimeError: a process did not do what its script says.
        """
        if act.what == "fork":
            assert act.life is not None
            self.pid, self.end = self.fork(act.life)
        elif act.what == "await":
            line = b""
            while not line.endswith(b"\n"):
                received = self.end.recv(1 << 12)
                if not received:
                    raise RuntimeError("a process of the primary ended before its stop")
                line += received
            self.notes = json.loads(line)
        elif act.what == "go":
            self.end.sendall(b".")
        elif act.what == "kill":
            os.kill(self.pid, signal.SIGKILL)
            self.reap(self.pid, signal.SIGKILL)
            self.end.close()
            self.kills += 1
        else:
            assert act.life is not None
            pid, end = self.fork(act.life)
            self.reap(pid, 0)
            end.close()

    def fork(self, life: Life) -> tuple[int, socket.socket]:
        """Start a process of the run; return its id and our end of its connection."""
        ours, theirs = socket.socketpair()
        self.forks += 1
        pid = os.fork()
        if pid:
            theirs.close()
            return pid, ours
        try:
            ours.close()
            process = Process(self.folder, life, self.notes, theirs)
            system = self.system(process)
            process.live(system)
            system.close()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def reap(self, pid: int, expected: int) -> None:
        """Wait until a process is gone."""
        _, status = os.waitpid(pid, 0)
        if status != expected:
            raise RuntimeError(f"a process ended with wait status {status}, not {expected}")


def take(system: type[System], script: tuple[Act, ...], home: Path, number: int) -> Taken:
    """Run a script in a folder of its own; reading its ledger is not a part of the time."""
    started = time.perf_counter()
    folder = home / f"run-{number}"
    folder.mkdir()
    run = Run(system, folder)
    for act in script:
        run.act(act)
    ran = time.perf_counter()
    rows = read_ledger(folder / "ledger.db")
    read = time.perf_counter()
    shutil.rmtree(folder)
    ended = time.perf_counter()
    return Taken(ran - started + ended - read, run.forks, run.kills, rows)


def read_ledger(path: Path) -> tuple[Row, ...]:
    """The rows of a ledger, in the order in which the effects fired."""
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as ledger:
        query = "SELECT branch, task, value, process FROM effects ORDER BY id"
        return tuple(ledger.execute(query).fetchall())


def main() -> None:
    """Serve the numbers of scripts."""
    from pydantic import TypeAdapter

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what frameworks print is no answer
    given = TypeAdapter(Scripts).validate_json(Path(sys.argv[1]).read_bytes())
    system = FRAMEWORKS[given.framework](given.tasks, given.gate, given.route)
    answer = TypeAdapter(Taken).dump_json
    gc.collect()
    gc.freeze()
    answers.write("ready\n")
    with tempfile.TemporaryDirectory(prefix="bare-") as home:
        for line in sys.stdin:
            number = int(line)
            taken = take(system, given.scripts[number], Path(home), number)
            answers.write(answer(taken).decode() + "\n")


if __name__ == "__main__":
    main()
