------------------------------ MODULE TwoGates ------------------------------
(***************************************************************************)
(* The resume plane with two gates in sequence: a run of NTasks tasks, two *)
(* of them behind an interrupt each, that may crash between its gates and  *)
(* while it is parked at either, be forked at the second one, and be       *)
(* resumed once too often.                                                 *)
(*                                                                         *)
(* As in ResumeContract, with all switches FALSE this is the reference     *)
(* machine, and each switch is the mechanism of a faulty one.              *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Int;
    NTasks,
    \* the two tasks behind a gate
    \* @type: Set(Int);
    Gates,
    \* @type: Set(Str);
    Values,
    \* @type: Str;
    NoVal,
    \* how many values may be supplied, the two answers among them
    \* @type: Int;
    MaxResumes,
    \* @type: Int;
    MaxCrashes,
    \* @type: Int;
    MaxExtraResumes,
    \* a recovery starts again from task 1
    \* @type: Bool;
    FaultReplay,
    \* a fork at the second gate is served what was first answered there
    \* @type: Bool;
    FaultForkIgnore,
    \* a completed run that is resumed fires the second gate's effect again
    \* @type: Bool;
    FaultDoubleConsume,
    \* whatever is supplied is overruled by the first answer that the run ever had
    \* @type: Bool;
    FaultFirstAnswer

First == CHOOSE g \in Gates : \A h \in Gates : g <= h
Second == CHOOSE g \in Gates : \A h \in Gates : g >= h

ASSUME /\ NTasks \in Nat /\ Gates \subseteq 2..NTasks /\ First < Second
       /\ NoVal \notin Values
       /\ {MaxResumes, MaxCrashes, MaxExtraResumes} \subseteq Nat
       /\ {FaultReplay, FaultForkIgnore, FaultDoubleConsume, FaultFirstAnswer} \subseteq BOOLEAN

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
    \* the gate at pc asked and was not answered
    \* @type: Bool;
    waiting,
    \* the value that was consumed last
    \* @type: Str;
    consumedVal,
    \* the values supplied, at the gates and then with fork intent, and the outcome of each
    \* @type: Seq(Str);
    forkVals,
    \* @type: Seq(Seq(Str));
    forkOuts,
    \* @type: Int;
    crashes,
    \* @type: Int;
    extraResumes,
    \* a latch: a task of the durable prefix was executed again
    \* @type: Bool;
    pcRegress

vars == <<pc, effects, frontier, waiting, consumedVal, forkVals, forkOuts,
          crashes, extraResumes, pcRegress>>

Tasks == 1..NTasks

\* To consume is to complete the gated task.
Consumed(gate) == frontier >= gate

\* @type: Str => Seq(Str);
Outcome(v) == <<v>>

\* @type: (Int, Int) => Int;
Max(a, b) == IF a >= b THEN a ELSE b

\* @type: (Int -> Int, Int) => (Int -> Int);
Fired(counts, task) == [counts EXCEPT ![task] = @ + 1]

Init ==
    /\ pc = 1
    /\ effects = [t \in Tasks |-> 0]
    /\ frontier = 0
    /\ waiting = FALSE
    /\ consumedVal = NoVal
    /\ forkVals = <<>>
    /\ forkOuts = <<>>
    /\ crashes = 0
    /\ extraResumes = 0
    /\ pcRegress = FALSE

ExecTask ==
    /\ pc \in Tasks
    /\ ~waiting
    /\ pc \in Gates => Consumed(pc)
    /\ effects' = Fired(effects, pc)
    /\ frontier' = Max(frontier, pc)
    /\ pcRegress' = (pcRegress \/ pc <= frontier)
    /\ pc' = pc + 1
    \* A gated task that is executed again goes on with the value that it had.
    /\ consumedVal' = CASE pc = First -> forkOuts[1][1]
                        [] pc = Second -> forkOuts[2][1]
                        [] OTHER -> consumedVal
    /\ UNCHANGED <<waiting, forkVals, forkOuts, crashes, extraResumes>>

EmitInterrupt ==
    /\ pc \in Gates
    /\ ~waiting
    /\ ~Consumed(pc)
    /\ waiting' = TRUE
    /\ UNCHANGED <<pc, effects, frontier, consumedVal, forkVals, forkOuts, crashes,
                   extraResumes, pcRegress>>

Consume(v) ==
    LET served == IF FaultFirstAnswer /\ forkVals /= <<>> THEN forkVals[1] ELSE v IN
    /\ waiting
    /\ Len(forkVals) < MaxResumes
    /\ waiting' = FALSE
    /\ consumedVal' = served
    /\ effects' = Fired(effects, pc)
    /\ frontier' = pc
    /\ pc' = pc + 1
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, Outcome(served))
    /\ UNCHANGED <<crashes, extraResumes, pcRegress>>

