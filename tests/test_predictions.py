"""Predictions: registered, committed, run once, and held to every byte of what was written."""

import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept import COMMITTED, copy_committed

from adapters.langgraph_interleaved import LangGraphInterleaved
from mbt.cli import main
from replay.audit import audit_receipts
from replay.prediction.chain import chain
from replay.prediction.predictions import predictions
from replay.prediction.predictions_audit import audit_predictions
from replay.receipts import MANIFEST
from replay.rows import read_rows

FORKED = "ExecTask EmitInterrupt Consume(v1) ForkResume(v2) ExecTask"
THREE = ("--constant", 'Values={"v1", "v2", "v3"}', "--constant", "MaxResumes=3")
IGNORING = ("--model", "R0+FaultForkIgnore", "--against", "R0")
SYSTEMS = """
from adapters.reference import Reference

class Blind(Reference):
    "Shows nothing of what a fork came to, nor of what was consumed."
    def observe(self):
        seen = super().observe()
        return {n: v for n, v in seen.items() if n not in ("outcome", "consumedVal")}

class Unable(Reference):
    "Cannot be forked."
    @classmethod
    def unsupported(cls, options):
        return {"ForkResume": "it has no forks"}
"""


def git(folder, *words):
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "work")


@pytest.fixture
def mbt(capsys):
    """Run a command line: exit code, output."""

    def run(*words):
        capsys.readouterr()
        code = main([*map(str, words)])
        return SimpleNamespace(code=code, **capsys.readouterr()._asdict())

    return run


def registering(root, *words, adapter="reference", walk=FORKED, title="a fork is ignored"):
    return [
        *("predict", "register", "ResumeContract", "--receipts", root, "--adapter", adapter),
        *("--walk", f"w={walk}", "--title", title, *words),
    ]


