----------------------- MODULE ResumeContractObserved -----------------------
(***************************************************************************)
(* What no system exposes, computed from the events of an observed run, and*)
(* when a property was provoked at all.  An event is a record              *)
(*                                                                         *)
(*    [kind, task, frontier, value, store]                                 *)
(*                                                                         *)
(* of one of these kinds: "effect" (a row of the ledger), "exec" (the body *)
(* of a task was let go, at the highest durable frontier seen until then), *)
(* "consume", "reanswer", "fork", "stray" (a value was delivered), "crash",*)
(* "recover" (the durable frontier found, the digest of the store found,   *)
(* and the task that was entered first), "poison" (a task's output was     *)
(* made to break the schema).  The properties themselves are the           *)
(* invariants of ResumeContract, and stand there alone.                    *)
(***************************************************************************)
EXTENDS ResumeContract, FiniteSets

Of(log, kinds) == {i \in DOMAIN log : log[i].kind \in kinds}

EffectsOf(log) ==
    [t \in Tasks |-> Cardinality({i \in Of(log, {"effect"}) : log[i].task = t})]

\* A task whose completion was durable was entered again.
PcRegressOf(log) == \E i \in Of(log, {"exec"}) : log[i].task <= log[i].frontier

Recoveries(log) == SelectSeq(log, LAMBDA e : e.kind = "recover")

SameStore(a, b) == a.store = b.store /\ a.frontier = b.frontier

\* As the model's recHist, but a recovery's `dur` names the store that it found (by the first
\* recovery that found an equal one), since equal frontiers in unequal stores may well be
\* decided differently; its `dec` is the task that was entered, not the name of a mechanism.
RecHistOf(log) ==
    LET r == Recoveries(log)
        First(k) == CHOOSE j \in 1..k :
                        /\ SameStore(r[j], r[k])
                        /\ \A i \in 1..(j - 1) : ~SameStore(r[i], r[k])
    IN  [k \in DOMAIN r |-> [dur |-> First(k), dec |-> r[k].task]]

AfterAnEffect(log, kinds) ==
    \E i \in Of(log, {"effect"}), j \in Of(log, kinds) : i < j

\* A crash that nothing recovered from put no property to the test.
ProvokedPC(log) == AfterAnEffect(log, {"recover", "stray"})

ProvokedEO(log) == AfterAnEffect(log, {"recover", "stray"})

ProvokedFD(log) ==
    \E i \in Of(log, {"consume"}), j \in Of(log, {"fork"}) :
        i < j /\ log[i].value /= log[j].value

ProvokedCV(log) == Of(log, {"poison"}) /= {}

ProvokedCO(log) ==
    \E i \in Of(log, {"consume"}), j \in Of(log, {"stray", "reanswer"}) : i < j

ProvokedRD(log) ==
    LET r == Recoveries(log) IN \E i, j \in DOMAIN r : i < j /\ SameStore(r[i], r[j])
=============================================================================
