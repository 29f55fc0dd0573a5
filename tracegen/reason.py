"""Saying in a sentence why a run came out as it did, with the file and line that TLC points to."""

from __future__ import annotations

import re

from tracegen.cfg import Config
from tracegen.messages import Message
from tracegen.module import Module
from tracegen.outcome import NOT_CAUSES, Outcome
from tracegen.output import CheckerOutput

_SYNTAX = re.compile(r"(.*?),? at line ([0-9]+), column ([0-9]+)(.*)")
_LIMITS = {
    Outcome.TIMEOUT: "it did not end in time; give it longer, or smaller bounds",
    Outcome.OUT_OF_MEMORY: "Java's heap was too small; give it more, or smaller bounds",
    Outcome.KILLED: "a signal from outside ended it; the machine may be short of memory",
}
_UNPARSED = re.compile(r"Could not parse module (\w+) from file")
_SEMANTIC = re.compile(r"line ([0-9]+), col ([0-9]+) to .* of module (\w+)")
_NO_SOURCE = re.compile(r"Cannot find source file for module .*")
_EVALUATED = re.compile(r"[0-9]+\. Line ([0-9]+), column ([0-9]+) to .* in (\w+)")
_ASSUMED = re.compile(r"Assumption line ([0-9]+), col ([0-9]+) to .* of module (\w+)")
_CONFIG_LINE = re.compile(r"error in the configuration file at line ([0-9]+)\n?(.*)", re.DOTALL)
_CONSTANT = re.compile(r"(?:constant parameter|identifier|substitutes for) (\w+)")


def reason_of(
    outcome: Outcome, output: CheckerOutput, module: Module, config: Config, stderr: str
) -> str:
    """The reason in one line, empty where the outcome says it all."""
    errors = [message for message in output.errors if message.code not in NOT_CAUSES]
    if outcome in _LIMITS:
        return _LIMITS[outcome]
    if outcome is Outcome.PARSE_ERROR:
        return _unparsed(output, module)
    if outcome is Outcome.CONFIG_ERROR and errors:
        return _misfit(_cause(errors[0]), config)
    if outcome is Outcome.EVALUATION_ERROR and errors:
        return _place(_EVALUATED, output, module) + _line(_cause(errors[0]))
    if outcome is Outcome.ASSUMPTION_FALSE:
        return _place(_ASSUMED, output, module) + "the assumption is false"
    if outcome.violated:
        names = violated_names(outcome, output, config)
        some = f"one of {', '.join(config.properties)}"
        return f"violated: {', '.join(names) or some}"
    if outcome is Outcome.BOUNDED:
        return f"explored only within {', '.join(config.partial)}"
    if outcome is Outcome.NO_INITIAL_STATES:
        return f"no state satisfies the initial predicate of {module.path}"
    if errors:
        return _line(errors[0].text)
    return _line(stderr) if outcome is Outcome.FAILED else ""


def violated_names(outcome: Outcome, output: CheckerOutput, config: Config) -> tuple[str, ...]:
    """What is violated, as far as is known: TLC 2.15 does not say which temporal property."""
    alone = outcome is Outcome.VIOLATED_LIVENESS and len(config.properties) == 1
    return config.properties if alone else output.violated


def undeclared(names: list[str], module: Module, config: Config) -> str:
    """The reason for constants that a configuration gives and no module has."""
    known = ", ".join(module.constants) or "none"
    given = "; ".join(f"{config.place(name)}: {name}" for name in names)
    return f"{given}: no such constant in {module.path} (declared there: {known})"


def _unparsed(output: CheckerOutput, module: Module) -> str:
    lines = output.parsing
    for number, line in enumerate(lines):
        if match := _SEMANTIC.match(line):
            at_line, column, name = match.groups()
            return _at(module, name, at_line, column) + "".join(lines[number + 1 : number + 2])
        if match := _SYNTAX.match(line):
            before, at_line, column, after = match.groups()
            named = _UNPARSED.search("\n".join(lines))
            name = named[1] if named else module.name
            return _at(module, name, at_line, column) + _line(before + after)
        if _NO_SOURCE.match(line):
            return f"{module.path}: {line.strip()}"
    return f"{module.path}: {' '.join(lines[-1:]) or 'the module does not parse'}"


def _misfit(cause: str, config: Config) -> str:
    source = config.source or "configuration"
    if match := _CONFIG_LINE.search(cause):
        # TLC was given `config.text`, whose lines are not the file's.
        lines = config.text.splitlines()
        number = int(match[1])
        quoted = lines[number - 1] if 0 < number <= len(lines) else ""
        return f"{source}: this TLC does not understand {quoted.strip()!r}: {_line(match[2])}"
    constant = _CONSTANT.search(cause)
    return f"{config.place(constant[1]) if constant else source}: {_line(cause)}"


def _cause(message: Message) -> str:
    """What an exception that TLC reports was raised for, else the message itself."""
    return message.text.partition("\n: ")[2] or message.text


def _place(pattern: re.Pattern[str], output: CheckerOutput, module: Module) -> str:
    """The innermost place that TLC names, as `file:line:column: `; the file where it names none."""
    places = pattern.findall("\n".join(message.text for message in output.errors))
    if not places:
        return f"{module.path}: "
    line, column, name = places[-1]
    return _at(module, name, line, column)


def _at(module: Module, name: str, line: str, column: str) -> str:
    return f"{module.file_of(name)}:{line}:{column}: "


def _line(text: str) -> str:
    return " ".join(text.split())
