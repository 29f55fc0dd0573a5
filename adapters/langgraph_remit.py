"""LangGraph, graph API, over checkpointers that remit-contract wraps.

The wrapper steps in where a checkpoint is read (a fork is served its own answer; one consumer is
served a parked run, the others are refused) and where one is put (a state is validated).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from adapters.base import Option
from adapters.langgraph import LangGraph
from adapters.langgraph_thread import Config


def _marked(config: Config, flag: str) -> Config:
    return {"configurable": {**config["configurable"], flag: True}}


class LangGraphRemit(LangGraph):
    """LangGraph's graph API under `remit.wrap`.

    Store, crash, schema, notes and what is observed are those of LangGraph's graph API. The
    store is observed through a checkpointer that is not wrapped, and the public state with the
    flag that says so: under the gate a look would consume.
    """

    distributions: ClassVar[tuple[str, ...]] = (*LangGraph.distributions, "remit-contract")
    extra: ClassVar[str | None] = "langgraph,remit"
    options: ClassVar[Mapping[str, Option]] = {
        **LangGraph.options,
        "intent": Option(
            "address",
            ("address", "flag"),
            "what says that a call is a fork: that it addresses a checkpoint, or a flag of its own",
        ),
        "validator": Option(
            "yes", ("yes", "no"), "whether the wrapper is given the schema to validate a state with"
        ),
        "process_gate": Option(
            "off",
            ("off", "on"),
            "whether a consumer has to claim a parked run in the store, across processes",
        ),
    }

    _remit: ClassVar[Any]

    @classmethod
    def prepare(cls, workflow: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Import remit as well."""
        import remit

        super().prepare(workflow, options)
        cls._remit = remit

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> str | None:
        """The gate keeps its claims in the checkpointer's database."""
        if options["process_gate"] == "on" and options["saver"] == "memory":
            return "process_gate=on needs saver=sqlite or saver=postgres: a claim is a row there"
        return super().check_options(options)

    def saver(self) -> Any:
        """The checkpointer, wrapped as the options say."""
        options = self.run.options

        def wrap(*arguments: Any) -> Any:
            return self._remit.wrap(
                *arguments,
                validator=self._validate if options["validator"] == "yes" else None,
                fork_on_explicit_checkpoint=options["intent"] == "address",
                cross_process_gate=options["process_gate"] == "on",
            )

        return self._savers.open(self.run, self._opened, wrap)

    def _validate(self, checkpoint: Mapping[str, Any]) -> None:
        self._schema.model_validate(checkpoint["channel_values"])

    def forking(self, config: Config) -> Config:
        """A fork carries the flag, where that is what says so."""
        if self.run.options["intent"] == "flag":
            return _marked(super().forking(config), "remit_fork")
        return super().forking(config)

    def reading(self, config: Config) -> Config:
        """A look at the state is not to consume."""
        return _marked(config, "remit_inspect")
