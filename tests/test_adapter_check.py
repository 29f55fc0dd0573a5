"""mbt adapter check: each mistake is found, with its place and what to do, and nothing else is."""

import json
from pathlib import Path

import pytest
from lab import ONE_CRASH
from test_host import gone
from test_network import OTHER_MODULES, installed, lab_of
from test_replay_command import mbt

from adapters.registry import BUILT_IN, load_adapter, locate
from replay.adapter_check import check_class, choose_traces
from replay.adapter_runs import check_runs

BROKEN = Path(__file__).parent / "systems" / "broken.py"


def check(lab, adapter, **chosen):
    """The findings, as their lines."""
    kind = load_adapter(locate(adapter))
    options = {name: option.default for name, option in kind.options.items()} | chosen
    found = check_class(lab.spec, kind, options)
    if not any(finding.check in {"observe", "action"} for finding in found):
        part = lab.parts.get(ONE_CRASH) or next(iter(lab.parts.values()))
        traces = choose_traces(lab.spec, part.traces)
        found += check_runs(lab.spec, traces, locate(adapter), kind, options, limit=30)
    return [finding.line for finding in found]


def test_the_traces_that_are_walked_deliver_every_stimulus_and_one_ends_parked(lab):
    traces = choose_traces(lab.spec, lab.parts[ONE_CRASH].traces)
    actions = {step.action for trace in traces for step in trace.steps}
    assert {"Consume", "ForkResume", "CrashRecover", "ExtraResume"} <= actions
    assert traces[0].steps == ()


STATIC = [
    ("NoObserve", "it has no observe()"),
    ("NoPublicState", "it has no public_state()"),
    ("NoMethod", "action: CrashRecover: NoMethod has no method CrashRecover"),
    ("NoMethod", "is CrashRecovery meant to be it?"),
    ("OtherParameter", "OtherParameter.Consume() (broken.py, line "),
    ("OtherParameter", "has to take v by name"),
    ("NoRecovery", "NoRecovery has no recover()"),
    ("DefaultOutsideChoices", "its default 'green' is none of its choices"),
    ("TakesAnything", "option path: it has no choices, and check_options() takes"),
]


@pytest.mark.parametrize(("name", "line"), STATIC)
def test_what_the_class_shows_is_found_without_a_run(lab, name, line):
    kind = load_adapter(f"{BROKEN}:{name}")
    options = {option: rule.default for option, rule in kind.options.items()}
    assert any(line in finding.line for finding in check_class(lab.spec, kind, options))


RUNS = [
    ("UnknownNames", ["frontiers is no observed variable of ResumeContract"]),
    ("NoJson", ["returned ckpts = {1, 2}, which is no JSON"]),
    ("RemembersItself", ["a fresh process shows frontier = ", "read frontier from the store"]),
    ("CountsItsLooks", ["called twice shows frontier = "]),
    ("WritesWhileLooking", ["store_digest() is another after one more observe()"]),
    ("DigestOfAnId", ["differs between two runs that went the same way"]),
    ("DigestOfNothing", ["it is the same whatever the store holds"]),
    ("NoDigest", ["it returned None, so recovery determinism is not judged"]),
    ("LeavesAFile", ["forgotten-"]),
    ("ThreadsInPrepare", ["prepare() (broken.py, line ", "it started threads"]),
    ("OpensInPrepare", ["store.txt open, which every process of every run would share"]),
    ("ReachesOutQuietly", ["network: ", "it tried to reach telemetry.example"]),
    ("ReachesOutWhenPrepared", ["prepare() (broken.py, line ", "it tried to reach 192.0.2.7"]),
    ("NoGate", ["task 3: no run was ever held at its gate"]),
    ("NoEffect", ["task 1: its body ran, and no run recorded its effect"]),
    ("Fickle", ["walked twice, it went otherwise the second time"]),
    ("WrongCall", ["the system's answer was TypeError"]),
    ("Stumbles", ["KeyError: 'v1' (broken.py, line ", ", resume)", "step "]),
    (
        "DiesInACall",
        [
            "process 1 of the run, told to Consume, died unasked (wait status 9)",
            "it was in the call os.kill(os.getpid(), 9) (broken.py, line ",
            "about to fall over",
        ],
    ),
]


