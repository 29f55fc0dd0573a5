"""One release of a framework: a suite replayed in its environment, and what is kept of that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Adapter
from adapters.host import Host, HostError, MissingFramework
from replay.models import Models
from replay.receipts import run_data, summary
from replay.record import RunRecord
from replay.suite import Part, Replay, replay_suite
from replay.sweeps.environments import Environment
from tracegen.cache import digest_of
from tracegen.errors import MachineryError
from tracegen.spec import Spec
from tracegen.tlc import RunOptions

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Sweep:
    """What is replayed on every release.

    Attributes:
        name, reference: of the adapter, as `adapters.registry.locate` takes and gives it.
        options: every option of the adapter, with the choice made.
        models: what of the suite is replayed, empty for all of it.
    """

    spec: Spec
    parts: tuple[Part, ...]
    models: tuple[str, ...]
    name: str
    reference: str
    adapter: type[Adapter]
    options: Mapping[str, str]
    graphs: Models
    checker: RunOptions
    jobs: int

    @property
    def differing(self) -> dict[str, str]:
        """The options that are not the default."""
        rules = self.adapter.options
        return {name: v for name, v in self.options.items() if v != rules[name].default}


def measure(
    sweep: Sweep,
    version: str,
    environment: Environment,
    progress: Callable[[str, int, int], None],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A release's row, and the evidence for it by its digest: none where it lacks what is imported.

    Raises:
        MachineryError: the adapter cannot be prepared there for another reason, or the machinery
            failed; nothing is known about the release.
    """
    installed = dict(line.partition("==")[::2] for line in environment.packages)
    versions = {name: installed.get(name, "not installed") for name in sweep.adapter.distributions}
    row = {
        "version": version,
        "options": sweep.differing,
        "models": list(sweep.models),
        "versions": versions,
    }
    try:
        workflow = sweep.spec.workflow_of(sweep.parts[0].model)
        with Host(
            sweep.reference, workflow, sweep.options, interpreter=environment.interpreter
        ) as host:
            told = host.versions
        if told != versions:
            raise MachineryError(f"{told} is what runs in the environment of {versions}")
        found = evidence_of(reached(_replay(sweep, environment, progress)))
        return row | {"evidence": digest_of(found)}, {digest_of(found): found}
    except MissingFramework as error:
        if not {*error.owners} & {*sweep.adapter.distributions}:
            raise MachineryError(f"what is missing is not the release's: {error}") from error
        return row | {"lacks": f"{error.error}: {error}"}, {}
    except HostError as error:
        raise MachineryError(str(error)) from error


def _replay(
    sweep: Sweep, environment: Environment, progress: Callable[[str, int, int], None]
) -> Replay:
    return replay_suite(
        sweep.spec,
        sweep.parts,
        sweep.name,
        sweep.reference,
        sweep.adapter,
        sweep.options,
        sweep.graphs,
        sweep.checker,
        jobs=sweep.jobs,
        interpreter=environment.interpreter,
        progress=progress,
    )


def reached(found: Replay) -> Replay:
    """A replay that was not refused before anything was delivered: else it measured nothing.

    That is what a call of ours comes to that a release does not take any more.
    """
    steps = [micro for record in _records(found) for micro in record.micro]
    kinds = {name: action.kind for name, action in found.spec.actions.items()}
    refused = [micro.error for micro in steps if micro.error and not micro.poison]
    if refused and all(kinds.get(micro.action) != "stimulus" for micro in steps):
        raise MachineryError(
            "every run was refused before anything could be delivered: "
            f"{refused[0]['type']}: {refused[0]['message']}"
        )
    return found


def evidence_of(found: Replay) -> dict[str, Any]:
    """What a replay came to: cells, divergences by sentence, refusals, and a digest of each run."""
    whole = summary(found, {})
    return {
        "properties": {
            name: {"verdict": rule["verdict"], "parts": rule["parts"]}
            for name, rule in whole["properties"].items()
        },
        "explained_by": _names(whole["explanation"]),
        "parts": [_part(part) for part in whole["parts"]],
        "second_pass": [_part(part) for part in whole["second_pass"]],
        "facts": _counted(fact for record in _records(found) for fact in record.facts),
        "refusals": _counted(text for record in _records(found) for text in _refusals(record)),
        "runs": {
            result.part.name: {r.trace: _run(result.part.name, r) for r in result.records}
            for result in (*found.parts, *found.second_pass)
        },
    }


def _names(explanation: Data | None) -> list[str]:
    """The smallest explanations; empty where there is none, or nothing that could be one."""
    return list(explanation["names"]) if explanation else []


def _part(part: Data) -> dict[str, Any]:
    """A part of receipt.json; of what repeats from run to run only once."""
    said: dict[str, dict[str, int]] = {}
    for divergence in part["divergences"]:
        said.setdefault(divergence["sentence"], {})[divergence["trace"]] = divergence["micro"]
    kept = {key: value for key, value in part.items() if key != "explanation"}
    return kept | {"divergences": said, "explained_by": _names(part["explanation"])}


def _records(found: Replay) -> Iterator[RunRecord]:
    for result in found.parts:
        yield from result.records


def _refusals(record: RunRecord) -> set[str]:
    """What a run was refused, with the system's own words."""
    refused = [(micro.action or "start", micro.error) for micro in record.micro]
    refused += [("a branch", branch.error) for branch in record.branches]
    return {f"{what}: {e['type']}: {e['message']}" for what, e in refused if e}


def _counted(phrases: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(phrases).items()))


def run_digest(data: Data) -> str:
    """Digest of a run as runs.jsonl holds it, in which digests of stores are numbered.

    How a release writes its store down is not how a run goes; which stores are equal is.
    """
    numbers: dict[str, int] = {}

    def numbered(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: numbered(entry, name) for name, entry in value.items()}
        if isinstance(value, list):
            return [numbered(entry) for entry in value]
        return numbers.setdefault(value, len(numbers)) if key == "store" else value

    return digest_of(numbered(data))[:16]


def _run(part: str, record: RunRecord) -> dict[str, Any]:
    data = run_data(part, record)
    effects = [
        [before + own for before, own in zip(branch.inherited, branch.own, strict=True)]
        for branch in record.branches
    ]
    return {
        "run": run_digest(json.loads(json.dumps(data))),
        "ledger": data["ledger"],
        # Value given, value made of it, effects by task, of each fork.
        "forks": [
            [b.value, b.outcome, fired] for b, fired in zip(record.branches, effects, strict=True)
        ],
    }
