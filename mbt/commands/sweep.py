"""mbt sweep: measure one thing at every point where it may come out otherwise."""

from __future__ import annotations

from importlib import import_module

import click

SWEEPS = {
    "kill-points": "a kill at every operation of a framework's persistence",
    "stores": "what becomes of a store that was tampered with",
    "versions": "one adapter on several releases of its framework",
}
"""Name -> line in the help; `kill-points` is `kill_points` in `mbt.commands.sweep_kill_points`."""


class Sweeps(click.Group):
    """The sweeps, imported when used."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Their names."""
        return [*SWEEPS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """One of them, None where there is none of that name."""
        if name not in SWEEPS:
            return None
        safe = name.replace("-", "_")
        command = getattr(import_module(f"mbt.commands.sweep_{safe}"), safe)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of them for --help."""
        with formatter.section("Sweeps"):
            formatter.write_dl([*SWEEPS.items()])


@click.command(cls=Sweeps)
def sweep() -> None:
    """Measure one thing at every point where it may come out otherwise."""
