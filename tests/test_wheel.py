"""A wheel works outside a checkout: the modules and the grammar are in it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = tmp_path_factory.mktemp("source") / "checkout"
    listed = subprocess.run(
        ["git", "-C", str(REPOSITORY), "ls-files", "-co", "--exclude-standard", "-z"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        if name.partition("/")[0] in {"receipts", "tests"} or not (REPOSITORY / name).is_file():
            continue
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((REPOSITORY / name).read_bytes())
    build = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=source, check=True, capture_output=True
    )
    (file,) = folder.glob("*.whl")
    return file


def test_the_wheel_has_modules_configurations_and_grammar(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "specs/ResumeContract.tla",
        "specs/ResumeContractObserved.tla",
        "specs/ResumeContract.toml",
        "specs/ResumeContract_R0.cfg",
        "specs/table3.grid.toml",
        "tracegen/tla.lark",
        "adapters/crewai.py",
        "replay/engine.py",
        "replay/repro/templates/script.py.j2",
        "replay/repro/templates/langgraph.py.j2",
        "mbt/commands/replay.py",
        "mbt/loggers/langgraph.py",
        "mbt/templates/resume_adapter.py.txt",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "receipts/", "benchmarks/"))]


def test_the_wheel_lists_and_checks_its_modules_away_from_the_checkout(wheel, tmp_path):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    run = [sys.executable, "-m", "mbt"]
    inside = {"cwd": tmp_path, "env": {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"}}
    # The editable checkout stays on the path behind it; what is imported has to be the wheel's.
    where = subprocess.run(
        [sys.executable, "-c", "import mbt, specs; print(mbt.__file__, specs.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        **inside,
    ).stdout
    assert where.count(str(site)) == 2
    listed = subprocess.run([*run, "specs"], capture_output=True, text=True, check=True, **inside)
    assert "ResumeContract" in listed.stdout
    checked = subprocess.run(
        [*run, "check", "specs/ResumeContract.tla", "--model", "R0", "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        **inside,
    )
    assert checked.returncode == 0, checked.stderr
    copied = subprocess.run(
        [*run, "specs", "copy", "mine"], capture_output=True, text=True, check=False, **inside
    )
    assert copied.returncode == 0, copied.stderr
    assert (tmp_path / "mine" / "ResumeContract.tla").is_file()
