"""What the commands share: the SPEC argument, the options of the checker, and the adapter."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import specs
from adapters.base import Adapter
from adapters.registry import UnknownAdapter, load_adapter, locate
from tracegen.apalache import LENGTH, find
from tracegen.cache import open_cache
from tracegen.errors import MbtError
from tracegen.jvm import Processes
from tracegen.select import Bounds
from tracegen.spec import Spec, load_spec
from tracegen.symbolic import Symbolic
from tracegen.tlc import RunOptions
from tracegen.tools import find_tools

RECEIPTS = Path("receipts")
"""Where receipts are kept, unless --receipts says otherwise."""


def packaged_modules() -> dict[str, Path]:
    """The modules that come with mbt and can be checked, by name."""
    modules = sorted(Path(specs.__file__).parent.glob("*.tla"))
    return {path.stem: path for path in modules if path.with_suffix(".toml").is_file()}


def spec_path(text: str) -> Path:
    """Resolve SPEC: a file, else a module that comes with mbt (`specs/X.tla`, `X.tla` or `X`).

    Raises MbtError, which lists the modules that come with mbt.
    """
    path = Path(text)
    if path.exists():
        return path
    packaged = packaged_modules()
    if (
        path.stem in packaged
        and path.suffix in ("", ".tla")
        and path.parts[:-1] in ((), ("specs",))
    ):
        return packaged[path.stem]
    raise MbtError(
        f"there is no file {text}; name a .tla file, "
        f"or a module that comes with mbt: {', '.join(packaged)}"
    )


def _resolve(context: click.Context, parameter: click.Parameter, text: str) -> Path:
    context.meta[_AS_TYPED] = text
    return spec_path(text)


_AS_TYPED = "mbt.spec"
spec_argument = click.argument("spec_path", metavar="SPEC", type=str, callback=_resolve)


def spec_as_typed() -> str:
    """SPEC as the user wrote it, for commands that can be typed again."""
    return str(click.get_current_context().meta[_AS_TYPED])


@dataclass(frozen=True)
class CheckerOptions:
    """Which checker to use, and within which limits."""

    java: Path | None
    jar: Path | None
    memory: int | None
    timeout: float | None
    cache: bool

    def load(self, path: Path) -> Spec:
        """Read a specification."""
        return load_spec(path)

    @contextmanager
    def running(self) -> Iterator[RunOptions]:
        """The options of runs; leaving the context ends those still running."""
        with Processes() as processes:
            yield RunOptions(
                tools=find_tools(self.java, self.jar),
                cache=open_cache(self.cache),
                processes=processes,
                memory_mb=self.memory,
                timeout_s=self.timeout,
            )


def checker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the checker to a command, which gets them as `checker`."""

    @click.option("--java", type=click.Path(path_type=Path), help="A Java launcher or JAVA_HOME.")
    @click.option("--jar", type=click.Path(path_type=Path), help="A tla2tools.jar.")
    @click.option("--memory", type=click.IntRange(16), metavar="MB", help="Java's heap.")
    @click.option(
        "--timeout", type=click.FloatRange(0.001), metavar="SECONDS", help="For a checker run."
    )
    @click.option("--no-cache", is_flag=True, help="Run the checker even where its result is kept.")
    @functools.wraps(command)
    def wrapped(
        *arguments: Any,
        java: Path | None,
        jar: Path | None,
        memory: int | None,
        timeout: float | None,
        no_cache: bool,
        **options: Any,
    ) -> Any:
        checker = CheckerOptions(java, jar, memory, timeout, not no_cache)
        return command(*arguments, checker=checker, **options)

    return wrapped


