"""The study of kill points: its receipt, and what follows from it (its page: `kill_page`)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from adapters.barrier import EFFECT, OPERATION
from adapters.registry import load_adapter, locate, versions_of
from replay.stops import ANSWER
from replay.studies import Content
from replay.sweeps.kill_order import CASES, CHAIN, LOGS, RECOVERIES, first_task, measure_order
from replay.sweeps.kill_page import fired
from replay.sweeps.kill_page import page as page
from replay.sweeps.kill_sweep import (
    AFTER,
    BEFORE,
    STORED,
    Data,
    Progress,
    Sweep,
    check_oracle,
    sweep_points,
)

NAME = "kill-points"
SIGKILL = 9

SWEEPS = (
    *(Sweep("langgraph", {"recover": call}) for call in RECOVERIES),
    *(Sweep("langgraph", {"saver": "postgres", "recover": call}) for call in RECOVERIES),
    *(Sweep("langgraph-functional", {"recover": call}) for call in RECOVERIES),
    *(Sweep("langgraph-functional", {"recover": call}, tasks=2, gate=0) for call in RECOVERIES),
    *(Sweep("langgraph-remit", {"recover": call}) for call in RECOVERIES),
    Sweep("crewai", {}),
    Sweep("crewai-persist", {}),
    Sweep("crewai-checkpoint", {"recover": "from_checkpoint"}),
    Sweep("crewai-checkpoint", {"recover": "kickoff"}),
    Sweep("crewai-checkpoint", {"on_events": "all", "recover": "from_checkpoint"}),
    Sweep("crewai-checkpoint", {"answer": "none", "recover": "from_checkpoint"}),
    *(Sweep("pydantic-graph", {"recover": call}) for call in ("restore", "history")),
    Sweep("dbos", {}),
)
"""What is swept. Two tasks without a gate are the protocol of the paper's probe 160."""

ORACLE = (Sweep("langgraph", {"recover": "resume"}), Sweep("dbos", {}))
"""Where the ledger itself is checked: a recovery has to tell a durable write from a missing one."""

CALLS = {
    "crewai": "kickoff with the flow's id",
    "crewai-persist": "kickoff with the flow's id",
    "dbos": "DBOS.launch",
}
"""The recovery call of an adapter that has one alone, and so no option for it."""

NOT_SWEPT = {
    "llamaindex": "Context.to_dict hands the state to the caller, who keeps it: there is no"
    " operation of the framework's to be killed at",
    "autogen": "save_state hands the state to the caller, who keeps it: there is no operation of"
    " the framework's to be killed at",
    "openai-agents": "RunState.to_json hands the state to the caller, who keeps it; a session"
    " stores what was said, and not where the run is",
    "langgraph saver=memory": "the store dies with the process, so SIGKILL leaves nothing to"
    " recover from",
    "reference": "no framework: a store of our own, whose one operation a task the replays kill"
    " around",
}
"""What is not swept -> why."""


def measure(sweeps: Sequence[Sweep], progress: Progress, *, whole: bool) -> Data:
    """Sweep; return the content of the receipt.

    Args:
        whole: with the check of the ledger and the order of writes, which are no adapter's alone.

    Raises:
        MissingFramework, ServiceError: what a sweep needs is not there.
        HostError: the machinery failed.
    """
    found = [sweep_points(sweep, progress) for sweep in sweeps]
    servers = {name: number for each in found for name, number in each.pop("servers").items()}
    around = [row for sweep in ORACLE for row in check_oracle(sweep, progress)] if whole else []
    order = measure_order(progress) if whole else []
    return {
        "answer": ANSWER,
        "versions": _versions(sweeps) | servers,
        "sweeps": [*map(_told, found)],
        "oracle": around,
        "order": [{**row, "first": first_task(row)} for row in order],
        "not swept": dict(NOT_SWEPT),
    }


def _versions(sweeps: Sequence[Sweep]) -> dict[str, str]:
    adapters = dict.fromkeys(sweep.adapter for sweep in sweeps)
    found = {"tla-mbt": version("tla-mbt")}
    for name in adapters:
        found |= versions_of(load_adapter(locate(name)))
    return found


def _told(sweep: Data) -> Data:
    """A sweep with its recovery call, and with what follows from its evidence beside it."""
    points = [{**point, "repeated": repeated(point)} for point in sweep["points"]]
    return {**sweep, "recovery": recovery_of(sweep), "points": points, "figures": figures(sweep)}


def recovery_of(sweep: Mapping[str, Any]) -> str:
    """The call that a sweep recovers by."""
    return str(sweep["options"].get("recover") or CALLS[sweep["adapter"]])


def repeated(point: Mapping[str, Any]) -> list[int]:
    """The tasks whose effects had fired before the kill and fired again after it."""
    return sorted({*fired(point, first=True)} & {*fired(point, first=False)})


