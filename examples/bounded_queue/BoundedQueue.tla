---------------------------- MODULE BoundedQueue ----------------------------
(***************************************************************************)
(* A queue of at most Capacity items, of which at most MaxPuts are put in: *)
(* what came out is what was put in, in that order.                        *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Set(Str);
    Items,
    \* @type: Int;
    Capacity,
    \* @type: Int;
    MaxPuts

VARIABLES
    \* what was put in, in that order
    \* @type: Seq(Str);
    given,
    \* what came out, in that order
    \* @type: Seq(Str);
    taken,
    \* how much is in it
    \* @type: Int;
    size

vars == <<given, taken, size>>

Init == given = <<>> /\ taken = <<>> /\ size = 0

Put(x) ==
    /\ size < Capacity
    /\ Len(given) < MaxPuts
    /\ given' = Append(given, x)
    /\ size' = size + 1
    /\ UNCHANGED taken

\* Into a full queue nothing goes.
Overfill == size = Capacity /\ UNCHANGED vars

Get ==
    /\ size > 0
    /\ taken' = Append(taken, given[Len(taken) + 1])
    /\ size' = size - 1
    /\ UNCHANGED given

Next == (\E x \in Items : Put(x)) \/ Overfill \/ Get

Spec == Init /\ [][Next]_vars

InOrder == taken = SubSeq(given, 1, Len(taken))

Bounded == size <= Capacity
=============================================================================
