"""What a replay covered of a state graph, read back from its receipt.

The receipt says how much of the graph its runs covered; which transitions those are is found by
walking the recorded runs over the graph again, as the replay did, and has to come out as many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.registry import UnknownAdapter, known_adapters, load_adapter
from replay.compare import Model, track
from replay.record import Branch, MicroStep, RunRecord
from tracegen.errors import MbtError
from tracegen.graph import StateGraph
from tracegen.picture import Coverage
from tracegen.spec import Spec


def coverage_of(folder: Path, spec: Spec, model: str, graph: StateGraph) -> Coverage:
    """The transitions of a model's graph that the runs in a receipt took and diverged at.

    Raises MbtError where there is no receipt of that model and graph in the folder, or its runs do
    not cover what it says.
    """
    receipt = _json(folder / "receipt.json", (folder / "receipt.json"))
    try:
        if receipt["module"] != spec.module:
            raise MbtError(f"{folder}: a replay of {receipt['module']}, not of {spec.module}")
        every = [*receipt["parts"], *receipt["second_pass"]]
        parts = {part["name"]: part for part in every if part["model"] == model}
        if not parts:
            known = ", ".join(sorted({part["model"] for part in every}))
            raise MbtError(f"{folder}: nothing was replayed of model {model}, but of {known}")
        merges = _merges(receipt["adapter"], receipt["options"])
        runs: dict[str, list[RunRecord]] = {name: [] for name in parts}
        for name, record in _runs(folder / "runs.jsonl"):
            if name in runs:
                runs[name].append(record)
        over = Model(graph, spec)
        covered: set[int] = set()
        diverged: set[int] = set()
        for name, part in parts.items():
            if part["graph"] != graph.digest:
                raise MbtError(
                    f"{folder}: {name!r} was compared with another state graph than this of "
                    f"{model}: a replay is compared with the model without its fault switches, so "
                    "draw one that has none on"
                )
            own: set[int] = set()
            for record in runs[name]:
                tracking = track(record, over, merges=merges)
                own |= tracking.covered
                if tracking.divergence is not None:
                    at = tracking.divergence.micro
                    diverged |= _taken_there(over, record, at, tracking.covered, merges)
            if len(own) != part["covered"]:
                raise MbtError(
                    f"{folder}: the runs of {name!r} cover {len(own)} transitions, its receipt "
                    f"says {part['covered']}; replay it again with this version"
                )
            covered |= own
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise MbtError(
            f"{folder}: not a receipt of this version ({type(error).__name__}: {error}); "
            "name a folder that `mbt replay` wrote"
        ) from None
    return Coverage(frozenset(covered), frozenset(diverged))


def _taken_there(
    model: Model,
    record: RunRecord,
    at: int,
    covered: frozenset[int],
    merges: Mapping[str, Sequence[str]],
) -> set[int]:
    """The transitions that the model has for the action at which a run diverged.

    They leave the states that agree with what was observed before it; of those, the ones that the
    run certainly came to, where there are such.
    """
    before = next((micro for micro in reversed(record.micro[:at]) if not micro.folded), None)
    if before is None:
        return set()
    view = model.view(before.observed)
    agreeing = {state for state in range(len(model.graph)) if model.matches(state, view)}
    certain = {*model.graph.initial, *model.graph.targets[sorted(covered)].tolist()}
    path = tuple(merges.get(record.micro[at].action, (record.micro[at].action,)))
    ways = model.steps(sorted(agreeing & certain or agreeing), path, record.micro[at].params)
    return {edges[-1] for edges, _ in ways}


def _merges(adapter: str, options: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """What an adapter takes in one go; of one that is a file, which is not run for this, nothing.

    Where that is wrong, the runs cover less than the receipt says, which is an error.
    """
    if adapter not in known_adapters():
        return {}
    try:
        return load_adapter(known_adapters()[adapter]).merged_actions(options)
    except UnknownAdapter as error:
        raise MbtError(str(error)) from error


def _runs(path: Path) -> Iterator[tuple[str, RunRecord]]:
    """The part and the run of each line of runs.jsonl, as far as coverage needs them."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MbtError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        data = _json(line, f"{path}:{number}")
        record = RunRecord(
            trace=data["trace"],
            digest=data["digest"],
            micro=tuple(_micro_steps(data["micro"])),
            branches=tuple(Branch(**branch) for branch in data["branches"]),
            deaths=(),
            doubles=(),
            inapplicable={},
            dropped=(),
            facts=(),
            ledger=(),
            process_ids=(),
        )
        yield data["part"], record


def _micro_steps(rows: Sequence[Mapping[str, Any]]) -> Iterator[MicroStep]:
    """Undo what `replay.receipts.run_data` leaves out: what is as it was one micro-step before."""
    observed: dict[str, Any] = {}
    process = 0
    for row in rows:
        observed = {name: v for name, v in observed.items() if name not in row.get("gone", ())}
        observed |= row.get("changed", {})
        observed |= {name: observed[name] + more for name, more in row.get("grown", {}).items()}
        process = row.get("process", process)
        yield MicroStep(
            step=row.get("step"),
            part=row["part"],
            action=row.get("action", ""),
            params=row.get("params", {}),
            at=row.get("at"),
            process=process,
            observed=dict(observed),
            poison=row.get("poison", False),
            folded=row.get("folded", False),
        )


def _json(source: Path | str, where: object) -> Any:
    try:
        return json.loads(source.read_text("utf-8") if isinstance(source, Path) else source)
    except OSError as error:
        raise MbtError(f"{where}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise MbtError(f"{where}: not JSON: {error}") from None
