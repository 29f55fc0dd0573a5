"""Reading the state graph that TLC writes with `-dump dot,actionlabels`.

A dump of a million states is about a gigabyte of long lines made of few distinct parts, so it is
read a line at a time, each distinct part is parsed once, and of a line only integers are kept.

What TLC 2.15 writes: a line for each state and for each transition, a transition before the state
it leads to, and as often as it was taken. The header calls the graph `strict`, which it is not. A
label holds the printed state, escaped once more.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.parser import parse_conjunct
from tracegen.values import Value

_HEADER = b"strict digraph DiskGraph {\n"
_LIVENESS_HEADER = b"digraph DiskGraph {\n"

_LABEL = b'[label="'
_STATE_ENDS = b'"];\n'
_INITIAL_ENDS = b'",style = filled]\n'
# The line break and the /\ of the next variable, escaped. A string holds no such thing: there TLA+
# doubles each backslash before the dump doubles it again.
_NEXT_CONJUNCT = rb"\n/\\ "

_TRANSITION_ENDS = re.compile(rb'\[label="((?:[^"\\]|\\.)*)".*\];\n')
_STUTTERING_ENDS = re.compile(rb'\[style="dashed"\];\n')
_ACTION = re.compile(r"([A-Za-z0-9_!]+)(?:\(.*\))?", re.DOTALL)

# Everything that is neither a state nor a transition.
_FRAME = re.compile(
    rb"""nodesep=[0-9.]+; | color="white"; | edge\ \[.*\] | subgraph\ cluster_graph\ \{
    | \{rank\ =\ same;[-0-9;\ ]*\}
    | subgraph\ cluster_legend\ .* | node\ \[.*\] | \S+\ \[label=".*",fillcolor=[0-9]+\]
    | \}\}?""",
    re.VERBOSE,
)

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class DumpError(MbtError):
    """A file is not a whole dump of a state graph with action names."""


def read_dump(path: Path) -> StateGraph:
    """The state graph in a DOT file that TLC wrote with `-dump dot,actionlabels`.

    An action is known by its name alone, as in TLC 2.15; the arguments that newer builds add are
    left out (a parameter can be read in the successor state). The stuttering steps that TLC adds
    under liveness checking are left out too, since they are no action's.

    Raises DumpError, which names the file and the line, where it is cut off or no such dump.
    """
    try:
        return _graph(_read(path))
    except OSError as error:
        raise DumpError(f"cannot read {path}: {error.strerror}") from None
    except MbtError as error:
        raise DumpError(f"{path}: {error}") from None


def unescape(label: bytes) -> str:
    r"""The text of a DOT label: `\n`, `\"` and `\\` undone in one pass from left to right."""
    return _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], label.decode())


class _Conjuncts(dict[bytes, int]):
    """Numbers for the distinct conjuncts (a variable and its value), by their escaped text."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parsed: list[Value] = []

    def __missing__(self, escaped: bytes) -> int:
        name, value = parse_conjunct(unescape(escaped))
        self.names.append(name)
        self.parsed.append(value)
        number = self[escaped] = len(self)
        return number


