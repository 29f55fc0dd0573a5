--------------------------- MODULE MechanismState ---------------------------
(***************************************************************************)
(* Mechanisms that the six switches of ResumeContract do not hold, what    *)
(* they have to remember, and what they may break.  Each of them is what a *)
(* framework does, seen in the receipts and told in docs/findings.md.      *)
(*                                                                         *)
(* What a recovery finds:                                                  *)
(*   FaultRearm          it starts at task 1, and the gate that was passed *)
(*                       asks again; nobody answers                        *)
(*   FaultLostPending    what a parked run is found by is deleted when an  *)
(*                       answer is taken: parked it is found, else it      *)
(*                       starts at task 1                                  *)
(*   FaultRestart        it is a new execution: at task 1, and without the *)
(*                       answer                                            *)
(*   FaultUnrecorded     it finds nothing, starts at task 1, and what runs *)
(*                       from then on is recorded nowhere                  *)
(*   FaultDeadRecovery   no run stands after it                            *)
(*   FaultForkHead       of two lines of one thread it finds the newest, a *)
(*                       fork's                                            *)
(*   FaultForkRestart    behind a fork it is a new execution               *)
(* When completions become durable:                                        *)
(*   FaultSavedAtRest    when the run rests: parked, or complete           *)
(*   FaultOneStep        the tasks up to the gate are one step: durable    *)
(*                       when it waits and when it ends, and run from its  *)
(*                       beginning for an answer                           *)
(* What a call does:                                                       *)
(*   FaultStartOver      there is one call, and it starts at task 1: to    *)
(*                       recover, to answer, and on a complete run         *)
(*   FaultRerunCompleted a complete run that is called again starts over   *)
(*   FaultNoGate         nothing asks: the gated task runs as any other    *)
(* What a fork is:                                                         *)
(*   FaultForkMerged     a resume of the run itself: it is served the      *)
(*                       first answer, its completions are the run's       *)
(*   FaultAddressedGate  recovered at an address before the gate, the run  *)
(*                       is a fork of itself; a fork at its gate is served *)
(*                       the first answer                                  *)
(* An output that breaks the schema:                                       *)
(*   FaultRefusedLate    it is refused behind its record, which stays      *)
(* Two consumers that both had read before one of them wrote:              *)
(*   FaultBothFire       both are admitted and fire                        *)
(*   FaultBothRecorded   and both are in the run's log, the last one's     *)
(*                       answer over the first one's                       *)
(*   FaultFirstKept      both fire, and what the first made of its answer  *)
(*                       is kept for both                                  *)
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
    \* @type: Bool;
    FaultRearm,
    \* @type: Bool;
    FaultLostPending,
    \* @type: Bool;
    FaultRestart,
    \* @type: Bool;
    FaultUnrecorded,
    \* @type: Bool;
    FaultDeadRecovery,
    \* @type: Bool;
    FaultForkHead,
    \* @type: Bool;
    FaultForkRestart,
    \* @type: Bool;
    FaultSavedAtRest,
    \* @type: Bool;
    FaultOneStep,
    \* @type: Bool;
    FaultStartOver,
    \* @type: Bool;
    FaultRerunCompleted,
    \* @type: Bool;
    FaultNoGate,
    \* @type: Bool;
    FaultForkMerged,
    \* @type: Bool;
    FaultAddressedGate,
    \* @type: Bool;
    FaultRefusedLate,
    \* @type: Bool;
    FaultBothFire,
    \* @type: Bool;
    FaultBothRecorded,
    \* @type: Bool;
    FaultFirstKept

ASSUME {FaultReplay, FaultForkIgnore, FaultInvalidPersist, FaultNondetRecovery,
        FaultDoubleConsume, FaultPrefixReplay, FaultRearm, FaultLostPending, FaultRestart,
        FaultUnrecorded, FaultDeadRecovery, FaultForkHead, FaultForkRestart, FaultSavedAtRest,
        FaultOneStep, FaultStartOver, FaultRerunCompleted, FaultNoGate, FaultForkMerged,
        FaultAddressedGate, FaultRefusedLate, FaultBothFire, FaultBothRecorded,
        FaultFirstKept} \subseteq BOOLEAN

VARIABLES
    \* no run stands: its start, its recovery or its output was refused
    \* @type: Bool;
    dead,
    \* completions that are not durable yet
    \* @type: Seq({ task: Int, valid: Bool });
    unsaved,
    \* what a mechanism has to remember, "plain" where there is nothing
    \* @type: Str;
    mode,
    \* a second consumer: "none", "read" what the first one read, "done"
    \* @type: Str;
    racer

Modes == {"plain", "answering", "rearmed", "forked", "merged", "addressed", "unrecorded",
          "raced"}

Plane == INSTANCE ResumeContract

vars == <<pc, effects, ckpts, frontier, waiting, consumedVal, forkVals, forkOuts, crashes,
          recHist, extraResumes, pcRegress, dead, unsaved, mode, racer>>

Init ==
    /\ Plane!Init
    /\ dead = FALSE
    /\ unsaved = <<>>
    /\ mode = "plain"
    /\ racer = "none"


Answered == forkVals /= <<>>

-----------------------------------------------------------------------------

TypeOK ==
    /\ pc \in 1..(NTasks + 1)
    /\ DOMAIN effects = Plane!Tasks
    /\ \A t \in Plane!Tasks : effects[t] \in Nat
    /\ \A c \in {ckpts[k] : k \in DOMAIN ckpts} \union {unsaved[k] : k \in DOMAIN unsaved} :
        c.task \in Plane!Tasks /\ c.valid \in BOOLEAN
    /\ frontier \in 0..NTasks
    /\ {waiting, pcRegress, dead} \subseteq BOOLEAN
    /\ consumedVal \in Values \union {NoVal}
    /\ \A k \in DOMAIN forkVals : forkVals[k] \in Values
    /\ Len(forkOuts) = Len(forkVals)
    /\ Len(forkVals) <= MaxResumes
    /\ crashes \in 0..MaxCrashes
    /\ Len(recHist) = crashes
    /\ \A k \in DOMAIN recHist : recHist[k].dur \in 0..NTasks
    /\ extraResumes \in 0..MaxExtraResumes
    /\ mode \in Modes
    /\ racer \in {"none", "read", "done"}

PrefixConsistency == Plane!PrefixConsistency
EffectExactlyOnce == Plane!EffectExactlyOnce
ForkDeterminism == Plane!ForkDeterminism
CheckpointValidity == Plane!CheckpointValidity
ConsumeOnce == Plane!ConsumeOnce
RecoveryDeterminism == Plane!RecoveryDeterminism
EventuallyCompletes == Plane!EventuallyCompletes

\* What none of the six says: a complete run left no effect out, and the gated
\* effect fired on an answer.
EffectAtLeastOnce == pc = NTasks + 1 => \A t \in Plane!Tasks : effects[t] >= 1
AnsweredFirst == effects[IP] > 0 => Answered
=============================================================================
