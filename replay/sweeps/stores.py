"""The study `stores`: outputs that break the schema, stores that were tampered with.

Of each run: whether what was bad was refused or taken, what the framework's own reads say of it in
a process that never saw the run, what the next recovery does, and which effects fire again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from adapters.resume import POISON
from replay.sweeps.store_planes import (
    HELD_AFTER_THE_WRITE,
    NOT_THE_CALLERS,
    POISONED,
    TAMPERED,
    Plane,
)
from replay.sweeps.store_runs import AFTER_THE_WRITE, AT_THE_END, TASKS, UNTOUCHED

Content = Mapping[str, Any]
Run = Mapping[str, Any]
Cells = list[str]

REFUSED, REFUSED_AND_READ, STORED, STORED_AND_REFUSED, NOWHERE = (
    "refused",
    "refused, yet read",
    "stored without a word",
    "stored, then refused",
    "neither stored nor refused",
)
#: What became of a tampering, the loudest first.
OUTCOMES = ("refused on loading", "refused on running", "waits", "repeats", "leaves out", "goes on")
KILLED = 9
"""The wait status of a process that SIGKILL ended."""


def conclude(measured: Content) -> dict[str, Any]:
    """The receipt's content: what was measured, with what follows of each run."""
    runs = {
        "poisoned": [{**run, "found": of_poisoned(run)} for run in measured["poisoned"]],
        "tampered": [{**run, "found": of_tampered(run)} for run in measured["tampered"]],
    }
    return {**measured, **runs, "outcomes": outcomes(runs["tampered"])}


def of_poisoned(run: Run) -> dict[str, Any]:
    """What became of an output that breaks the schema, and of the run that put it out."""
    stored = any(not checkpoint["valid"] for checkpoint in run["stored"])
    refused = run["error"] is not None
    read = any(POISON in _leaves(read.get("says")) for read in run["fresh"].values())
    write = {
        (False, True): REFUSED_AND_READ if read else REFUSED,
        (True, False): STORED,
        (True, True): STORED_AND_REFUSED,
        (False, False): NOWHERE,
    }[stored, refused]
    return {
        "write": write,
        "error": run["error"] and run["error"]["type"],
        # How often the run was let go on between the write and its end.
        "later": len(run["stands"]) - run["written"] - 2,
        "recovery": _ended(run["recovery"]),
        "again": _again(run["ledger"]),
        "clean": {
            "recovery": _ended(run["clean"]["recovery"]),
            "again": _again(run["clean"]["ledger"]),
        },
    }


def of_tampered(run: Run) -> dict[str, Any]:
    """What became of a tampering: refused by whom, or what the recovery made of it."""
    errors = [read["error"]["type"] for read in run["fresh"].values() if "error" in read]
    ended, again = _ended(run["recovery"]), _again(run["ledger"])
    fired = {task for task, _, _ in run["ledger"]}
    missed = [task for task in range(1, TASKS + 1) if task not in fired]
    if errors:
        outcome = "refused on loading"
    elif run["recovery"]["error"]:
        outcome = "refused on running"
    elif again:
        outcome = "repeats"
    elif run["recovery"]["stands"][-1] != "complete":
        outcome = "waits"
    else:
        outcome = "leaves out" if missed else "goes on"
    return {
        "outcome": outcome,
        "loading": errors[0] if errors else None,
        "recovery": ended,
        "again": again,
    }


def outcomes(tampered: Sequence[Run]) -> list[dict[str, Any]]:
    """How many tamperings with a plane's store came out how."""
    counted = []
    for plane in TAMPERED:
        runs = [run for run in _of(plane, tampered) if run["form"] != UNTOUCHED]
        told = [of_tampered(run)["outcome"] for run in runs]
        if told:
            counted.append(
                {
                    "adapter": plane.adapter,
                    "options": dict(plane.chosen),
                    "forms": len(told),
                    **{outcome: told.count(outcome) for outcome in OUTCOMES},
                }
            )
    return counted