def recovered(point: Mapping[str, Any], tasks: int) -> bool:
    """Whether a run came to its end with the effect of each task fired."""
    all_fired = {task for task, _, _ in point["ledger"]} == {*range(1, tasks + 1)}
    return bool(point["end"] == "complete") and all_fired


def figures(sweep: Mapping[str, Any]) -> dict[str, int]:
    """What the kills of a sweep come to.

    The last operation makes the run durably complete: what repeats after it is no duplicate of a
    recovery, and it is counted nowhere but among the operations. A boundary lies between an
    operation and the next; the kills at it are the one as soon as the operation is durable and
    those at the effects that fire before the next.
    """
    count = len(sweep["operations"])
    kills = [point for point in sweep["points"] if point["durable"] < count]
    again = [point for point in kills if repeated(point)]
    lost = [point for point in kills if not recovered(point, sweep["tasks"])]
    return {
        "operations": count,
        "boundaries": count - 1,
        "boundaries that repeat": len({point["durable"] for point in again}),
        "boundaries that recover": count - 1 - len({point["durable"] for point in lost}),
        "kills": len(kills),
        "kills at an operation that repeat": sum(p["at"][0] == OPERATION for p in again),
        "kills at an effect that repeat": sum(p["at"][0] == EFFECT for p in again),
        "kills that recover": len(kills) - len(lost),
    }


def problems(content: Content, adapters: Collection[str] = ()) -> Iterator[str]:
    """Where the receipt says what does not follow from its evidence, or evidence is missing.

    Args:
        adapters: of which it is; of all sweeps, with what is no adapter's alone, where none is
            named.
    """
    try:
        yield from _missing(content, adapters)
        for sweep in content["sweeps"]:
            name = Sweep(sweep["adapter"], sweep["options"]).name
            yield from (f"{name}: {phrase}" for phrase in _of_sweep(sweep))
        for row in content["oracle"]:
            yield from (f"{_where(row)}: {phrase}" for phrase in _of_oracle(row))
        for row in content["order"]:
            yield from (f"{row['case']}: {phrase}" for phrase in _of_order(row))
        yield from _of_logs(content["order"])
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        yield f"not of the form of this study ({type(error).__name__}: {error})"


def _missing(content: Content, adapters: Collection[str]) -> Iterator[str]:
    """Whether it is of the sweeps, tasks, cases and versions that the study names, each once."""
    wanted = [sweep for sweep in SWEEPS if not adapters or sweep.adapter in adapters]
    swept = [Sweep(s["adapter"], s["options"], s["tasks"], s["gate"]) for s in content["sweeps"]]
    if swept != wanted:
        yield "not the sweeps that the study names"
    around = [
        (row["adapter"], row["options"], row["task"], row["killed"]) for row in content["oracle"]
    ]
    places = [
        (sweep.adapter, dict(sweep.chosen), task, place)
        for sweep in ORACLE
        for task in range(1, sweep.tasks + 1)
        for place in COUNTS
    ]
    if around != ([] if adapters else places):
        yield "oracle: not a kill at each place of each task"
    logs = [(row["case"], row["recover"], row["log"]) for row in content["order"]]
    cases = [*itertools.product(CASES, RECOVERIES, LOGS.values())]
    if logs != ([] if adapters else cases):
        yield "order: not both logs of each case, recovered by each call"
    named = {"tla-mbt", *(n for s in wanted for n in load_adapter(locate(s.adapter)).distributions)}
    if any(sweep.chosen.get("saver") == "postgres" for sweep in wanted):
        named.add("PostgreSQL")
    if missing := named - content["versions"].keys():
        yield f"versions: {', '.join(sorted(missing))} is not among them"
    if content["not swept"] != NOT_SWEPT or content["answer"] != ANSWER:
        yield "it is not of the answer, or of the reasons not to sweep, that the study names"


def _of_sweep(sweep: Mapping[str, Any]) -> Iterator[str]:
    steps, points = sweep["operations"], sweep["points"]
    killed = [point["durable"] for point in points if point["at"][0] == OPERATION]
    if killed != [*range(1, len(steps) + 1)]:
        yield f"kills at operations {killed}, and there are {len(steps)} operations"
    for one, (before, after) in enumerate(itertools.pairwise(steps), 1):
        if before["holds"] == after["holds"]:
            yield f"by what the store holds operations {one} and {one + 1} cannot be told apart"
    for point in points:
        at, step = " ".join(point["at"]), steps[point["durable"] - 1]
        if point["at"][0] == OPERATION and point["at"][1] != step["name"]:
            yield f"killed at {at}, and operation {point['durable']} is {step['name']}"
        yield from _of_kill(point, f"at {at}", step["holds"])
        yield from (f"at {at}: {phrase}" for phrase in _of_recovery(point))
        first = [row for row in point["ledger"] if row[2] == 1]
        least = step["fired"] + (point["at"][0] == EFFECT)
        most = steps[point["durable"]]["fired"] if least > step["fired"] else least
        if first != sweep["unkilled"][: len(first)] or not least <= len(first) <= most:
            yield f"at {at}: effects {first} before the kill are not those of the run without one"
        if point["at"][0] == EFFECT and f"t{first[-1][0]}" != point["at"][1]:
            yield f"at {at}: the last effect before the kill is that of t{first[-1][0]}"
        if point["repeated"] != repeated(point):
            yield f"at {at}: {point['repeated']} repeated, by the ledger {repeated(point)}"
    if sweep["recovery"] != recovery_of(sweep):
        yield f"recovery: {sweep['recovery']}, and its options say {recovery_of(sweep)}"
    answered = [point["answered"] for point in points]
    if answered != sorted(answered):
        yield f"it was answered {answered} times before the kills, which follow upon another"
    for figure, number in figures(sweep).items():
        if sweep["figures"][figure] != number:
            yield f"{figure}: {sweep['figures'][figure]}, by its kills {number}"


