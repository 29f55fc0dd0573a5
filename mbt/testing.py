"""Driving a system through single traces, from a test of one's own.

`mbt replay` is for suites: verdicts on properties, explanations, receipts. Here a trace at a time
is walked and compared with the model, which takes milliseconds and leaves nothing behind, so that a
property-based test can do it often (`mbt.strategies`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from adapters.registry import UnknownAdapter, load_adapter, locate
from mbt.commands.common import spec_path
from replay.compare import Divergence, track
from replay.judge import judge
from replay.lives import Conduct
from replay.models import Models
from replay.parallel import Drivers
from replay.record import RunRecord
from tracegen.cache import open_cache
from tracegen.errors import MbtError
from tracegen.spec import Spec, load_spec
from tracegen.tlc import RunOptions
from tracegen.tools import find_tools
from tracegen.trace import Trace

__all__ = ["Divergence", "System", "Walked"]


@dataclass(frozen=True)
class Walked:
    """What a walked trace showed.

    Attributes:
        divergence: the first thing that the model does not allow, None where there is none.
        violated: the names of the properties that fail, in the order of the specification.
    """

    divergence: Divergence | None
    violated: tuple[str, ...]


class System:
    """A system behind its adapter, compared with a model; a context manager.

    The framework is imported once, in a process of its own that each run is forked from, and is
    ended with the context.
    """

    def __init__(
        self,
        spec: Spec | Path | str,
        model: str | None,
        adapter: str,
        options: Mapping[str, str] | None = None,
        *,
        limit: float = 60.0,
    ) -> None:
        """Prepare a system.

        Args:
            spec: a specification, or where its module is, or the name of one that comes with mbt.
            model: whose bounds and states it is compared with, without any fault; None where there
                is one alone.
            adapter: a name, or FILE.py:CLASS.
            options: of the adapter, where they are not the default.
            limit: seconds within which a process has to come back from a step.

        Raises:
            MbtError: there is no such model or adapter, or an option is not one of its own.
        """
        self.spec = spec if isinstance(spec, Spec) else load_spec(spec_path(str(spec)))
        self.model = self.spec.model(model).name
        try:
            reference = locate(adapter)
            kind = load_adapter(reference)
        except UnknownAdapter as error:
            raise MbtError(str(error)) from error
        chosen = {name: rule.default for name, rule in kind.options.items()}
        if unknown := sorted(set(options or {}) - set(chosen)):
            known = ", ".join(chosen) or "none"
            raise MbtError(f"adapter {adapter} has no option {unknown[0]!r}; known: {known}")
        chosen |= options or {}
        if wrong := kind.check_options(chosen):
            raise MbtError(f"adapter {adapter}: {wrong}")
        self._merges = kind.merged_actions(chosen)
        self._checker = RunOptions(tools=find_tools(), cache=open_cache())
        self._models = Models(self.spec, self._checker)
        self._drivers = Drivers(
            reference,
            self.spec.workflow_of(self.model),
            Conduct.of(kind, chosen),
            jobs=1,
            fresh=False,
            limit=limit,
        )

    def __enter__(self) -> System:
        self._drivers.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._drivers.__exit__(kind, error, trace)

    def divergence(self, trace: Trace) -> Divergence | None:
        """Walk a trace; what the system showed that the model does not allow, None where nothing.

        `Divergence.sentence()` says it in one sentence.

        Raises:
            MachineryError: a process hung, died unasked or spoke rubbish, or the checker failed.
        """
        return self._compared(self._walked(trace))

    def walk(self, trace: Trace) -> Walked:
        """Walk a trace, and have the checker judge what was observed, which takes a second or two.

        Raises: as `divergence`.
        """
        record = self._walked(trace)
        found = {f.property for f in judge(self.spec, self.model, [record], self._checker).findings}
        violated = tuple(name for name in self.spec.properties if name in found)
        return Walked(self._compared(record), violated)

    def _walked(self, trace: Trace) -> RunRecord:
        (record,) = self._drivers.replay(self.spec, [trace], lambda: None)
        return record

    def _compared(self, record: RunRecord) -> Divergence | None:
        model = self._models(self.model, frozenset())
        return track(record, model, merges=self._merges).divergence