\* Of the values supplied, the second is the second gate's answer.
ForkResume(v) ==
    /\ Consumed(Second)
    /\ Len(forkVals) < MaxResumes
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, CASE FaultFirstAnswer -> forkOuts[1]
                                      [] ~FaultFirstAnswer /\ FaultForkIgnore -> forkOuts[2]
                                      [] OTHER -> Outcome(v))
    /\ UNCHANGED <<pc, effects, frontier, waiting, consumedVal, crashes, extraResumes,
                   pcRegress>>

CrashRecover ==
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ ~waiting
    /\ crashes' = crashes + 1
    /\ pc' = IF FaultReplay THEN 1 ELSE frontier + 1
    /\ UNCHANGED <<effects, frontier, waiting, consumedVal, forkVals, forkOuts,
                   extraResumes, pcRegress>>

\* The run is found parked, by whoever looks; there is nothing to recover.
CrashWhileParked ==
    /\ crashes < MaxCrashes
    /\ waiting
    /\ crashes' = crashes + 1
    /\ UNCHANGED <<pc, effects, frontier, waiting, consumedVal, forkVals, forkOuts,
                   extraResumes, pcRegress>>

ExtraResume ==
    /\ pc = NTasks + 1
    /\ extraResumes < MaxExtraResumes
    /\ extraResumes' = extraResumes + 1
    /\ effects' = IF FaultDoubleConsume THEN Fired(effects, Second) ELSE effects
    /\ UNCHANGED <<pc, frontier, waiting, consumedVal, forkVals, forkOuts, crashes, pcRegress>>

Next ==
    \/ ExecTask
    \/ EmitInterrupt
    \/ \E v \in Values : Consume(v)
    \/ \E v \in Values : ForkResume(v)
    \/ CrashRecover
    \/ CrashWhileParked
    \/ ExtraResume

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

TypeOK ==
    /\ pc \in 1..(NTasks + 1)
    /\ DOMAIN effects = Tasks
    /\ \A t \in Tasks : effects[t] \in Nat
    /\ frontier \in 0..NTasks
    /\ waiting \in BOOLEAN
    /\ waiting => pc \in Gates
    /\ consumedVal \in Values \union {NoVal}
    /\ \A k \in DOMAIN forkVals : forkVals[k] \in Values
    /\ Len(forkOuts) = Len(forkVals)
    /\ Len(forkVals) <= MaxResumes
    /\ crashes \in 0..MaxCrashes
    /\ extraResumes \in 0..MaxExtraResumes
    /\ pcRegress \in BOOLEAN

PrefixConsistency == ~pcRegress

EffectExactlyOnce == \A t \in DOMAIN effects : effects[t] <= 1

ConsumeOncePerGate == \A g \in Gates : effects[g] <= 1

\* Each gate goes on with the value that was given to it.
OwnAnswers == \A k \in DOMAIN forkOuts : k <= 2 => forkOuts[k] = Outcome(forkVals[k])

\* So does each fork of the second gate.
ForkDeterminism == \A k \in DOMAIN forkOuts : k > 2 => forkOuts[k] = Outcome(forkVals[k])
=============================================================================
