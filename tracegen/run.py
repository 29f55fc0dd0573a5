"""One run of TLC: its texts, its folder, its limits, its place in the cache, what came of it.

A run is given the texts that its digest is taken of, in a folder of its own with its own
java.io.tmpdir and -metadir: where they are shared, runs of TLC 2.15 break each other. Nothing is
believed that `tracegen.outcome` does not find confirmed.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Required, TypedDict, Unpack

from tracegen.cache import Cache, digest_of
from tracegen.cfg import Config
from tracegen.errors import MachineryError, MbtError
from tracegen.jvm import Processes, aot_cache, java_command
from tracegen.module import Module, defines_standard, read_module
from tracegen.outcome import Outcome, classify
from tracegen.output import Counterexample, parse_output
from tracegen.parser import ParseError
from tracegen.reason import reason_of, undeclared, violated_names
from tracegen.tools import Tools
from tracegen.training import training

OUT = "{out}"
"""In an option of TLC: the folder that keeps what it writes."""

_FORMAT = 1
"""Of the entries in the cache; a change leaves the old ones unused."""
_STDOUT, _STDERR, _FACTS = "stdout.txt", "stderr.txt", "run.json"
_SUCCESS = 2193
_PROGRESS = re.compile(
    r"Progress\(.* at .*: ([0-9,]+) states generated.*, ([0-9,]+) distinct states found.*, "
    r"([0-9,]+) states left on queue"
)


@dataclass(frozen=True)
class Progress:
    """How far a run is, as TLC says once a minute."""

    generated: int
    distinct: int
    queued: int


class RunOptions(TypedDict, total=False):
    """What every run takes, and only `tools` it must be given."""

    tools: Required[Tools]
    cache: Cache | None
    """Where results are looked up and kept, and Java's AOT cache is. Default: nowhere."""
    processes: Processes | None
    """Where the run is killed from when work is broken off. Default: a group of its own."""
    memory_mb: int | None
    """Java's heap. Default: Java's own, a quarter of the machine."""
    timeout_s: float | None
    progress: Callable[[Progress], None] | None
    brief: bool
    """The run takes seconds: Java is to start fast and not to become fast. Default: no."""


@dataclass(frozen=True)
class CheckResult:
    """What a run came out as, and what that is to be believed on."""

    outcome: Outcome
    reason: str
    """One line, with file and line where the checker points to one; empty where there is nothing
    to add."""
    version: str
    """Of the checker."""
    jar_digest: str
    java_version: str
    checker: str = "TLC"
    bound: int | None = None
    """The length that a checker which is not exhaustive was given: steps from an initial state."""
    violated: tuple[str, ...] = ()
    """Names of violated invariants and properties, each once, in the order of discovery."""
    counterexamples: tuple[Counterexample, ...] = ()
    generated: int | None = None
    distinct: int | None = None
    depth: int | None = None
    """States on the longest of the shortest ways from an initial state, as far as TLC came."""
    printed: tuple[str, ...] = ()
    """What the model printed, an item a value."""
    complete: bool = False
    """Whether TLC came to the end of the state space; it does not where it stops at an error."""
    exit_code: int | None = None
    """None where the checker was not run because the configuration cannot fit the module."""
    seconds: float = 0.0
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    cached: bool = False

    @property
    def states(self) -> int | None:
        """States of the first counterexample."""
        return len(self.counterexamples[0].states) if self.counterexamples else None

    def decided(self) -> CheckResult:
        """The result itself, where it is a statement on the model.

        Raises MbtError where module or configuration are at fault, MachineryError where the
        checker, a limit or the machine are.
        """
        if self.outcome.decided:
            return self
        if self.outcome.bad_input:
            raise MbtError(self.reason or self.outcome.value)
        said = ": ".join(filter(None, (self.checker, self.outcome.value, self.reason)))
        raise MachineryError(said)


@dataclass(frozen=True)
class _Facts:
    """What is kept of a run besides what it printed."""

    exit_code: int
    timed_out: bool
    seconds: float
    tlc_version: str
    jar_digest: str
    java_version: str


