--------------------------- MODULE ResumeContract ---------------------------
(***************************************************************************)
(* The resume plane of a workflow framework: a run of NTasks tasks, one of *)
(* them (IP) gated by an interrupt, that may crash and recover, be forked  *)
(* at its interrupt, and be resumed once too often.                        *)
(*                                                                         *)
(* Six Boolean constants select the reference machine (all FALSE) or the   *)
(* mechanism of a deployed framework.  A switch changes what an action     *)
(* does; which properties that breaks is for the checker to find.          *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Int;
    NTasks,
    \* @type: Int;
    IP,
    \* @type: Set(Str);
    Values,
    \* @type: Str;
    NoVal,
    \* @type: Int;
    MaxResumes,
    \* @type: Int;
    MaxCrashes,
    \* @type: Int;
    MaxExtraResumes,
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

ASSUME /\ NTasks \in Nat /\ IP \in 2..NTasks
       /\ NoVal \notin Values
       /\ {MaxResumes, MaxCrashes, MaxExtraResumes} \subseteq Nat
       /\ {FaultReplay, FaultForkIgnore, FaultInvalidPersist,
           FaultNondetRecovery, FaultDoubleConsume, FaultPrefixReplay} \subseteq BOOLEAN

VARIABLES
    \* the next task, NTasks + 1 when the run is complete
    \* @type: Int;
    pc,
    \* how often each task's effect fired
    \* @type: Int -> Int;
    effects,
    \* the log of durable task completions
    \* @type: Seq({ task: Int, valid: Bool });
    ckpts,
    \* the highest task with a durable completion
    \* @type: Int;
    frontier,
    \* an interrupt was emitted and not consumed
    \* @type: Bool;
    waiting,
    \* @type: Str;
    consumedVal,
    \* the values supplied at the interrupt, and the outcome each of them saw
    \* @type: Seq(Str);
    forkVals,
    \* @type: Seq(Seq(Str));
    forkOuts,
    \* @type: Int;
    crashes,
    \* one record a recovery: the durable frontier it found, what it decided
    \* @type: Seq({ dur: Int, dec: Str });
    recHist,
    \* @type: Int;
    extraResumes,
    \* a latch: a task of the durable prefix was executed again
    \* @type: Bool;
    pcRegress

vars == <<pc, effects, ckpts, frontier, waiting, consumedVal, forkVals,
          forkOuts, crashes, recHist, extraResumes, pcRegress>>

Tasks == 1..NTasks
Consumed == consumedVal /= NoVal

\* What a branch makes of the value it was given: injective and not the
\* identity, so that fork determinism speaks of routing and not of v = v.
\* @type: Str => Seq(Str);
Outcome(v) == <<v>>

\* @type: (Int, Int) => Int;
Max(a, b) == IF a >= b THEN a ELSE b

Init ==
    /\ pc = 1
    /\ effects = [t \in Tasks |-> 0]
    /\ ckpts = <<>>
    /\ frontier = 0
    /\ waiting = FALSE
    /\ consumedVal = NoVal
    /\ forkVals = <<>>
    /\ forkOuts = <<>>
    /\ crashes = 0
    /\ recHist = <<>>
    /\ extraResumes = 0
    /\ pcRegress = FALSE

ExecTask ==
    /\ pc \in Tasks
    /\ ~waiting
    /\ pc = IP => Consumed
    /\ effects' = IF FaultPrefixReplay /\ pc = IP
                  THEN effects
                  ELSE [effects EXCEPT ![pc] = @ + 1]
    /\ ckpts' = Append(ckpts, [task |-> pc, valid |-> ~(FaultInvalidPersist /\ pc = NTasks)])
    /\ frontier' = Max(frontier, pc)
    /\ pcRegress' = (pcRegress \/ pc <= frontier)
    /\ pc' = pc + 1
    /\ UNCHANGED <<waiting, consumedVal, forkVals, forkOuts, crashes, recHist, extraResumes>>

EmitInterrupt ==
    /\ pc = IP
    /\ ~waiting
    /\ ~Consumed
    /\ waiting' = TRUE
    /\ UNCHANGED <<pc, effects, ckpts, frontier, consumedVal, forkVals, forkOuts,
                   crashes, recHist, extraResumes, pcRegress>>

Consume(v) ==
    /\ waiting
    /\ Len(forkVals) < MaxResumes
    /\ waiting' = FALSE
    /\ consumedVal' = v
    /\ effects' = [effects EXCEPT ![IP] = @ + 1]
    /\ ckpts' = Append(ckpts, [task |-> IP, valid |-> TRUE])
    /\ frontier' = Max(frontier, IP)
    /\ pc' = IP + 1
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, Outcome(v))
    /\ UNCHANGED <<crashes, recHist, extraResumes, pcRegress>>

