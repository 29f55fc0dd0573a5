---------------------- MODULE ResumeMechanismsObserved ----------------------
(***************************************************************************)
(* What no system exposes of ResumeMechanisms, computed from the events    *)
(* of an observed run; see ResumeContractObserved.                         *)
(***************************************************************************)
EXTENDS ResumeMechanisms

Seen == INSTANCE ResumeContractObserved

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
