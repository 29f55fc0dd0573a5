-------------------------- MODULE R11_ConsumeCount --------------------------
(***************************************************************************)
(* The resume plane with two consumers that race for one interrupt: a      *)
(* second one read that the run was waiting before the first one's         *)
(* consumption was written, and consumes as well.                          *)
(*                                                                         *)
(* Consume-once splits here: that the gated effect fires once (CO-e), and  *)
(* that the interrupt is consumed once (CO-c).  A gate that serves its     *)
(* effect from the record keeps the first and loses the second.            *)
(***************************************************************************)
EXTENDS ResumeState

CONSTANTS
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
    FaultPrefixReplay,
    \* a second consumer is admitted
    \* @type: Bool;
    FaultConcurrentConsume,
    \* and fires the gated effect again
    \* @type: Bool;
    FaultRaceEffect

ASSUME {FaultReplay, FaultForkIgnore, FaultInvalidPersist, FaultNondetRecovery,
        FaultDoubleConsume, FaultPrefixReplay, FaultConcurrentConsume,
        FaultRaceEffect} \subseteq BOOLEAN

VARIABLES
    \* how often the interrupt was consumed
    \* @type: Int;
    consumeCount,
    \* @type: Bool;
    raceUsed

plane == <<pc, effects, ckpts, frontier, waiting, consumedVal, forkVals,
           forkOuts, crashes, recHist, extraResumes, pcRegress>>
vars == <<plane, consumeCount, raceUsed>>

Plane == INSTANCE ResumeContract

Init ==
    /\ Plane!Init
    /\ consumeCount = 0
    /\ raceUsed = FALSE

Unraced == UNCHANGED <<consumeCount, raceUsed>>

\* Conjunctions, so that TLC labels the steps with the names here.
ExecTask == Plane!ExecTask /\ Unraced
EmitInterrupt == Plane!EmitInterrupt /\ Unraced
Consume(v) == Plane!Consume(v) /\ consumeCount' = consumeCount + 1 /\ UNCHANGED raceUsed
ForkResume(v) == Plane!ForkResume(v) /\ Unraced
CrashRecover == Plane!CrashRecover /\ Unraced
ExtraResume == Plane!ExtraResume /\ Unraced

\* The second consumer, which had read before the first one wrote.  What it
\* leaves behind is not on the run's own log.
RaceConsume(v) ==
    /\ FaultConcurrentConsume
    /\ ~raceUsed
    /\ consumeCount = 1
    /\ pc = IP + 1
    /\ Len(forkVals) < MaxResumes
    /\ raceUsed' = TRUE
    /\ consumeCount' = consumeCount + 1
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, Plane!Outcome(v))
    /\ effects' = IF FaultRaceEffect THEN [effects EXCEPT ![IP] = @ + 1] ELSE effects
    /\ UNCHANGED <<pc, ckpts, frontier, waiting, consumedVal, crashes, recHist,
                   extraResumes, pcRegress>>

Next ==
    \/ ExecTask
    \/ EmitInterrupt
    \/ \E v \in Values : Consume(v)
    \/ \E v \in Values : ForkResume(v)
    \/ CrashRecover
    \/ ExtraResume
    \/ \E v \in Values : RaceConsume(v)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

TypeOK ==
    /\ Plane!TypeOK
    /\ consumeCount \in 0..MaxResumes
    /\ raceUsed \in BOOLEAN

PrefixConsistency == Plane!PrefixConsistency
EffectExactlyOnce == Plane!EffectExactlyOnce
ForkDeterminism == Plane!ForkDeterminism
CheckpointValidity == Plane!CheckpointValidity
RecoveryDeterminism == Plane!RecoveryDeterminism

ConsumeOnceEffect == Plane!ConsumeOnce
ConsumeOnceCount == consumeCount <= 1
=============================================================================
