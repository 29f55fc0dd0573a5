-------------------------- MODULE TwoGatesObserved --------------------------
(***************************************************************************)
(* What no system exposes of TwoGates, computed from the events of an      *)
(* observed run (ResumeContractObserved says what an event is), and when a *)
(* property was provoked.                                                  *)
(***************************************************************************)
EXTENDS TwoGates, FiniteSets

Of(log, kinds) == {i \in DOMAIN log : log[i].kind \in kinds}

EffectsOf(log) ==
    [t \in Tasks |-> Cardinality({i \in Of(log, {"effect"}) : log[i].task = t})]

PcRegressOf(log) == \E i \in Of(log, {"exec"}) : log[i].task <= log[i].frontier

AfterAnEffect(log, kinds) ==
    \E i \in Of(log, {"effect"}), j \in Of(log, kinds) : i < j

ProvokedPC(log) == AfterAnEffect(log, {"recover", "stray"})

ProvokedEO(log) == AfterAnEffect(log, {"recover", "stray"})

\* Once a gate was consumed, the run died, or was delivered to without fork intent.
ProvokedCO(log) ==
    \E i \in Of(log, {"consume"}), j \in Of(log, {"recover", "stray", "reanswer"}) : i < j

Answers(log) == SelectSeq(log, LAMBDA e : e.kind = "consume")

ProvokedOA(log) == Len(Answers(log)) > 1 /\ Answers(log)[1].value /= Answers(log)[2].value

ProvokedFD(log) ==
    /\ Len(Answers(log)) > 1
    /\ \E j \in Of(log, {"fork"}) : log[j].value /= Answers(log)[2].value
=============================================================================
