---------------------- MODULE R11_ConsumeCountObserved ----------------------
(***************************************************************************)
(* What no system exposes of R11_ConsumeCount, computed from the events of *)
(* an observed run.  Beside those of ResumeContractObserved there are two  *)
(* kinds: "race" (a consumer that had read before the first one wrote was  *)
(* let go, and admitted) and "race refused".                               *)
(***************************************************************************)
EXTENDS R11_ConsumeCount, FiniteSets

Seen == INSTANCE ResumeContractObserved

EffectsOf(log) == Seen!EffectsOf(log)
PcRegressOf(log) == Seen!PcRegressOf(log)
RecHistOf(log) == Seen!RecHistOf(log)

ConsumeCountOf(log) == Cardinality(Seen!Of(log, {"consume", "race"}))
RaceUsedOf(log) == Seen!Of(log, {"race"}) /= {}

\* What a stray resume consumes is in no event, so only a race tests the count.
ProvokedRace(log) ==
    \E i \in Seen!Of(log, {"consume"}), j \in Seen!Of(log, {"race", "race refused"}) : i < j

ProvokedPC(log) == Seen!ProvokedPC(log)
ProvokedEO(log) == Seen!ProvokedEO(log) \/ ProvokedRace(log)
ProvokedFD(log) == Seen!ProvokedFD(log)
ProvokedCV(log) == Seen!ProvokedCV(log)
ProvokedCO(log) == Seen!ProvokedCO(log) \/ ProvokedRace(log)
ProvokedRD(log) == Seen!ProvokedRD(log)
=============================================================================