def _of_kill(row: Mapping[str, Any], at: str, holds: Any) -> Iterator[str]:
    """Whether a run was killed, and its store frozen."""
    if row["status"] != SIGKILL:
        yield f"{at}: its process ended with wait status {row['status']}, not by SIGKILL"
    if row["held"] != holds:
        yield f"{at}: the store held {row['held']} after the kill, and {holds} at the stop"
    if (row["end"] == "refused") != bool(row["error"]):
        yield f"{at}: {row['end']}, and the error is {row['error']}"


def _of_recovery(row: Mapping[str, Any]) -> Iterator[str]:
    """Whether decision and answers are those of what fired; of bodies one at a time."""
    fired_after = fired(row, first=False)
    if row["decision"] is not None and fired_after and fired_after[0] != row["decision"]:
        yield f"came to t{row['decision']} first, and the first to fire was t{fired_after[0]}"
    if row["decision"] is None and fired_after and not row["answers"]:
        yield f"t{fired_after[0]} fired, and neither was it come to nor was the run answered"
    if row["decision"] is not None and not fired_after and row["end"] == "complete":
        yield f"came to t{row['decision']}, which never fired, and is complete"
    given = {process == 1 for _, value, process in row["ledger"] if value == ANSWER}
    if (True in given and not row["answered"]) or (given and not row["answered"] + row["answers"]):
        yield f"the answer {ANSWER} came to an effect, and nobody had given it"


def _where(row: Mapping[str, Any]) -> str:
    return f"the oracle on {row['adapter']}, t{row['task']} {row['killed']}"


COUNTS = {BEFORE: (0, 1), AFTER: (1, 2), STORED: (1, 1)}
"""Where a run is killed -> how often the effect has to stand in the ledger then, and at the end."""


def count_of(row: Mapping[str, Any], rows: str) -> int:
    """How often the effect of its task stands in one of a row's ledgers."""
    return sum(task == row["task"] for task, _, _ in row[rows])


def _of_oracle(row: Mapping[str, Any]) -> Iterator[str]:
    counted = (count_of(row, "crash"), count_of(row, "ledger"))
    if counted != COUNTS[row["killed"]]:
        yield f"{counted} in the ledger at the crash and at the end, not {COUNTS[row['killed']]}"
    if not recovered(row, Sweep.tasks):
        yield f"it ended {row['end']}, with the effects {row['ledger']}"
    yield from _of_recovery(row)
    if row["crash"] != [entry for entry in row["ledger"] if entry[2] == 1]:
        yield "the ledger at the crash is no part of the ledger at the end"
    if row["status"] != SIGKILL:
        yield f"its process ended with wait status {row['status']}, not by SIGKILL"


def _of_order(row: Mapping[str, Any]) -> Iterator[str]:
    at = f"{row['log']}, {row['recover']}"
    yield from _of_kill(row, at, row["holds"])
    if row["first"] != first_task(row):
        yield f"{at}: came to t{row['first']} first, by its evidence to t{first_task(row)}"
    if CASES[row["case"]].adapter == CHAIN:
        yield from (f"{at}: {phrase}" for phrase in _of_recovery(row))
    if len(row["stored"]) > len(row["submitted"]):
        yield f"{at}: stored {len(row['stored'])} of {len(row['submitted'])} submitted"


def _of_logs(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Whether the two logs of a case are two, of what was submitted in one order."""
    pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["case"], row["recover"]), []).append(row)
        kinds = [name.partition("(")[0] for name in row["stored"]]
        in_order = kinds == row["submitted"][: len(kinds)]
        if in_order != (row["log"] == LOGS["submitted"]):
            how = "as" if in_order else "not as"
            yield f"{row['case']}, {row['recover']}: {row['log']}, and stored {how} submitted"
    for (case, call), pair in pairs.items():
        if any(one["holds"] == other["holds"] for one, other in itertools.combinations(pair, 2)):
            yield f"{case}, {call}: by what the store holds the logs cannot be told apart"