def made(folder):
    """A repository with receipts to be, and one commit."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    (folder / "systems.py").write_text(SYSTEMS)
    commit(folder)
    return folder / "receipts"


@pytest.fixture
def root(tmp_path):
    return made(tmp_path / "repository")


def outcome_of(root, number):
    (path,) = (root / "predictions").glob(f"{number}-*/outcome.json")
    return json.loads(path.read_text())


# -- registering ---------------------------------------------------------------------------


def test_a_registration_says_what_each_step_will_show_and_what_is_violated(mbt, root):
    done = mbt(*registering(root, *IGNORING, *THREE, "--option", "fault=ForkIgnore", "--json"))
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    (said,) = told["predicts"]
    shows = [step["shows"] for step in said["steps"]]
    assert [step["action"] for step in said["steps"]] == ["", *re.findall(r"[A-Z]\w+", FORKED)]
    # By ForkIgnore, which serves the first outcome; the reference would serve the fork its own.
    assert shows[4]["forkOuts"] == '<<<<"v1">>, <<"v1">>>>'
    assert shows[5]["effects"] == "<<1, 1, 1>>" and shows[5]["pc"] == "4"
    assert said["violated"] == ["FD"]
    assert said["separates"]["step"] == 3
    assert said["separates"]["rival"] == {"forkOuts": ['<<<<"v1">>, <<"v2">>>>']}
    assert {"ResumeContract.tla", "ResumeContract_R0.cfg", "tla2tools.jar"} <= {*told["digests"]}
    assert {"adapters/reference.py", "adapters/resume.py", "adapters/base.py"} <= {*told["digests"]}
    head = subprocess.run(
        ["git", "-C", root.parent, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    assert told["commit"] == head.stdout.strip()
    assert told["options"]["fault"] == "ForkIgnore" and told["chosen"] == {"fault": "ForkIgnore"}


def test_a_run_that_goes_on_is_foreseen_to_its_end(mbt, root):
    walk = "ExecTask EmitInterrupt Consume(v1) CrashRecover"
    done = mbt(*registering(root, "--model", "R0+FaultReplay", "--json", walk=walk))
    (said,) = json.loads(done.out)["predicts"]
    drained = [(s["action"], s["shows"]["effects"]) for s in said["steps"] if s["part"] == "drain"]
    assert drained == [
        ("ExecTask", "<<2, 1, 0>>"),
        ("ExecTask", "<<2, 2, 0>>"),
        ("ExecTask", "<<2, 2, 1>>"),
    ]
    assert said["violated"] == ["PC", "EO", "CO"]
    assert said["separates"] is None


@pytest.mark.parametrize(
    ("words", "walk", "message"),
    [
        ((*IGNORING[:2], "--against", "R0"), "ExecTask EmitInterrupt Consume(v1)", "say the same"),
        (("--model", "R77"), FORKED, "no model 'R77'"),
        (("--model", "R0+FaultNone"), FORKED, "no fault switch 'FaultNone'; known: FaultReplay"),
        ((*IGNORING[:2], "--against", "R0C2"), FORKED, "at other bounds"),
        (("--model", "R0", "--constant", "FaultReplay=TRUE"), FORKED, "that is no fault switch"),
        (("--model", "R0", "--constant", "NTasks"), FORKED, "write it as NAME=VALUE"),
        (("--model", "R0"), "ExecTask Consume(v1)", "walk w, word 2: Consume(v1) is not possible"),
        (("--model", "R0"), "ExecTask Jump", "'Jump' is no action"),
        (("--model", "R0"), "ExecTask EmitInterrupt Consume", "takes 1 parameters (v)"),
        (
            ("--model", "R0+FaultNondetRecovery"),
            "ExecTask CrashRecover",
            "word 2: CrashRecover may go 2 ways",
        ),
        (("--model", "R0", "--option", "fault=No"), FORKED, "unknown fault"),
        (("--model", "R0", "--with", "reference==1"), FORKED, "no distribution"),
        (("--model", "R0", "--walk", f"w={FORKED}"), FORKED, "two traces w"),
        (("--model", "R0"), f"ExecTask EmitInterrupt Consume({'9' * 5000})", "is not possible"),
        (("--model", "R0", "--title", " "), FORKED, "--title is empty"),
        (("--model", "R0", "--why", "\udcff"), FORKED, "--why is not UTF-8"),
        (("--model", "R0", "--walk", "\udcff=ExecTask"), FORKED, "name of a --walk is not UTF-8"),
        (("--model", "R0", "--only", "w"), FORKED, "give it with --traces"),
        (("--model", "R0", "--traces", "/dev/null"), FORKED, "there is no trace in it"),
    ],
)
def test_what_is_no_prediction_is_refused(mbt, root, words, walk, message):
    done = mbt(*registering(root, *words, walk=walk))
    assert done.code == 2
    assert message in done.err
    assert not (root / "predictions").exists()


def test_a_prediction_needs_a_repository(mbt, tmp_path):
    done = mbt(*registering(tmp_path / "receipts", "--model", "R0"))
    assert done.code == 2
    assert "both are made in a git repository" in done.err


def test_traces_of_a_file_are_those_of_the_registered_model(mbt, root, tmp_path):
    for model in ("R2", "R0"):
        file = tmp_path / f"{model}.jsonl"
        cover = "counterexample" if model == "R2" else "states"
        mbt("traces", "ResumeContract", "--model", model, "--cover", cover, "-o", file)
    words = [w for w in registering(root, "--model", "R2") if w not in ("--walk", f"w={FORKED}")]
    done = mbt(*words, "--traces", tmp_path / "R2.jsonl", "--json")
    assert done.code == 0, done.err
    # Table II: ForkIgnore's counterexample has five states.
    (said,) = json.loads(done.out)["predicts"]
    assert [step["part"] for step in said["steps"]] == ["start", *["step"] * 4, "drain"]
    done = mbt(*words, "--traces", tmp_path / "R0.jsonl")
    assert done.code == 2 and "is of model R0, not of R2" in done.err


@pytest.mark.parametrize("name", ["ResumeContract/x/receipt.json", "studies/versions-x.json"])
@pytest.mark.parametrize("text", ["[]", '{"adapter": "reference"}', "[" * 100_000])
def test_a_receipt_that_is_none_is_named(mbt, root, name, text):
    (root / name).parent.mkdir(parents=True)
    (root / name).write_text(text)
    done = mbt(*registering(root, "--model", "R0"))
    assert done.code == 2 and f"{root / name}: not " in done.err


def test_what_a_receipt_holds_is_known_under_any_name(mbt, root):
    root.mkdir()
    (root / "rows.toml").write_text(
        '[[table]]\ntitle = "t"\nmodules = ["ResumeContract"]\nadapter = "reference"\nrows = [{}]\n'
    )
    copy_committed(root)
    (receipt,) = root.rglob("runs.jsonl")
    traces = root.parent / "t.jsonl"
    mbt("traces", "ResumeContract", "--model", "R0", "-o", traces)
    first = json.loads(traces.read_text().splitlines()[0])
    traces.write_text(json.dumps(first | {"name": "mine"}) + "\n")
    words = ["predict", "register", "ResumeContract", "--receipts", root, "--model", "R0"]
    words += ["--title", "t", "--traces", traces, "--adapter", "reference"]
    done = mbt(*words)
    assert done.code == 2
    assert f"{receipt} holds trace {first['name']}" in done.err and "--replication" in done.err
    assert mbt(*words, "--option", "heads=shared").code == 0
    done = mbt(*words, "--option", "heads=shared")
    assert done.code == 2 and "registration.json is of trace mine" in done.err
    assert mbt(*words, "--replication").code == 0
    totals = json.loads(mbt("predict", "list", "--receipts", root, "--json").out)["totals"]
    assert [totals[kind]["registered"] for kind in ("new", "replication")] == [1, 1]


# -- running -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One prediction that is confirmed, one refuted, three undecided, all of them run."""
    folder = tmp_path_factory.mktemp("measured") / "repository"
    root = made(folder)
    file = folder / "systems.py"
    for words, adapter, title in [
        (("--option", "fault=ForkIgnore"), "reference", "confirmed"),
        (("--option", "fault=none"), "reference", "refuted"),
        ((), f"{file}:Blind", "blind"),
        ((), f"{file}:Unable", "unable"),
    ]:
        words = registering(root, *IGNORING, *words, adapter=adapter, title=title)
        assert main([*map(str, words)]) == 0
    commit(folder)
    codes = [main(["predict", "run", f"000{n}", "--receipts", str(root)]) for n in range(1, 5)]
    assert codes == [0, 1, 1, 1]
    said = ["predict", "lacked", "2", "a slot for each fork", "--receipts", str(root)]
    assert main([*said[:2], "0002", *said[3:]]) == 0
    commit(folder)
    return root


