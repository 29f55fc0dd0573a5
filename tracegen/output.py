"""What a run of TLC printed: messages, counterexamples, what the model printed, and the sizes.

Read from the standard output of TLC 2.15, with and without `-tool`, and of newer builds, which add
the arguments to an action's name. Whether a run *holds* is not decided here: see `tracegen.tlc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracegen.messages import Level, Message, split_output
from tracegen.parser import ParseError, parse_arguments, parse_state
from tracegen.values import Value

_STARTING = 2185
_INITIAL_STATE_CODES = frozenset({2107, 2108})
_VIOLATION = re.compile(r"(?:Invariant|Property|Action property) (.+?) is violated")
# They say where or that a trace follows, not what is wrong.
_NO_REASONS = frozenset({2103, 2121, 2264})

_STATE = re.compile(r"([0-9]+):(?: ?(.*))?", re.DOTALL)
_ACTION = re.compile(
    r"<(?P<name>[A-Za-z0-9_!]+)(?:\((?P<arguments>.*)\))? (?P<location>line .*)>", re.DOTALL
)
_SIMULATED = re.compile(r"^STATE_[0-9]+ == *\n(.*?)\n\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TraceState:
    """A state of a counterexample and the step that led to it."""

    number: int
    """Counted from 1."""
    action: str | None
    """None for the first state, and where TLC does not tell (-dfid)."""
    arguments: tuple[Value, ...]
    """Of the action; empty in TLC 2.15, which does not tell."""
    location: str | None
    """Where the action stands: `line 5, col 9 to line 5, col 27 of module M`."""
    state: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A behaviour that TLC printed, and the error that it printed it for.

    A behaviour that violates liveness goes on for ever: by repeating the last state
    (`stuttering`), or from the last state back to state number `back_to`, by `back_action`.
    """

    reason: Message | None
    states: tuple[TraceState, ...]
    stuttering: bool = False
    back_to: int | None = None
    back_action: str | None = None


@dataclass(frozen=True, slots=True)
class CheckerOutput:
    """What a run of TLC printed on its standard output."""

    messages: tuple[Message, ...]
    counterexamples: tuple[Counterexample, ...]
    printed: tuple[str, ...]
    """What the model printed (Print, PrintT): an item for each value, which may have many lines."""
    parsing: tuple[str, ...]
    """The lines of the TLA+ parser, its errors among them."""
    generated: int | None
    """Sizes, where TLC came to report them."""
    distinct: int | None
    queued: int | None
    depth: int | None

    @property
    def codes(self) -> frozenset[int]:
        """The codes of the messages."""
        return frozenset(m.code for m in self.messages if m.code is not None)

    @property
    def errors(self) -> tuple[Message, ...]:
        """The messages that are errors, bugs of TLC among them."""
        return tuple(m for m in self.messages if m.level in (Level.ERROR, Level.BUG))

    @property
    def violated(self) -> tuple[str, ...]:
        """The names of the violated invariants and action properties, each once, in order.

        A property without a name of its own goes by its place in the module. TLC 2.15 does not
        name violated temporal properties.
        """
        found = (_VIOLATION.match(message.text) for message in self.errors)
        return tuple(dict.fromkeys(violation[1] for violation in found if violation))

    @property
    def finished(self) -> bool:
        """Whether TLC came to its last message; it does not when it is killed."""
        return 2186 in self.codes


def parse_output(text: str) -> CheckerOutput:
    """What the standard output of a TLC run says; text or `-tool` is told from the output itself.

    Raises ParseError for a counterexample that is not what TLC prints.
    """
    messages: list[Message] = []
    lines: list[str] = []
    printed: list[str] = []
    for item in split_output(text):
        if isinstance(item, Message):
            messages.append(item)
            if item.code == _STARTING:
                parsing, lines = lines, []
        else:
            lines.append(item)
    ...


def parse_simulation(text: str) -> tuple[dict[str, Value], ...]:
    """The states of a file that `-simulate file=...` wrote; it names no actions.

    Raises ParseError.
    """
    return tuple(parse_state(state) for state in _SIMULATED.findall(text))
