"""The command line: finding the commands, and turning every end into an exit code.

0 all is as it should be, 1 it is not, 2 wrong use or bad input, 3 the machinery failed; 130 and
143 where it was interrupted or terminated. A mistake of the user's never shows a traceback.
"""

from __future__ import annotations

import ast
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import FrameType

import click

from mbt import shadow
from tracegen.errors import MachineryError, MbtError

WRONG_USE, MACHINERY, INTERRUPTED, TERMINATED = 2, 3, 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM: cleaned up after like an interrupt."""


class Commands(click.Group):
    """The commands in `mbt.commands`, imported when used: some take a second to import."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Their names."""
        return [*_summaries()]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """One of them, None where there is none of that name."""
        if name not in _summaries():
            return None
        command = getattr(import_module(f"mbt.commands.{name}"), name)
        assert isinstance(command, click.Command), f"mbt.commands.{name}.{name} is no command"
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of them for --help, from their docstrings alone."""
        with formatter.section("Commands"):
            formatter.write_dl([*_summaries().items()])


@cache
def _summaries() -> dict[str, str]:
    """Name -> line in the help, of every command."""
    found = {}
    for file in sorted((Path(__file__).parent / "commands").glob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
        if text.startswith(mark := f"mbt {file.stem}: "):
            found[file.stem] = text.removeprefix(mark).partition("\n")[0]
    return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("tla-mbt"), prog_name="mbt")
def mbt() -> None:
    """Model-based testing of resume semantics: TLA+ models walk real frameworks."""
    for warning in shadow.warnings():
        click.echo(f"mbt: warning: {warning}", err=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (by default the process's own) and return its exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    try:
        result = mbt.main(args=arguments, prog_name="mbt", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return WRONG_USE
    except MbtError as error:
        return _say(str(error), WRONG_USE)
    except MachineryError as error:
        return _say(str(error), MACHINERY)
    except (click.Abort, KeyboardInterrupt) as error:
        terminated = isinstance(error, Terminated) or isinstance(error.__cause__, Terminated)
        return _say("terminated", TERMINATED) if terminated else _say("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):
        # Whoever read us went away, for which click and rich exit with 1: that means something
        # else here. Keep the interpreter from saying so when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return MACHINERY
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _say(f"{error.strerror or error}{where}", MACHINERY)
    except Exception as error:
        if os.environ.get("MBT_TRACEBACK"):
            traceback.print_exc()
        kind = type(error).__name__
        return _say(f"a bug in mbt: {kind}: {error} (MBT_TRACEBACK=1 shows where)", MACHINERY)


def _say(message: str, code: int) -> int:
    click.echo(f"mbt: {message}", err=True)
    return code


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated
