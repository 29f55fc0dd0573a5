"""Every end that a TLC run can come to, told apart: on recorded output and in real runs."""

import re
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracegen.cfg import Config, parse_config, read_config
from tracegen.errors import MachineryError, MbtError
from tracegen.jvm import Processes
from tracegen.module import read_module
from tracegen.outcome import Outcome, classify
from tracegen.output import parse_output
from tracegen.tlc import check, dump, state_graph
from tracegen.tools import find_tools

# What tlc.md, the modules in spec/ and TLC's own exit codes say of the recorded runs.
RECORDED = {
    "a_ce_values": Outcome.VIOLATED_INVARIANT,
    "b_tool_values": Outcome.VIOLATED_INVARIANT,
    "c_arg": Outcome.HOLDS,
    "c_dot_DupI": Outcome.VIOLATED_INVARIANT,
    "c_dot_deadl": Outcome.DEADLOCK,
    "c_dump_noparent": Outcome.USAGE,
    "d_sim_fmt": Outcome.SIMULATED,
    "e_actionprop": Outcome.VIOLATED_ACTION_PROPERTY,
    "e_live_back": Outcome.VIOLATED_LIVENESS,
    "e_live_back_tool": Outcome.VIOLATED_LIVENESS,
    "f_alias": Outcome.CONFIG_ERROR,
    "f_assert": Outcome.EVALUATION_ERROR,
    "f_assume": Outcome.ASSUMPTION_FALSE,
    "f_badcfg": Outcome.CONFIG_ERROR,
    "f_checkdeadlock": Outcome.CONFIG_ERROR,
    "f_deadlock": Outcome.DEADLOCK,
    "f_evalinv": Outcome.EVALUATION_ERROR,
    "f_evalnext": Outcome.EVALUATION_ERROR,
    "f_evaltype": Outcome.EVALUATION_ERROR,
    "f_initviol": Outcome.VIOLATED_INITIAL,
    "f_nocfg": Outcome.CONFIG_ERROR,
    "f_noinit": Outcome.NO_INITIAL_STATES,
    "f_noinvariant": Outcome.CONFIG_ERROR,
    "f_nospec": Outcome.CONFIG_ERROR,
    "f_nospecfile": Outcome.PARSE_ERROR,
    "f_overflow": Outcome.EVALUATION_ERROR,
    "f_parse": Outcome.PARSE_ERROR,
    "f_postcond": Outcome.CONFIG_ERROR,
    "f_semantic": Outcome.PARSE_ERROR,
    "f_undefconst": Outcome.CONFIG_ERROR,
    "f_underspec": Outcome.EVALUATION_ERROR,
    "g_continue": Outcome.VIOLATED_INVARIANT,
    "g_continue_dead": Outcome.DEADLOCK,
    "g_continue_tool": Outcome.VIOLATED_INVARIANT,
    "i_auto": Outcome.USAGE,
    "i_dumptrace": Outcome.USAGE,
}


def classified(stdout: str, exit_code: int, **more: object) -> Outcome:
    facts = {"timed_out": False, "stderr": "", "partial": False, **more}
    return classify(parse_output(stdout), exit_code=exit_code, **facts)  # type: ignore[arg-type]


# The failures were recorded with -tool as well.
FORMS = [*RECORDED, *(f"{n}.tool" for n in RECORDED if n.startswith("f_") and n != "f_overflow")]


@pytest.mark.parametrize("name", FORMS)
def test_recorded_runs(data_dir, name):
    stdout = (data_dir / "tlc" / f"{name}.stdout").read_text()
    code = int((data_dir / "tlc" / f"{name}.rc").read_text())
    assert classified(stdout, code) is RECORDED[name.removesuffix(".tool")]


