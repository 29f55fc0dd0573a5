"""Runs of Apalache, of which there is no copy to test with: a stand-in answers in its place.

What the stand-in prints and how it ends is written after Apalache's documents, an answer a case.
"""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from stand_in import NO_ERROR, OK, StandIn, eventually, gone, itf, violation

from tracegen.apalache import check, find, simulate
from tracegen.cache import Cache
from tracegen.cfg import Config, parse_config
from tracegen.errors import MachineryError, MbtError
from tracegen.jvm import Processes
from tracegen.module import read_module
from tracegen.outcome import Outcome
from tracegen.tools import ToolError, find_apalache
from tracegen.values import Int, ModelValue

TEXT = """---- MODULE Steps ----
EXTENDS Integers
CONSTANT
  \\* @type: Str;
  Nobody
VARIABLES
  \\* @type: Int;
  x,
  \\* @type: Str;
  who
Init == x = 0 /\\ who = Nobody
Up == x < 3 /\\ x' = x + 1 /\\ who' = "up"
Next == Up
vars == <<x, who>>
Spec == Init /\\ [][Next]_vars
FairSpec == Spec /\\ WF_vars(Next)
Low == x < 3
Named == who # "down"
Sym == {}
====
"""
CFG = "SPECIFICATION FairSpec\nCONSTANT Nobody = Nobody\n"
NOBODY = {"x": 0, "who": "ModelValue_Nobody"}


def up(*numbers):
    return [{"x": {"#bigint": str(number)}, "who": "up"} for number in numbers]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    return StandIn(tmp_path / "apalache-stand-in").install(monkeypatch)


@pytest.fixture
def module(tmp_path):
    (tmp_path / "Steps.tla").write_text(TEXT)
    return read_module(tmp_path / "Steps.tla")


@pytest.fixture
def run(stand_in, module, checker, tmp_path):
    """Check with the stand-in; a cache of this test's own."""
    options = {**checker, "cache": Cache(tmp_path / "cache")}

    def run(cfg: str | Config = CFG + "INVARIANT Low", **more):
        config = cfg if isinstance(cfg, Config) else parse_config(cfg, "Steps.cfg")
        return check(module, config, apalache=stand_in.tool(), **{**options, **more})

    return run


# --- outcomes


def test_no_error_is_bounded_and_never_holds(run):
    result = run(length=7)
    assert result.outcome is Outcome.BOUNDED
    assert result.reason == "no error up to length 7"
    assert (result.checker, result.version, result.bound) == ("Apalache", "0.62.1", 7)
    assert not result.complete


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("ExecutionsTooShort", "no error up to length 10, where every execution ends sooner"),
        ("SmtTimeout", "no error up to length 10, but for what the solver gave up on"),
    ],
)
def test_other_ways_to_end_with_0_are_bounded_too(run, stand_in, word, said):
    stand_in.answers({"out": [f"The outcome is: {word}", "EXITCODE: OK"], "exit": 0})
    result = run()
    assert (result.outcome, result.reason) == (Outcome.BOUNDED, said)
    # What a solver gives up on one day it may not on the next.
    assert run().cached is (word != "SmtTimeout")


def test_a_violation_is_named_and_its_trace_read(run, stand_in):
    stand_in.answers(violation(NOBODY, *up(1, 2, 3)))
    result = run()
    assert (result.outcome, result.violated) == (Outcome.VIOLATED_INVARIANT, ("Low",))
    (found,) = result.counterexamples
    assert [state.state["x"] for state in found.states] == [Int(n) for n in range(4)]
    assert found.states[0].state["who"] == ModelValue("Nobody")
    assert {state.action for state in found.states} == {None}


def test_a_violation_by_an_initial_state(run, stand_in):
    stand_in.answers(violation(NOBODY))
    assert run().outcome is Outcome.VIOLATED_INITIAL


@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_number_of_several_invariants_is_a_hint_alone(run, stand_in, number):
    # A conjunction is several conditions: number 1 need not be the second invariant.
    stand_in.answers(
        violation(NOBODY, *up(1, 2, 3), number=number, inv="Named,Low"),
        violation(NOBODY, *up(1, 2, 3), inv="Low"),
        {**NO_ERROR, "inv": "Named"},
    )
    result = run(CFG + "INVARIANTS Named Low")
    assert (result.outcome, result.violated) == (Outcome.VIOLATED_INVARIANT, ("Low",))
    assert result.bound == 10
    asked = [(call["options"]["inv"], call["options"]["length"]) for call in stand_in.calls]
    alone = [("Low", 3)] if number == 1 else [("Named", 3), ("Low", 3)]
    assert asked == [("Named,Low", 10), *alone]


