"""A test, on mbt's public API, that makes a run of a receipt again."""

from __future__ import annotations

import json
from pathlib import Path

from replay.reopened import Reopened
from replay.repro.claim import Claim
from replay.repro.text import WIDTH, fill, literal, plain, strings
from tracegen.trace import Trace

_TEMPLATE = '''\
"""{title}

{paragraphs}

{origin}
"""

import json
from pathlib import Path

from mbt import read_traces
from mbt.testing import System

ADAPTER = {adapter}
OPTIONS = {options}
VIOLATED = {violated}
DIVERGES = (
{diverges}
)
TRACE = {trace}


def test_it_behaves_as_the_receipt_says(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(json.dumps(TRACE))
    (trace,) = read_traces(file)
    with System({spec}, trace.model, ADAPTER, OPTIONS) as system:
        walked = system.walk(trace)
    assert [*walked.violated] == VIOLATED
    assert (walked.divergence.sentence() if walked.divergence else "") == DIVERGES
'''
_ORIGIN = (
    "Written by `mbt repro` from a receipt: run {run} of {module} on the adapter {adapter}. The "
    "test passes while the framework behaves as the receipt says. It fails once that is mended, "
    "or becomes otherwise in another way: measure again then, and take it out."
)


def pytest_file(receipt: Reopened, trace: Trace, claim: Claim, spec: Path | None) -> str:
    """The text of the test.

    Args:
        spec: where the module is, where it is none of those that come with mbt.
    """
    origin = _ORIGIN.format(run=claim.run, module=receipt.spec.module, adapter=receipt.adapter)
    return _TEMPLATE.format(
        title=plain(claim.title),
        paragraphs="\n\n".join(map(fill, claim.paragraphs)),
        origin=fill(origin),
        adapter=literal(receipt.adapter),
        options=literal(receipt.options, room=WIDTH - 10),
        violated=literal([*claim.violated]),
        diverges=strings(claim.diverges, 4),
        trace=_trace(trace),
        spec=literal(str(spec.resolve()) if spec else receipt.spec.module),
    )


def _trace(trace: Trace) -> str:
    data = json.loads(trace.line)
    order = ("name", "module", "model", "initial", "steps")
    return literal({name: data[name] for name in order}, room=WIDTH - 8)