def test_a_run_that_the_model_admits_confirms_it(measured):
    (trace,) = outcome_of(measured, "0001")["traces"]
    assert (trace["word"], trace["follows"], trace["violated"]) == ("confirmed", "model", ["FD"])


def test_a_run_that_it_does_not_admit_refutes_it_in_a_sentence(measured):
    outcome = outcome_of(measured, "0002")
    (trace,) = outcome["traces"]
    assert (trace["word"], trace["follows"]) == ("refuted", "rival")
    assert trace["sentence"] == (
        'after ForkResume the model has forkOuts = <<<<"v1">>, <<"v1">>>>; '
        'the system showed forkOuts = <<<<"v1">>, <<"v2">>>>'
    )
    assert outcome["counts"] == {"confirmed": 0, "undecided": 0, "refuted": 1}


def test_what_was_not_delivered_or_not_seen_decides_nothing(measured):
    (blind,) = outcome_of(measured, "0003")["traces"]
    assert (blind["word"], blind["follows"]) == ("undecided", "both")
    assert blind["unseen"] == ["consumedVal", "forkOuts"]
    assert blind["sentence"].startswith("both models admit what was seen")
    (unable,) = outcome_of(measured, "0004")["traces"]
    assert unable["word"] == "undecided"
    assert unable["sentence"] == "step 4 could not be delivered: it has no forks"


