"""What a replay did to a system, as a script for a bare driver: read off the run's record."""

from __future__ import annotations

from benchmarks.bare import RETURNED, Act, Call, Life, Method
from replay.record import Branch, RunRecord


def script_of(record: RunRecord) -> tuple[Act, ...]:
    """The script that forks, calls, stops, kills and reaps as a run of the resume plane did.

    Holds where kills land inside the bodies of tasks and a stray delivery is a resume with the
    consumed value. A replay ends each run with a kill, and so does the script.
    """
    writer = _Writer()
    branches, deaths = iter(record.branches), iter(record.deaths)
    answer = ""
    place = RETURNED  # where the primary is, in its latest call
    for micro in record.micro:
        if micro.part == "start":
            writer.begin(micro.process, "start")
        elif micro.action == "CrashRecover":
            assert next(deaths).process == writer.process
            writer.stop(place)
            writer.kill()
            writer.begin(micro.process, "recover")
        elif micro.action == "ForkResume":
            writer.stop(place)
            writer.branch(next(branches))
        elif micro.action == "Consume":
            answer = micro.params["v"]
            writer.call("resume", answer)
        elif micro.action == "ExtraResume" or micro.folded:  # folded: it asked once more
            writer.call("resume", answer)
        place = int(micro.observed["pc"]) if micro.at == "held" else RETURNED
    writer.stop(place)
    writer.kill()
    return tuple(writer.acts)


class _Writer:
    """Writes a script; the primary's processes follow one another."""

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.process = 0
        self._calls: list[tuple[Method, str | None, list[int]]] = []
        self._start = 0
        self._waits = False

    def begin(self, process: int, method: Method) -> None:
        """Fork the primary's next process, which makes this call first."""
        self.process, self._calls, self._start = process, [], len(self.acts)
        self.call(method, None)

    def call(self, method: Method, value: str | None) -> None:
        """Have that process make a call after the one before."""
        self._calls.append((method, value, []))

    def stop(self, place: int) -> None:
        """Await the process at a place of its latest call, where it does not wait there yet."""
        stops = self._calls[-1][2]
        if place in stops:
            return
        if self._waits:
            self.acts.append(Act("go"))
        stops.append(place)
        self.acts.append(Act("await"))
        self._waits = True

    def branch(self, branch: Branch) -> None:
        """Run the process of a branch to its end."""
        call = Call("fork", branch.value, ())
        self.acts.append(Act("branch", Life(branch.process, branch.number, (call,))))

    def kill(self) -> None:
        """Kill the process where it waits; what it did until there is now known."""
        calls = tuple(Call(method, value, tuple(stops)) for method, value, stops in self._calls)
        self.acts.insert(self._start, Act("fork", Life(self.process, 0, calls)))
        self.acts.append(Act("kill"))
        self._waits = False