@pytest.mark.parametrize("name", ["f_deadlock.tool", "g_continue_tool", "f_noinit.tool"])
def test_success_is_not_believed_of_output_that_is_cut_off(data_dir, name):
    text = (data_dir / "tlc" / f"{name}.stdout").read_text()
    for end in range(0, len(text), 97):
        outcome = classified(text[:end], 0)
        assert outcome not in (Outcome.HOLDS, Outcome.BOUNDED), text[:end][-200:]


def test_what_the_process_says_goes_before_what_it_printed(data_dir):
    good = (data_dir / "tlc" / "c_arg.stdout").read_text()
    assert classified(good, 0) is Outcome.HOLDS
    assert classified(good, 0, partial=True) is Outcome.BOUNDED
    assert classified(good, 0, timed_out=True) is Outcome.TIMEOUT
    assert classified(good, -signal.SIGKILL) is Outcome.KILLED
    assert classified(good, 1) is Outcome.FAILED
    assert classified(good, 3) is Outcome.OUT_OF_MEMORY
    assert classified(re.sub("0 states left", "5 states left", good), 0) is Outcome.FAILED
    assert classified("", 0) is Outcome.FAILED
    assert classified("", 1, stderr="java.lang.OutOfMemoryError: x") is Outcome.OUT_OF_MEMORY


# --- real runs


@pytest.fixture(scope="session")
def spec_dir(data_dir):
    return data_dir / "tlc" / "spec"


@pytest.fixture
def run(spec_dir, checker):
    def checked(module, config=None, **options):
        path = spec_dir / f"{module}.tla"
        return check(path, read_config(spec_dir / f"{config or module}.cfg"), **checker, **options)

    return checked


@pytest.mark.parametrize(
    ("module", "config", "outcome", "violated", "said"),
    [
        ("ParseErr", None, Outcome.PARSE_ERROR, (), "ParseErr.tla:5:14: Encountered"),
        ("SemErr", None, Outcome.PARSE_ERROR, (), "SemErr.tla:5:14: Unknown operator: `y'."),
        ("Assum", None, Outcome.ASSUMPTION_FALSE, (), "Assum.tla:5:8: the assumption is false"),
        (
            "Assum",
            "AssumUndef",
            Outcome.CONFIG_ERROR,
            (),
            "AssumUndef.cfg: The constant parameter N",
        ),
        ("InitViol", None, Outcome.VIOLATED_INITIAL, ("Inv",), "violated: Inv"),
        ("InitViol", "NoInit", Outcome.NO_INITIAL_STATES, (), "no state satisfies"),
        ("InitViol", "NoInv", Outcome.CONFIG_ERROR, (), "NoInv.cfg: The invariant Nope"),
        ("Alias", None, Outcome.CONFIG_ERROR, (), "does not understand 'ALIAS Al'"),
        ("Eval", None, Outcome.EVALUATION_ERROR, (), "Eval.tla:5:54: Attempted to apply function"),
        ("Loop", None, Outcome.VIOLATED_LIVENESS, ("Done",), "violated: Done"),
        ("Loop", "LoopStep", Outcome.VIOLATED_ACTION_PROPERTY, ("StepProp",), ""),
        ("Dup", "DupC", Outcome.BOUNDED, (), "explored only within CONSTRAINT"),
        ("Dup", None, Outcome.HOLDS, (), ""),
    ],
)
def test_outcomes(run, module, config, outcome, violated, said):
    result = run(module, config)
    assert result.outcome is outcome, result.stdout
    assert result.violated == violated
    assert said in result.reason
    assert result.complete == (
        outcome in (Outcome.HOLDS, Outcome.BOUNDED, Outcome.NO_INITIAL_STATES)
    )


def test_figures_and_provenance(run, checker):
    result = run("Dup")
    assert (result.generated, result.distinct, result.depth) == (13, 7, 4)  # c_dot_Dup.stdout
    assert result.jar_digest == checker["tools"].tlc.digest
    assert result.version.startswith("2.15")
    assert result.java_version == checker["tools"].java.version
    assert result.exit_code == 0


