"""The loggers in real applications: what they write, and what a model says of it."""

import asyncio
import json
import operator
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from pages import run as command

from adapters.offline import QUIET
from mbt.loggers.lines import Lines, Progress

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLES = REPOSITORY / "examples" / "validate"
LOGGERS = REPOSITORY / "mbt" / "loggers"
VALIDATE = "mbt validate ResumeContract --model R0C2 --log runs.jsonl --json"


def actions(file, run=None):
    """The lines of a log that have an action, each as text."""
    lines = map(json.loads, file.read_text().splitlines())
    return [
        " ".join([line["action"], *map(str, line["params"].values())])
        for line in lines
        if "action" in line and run in (None, line["run"])
    ]


def validated(folder, more=""):
    """The exit code, and by run how many lines are explained, and by what."""
    done = command(folder, f"{VALIDATE} {more}")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    runs = {run["run"]: (run["explained"], run["lines"]) for run in found["runs"]}
    by = found["explained_by"] or {"runs": {}}
    return (
        done.returncode,
        runs,
        {run: [s["faults"] for s in sets] for run, sets in by["runs"].items()},
    )


HARNESS = "print([m for m in ('adapters', 'replay', 'tracegen') if m in sys.modules])\n"


def test_a_logger_is_short():
    for name in ("langgraph", "crewai"):
        assert len((LOGGERS / f"{name}.py").read_text().splitlines()) < 100


# -- the examples, with their kills ----------------------------------------------------


def play(app, folder, calls):
    """Make each call in a process of its own; what became of them."""
    quiet = {**QUIET, "HOME": str(folder), "CREWAI_STORAGE_DIR": str(folder)}
    words = [[sys.executable, str(EXAMPLES / app), str(folder), *call.split()] for call in calls]
    return [
        subprocess.run(each, env=os.environ | quiet, capture_output=True, timeout=120).returncode
        for each in words
    ]


REPEATED_FIRST_TASK = [["FaultReplay"], ["FaultNondetRecovery"], ["FaultPrefixReplay"]]


@pytest.mark.framework("langgraph")
def test_a_graph_that_is_killed_and_goes_on_is_explained_and_one_that_starts_again_is_not(tmp_path):
    codes = play(
        "graph_app.py",
        tmp_path,
        [
            "kept begin --dies-in approve",
            "kept go-on",
            "kept answer --dies-in send",
            "kept go-on",
            "sent-again begin --dies-in approve",
            "sent-again send-again",
            "sent-again answer",
        ],
    )
    killed = -signal.SIGKILL
    assert codes == [killed, 0, killed, 0, killed, 0, 0]
    # What docs/validation.md validates is what is logged.
    assert (tmp_path / "runs.jsonl").read_text() == (EXAMPLES / "graph_runs.jsonl").read_text()
    code, runs, by = validated(tmp_path, """--constant 'Values={"yes", "no"}'""")
    assert code == 1
    assert runs == {"kept": (6, 6), "sent-again": (2, 6)}
    assert by == {"sent-again": REPEATED_FIRST_TASK}


@pytest.mark.framework("crewai")
def test_a_flow_that_is_kicked_off_again_does_its_first_task_again(tmp_path):
    codes = play(
        "flow_app.py",
        tmp_path,
        [
            "killed begin --dies-in approve",
            "killed begin",
            "killed answer",
        ],
    )
    assert codes == [-signal.SIGKILL, 0, 0]
    assert (tmp_path / "runs.jsonl").read_text() == (EXAMPLES / "flow_runs.jsonl").read_text()
    code, runs, by = validated(tmp_path, """--constant 'Values={"yes", "no"}'""")
    assert code == 1
    assert runs == {"killed": (2, 6)}
    assert by == {"killed": REPEATED_FIRST_TASK}


# -- what a LangGraph application can do more -------------------------------------------


class Done(TypedDict):
    done: Annotated[list[str], operator.add]


@pytest.fixture
def graph(tmp_path):
    """A graph of three tasks over a store in memory, its log, and a switch that breaks send."""
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    from mbt.loggers.langgraph import LangGraphLog

    log = LangGraphLog(
        tmp_path / "runs.jsonl",
        tasks={"draft": 1, "approve": 2, "send": 3},
        gate="approve",
        name={True: "v1", False: "v2"}.__getitem__,
    )
    broken = []

    # Their annotations have to be classes: LangGraph asks by them for the config.
    def draft(state, config):
        log.effect(config)
        return {"done": ["draft"]}

    def approve(state, config):
        answer = interrupt("may it?")
        log.effect(config)
        return {"done": [f"approve {answer}"]}

    def send(state, config):
        if broken:
            raise ConnectionError("no network")
        log.effect(config)
        return {"done": ["send"]}

    builder = StateGraph(Done)
    for task in (draft, approve, send):
        task.__annotations__ = {"state": Done, "config": RunnableConfig}
    builder.add_sequence([draft, approve, send])
    builder.add_edge(START, "draft")
    app = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}, "callbacks": [log]}
    return app, config, tmp_path / "runs.jsonl", broken


