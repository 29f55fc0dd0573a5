"""What the study of kill points lists, for its page and for a screen, from its receipt alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Content = Mapping[str, Any]
NO_FEEDBACK = "'NoneType' object has no attribute 'feedback'"
"""What Python says where the feedback of a human is None (`adapters.crewai_flow`)."""


@dataclass(frozen=True)
class Listing:
    """A table with its title and what is to be said of it."""

    title: str
    about: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def lines(self) -> Iterator[str]:
        """Itself as Markdown."""
        yield from ("", f"## {self.title}")
        for paragraph in self.about:
            yield from ("", paragraph)
        yield from ("", f"| {' | '.join(self.head)} |", f"|{'---|' * len(self.head)}")
        yield from (f"| {' | '.join(map(str, row))} |" for row in self.rows)


def page(content: Content) -> str:
    """The text of the page."""
    listed = [*overview(content), *(kills(sweep) for sweep in content["sweeps"])]
    lines = [*_head(content), *(line for listing in listed for line in listing.lines())]
    return "\n".join(lines) + "\n"


def overview(content: Content) -> Iterator[Listing]:
    """What it comes to: everything but the single kills."""
    yield _summary(content["sweeps"])
    if content["oracle"]:
        yield _oracle(content["oracle"])
    if content["order"]:
        yield _order(content["order"])
    reasons = tuple(content["not swept"].items())
    yield Listing("Not swept", (), ("what", "why"), reasons)


def _head(content: Content) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    yield "# Kill points"
    yield ""
    yield "Written by `mbt sweep kill-points --write` from `kill-points.json`."
    yield ""
    yield (
        "Every operation of a framework's persistence that goes through a public interface is a "
        "barrier: the process stops once the operation is durable, with all later ones held back. "
        "A run without a kill says which operations there are. Then a run is killed (SIGKILL) as "
        "soon as each of them is durable, and another at each effect that fires before the next: "
        "the same prefix is durable there, and an effect is in flight. After each kill the store "
        "is read again: it holds what it held at the stop. A process that never saw the run "
        f"recovers it; where it parks, it is answered with `{content['answer']}`, whether or not "
        "it was answered before."
    )
    yield ""
    yield (
        "The last operation makes the run durably complete. What a call does there is listed, and "
        "counted neither as a duplicate nor as a recovery."
    )
    yield ""
    yield f"Versions: {versions}."


def _summary(sweeps: Sequence[Content]) -> Listing:
    about = (
        "A boundary lies between an operation and the next one. It repeats where a kill at it "
        "makes an effect fire again that had fired; it recovers where each kill at it ends in a "
        "complete run in which each task's effect fired.",
        *_probe_160(sweeps),
        *_no_feedback(sweeps),
    )
    head = (
        "sweep",
        "recovery call",
        "operations",
        "boundaries that repeat",
        "kills at an operation that repeat",
        "kills at an effect in flight that repeat",
        "boundaries that recover",
        "refused with",
    )
    return Listing("What the sweeps come to", about, head, tuple(map(_figures, sweeps)))


def _figures(sweep: Content) -> tuple[object, ...]:
    told = sweep["figures"]
    between = told["boundaries"]
    return (
        _name(sweep),
        sweep["recovery"],
        told["operations"],
        f"{told['boundaries that repeat']} of {between}",
        f"{told['kills at an operation that repeat']} of {between}",
        f"{told['kills at an effect that repeat']} of {told['kills'] - between}",
        f"{told['boundaries that recover']} of {between}",
        ", ".join(_errors(sweep)) or "–",
    )


def _errors(sweep: Content) -> list[str]:
    """The types of the errors that recoveries of incomplete runs were refused with."""
    count = len(sweep["operations"])
    refused = [p for p in sweep["points"] if p["error"] and p["durable"] < count]
    return sorted({point["error"]["type"] for point in refused})


def _probe_160(sweeps: Sequence[Content]) -> Iterator[str]:
    found = [sweep for sweep in sweeps if sweep["gate"] == 0]
    told = [
        f"with {sweep['recovery']}, {sweep['figures']['boundaries that repeat']} of "
        f"{sweep['figures']['boundaries']} repeat and "
        f"{sweep['figures']['boundaries that recover']} recover"
        for sweep in found
    ]
    if found:
        yield (
            "Two tasks without a gate are the protocol of the paper's probe 160, which finds that, "
            "the input sent again, all four incomplete boundaries repeat and all recover. Here, of "
            f"{found[0]['figures']['operations']} operations: {'; '.join(told)}."
        )


def _no_feedback(sweeps: Sequence[Content]) -> Iterator[str]:
    """Whose error it is that a listener of CrewAI's flow met with."""
    errors = [point["error"] for sweep in sweeps for point in sweep["points"] if point["error"]]
    if any(error["message"] == NO_FEEDBACK for error in errors):
        yield (
            f"The AttributeError ({NO_FEEDBACK}) is raised by the listener of the swept workflow, "
            "which takes the answer from the feedback that CrewAI hands it: there the recovery "
            "handed it None. CrewAI itself refused nothing; the call ended with the listener's "
            "error."
        )


