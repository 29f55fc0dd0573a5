"""One run of Apalache: its texts, its folder and environment, its place in the cache, its traces.

A run has a folder of its own for all that it writes, and an environment of a few names, since
Apalache takes options from variables as common as OUT_DIR, CONFIG_FILE and SMT_SOLVER.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from tracegen.apalache_input import config_text, refusal, restored, unused
from tracegen.apalache_output import Verdict, verdict_of
from tracegen.cache import Cache, digest_of
from tracegen.cfg import Config
from tracegen.errors import MachineryError
from tracegen.itf import read_itf
from tracegen.jvm import Processes
from tracegen.module import Module, read_module
from tracegen.outcome import Outcome
from tracegen.output import Counterexample, TraceState
from tracegen.run import CheckResult, RunOptions
from tracegen.tools import Tool

_FORMAT = 1
"""Of the entries in the cache; a change leaves the old ones unused."""
_STDOUT, _STDERR, _FACTS = "stdout.txt", "stderr.txt", "run.json"
_PASSED_ON = ("HOME", "LANG", "USER")
_NUMBERED = re.compile(r"(?:violation|example)([0-9]+)\.itf\.json")


@dataclass(frozen=True)
class _Facts:
    """What is kept of a run besides what it printed and the traces that it wrote."""

    exit_code: int
    timed_out: bool
    seconds: float


class ApalacheRun:
    """A run that is ready to go."""

    def __init__(
        self,
        module: Path | Module,
        config: Config,
        apalache: Tool,
        length: int,
        **run: Unpack[RunOptions],
    ) -> None:
        self.module = module if isinstance(module, Module) else read_module(module)
        self.config = config
        self.apalache = apalache
        self.run = run
        self.numbers: tuple[int, ...] = ()
        self._length = length
        self._java = run["tools"].java
        self._cache = run.get("cache") or Cache(Path(tempfile.gettempdir()), results=False)

    @contextmanager
    def done(self, command: str, options: Sequence[str]) -> Iterator[tuple[CheckResult, Path]]:
        """The result, without names of what is violated, and the folder with the traces."""
        if reason := refusal(self.module, self.config):
            yield self._result(Verdict(Outcome.CONFIG_ERROR, reason)), Path()
            return
        text = config_text(self.module, self.config)
        key = self._key(command, options, text)
        if (entry := self._cache.find(key)) is not None:
            yield self._read(entry, command, cached=True)[0], entry
            return
        with self._cache.filling() as folder:
            self._execute(command, options, text, folder)
            result, verdict = self._read(folder, command, cached=False)
            lasting = result.outcome.decided and verdict.lasting
            yield result, (self._cache.keep(key, folder) if lasting else None) or folder

    def behaviour(self, file: Path) -> Counterexample:
        """The execution in a trace that Apalache wrote; it names no actions.

        Raises MachineryError for one of another module, as are the lassos (`__InLoop`, `__saved_x`)
        that it writes for temporal properties, which it is not asked here.
        """
        trace, variables = read_itf(file), self.module.variables
        for state in trace.states:
            if odd := sorted(({*state} - {*trace.params}) ^ {*variables}):
                raise MachineryError(
                    f"{file.name} of Apalache: {', '.join(odd)}: the variables of "
                    f"{self.module.name} are {', '.join(variables)}"
                )
        own = ({name: state[name] for name in variables} for state in trace.states)
        states = (restored(state, self.config) for state in own)
        numbered_states = enumerate(states, 1)
        return Counterexample(
            None, tuple(TraceState(n, None, (), "", state) for n, state in numbered_states)
        )

    def _key(self, command: str, options: Sequence[str], text: str) -> str:
        files = self.module.files.items()
        return digest_of(
            {
                "format": _FORMAT,
                "checker": "Apalache",
                "module": self.module.name,
                "files": {name: hashlib.sha256(content).hexdigest() for name, content in files},
                "config": text,
                "tool": [self.apalache.digest, self.apalache.version],
                "options": [command, *options],
            }
        )

    def _execute(self, command: str, options: Sequence[str], text: str, folder: Path) -> None:
        processes, memory_mb = self.run.get("processes"), self.run.get("memory_mb")
        with (
            nullcontext(processes) if processes else Processes() as group,
            tempfile.TemporaryDirectory(prefix="mbt-apalache-", ignore_cleanup_errors=True) as name,
        ):
            scratch = Path(name)
            for file, content in self.module.files.items():
                (scratch / file).write_bytes(content)
            (scratch / "run.cfg").write_text(text, encoding="utf-8")
            temporary, written = scratch / "tmp", scratch / "written"
            temporary.mkdir()
            placed = [f"--out-dir={scratch / 'out'}", f"--run-dir={written}", "--config=run.cfg"]
            ended = group.run(
                [
                    *program(self.apalache, self._java, memory_mb),
                    command,
                    *placed,
                    *options,
                    f"{self.module.name}.tla",
                ],
                folder=scratch,
                timeout_s=self.run.get("timeout_s"),
                environment=environment(self._java, temporary, memory_mb),
            )
            for path in written.glob("*.itf.json"):
                shutil.copyfile(path, folder / path.name)
        (folder / _STDOUT).write_text(ended.stdout, encoding="utf-8")
        (folder / _STDERR).write_text(ended.stderr, encoding="utf-8")
        facts = _Facts(ended.code, ended.timed_out, round(ended.seconds, 3))
        (folder / _FACTS).write_text(json.dumps(vars(facts)), encoding="utf-8")

    def _read(self, folder: Path, command: str, *, cached: bool) -> tuple[CheckResult, Verdict]:
        stdout = (folder / _STDOUT).read_text(encoding="utf-8")
        stderr = (folder / _STDERR).read_text(encoding="utf-8")
        facts = _Facts(**json.loads((folder / _FACTS).read_text(encoding="utf-8")))
        verdict = verdict_of(
            stdout,
            stderr,
            exit_code=facts.exit_code,
            timed_out=facts.timed_out,
            length=self._length,
            simulated=command == "simulate",
        )
        self.numbers = verdict.numbers
        found: tuple[Counterexample, ...] = ()
        if verdict.outcome in (Outcome.VIOLATED_INVARIANT, Outcome.DEADLOCK):
            files = numbered(folder, "violation") or [*folder.glob("violation.itf.json")]
            found = tuple(map(self.behaviour, files))
            if not found:
                verdict = Verdict(Outcome.FAILED, "it found an error, but wrote no trace of it")
            elif verdict.numbers and len(found[0].states) == 1:
                verdict = replace(verdict, outcome=Outcome.VIOLATED_INITIAL)
        elif verdict.outcome is Outcome.BOUNDED and (dropped := unused(self.config)):
            reason = f"{verdict.reason} ({', '.join(dropped)} of the .cfg not used)"
            verdict = replace(verdict, reason=reason)
        result = self._result(verdict)
        return replace(
            result,
            counterexamples=found,
            exit_code=facts.exit_code,
            seconds=facts.seconds,
            stdout=stdout,
            stderr=stderr,
            cached=cached,
        ), verdict

    def _result(self, verdict: Verdict) -> CheckResult:
        return CheckResult(
            outcome=verdict.outcome,
            reason=verdict.reason,
            version=self.apalache.version,
            jar_digest=self.apalache.digest,
            java_version=self._java.version,
            checker="Apalache",
            bound=self._length,
        )


def numbered(folder: Path, kind: str) -> list[Path]:
    """Its numbered traces, in the order of their numbers; example0 is no result of a simulation."""
    numbers = {
        int(match[1]): path
        for path in folder.glob(f"{kind}*.itf.json")
        if (match := _NUMBERED.fullmatch(path.name)) and int(match[1]) > 0
    }
    return [numbers[number] for number in sorted(numbers)]


def program(tool: Tool, java: Tool, memory_mb: int | None) -> list[str]:
    """The command, without arguments. A launcher is told Java's heap by its environment."""
    if tool.path.suffix != ".jar":
        return [str(tool.path)]
    heap = [f"-Xmx{memory_mb}m"] if memory_mb is not None else []
    return [str(java.path), *heap, "-jar", str(tool.path)]


def environment(java: Tool, temporary: Path, memory_mb: int | None) -> dict[str, str]:
    """All that a run gets of an environment: a list of what to keep out would miss some option."""
    given = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    given |= {
        "PATH": f"{java.path.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "JAVA_HOME": str(java.path.resolve().parent.parent),
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(temporary),
        # Java does not read TMPDIR.
        "JAVA_TOOL_OPTIONS": f'"-Djava.io.tmpdir={temporary}"',
    }
    return given | ({} if memory_mb is None else {"JVM_ARGS": f"-Xmx{memory_mb}m"})