class _Actions(dict[bytes, int]):
    """Numbers for the actions, by the ending of a transition's line; -1 for a stuttering step."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __missing__(self, ending: bytes) -> int:
        number = self[ending] = self._number(ending)
        return number

    def _number(self, ending: bytes) -> int:
        if _STUTTERING_ENDS.fullmatch(ending):
            return -1
        labelled = _TRANSITION_ENDS.fullmatch(ending)
        if labelled is None:
            raise DumpError(f"no transition ends like this: {_excerpt(ending)}")
        if not labelled[1]:
            raise DumpError(
                "the transition has no action name; write the dump with -dump dot,actionlabels"
            )
        action = _ACTION.fullmatch(unescape(labelled[1]))
        if action is None:
            raise DumpError(f"no action is called {_excerpt(labelled[1])}")
        if action[1] not in self.names:
            self.names.append(action[1])
        return self.names.index(action[1])


@dataclass
class _Dump:
    """What a dump says, as integers, in the order of its lines."""

    conjuncts: _Conjuncts = field(default_factory=_Conjuncts)
    actions: _Actions = field(default_factory=_Actions)
    states: array[int] = field(default_factory=lambda: array("q"))
    """Fingerprints, as are the ends of transitions."""
    rows: array[int] = field(default_factory=lambda: array("i"))
    """For each state the numbers of its conjuncts."""
    initial: list[int] = field(default_factory=list)
    """Places in `states`."""
    sources: array[int] = field(default_factory=lambda: array("q"))
    action_ids: array[int] = field(default_factory=lambda: array("i"))
    targets: array[int] = field(default_factory=lambda: array("q"))

    def add_transition(self, source: bytes, target_and_ending: bytes) -> None:
        target, _, ending = target_and_ending.partition(b" ")
        action = self.actions[ending]
        if action >= 0:
            self.sources.append(int(source))
            self.action_ids.append(action)
            self.targets.append(int(target))

    def add_state(self, fingerprint: bytes, label: bytes) -> None:
        conjuncts = label.split(_NEXT_CONJUNCT)
        if len(conjuncts) * len(self.states) != len(self.rows):
            raise DumpError(f"a state of {len(conjuncts)} variables, unlike those before")
        self.states.append(int(fingerprint))
        self.rows.extend(map(self.conjuncts.__getitem__, conjuncts))


def _read(path: Path) -> _Dump:
    dump = _Dump()
    with path.open("rb") as lines:
        _check_header(lines.readline())
        number, line, open_braces = 1, _HEADER, 1
        try:
            for number, line in enumerate(lines, 2):  # noqa: B007
                subject, _, rest = line.partition(b" ")
                if rest.startswith(b"-> "):
                    dump.add_transition(subject, rest[3:])
                elif rest.startswith(_LABEL) and rest.endswith(_STATE_ENDS):
                    dump.add_state(subject, rest[len(_LABEL) : -len(_STATE_ENDS)])
                elif rest.startswith(_LABEL) and rest.endswith(_INITIAL_ENDS):
                    dump.initial.append(len(dump.states))
                    dump.add_state(subject, rest[len(_LABEL) : -len(_INITIAL_ENDS)])
                elif open_braces and _FRAME.fullmatch(line.removesuffix(b"\n")):
                    open_braces += line.count(b"{") - line.count(b"}")
                else:
                    raise DumpError(_not_understood(line))
        except (MbtError, ValueError, OverflowError) as error:
            if not line.endswith(b"\n"):  # only the last brace has no line break
                reason = "the file is cut off here"
            elif isinstance(error, MbtError):
                reason = str(error)
            else:  # no number, one beyond 64 bits, no UTF-8
                reason = _not_understood(line)
            raise DumpError(f"line {number}: {reason}") from None
    if not dump.states:
        raise DumpError(
            "no state in it: the module did not parse, no state is initial, or the checker was "
            "stopped; see what it printed"
        )
    if open_braces:
        raise DumpError(f"line {number}: the file is cut off here")
    return dump


def _check_header(line: bytes) -> None:
    if line == _LIVENESS_HEADER:
        raise DumpError(
            "this is the graph of liveness checking; the state graph is in the file of the same "
            "name without _liveness"
        )
    if line != _HEADER:
        start = f"starts with {_excerpt(line)}" if line else "is empty"
        raise DumpError(f"not a dump by TLC: it {start}")


def _graph(dump: _Dump) -> StateGraph:
    states = np.frombuffer(dump.states, np.int64)
    order = np.argsort(states)
    ordered = states[order]
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    if repeated.size:
        raise DumpError(f"state {ordered[repeated[0]]} is there twice")

    def places_of(fingerprints: array[int]) -> npt.NDArray[np.int64]:
        wanted = np.frombuffer(fingerprints, np.int64)
        found = np.searchsorted(ordered, wanted).clip(max=len(ordered) - 1)
        missing = np.flatnonzero(ordered[found] != wanted)
        if missing.size:
            raise DumpError(f"a transition joins state {wanted[missing[0]]}, which is not there")
        places: npt.NDArray[np.int64] = order[found]
        return places

    rows = np.frombuffer(dump.rows, np.int32).reshape(len(states), -1)
    return StateGraph.from_arrays(
        _variables(dump, rows),
        dump.conjuncts.parsed,
        rows,
        dump.initial,
        places_of(dump.sources),
        np.frombuffer(dump.action_ids, np.int32),
        places_of(dump.targets),
        dump.actions.names,
    )


def _variables(dump: _Dump, rows: npt.NDArray[np.int32]) -> list[str]:
    """The variables of each column; TLC prints those of every state in the same order."""
    names = dump.conjuncts.names
    variables = [names[number] for number in rows[0].tolist()]
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    variable_of = np.array([number_of[name] for name in names], np.int32)
    for column, name in enumerate(variables):
        strange = np.flatnonzero(variable_of[rows[:, column]] != number_of[name])
        if strange.size:
            other = names[rows[strange[0], column]]
            raise DumpError(
                f"state {dump.states[strange[0]]} has {other} where the first has {name}"
            )
    if len(set(variables)) < len(variables):
        raise DumpError(f"state {dump.states[0]} has a variable twice: {', '.join(variables)}")
    return variables


def _not_understood(line: bytes) -> str:
    return f"no dump has such a line: {_excerpt(line)}"


def _excerpt(line: bytes) -> str:
    text = line[:80].decode(errors="replace").rstrip("\n")
    return text if len(line) <= 80 else f"{text}..."