def problems(content: Content, adapters: Collection[str] = ()) -> Iterator[str]:
    """Where the receipt says what does not follow from what it holds, or runs are missing.

    Args:
        adapters: of which it is; of all planes, where none is named.
    """
    for run in content["poisoned"]:
        name = f"{_name(run)}, task {run['task']} killed {run['killed']}"
        if run["found"] != of_poisoned(run):
            yield f"{name}: found {run['found']}, and its run comes to {of_poisoned(run)}"
        yield from _evidence(name, run)
        yield from _evidence(f"{name}, unpoisoned", run["clean"])
        if run["killed"] != AT_THE_END and run["stands"] != run["clean"]["stands"]:
            yield f"{name}: unpoisoned it was killed elsewhere"
    for run in content["tampered"]:
        name = f"{_name(run)}, {run['form']}"
        if run["found"] != of_tampered(run):
            yield f"{name}: found {run['found']}, and its run comes to {of_tampered(run)}"
        yield from _evidence(name, run)
    if content["outcomes"] != outcomes(content["tampered"]):
        yield "the count of outcomes is not that of its runs"
    for plane in POISONED:
        if not adapters or plane.adapter in adapters:
            yield from _missing_poisoned(plane, _of(plane, content["poisoned"]))
    for plane in TAMPERED:
        if not adapters or plane.adapter in adapters:
            yield from _missing_tampered(plane, _of(plane, content["tampered"]))


def _missing_poisoned(plane: Plane, runs: Sequence[Run]) -> Iterator[str]:
    """Whether a run of each task was killed where it can be, once."""
    every = [*range(1, TASKS + 1)]
    at_the_end = [run["task"] for run in runs if run["killed"] == AT_THE_END]
    if at_the_end != every:
        yield f"{plane}: poisoned to the end in tasks {at_the_end}"
    wanted = every[:-1] if plane in HELD_AFTER_THE_WRITE else []
    after = [run["task"] for run in runs if run["killed"] == AFTER_THE_WRITE]
    if after != wanted:
        yield f"{plane}: killed after the write of tasks {after}, and to be expected is {wanted}"


def _missing_tampered(plane: Plane, runs: Sequence[Run]) -> Iterator[str]:
    """Whether the store was tampered with in each form of its adapter's, and once in none."""
    controls = [run for run in runs if run["form"] == UNTOUCHED]
    if [of_tampered(run)["outcome"] for run in controls] != ["goes on"]:
        yield f"{plane}: no untouched store that repeats nothing to compare with"
    forms = [run["form"] for run in runs if run["form"] != UNTOUCHED]
    if forms != [*plane.kind.tamperings(plane.options)]:
        yield f"{plane}: tampered with in the forms {forms}, which are not all that it has"


def _evidence(name: str, run: Run) -> Iterator[str]:
    if run["deaths"] != [KILLED]:
        yield f"{name}: its process ended with {run['deaths']}, not killed once"
    first = [task for task, _, process in run["ledger"] if process == 1]
    if any(first.count(task) > run["stands"].count(f"held {task}") for task in first):
        yield f"{name}: effects {first}, and bodies were entered at {run['stands']}"


def page(content: Content) -> str:
    """The text of the study's page, from its receipt alone."""
    versions = {**content["versions"], **content["servers"]}
    lines = [
        "# Bad outputs, and stores that were tampered with",
        "",
        "Written by `mbt sweep stores --write` from `stores.json` beside this file. "
        + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())),
        "",
        "Three tasks, the second behind an interrupt; processes are killed by SIGKILL, effects are",
        'rows of a ledger apart from every store. "Reads" are the framework\'s own calls, made in',
        "a process that never saw the run (on a copy, where a call marks what it reads).",
        "",
        "## Outputs that break the schema",
        "",
        "A task puts out a text where the schema wants a number, or an object that cannot be",
        f'stored. "bad" in a read is such an output. A run is killed {AT_THE_END}, or at the first',
        "point after the write where it can be held; then a fresh process recovers. The last",
        "column is the same run without a bad output.",
    ]
    for plane in POISONED:
        runs = _of(plane, content["poisoned"])
        if runs:
            lines += ["", f"### {plane}", "", *_table(POISONED_HEAD, map(_poisoned_row, runs))]
    lines += [
        "",
        "## Tampered stores",
        "",
        "A run is killed at the last task, its interrupt answered, and the caller's file is",
        "changed before anybody reads it. Untouched it goes on, and repeats nothing. Not swept is",
        "a form under which a run neither goes on nor ends, since only a clock tells (LlamaIndex:",
        "the step in progress under a name that is no step's). A JSONDecodeError is that of the",
        "caller's own json, where the framework is handed a dictionary.",
        "",
        *_table(OUTCOMES_HEAD, map(_outcomes_row, content["outcomes"])),
    ]
    for plane in TAMPERED:
        runs = _of(plane, content["tampered"])
        if runs:
            lines += ["", f"### {plane}", "", *_table(TAMPERED_HEAD, map(_tampered_row, runs))]
    lines += ["", "Not the caller's to tamper with:", ""]
    lines += [f"- {adapter}: {what}" for adapter, what in NOT_THE_CALLERS.items()]
    return "\n".join(lines) + "\n"


