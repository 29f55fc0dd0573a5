--------------------------- MODULE R10_Separations ---------------------------
(***************************************************************************)
(* Three recoveries, each made so that it breaks one property of the six   *)
(* and leaves the others: what shows that the property does not follow     *)
(* from the others.  The machine is the reference of ResumeContract with   *)
(* the lineage of its working state.                                       *)
(*                                                                         *)
(*   FaultRegate     past the gate a recovery may arm it again; the second *)
(*                   consumption fires nothing      (recovery determinism) *)
(*   FaultRebuild    a recovery starts over from the initial values, the   *)
(*                   prefix served from the record   (prefix continuation) *)
(*   FaultRedeliver  a recovery may issue the frontier task's effect again *)
(*                   and go on behind it             (effect exactly-once) *)
(***************************************************************************)
EXTENDS ResumeState

CONSTANTS
    \* @type: Bool;
    FaultRegate,
    \* @type: Bool;
    FaultRebuild,
    \* @type: Bool;
    FaultRedeliver

ASSUME {FaultRegate, FaultRebuild, FaultRedeliver} \subseteq BOOLEAN

VARIABLES
    \* what the working state was derived from, "log" or "initial"
    \* @type: Str;
    lineage,
    \* the prefix is walked again, served from the record
    \* @type: Bool;
    replaying

Plane == INSTANCE ResumeContract WITH
          FaultReplay <- FALSE, FaultForkIgnore <- FALSE, FaultInvalidPersist <- FALSE,
          FaultNondetRecovery <- FALSE, FaultDoubleConsume <- FALSE, FaultPrefixReplay <- FALSE

added == <<lineage, replaying>>
vars == <<pc, effects, ckpts, frontier, waiting, consumedVal, forkVals, forkOuts,
          crashes, recHist, extraResumes, pcRegress, lineage, replaying>>

Init ==
    /\ Plane!Init
    /\ lineage = "log"
    /\ replaying = FALSE

\* A task of the prefix is passed again, its effect served from the record.
ServeTask ==
    /\ ckpts' = Append(ckpts, [task |-> pc, valid |-> TRUE])
    /\ pc' = pc + 1
    /\ replaying' = (pc < frontier)
    /\ UNCHANGED <<effects, frontier, waiting, consumedVal, forkVals, forkOuts,
                   crashes, recHist, extraResumes, pcRegress>>

ExecTask ==
    /\ IF replaying THEN ServeTask ELSE Plane!ExecTask /\ UNCHANGED replaying
    /\ UNCHANGED lineage

EmitInterrupt == Plane!EmitInterrupt /\ UNCHANGED added

\* The gate was armed again: its effect is in the record, as is all up to the frontier.
ConsumeAgain(v) ==
    /\ waiting
    /\ Len(forkVals) < MaxResumes
    /\ waiting' = FALSE
    /\ consumedVal' = v
    /\ ckpts' = Append(ckpts, [task |-> IP, valid |-> TRUE])
    /\ pc' = frontier + 1
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, Plane!Outcome(v))
    /\ UNCHANGED <<effects, frontier, crashes, recHist, extraResumes, pcRegress>>

Consume(v) ==
    /\ IF Plane!Consumed THEN ConsumeAgain(v) ELSE Plane!Consume(v)
    /\ UNCHANGED added

ForkResume(v) == Plane!ForkResume(v) /\ UNCHANGED added

\* What a recovery may do.  `dec` is what its record says, in the words of
\* ResumeContract: Redeliver decides as the reference does, to skip.
Skip == [dec |-> "skip", pc |-> frontier + 1, rearm |-> FALSE, reissue |-> FALSE]

\* @type: Set({ dec: Str, pc: Int, rearm: Bool, reissue: Bool });
Decisions ==
    IF FaultRebuild
    THEN { [Skip EXCEPT !.dec = "replay", !.pc = 1] }
    ELSE {Skip}
         \union (IF FaultRegate /\ Plane!Consumed /\ frontier >= IP
                 THEN { [Skip EXCEPT !.dec = "reexec", !.pc = IP, !.rearm = TRUE] }
                 ELSE {})
         \union (IF FaultRedeliver /\ frontier \in Plane!Tasks \ {IP}
                 THEN { [Skip EXCEPT !.reissue = TRUE] }
                 ELSE {})

CrashRecover ==
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ ~waiting
    /\ crashes' = crashes + 1
    /\ \E d \in Decisions :
        /\ pc' = d.pc
        /\ waiting' = d.rearm
        /\ effects' = IF d.reissue THEN [effects EXCEPT ![frontier] = @ + 1] ELSE effects
        /\ recHist' = Append(recHist, [dur |-> frontier, dec |-> d.dec])
    /\ lineage' = IF FaultRebuild THEN "initial" ELSE "log"
    /\ replaying' = FaultRebuild
    /\ UNCHANGED <<ckpts, frontier, consumedVal, forkVals, forkOuts, extraResumes, pcRegress>>

ExtraResume == Plane!ExtraResume /\ UNCHANGED added

Next ==
    \/ ExecTask
    \/ EmitInterrupt
    \/ \E v \in Values : Consume(v)
    \/ \E v \in Values : ForkResume(v)
    \/ CrashRecover
    \/ ExtraResume

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

TypeOK ==
    /\ Plane!TypeOK
    /\ lineage \in {"log", "initial"}
    /\ replaying \in BOOLEAN
    /\ replaying => pc <= frontier

\* What was recovered also has to come from the log.
PrefixConsistency == Plane!PrefixConsistency /\ (crashes > 0 => lineage = "log")

EffectExactlyOnce == Plane!EffectExactlyOnce
ForkDeterminism == Plane!ForkDeterminism
CheckpointValidity == Plane!CheckpointValidity
ConsumeOnce == Plane!ConsumeOnce
RecoveryDeterminism == Plane!RecoveryDeterminism
=============================================================================
