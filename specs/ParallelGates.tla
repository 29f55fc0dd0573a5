---------------------------- MODULE ParallelGates ----------------------------
(***************************************************************************)
(* Two gates at once: after task 1 a run goes on in two branches, tasks 2  *)
(* and 3, each behind an interrupt of its own; task 4 joins them.  Both    *)
(* interrupts wait from the start.  They are answered by a map that says   *)
(* which value is whose, for both or for one of them.  A value that names  *)
(* no interrupt is refused while both wait.  The process may die where     *)
(* nothing runs, and what was answered may be answered again, to no effect.*)
(*                                                                         *)
(* With all switches FALSE this is the reference machine.                  *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Set(Str);
    Values,
    \* @type: Str;
    NoVal,
    \* @type: Int;
    MaxBare,
    \* @type: Int;
    MaxCrashes,
    \* @type: Int;
    MaxStrays,
    \* a recovery starts again from task 1, and both interrupts ask again
    \* @type: Bool;
    FaultReplay,
    \* a value that names no interrupt is given to both
    \* @type: Bool;
    FaultBareToAll,
    \* of two values in one map, each branch is given the other's
    \* @type: Bool;
    FaultCross,
    \* one answer is enough for task 4
    \* @type: Bool;
    FaultEarlyJoin,
    \* a branch that is answered again fires its effect again
    \* @type: Bool;
    FaultDoubleConsume

ASSUME /\ NoVal \notin Values
       /\ {MaxBare, MaxCrashes, MaxStrays} \subseteq Nat
       /\ {FaultReplay, FaultBareToAll, FaultCross, FaultEarlyJoin, FaultDoubleConsume}
          \subseteq BOOLEAN

VARIABLES
    \* how often each task's effect fired
    \* @type: Int -> Int;
    effects,
    \* for each branch, whether it waits, and the value that it went on with
    \* @type: Seq(Bool);
    waits,
    \* @type: Seq(Str);
    served,
    \* whether the last call was refused
    \* @type: Bool;
    refused,
    \* what the tester supplied by name, to each branch once
    \* @type: Seq(Str);
    givenLeft,
    \* @type: Seq(Str);
    givenRight,
    \* @type: Int;
    bare,
    \* @type: Int;
    crashes,
    \* @type: Int;
    strays

vars == <<effects, waits, served, refused, givenLeft, givenRight, bare, crashes, strays>>

Branches == 1..2
TaskOf(b) == b + 1

Init ==
    /\ effects = [t \in 1..4 |-> IF t = 1 THEN 1 ELSE 0]
    /\ waits = <<TRUE, TRUE>>
    /\ served = <<NoVal, NoVal>>
    /\ refused = FALSE
    /\ givenLeft = <<>>
    /\ givenRight = <<>>
    /\ bare = 0
    /\ crashes = 0
    /\ strays = 0

\* The branches of a set go on, each with its value; with the last of them, task 4.
\* @type: (Set(Int), Seq(Str)) => Bool;
GoOn(branches, values) ==
    LET open(b) == waits[b] /\ b \notin branches
        joins == \/ \A b \in Branches : ~open(b)
                 \/ FaultEarlyJoin /\ effects[4] = 0
    IN  /\ waits' = [b \in Branches |-> open(b)]
        /\ served' = [b \in Branches |-> IF b \in branches THEN values[b] ELSE served[b]]
        /\ effects' = [t \in 1..4 |->
               CASE t = 4 -> effects[4] + (IF joins THEN 1 ELSE 0)
                 [] \E b \in branches : t = TaskOf(b) -> effects[t] + 1
                 [] OTHER -> effects[t]]
        /\ refused' = FALSE

AnswerLeft(v) ==
    /\ givenLeft = <<>>
    /\ givenLeft' = <<v>>
    /\ GoOn({1}, <<v, NoVal>>)
    /\ UNCHANGED <<givenRight, bare, crashes, strays>>

AnswerRight(v) ==
    /\ givenRight = <<>>
    /\ givenRight' = <<v>>
    /\ GoOn({2}, <<NoVal, v>>)
    /\ UNCHANGED <<givenLeft, bare, crashes, strays>>

AnswerBoth(v, w) ==
    /\ givenLeft = <<>>
    /\ givenRight = <<>>
    /\ givenLeft' = <<v>>
    /\ givenRight' = <<w>>
    /\ GoOn(Branches, IF FaultCross THEN <<w, v>> ELSE <<v, w>>)
    /\ UNCHANGED <<bare, crashes, strays>>

\* A value for nobody in particular, while nobody was answered.
BareResume ==
    /\ bare < MaxBare
    /\ givenLeft = <<>>
    /\ givenRight = <<>>
    /\ bare' = bare + 1
    /\ IF FaultBareToAll
       THEN LET v == CHOOSE v \in Values : TRUE IN GoOn(Branches, <<v, v>>)
       ELSE refused' = TRUE /\ UNCHANGED <<effects, waits, served>>
    /\ UNCHANGED <<givenLeft, givenRight, crashes, strays>>

\* Everything that was answered is answered again, otherwise.
StrayMap ==
    /\ strays < MaxStrays
    /\ givenLeft /= <<>> \/ givenRight /= <<>>
    /\ strays' = strays + 1
    /\ refused' = FALSE
    /\ effects' = [t \in 1..4 |->
           IF FaultDoubleConsume /\ \E b \in Branches : t = TaskOf(b) /\ served[b] /= NoVal
           THEN effects[t] + 1 ELSE effects[t]]
    /\ UNCHANGED <<waits, served, givenLeft, givenRight, bare, crashes>>

Crash ==
    /\ crashes < MaxCrashes
    /\ crashes' = crashes + 1
    /\ refused' = FALSE
    /\ IF FaultReplay
       THEN /\ effects' = [effects EXCEPT ![1] = @ + 1]
            /\ waits' = <<TRUE, TRUE>>
            /\ served' = <<NoVal, NoVal>>
       ELSE UNCHANGED <<effects, waits, served>>
    /\ UNCHANGED <<givenLeft, givenRight, bare, strays>>

Next ==
    \/ \E v \in Values : AnswerLeft(v)
    \/ \E v \in Values : AnswerRight(v)
    \/ \E v, w \in Values : AnswerBoth(v, w)
    \/ BareResume
    \/ StrayMap
    \/ Crash

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

EffectExactlyOnce == \A t \in DOMAIN effects : effects[t] <= 1

ConsumeOncePerGate == \A b \in Branches : effects[TaskOf(b)] <= 1

\* @type: Seq(Str) => Str;
Given(supplied) == IF supplied = <<>> THEN NoVal ELSE supplied[1]

\* Each branch went on with the value that names it, and with nothing else.
OwnAnswers == served = <<Given(givenLeft), Given(givenRight)>>

JoinWaits == effects[4] > 0 => \A b \in Branches : served[b] /= NoVal
=============================================================================
