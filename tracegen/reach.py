"""Which Boolean constants can change what an action does, read off the module's text.

A switch is in reach of an action where the action's definition names it, or names a definition
that does. Names stand for all that is defined under them in the module's files, so what is found
may be too much, never too little: a step of an action is the same under two settings that agree
on the switches in its reach.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tracegen.cfg import Config
from tracegen.module import Module, top_definitions

_WORD = re.compile(r"\w+")

START = ""
"""Stands for the initial states, and for what all actions have in common."""


def switches_in_reach(
    module: Module, configs: Iterable[Config], actions: Collection[str], switches: Collection[str]
) -> Mapping[str, frozenset[str]]:
    """The switches in reach of each action, and under `START` of the initial states.

    Args:
        configs: what they name (the specification, constraints) is common to all actions, and so
            is what the next-state relation says outside them.
    """
    texts = top_definitions(module)
    if texts is None:
        return dict.fromkeys((START, *actions), frozenset(switches))
    words: dict[str, set[str]] = {}
    for name, text in texts:
        words.setdefault(name, set()).update(_WORD.findall(text))

    def reach(roots: Collection[str], barred: Collection[str]) -> frozenset[str]:
        seen: set[str] = set()
        wanted = [*roots]
        while wanted:
            name = wanted.pop()
            if name not in seen and name not in barred:
                seen.add(name)
                wanted += words.get(name, ())
        return frozenset(seen & {*switches})

    # The settings of the constants name every switch, but as what is set, not as what is read.
    named = {
        word for config in configs for word in _WORD.findall(replace(config, constants={}).text)
    }
    common = reach(named, actions)
    return {START: common, **{name: reach([name], ()) | common for name in actions}}