POISONED_HEAD = ("task", "killed", "the write", "reads afterwards", "recovery", "unpoisoned")
TAMPERED_HEAD = ("form", "outcome", "reads", "recovery")
OUTCOMES_HEAD = ("store", "forms", *OUTCOMES)


def tables(content: Content) -> Iterator[tuple[str, Sequence[str], list[Cells]]]:
    """The tables of the page for a terminal: title, head and lines of each."""
    for plane in POISONED:
        if runs := _of(plane, content["poisoned"]):
            yield f"{plane}: bad outputs", POISONED_HEAD, [*map(_poisoned_row, runs)]
    for plane in TAMPERED:
        if runs := _of(plane, content["tampered"]):
            yield f"{plane}: tampered stores", TAMPERED_HEAD, [*map(_tampered_row, runs)]
    if content["outcomes"]:
        yield "in all", OUTCOMES_HEAD, [*map(_outcomes_row, content["outcomes"])]


def _poisoned_row(run: Run) -> Cells:
    """A line of the table of a plane's poisoned outputs."""
    found = run["found"]
    write = found["write"]
    if found["error"]:
        later = ", later" if found["later"] else ""
        write += f"{later}: {found['error']}"
    reads = _reads(run["fresh"])
    if run["same"] not in (None, run["fresh"]):
        reads += f"; in its own process {_reads(run['same'])}"
    return [
        str(run["task"]),
        run["killed"],
        write,
        reads,
        _with_again(found["recovery"], found["again"]),
        _with_again(found["clean"]["recovery"], found["clean"]["again"]),
    ]


def _tampered_row(run: Run) -> Cells:
    """A line of the table of a plane's tampered stores."""
    found = run["found"]
    return [
        run["form"],
        found["outcome"],
        _reads(run["fresh"]),
        _with_again(found["recovery"], found["again"]),
    ]


def _outcomes_row(counted: Mapping[str, Any]) -> Cells:
    """A line of the table of outcomes."""
    plane = Plane(counted["adapter"], counted["options"])
    return [str(plane), *(str(counted[key] or "–") for key in OUTCOMES_HEAD[1:])]


def _table(head: Sequence[str], rows: Iterable[Cells]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _of(plane: Plane, runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if Plane(run["adapter"], run["options"]) == plane]


def _name(run: Run) -> str:
    return str(Plane(run["adapter"], run["options"]))


def _ended(walk: Run) -> str:
    """How a recovery ended."""
    last = str(walk["stands"][-1])
    if walk["error"]:
        return f"refused: {walk['error']['type']}"
    return {"complete": "completes", "parked": "waits for an answer", "failed": "goes nowhere"}.get(
        last, last
    )


def _again(ledger: Sequence[Sequence[Any]]) -> list[int]:
    """The tasks whose effects fired more than once."""
    fired = [task for task, _, _ in ledger]
    return sorted({task for task in fired if fired.count(task) > 1})


def _with_again(recovery: str, again: Sequence[int]) -> str:
    return f"{recovery}; again {', '.join(f't{task}' for task in again)}" if again else recovery


def _leaves(says: Any) -> Iterator[Any]:
    if isinstance(says, list):
        for entry in says:
            yield from _leaves(entry)
    else:
        yield says


def _reads(reads: Mapping[str, Any]) -> str:
    """What reads say: the outputs that they show, or the type of the error that they raise."""
    told: dict[str, list[str]] = {}
    for name, read in reads.items():
        said = read["error"]["type"] if "error" in read else _shown(read["says"])
        told.setdefault(said, []).append(f"`{name}`")
    return "; ".join(f"{', '.join(names)}: {said}" for said, names in told.items())


def _shown(says: Any) -> str:
    if isinstance(says, list):
        if any(isinstance(entry, list) for entry in says):
            return " / ".join(map(_shown, says))
        return " ".join(map(_shown, says)) or "no output"
    words = {POISON: "bad", None: "nothing stored", True: "accepted"}
    return words.get(says, str(says)) if not isinstance(says, int) or says is True else str(says)
