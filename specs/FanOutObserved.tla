--------------------------- MODULE FanOutObserved ---------------------------
(***************************************************************************)
(* When the properties of FanOut were provoked, from the events of an      *)
(* observed run (ResumeContractObserved says what an event is).  A retry   *)
(* is one of kind "stray".                                                 *)
(***************************************************************************)
EXTENDS FanOut, FiniteSets

Of(log, kinds) == {i \in DOMAIN log : log[i].kind \in kinds}

EffectsOf(log) ==
    [t \in Tasks |-> Cardinality({i \in Of(log, {"effect"}) : log[i].task = t})]

ProvokedRetry(log) == Of(log, {"stray"}) /= {}

ProvokedDeath(log) == Of(log, {"recover"}) /= {}

ProvokedEO(log) == ProvokedRetry(log) \/ ProvokedDeath(log)
=============================================================================
