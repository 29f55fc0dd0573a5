"""A workflow that keeps its state in one JSON file, under the vocabulary of the resume plane."""

import json
import shutil
from collections.abc import Mapping
from typing import Any, ClassVar

from adapters.resume import RE_ANSWER, STRAY
from mbt import Option, ResumeAdapter, Run

NEW: dict[str, Any] = {"done": [], "consumed": None, "waiting": False}


class JsonWorkflow(ResumeAdapter):
    """Task after task; the file is written after each, or only where the run parks or ends."""

    options: ClassVar[Mapping[str, Option]] = {
        "save": Option("each-task", ("each-task", "when-idle"), "when the file is written"),
        **RE_ANSWER,
        **STRAY,
    }

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.parked = run.folder / "parked.json"
        self.file = run.folder / f"run-{run.branch}.json"
        if run.branch:  # a fork goes on from the file as it was while the run was parked
            shutil.copy(self.parked, self.file)

    # -- the engine, and the calls that a user of it would make --------------------------

    def start(self) -> Any:
        return self.system(self.go_on)

    def recover(self) -> Any:
        return self.system(self.go_on)

    def resume(self, v: str) -> Any:
        if not self.load()["waiting"]:
            return self.stopped(parked=False)  # nobody asked: a stray resume is ignored
        return self.system(lambda: self.go_on(answer=v))

    def fork(self, v: str) -> Any:
        return self.resume(v)

    def go_on(self, answer: str | None = None) -> str:
        state = self.load()
        for task in range(len(state["done"]) + 1, self.tasks + 1):
            self.enter(task)  # here the driver holds the run, looks at it, or kills it
            if task == self.gated and answer is None:
                self.save(state | {"waiting": True})
                shutil.copy(self.file, self.parked)
                return self.stopped(parked=True)
            self.effect(task, answer if task == self.gated else None)
            output = self.output(task)
            if not isinstance(output, int):
                raise ValueError(f"task {task} put out {output!r}, which is no number")
            consumed = answer if task == self.gated else state["consumed"]
            state = {"done": [*state["done"], output], "consumed": consumed, "waiting": False}
            if self.run.options["save"] == "each-task" or task == self.tasks:
                self.save(state)
        return self.stopped(parked=False)

    def load(self) -> dict[str, Any]:
        return json.loads(self.file.read_text()) if self.file.exists() else dict(NEW)

    def save(self, state: dict[str, Any]) -> None:
        written = self.file.with_suffix(".new")
        written.write_text(json.dumps(state))
        written.replace(self.file)

    # -- what can be seen ----------------------------------------------------------------

    def public_state(self) -> dict[str, Any]:
        state = self.load()
        seen = {
            "frontier": len(state["done"]),
            "waiting": state["waiting"],
            "consumedVal": state["consumed"],
            "ckpts": [{"task": t, "valid": True} for t in range(1, len(state["done"]) + 1)],
        }
        return seen if state["consumed"] is None else seen | {"outcome": [state["consumed"]]}

    def canonical_store(self) -> Any:
        return self.load()
