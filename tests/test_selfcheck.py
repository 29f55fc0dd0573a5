"""`mbt selfcheck`: mutants of the harness show as predicted, and leave nothing behind."""

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from lab import SPECS

from adapters.host import Process
from adapters.ledger import Ledger
from adapters.registry import load_adapter
from mbt.cli import main, mbt
from mbt.commands import selfcheck as command
from replay import engine, judge, lives, parallel, parts, suite
from replay.compare import Model
from replay.explanation import explain
from replay.primary import Primary
from replay.selfcheck.mutants import MUTANTS
from replay.selfcheck.mutated import FORMS, reference_of
from replay.selfcheck.plan import USUAL, agrees, digest_of, killed, plan
from replay.selfcheck.run import Bench, measure
from replay.selfcheck.study import cells_text, conforms, outcome_of, problems, unkilled
from replay.studies import read_study
from tracegen.errors import MachineryError
from tracegen.spec import load_spec

REPOSITORY = Path(__file__).parent.parent
PLAN = plan()

# Whatever a mutant replaces is an attribute of one of these.
HARNESS = (
    *(engine._Walk, lives.Lives, Primary, Ledger, Model, Process),
    *(engine, explain, judge, lives, parallel, parts, suite),
)


def attributes():
    return {(str(owner), name): value for owner in HARNESS for name, value in vars(owner).items()}


def only(*rows):
    """The plan with predictions of these rows alone."""
    operators = {
        name: replace(o, predicted={r: cells for r, cells in o.predicted.items() if r in rows})
        for name, o in PLAN.operators.items()
    }
    return replace(PLAN, operators=operators)


# --- the mutants


@pytest.mark.parametrize("name", [*MUTANTS])
def test_a_mutant_is_in_force_where_it_is_applied_and_nowhere_else(name):
    mutant, before = MUTANTS[name], attributes()
    with pytest.raises(KeyError), mutant.applied():  # taken back however it ends
        changed = {key for key, value in attributes().items() if value is not before[key]}
        assert bool(changed) == (mutant.form is None)
        raise KeyError
    assert attributes() == before


def test_every_operator_has_a_mutant_and_every_form_of_an_adapter_is_used():
    assert [*PLAN.operators] == [*MUTANTS]
    of_rows = {row.adapter.partition("__")[0] for row in PLAN.rows.values() if "__" in row.adapter}
    assert {mutant.form for mutant in MUTANTS.values()} - {None} | of_rows == {*FORMS}
    for form in FORMS:
        kind = load_adapter(reference_of(form, "reference"))
        assert issubclass(kind, load_adapter("adapters.reference:Reference"))


def test_every_prediction_is_of_cells_that_its_row_has():
    specs = {row.module: load_spec(SPECS / f"{row.module}.tla") for row in PLAN.rows.values()}
    for operator in PLAN.operators.values():
        for name, cells in operator.predicted.items():
            row = PLAN.rows[name]
            known = {*specs[row.module].properties, *USUAL, *row.expect, "refused"}
            assert {*cells} <= known, (operator.name, name)


def test_the_code_of_the_harness_knows_nothing_of_them():
    own = {
        "mutant.py",
        "mutants.py",
        "mutated.py",
        "selfcheck.py",
        "selfcheck_plan.py",
        "selfcheck_run.py",
    }
    own |= {path.name for path in (REPOSITORY / "replay").glob("mutants_*.py")}
    for package in ("adapters", "replay", "tracegen"):
        for path in (REPOSITORY / package).glob("*.py"):
            if path.name not in own:
                text = path.read_text()
                assert not re.search(r"(from|import) .*(mutant|mutated|selfcheck)", text), path


def test_three_operators_come_out_as_predicted(checker):
    names = ("forget the poison", "second consumer not held", "an old result")
    before = attributes()
    content = measure(only("invalid", "race", "race refused"), names, checker)
    assert attributes() == before
    assert [outcome_of(content, operator) for operator in content["operators"]] == ["yes"] * 3
    assert conforms(content)
    # What the operators' own words say, not the file of predictions.
    poison, held, old = (operator["actual"] for operator in content["operators"])
    assert poison["invalid"]["CV"] == "holds"
    assert "was not held past its read" in held["race"]["refused"]
    assert old["race refused"] == dict.fromkeys(("EO", "CO-e", "CO-c"), "violated")
    assert old["race"] == {}
    assert "invalid" not in unkilled(content) or "CV" not in unkilled(content)["invalid"]


def test_a_row_that_is_not_what_it_should_be_without_a_mutant_ends_the_study(checker):
    row = replace(PLAN.rows["invalid"], options={})  # refuses what it should store
    with pytest.raises(MachineryError, match=r"row invalid, without any mutant: .*CV is holds"):
        Bench(checker).baseline(row)


# --- the command


def run(monkeypatch, predicted, *words):
    """The command on one operator with one row, under another prediction."""
    operator = replace(PLAN.operators["forget the poison"], predicted={"invalid": predicted})
    known = replace(PLAN, operators={operator.name: operator})
    monkeypatch.setattr(command, "plan", lambda: known)
    return CliRunner().invoke(mbt, ["selfcheck", *words], standalone_mode=False)


RIGHT = {"CV": "holds", "diverging": 0, "explained": "reference"}