def test_a_violation_that_no_invariant_alone_confirms_is_no_verdict(run, stand_in):
    stand_in.answers(violation(NOBODY, *up(1), inv="Named,Low"), NO_ERROR)
    result = run(CFG + "INVARIANTS Named Low")
    assert result.outcome is Outcome.FAILED
    with pytest.raises(MachineryError, match="Apalache: checker failed: it found one of Named"):
        result.decided()


def test_several_counterexamples_want_a_view(run, stand_in):
    with pytest.raises(MbtError, match="need a view"):
        run(max_error=3)
    two = violation(NOBODY, *up(1))
    two["files"]["violation2.itf.json"] = itf(NOBODY, *up(2))
    two["files"]["violation10.itf.json"] = itf(NOBODY, *up(3))
    stand_in.answers(two)
    result = run(max_error=3, view="Named")
    last = [found.states[-1].state["x"].value for found in result.counterexamples]
    assert last == [1, 2, 3]
    assert "--max-error=3" in stand_in.calls[0]["words"]
    assert "--view=Named" in stand_in.calls[0]["words"]


def test_a_deadlock(run, stand_in):
    found = itf(NOBODY, *up(1, 2, 3))
    out = ["Found a deadlock.", "The outcome is: Deadlock", "EXITCODE: ERROR (12)"]
    stand_in.answers({"out": out, "exit": 12, "files": {"violation1.itf.json": found}})
    result = run(deadlock=True)
    assert (result.outcome, result.states) == (Outcome.DEADLOCK, 4)
    assert "--no-deadlock" not in stand_in.calls[0]["words"]


@pytest.mark.parametrize(
    ("exit_code", "lines", "outcome", "said"),
    [
        (75, ["unsupported expression: X   E@10:00:00.000"], Outcome.UNSUPPORTED, "expression: X"),
        (120, ["Typing input error   E@10:00:00.000"], Outcome.TYPE_ERROR, "Typing input error"),
        (150, ["bad JSON    E@10:00:00.000"], Outcome.PARSE_ERROR, "bad JSON"),
        (255, ["Parsing error in Steps  E@1:1:1.1"], Outcome.PARSE_ERROR, "Parsing error in Steps"),
        (255, ["Configuration error: no Z  E@1:1:1.1"], Outcome.CONFIG_ERROR, "no Z"),
        (255, ["Unhandled exception  E@1:1:1.1"], Outcome.FAILED, "Unhandled exception"),
        (12, ["The outcome is: Interrupted"], Outcome.KILLED, "interrupted"),
        (12, ["The outcome is: RuntimeError", "boom"], Outcome.FAILED, "boom"),
    ],
)
def test_codes_that_are_no_verdict(run, stand_in, exit_code, lines, outcome, said):
    out = [*lines, f"EXITCODE: ERROR ({exit_code})"]
    stand_in.answers({"out": out, "exit": exit_code})
    result = run()
    assert result.outcome is outcome
    assert said in result.reason
    bad_input = outcome not in (Outcome.KILLED, Outcome.FAILED)
    with pytest.raises(MbtError if bad_input else MachineryError):
        result.decided()
    assert not run().cached


@pytest.mark.parametrize(
    ("exit_code", "lines"),
    [
        (0, OK),  # nothing says with what it ended
        (12, [*OK, "EXITCODE: OK"]),
        (0, [*OK, "EXITCODE: ERROR (12)"]),
        (0, ["EXITCODE: OK"]),  # no outcome
        (0, ["The outcome is: Error", "EXITCODE: OK"]),
        (0, ["The outcome is: Splendid", "EXITCODE: OK"]),
        (0, ["State 3: state invariant 0 violated.", *OK, "EXITCODE: OK"]),
        (0, ["Found a deadlock.", *OK, "EXITCODE: OK"]),
        (12, ["The outcome is: Error", "EXITCODE: ERROR (12)"]),  # which invariant?
        (12, ["The outcome is: Deadlock", "EXITCODE: ERROR (12)"]),
        (12, [*OK, "EXITCODE: ERROR (12)"]),
        (12, ["Found a deadlock.", "The outcome is: Error", "EXITCODE: ERROR (12)"]),
        (120, [*OK, "EXITCODE: ERROR (120)"]),
        (255, ["Parsing error  E@1:1:1.1", "The outcome is: Error", "EXITCODE: ERROR (255)"]),
        (1, ["java: command not found"]),
        (7, ["EXITCODE: ERROR (7)"]),
    ],
)
def test_a_contradiction_is_a_failure_and_not_a_verdict(run, stand_in, exit_code, lines):
    stand_in.answers({"out": lines, "exit": exit_code})
    result = run()
    assert result.outcome is Outcome.FAILED
    assert not result.outcome.decided
    assert f"ended with {exit_code}" in result.reason


