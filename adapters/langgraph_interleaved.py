"""LangGraph, graph API, its interrupt answered in both forms by turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from adapters.base import Option
from adapters.langgraph import LangGraph


class LangGraphInterleaved(LangGraph):
    """LangGraph, the values at its interrupt given bare and by a map, in turns.

    The first value is bare, `Command(resume=v)`, the second names the interrupt,
    `Command(resume={its id: v})`, and so on: a fork's number is its place among the values.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **LangGraph.options,
        "answer": replace(
            LangGraph.options["answer"],
            default="by-turns",
            choices=("by-turns",),
            about="how an answer is given: Command(resume=v), or Command(resume={interrupt's id:"
            " v}), the first one bare and then in turns",
        ),
    }

    def _answer(self, v: str) -> Any:
        """Give the first value bare, the second by name, and so on."""
        if (self.run.branch or 1) % 2:
            self.answered = True
            return self._command(resume=v)
        return super()._answer(v)