def test_properties_that_are_to_fail_do(mbt, root):
    walk = "ExecTask EmitInterrupt Consume(v1) ExecTask ExtraResume"
    words = ("--model", "R0+FaultDoubleConsume", "--option", "fault=DoubleConsume")
    # Without a gate of its own the interrupt is emitted in one step with the task before.
    words += ("--option", "interrupt_gate=no")
    assert mbt(*registering(root, *words, walk=walk)).code == 0
    (file,) = root.rglob("registration.json")
    assert json.loads(file.read_text())["predicts"][0]["violated"] == ["EO", "CO"]
    commit(root.parent)
    assert mbt("predict", "run", "0001", "--receipts", root).code == 0
    assert outcome_of(root, "0001")["traces"][0]["violated"] == ["EO", "CO"]
    assert [*audit_predictions(root)] == []


def test_show_and_list_say_what_was_said_and_what_came_of_it(mbt, measured):
    shown = mbt("predict", "show", "0002", "--receipts", measured).out
    assert "R0+FaultForkIgnore against R0" in shown
    assert "the system showed forkOuts" in shown and "lacked: a slot for each fork" in shown
    listed = mbt("predict", "list", "--receipts", measured).out
    assert "new: 4 registered, 4 with a rival, 1 confirmed, 2 undecided, 1 refuted" in listed
    page = (measured / "predictions" / "INDEX.md").read_text()
    assert "| new | 4 | 4 | 1 | 2 | 1 | 0 |" in page
    assert "What the model lacked: a slot for each fork" in page
    assert mbt("predict", "show", "0009", "--receipts", measured).code == 2


def test_it_is_run_once(mbt, measured):
    before = {path: path.read_bytes() for path in measured.rglob("*.json*")}
    done = mbt("predict", "run", "0001", "--receipts", measured)
    assert done.code == 2 and "a prediction is run once" in done.err
    done = mbt("predict", "lacked", "0001", "much", "--receipts", measured)
    assert done.code == 2 and "no prediction that was refuted" in done.err
    done = mbt("predict", "lacked", "0002", "more", "--receipts", measured)
    assert done.code == 2 and "never written twice" in done.err
    assert {path: path.read_bytes() for path in measured.rglob("*.json*")} == before


def test_it_is_not_run_before_its_registration_is_committed(mbt, root):
    assert mbt(*registering(root, "--model", "R0")).code == 0
    done = mbt("predict", "run", "0001", "--receipts", root)
    assert done.code == 2 and "registration.json: not committed as it is now" in done.err
    assert not [*root.rglob("outcome.json")] and not [*root.rglob("runs.jsonl")]
    commit(root.parent)
    (file,) = root.rglob("registration.json")
    committed = file.read_text()
    file.write_text(committed.replace("a fork is", "a fork was"))
    done = mbt("predict", "run", "0001", "--receipts", root)
    assert done.code == 2 and "registration.json: not committed as it is now" in done.err
    file.write_text(committed)
    assert mbt("predict", "run", "0001", "--receipts", root).code == 0


