"""The whole folder of real TLC files, each by name: how its run came out, or what it is.

What is in them is looked at in test_output, test_dot, test_parser and test_tlc. The expectations
are those of the exit codes, of the modules in spec/ and of their authors' notes on TLC.
"""

import pytest
from test_dot import ONE_VARIABLE

from tracegen.cfg import Config, ConfigError, read_config
from tracegen.module import read_module
from tracegen.outcome import Outcome, classify
from tracegen.output import parse_output, parse_simulation
from tracegen.values import Int

USAGE = (1, Outcome.USAGE)
HOLDS = (0, Outcome.HOLDS)
BOUNDED = (0, Outcome.BOUNDED)
INVARIANT = (12, Outcome.VIOLATED_INVARIANT)
DEADLOCK = (11, Outcome.DEADLOCK)
EVALUATION = (75, Outcome.EVALUATION_ERROR)
BAD_CFG = (255, Outcome.CONFIG_ERROR)
NO_NAME = (151, Outcome.CONFIG_ERROR)
NOT_PARSED = (150, Outcome.PARSE_ERROR)
LIVENESS = (13, Outcome.VIOLATED_LIVENESS)

# Each with the output in <name>.stdout and the exit code in <name>.rc.
RUNS = {
    "a_ce_values": INVARIANT,
    "b_tool_values": INVARIANT,
    "c_arg": HOLDS,
    "c_argI": INVARIANT,
    "c_dot_Dup": HOLDS,
    "c_dot_DupA": BOUNDED,
    "c_dot_DupC": BOUNDED,
    "c_dot_DupI": INVARIANT,
    "c_dot_Dup_noext": HOLDS,
    "c_dot_constrained": BOUNDED,
    "c_dot_deadl": DEADLOCK,
    "c_dot_eval": EVALUATION,
    "c_dot_fmt": HOLDS,
    "c_dot_fmt_al": HOLDS,
    "c_dot_fmt_plain": HOLDS,
    "c_dot_stuttering": HOLDS,
    "c_dump_fmt": HOLDS,
    "c_dump_noparent": USAGE,
    "c_lab": HOLDS,
    "d_sim_fmt": (0, Outcome.SIMULATED),
    "e_actionprop": (13, Outcome.VIOLATED_ACTION_PROPERTY),
    "e_live_back": LIVENESS,
    "e_live_back_tool": LIVENESS,
    "f_alias": BAD_CFG,
    "f_alias.tool": BAD_CFG,
    "f_assert": EVALUATION,
    "f_assert.tool": EVALUATION,
    "f_assume": (10, Outcome.ASSUMPTION_FALSE),
    "f_assume.tool": (10, Outcome.ASSUMPTION_FALSE),
    "f_badcfg": BAD_CFG,
    "f_badcfg.tool": BAD_CFG,
    "f_checkdeadlock": BAD_CFG,
    "f_checkdeadlock.tool": BAD_CFG,
    "f_deadlock": DEADLOCK,
    "f_deadlock.tool": DEADLOCK,
    "f_evalinv": (76, Outcome.EVALUATION_ERROR),
    "f_evalinv.tool": (76, Outcome.EVALUATION_ERROR),
    "f_evalnext": EVALUATION,
    "f_evalnext.tool": EVALUATION,
    "f_evaltype": EVALUATION,
    "f_evaltype.tool": EVALUATION,
    "f_initviol": (12, Outcome.VIOLATED_INITIAL),
    "f_initviol.tool": (12, Outcome.VIOLATED_INITIAL),
    "f_nocfg": BAD_CFG,
    "f_nocfg.tool": BAD_CFG,
    "f_noinit": (0, Outcome.NO_INITIAL_STATES),
    "f_noinit.tool": (0, Outcome.NO_INITIAL_STATES),
    "f_noinvariant": NO_NAME,
    "f_noinvariant.tool": NO_NAME,
    "f_nospec": NO_NAME,
    "f_nospec.tool": NO_NAME,
    "f_nospecfile": NOT_PARSED,
    "f_nospecfile.tool": NOT_PARSED,
    "f_overflow": EVALUATION,
    "f_parse": NOT_PARSED,
    "f_parse.tool": NOT_PARSED,
    "f_postcond": BAD_CFG,
    "f_postcond.tool": BAD_CFG,
    "f_semantic": NOT_PARSED,
    "f_semantic.tool": NOT_PARSED,
    "f_undefconst": NO_NAME,
    "f_undefconst.tool": NO_NAME,
    "f_underspec": EVALUATION,
    "f_underspec.tool": EVALUATION,
    # TLC says that there is no error.
    "g_continue": (0, Outcome.VIOLATED_INVARIANT),
    "g_continue_dead": DEADLOCK,
    "g_continue_tool": (0, Outcome.VIOLATED_INVARIANT),
    "i_auto": USAGE,
    "i_dumptrace": USAGE,
    "i_note": USAGE,
    "i_user": EVALUATION,
    "j_uni": HOLDS,
}
STDERR = {"f_nospecfile.stderr", "f_nospecfile.tool.stderr", "i_gente2.stderr"}

