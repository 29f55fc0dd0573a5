-------------------------- MODULE ParkedMechanisms --------------------------
(***************************************************************************)
(* ResumeContractParked, with durable parking, under the mechanisms of     *)
(* MechanismState.                                                         *)
(***************************************************************************)
EXTENDS MechanismSteps

Next ==
    \/ ExecTask
    \/ EmitInterrupt
    \/ \E v \in Values : Consume(v)
    \/ \E v \in Values : ForkResume(v)
    \/ CrashRecover
    \/ ExtraResume
    \/ CrashWhileParked

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Next)
=============================================================================
