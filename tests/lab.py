"""Replaying in tests: the specification, its graphs and its suite, made once."""

import os
from functools import cached_property
from pathlib import Path

from adapters.registry import load_adapter, locate
from replay.lives import Conduct
from replay.models import Models
from replay.parallel import Drivers
from replay.parts import Selection, plan_parts
from replay.suite import replay_suite
from tracegen.cache import open_cache
from tracegen.jvm import Processes
from tracegen.spec import load_spec
from tracegen.tlc import RunOptions
from tracegen.tools import find_tools

SPECS = Path(__file__).parent.parent / "specs"
ONE_CRASH, TWO_CRASHES, POISON = "one crash", "two crashes", "poisoned output"


class Lab:
    def __init__(self, module="ResumeContract"):
        self.spec = load_spec(SPECS / f"{module}.tla")
        self.checker = RunOptions(tools=find_tools(), cache=open_cache(), processes=Processes())
        self.models = Models(self.spec, self.checker)

    @cached_property
    def parts(self):
        return {part.name: part for part in plan_parts(self.spec, Selection(), self.checker)}

    def part(self, model):
        (part,) = plan_parts(self.spec, Selection(models=(model,)), self.checker)
        return part

    def options(self, adapter, **chosen):
        rules = load_adapter(locate(adapter)).options
        options = {name: rule.default for name, rule in rules.items()} | chosen
        assert set(options) == set(rules), "no such option"
        return options

    def replay(
        self, adapter, *, parts=None, jobs=None, again=False, fresh=False, repeat=1, **chosen
    ):
        """Replay parts of the suite (all by default); the verdicts."""
        kind = load_adapter(locate(adapter))
        return replay_suite(
            self.spec,
            [self.parts[name] if isinstance(name, str) else name for name in parts or self.parts],
            adapter,
            locate(adapter),
            kind,
            self.options(adapter, **chosen),
            self.models,
            self.checker,
            jobs=jobs or os.cpu_count() or 1,
            again=again,
            fresh=fresh,
            repeat=repeat,
        )

    def walk(self, adapter, trace, **chosen):
        """Replay one trace; its record alone."""
        kind = load_adapter(locate(adapter))
        conduct = Conduct.of(kind, self.options(adapter, **chosen))
        workflow = self.spec.workflow_of(trace.model)
        with Drivers(locate(adapter), workflow, conduct, jobs=1, fresh=False, limit=30) as drivers:
            (record,) = drivers.replay(self.spec, [trace], lambda: None)
        return record

    def trace(self, *actions, part=ONE_CRASH):
        """The first trace of a part whose actions begin like this."""
        for trace in self.parts[part].traces:
            if tuple(step.action for step in trace.steps)[: len(actions)] == actions:
                return trace
        raise LookupError(f"no trace begins with {actions}")


def violated(result, spec):
    """The properties that fail in a part."""
    return {name for name in spec.properties if result.violating(name)}


def part_of(found, name):
    return next(result for result in found.parts if result.part.name == name)
