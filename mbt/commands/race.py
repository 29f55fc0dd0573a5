"""mbt race: consumers that race for one interrupt."""

from __future__ import annotations

from importlib import import_module

import click

RACES = {
    "points": "a second consumer at each point of the first one's progress",
    "timing": "k consumers at real times: frequencies, never verdicts",
    "hosts": "two consumers on two hosts, at real times",
}
"""Name -> line in the help; `points` is `points` in `mbt.commands.race_points`."""


class Races(click.Group):
    """The commands, imported when used."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Their names."""
        return [*RACES]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """One of them, None where there is none of that name."""
        if name not in RACES:
            return None
        command = getattr(import_module(f"mbt.commands.race_{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of them for --help."""
        with formatter.section("Races"):
            formatter.write_dl([*RACES.items()])


@click.command(cls=Races)
def race() -> None:
    """Consumers that race for one interrupt."""
