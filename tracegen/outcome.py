"""What a TLC run came out as, read from everything it left and believed only where all agrees.

TLC 2.15 ends with 0 where no state is initial, where `-continue` found violations, and where what
it explored was cut down by a constraint; it calls memory that ran out an evaluation error. Each of
these is an outcome of its own here. Codes are those of class tlc2.output.EC.
"""

from __future__ import annotations

import re
from enum import Enum

from tracegen.messages import Message
from tracegen.output import CheckerOutput


class Outcome(Enum):
    """How a run came out. The value is what a table prints."""

    HOLDS = "holds"
    """The complete state space was explored, and nothing that was checked is violated."""
    BOUNDED = "no error within the constraint"
    """As HOLDS, of the part that CONSTRAINT, ACTION_CONSTRAINT or VIEW let TLC explore, or up to
    the length that Apalache was given."""
    SIMULATED = "no error in the simulated behaviours"
    VIOLATED_INVARIANT = "invariant violated"
    VIOLATED_INITIAL = "violated by an initial state"
    VIOLATED_ACTION_PROPERTY = "action property violated"
    VIOLATED_LIVENESS = "temporal property violated"
    DEADLOCK = "deadlock"
    ASSUMPTION_FALSE = "assumption false"
    EVALUATION_ERROR = "evaluation error"
    NO_INITIAL_STATES = "no initial states"
    PARSE_ERROR = "module does not parse"
    CONFIG_ERROR = "configuration does not fit the module"
    TYPE_ERROR = "module is not well typed"
    UNSUPPORTED = "module uses what the checker does not support"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    USAGE = "checker refused its options"
    FAILED = "checker failed"

    @property
    def violated(self) -> bool:
        """Whether a property was found violated."""
        return self in _VIOLATIONS

    @property
    def decided(self) -> bool:
        """Whether it is a statement on the model, the same for every run of the same input."""
        return self in _DECIDED

    @property
    def bad_input(self) -> bool:
        """Whether module or configuration are at fault, so that there is no verdict."""
        return self in _BAD_INPUT

    @property
    def verdict(self) -> str:
        """The word that a model's TOML expects: holds, violated, deadlock, and so on."""
        if self.violated:
            return "violated"
        return "bounded" if self is Outcome.BOUNDED else self.value


_VIOLATIONS = frozenset(
    {
        Outcome.VIOLATED_INVARIANT,
        Outcome.VIOLATED_INITIAL,
        Outcome.VIOLATED_ACTION_PROPERTY,
        Outcome.VIOLATED_LIVENESS,
    }
)
_DECIDED = _VIOLATIONS | {
    Outcome.HOLDS,
    Outcome.BOUNDED,
    Outcome.SIMULATED,
    Outcome.DEADLOCK,
    Outcome.ASSUMPTION_FALSE,
    Outcome.NO_INITIAL_STATES,
}

_BAD_INPUT = frozenset(
    {
        Outcome.PARSE_ERROR,
        Outcome.CONFIG_ERROR,
        Outcome.EVALUATION_ERROR,
        Outcome.TYPE_ERROR,
        Outcome.UNSUPPORTED,
    }
)

_BY_CODE = {
    2110: Outcome.VIOLATED_INVARIANT,
    2107: Outcome.VIOLATED_INITIAL,
    2108: Outcome.VIOLATED_INITIAL,
    2112: Outcome.VIOLATED_ACTION_PROPERTY,
    2116: Outcome.VIOLATED_LIVENESS,
    2114: Outcome.DEADLOCK,
    2104: Outcome.ASSUMPTION_FALSE,
    2118: Outcome.NO_INITIAL_STATES,  # what -simulate says
    2265: Outcome.EVALUATION_ERROR,  # a number beyond 32 bits
    2115: Outcome.CONFIG_ERROR,  # there is an INIT but no NEXT
    2146: Outcome.CONFIG_ERROR,  # an invariant with primes
    3002: Outcome.PARSE_ERROR,
    1102: Outcome.USAGE,
    1001: Outcome.OUT_OF_MEMORY,
    1002: Outcome.OUT_OF_MEMORY,
}
_CONFIG_CODES = (range(2222, 2250), range(5000, 5010))
_BY_EXIT_CODE = {
    3: Outcome.OUT_OF_MEMORY,  # -XX:+ExitOnOutOfMemoryError
    75: Outcome.EVALUATION_ERROR,
    76: Outcome.EVALUATION_ERROR,
    150: Outcome.PARSE_ERROR,
    151: Outcome.CONFIG_ERROR,
}
_NO_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError|insufficient memory for the Java Runtime Environment"
    r"|Could not reserve enough space|Invalid maximum heap size|Too small maximum heap"
)
_SUCCESS, _SIMULATION_RUNS, _FINISHED = 2193, {2188}, 2186
NOT_CAUSES = frozenset({2103, 2121, 2264})
"""Messages that say where an error is or that a trace follows, not what is wrong."""


def classify(
    output: CheckerOutput, *, exit_code: int, timed_out: bool, stderr: str, partial: bool
) -> Outcome:
    """The outcome of a run that printed `output`; `partial` says that a constraint cut it down."""
    if timed_out:
        return Outcome.TIMEOUT
    if exit_code < 0:
        return Outcome.KILLED
    errors = [message for message in output.errors if message.code not in NOT_CAUSES]
    if any(_NO_MEMORY.search(text) for text in (stderr, *_raw(output), *_texts(errors))):
        return Outcome.OUT_OF_MEMORY
    if errors:
        return _of_errors(output, errors, exit_code)
    if exit_code != 0:
        return _BY_EXIT_CODE.get(exit_code, Outcome.FAILED)
    if _FINISHED not in output.codes:
        return Outcome.FAILED
    if _SIMULATION_RUNS & output.codes:
        return Outcome.SIMULATED
    if _SUCCESS not in output.codes or output.queued != 0:
        return Outcome.FAILED
    if output.generated == 0:
        return Outcome.NO_INITIAL_STATES
    return Outcome.BOUNDED if partial else Outcome.HOLDS


def _of_errors(output: CheckerOutput, errors: list[Message], exit_code: int) -> Outcome:
    first = next((error.code for error in errors if error.code is not None), None)
    # An exception (1000) has its cause, such as 5006, among the messages nested in it.
    for code in (first, *(sorted(output.codes) if first == 1000 else ())):
        if code in _BY_CODE:
            return _BY_CODE[code]
        if any(code in codes for codes in _CONFIG_CODES):
            return Outcome.CONFIG_ERROR
    return _BY_EXIT_CODE.get(exit_code, Outcome.FAILED)


def _raw(output: CheckerOutput) -> tuple[str, ...]:
    """The lines that are no message; the Java runtime speaks there when it ends by itself."""
    return output.parsing + output.printed


def _texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]
