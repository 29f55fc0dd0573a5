"""Taking the standard output of TLC apart into its messages and the lines between them.

With `-tool` TLC marks where each message starts and ends and gives its code. Without, it prints the
texts alone; here the codes are recognised from the texts (those of TLC 2.15, class tlc2.output.MP),
so that both forms come out the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """The classes of messages that `-tool` tells apart."""

    NOTE = 0
    ERROR = 1
    BUG = 2
    WARNING = 3
    STATE = 4


@dataclass(frozen=True, slots=True)
class Message:
    """A message of TLC. The text of one nested in another is part of the other's too."""

    code: int | None
    """As in class tlc2.output.EC; None for an error that a text without codes does not tell."""
    level: Level
    text: str


def split_output(text: str) -> list[Message | str]:
    """The messages and the lines between them, in order, blank lines left out.

    The form, `-tool` or text, shows from the output itself. A message that the output is cut off
    in is left out.
    """
    return _split_tool(text) if _MARK.search(text) else list(_split_text(text))


# --- with -tool

_MARK = re.compile(r"@!@!@(?:START|END)MSG ([0-9]+)(?::([0-9]+))? @!@!@\n?")


def _split_tool(text: str) -> list[Message | str]:
    items: list[Message | str | None] = []
    # Messages begun and not ended: code, level, place in `items`, start of the text.
    begun: list[tuple[int, Level, int, int]] = []
    last = 0
    for mark in _MARK.finditer(text):
        if not begun:
            items.extend(_lines(text[last : mark.start()]))
        last = mark.end()
        if mark[2] is not None:
            begun.append((int(mark[1]), Level(int(mark[2])), len(items), mark.end()))
            items.append(None)
        elif begun:
            code, level, place, start = begun.pop()
            items[place] = Message(code, level, _unmarked(text[start : mark.start()]))
    if not begun:
        items.extend(_lines(text[last:]))
    return [item for item in items if item is not None]


def _unmarked(text: str) -> str:
    return _MARK.sub("", text).strip("\n")


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


# --- without

_STATE = re.compile(r"State ([0-9]+):(.*)")
_BACK = re.compile(r"Back to state ([0-9]+)(.*)")
_MARKED_LEVELS = {"Error: ": Level.ERROR, "TLC Bug: ": Level.BUG, "Warning: ": Level.WARNING}

# How a note starts, and how a further line of it does.
_NOTES: tuple[tuple[int, re.Pattern[str], str | None], ...] = tuple(
    (code, re.compile(start), further)
    for code, start, further in (
        (2262, r"TLC2 Version ", None),
        (2187, r"Running breadth-first search ", None),
        (2188, r"Running Random Simulation ", None),
        (2271, r"Running depth-first search ", None),
        (2185, r"Starting\.\.\. \(", None),
        (2212, r"Implied-temporal checking--", None),
        (2189, r"Computing initial states\.\.\.", None),
        (2269, r"Computed [0-9]+ initial states\.\.\.", None),
        (2190, r"Finished computing initial states: [0-9]+ distinct", None),
        (
            2191,
            r"Finished computing initial states: [0-9]+ states? generated, .* distinct at",
            None,
        ),
        (2208, r"Finished computing initial states: ", None),
        (2205, r"Starting level [0-9]+: ", None),
        (2200, r"Progress\(", None),
        (2209, r"Progress: ", None),
        (2192, r"Checking (?:.* )?temporal properties for the ", None),
        (2267, r"Finished checking temporal properties in ", None),
        (2201, r"The coverage statistics at ", r"<|  |End of statistics"),
        (2195, r"Checkpointing of run ", None),
        (2196, r"Checkpointing completed at \(", None),
        (2193, r"Model checking completed\. No error has been found\.", "  "),
        (2199, r"[0-9,]+ states generated, .* states left on queue\.", None),
        (2204, r"[0-9,]+ states generated, [0-9,]+ distinct states found\.", None),
        (2210, r"The number of states generated: ", "Simulation using seed "),
        (2194, r"The depth of the complete state graph search is ", None),
        (2268, r"The average outdegree of the complete state graph is ", None),
        (2186, r"Finished in ", None),
    )
)

