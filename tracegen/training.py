"""The TLC run from which Java learns which classes to keep ready (see `tracegen.jvm`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_MODULE = r"""
---- MODULE Training ----
EXTENDS Integers, Sequences, FiniteSets, TLC
CONSTANTS N, Names, Nobody
VARIABLES count, log, owner, seen
vars == <<count, log, owner, seen>>
Init == count = [k \in 1..N |-> 0] /\ log = <<>> /\ owner = Nobody /\ seen = {}
Add(k) == /\ Len(log) < N
          /\ count' = [count EXCEPT ![k] = @ + 1]
          /\ log' = Append(log, [key |-> k, fresh |-> k \notin seen])
          /\ seen' = seen \union {k}
          /\ UNCHANGED owner
Own(v) == owner = Nobody /\ owner' = v /\ UNCHANGED <<count, log, seen>>
Next == (\E k \in 1..N : Add(k)) \/ (\E v \in Names : Own(v))
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
TypeOK == \A k \in DOMAIN log : log[k].key \in 1..N /\ log[k].fresh \in BOOLEAN
Grows == [][Len(log') >= Len(log)]_vars
Owned == <>(owner /= Nobody)
Short == IF Len(log) > 1 THEN Cardinality(seen) < N ELSE TRUE
====
"""
_CONFIG = """
SPECIFICATION Spec
CONSTANTS N = 3 Names = {"a", "b"} Nobody = Nobody
INVARIANTS TypeOK Short
PROPERTIES Grows Owned
"""


def training(folder: Path) -> Sequence[str]:
    """Write a model into a folder and return the arguments, class first, of a run that parses,
    checks, dumps and prints a counterexample."""
    (folder / "Training.tla").write_text(_MODULE.lstrip(), encoding="ascii")
    (folder / "Training.cfg").write_text(_CONFIG.lstrip(), encoding="ascii")
    dump = ["-dump", "dot,actionlabels", str(folder / "graph.dot")]
    options = ["-tool", "-workers", "1", "-metadir", str(folder / "states"), *dump]
    return ["tlc2.TLC", *options, "-config", "Training.cfg", "Training"]
