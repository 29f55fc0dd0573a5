"""What a run of TLC printed: messages, counterexamples, what the model printed, and the sizes.

Read from the standard output of TLC 2.15, with and without `-tool`, and of newer builds, which add
the arguments to an action's name. Whether a run *holds* is not decided here: see `tracegen.tlc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tracegen.messages import Level, Message, split_output
from tracegen.parser import ParseError, parse_arguments, parse_state
from tracegen.values import Value

# Codes of messages, as in class tlc2.output.EC.
_STARTING, _STUTTERING, _BACK_TO_STATE, _DEPTH = 2185, 2218, 2122, 2194
_SUMS = frozenset({2199, 2204, 2209})
_INITIAL_STATE_CODES = frozenset({2107, 2108})
_VIOLATION = re.compile(r"(?:Invariant|Property|Action property) (.+?) is violated")
# They say where or that a trace follows, not what is wrong.
_NO_REASONS = frozenset({2103, 2121, 2264})

_ACTION = re.compile(
    r"<(?P<name>[A-Za-z0-9_!]+)(?:\((?P<arguments>.*)\))? (?P<location>line .*)>", re.DOTALL
)
_SIZES = re.compile(
    r"(?:Progress(?:\(-1\) at .*?)?: )?([0-9,]+) states (?:generated|checked)"
    r"(?:, ([0-9,]+) distinct states found)?(?:, ([0-9,]+) states left on queue)?"
)
_SIMULATED = re.compile(r"^STATE_([0-9]+) == *\n(.*?)\n\n", re.DOTALL | re.MULTILINE)


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
    """None where the output has the behaviour alone."""
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
    """Sizes, where TLC came to report them. A simulation has the first alone."""
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
    items = split_output(text)
    messages = tuple(item for item in items if isinstance(item, Message))
    parsing: list[str] = []
    printed: list[str] = []
    started = False
    for item in items:
        if isinstance(item, Message):
            started = started or item.code == _STARTING
        elif not started:
            parsing.append(item)
        elif item.startswith(" ") and printed:  # TLC wraps a long value and indents the rest
            printed[-1] += f"\n{item}"
        else:
            printed.append(item)
    generated, distinct, queued = _sizes(messages)
    return CheckerOutput(
        messages=messages,
        counterexamples=tuple(_counterexamples(messages)),
        printed=tuple(printed),
        parsing=tuple(parsing),
        generated=generated,
        distinct=distinct,
        queued=queued,
        depth=_depth(messages),
    )


def parse_simulation(text: str) -> tuple[dict[str, Value], ...]:
    """The states of a file that `-simulate file=...` wrote; it names no actions.

    Raises ParseError.
    """
    states: list[dict[str, Value]] = []
    for number, state in _SIMULATED.findall(text):
        if int(number) != len(states) + 1:
            raise ParseError(f"STATE_{number} follows STATE_{len(states)} in a simulation file")
        states.append(parse_state(state))
    return tuple(states)


def _counterexamples(messages: Iterable[Message]) -> Iterator[Counterexample]:
    reason: Message | None = None
    current: Counterexample | None = None
    for message in messages:
        if message.level in (Level.ERROR, Level.BUG) and message.code not in _NO_REASONS:
            reason = message
        if message.code in _INITIAL_STATE_CODES:
            _, _, text = message.text.partition("\n")
            only = TraceState(1, None, (), None, parse_state(text))
            yield Counterexample(message, (only,))
        elif message.level == Level.STATE:
            number, header, body = _split_state(message.text)
            if number == 1 and message.code != _BACK_TO_STATE:
                if current is not None:
                    yield current
                current = Counterexample(reason, ())
            if current is None:
                raise ParseError(f"a counterexample cannot start with {message.text[:60]!r}")
            current = _continued(current, message, number, header, body)
    if current is not None:
        yield current


def _continued(
    so_far: Counterexample, message: Message, number: int, header: str, body: str
) -> Counterexample:
    """The counterexample with one more of its messages."""
    action = _ACTION.fullmatch(header.removeprefix("Back to state: "))
    name = action["name"] if action else None
    if message.code == _BACK_TO_STATE:
        return replace(so_far, back_to=number, back_action=name)
    if number != len(so_far.states) + 1:
        raise ParseError(f"state {number} follows state {len(so_far.states)} in a counterexample")
    if message.code == _STUTTERING:
        return replace(so_far, stuttering=True)
    before = so_far.states[-1].state if so_far.states else {}
    state = TraceState(
        number=number,
        action=name if number > 1 else None,
        arguments=parse_arguments(action["arguments"]) if action and action["arguments"] else (),
        location=action["location"] if action else None,
        state={**before, **parse_state(body)},  # with -difftrace TLC prints what changed
    )
    return replace(so_far, states=(*so_far.states, state))


def _split_state(text: str) -> tuple[int, str, str]:
    """The number, the rest of the first line, and the lines below it."""
    first, _, body = text.partition("\n")
    number, _, header = first.partition(":")
    return int(number), header.strip(), body


def _sizes(messages: Iterable[Message]) -> tuple[int | None, ...]:
    """States generated, distinct, and left on the queue, as TLC last summed them up."""
    summed_up = [_SIZES.match(message.text) for message in messages if message.code in _SUMS]
    if not summed_up or summed_up[-1] is None:
        return None, None, None
    numbers = summed_up[-1].groups()
    return tuple(None if n is None else int(n.replace(",", "")) for n in numbers)


def _depth(messages: Iterable[Message]) -> int | None:
    texts = [message.text for message in messages if message.code == _DEPTH]
    return int(re.findall(r"[0-9]+", texts[-1])[0]) if texts else None