def test_it_is_not_run_once_the_system_is_another(mbt, root):
    file = root.parent / "systems.py"
    assert mbt(*registering(root, "--model", "R0", adapter=f"{file}:Blind")).code == 0
    told = json.loads(next(root.rglob("registration.json")).read_text())
    assert told["adapter"] == "systems.py:Blind"
    file.write_text(SYSTEMS + "\n")
    commit(root.parent)
    done = mbt("predict", "run", "0001", "--receipts", root)
    assert done.code == 2 and "digests of systems.py: not what was registered" in done.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"tla2tools.jar": "', '"tla2tools.jar": "0', "digests of tla2tools.jar: not what was"),
        ('"versions": {}', '"versions": {"x": "1"}', "versions of x: not what was registered"),
        ("<<1, 1, 1>>", "<<1, 1, 2>>", "not what the registered model says"),
        ('"spec": "ResumeContract"', '"spec": "../x.tla"', "leads out of the repository"),
        ('"spec": "ResumeContract"', '"spec": "Absent"', "there is no module Absent here"),
        ('"constants": {}', '"constants": 7', "not of the form it should have"),
        ('"constants": {}', '"constants": {"FaultReplay": "TRUE"}', "that is no fault switch"),
        ('"rearm": "no"', '"rearm": "maybe"', "rearm is one of no, yes"),
        ('"rearm": "no",', "", "has other options now"),
        ('"with": null', '"with": "reference==1"', "no distribution"),
    ],
)
def test_a_registration_that_was_written_by_hand_is_not_run(mbt, root, old, new, message):
    assert mbt(*registering(root, "--model", "R0")).code == 0
    (file,) = root.rglob("registration.json")
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    commit(root.parent)
    done = mbt("predict", "run", "0001", "--receipts", root)
    assert done.code == 2, done.err
    assert message in done.err
    assert not [*root.rglob("outcome.json")]


def test_other_traces_than_the_registered_ones_are_not_run(mbt, root):
    assert mbt(*registering(root, "--model", "R0")).code == 0
    (file,) = root.rglob("traces.jsonl")
    file.write_text(file.read_text().replace('"name":"w"', '"name":"y"'))
    commit(root.parent)
    done = mbt("predict", "run", "0001", "--receipts", root)
    assert done.code == 2 and "the chain of predictions is not whole" in done.err


def test_forms_by_turns():
    """What the paper's third protocol asks for, without LangGraph."""
    parked = SimpleNamespace(tasks=[SimpleNamespace(interrupts=[SimpleNamespace(id="i")])])
    given = []
    for branch in (0, 2, 3):  # the first value is the run's own, the others are of forks
        adapter = LangGraphInterleaved.__new__(LangGraphInterleaved)
        adapter.run = SimpleNamespace(branch=branch, options={"answer": "by-turns"}, notes={})
        adapter._command, adapter._state = (lambda resume: resume), (lambda: parked)
        given.append(adapter._answer("v"))
    assert given == ["v", {"i": "v"}, "v"]


# -- tampering -----------------------------------------------------------------------------

ROWS = """
[[table]]
title = "The reference engine"
modules = ["R11_ConsumeCount"]
adapter = "reference"
rows = [{}, { fault = "Replay" }]
"""


@pytest.fixture(scope="module")
def whole(measured, tmp_path_factory):
    """Receipts of both kinds: predictions, and replays with a second pass."""
    root = tmp_path_factory.mktemp("whole") / "repository" / "receipts"
    shutil.copytree(measured.parent, root.parent)
    entries = (root / MANIFEST).read_text()
    (root / "rows.toml").write_text(ROWS)
    copy_committed(root)
    lines = sorted(
        (entries + (root / MANIFEST).read_text()).splitlines(), key=lambda line: line[66:]
    )
    (root / MANIFEST).write_text("".join(f"{line}\n" for line in lines))
    assert audited(root) == []
    return root


def audited(root):
    return audit_receipts(root, read_rows(root))


def files_of(root):
    """The files of registrations, traces, outcomes and receipts."""
    kinds = {".json", ".jsonl"}
    return sorted(p for p in root.rglob("*") if p.suffix in kinds and p.name != "volatile.json")


