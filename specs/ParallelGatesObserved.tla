------------------------ MODULE ParallelGatesObserved ------------------------
(***************************************************************************)
(* When the properties of ParallelGates were provoked, from the events of  *)
(* an observed run (ResumeContractObserved says what an event is).         *)
(***************************************************************************)
EXTENDS ParallelGates, FiniteSets

Of(log, kinds) == {i \in DOMAIN log : log[i].kind \in kinds}

EffectsOf(log) ==
    [t \in 1..4 |-> Cardinality({i \in Of(log, {"effect"}) : log[i].task = t})]

After(log, first, then) == \E i \in Of(log, first), j \in Of(log, then) : i < j

ProvokedEO(log) == After(log, {"effect"}, {"recover", "stray"})

ProvokedCO(log) == After(log, {"consume"}, {"recover", "stray"})

Answered(log) == Of(log, {"consume", "consume refused"}) /= {}
=============================================================================
