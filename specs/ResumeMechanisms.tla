-------------------------- MODULE ResumeMechanisms --------------------------
(***************************************************************************)
(* ResumeContract, and the race of R11_ConsumeCount, under the mechanisms  *)
(* of MechanismState.                                                      *)
(***************************************************************************)
EXTENDS MechanismSteps

Next ==
    \/ ExecTask
    \/ EmitInterrupt
    \/ \E v \in Values : Consume(v)
    \/ \E v \in Values : ForkResume(v)
    \/ CrashRecover
    \/ ExtraResume
    \/ \E v \in Values : RaceConsume(v)

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Next)
=============================================================================