def enter_again(root, path):
    """Mend the manifest, as who knows the manifest would."""
    name = path.relative_to(root).as_posix()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    text = (root / MANIFEST).read_text()
    (root / MANIFEST).write_text(re.sub(rf"^\w+(?=  {re.escape(name)}$)", digest, text, flags=re.M))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.randoms(use_true_random=False), byte=st.integers(1, 255))
def test_any_byte_that_is_changed_is_found(whole, place, byte):
    path = place.choice(files_of(whole))
    before = path.read_bytes()
    at = place.randrange(len(before))
    path.write_bytes(before[:at] + bytes([before[at] ^ byte]) + before[at + 1 :])
    try:
        name = path.relative_to(whole).as_posix()
        assert [p for p in audited(whole) if name in p], f"byte {at} of {name}"
    finally:
        path.write_bytes(before)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.randoms(use_true_random=False), byte=st.integers(1, 255))
def test_any_byte_of_a_prediction_is_found_though_the_manifest_was_mended(whole, place, byte):
    path = place.choice(list(files_of(whole / "predictions")))
    before, manifest = path.read_bytes(), (whole / MANIFEST).read_bytes()
    at = place.randrange(len(before))
    path.write_bytes(before[:at] + bytes([before[at] ^ byte]) + before[at + 1 :])
    enter_again(whole, path)
    try:
        assert audited(whole), f"byte {at} of {path}"
    finally:
        path.write_bytes(before)
        (whole / MANIFEST).write_bytes(manifest)


def test_every_file_that_is_removed_or_added_is_found(whole):
    for path in files_of(whole / "predictions"):
        before = path.read_bytes()
        path.unlink()
        assert [p for p in audited(whole) if path.name in p], path
        path.write_bytes(before)
    for added in ("predictions/x.json", "predictions/0001-confirmed/notes.txt"):
        (whole / added).write_text("{}")
        assert [p for p in audited(whole) if added.rpartition("/")[2] in p], added
        (whole / added).unlink()
    assert audited(whole) == []