ForkResume(v) ==
    /\ Consumed
    /\ Len(forkVals) < MaxResumes
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, IF FaultForkIgnore THEN forkOuts[1] ELSE Outcome(v))
    /\ UNCHANGED <<pc, effects, ckpts, frontier, waiting, consumedVal, crashes,
                   recHist, extraResumes, pcRegress>>

\* The decisions open to a recovery, with the task each of them goes on from.
\* Where several switches act, the first in this order does.
\* @type: Set({ dec: Str, pc: Int });
Decisions ==
    CASE FaultReplay         -> { [dec |-> "replay", pc |-> 1] }
      [] ~FaultReplay /\ FaultPrefixReplay
                             -> { [dec |-> "prefixreplay", pc |-> 1] }
      [] ~FaultReplay /\ ~FaultPrefixReplay /\ FaultNondetRecovery
                             -> { [dec |-> "skip", pc |-> frontier + 1],
                                  [dec |-> "reexec", pc |-> frontier] }
      [] OTHER               -> { [dec |-> "skip", pc |-> frontier + 1] }

CrashRecover ==
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ ~waiting
    /\ crashes' = crashes + 1
    /\ \E d \in Decisions :
        /\ pc' = d.pc
        /\ recHist' = Append(recHist, [dur |-> frontier, dec |-> d.dec])
    /\ UNCHANGED <<effects, ckpts, frontier, waiting, consumedVal, forkVals, forkOuts,
                   extraResumes, pcRegress>>

ExtraResume ==
    /\ pc = NTasks + 1
    /\ extraResumes < MaxExtraResumes
    /\ extraResumes' = extraResumes + 1
    /\ effects' = IF FaultDoubleConsume THEN [effects EXCEPT ![IP] = @ + 1] ELSE effects
    /\ UNCHANGED <<pc, ckpts, frontier, waiting, consumedVal, forkVals, forkOuts,
                   crashes, recHist, pcRegress>>

Next ==
    \/ ExecTask
    \/ EmitInterrupt
    \/ \E v \in Values : Consume(v)
    \/ \E v \in Values : ForkResume(v)
    \/ CrashRecover
    \/ ExtraResume

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Next)

-----------------------------------------------------------------------------

TypeOK ==
    /\ pc \in 1..(NTasks + 1)
    /\ DOMAIN effects = Tasks
    /\ \A t \in Tasks : effects[t] \in Nat
    /\ \A k \in DOMAIN ckpts : ckpts[k].task \in Tasks /\ ckpts[k].valid \in BOOLEAN
    /\ frontier \in 0..NTasks
    /\ waiting \in BOOLEAN
    /\ consumedVal \in Values \union {NoVal}
    /\ \A k \in DOMAIN forkVals : forkVals[k] \in Values
    /\ Len(forkOuts) = Len(forkVals)
    /\ Len(forkVals) <= MaxResumes
    /\ crashes \in 0..MaxCrashes
    /\ \A k \in DOMAIN recHist :
        /\ recHist[k].dur \in 0..NTasks
        /\ recHist[k].dec \in {"skip", "replay", "reexec", "prefixreplay"}
    /\ Len(recHist) = crashes
    /\ extraResumes \in 0..MaxExtraResumes
    /\ pcRegress \in BOOLEAN

PrefixConsistency == ~pcRegress

EffectExactlyOnce == \A t \in DOMAIN effects : effects[t] <= 1

ForkDeterminism == \A k \in DOMAIN forkOuts : forkOuts[k] = Outcome(forkVals[k])

CheckpointValidity == \A k \in DOMAIN ckpts : ckpts[k].valid

ConsumeOnce == effects[IP] <= 1

RecoveryDeterminism ==
    \A i, j \in DOMAIN recHist :
        recHist[i].dur = recHist[j].dur => recHist[i].dec = recHist[j].dec

EventuallyCompletes == <>(pc = NTasks + 1)

\* Its violation shows that a replayed prefix can cross the gate with the
\* gate's effect served from the record (run R9W).
GateMemoWitness ==
    ~ /\ Consumed
      /\ crashes > 0
      /\ pc > IP
      /\ effects[IP] = 1
      /\ effects[1] = 2
      /\ \E k \in DOMAIN recHist : recHist[k].dur = IP
=============================================================================