@pytest.mark.parametrize(
    ("predicted", "code", "said"),
    [(RIGHT, 0, "yes"), ({**RIGHT, "CV": "violated"}, 1, "NO"), ({"refused": "x"}, 1, "NO")],
    ids=["right", "wrong", "refusal"],
)
def test_the_exit_code_says_whether_the_prediction_was_right(monkeypatch, predicted, code, said):
    done = run(monkeypatch, predicted, "--only", "forget the poison", "--json")
    assert done.return_value == code, done.output
    content = json.loads(done.output)
    assert outcome_of(content, content["operators"][0]) == said
    assert content["operators"][0]["actual"] == {"invalid": RIGHT}


def test_an_operator_of_no_such_name_and_a_part_of_the_study_are_refused(capsys, tmp_path):
    assert main(["selfcheck", "--only", "nothing"]) == 2
    assert "known: lose every second row, " in capsys.readouterr().err
    words = ["--only", "kill late", "--write", "--receipts", str(tmp_path)]
    assert main(["selfcheck", *words]) == 2
    assert "leave out --only" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


# --- what agrees


@pytest.mark.parametrize(
    ("predicted", "actual", "verdict"),
    [
        ({}, {}, True),
        ({}, {"EO": "violated"}, False),
        ({"EO": "violated"}, {"EO": "violated"}, True),
        ({"EO": "violated"}, {}, False),
        ({"diverging": "more"}, {"diverging": 21}, True),
        ({"diverging": "more"}, {}, False),
        ({"diverging": "more"}, {"diverging": 19}, False),
        ({"refused": "not held"}, {"refused": "the racer was not held"}, True),
        ({"refused": "not held"}, {"refused": "it hung"}, False),
        ({"refused": "not held"}, {"EO": "violated"}, False),
        ({"EO": "violated"}, {"refused": "it hung"}, False),
    ],
)
def test_agreement_by_hand(predicted, actual, verdict):
    baseline = {"EO": "holds", "diverging": 20}
    whole = actual if "refused" in actual else {**baseline, **actual}
    assert agrees(baseline, predicted, whole) is verdict


def test_a_refusal_kills_every_cell():
    assert killed({"EO": "holds", "CO": "holds"}, {"refused": "no"}) == ["EO", "CO"]
    assert killed({"EO": "holds", "CO": "holds"}, {"CO": "violated"}) == ["CO"]


def test_cells_that_change_alike_are_told_together():
    assert cells_text({"EO": "holds", "CO": "holds", "diverging": 0}) == (
        "EO, CO: holds; diverging: 0"
    )
    assert cells_text({}) == "–"


# --- the record


def test_the_predictions_are_the_ones_that_were_registered():
    predictions = {name: operator.predicted for name, operator in PLAN.operators.items()}
    assert digest_of(predictions) == PLAN.registered
    assert PLAN.registered.startswith("c06baf7427b4607e")


@pytest.fixture(scope="module")
def kept():
    return read_study(REPOSITORY / "receipts", "selfcheck")


def test_in_the_committed_study_every_prediction_agrees_or_is_explained(kept):
    assert [*problems(kept)] == []
    assert conforms(kept)
    said = [row.get("refused", "") for o in kept["operators"] for row in o["actual"].values()]
    assert any(said) and not [text for text in said if "/" in text]  # no folder of a machine


def operator(content, name):
    return next(each for each in content["operators"] if each["name"] == name)


def flip(content):
    operator(content, "kill late")["actual"]["clean"]["diverging"] = 3


def flip_back(content):
    operator(content, "kill late")["actual"]["replay"].pop("CO")


def same_as_before(content):
    operator(content, "no drain")["actual"]["clean"]["EO"] = "holds"


def predicted_after_all(content):
    operator(content, "kill late")["predicted"]["clean"]["diverging"] = 3


def reasoned_away(content):
    operator(content, "kill late")["reason"] = "because"


def row_lost(content):
    operator(content, "kill late")["actual"].pop("race")


def operator_lost(content):
    content["operators"].pop()


def baseline_changed(content):
    content["rows"][1]["cells"]["EO"] = "holds"


def options_changed(content):
    content["rows"][1]["options"] = {}


def unkilled_hidden(content):
    content["unkilled"] = {}


def registered_again(content):
    content["registered"] = "0" * 64


@pytest.mark.parametrize(
    ("tamper", "phrase"),
    [
        (flip, "kill late: clean: came out otherwise than predicted"),
        (flip_back, "kill late: replay: came out otherwise than predicted"),
        (same_as_before, "no drain: clean: a cell that is said to have changed"),
        (predicted_after_all, "not the ones that were registered"),
        (reasoned_away, "kill late: not as selfcheck.toml has it"),
        (row_lost, "kill late: the rows that were run are not those that were predicted"),
        (operator_lost, "its operators are not those of selfcheck.toml"),
        (baseline_changed, "row replay: without a mutant it did not come to what it should"),
        (options_changed, "row replay: not the one of selfcheck.toml"),
        (unkilled_hidden, "lists as unkilled do not follow"),
        (registered_again, "not the ones that were registered"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_tampered_study_is_found_out(kept, tamper, phrase):
    content = copy.deepcopy(kept)
    tamper(content)
    found = [*problems(content)]
    assert any(phrase in text for text in found), found
