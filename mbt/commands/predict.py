"""mbt predict: say what a model says before anyone looks, and hold it to that."""

from __future__ import annotations

import click

from mbt.commands.lazy import LazyGroup

PREDICT = {
    "register": "write down what a model says that each trace will show",
    "run": "measure what was registered and committed, once",
    "lacked": "say what the model lacked, of a prediction that was refuted",
    "list": "all predictions, and what came of them",
    "show": "one of them, step by step",
}
"""Name -> line in the help."""


@click.command(cls=LazyGroup, lines=PREDICT)
def predict() -> None:
    """Say what a model says before anyone looks, and hold it to that."""
