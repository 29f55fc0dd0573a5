"""mbt: model-based testing of resume semantics.

What a user's own adapter or test imports. An adapter file begins with

    from mbt import Adapter, Option, Run

and is imported in the process that every run is forked from, so nothing is loaded here before
it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.base import Adapter, Option, Refused, Run
    from adapters.resume import ResumeAdapter
    from tracegen.errors import MachineryError, MbtError
    from tracegen.spec import load_spec
    from tracegen.trace import read_traces
else:
    _HOME = {
        "Adapter": "adapters.base",
        "Option": "adapters.base",
        "Refused": "adapters.base",
        "Run": "adapters.base",
        "ResumeAdapter": "adapters.resume",
        "MachineryError": "tracegen.errors",
        "MbtError": "tracegen.errors",
        "load_spec": "tracegen.spec",
        "read_traces": "tracegen.trace",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'mbt' has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)


__all__ = [
    "Adapter",
    "MachineryError",
    "MbtError",
    "Option",
    "Refused",
    "ResumeAdapter",
    "Run",
    "load_spec",
    "read_traces",
]