def test_of_several_lines_the_last_counts(run, stand_in):
    out = ["EXITCODE: ERROR (12)", "The outcome is: Error", *OK, "EXITCODE: OK"]
    stand_in.answers({"out": out, "exit": 0})
    assert run().outcome is Outcome.BOUNDED


def test_a_violation_without_a_trace_is_a_failure(run, stand_in):
    stand_in.answers({**violation(NOBODY), "files": {}})
    assert run().outcome is Outcome.FAILED
    assert run().reason == "it found an error, but wrote no trace of it"


def test_memory_and_java_that_do_not_do(run, stand_in):
    stand_in.answers({"out": ["java.lang.OutOfMemoryError: heap"], "exit": 255})
    assert run().outcome is Outcome.OUT_OF_MEMORY
    stand_in.answers({"out": ["java.lang.UnsupportedClassVersionError: x"], "exit": 1})
    assert "this Java is too old" in run().reason


def test_a_lasso_and_a_foreign_trace_are_refused(run, stand_in):
    lasso = {**NOBODY, "__InLoop": True, "__saved_x": 1}
    stand_in.answers(violation(lasso))
    with pytest.raises(MachineryError, match="__InLoop, __saved_x: the variables of Steps are x"):
        run()
    stand_in.answers(violation({"y": 0}))
    with pytest.raises(MachineryError, match="who, x, y"):
        run()


# --- what it is given


def test_options_environment_and_configuration(run, stand_in, monkeypatch, tmp_path):
    for name in ("OUT_DIR", "RUN_DIR", "CONFIG_FILE", "SMT_SOLVER", "INV", "VIEW", "JVM_ARGS"):
        monkeypatch.setenv(name, f"/nowhere/{name}")
    (tmp_path / "Steps.cfg").write_text("rubbish")
    run(CFG + "INVARIANTS Low", length=5, memory_mb=700)
    (call,) = stand_in.calls
    assert call["words"][-1] == "Steps.tla"
    assert {"check", "--length=5", "--no-deadlock", "--inv=Low", "--config=run.cfg"} < {
        *call["words"]
    }
    assert call["module"] == TEXT
    # Fairness is no concern of invariants, and there are no model values.
    assert "INIT Init\nNEXT Next\n" in call["config"]
    assert 'Nobody = "ModelValue_Nobody"' in call["config"]
    environment, scratch = call["environment"], Path(call["cwd"])
    assert not [name for name, text in environment.items() if text.startswith("/nowhere")]
    assert environment["JVM_ARGS"] == "-Xmx700m"
    for folder in (environment["TMPDIR"], call["options"]["out_dir"], call["options"]["run_dir"]):
        assert Path(folder).is_relative_to(scratch)
    assert environment["TMPDIR"] in environment["JAVA_TOOL_OPTIONS"]
    assert not scratch.exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PROPERTY Live", "Steps.cfg: Apalache would ignore PROPERTY Live; use --checker tlc"),
        ("CONSTRAINT Low", "would ignore CONSTRAINT Low"),
        ("ACTION_CONSTRAINT Low", "would ignore ACTION_CONSTRAINT Low"),
        ("POSTCONDITION Low", "would ignore POSTCONDITION Low"),
        ("CONSTANT Other = 3", "Steps.cfg:3: Other: no such constant"),
        ("CONSTANT Op(1) = 3", "Steps.cfg:3: Op(1): Apalache knows no constant given point by"),
    ],
)
def test_what_would_be_another_question_is_refused(run, stand_in, line, said):
    result = run(CFG + line)
    assert result.outcome is Outcome.CONFIG_ERROR
    assert said in result.reason
    assert stand_in.calls == []


def test_what_is_not_used_is_said(run):
    result = run(CFG + "INVARIANT Low\nSYMMETRY Sym\nVIEW Named")
    assert result.reason == "no error up to length 10 (SYMMETRY, VIEW of the .cfg not used)"


