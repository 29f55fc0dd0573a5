--------------------------- MODULE R7_StateRebuild ---------------------------
(***************************************************************************)
(* Prefix continuation alone: a run of NTasks tasks without a gate, whose  *)
(* working state has a lineage.  A recovery goes on from the state that    *)
(* the log yields; with FaultStateRebuild it starts over from the initial  *)
(* values and walks the prefix again, each effect served from the record.  *)
(* No effect fires twice, and yet the run did not continue from its prefix.*)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    NTasks,
    \* @type: Int;
    MaxCrashes,
    \* @type: Bool;
    FaultStateRebuild

ASSUME /\ NTasks \in Nat /\ NTasks >= 2
       /\ MaxCrashes \in Nat
       /\ FaultStateRebuild \in BOOLEAN

VARIABLES
    \* the next task, NTasks + 1 when the run is complete
    \* @type: Int;
    pc,
    \* how often each task's effect fired
    \* @type: Int -> Int;
    effects,
    \* the highest task with a durable completion
    \* @type: Int;
    frontier,
    \* what the working state was derived from, "log" or "initial"
    \* @type: Str;
    lineage,
    \* the prefix is walked again, served from the record
    \* @type: Bool;
    replaying,
    \* @type: Int;
    crashes

vars == <<pc, effects, frontier, lineage, replaying, crashes>>

Tasks == 1..NTasks

\* @type: (Int, Int) => Int;
Max(a, b) == IF a >= b THEN a ELSE b

Init ==
    /\ pc = 1
    /\ effects = [t \in Tasks |-> 0]
    /\ frontier = 0
    /\ lineage = "log"
    /\ replaying = FALSE
    /\ crashes = 0

ExecTask ==
    /\ pc \in Tasks
    /\ effects' = IF replaying THEN effects ELSE [effects EXCEPT ![pc] = @ + 1]
    /\ frontier' = Max(frontier, pc)
    /\ replaying' = (replaying /\ pc < frontier)
    /\ pc' = pc + 1
    /\ UNCHANGED <<lineage, crashes>>

CrashRecover ==
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ crashes' = crashes + 1
    /\ pc' = IF FaultStateRebuild THEN 1 ELSE frontier + 1
    /\ lineage' = IF FaultStateRebuild THEN "initial" ELSE "log"
    /\ replaying' = FaultStateRebuild
    /\ UNCHANGED <<effects, frontier>>

Next ==
    \/ ExecTask
    \/ CrashRecover

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

TypeOK ==
    /\ pc \in 1..(NTasks + 1)
    /\ DOMAIN effects = Tasks
    /\ \A t \in Tasks : effects[t] \in Nat
    /\ frontier \in 0..NTasks
    /\ lineage \in {"log", "initial"}
    /\ replaying \in BOOLEAN
    /\ replaying => pc <= frontier
    /\ crashes \in 0..MaxCrashes

EffectExactlyOnce == \A t \in DOMAIN effects : effects[t] <= 1

PrefixContinuation == crashes > 0 => lineage = "log"
=============================================================================
