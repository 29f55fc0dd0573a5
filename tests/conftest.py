"""What all tests share: the settings of Hypothesis, and where the real files are."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
