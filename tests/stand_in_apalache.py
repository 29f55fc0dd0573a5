"""A stand-in for Apalache's launcher, which is in no package registry: it checks nothing.

It takes the documented options and refuses others, reads what it is given, notes how it was called
(`calls.jsonl` beside it), and answers as `scenario.json` beside it says: a list of answers, of
which the first counts whose `command` and `inv` (where it has them) are those of the call. An
answer has `out` (lines), `exit`, `files` (name -> ITF, written flat into the run's folder and into
that of the module below --out-dir) and `sleep`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(sys.argv[0]).resolve().parent
VERSION = "0.62.1"


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        print(f"stand-in: usage error: {message}")
        sys.exit(255)


def parse(words: list[str]) -> argparse.Namespace:
    parser = Parser(allow_abbrev=False)
    parser.add_argument("command", choices=["check", "simulate", "version"])
    for name in ("config", "init", "next", "cinit", "inv", "view", "out-dir", "run-dir"):
        # Each of them has a variable of the environment, too.
        parser.add_argument(f"--{name}", default=os.environ.get(name.upper().replace("-", "_")))
    for name, default in (("length", 10), ("max-error", 1), ("max-run", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("no-deadlock", "output-traces"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("spec", nargs="?")
    options = parser.parse_intermixed_args(words)
    if options.max_error > 1 and not options.view:
        parser.error("--max-error over 1 wants --view")
    return options


def main() -> int:
    options = parse(sys.argv[1:])
    if options.command == "version":
        print(VERSION)
        return 0
    call = {"options": vars(options), "words": sys.argv[1:], "environment": dict(os.environ)}
    call["module"] = Path(options.spec).read_text()
    call["config"] = Path(options.config).read_text() if options.config else None
    call["cwd"] = str(Path.cwd())
    with (HERE / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(call) + "\n")
    answers = json.loads((HERE / "scenario.json").read_text())
    answer = next(
        one
        for one in answers
        if one.get("command", options.command) == options.command
        and one.get("inv", options.inv) == options.inv
    )
    print(f"# APALACHE version: {VERSION} | build: stand-in", flush=True)
    if answer.get("sleep"):
        child = subprocess.Popen(["sleep", str(answer["sleep"])])
        (HERE / "pids").write_text(f"{os.getpid()} {child.pid}")
        time.sleep(answer["sleep"])
    timestamped = Path(options.out_dir) / Path(options.spec).name / "2026-01-01T00-00-00"
    for folder in (timestamped, Path(options.run_dir)):
        folder.mkdir(parents=True)
        for name, trace in answer.get("files", {}).items():
            (folder / name).write_text(json.dumps(trace))
    for line in answer["out"]:
        print(line.ljust(66))
    return answer["exit"]


if __name__ == "__main__":
    sys.exit(main())
