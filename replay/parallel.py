"""Many traces on one adapter: a driver thread and a host process for each job."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.host import Host, HostError
from adapters.services import open_services
from replay.engine import replay_trace
from replay.lives import Conduct
from replay.record import RunRecord
from tracegen.errors import MachineryError
from tracegen.spec import Spec
from tracegen.trace import Trace


class Drivers:
    """Hosts that stay up over the parts of a suite; a context manager.

    A trace's record does not depend on the number of jobs or on which host took it.
    """

    def __init__(
        self,
        adapter: str,
        workflow: Mapping[str, Any],
        conduct: Conduct,
        *,
        jobs: int,
        fresh: bool,
        limit: float,
        interpreter: Path | None = None,
    ) -> None:
        self.conduct = conduct
        self._hosts = [
            Host(
                adapter,
                workflow,
                conduct.options,
                fresh=fresh,
                limit=limit,
                interpreter=interpreter,
            )
            for _ in range(jobs)
        ]
        self._stack = ExitStack()

    def __enter__(self) -> Drivers:
        with ExitStack() as stack:
            self.services = stack.enter_context(open_services(self.conduct.services))
            with ThreadPoolExecutor(len(self._hosts)) as pool:
                starting = [pool.submit(stack.enter_context, host) for host in self._hosts]
            for start in starting:
                start.result()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def replay(
        self,
        spec: Spec,
        traces: Sequence[Trace],
        on_done: Callable[[], None],
    ) -> list[RunRecord]:
        """Replay the traces; return their records in the order of the traces.

        Raises:
            MachineryError: a process hung, died unasked or spoke rubbish; all runs are ended.
        """
        records: list[RunRecord | None] = [None] * len(traces)
        waiting = iter(enumerate(traces))
        lock = threading.Lock()
        failed = threading.Event()

        def drive(host: Host) -> None:
            while not failed.is_set():
                with lock:
                    index, trace = next(waiting, (None, None))
                if index is None or trace is None:
                    return
                folder = host.folder / f"run-{index}"
                folder.mkdir()
                try:
                    before = len(host.attempts())
                    with self.services.for_run() as given:
                        record = replay_trace(spec, trace, host, folder, self.conduct, given)
                    tried = {*host.prepared, *host.attempts()[before:]}
                    facts = (f"tried to reach {name}, and was kept from it" for name in tried)
                    records[index] = replace(record, facts=(*record.facts, *sorted(facts)))
                except HostError as error:
                    failed.set()
                    raise MachineryError(
                        f"trace {trace.name} on adapter {host.adapter}, {error}"
                    ) from error
                finally:
                    shutil.rmtree(Path(folder), ignore_errors=True)
                on_done()

        with ThreadPoolExecutor(len(self._hosts)) as pool:
            jobs = [pool.submit(drive, host) for host in self._hosts]
            try:
                for job in jobs:
                    job.result()
            except BaseException:
                failed.set()
                for host in self._hosts:
                    host.close()  # ends what a driver thread waits for
                raise
        return [record for record in records if record is not None]