def bounds_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the bounds of the covers that need some to a command, which gets them as `bounds`."""

    @click.option(
        "--depth",
        type=click.IntRange(1),
        default=Bounds.depth,
        show_default=True,
        help="Steps of a path, a walk or a simulated behaviour.",
    )
    @click.option(
        "--count",
        type=click.IntRange(1),
        default=Bounds.count,
        show_default=True,
        help="How many walks or behaviours.",
    )
    @click.option(
        "--seed",
        type=int,
        default=Bounds.seed,
        show_default=True,
        help="Of the walks or behaviours; equal seeds, equal samples.",
    )
    @functools.wraps(command)
    def wrapped(*arguments: Any, depth: int, count: int, seed: int, **options: Any) -> Any:
        return command(*arguments, bounds=Bounds(depth, count, seed), **options)

    return wrapped


@dataclass(frozen=True)
class Choice:
    """Which checker: TLC, or Apalache up to a length where there is one."""

    length: int | None = None

    def open(self, run: RunOptions, view: str | None = None) -> Symbolic | None:
        """Apalache, where it was chosen. Raises ToolError where it cannot be found."""
        if self.length is None:
            return None
        tool = find(run["tools"].java, run.get("processes"))
        return Symbolic(
            tool, self.length, view, lambda note: click.echo(f"mbt: note: {note}", err=True)
        )


def checker_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the choice between the checkers to a command, which gets it as `choice`."""

    @click.option(
        "--checker",
        "kind",
        type=click.Choice(["tlc", "apalache"]),
        default="tlc",
        show_default=True,
        help="apalache answers up to a length alone; it comes apart from mbt, which was tested "
        "with a stand-in for it (docs/apalache.md).",
    )
    @click.option(
        "--length",
        type=click.IntRange(1),
        metavar="STEPS",
        help=f"How long are the executions that apalache checks.  [default: {LENGTH}]",
    )
    @functools.wraps(command)
    def wrapped(*arguments: Any, kind: str, length: int | None, **options: Any) -> Any:
        if kind == "tlc" and length is not None:
            raise MbtError("--length bounds --checker apalache; TLC explores the whole space")
        choice = Choice(length or LENGTH) if kind == "apalache" else Choice()
        return command(*arguments, choice=choice, **options)

    return wrapped


def refuse_seed() -> None:
    """Raise for a --seed that was given, since Apalache takes none."""
    given = click.get_current_context().get_parameter_source("seed")
    if given is not click.core.ParameterSource.DEFAULT:
        raise MbtError("Apalache takes no seed; `mbt traces -o FILE` keeps what it simulated")


def require_text(text: str, what: str) -> None:
    """Refuse a text that is blank, or that cannot be written. Raises MbtError."""
    if not text.strip():
        raise MbtError(f"{what} is empty; say it in a sentence")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MbtError(f"{what} is not UTF-8, so it cannot be written down") from None


def receipts_option(about: str, *, exists: bool = False) -> Callable[..., Any]:
    """The option that says where receipts are, which a command gets as `receipts`."""
    return click.option(
        "--receipts",
        type=click.Path(exists=exists, file_okay=False, path_type=Path),
        default=RECEIPTS,
        show_default=True,
        help=about,
    )


def receipt_folder(text: str, receipts: Path = RECEIPTS) -> Path:
    """A receipt's folder, by its path or as it is named below the receipts."""
    below = receipts / text
    return below if (below / "receipt.json").is_file() else Path(text)


def require_folder(output: Path) -> None:
    """Refuse a file in a folder that is not there, before anything is made for it."""
    if not output.parent.is_dir():
        raise MbtError(f"{output}: there is no folder {output.parent}")


def named_adapter(name: str) -> tuple[type[Adapter], str]:
    """The class of an adapter, and where it is. Raises MbtError where there is none."""
    try:
        reference = locate(name)
        return load_adapter(reference), reference
    except UnknownAdapter as error:
        raise MbtError(str(error)) from error


def chosen_options(adapter: type[Adapter], name: str, chosen: Sequence[str]) -> dict[str, str]:
    """Every option of an adapter, with the choice made (NAME=VALUE each) or its default.

    Raises MbtError where there is no such option or choice.
    """
    options = {option: rule.default for option, rule in adapter.options.items()}
    for text in chosen:
        option, equals, value = text.partition("=")
        if not equals:
            raise MbtError(f"--option {text}: write it as NAME=VALUE")
        if option not in options:
            known = ", ".join(options) or "none"
            raise MbtError(f"adapter {name} has no option {option!r}; known: {known}")
        choices = adapter.options[option].choices
        if choices and value not in choices:
            raise MbtError(
                f"--option {text}: {option} is one of {', '.join(choices)} "
                f"({adapter.options[option].about})"
            )
        options[option] = value
    if wrong := adapter.check_options(options):
        raise MbtError(f"adapter {name}: {wrong}")
    return options
