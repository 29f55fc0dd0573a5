----------------------- MODULE R10_SeparationsObserved -----------------------
(***************************************************************************)
(* What no system exposes of R10_Separations, computed from the events     *)
(* of an observed run; see ResumeContractObserved.                         *)
(***************************************************************************)
EXTENDS R10_Separations

Seen == INSTANCE ResumeContractObserved WITH
            FaultReplay <- FALSE, FaultForkIgnore <- FALSE, FaultInvalidPersist <- FALSE,
            FaultNondetRecovery <- FALSE, FaultDoubleConsume <- FALSE, FaultPrefixReplay <- FALSE

EffectsOf(log) == Seen!EffectsOf(log)
PcRegressOf(log) == Seen!PcRegressOf(log)
RecHistOf(log) == Seen!RecHistOf(log)
ProvokedPC(log) == Seen!ProvokedPC(log)
ProvokedEO(log) == Seen!ProvokedEO(log)
ProvokedFD(log) == Seen!ProvokedFD(log)
ProvokedCV(log) == Seen!ProvokedCV(log)
ProvokedCO(log) == Seen!ProvokedCO(log)
ProvokedRD(log) == Seen!ProvokedRD(log)
=============================================================================
