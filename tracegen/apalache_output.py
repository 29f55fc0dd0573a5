"""What a run of Apalache came out as, read from all that it left and believed where all agrees.

After Apalache's documents (0.60 to 0.62). Its exit codes alone say little: 0 is "no error up to the
bound", on a solver's timeout and on runs shorter than asked too; 12 is any result that is not fine,
an interrupt among them; 255 is all that has no code, ordinary parse errors included. So the texts
are read besides, and where they contradict the exit code the run is a failure of the machinery.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracegen.outcome import Outcome

_OUTCOME = re.compile(r"The outcome is: (\w+)")
_EXIT_CODE = re.compile(r"EXITCODE:(?: (OK)\b|\D*([0-9]+))")
_VIOLATED = re.compile(r"State [0-9]+: state invariant ([0-9]+) violated")
_DEADLOCK = "Found a deadlock."
_ERROR_LINE = re.compile(r"^(.*\S)\s+E@[0-9:.]+\s*$", re.MULTILINE)
_NO_MEMORY = re.compile(r"OutOfMemoryError|insufficient memory for the Java Runtime Environment")
_OF_JAVA = "Picked up JAVA_TOOL_OPTIONS"
_WRONG_JAVA = "UnsupportedClassVersionError"
_NO_ERROR = {
    "NoError": "",
    "ExecutionsTooShort": ", where every execution ends sooner",
    "SmtTimeout": ", but for what the solver gave up on",
}
_CODES = {
    75: Outcome.UNSUPPORTED,
    120: Outcome.TYPE_ERROR,
    150: Outcome.PARSE_ERROR,  # said of JSON and Quint alone; a .tla that does not parse has 255
}
_LIMITS = {
    Outcome.TIMEOUT: "it did not end in time; give it longer, or a smaller --length",
    Outcome.KILLED: "a signal from outside ended it; the machine may be short of memory",
    Outcome.OUT_OF_MEMORY: "Java's heap was too small; give it more, or a smaller --length",
}


@dataclass(frozen=True)
class Verdict:
    """What a run came out as."""

    outcome: Outcome
    reason: str = ""
    numbers: tuple[int, ...] = ()
    """Of the violated invariants as Apalache counts them, from 0, each once."""
    lasting: bool = True
    """Whether another run would say the same, so that the result may be kept."""


def verdict_of(
    stdout: str, stderr: str, *, exit_code: int, timed_out: bool, length: int, simulated: bool
) -> Verdict:
    """What a run with that bound came out as; `simulated` where it sampled the executions."""
    for outcome, came in (
        (Outcome.TIMEOUT, timed_out),
        (Outcome.KILLED, exit_code < 0),
        (Outcome.OUT_OF_MEMORY, bool(_NO_MEMORY.search(stdout + stderr))),
    ):
        if came:
            return Verdict(outcome, _LIMITS[outcome])
    if _WRONG_JAVA in stdout + stderr:
        return Verdict(
            Outcome.FAILED, "this Java is too old for it; name another with --java (see mbt doctor)"
        )
    *_, word = ["", *_OUTCOME.findall(stdout)]
    numbers = tuple(dict.fromkeys(int(number) for number in _VIOLATED.findall(stdout)))
    deadlock = _DEADLOCK in stdout
    claimed = [0 if ok else int(code) for ok, code in _EXIT_CODE.findall(stdout)]
    if claimed[-1:] != [exit_code]:
        said = f"said EXITCODE {claimed[-1]}" if claimed else _line(stdout, stderr)
        return Verdict(Outcome.FAILED, f"it ended with {exit_code}, but {said}")
    match exit_code, word, bool(numbers), deadlock:
        case 0, word, False, False if word in _NO_ERROR:
            outcome = Outcome.SIMULATED if simulated else Outcome.BOUNDED
            reason = f"no error up to length {length}{_NO_ERROR[word]}"
            return Verdict(outcome, reason, lasting=word != "SmtTimeout")
        case 12, "Error", True, False:
            return Verdict(Outcome.VIOLATED_INVARIANT, "", numbers)
        case 12, "Deadlock", False, True:
            return Verdict(Outcome.DEADLOCK)
        case 12, "Interrupted", _, _:
            return Verdict(Outcome.KILLED, "it was interrupted from outside")
        case 12, "RuntimeError", _, _:
            return Verdict(Outcome.FAILED, _line(stdout, stderr))
        case 75 | 120 | 150, "", False, False:
            return Verdict(_CODES[exit_code], _line(stdout, stderr))
        case 255, "", False, False:
            reason = _line(stdout, stderr)
            return Verdict(_of_text(reason), reason)
    parts = [f"the outcome is {word}" if word else "no outcome"]
    parts += [f"invariant {number} is violated" for number in numbers]
    parts += ["there is a deadlock"] if deadlock else []
    return Verdict(
        Outcome.FAILED, f"it ended with {exit_code}, but said otherwise: {', '.join(parts)}"
    )


def _of_text(reason: str) -> Outcome:
    """What is at fault where the exit code is 255."""
    if re.search(r"pars(?:e|er|ing)\b", reason, re.IGNORECASE):
        return Outcome.PARSE_ERROR
    if re.search(r"configuration error", reason, re.IGNORECASE):
        return Outcome.CONFIG_ERROR
    return Outcome.FAILED


def _line(stdout: str, stderr: str) -> str:
    """The first line marked as an error, else the last that says anything."""
    if marked := _ERROR_LINE.search(stdout):
        return " ".join(marked[1].split())
    lines = [line for line in (stdout + "\n" + stderr).splitlines() if line.strip()]
    said = [line for line in lines if "EXITCODE:" not in line and not line.startswith(_OF_JAVA)]
    return " ".join(said[-1].split()) if said else "nothing"
