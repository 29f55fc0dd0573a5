"""What a page of Markdown shows: fenced blocks, and commands with what they print."""

import os
import re
import shlex
import subprocess
import sys

BASH = ["bash", "-c"]


def blocks(page, language):
    """The fenced blocks of a page, each with the paragraph before it."""
    parts = re.split(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)
    before = [text.rstrip().rpartition("\n\n")[2] for text in parts[:-1:2]]
    return list(zip(before, parts[1::2], strict=True))


def run(folder, command):
    """Run a command in a folder, `mbt` as the one that is tested."""
    words = shlex.split(command)
    mbt = [sys.executable, "-m", "mbt", *words[1:]]
    return subprocess.run(
        mbt if words[0] == "mbt" else [*BASH, command],
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def assert_prints(folder, block):
    """Run the commands of a block, one after the other; each prints what stands below it.

    `$ echo $?` is asked of the command before.
    """
    status = 0
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        if command == "echo $?":
            assert lines == [str(status)], f"exit code {status}\n\n{block}"
            continue
        done = run(folder, command)
        status = done.returncode
        assert status in (0, 1), done.stderr
        at = 0
        for line in lines:
            if line.strip() == "...":
                continue
            found = re.compile(_as_pattern(line)).search(done.stdout, at)
            assert found, f"not printed, or not in this place: {line}\n\n{done.stdout}"
            at = found.end()


def _as_pattern(line):
    """A line that is shown: `...` may be anything, a figure with a point at its end is a time."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("...")]
    return re.sub(r"\\s\+\d+\\\.\d$", r"\\s+(?:[\\d.]+|cached)", ".*".join(parts))
