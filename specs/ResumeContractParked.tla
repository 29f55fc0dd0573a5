------------------------ MODULE ResumeContractParked ------------------------
(***************************************************************************)
(* ResumeContract with the crash that it leaves out: of a run that is      *)
(* parked at its interrupt.  An interrupt is emitted once.  Where parking  *)
(* is durable the run waits on after the recovery; where it is volatile    *)
(* nobody asks again, and the run is safe because it is dead.              *)
(***************************************************************************)
EXTENDS ResumeState

CONSTANTS
    \* @type: Bool;
    ParkDurable,
    \* @type: Bool;
    FaultReplay,
    \* @type: Bool;
    FaultForkIgnore,
    \* @type: Bool;
    FaultInvalidPersist,
    \* @type: Bool;
    FaultNondetRecovery,
    \* @type: Bool;
    FaultDoubleConsume,
    \* @type: Bool;
    FaultPrefixReplay

ASSUME {ParkDurable, FaultReplay, FaultForkIgnore, FaultInvalidPersist,
        FaultNondetRecovery, FaultDoubleConsume, FaultPrefixReplay} \subseteq BOOLEAN

VARIABLE
    \* @type: Bool;
    emitted

Plane == INSTANCE ResumeContract

vars == <<pc, effects, ckpts, frontier, waiting, consumedVal, forkVals, forkOuts,
          crashes, recHist, extraResumes, pcRegress, emitted>>

Init == Plane!Init /\ emitted = FALSE

ExecTask == Plane!ExecTask /\ UNCHANGED emitted

EmitInterrupt ==
    /\ ~emitted
    /\ Plane!EmitInterrupt
    /\ emitted' = TRUE

Consume(v) == Plane!Consume(v) /\ UNCHANGED emitted

ForkResume(v) == Plane!ForkResume(v) /\ UNCHANGED emitted

CrashRecover == Plane!CrashRecover /\ UNCHANGED emitted

ExtraResume == Plane!ExtraResume /\ UNCHANGED emitted

\* As CrashRecover, but of a run that is parked.
CrashWhileParked ==
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ waiting
    /\ waiting' = ParkDurable
    /\ crashes' = crashes + 1
    /\ \E d \in Plane!Decisions :
        /\ pc' = d.pc
        /\ recHist' = Append(recHist, [dur |-> frontier, dec |-> d.dec])
    /\ UNCHANGED <<effects, ckpts, frontier, consumedVal, forkVals, forkOuts,
                   extraResumes, pcRegress, emitted>>

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

-----------------------------------------------------------------------------

TypeOK == Plane!TypeOK /\ emitted \in BOOLEAN

PrefixConsistency == Plane!PrefixConsistency
EffectExactlyOnce == Plane!EffectExactlyOnce
ForkDeterminism == Plane!ForkDeterminism
CheckpointValidity == Plane!CheckpointValidity
ConsumeOnce == Plane!ConsumeOnce
RecoveryDeterminism == Plane!RecoveryDeterminism

EventuallyCompletes == <>(pc = NTasks + 1)
=============================================================================