def test_a_specification_that_does_not_say_init_and_next(run):
    result = run("SPECIFICATION Low\nCONSTANT Nobody = Nobody")
    assert "write INIT and NEXT" in result.reason


# --- cache, limits, interrupts


def test_a_decided_result_is_kept_and_found_again(run, stand_in):
    first, again = run(), run()
    assert (first.cached, again.cached) == (False, True)
    assert replace(first, cached=True) == again
    assert not run(length=11).cached
    assert not run(CFG + "INVARIANT Named").cached
    stand_in.launcher.write_text(stand_in.launcher.read_text() + "\n# another build\n")
    assert not run().cached
    assert len(stand_in.calls) == 4


def test_the_traces_of_a_kept_violation_are_kept_with_it(run, stand_in):
    stand_in.answers(violation(NOBODY, *up(1)))
    first, again = run(), run()
    assert again.cached
    assert again.counterexamples == first.counterexamples


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_timeout_leaves_nothing(run, stand_in, temporary):
    stand_in.answers({**NO_ERROR, "sleep": 60})
    result = run(timeout_s=1.0)
    assert result.outcome is Outcome.TIMEOUT
    assert not result.outcome.decided
    assert len(stand_in.processes) == 2
    assert eventually(lambda: all(map(gone, stand_in.processes)))
    assert [*temporary.iterdir()] == []


def test_work_that_is_broken_off_leaves_nothing(run, stand_in, temporary, tmp_path):
    stand_in.answers({**NO_ERROR, "sleep": 60})
    results = []
    with Processes() as processes:
        thread = threading.Thread(target=lambda: results.append(run(processes=processes)))
        thread.start()
        assert eventually(lambda: stand_in.processes)
    thread.join(20)
    assert [result.outcome for result in results] == [Outcome.KILLED]
    assert eventually(lambda: all(map(gone, stand_in.processes)))
    assert [*temporary.iterdir()] == []
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


# --- simulation


def test_simulated_executions_in_the_order_of_their_numbers(stand_in, module, checker):
    files = {f"example{n}.itf.json": itf(NOBODY, *up(*range(1, n + 1))) for n in (10, 2, 1)}
    files["example0.itf.json"] = files["example.itf.json"] = itf(NOBODY)
    stand_in.answers({**NO_ERROR, "command": "simulate", "files": files})
    config = parse_config(CFG)
    simulated = simulate(module, config, apalache=stand_in.tool(), number=3, length=10, **checker)
    assert simulated.result.outcome is Outcome.SIMULATED
    assert [len(found.states) - 1 for found in simulated.behaviours] == [1, 2, 10]
    words = {"simulate", "--max-run=3", "--length=10", "--output-traces", "--no-deadlock"}
    assert words < {*stand_in.calls[0]["words"]}


# --- finding it


def test_where_it_is_looked_for(stand_in, monkeypatch, tmp_path):
    assert stand_in.tool().version == "0.62.1"
    assert stand_in.tool().origin == "APALACHE_HOME"
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path / "none"))
    with pytest.raises(ToolError, match=r"APALACHE_HOME says that Apalache is .*none"):
        find_apalache()
    monkeypatch.delenv("APALACHE_HOME")
    monkeypatch.setenv("PATH", f"{stand_in.launcher.parent}{os.pathsep}{os.environ['PATH']}")
    assert stand_in.tool().origin == "PATH"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="no Apalache found; it is in no package registry"):
        stand_in.tool()


def test_a_jar_is_run_by_the_java_that_was_chosen(stand_in, monkeypatch, tmp_path, module, checker):
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    log = tmp_path / "java"
    java.write_text(f'#!/bin/sh\necho "$@" >> {log}\nshift 2\n"{stand_in.launcher}" "$@"\n')
    java.chmod(0o755)
    (tmp_path / "apalache.jar").write_bytes(b"a stand-in for a jar")
    monkeypatch.setenv("APALACHE_JAR", str(tmp_path / "apalache.jar"))
    tools = replace(checker["tools"], java=replace(checker["tools"].java, path=java))
    tool = find(tools.java)
    assert (tool.version, tool.origin) == ("0.62.1", "APALACHE_JAR")
    result = check(module, parse_config(CFG), apalache=tool, tools=tools)
    assert result.outcome is Outcome.BOUNDED
    assert f"-jar {tmp_path}/apalache.jar check" in log.read_text()
