"""A TLA+ module as the checker will read it: the file and every local module that it can reach.

The texts are read once. They are what a run is given and what its digest is taken of, so that a
result never belongs to a text that was edited meanwhile.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from tracegen.errors import MbtError

_HEADER = re.compile(r"-{4,}\s*MODULE\s+(\w+)\s*-{4,}")
_FOOTER = re.compile(r"={4,}")
_WORD = re.compile(r"\w+")
_EXTENDS = re.compile(r"\bEXTENDS\b\s+(\w+(?:\s*,\s*\w+)*)")
_DECLARED = r"\w+(?:\s*\([\s_,]*\))?"
_DECLARATION = rf"\s+({_DECLARED}(?:\s*,\s*{_DECLARED})*)"
_CONSTANTS = re.compile(rf"\bCONSTANTS?\b{_DECLARATION}")
_VARIABLES = re.compile(rf"\bVARIABLES?\b{_DECLARATION}")
_DEFINITION = re.compile(r"(\w+)\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?==(?!=)")
_TOP_DEFINITION = re.compile(r"^\w+\s*(?:\([^()]*\)\s*)?==(?!=)", re.MULTILINE)
_AT_THE_TOP = re.compile(r"^(?:LOCAL\s+)?(\w+)\s*(?:\([^()]*\)\s*)?==(?!=)", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]+\w+\s*(?:\([^()]*\)\s*)?==(?!=)", re.MULTILINE)
_LET = re.compile(r"\bLET\b")
_DEFINES = re.compile(r"^\S.*==(?!=)", re.MULTILINE)
_LEXEME = re.compile(r'"(?:[^"\\\n]|\\.)*"|\\\*[^\n]*|\(\*')
_COMMENT_MARK = re.compile(r"\(\*|\*\)")
_STANDARD = "tla2sany/StandardModules/"


@dataclass(frozen=True)
class Module:
    """A module and what it reaches in its own folder; `files` maps file names to their bytes."""

    name: str
    path: Path
    files: Mapping[str, bytes] = field(repr=False)
    constants: tuple[str, ...]
    """Declared here or in a module that this one extends: what a .cfg has to give."""
    variables: tuple[str, ...]
    definitions: frozenset[str] = field(repr=False)
    """All that is defined in `files`; a .cfg may override it."""

    def file_of(self, module: str) -> Path:
        """Where a module of this name would be found."""
        return self.path.parent / f"{module}.tla"


def read_module(path: Path) -> Module:
    """Read a module and the modules beside it that it names.

    Raises MbtError where the file cannot be read or is no module of that name. Whether the text
    parses is for the checker to say.
    """
    files: dict[str, bytes] = {}
    wanted = [path.name]
    while wanted:
        name = wanted.pop()
        try:
            files[name] = path.with_name(name).read_bytes()
        except OSError as error:
            raise MbtError(f"cannot read {path.with_name(name)}: {error.strerror}") from None
        # Any word that is a module's name counts as a use: too many files do no harm.
        words = {f"{word}.tla" for word in _WORD.findall(_decoded(files[name]))}
        wanted += [
            other for other in sorted(words - {*files, *wanted}) if path.with_name(other).is_file()
        ]
    header = _HEADER.search(_decoded(files[path.name]))
    if header is None:
        raise MbtError(f"{path}: not a TLA+ module, it has no line ---- MODULE {path.stem} ----")
    if header[1] != path.stem:
        raise MbtError(f"{path}: the module in it is called {header[1]}; name the file after it")
    extended = _extended(path.stem, lambda name: _body(files.get(f"{name}.tla", b"")))
    return Module(
        name=path.stem,
        path=path,
        files=dict(sorted(files.items())),
        constants=_declared(_CONSTANTS, extended),
        variables=_declared(_VARIABLES, extended),
        definitions=frozenset(
            name for text in files.values() for name in _DEFINITION.findall(_body(text))
        ),
    )


def definition_of(module: Module, name: str) -> str | None:
    """The right-hand side of a definition, up to the next one's name; None where there is none.

    It is looked for at the top level of the module, then of those that it extends.
    """
    start = re.compile(rf"^[ \t]*{name}\s*(?:\([^()]*\)\s*)?==(?!=)", re.MULTILINE)
    for body in _extended(module.name, lambda name: _body(module.files.get(f"{name}.tla", b""))):
        if found := start.search(body):
            following = _TOP_DEFINITION.search(body, found.end())
            return body[found.end() : following.start() if following else len(body)]
    return None


def top_definitions(module: Module) -> list[tuple[str, str]] | None:
    """Each definition at the top level of the module's files, with the text after its name.

    Comments and strings are left out. None where one is written in a way that is not read here:
    an infix operator, or one that does not begin its line.
    """
    found = []
    for text in module.files.values():
        body = _body(text)
        starts = [*_AT_THE_TOP.finditer(body)]
        if len(starts) < len(_DEFINES.findall(body)):
            return None
        ends = [*(start.start() for start in starts), len(body)]
        parts = [body[: ends[0]]]
        for start, end in zip(starts, ends[1:], strict=True):
            parts.append(body[start.end() : end])
            found.append((start[1], parts[-1]))
        for part in parts:
            inner = _INDENTED.search(part)
            if inner is not None and not _LET.search(part, 0, inner.start()):
                return None
    return found


def formals_of(module: Module, name: str) -> tuple[str, ...] | None:
    """The names of the parameters of a definition at the top level, None where it is not there."""
    start = re.compile(rf"^[ \t]*{re.escape(name)}\s*(?:\(([^()]*)\)\s*)?==(?!=)", re.MULTILINE)
    for text in module.files.values():
        if found := start.search(_body(text)):
            return tuple(_WORD.findall(found[1] or ""))
    return None


def defines_standard(module: Module, name: str, jar: Path) -> bool:
    """Whether a standard module of this checker that the module names, or one below, defines it."""
    standard = _standard_modules(jar)
    seen: set[str] = set()
    wanted = {word for text in module.files.values() for word in _WORD.findall(_body(text))}
    while used := (wanted & standard.keys()) - seen:
        seen |= used
        if any(name in _DEFINITION.findall(standard[each]) for each in used):
            return True
        wanted = {word for each in used for word in _WORD.findall(standard[each])}
    return False


@cache
def _standard_modules(jar: Path) -> dict[str, str]:
    with zipfile.ZipFile(jar) as archive:
        return {
            Path(name).stem: _body(archive.read(name))
            for name in archive.namelist()
            if name.startswith(_STANDARD) and name.endswith(".tla")
        }


def _extended(root: str, body_of: Callable[[str], str]) -> list[str]:
    """The bodies of a module and of all that it extends, itself first."""
    names = [root]
    for name in names:
        for several in _EXTENDS.findall(body_of(name)):
            names += [other for other in _WORD.findall(several) if other not in names]
    return [body_of(name) for name in names]


def _declared(declaration: re.Pattern[str], bodies: list[str]) -> tuple[str, ...]:
    found = (
        name
        for body in bodies
        for several in declaration.findall(body)
        for name in _WORD.findall(re.sub(r"\([^)]*\)", "", several))
    )
    return tuple(dict.fromkeys(found))


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="replace")


@lru_cache(maxsize=64)
def _body(text: bytes) -> str:
    """What stands between header and footer, without comments and strings."""
    source = _without_comments(_decoded(text))
    header = _HEADER.search(source)
    footers = [*_FOOTER.finditer(source)]
    start = header.end() if header else 0
    end = footers[-1].start() if footers and footers[-1].start() >= start else len(source)
    return source[start:end]


def _without_comments(text: str) -> str:
    kept: list[str] = []
    at = 0
    while lexeme := _LEXEME.search(text, at):
        kept += text[at : lexeme.start()], " "
        at = lexeme.end()
        if lexeme.group() == "(*":
            at = end_of_comment(text, at) or len(text)
    return "".join([*kept, text[at:]])


def end_of_comment(text: str, at: int) -> int | None:
    """Where the comment ends whose `(*` ends at `at`, None where it does not; comments nest."""
    depth = 1
    while depth:
        mark = _COMMENT_MARK.search(text, at)
        if mark is None:
            return None
        depth += 1 if mark.group() == "(*" else -1
        at = mark.end()
    return at
