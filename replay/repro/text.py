"""Python source that is written: literals over several lines, and texts for docstrings."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

WIDTH = 99


def literal(value: Any, indent: int = 0, room: int = WIDTH) -> str:
    """A literal of JSON-like data: in one line where that fits, else an entry a line.

    Args:
        indent: columns that its line begins with.
        room: columns that are left in its first line.
    """
    line = _text(value) if isinstance(value, str) else repr(value)
    inner = indent + 4
    if isinstance(value, Mapping):
        line = "{" + ", ".join(f"{literal(k)}: {literal(v, 0, 10**6)}" for k, v in value.items())
        line += "}"
        keys = [f"{literal(key)}: " for key in value]
        items = [
            key + literal(item, inner, WIDTH - inner - len(key) - 1)
            for key, item in zip(keys, value.values(), strict=True)
        ]
        ends = "{}"
    elif isinstance(value, list):
        line = f"[{', '.join(literal(item, 0, 10**6) for item in value)}]"
        items = [literal(item, inner, WIDTH - inner - 1) for item in value]
        ends = "[]"
    else:
        return line
    if len(line) <= room:
        return line
    rows = "".join(f"{' ' * inner}{item},\n" for item in items)
    return f"{ends[0]}\n{rows}{' ' * indent}{ends[1]}"


def _text(value: str) -> str:
    # JSON writes a character beyond U+FFFF as two halves, which Python does not put together.
    return json.dumps(value, ensure_ascii=False).encode("ascii", "backslashreplace").decode()


def strings(text: str, indent: int) -> str:
    """A text as strings that follow each other, a line each, to stand in brackets."""
    rows = textwrap.wrap(
        text,
        WIDTH - indent - 12,
        drop_whitespace=False,
        replace_whitespace=False,
        expand_tabs=False,
    ) or [""]
    return "\n".join(" " * indent + literal(row) for row in rows)


def fill(text: str) -> str:
    """A text for a docstring, in lines of its width."""
    return textwrap.fill(" ".join(plain(text.replace("\n", " ")).split()), WIDTH)


def plain(text: str) -> str:
    """A text for a docstring: nothing in it ends one, and nothing is an escape."""
    return "".join(c if c.isprintable() and c.isascii() and c not in '\\"' else "'" for c in text)
