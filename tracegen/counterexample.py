"""A counterexample of the checker as a trace."""

from __future__ import annotations

from tracegen.errors import MbtError
from tracegen.output import Counterexample
from tracegen.spec import Spec
from tracegen.trace import Step, Trace, ValuePathError


def counterexample_trace(
    spec: Spec, model: str, found: Counterexample, name: str | None = None
) -> Trace:
    """Turn what the checker printed into a trace; a lasso's way back is not walked."""
    first, *rest = found.states
    steps = []
    for state in rest:
        if state.action is None:
            raise MbtError(
                f"{spec.path.name}: the counterexample of {model} names no actions; "
                "give each disjunct of Next a name"
            )
        paths = spec.params.get(state.action, {})
        try:
            params = {name: path.read(state.state) for name, path in paths.items()}
        except ValuePathError as error:
            raise MbtError(f"{spec.path.with_suffix('.toml')}: {error}") from error
        steps.append(Step(state.action, params, state.state))
    name = name or f"{model}-counterexample"
    return Trace(name, spec.module, model, first.state, tuple(steps))
