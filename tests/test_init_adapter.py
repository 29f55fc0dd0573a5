"""mbt init adapter: what it writes works as it is, and hides nothing that is missing."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY
from test_replay_command import mbt

MODULE = REPOSITORY / "examples" / "bounded_queue" / "BoundedQueue.tla"


def run_tests(folder):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_the_skeleton_for_the_resume_plane_passes_its_test_at_once(tmp_path):
    done = mbt("init", "adapter", "my_engine", "--into", str(tmp_path / "new"))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "my_engine.py",
        "test_my_engine.py",
    ]
    ran = run_tests(tmp_path / "new")
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout


def test_the_test_of_the_skeleton_can_fail(tmp_path):
    """A skeleton that loses what was answered does not conform."""
    mbt("init", "adapter", "forgetful", "--into", str(tmp_path))
    file = tmp_path / "forgetful.py"
    text = file.read_text()
    assert '"frontier": len(state["outputs"])' in text
    file.write_text(text.replace('"frontier": len(state["outputs"])', '"frontier": 0'))
    ran = run_tests(tmp_path)
    assert ran.returncode == 1
    assert "FAILED" in ran.stdout and "test_the_system_conforms" in ran.stdout


def test_the_skeleton_for_another_module_has_its_actions_and_says_what_is_missing(tmp_path):
    done = mbt("init", "adapter", "my_queue", "--into", str(tmp_path), "--module", str(MODULE))
    assert done.returncode == 0, done.stderr
    (kind,) = (n for n in ast.parse((tmp_path / "my_queue.py").read_text()).body
               if isinstance(n, ast.ClassDef))  # fmt: skip
    methods = {n.name: [a.arg for a in n.args.args] for n in kind.body
               if isinstance(n, ast.FunctionDef)}  # fmt: skip
    assert kind.name == "MyQueue"
    assert methods["Put"] == ["self", "x"]
    assert methods["Get"] == methods["Overfill"] == methods["observe"] == ["self"]
    ran = run_tests(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed, 1 xfailed" in ran.stdout


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "test_mine.py").write_text("precious")
    done = mbt("init", "adapter", "mine", "--into", str(tmp_path))
    assert done.returncode == 2
    assert "test_mine.py is there already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]
    assert (tmp_path / "test_mine.py").read_text() == "precious"


@pytest.mark.parametrize("name", ["../up", "Engine", "1st", "class", "a b", "queue", "test_x", ""])
def test_a_name_that_cannot_be_a_module_is_refused(tmp_path, name):
    done = mbt("init", "adapter", name, "--into", str(tmp_path))
    assert done.returncode == 2
    assert "for instance" in done.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("word", ["lambda", "self"])
def test_a_parameter_that_python_has_another_use_for_is_refused(tmp_path, word):
    module = tmp_path / "BoundedQueue.tla"
    text = MODULE.read_text().replace("Put(x) ==", f"Put({word}) ==")
    module.write_text(text.replace("Append(given, x)", f"Append(given, {word})"))
    (tmp_path / "BoundedQueue.cfg").write_text(MODULE.with_suffix(".cfg").read_text())
    said = MODULE.with_suffix(".toml").read_text()
    said = said.replace("{ x =", f"{{ {word} =").replace('given = "x"', f'given = "{word}"')
    module.with_suffix(".toml").write_text(said)
    done = mbt("init", "adapter", "mine", "--into", str(tmp_path / "n"), "--module", str(module))
    assert done.returncode == 2
    assert f"action Put of BoundedQueue: {word!r} means something else in Python" in done.stderr
    assert not Path(tmp_path / "n").exists()


def test_a_module_that_does_not_say_how_it_is_driven_is_refused(tmp_path):
    module = tmp_path / "Bare.tla"
    module.write_text(MODULE.read_text().replace("MODULE BoundedQueue", "MODULE Bare"))
    (tmp_path / "Bare.cfg").write_text(MODULE.with_suffix(".cfg").read_text())
    done = mbt("init", "adapter", "mine", "--into", str(tmp_path / "n"), "--module", str(module))
    assert done.returncode == 2
    assert "write Bare.toml beside it" in done.stderr
    assert not Path(tmp_path / "n").exists()
