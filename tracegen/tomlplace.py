"""Where in a TOML text something stands: Python's parser does not tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

_HEADER = re.compile(r"\s*(\[\[?)([^\]]+)\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")

Keys = Sequence[str | int]
"""Names of tables and keys, and places (from 0) in arrays of tables."""


def line_of(text: str, keys: Keys) -> int | None:
    """The line, from 1, of what the most of `keys` lead to; None where not even the first does."""
    table: tuple[str | int, ...] = ()
    tables: Counter[tuple[str | int, ...]] = Counter()
    nearest, depth = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            here = table = _inside(_parts(header[2]), tables)
            if header[1] == "[[":
                here = table = (*table, tables[table])
                tables[table[:-1]] += 1
        elif key := _KEY.match(line):
            here = (*table, *_parts(key[1]))
        else:
            continue
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(here, keys, strict=False))
        shared = sum(1 for _ in alike)
        if shared > depth:
            nearest, depth = number, shared
    return nearest


def _inside(
    table: tuple[str | int, ...], tables: Counter[tuple[str | int, ...]]
) -> tuple[str | int, ...]:
    """The name of a table, with the place of the last one in each array of tables around it."""
    *around, name = table
    place: tuple[str | int, ...] = ()
    for part in around:
        place = (*place, part)
        if tables[place]:
            place = (*place, tables[place] - 1)
    return (*place, name)


def _parts(dotted: str) -> tuple[str | int, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