def test_links_that_change_places_are_found(whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    one, other = (link.path for link in chain(root)[:2])
    texts = [path.read_text() for path in (one, other)]
    for path, text in zip((one, other), reversed(texts), strict=True):
        path.write_text(text)
        enter_again(root, path)
    assert [p for p in audited(root) if "is number" in p or "not what" in p]


def change(root, name, old, new, rest=("registration.json", "outcome.json", "lacked.json")):
    """Change a file of a prediction and mend everything behind it, as a forger would."""
    path = root / "predictions" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    links = sorted(
        (p for p in (root / "predictions").rglob("*.json")),
        key=lambda p: json.loads(p.read_text())["link"]["number"],
    )
    digest = ""
    for link in links:
        content = json.loads(link.read_text())
        content["link"]["previous"] = digest
        for beside in content["beside"]:
            file = link.with_name(beside)
            content["beside"][beside] = hashlib.sha256(file.read_bytes()).hexdigest()
        link.write_text(json.dumps(content))
        digest = hashlib.sha256(link.read_bytes()).hexdigest()
    for file in files_of(root / "predictions"):
        enter_again(root, file)
    main(["predict", "list", "--write", "--receipts", str(root)])


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("0001-confirmed/outcome.json", '"word": "confirmed"', '"word": "refuted"', "counts"),
        ("0002-refuted/outcome.json", '"refuted": 1', '"refuted": 0', "counts"),
        ("0001-confirmed/runs.jsonl", '["v1"]]', '["v2"]]', "does not show what was registered"),
        ("0001-confirmed/runs.jsonl", '"w"', '"z"', "not of the traces that were registered"),
        ("0001-confirmed/registration.json", "<<1, 1, 1>>", "<<1, 1, 7>>", "does not show"),
        ("0001-confirmed/outcome.json", '"violated": ["FD"]', '"violated": []', "as registered"),
        ("0001-confirmed/outcome.json", '"model"', '"both"', "the registered model alone"),
    ],
)
def test_a_forger_who_mends_the_whole_chain_contradicts_the_runs(
    whole, tmp_path, name, old, new, said
):
    shutil.copytree(whole.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    change(root, name, old, new)
    assert [p for p in audited(root) if said in p], audited(root)


def test_a_forger_who_mends_the_whole_chain_contradicts_the_history(whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    # Nothing else holds the reason against the files, but the commit has another one.
    change(root, "0001-confirmed/registration.json", '"why": ""', '"why": "I knew"')
    assert [p for p in audited(root) if "does not hold" in p and "0001-confirmed" in p]
    shutil.rmtree(root.parent / ".git")  # a copy without the history says nothing of it
    assert audited(root) == []


def test_an_outcome_names_a_commit_that_has_its_registration(whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    listed = subprocess.run(
        ["git", "-C", root, "rev-list", "--max-parents=0", "HEAD"], capture_output=True, check=True
    )
    told = outcome_of(root, "0001")["commit"]
    change(root, "0001-confirmed/outcome.json", told, listed.stdout.decode().strip())
    assert [p for p in audited(root) if "does not hold" in p]
    change(root, "0001-confirmed/outcome.json", listed.stdout.decode().strip(), "--help")
    assert [p for p in audited(root) if "is no commit" in p]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ('"title": "x", "title"', 'the key "title" is there twice'),
        ('"x": NaN, "title"', "NaN is no number of JSON"),
        ('"x": "\\ud800", "title"', "half a character"),
        ('"x": ' + "[" * 100_000 + "]" * 100_000 + ', "title"', "nested too deeply"),
    ],
)
def test_what_two_readers_may_read_in_two_ways_is_no_registration(
    mbt, measured, tmp_path, new, said
):
    shutil.copytree(measured.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    (path,) = root.glob("predictions/0001-*/registration.json")
    path.write_text(path.read_text().replace('"title"', new, 1))
    done = mbt("predict", "show", "0001", "--receipts", root)
    assert done.code == 2 and said in done.err
    assert [problem for problem in audit_predictions(root) if said in problem]


def test_a_forger_who_mends_one_prediction_breaks_the_chain(whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    first, *_, outcome = [link for link in chain(root) if link.path.parent.name[:4] == "0001"]
    first.path.write_text(first.path.read_text() + "\n")
    digest = hashlib.sha256(first.path.read_bytes()).hexdigest()
    outcome.path.write_text(outcome.path.read_text().replace(first.digest, digest))
    for path in (first.path, outcome.path):
        enter_again(root, path)
    assert [p for p in audited(root) if "the file before it, number 1, is not what it was" in p]


def test_the_chain_does_not_go_on_where_it_is_broken(mbt, whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path / "r")
    root = tmp_path / "r" / "receipts"
    (file,) = root.rglob("lacked.json")
    links = chain(root)
    first = links[0].path
    first.write_text(first.read_text() + " ")
    done = mbt(*registering(root, "--model", "R0"))
    assert done.code == 2 and "is not whole; restore the file" in done.err
    assert file.is_file()


# -- those that are kept -------------------------------------------------------------------


def test_what_is_kept_is_enough_and_of_several_frameworks():
    kept = [one for one in predictions(COMMITTED) if one.kind == "new"]
    assert len(kept) >= 16 and sum(one.rival is not None for one in kept) >= len(kept) / 2
    assert len(predictions(COMMITTED)) - len(kept) == 4  # the paper's four
    systems = [one.system for one in kept]
    for newest in ("langgraph 1.2.24", "crewai 1.15.30", "llama-index-workflows 2.26.1"):
        assert [system for system in systems if newest in system]
    listed = tomllib.loads((COMMITTED / "predictions.toml").read_text())["prediction"]
    assert {entry["title"] for entry in listed} <= {one.title for one in predictions(COMMITTED)}
