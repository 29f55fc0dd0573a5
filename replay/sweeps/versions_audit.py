"""Whether what the receipt of a sweep over versions says follows from what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.conformance.measured import GRAVITY
from replay.sweeps.swept import SWEPT

Data = Mapping[str, Any]


def missing(content: Data) -> Iterator[str]:
    """Whether it is of its study's adapter, and has a row for each release in each form.

    A release that lacks what the adapter imports is listed as one that does
    (`replay.sweeps.swept`).
    """
    adapter = content["adapter"]
    if content["study"] != f"versions-{adapter}":
        yield f"of adapter {adapter}, and the study is {content['study']}"
    if adapter not in SWEPT:
        yield f"adapter {adapter} is swept over no releases"
        return
    swept = SWEPT[adapter]
    wanted = {
        (_form(form.options, form.models), release): form.lacks.get(release)
        for form in swept.forms
        for release in swept.releases
    }
    found = Counter(
        (_form(row["options"], row["models"]), row["version"]) for row in content["rows"]
    )
    for form, release in wanted:
        if not found[form, release]:
            yield f"{form}: no row of {release}"
    for (form, release), count in found.items():
        expected = int((form, release) in wanted)
        if count > expected:
            yield f"{form}: {count} rows of {release}, and {expected} to be there"
    for row in content["rows"]:
        form, release = _form(row["options"], row["models"]), row["version"]
        lacks = wanted.get((form, release))
        if row.get("lacks") != lacks:
            yield f"{form}: {release} lacks {row.get('lacks')}, and is known to lack {lacks}"


def _form(options: Data, models: Sequence[str]) -> str:
    chosen = [f"{name}={options[name]}" for name in sorted(options)]
    return " ".join(chosen + [f"model {model}" for model in models]) or "defaults"


def row_problems(content: Data, row: Data) -> Iterator[str]:
    """Whether a row is of the release that it names, in the environment that is listed."""
    where = f"{row['version']}, {row['options']}"
    if ("evidence" in row) == ("lacks" in row):
        yield f"{where}: has to have either evidence or what it lacks"
    elif "evidence" in row and row["evidence"] not in content["evidence"]:
        yield f"{where}: its evidence {row['evidence']} is not there"
    if (found := row["versions"].get(content["framework"])) != row["version"]:
        yield f"{where}: was measured on {found}"
    environment = content["environments"].get(row["version"], {"packages": []})
    installed = dict(line.partition("==")[::2] for line in environment["packages"])
    for name, version in row["versions"].items():
        if installed.get(name, "not installed") != version:
            yield f"{where}: measured with {name} {version}, and {installed.get(name)} installed"


def evidence_problems(found: Data) -> Iterator[str]:
    """Whether the cells of a replay are what its parts and its runs come to."""
    parts = {part["name"]: part for part in (*found["parts"], *found["second_pass"])}
    for name, part in parts.items():
        runs = found["runs"].get(name, {})
        if len(runs) != part["traces"]:
            yield f"{name}: {part['traces']} traces, and {len(runs)} runs"
        diverging = {trace for said in part["divergences"].values() for trace in said}
        if unknown := diverging - runs.keys():
            yield f"{name}: {min(unknown)} diverges, and is no run"
        if part["explained_by"] and ("reference" in part["explained_by"]) == bool(diverging):
            yield f"{name}: {len(diverging)} diverge, explained by {part['explained_by']}"
    for name, rule in found["properties"].items():
        yield from (f"{name} {phrase}" for phrase in _rule(name, rule, found))


def _rule(name: str, rule: Data, found: Data) -> Iterator[str]:
    verdicts = [part["verdict"] for part in rule["parts"].values()]
    whole = min(verdicts, key=GRAVITY.index)
    graver = GRAVITY.index(rule["verdict"]) <= GRAVITY.index(whole)
    # A second pass has no entry of its own, and can only make it graver.
    if rule["verdict"] != whole and not (found["second_pass"] and graver):
        yield f"is {rule['verdict']}, and {whole} by its parts"
    for name_of_part, cell in rule["parts"].items():
        at = cell["violated_at"]
        if (cell["verdict"] == "violated") != bool(at):
            yield f"is {cell['verdict']} in {name_of_part}, violated at {len(at)} places"
        if cell["verdict"] == "holds" and not cell["provoked_by"]:
            yield f"holds in {name_of_part}, and nothing provoked it"
        runs = found["runs"].get(name_of_part, {})
        for where in at:
            trace, _, branch = where.partition("/")
            if trace not in runs:
                yield f"is violated in {name_of_part} by {trace}, which is no run"
            elif not _shows(name, runs[trace], branch):
                yield f"is violated in {name_of_part} by {where}, and its run does not show it"


def _shows(name: str, run: Data, branch: str) -> bool:
    """Whether a run's own rows show a violation, for the properties that can be seen there."""
    if name == "FD":
        return any(outcome != [value] for value, outcome, _ in run["forks"])
    if name != "EO":
        return True
    if branch:
        return any(count > 1 for _, _, effects in run["forks"] for count in effects)
    fired = Counter(task for of, task, _, _ in run["ledger"] if of == 0)
    return any(count > 1 for count in fired.values())
