"""mbt race: consumers that race for one interrupt."""

from __future__ import annotations

import click

from mbt.commands.lazy import LazyGroup

RACES = {
    "points": "a second consumer at each point of the first one's progress",
    "timing": "k consumers at real times: frequencies, never verdicts",
    "hosts": "two consumers on two hosts, at real times",
}
"""Name -> line in the help."""


@click.command(cls=LazyGroup, lines=RACES)
def race() -> None:
    """Consumers that race for one interrupt."""