_ERRORS: tuple[tuple[int, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.DOTALL))
    for code, pattern in (
        (1000, r"TLC threw an unexpected exception\."),
        (1001, r"Java ran out of memory\."),
        (1005, r"This was a Java StackOverflowError\."),
        (1102, r"Error: .*\nUsage: java tlc2\.TLC"),
        (2103, r"The error occurred when TLC was evaluating the nested"),
        (2104, r"Assumption .* is false\."),
        (2105, r"Evaluating assumption .* failed"),
        (2106, r"State is not completely specified by the initial predicate"),
        (2107, r"Invariant .* is violated by the initial state:"),
        (2108, r"Property .* is violated by the initial state:"),
        (2109, r"Successor state is not completely specified by "),
        (2110, r"Invariant .* is violated\."),
        (2111, r"Evaluating invariant .* failed"),
        (2112, r"Action property .* is violated\."),
        (2113, r"Evaluating action property .* failed"),
        (2114, r"Deadlock reached\."),
        (2116, r"Temporal properties were violated\."),
        (2121, r"The behavior up to this point is:"),
        (2132, r"The first argument of Assert evaluated to FALSE"),
        (2178, r"Overflow when computing "),
        (2222, r"The constant parameter .* is not assigned a value"),
        (2229, r"The .* specified in the configuration file\nis not defined"),
        (2264, r"The following behavior constitutes a counter-example:"),
        (3002, r"Parsing or semantic analysis failed\."),
        (5001, r"TLC encountered the following error when trying to read the configuration file"),
        (5003, r"TLC found an error in the configuration file .* not followed by an identifier"),
        (5004, r"TLC found an error in the configuration file .* appeared twice"),
        (5005, r"TLC found an error in the configuration file .*Expected an identifier"),
        (5006, r"TLC found an error in the configuration file .*It was expecting "),
        (2102, r".*\nWhile working on the initial state:"),
    )
)
# What PrintT prints may follow these directly; other errors go on up to a blank line.
_ONE_LINE_ERRORS = frozenset({2110, 2112, 2114, 2116, 2121, 2264})


def _split_text(text: str) -> Iterator[Message | str]:
    lines = text.removesuffix("\n").split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if (state := _STATE.fullmatch(line)) is not None:
            if state[2] == " Stuttering":
                yield Message(2218, Level.STATE, f"{state[1]}: Stuttering")
                continue
            end = _blank(lines, place)
            if end < len(lines):
                code = 2217 if state[2] else 2216
                body = "\n".join(lines[place:end])
                yield Message(code, Level.STATE, f"{state[1]}:{state[2]}\n{body}")
            place = end
        elif (back := _BACK.fullmatch(line)) is not None:
            yield Message(2122, Level.STATE, f"{back[1]}: Back to state{back[2]}")
        elif (mark := line[: line.find(": ") + 2]) in _MARKED_LEVELS:
            end = _end_of_error(lines, place, line.removeprefix(mark))
            body = "\n".join([line.removeprefix(mark), *lines[place:end]])
            yield Message(_error_code(body), _MARKED_LEVELS[mark], body)
            _, _, cause = body.partition("\n: ")  # as an unexpected exception gives it
            if (nested := _error_code(cause)) is not None:
                yield Message(nested, Level.NOTE, cause)
            place = end
        elif (note := _note(line)) is not None:
            code, further = note
            end = place
            while further is not None and end < len(lines) and re.match(further, lines[end]):
                end += 1
            yield Message(code, Level.NOTE, "\n".join([line, *lines[place:end]]))
            place = end
        elif line.strip():
            yield line


def _note(line: str) -> tuple[int, str | None] | None:
    for code, start, further in _NOTES:
        if start.match(line):
            return code, further
    return None


def _error_code(text: str) -> int | None:
    return next((code for code, pattern in _ERRORS if pattern.match(text)), None)


def _end_of_error(lines: list[str], place: int, first: str) -> int:
    if _error_code(first) in _ONE_LINE_ERRORS:
        return place
    while place < len(lines) and not _starts_message(lines[place]):
        if not lines[place].strip():
            return place
        place += 1
    return place


def _starts_message(line: str) -> bool:
    return (
        line.startswith(tuple(_MARKED_LEVELS))
        or _STATE.fullmatch(line) is not None
        or _note(line) is not None
    )


def _blank(lines: list[str], place: int) -> int:
    # Blank is empty: a value's line that is cut off in its indentation is not the end of a state.
    while place < len(lines) and lines[place]:
        place += 1
    return place
