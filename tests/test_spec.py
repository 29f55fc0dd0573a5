"""Loading a specification: what its TOML says, and what is said of a wrong one."""

import pickle
import shutil
from pathlib import Path

import pytest

from tracegen.errors import MbtError
from tracegen.spec import SpecError, load_spec
from tracegen.tomlplace import line_of
from tracegen.trace import Step
from tracegen.values import FALSE, TRUE, Int, ModelValue, Set, Str, record, seq

SPECS = Path(__file__).resolve().parent.parent / "specs"


@pytest.fixture(scope="module")
def spec():
    return load_spec(SPECS / "ResumeContract.tla")


def test_models(spec):
    assert [*spec.models][:3] == ["R0", "R0C2", "R1"]
    model = spec.model("R1")
    assert model.expect.model_dump(exclude_none=True) == {
        "verdict": "violated",
        "property": "EffectExactlyOnce",
        "generated": 7,
        "distinct": 7,
        "states": 4,
    }
    assert model.constants["Values"] == Set([Str("v1"), Str("v2")])
    assert model.constants["NoVal"] == ModelValue("NoVal")
    assert model.constants["NTasks"] == Int(3)
    assert [name for name, each in spec.models.items() if each.slow] == ["R8"]


def test_actions_and_their_parameters(spec):
    assert spec.actions["Consume"].kind == "stimulus"
    assert spec.actions["CrashRecover"].delivery == "kill"
    state = {
        "consumedVal": Str("v2"),
        "ckpts": seq([record({"task": Int(3), "valid": FALSE})]),
    }
    assert spec.params["Consume"]["v"].read(state) == Str("v2")
    assert spec.params["ExecTask"]["t"].read(state) == Int(3)
    assert spec.params["EmitInterrupt"] == {}
    assert spec.actions["ExecTask"].poisons(Step("ExecTask", {}, state))
    sound = {"ckpts": seq([record({"task": Int(3), "valid": TRUE})])}
    assert not spec.actions["ExecTask"].poisons(Step("ExecTask", {}, sound))
    assert not spec.actions["Consume"].poisons(Step("Consume", {}, state))


def test_a_specification_can_be_sent_to_another_process(spec):
    assert pickle.loads(pickle.dumps(spec)).models == spec.models


def test_an_unknown_model(spec):
    with pytest.raises(SpecError, match=r"has no model 'R99'; known: R0, R0C2, R1"):
        spec.model("R99")
    with pytest.raises(SpecError, match=r"several models; name one with --model: R0, R0C2"):
        spec.model()


def test_a_module_without_a_toml_has_its_cfg_as_its_model(data_dir):
    spec = load_spec(data_dir / "tlc" / "spec" / "Dup.tla")
    assert [*spec.models] == ["Dup"]
    assert spec.model().config.specification == "Spec"
    assert (spec.actions, spec.suite) == ({}, ())


def test_a_module_with_neither(tmp_path):
    (tmp_path / "M.tla").write_text("---- MODULE M ----\n====\n")
    with pytest.raises(SpecError, match=r"M\.tla has neither M\.toml nor M\.cfg beside it"):
        load_spec(tmp_path / "M.tla")


@pytest.mark.parametrize(
    ("right", "wrong", "at", "said"),
    [
        ("title = ", "titel = ", "titel = ", "titel: unknown key (known: module, title, point"),
        ("[models.R2]", "[models.R2", "[models.R2", "not TOML: Expected ']'"),
        (
            "generated = 87",
            "generatd = 87",
            "generatd",
            "R0.expect.generatd: unknown key (known: v",
        ),
        (
            "generated = 87",
            'generated = "87"',
            '"87"',
            "generated: Input should be a valid integer",
        ),
        (
            'cfg = "ResumeContract_R1.cfg"',
            'cfg = "X.cfg"',
            "X.cfg",
            "models.R1.cfg: there is no file",
        ),
        (
            'property = "EffectExactlyOnce"',
            'property = "X"',
            '"X"',
            "no checked property 'X' (known: E",
        ),
        ("slow = true", "slow = 1", "slow = 1", "models.R8.slow: Input should be a valid boolean"),
        ('invariant = "ConsumeOnce"', 'invariant = "X"', '"X"', "no definition 'X' (known: "),
        ('reads = ["ckpts"]', 'reads = ["ckpt"]', '["ckpt"]', "no variable 'ckpt' (known: pc, "),
        ('kind = "response"', 'kind = "answer"', '"answer"', "should be 'stimulus' or 'response'"),
        (
            '"ckpts[-1].task"',
            '"ckpts[-1.task"',
            '1.task"',
            "'ckpts[-1.task' is not a path to a value",
        ),
        ('"ckpts[-1].task"', '"ckpt[-1].task"', "[actions.ExecTask]", "no variable 'ckpt'"),
        (
            "poisoned = { at",
            "poisoned = { on",
            "poisoned",
            "poisoned.on: unknown key (known: at, is)",
        ),
        ("[actions.Consume]", "[actions.Consum]", "[actions.Consum]", "no definition 'Consum'"),
        (
            '"FaultReplay"',
            '"FaultRepla"',
            "[explain]",
            "no constant 'FaultRepla' (known: NTasks, IP",
        ),
        ('model = "R0C2"', 'model = "R99"', '"R99"', "no model 'R99' (known: R0, R0C2"),
        (
            'cover = "counter',
            'cover = "contra',
            "contra",
            "suite.2.cover: Input should be 'states'",
        ),
        ('module = "ResumeContract"', 'module = "Other"', "Other", "no module 'Other'"),
        ('null = "NoVal"', 'null = "NoVa"', "NoVa", "no constant 'NoVa'"),
        ('tasks = "NTasks"', 'tasks = "NTask"', '"NTask"', "workflow.tasks: no constant 'NTask'"),
    ],
)
def test_a_wrong_toml_is_one_message_with_its_line(tmp_path, right, wrong, at, said):
    for file in SPECS.glob("ResumeContract*"):
        shutil.copy(file, tmp_path)
    toml = tmp_path / "ResumeContract.toml"
    text = toml.read_text()
    assert right in text
    toml.write_text(text.replace(right, wrong, 1))
    with pytest.raises(MbtError) as refused:
        load_spec(tmp_path / "ResumeContract.tla")
    message = str(refused.value)
    assert said in message
    place, _, _ = message.removeprefix(f"{toml}:").partition(":")
    nearby = toml.read_text().splitlines()[int(place) - 1]
    # A key of several lines is found by its first; a reference by its table.
    assert at in nearby or nearby.startswith(("[[suite]]", "switches", "poison_only"))
    assert "\n" not in message


def test_a_wrong_cfg_is_named_itself(tmp_path):
    for file in SPECS.glob("ResumeContract*"):
        shutil.copy(file, tmp_path)
    (tmp_path / "ResumeContract_R1.cfg").write_text("SPECIFICATION\n")
    with pytest.raises(MbtError, match=r"ResumeContract_R1\.cfg:1: expected a name"):
        load_spec(tmp_path / "ResumeContract.tla")


def test_lines_of_a_toml():
    text = 'a = 1\n# b = 2\n[t."u v"]\nx.y = 1\n[[s]]\nn = 1\n[[s]]\nn = 2\n[s.deep]\nk = 1\n'
    assert line_of(text, ["a"]) == 1
    assert line_of(text, ["b"]) is None
    assert line_of(text, ["t", "u v", "x", "y"]) == 4
    assert line_of(text, ["t", "missing"]) == 3
    assert line_of(text, ["s", 0, "n"]) == 6
    assert line_of(text, ["s", 1, "n"]) == 8
