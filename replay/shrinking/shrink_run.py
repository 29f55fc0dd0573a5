"""Shrinking a run of a receipt, on the system that it is of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from adapters.base import Adapter
from replay.compare import Divergence, track
from replay.judge import judge
from replay.lives import Conduct
from replay.models import Models
from replay.parallel import Drivers
from replay.reopened import Reopened
from replay.shrinking.shrink import Failure, Path, Shrunk, Tried, shrink
from replay.stored import StoredRun
from replay.suite import REFERENCE, edges_of_trace
from tracegen.errors import MbtError
from tracegen.select import traces_of_paths
from tracegen.tlc import RunOptions
from tracegen.trace import Trace, trace_of_path


@dataclass(frozen=True)
class ShrunkRun:
    """A run of a receipt, shrunk.

    Attributes:
        before, after: the trace that failed and the one that is left.
        divergence: of the run of `after`, None where it only violates.
    """

    before: Trace
    after: Trace
    shrunk: Shrunk
    divergence: Divergence | None


def shrink_run(
    receipt: Reopened,
    run: StoredRun,
    adapter: type[Adapter],
    reference: str,
    models: Models,
    checker: RunOptions,
    *,
    jobs: int,
    limit: float = 60.0,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> ShrunkRun:
    """Shrink the trace of a run that fails.

    Args:
        adapter, reference: of the receipt, and where it is.
        jobs: paths that are replayed at a time, each on a host of its own.
        limit: seconds within which a process has to come back from a step.

    Raises:
        MbtError: the trace cannot be made again, or does not fail now.
        MachineryError: the machinery failed.
    """
    spec, name = receipt.spec, run.record.trace
    model = str(receipt.part(run.part)["model"])
    before = receipt.trace(run, checker)
    graph = models(model, spec.faults_of(model))
    path = edges_of_trace(graph, before)
    if path is None:
        raise MbtError(f"{receipt.folder}: {name} is no path of model {model}")
    expected = models(model, REFERENCE)
    merges = adapter.merged_actions(receipt.options)
    conduct = Conduct.of(adapter, receipt.options)
    replayed = 0

    with ExitStack() as stack:
        drivers = stack.enter_context(
            Drivers(
                reference, spec.workflow_of(model), conduct, jobs=jobs, fresh=False, limit=limit
            )
        )

        def replay(paths: Sequence[Path]) -> list[Tried]:
            nonlocal replayed
            if not paths:
                return []
            traces = traces_of_paths(spec, model, graph.graph, paths, name)
            total, done = (
                replayed + len(paths),
                iter(range(replayed + 1, replayed + 1 + len(paths))),
            )
            records = drivers.replay(
                spec, traces, lambda: progress("paths", next(done), max(total, replayed))
            )
            replayed = total
            findings = judge(spec, model, records, checker).findings
            return [
                Tried(
                    path,
                    record,
                    Failure.of(
                        track(record, expected, merges=merges).divergence,
                        [found.property for found in findings if found.trace == record.trace],
                    ),
                )
                for path, record in zip(paths, records, strict=True)
            ]

        try:
            shrunk = shrink(graph.graph, path, replay)
        except ValueError:
            raise MbtError(
                f"{receipt.folder}: {name} does not fail when it is replayed now, so there is "
                "nothing to shrink; are the versions those of the receipt?"
            ) from None
    after = trace_of_path(
        graph.graph,
        list(shrunk.after.path),
        name=f"{name}-shrunk",
        module=spec.module,
        model=model,
        params=spec.params,
    )
    divergence = track(shrunk.after.record, expected, merges=merges).divergence
    return ShrunkRun(before, after, shrunk, divergence)
