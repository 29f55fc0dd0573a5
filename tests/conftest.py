"""What all tests share: the settings of Hypothesis, and where the real files are."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tracegen.cache import open_cache
from tracegen.tlc import RunOptions
from tracegen.tools import find_tools

# No deadline: it would measure the machine, and the first example builds the grammar.
settings.register_profile("mbt", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("mbt")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real output of TLC, Apalache and others (environment variable MBT_DATA).

    Without it a test is skipped, but in CI it fails.
    """
    folder = (REPOSITORY / os.environ.get("MBT_DATA", "../shared/data")).resolve()
    if not folder.is_dir():
        reason = f"no folder {folder}; set MBT_DATA to the folder with the real checker output"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def lab():
    """ResumeContract, its state graphs and its suite."""
    from lab import Lab

    return Lab()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for these tests alone, so that no result of an earlier day makes one pass."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["MBT_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def checker(own_cache: Path) -> RunOptions:
    """The options of checker runs, with the cache of these tests."""
    return RunOptions(tools=find_tools(), cache=open_cache())