# Exit codes of runs whose output was not kept.
CODES = {
    "a_ce_args": 12, "a_ce_plain": 12, "a_ok": 0, "b_tool_ce": 12, "b_tool_liveness": 13,
    "b_tool_ok": 0, "c_dump_lgf": 0, "c_str": 0, "d_depth4": 0, "d_sim": 0, "d_sim_b": 0,
    "d_sim_cont": 255, "d_sim_dead": 11, "d_sim_viol": 12, "d_sim_w2": 0, "e_live_stutter": 13,
    "h_difftrace": 12, "h_difftrace_tool": 12, "i_coverage": 0, "i_dfid": 12, "i_gente": 124,
    "i_opt": 0,
}  # fmt: skip

# test_dot: graphs, and what is refused; test_parser: the dump as text; test_output: the user file.
DUMPS = {
    *ONE_VARIABLE, "c_lab.dot", "c_eval.dot", "loop.dot", "j_uni.dot", "c_fmt_al.dot",
    "c_fmt_alc.dot", "j_uni2.dot", "c_fmt_dot.dot", "loop_liveness.dot",
}  # fmt: skip
TEXTS = {"c_fmt_states.dump", "i_userfile.txt", "README.md"}

SIMULATED = {
    "tr_0_0": [0, 1, 1, 2, 50],
    "tr_0_1": [0, 3, 0, 3, 0, 1],
    "tr_0_2": [0, 3, 0, 4, 100],
    "tr_0_3": [0, 1, 2, 3, 0, 4],
}

FMT_CONSTANTS = {"A": "A", "B": "B", "Null": "Null", "S": "{A, B}"}
# What each says besides SPECIFICATION Spec.
CONFIGURATIONS = {
    "Alias": {"alias": "Al"},
    "Arg": {},
    "ArgI": {"invariants": ("Inv",)},
    "Asrt": {},
    "Assum": {"constants": {"N": "3"}},
    "AssumUndef": {},
    "BadCfg": None,  # N = and nothing after it
    "Big32": {},
    "CDead": {"check_deadlock": False},
    "CDead2": {"check_deadlock": False},
    "Dead": {},
    "Dup": {},
    "DupA": {"action_constraints": ("ACons",)},
    "DupC": {"constraints": ("Cons",)},
    "DupI": {"invariants": ("Inv",)},
    "Eval": {},
    "EvalInv": {"invariants": ("InvEval",)},
    "EvalType": {"invariants": ("TypeErr",)},
    "Fmt": {"constants": FMT_CONSTANTS},
    "FmtInv": {"constants": FMT_CONSTANTS, "invariants": ("InvN",)},
    "InitViol": {"invariants": ("Inv",)},
    "Lab": {},
    "Loop": {"properties": ("Done",)},
    "LoopStep": {"properties": ("StepProp",)},
    "Multi": {"invariants": ("I1", "I2", "I3")},
    "NoInit": {"specification": None, "init": "NoInit", "next": "Next"},
    "NoInv": {"invariants": ("Nope",)},
    "NoSpec": {"specification": "Spex"},
    "ParseErr": {},
    "Post": {"postcondition": "Al"},
    "SemErr": {},
    "Under": {},
    "Uni": {},
}
MODULES = {
    "Alias": "x", "Arg": "x", "Asrt": "x", "Assum": "x", "Big32": "x", "Dead": "x", "Dup": "x",
    "Eval": "x f", "Fmt": "n s rec fn set tup mv nest", "InitViol": "x", "Lab": "a b",
    "Loop": "x y", "Multi": "x", "ParseErr": "x", "SemErr": "x", "Under": "x y", "Uni": "s r",
}  # fmt: skip