@pytest.mark.framework("langgraph")
def test_a_failure_a_fork_and_a_stray_resume_are_seen(graph):
    from langgraph.types import Command

    app, config, file, broken = graph
    app.invoke({"done": []}, config)
    parked = app.get_state(config).config
    broken.append(True)
    with pytest.raises(ConnectionError):
        app.invoke(Command(resume=True), config)
    broken.clear()
    app.invoke(None, config)
    app.invoke(Command(resume=True), config)
    # A fork by way of update_state asks again, in a branch; its effects are not the run's.
    fork = app.update_state(parked, None, as_node="draft")
    branch = {**fork, "callbacks": config["callbacks"]}
    app.invoke(None, branch)
    served = app.invoke(Command(resume=False), branch)
    assert served["done"] == ["draft", "approve False", "send"]
    assert actions(file) == [
        "ExecTask 1",
        "EmitInterrupt",
        "Consume v1",
        "CrashRecover",
        "ExecTask 3",
        "ExtraResume",
        "ForkResume v2",
    ]
    assert json.loads(file.read_text().splitlines()[-1])["state"]["effects"] == [1, 1, 1]
    assert validated(file.parent) == (0, {"one": (7, 7)}, {})


@pytest.mark.framework("langgraph")
def test_the_input_sent_to_a_thread_that_passed_its_gate_asks_again(graph):
    """Known of LangGraph; no switch of the module's own has it."""
    from langgraph.types import Command

    app, config, file, broken = graph
    app.invoke({"done": []}, config)
    broken.append(True)
    with pytest.raises(ConnectionError):
        app.invoke(Command(resume=True), config)
    app.invoke({"done": []}, config)
    assert actions(file)[3:] == ["CrashRecover", "ExecTask 1", "EmitInterrupt"]
    code, runs, _ = validated(file.parent, "--fault FaultReplay")
    assert (code, runs) == (1, {"one": (5, 6)})


@pytest.mark.framework("langgraph")
def test_two_threads_of_an_async_application_are_two_runs(graph):
    from langgraph.types import Command

    app, config, file, _ = graph

    async def serve(thread):
        own = {**config, "configurable": {"thread_id": thread}}
        await app.ainvoke({"done": []}, own)
        await app.ainvoke(Command(resume=True), own)

    async def both():
        await asyncio.gather(serve("one"), serve("two"))

    asyncio.run(both())
    for thread in ("one", "two"):
        assert actions(file, thread) == ["ExecTask 1", "EmitInterrupt", "Consume v1", "ExecTask 3"]
    assert validated(file.parent)[:2] == (0, {"one": (4, 4), "two": (4, 4)})


# -- what holds of the file ------------------------------------------------------------


def test_lines_of_others_are_left_alone(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text('{"note": "a side effect"}\n{"run": "r", "note": "a side effect"}\n')
    lines = Lines(file, tasks=1)
    assert lines.begin("r") == Progress(effects=[0])
    lines.note("r", note={"effect": 1})
    lines.action("r", "ExecTask", t=1)
    assert Lines(file, tasks=1).begin("r") == Progress(effects=[1], begun=True)
    assert Lines(file, tasks=1).begin("q") == Progress(effects=[0])


def test_what_a_killed_process_wrote_is_in_the_file(tmp_path):
    code = (
        "import os, signal\n"
        "from mbt.loggers.lines import Lines\n"
        "lines = Lines('log.jsonl', tasks=2)\n"
        "lines.begin('r')\n"
        "for number in range(100):\n"
        "    lines.note('r', note={'effect': 1})\n"
        "lines.action('r', 'ExecTask', t=1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for times in (1, 2):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
        assert done.returncode == -signal.SIGKILL
        lines = (tmp_path / "log.jsonl").read_text().splitlines()
        assert len(lines) == 101 * times
        assert json.loads(lines[-1])["state"]["effects"] == [100 * times, 0]


@pytest.mark.framework("langgraph")
def test_a_logger_needs_nothing_of_the_harness(tmp_path):
    code = f"import sys, mbt.loggers.langgraph\n{HARNESS}"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.framework("crewai")
def test_lines_stand_in_the_order_in_which_crewai_emits(tmp_path):
    """Its handlers that are no coroutines run in ten threads, in any order."""
    code = (
        "import sys\n"
        "from crewai.flow.flow import Flow, FlowState, listen, start\n"
        "from mbt.loggers.crewai import CrewAILog\n"
        "log = CrewAILog('log.jsonl', 'Chain', {f't{n}': n for n in range(1, 9)}, 'none')\n"
        "def task(n):\n"
        "    def body(self): pass\n"
        "    body.__name__ = f't{n}'\n"
        "    return (listen(f't{n - 1}') if n > 1 else start())(body)\n"
        "Chain = type(Flow)('Chain', (Flow[FlowState],), {f't{n}': task(n) for n in range(1, 9)})\n"
        "for run in range(10):\n"
        "    Chain().kickoff(inputs={'id': str(run)})\n"
        "log.flush()\n"
        f"{HARNESS}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | QUIET | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.endswith("[]\n")
    for run in range(10):
        found = actions(tmp_path / "log.jsonl", str(run))
        assert found == [f"ExecTask {n}" for n in range(1, 9)]
