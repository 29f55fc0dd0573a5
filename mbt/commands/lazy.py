"""Groups of commands that are imported when used: some take a second to import."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose command `a-b` is `a_b` in `mbt.commands.GROUP_a_b`."""

    def __init__(self, *, lines: Mapping[str, str], **more: Any) -> None:
        """Take the name of each command with its line in the help."""
        super().__init__(**more)
        self._lines = lines

    def list_commands(self, context: click.Context) -> list[str]:
        """Their names."""
        return [*self._lines]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """One of them, None where there is none of that name."""
        if name not in self._lines:
            return None
        safe = name.replace("-", "_")
        command = getattr(import_module(f"mbt.commands.{self.name}_{safe}"), safe)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of them for --help."""
        with formatter.section("Commands"):
            formatter.write_dl([*self._lines.items()])