def test_a_result_is_kept_and_found(run):
    first, second = run("Arg"), run("Arg")
    assert second.cached
    assert (second.stdout, second.seconds) == (first.stdout, first.seconds)
    assert not run("Arg", workers=2).cached


def test_deadlock_is_checked_when_asked_for(run, spec_dir, checker):
    assert run("Dead").outcome is Outcome.HOLDS
    found = run("Dead", deadlock=True)
    assert (found.outcome, found.states) == (Outcome.DEADLOCK, 3)
    # CHECK_DEADLOCK, which TLC 2.15 does not know, is honoured all the same.
    assert run("Dead", "CDead2", deadlock=True).outcome is Outcome.HOLDS


def test_all_violations_and_that_the_end_was_reached(run):
    result = run("Multi", keep_going=True)
    assert (result.outcome, result.exit_code) == (Outcome.VIOLATED_INVARIANT, 0)
    assert result.violated == ("I1", "I2", "I3")
    assert [len(found.states) for found in result.counterexamples] == [3, 3, 4]
    assert result.complete
    stopped = run("Multi", keep_going=True, deadlock=True)
    assert stopped.outcome is Outcome.DEADLOCK
    assert not stopped.complete


def test_an_undeclared_constant_is_not_ignored(spec_dir, checker):
    config = parse_config("SPECIFICATION Spec CONSTANTS\nM = 3", "M.cfg")
    result = check(spec_dir / "Assum.tla", config.with_constants(N=6), **checker)
    assert result.outcome is Outcome.CONFIG_ERROR
    assert result.exit_code is None
    assert result.reason.startswith("M.cfg:2: M: no such constant in ")
    assert "(declared there: N)" in result.reason
    with pytest.raises(MbtError, match="no such constant"):
        result.decided()


def test_a_definition_may_be_overridden(spec_dir, checker):
    # In Dead x counts to 2; Nat is a definition of a standard module.
    config = parse_config("INIT Init NEXT Next CONSTANTS Nat = {0} Al = 7")
    assert check(spec_dir / "Alias.tla", config, **checker).outcome is Outcome.HOLDS


def test_time_runs_out(tmp_path, checker):
    module = endless(tmp_path)
    config = Config(init="Init", next="Next", invariants=("Inv",))
    result = check(module, config, **checker, timeout_s=1)
    assert result.outcome is Outcome.TIMEOUT
    assert result.seconds < 10
    with pytest.raises(MachineryError, match="timeout"):
        result.decided()
    assert not list(Path(checker["cache"].root).glob("mbt-filling-*"))


def test_memory_runs_out(tmp_path, checker):
    # TLC 2.15 by itself ends such a run with 75, an evaluation error.
    module = endless(tmp_path, "SUBSET (1..26)")
    config = Config(init="Init", next="Next", invariants=("Inv",))
    assert check(module, config, **checker, memory_mb=16).outcome is Outcome.OUT_OF_MEMORY
    assert check(module, config, **checker, memory_mb=1).outcome is Outcome.OUT_OF_MEMORY


def endless(folder: Path, value: str = "x") -> Path:
    path = folder / "Endless.tla"
    path.write_text(
        "---- MODULE Endless ----\nEXTENDS Naturals\nVARIABLES x, y\nInit == x = 0 /\\ y = {}\n"
        f"Next == x' = x + 1 /\\ y' = {value}\nInv == \\A s \\in y : s # {{0}}\n====\n".replace(
            "y' = x", "y' = {}"
        )
    )
    return path


def test_a_run_killed_from_outside_is_no_verdict(tmp_path, checker):
    module = endless(tmp_path)
    config = Config(init="Init", next="Next", invariants=("Inv",))
    results = []
    with Processes() as processes:
        options = {**checker, "processes": processes}
        thread = threading.Thread(target=lambda: results.append(check(module, config, **options)))
        thread.start()
        while not (found := tlc_process("Endless")) and thread.is_alive():
            thread.join(0.05)
        subprocess.run(["kill", "-9", found], check=True)
        thread.join(20)
    assert results[0].outcome is Outcome.KILLED