def test_no_file_is_left_out(data_dir):
    """A file that comes to the folder needs its line above."""
    folder = data_dir / "tlc"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        *(f"{name}.{kind}" for name in RUNS for kind in ("stdout", "rc")),
        *STDERR,
        *(f"{name}.rc" for name in CODES),
        *DUMPS,
        *TEXTS,
        *(f"sim/{name}" for name in SIMULATED),
        *(f"spec/{name}.cfg" for name in CONFIGURATIONS),
        *(f"spec/{name}.tla" for name in MODULES),
    }


@pytest.mark.parametrize("name", RUNS)
def test_how_each_run_came_out(data_dir, name):
    folder = data_dir / "tlc"
    code, outcome = RUNS[name]
    assert int((folder / f"{name}.rc").read_text()) == code
    said = folder / f"{name}.stderr"
    found = classify(
        parse_output((folder / f"{name}.stdout").read_text(encoding="utf-8")),
        exit_code=code,
        timed_out=False,
        stderr=said.read_text() if said.name in STDERR else "",
        partial=outcome is Outcome.BOUNDED,  # as the .cfg says
    )
    assert found is outcome


@pytest.mark.parametrize("name", CODES)
def test_a_code_alone_is_no_verdict(data_dir, name):
    code = int((data_dir / "tlc" / f"{name}.rc").read_text())
    assert code == CODES[name]
    nothing = parse_output("")
    found = classify(nothing, exit_code=code, timed_out=False, stderr="", partial=False)
    assert found is Outcome.FAILED


@pytest.mark.parametrize("name", SIMULATED)
def test_each_simulated_behaviour(data_dir, name):
    text = (data_dir / "tlc" / "sim" / name).read_text(encoding="ascii")
    assert [state["x"] for state in parse_simulation(text)] == [Int(x) for x in SIMULATED[name]]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_each_configuration(data_dir, name):
    path, expected = data_dir / "tlc" / "spec" / f"{name}.cfg", CONFIGURATIONS[name]
    if expected is None:
        with pytest.raises(ConfigError, match=f"{name}.cfg:4: expected a value"):
            read_config(path)
        return
    assert read_config(path) == Config(**{"specification": "Spec", **expected})


@pytest.mark.parametrize("name", MODULES)
def test_each_module(data_dir, name):
    module = read_module(data_dir / "tlc" / "spec" / f"{name}.tla")
    assert module.variables == tuple(MODULES[name].split())
    constants = {"Fmt": ("A", "B", "Null", "S"), "Assum": ("N",)}
    assert module.constants == constants.get(name, ())


# What newer builds print otherwise, as told of them; no such build was at hand.


@pytest.mark.parametrize("tool", [False, True])
def test_newer_builds_name_arguments_in_both_forms(tool):
    action = '<Consume("va") line 7, col 7 to line 7, col 24 of module Arg>'
    states = ["1: <Initial predicate>\nx = 0", f"2: {action}\nx = 1"]
    text = "".join(
        f"@!@!@STARTMSG 2217:4 @!@!@\n{state}\n\n@!@!@ENDMSG 2217 @!@!@\n"
        if tool
        else f"State {state}\n\n"
        for state in states
    )
    (found,) = parse_output(text).counterexamples
    assert [state.action for state in found.states] == [None, "Consume"]
    assert [str(value) for value in found.states[1].arguments] == ['"va"']
