"""A registration read back: the specification, models and system that it names, found here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import specs
from adapters.registry import UnknownAdapter, load_adapter, locate
from replay.prediction.candidates import at_bounds, read_candidate, read_constants
from replay.prediction.chain import REGISTRATION, Link, read_link
from replay.prediction.prediction_run import Registered
from replay.prediction.registration import Subject
from replay.prediction.repository import top_of
from replay.stored import reading
from replay.sweeps.environments import (
    check_release,
    find_uv,
    framework_of,
    open_environment,
    requirements_of,
)
from tracegen.cache import open_cache
from tracegen.errors import MbtError
from tracegen.jvm import Processes
from tracegen.spec import Spec, load_spec


def spec_of(link: Link) -> Spec:
    """The specification that a registration is of, at the bounds of the prediction.

    Raises:
        MbtError: it is not here.
    """
    told = link.content
    with reading(link.path):
        typed, constants = str(told["spec"]), dict(told["constants"])
        inside = "/" in typed or typed.endswith(".tla")
        path = _inside(link.path, typed) if inside else _packaged(link.path, typed)
        spec = load_spec(path)
        given = [f"{name}={value}" for name, value in constants.items()]
        return at_bounds(spec, read_constants(spec, given))


def open_registered(folder: Path, processes: Processes) -> Registered:
    """A registration with all that it names; an environment is made where it needs one.

    Raises:
        MbtError: something that it names is not here, or cannot be installed.
    """
    link = read_link(folder / REGISTRATION)
    spec = spec_of(link)
    with reading(link.path):
        told = link.content
        rival = read_candidate(spec, told["against"]) if told["against"] else None
        subject = open_subject(
            _adapter(link.path, told["adapter"]),
            dict(told["options"]),
            told["with"],
            processes,
            told["adapter"],
        )
        return Registered(link, spec, read_candidate(spec, told["model"]), rival, subject)


def open_subject(
    name: str,
    options: Mapping[str, str],
    release: str | None,
    processes: Processes,
    called: str | None = None,
) -> Subject:
    """A system: an adapter, in the environment of a release where one is named.

    Args:
        options: every option of the adapter.
        release: NAME==VERSION, NAME the framework of the adapter.
        called: what a registration calls the adapter, by default its name.

    Raises:
        MbtError: there is no such adapter or release.
    """
    try:
        reference = locate(name)
        adapter = load_adapter(reference)
    except UnknownAdapter as error:
        raise MbtError(str(error)) from error
    environment = None
    if release is not None:
        framework = framework_of(adapter, name)
        asked, equals, version = release.partition("==")
        if asked != framework or not equals:
            raise MbtError(
                f"--with {release}: write it as {framework}==VERSION, the framework of {name}; "
                "its companions are installed as they resolve with it"
            )
        requirements = requirements_of(adapter, framework, version)
        environment = open_environment(requirements, open_cache(), find_uv(), processes)
        check_release(environment, framework, version)
    return Subject(called or name, reference, adapter, options, release, environment)


def _packaged(path: Path, name: str) -> Path:
    found = Path(specs.__file__).parent / f"{name}.tla"
    if not name.isidentifier() or not found.is_file():
        raise MbtError(f"{path}: there is no module {name} here")
    return found


def _adapter(path: Path, name: str) -> str:
    where, _, class_name = name.rpartition(":")
    return f"{_inside(path, where)}:{class_name}" if where.endswith(".py") else name


def _inside(path: Path, name: str) -> Path:
    """A file of the repository that a registration is in."""
    top = top_of(path.parent)
    found = (top / name).resolve()
    if not found.is_relative_to(top):
        raise MbtError(f"{path}: {name} leads out of the repository")
    return found
