"""What the sweeps over releases are of: the list that they are made from, and audited by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Form:
    """A form in which an adapter is swept.

    Attributes:
        options: those that are not the default.
        models: what of the suite is replayed, empty for all of it.
        lacks: release -> what it lacks of what the adapter imports in this form, as it says so.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Swept:
    """The releases that an adapter is swept over, and the forms in which it is."""

    releases: tuple[str, ...]
    forms: tuple[Form, ...] = (Form(),)


_CREWAI = ("1.13.0", "1.14.1", "1.14.3", "1.14.7", "1.15.0", "1.15.2", "1.15.4", "1.15.30")
_RESTORE = "AttributeError: Flow.kickoff has no parameter restore_from_state_id"
_PERSISTENCE = "ModuleNotFoundError: No module named 'pydantic_graph.persistence'"
_NO_PERSISTENCE = {"2.0.0": _PERSISTENCE, "2.68.0": _PERSISTENCE}

SWEPT: dict[str, Swept] = {
    "langgraph": Swept(
        ("1.0.5", "1.1.0", "1.1.3", "1.1.10", "1.2.9", "1.2.24"),
        (
            Form(),
            Form({"route": "replay"}),
            Form({"route": "update-state"}),
            Form({"recover": "resubmit"}),
        ),
    ),
    "crewai": Swept(_CREWAI),
    "crewai-persist": Swept(
        _CREWAI,
        (
            Form(lacks=dict.fromkeys(("1.13.0", "1.14.1", "1.14.3"), _RESTORE)),
            Form({"answer": "none"}),
        ),
    ),
    "crewai-checkpoint": Swept(
        _CREWAI,
        # The first part alone: a restore takes seconds.
        (
            Form(
                {"answer": "none", "on_events": "all"},
                ("R0",),
                {
                    "1.13.0": "ModuleNotFoundError: No module named 'crewai.state'",
                    "1.14.1": "AttributeError: CheckpointConfig has no field restore_from",
                },
            ),
        ),
    ),
    "llamaindex": Swept(
        ("2.20.0", "2.21.0", "2.22.2", "2.26.1"), (Form(), Form({"interrupt": "wait"}))
    ),
    "pydantic-graph": Swept(
        ("1.105.0", "1.106.0", "1.107.1", "1.107.10", "2.0.0", "2.68.0"),
        (
            Form(lacks=_NO_PERSISTENCE),
            Form({"crash_at": "boundary"}, lacks=_NO_PERSISTENCE),
        ),
    ),
    "dbos": Swept(("2.27.0", "3.4.0")),
}
"""Adapter -> what it is swept over."""


def sweeps() -> Iterator[list[str]]:
    """The words of `mbt sweep versions` that measure a form of an adapter, for each of them."""
    for adapter, swept in SWEPT.items():
        for form in swept.forms:
            words = ["--adapter", adapter, "--versions", ",".join(swept.releases)]
            words += [word for n, v in form.options.items() for word in ("--option", f"{n}={v}")]
            words += [word for model in form.models for word in ("--model", model)]
            yield words
