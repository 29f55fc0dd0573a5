"""mbt sweep: measure one thing at every point where it may come out otherwise."""

from __future__ import annotations

import click

from mbt.commands.lazy import LazyGroup

SWEEPS = {
    "kill-points": "a kill at every operation of a framework's persistence",
    "stores": "what becomes of a store that was tampered with",
    "versions": "one adapter on several releases of its framework",
}
"""Name -> line in the help."""


@click.command(cls=LazyGroup, lines=SWEEPS)
def sweep() -> None:
    """Measure one thing at every point where it may come out otherwise."""