@pytest.mark.parametrize(("name", "pieces"), RUNS)
def test_what_a_few_runs_show_is_found(lab, name, pieces):
    lines = check(lab, f"{BROKEN}:{name}")
    for piece in pieces:
        assert any(piece in line for line in lines), lines


def test_a_process_that_is_left_is_named_and_ended(lab, monkeypatch):
    from replay import adapter_runs

    seen = {}

    def spied(host, grace, left=adapter_runs.left_running):
        found = left(host, grace)
        seen.update(found)
        return found

    monkeypatch.setattr(adapter_runs, "left_running", spied)
    lines = check(lab, f"{BROKEN}:LeavesAProcess")
    assert any("a process is left running: sleep 300" in line for line in lines), lines
    assert set(seen.values()) == {"sleep 300"}
    assert gone([*seen])


@pytest.mark.parametrize("chosen", [{}, {"crash_at": "boundary"}], ids=["body", "boundary"])
def test_nothing_is_found_in_the_reference_engine(lab, chosen):
    assert check(lab, "reference", **chosen) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.framework("langgraph" if name in OTHER_MODULES else name)
        )
        for name in BUILT_IN
        if name != "reference"
    ],
)
def test_nothing_is_found_in_the_adapters_that_come_with_mbt(lab, name):
    if not installed(load_adapter(locate(name)).distributions[0]):
        pytest.skip(f"the framework of {name} is not installed")
    module = OTHER_MODULES.get(name)
    assert check(lab_of(module) if module else lab, name) == []


def test_an_answer_is_under_way_up_to_the_gate_that_it_is_of():
    """Of several gates, too: what stands behind one is looked at before the next is answered."""
    found = check(lab_of("TwoGates"), "reference")
    assert [line for line in found if not line.startswith("observe: ")] == []


def test_a_delivery_that_is_brought_to_its_gate_is_called_with_its_value():
    found = check(lab_of("ConsumeRace"), "reference")
    assert [line for line in found if not line.startswith("observe: ")] == []


def test_an_answer_under_way_is_not_looked_at(monkeypatch):
    """A race's deliveries and the answers of a plain run, by the methods that they are made by."""
    from replay import adapter_runs

    seen = {}

    class Spied(adapter_runs.WatchedHost):
        def watch(self, folder):
            seen["gates"], seen["deliveries"] = self.gates, self.deliveries
            super().watch(folder)

    monkeypatch.setattr(adapter_runs, "WatchedHost", Spied)
    check(lab_of("ConsumeRace"), "reference")
    assert seen == {"gates": (2,), "deliveries": {"RaceConsume"}}
    check(lab_of("TwoGates"), "reference")
    assert seen["gates"] == (2, 4) and {"Consume", "ForkResume"} <= seen["deliveries"]


def test_the_command_prints_a_line_each_and_ends_with_one(tmp_path):
    done = mbt("adapter", "check", f"{BROKEN}:TakesAnything", "--json")
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["check"], finding["where"]) == ("options", "option path")
    done = mbt("adapter", "check", f"{BROKEN}:NoMethod")
    assert done.returncode == 2
    assert "name the module that it is driven by" in done.stderr
    done = mbt("adapter", "check", f"{BROKEN}:NoMethod", "ResumeContract")
    assert done.returncode == 1
    assert "✗ action: CrashRecover: " in done.stdout and "no trace walked" in done.stdout


def test_a_plain_adapter_is_checked_against_its_own_module():
    examples = Path(__file__).parent.parent / "examples" / "bounded_queue"
    module, adapter = examples / "BoundedQueue.tla", examples / "python_queue.py"
    done = mbt("adapter", "check", f"{adapter}:PythonQueue", str(module))
    assert done.returncode == 0, done.stdout