def tlc_process(module: str) -> str:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[-2:-1] == [module.encode()] and b"tlc2.TLC" in words:
            return folder.name
    return ""


def test_runs_at_the_same_time_do_not_disturb_each_other(spec_dir, checker):
    options = {**checker, "cache": None}
    config = read_config(spec_dir / "Multi.cfg")
    with ThreadPoolExecutor(4) as pool:
        results = [*pool.map(lambda _: check(spec_dir / "Multi.tla", config, **options), range(4))]
    assert {(r.outcome, r.violated, r.exit_code) for r in results} == {
        (Outcome.VIOLATED_INVARIANT, ("I1",), 12)
    }


def test_the_module_is_not_written_beside(tmp_path, spec_dir, checker):
    for name in ("Loop.tla", "Loop.cfg"):
        (tmp_path / name).write_bytes((spec_dir / name).read_bytes())
    check(tmp_path / "Loop.tla", read_config(tmp_path / "Loop.cfg"), **{**checker, "cache": None})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["Loop.cfg", "Loop.tla"]


def test_a_result_belongs_to_the_texts_that_were_read(tmp_path, checker):
    config = Config(init="Init", next="Next", invariants=("Inv",))
    (tmp_path / "Top.tla").write_text(
        "---- MODULE Top ----\nEXTENDS Below\nVARIABLE x\nInit == x = Value\nNext == x' = x\n"
        "Inv == x = 1\n====\n"
    )
    below = tmp_path / "Below.tla"
    below.write_text("---- MODULE Below ----\nValue == 1\n====\n")
    module = read_module(tmp_path / "Top.tla")
    below.write_text("---- MODULE Below ----\nValue == 2\n====\n")
    assert check(module, config, **checker).outcome is Outcome.HOLDS
    assert check(module.path, config, **checker).outcome is Outcome.VIOLATED_INITIAL
    assert check(module, config, **checker).cached


def test_dumps_are_the_same_twice(spec_dir, checker):
    config = read_config(spec_dir / "Dup.cfg")
    texts = []
    for cache in (checker["cache"], None):
        options = {**checker, "cache": cache}
        with dump(spec_dir / "Dup.tla", config, **options) as (result, path):
            assert result.outcome is Outcome.HOLDS
            texts.append(path.read_text())
    assert texts[0] == texts[1]
    # Lines are generated minus initial states (tlc.md); c_dot_Dup.stdout: 13 and 1.
    assert len(re.findall(" -> ", texts[0])) == 12


def test_without_a_cache_a_dump_is_gone_afterwards(spec_dir):
    config = read_config(spec_dir / "Arg.cfg")
    with dump(spec_dir / "Arg.tla", config, tools=find_tools()) as (_, path):
        assert path.is_file()
    assert not path.exists()


def test_the_state_graph_is_whole_where_a_property_fails(spec_dir, checker):
    config = read_config(spec_dir / "DupI.cfg")
    assert check(spec_dir / "Dup.tla", config, **checker).outcome is Outcome.VIOLATED_INVARIANT
    _, graph = state_graph(spec_dir / "Dup.tla", config, **checker)
    assert len(graph) == 7


@pytest.mark.parametrize(
    ("module", "config", "said"),
    [
        ("ParseErr", "ParseErr", "ParseErr.tla:5:14"),
        ("InitViol", "NoInit", "no state satisfies"),
        ("Eval", "Eval", "Eval.tla:5:54"),
    ],
)
def test_no_state_graph(spec_dir, checker, module, config, said):
    with pytest.raises(MbtError, match=said):
        state_graph(spec_dir / f"{module}.tla", read_config(spec_dir / f"{config}.cfg"), **checker)


def test_progress_is_reported(run):
    seen = []
    run("Dup", "DupA", progress=seen.append)
    assert seen[-1].generated >= seen[-1].distinct > 0
    assert seen[-1].queued == 0
