"""Which switches can change what an action does."""

from pathlib import Path

import pytest
from graphs import SPECS

from mbt.commands.common import packaged_modules
from replay.explanation.sentences import UNTOLD, fields_of, sentences_for
from tracegen.cfg import read_config
from tracegen.module import read_module
from tracegen.reach import START, switches_in_reach
from tracegen.spec import load_spec
from tracegen.tlc import state_graph

SWITCHED = sorted(
    name for name, path in packaged_modules().items() if load_spec(path).explain.switches
)


def reach_of(spec):
    configs = [model.config for model in spec.models.values()]
    return switches_in_reach(spec.source, configs, spec.actions, spec.explain.switches)


def test_the_switches_of_the_resume_contract():
    # facts: what changes under a switch, by action.
    spec = load_spec(SPECS / "ResumeContract.tla")
    assert reach_of(spec) == {
        START: set(),
        "ExecTask": {"FaultInvalidPersist", "FaultPrefixReplay"},
        "EmitInterrupt": set(),
        "Consume": set(),
        "ForkResume": {"FaultForkIgnore"},
        "CrashRecover": {"FaultReplay", "FaultPrefixReplay", "FaultNondetRecovery"},
        "ExtraResume": {"FaultDoubleConsume"},
    }


def written(folder, text):
    path = folder / "M.tla"
    path.write_text(f"---- MODULE M ----\n{text}\n====\n")
    return read_module(path)


CONFIG = read_config(SPECS / "ResumeContract_R0.cfg").with_invariants()


def test_a_guard_outside_the_action_is_common_to_all(tmp_path):
    module = written(
        tmp_path,
        "CONSTANTS F, G\nVARIABLE x\nInit == x = 0\nA == x' = 1\nB == /\\ G\n /\\ x' = 2\n"
        "Next == \\/ F /\\ A\n        \\/ B\nSpec == Init /\\ [][Next]_x",
    )
    assert switches_in_reach(module, [CONFIG], ["A", "B"], ["F", "G"]) == {
        START: {"F"},
        "A": {"F"},
        "B": {"F", "G"},
    }


def test_a_definition_may_be_indented(tmp_path):
    module = written(tmp_path, "CONSTANT F\nVARIABLE x\nB == 1\n  H == F\nA == x' = H\nSpec == A")
    assert switches_in_reach(module, [CONFIG], ["A"], ["F"])["A"] == {"F"}


def test_what_is_not_read_puts_every_switch_in_reach(tmp_path):
    module = written(tmp_path, "CONSTANT F\nVARIABLE x\na ++ b == F\nA == x' = x ++ 1\nSpec == A")
    assert switches_in_reach(module, [CONFIG], ["A"], ["F"])["A"] == {"F"}


def test_a_switch_out_of_reach_changes_no_step_of_an_action(checker):
    """On the graphs: the steps of an action are the same whatever a switch out of its reach is."""
    spec = load_spec(SPECS / "ResumeContract.tla")
    reach = reach_of(spec)
    bounds = spec.models["R0"].config

    def steps(*faults):
        _, graph = state_graph(spec.path, spec.config_at(bounds, faults), **checker)
        found = {}
        for edge in graph.edges:
            before = tuple(graph.state(edge.source).items())
            after = tuple(graph.state(edge.target).items())
            found.setdefault((before, edge.action), set()).add(after)
        return found

    plain = steps()
    for switch in spec.explain.switches:
        changed = steps(switch)
        for (before, action), after in changed.items():
            if switch not in reach[action] and (before, action) in plain:
                assert plain[before, action] == after


@pytest.mark.parametrize("name", SWITCHED)
def test_every_switch_has_a_sentence(name):
    spec = load_spec(packaged_modules()[name])
    sentences = sentences_for(spec)
    assert set(sentences) == set(spec.explain.switches)
    for text in sentences.values():
        assert fields_of(text) <= UNTOLD.keys()
        assert text[0].islower() or text[0] == "{", "it stands after others in one line"
        assert not text.endswith(".")


def test_sentences_are_of_modules_that_are_there():
    import tomllib

    tables = tomllib.loads((SPECS / "sentences.toml").read_text())
    assert set(tables) <= set(SWITCHED)
    assert isinstance(SPECS, Path)
