"""The studies of `mbt explain`: every receipt, and faults that were planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import specs
from mbt.commands.progress import Stages
from replay.explanation import explanations, planted
from replay.explanation.explain import MOST_SWITCHES
from replay.explanation.explained import account_of, evidence_of, graphs_of
from replay.parts import Selection, plan_parts
from replay.reopened import reopen
from replay.rows import read_rows
from tracegen.spec import Spec, companions_of, load_spec
from tracegen.tlc import RunOptions

SPECS = Path(specs.__file__).parent


def every(receipts: Path, checker: RunOptions, stages: Stages) -> dict[str, Any]:
    """The content of the study `explanations`: each receipt of rows.toml that diverges.

    Raises:
        MbtError: a receipt is missing, or is none.
        MachineryError: the checker failed.
    """
    rows, kept = [], read_rows(receipts)
    graphs = graphs_of(checker, stages.graph)
    loaded: dict[str, Spec] = {}
    for number, row in enumerate(kept, 1):
        receipt = row.receipt()
        if explanations.has_to_be_explained(receipt):
            evidence = evidence_of(reopen(row.folder))
            loaded[row.module] = evidence.spec
            account = account_of(evidence, graphs)
            rows.append(explanations.entry(row.name, account))
        stages.traces("receipts", number, len(kept))
    return {
        "most_switches": MOST_SWITCHES,
        "modules": explanations.digests_of(
            each for spec in loaded.values() for each in (spec, *companions_of(spec))
        ),
        "rows": rows,
    }


def planted_faults(checker: RunOptions, stages: Stages) -> dict[str, Any]:
    """The content of the study `planted`.

    Raises:
        MachineryError: the machinery failed.
    """
    spec = load_spec(SPECS / f"{planted.MODULE}.tla")
    parts = plan_parts(spec, Selection(), checker)
    sets = planted.planted_sets(spec)
    graphs = graphs_of(checker, stages.graph)
    rows = []
    for number, faults in enumerate(sets, 1):
        rows.append(planted.entry(planted.plant(spec, parts, faults, graphs), faults))
        stages.traces("planted faults", number, len(sets))
    return {"modules": explanations.digests_of([spec]), "rows": rows}