def _oracle(rows: Sequence[Content]) -> Listing:
    about = (
        "A run is killed before the ledger's row is written, after it, and after the framework's "
        "durable write behind it: the ledger has to hold 0, 1 and 1 effects of the task at the "
        "crash, and only the second kill may make the effect fire twice (paper, probe 163).",
    )
    head = ("adapter", "task", "killed", "stopped at", "in the ledger at the crash", "at the end")
    listed = tuple(
        (
            row["adapter"],
            f"t{row['task']}",
            row["killed"],
            f"`{' '.join(row['at'])}`",
            sum(task == row["task"] for task, _, _ in row["crash"]),
            sum(task == row["task"] for task, _, _ in row["ledger"]),
        )
        for row in rows
    )
    return Listing("The ledger's own check", about, head, listed)


def _order(rows: Sequence[Content]) -> Listing:
    about = (
        "LangGraph submits a task's writes (`put_writes`) and the checkpoint made of them (`put`) "
        "to an executor, and orders neither after the other (its issue #8039). A checkpointer that "
        "stores the writes after the following checkpoint leaves another log at a crash. Both "
        "logs, recovered by each call; the decision is the task that was reached first.",
        *(f"{case}: {text}." for case, text in {r["case"]: r["about"] for r in rows}.items()),
    )
    head = (
        "workflow",
        "recovery call",
        "log",
        "submitted, in this order",
        "stored last",
        "fired before",
        "decision",
        "fired after",
        "decisions",
    )
    listed = []
    for _, pair in itertools.groupby(rows, lambda row: (row["case"], row["recover"])):
        both = [*pair]
        same = len({row["first"] for row in both}) == 1
        listed += [(*_log(row), "the same" if same else "not the same") for row in both]
    return Listing(
        "The order of a task's writes and the checkpoint behind them", about, head, tuple(listed)
    )


def _log(row: Content) -> tuple[object, ...]:
    return (
        row["case"],
        row["recover"],
        row["log"],
        " ".join(row["submitted"]),
        f"`{row['stored'][-1]}`",
        _tasks(fired(row, first=True)),
        f"t{row['first']}",
        _tasks(sorted(fired(row, first=False))),
    )


def kills(sweep: Content) -> Listing:
    """The single kills of a sweep."""
    head = (
        "durable",
        "killed at",
        "fired before",
        "decision",
        "answered",
        "fired after",
        "repeated",
        "end",
    )
    count = len(sweep["operations"])
    listed = tuple(
        (
            f"{point['durable']} of {count}",
            f"{point['at'][0]} `{point['at'][1]}`",
            _tasks(fired(point, first=True)),
            "–" if point["decision"] is None else f"t{point['decision']}",
            _answered(point),
            _tasks(fired(point, first=False)),
            "the run was over" if point["durable"] == count else _tasks(point["repeated"]),
            _end(point),
        )
        for point in sweep["points"]
    )
    return Listing(f"{_name(sweep)}, recovered by {sweep['recovery']}", (), head, listed)


def fired(row: Content, *, first: bool) -> list[int]:
    """The tasks whose effects fired in the process that was killed, or in the one after it."""
    return [task for task, _, process in row["ledger"] if (process == 1) == first]


def _answered(point: Content) -> str:
    """When the run was answered: before the kill, after it, or both."""
    before, after = point["answered"] > 0, point["answers"] > 0
    if before and after:
        return "before, and again after"
    return "before" if before else "after" if after else "–"


def _end(point: Content) -> str:
    """How the recovered run ended, and what refused it."""
    error = point["error"]
    return f"refused: {error['type']}: {error['message']}" if error else str(point["end"])


def _name(sweep: Content) -> str:
    chosen = [f"{name}={value}" for name, value in sweep["options"].items() if name != "recover"]
    shape = [] if sweep["gate"] else [f"{sweep['tasks']} tasks, no gate"]
    return ", ".join([sweep["adapter"], *chosen, *shape])


def _tasks(tasks: Sequence[int]) -> str:
    return " ".join(f"t{task}" for task in tasks) or "–"
