"""Tables and lines for a person, JSON for a program."""

from __future__ import annotations

import json
import sys

from rich.console import Console

_PIPED_WIDTH = 160
"""Columns where standard output is no terminal, whose width would be a guess."""


def console() -> Console:
    """Standard output as it is now."""
    return Console(
        width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, markup=False
    )


def print_json(data: object) -> None:
    """Write data as JSON on standard output."""
    print(json.dumps(data, indent=1, ensure_ascii=False))