class Run:
    """A run that is ready to go."""

    def __init__(self, module: Path | Module, config: Config, **run: Unpack[RunOptions]) -> None:
        """Read the module, where a path is given. Raises MbtError where it cannot be read."""
        self._module = module if isinstance(module, Module) else read_module(module)
        self._config = config
        self._tools = run["tools"]
        self._aot_folder = cache.root / "aot" if (cache := run.get("cache")) else None
        self._cache = cache or Cache(Path(tempfile.gettempdir()), results=False)
        self._processes = run.get("processes")
        self._memory_mb = run.get("memory_mb")
        self._timeout_s = run.get("timeout_s")
        self._progress = run.get("progress")
        self._brief = run.get("brief", False)

    @contextmanager
    def done(self, options: Sequence[str]) -> Iterator[tuple[CheckResult, Path]]:
        """The result with these options of TLC, and the folder with the files that it wrote.

        The folder is to be read inside the context, and not to be changed.
        """
        key = self._key(options)
        if (entry := self._cache.find(key)) is not None:
            yield self._result(entry, cached=True), entry
            return
        with self._cache.filling() as folder:
            if unknown := self._undeclared():
                yield self._refused(unknown), folder
                return
            self._execute(options, folder)
            result = self._result(folder, cached=False)
            kept = self._cache.keep(key, folder) if result.outcome.decided else None
            yield result, kept or folder

    def _key(self, options: Sequence[str]) -> str:
        files = self._module.files.items()
        return digest_of(
            {
                "format": _FORMAT,
                "module": self._module.name,
                "files": {name: hashlib.sha256(text).hexdigest() for name, text in files},
                "config": self._config.text,
                "jar": self._tools.tlc.digest,
                "options": [*options],
            }
        )

    def _undeclared(self) -> list[str]:
        """Constants that the configuration gives in vain: TLC ignores them in silence."""
        known = {*self._module.constants, *self._module.definitions}
        names = (name.partition("(")[0] for name in self._config.constants)
        jar = self._tools.tlc.path
        return [
            name
            for name in dict.fromkeys(names)
            if name not in known and not defines_standard(self._module, name, jar)
        ]

    def _execute(self, options: Sequence[str], folder: Path) -> None:
        with (
            nullcontext(self._processes) if self._processes else Processes() as processes,
            tempfile.TemporaryDirectory(prefix="mbt-tlc-", ignore_cleanup_errors=True) as name,
        ):
            scratch = Path(name)
            java_tmp = scratch / "java"
            java_tmp.mkdir()
            aot = None
            if self._aot_folder:
                aot = aot_cache(self._tools, self._aot_folder, training, processes)
            java = java_command(
                self._tools,
                "tlc2.TLC",
                scratch=java_tmp,
                memory_mb=self._memory_mb,
                aot=aot,
                brief=self._brief,
            )
            for file, text in self._module.files.items():
                (scratch / file).write_bytes(text)
            (scratch / "run.cfg").write_text(self._config.text, encoding="utf-8")
            fixed = ["-tool", "-metadir", str(scratch / "states"), "-config", "run.cfg"]
            placed = [option.replace(OUT, str(folder)) for option in options]
            ended = processes.run(
                [*java, *fixed, *placed, self._module.name],
                folder=scratch,
                timeout_s=self._timeout_s,
                on_line=self._report if self._progress else None,
            )
        facts = _Facts(
            exit_code=ended.code,
            timed_out=ended.timed_out,
            seconds=round(ended.seconds, 3),
            tlc_version=self._tools.tlc.version,
            jar_digest=self._tools.tlc.digest,
            java_version=self._tools.java.version,
        )
        (folder / _STDOUT).write_text(ended.stdout, encoding="utf-8")
        (folder / _STDERR).write_text(ended.stderr, encoding="utf-8")
        (folder / _FACTS).write_text(json.dumps(vars(facts)), encoding="utf-8")

    def _report(self, line: str) -> None:
        if self._progress and (found := _PROGRESS.match(line)):
            self._progress(Progress(*(int(number.replace(",", "")) for number in found.groups())))

    def _result(self, folder: Path, cached: bool) -> CheckResult:
        stdout = (folder / _STDOUT).read_text(encoding="utf-8")
        stderr = (folder / _STDERR).read_text(encoding="utf-8")
        facts = _Facts(**json.loads((folder / _FACTS).read_text(encoding="utf-8")))
        try:
            output = parse_output(stdout)
        except ParseError as error:
            raise MachineryError(
                f"{self._module.path}: TLC printed what it never does: {error}"
            ) from None
        outcome = classify(
            output,
            exit_code=facts.exit_code,
            timed_out=facts.timed_out,
            stderr=stderr,
            partial=bool(self._config.partial),
        )
        return CheckResult(
            outcome=outcome,
            reason=reason_of(outcome, output, self._module, self._config, stderr),
            violated=violated_names(outcome, output, self._config),
            counterexamples=output.counterexamples,
            generated=output.generated,
            distinct=output.distinct,
            depth=output.depth,
            printed=output.printed,
            complete=_SUCCESS in output.codes and output.queued == 0,
            exit_code=facts.exit_code,
            seconds=facts.seconds,
            stdout=stdout,
            stderr=stderr,
            version=facts.tlc_version,
            jar_digest=facts.jar_digest,
            java_version=facts.java_version,
            cached=cached,
        )

    def _refused(self, names: list[str]) -> CheckResult:
        return CheckResult(
            outcome=Outcome.CONFIG_ERROR,
            reason=undeclared(names, self._module, self._config),
            version=self._tools.tlc.version,
            jar_digest=self._tools.tlc.digest,
            java_version=self._tools.java.version,
        )
