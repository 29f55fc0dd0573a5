------------------------------ MODULE LruCache ------------------------------
(***************************************************************************)
(* A cache that holds Capacity keys.  When it is full, the key that was    *)
(* not asked for the longest makes room for the new one.                   *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Set(Str);
    Keys,
    \* @type: Int;
    Capacity,
    \* @type: Int;
    MaxCalls,
    \* a mistake: being asked for again changes nothing
    \* @type: Bool;
    FaultFifo

VARIABLES
    \* @type: Int;
    calls,
    \* the keys in the cache; the last makes room
    \* @type: Seq(Str);
    order,
    \* @type: Int;
    size,
    \* the key that was asked for last, and whether it was in the cache
    \* @type: { key: Str, hit: Bool };
    last

vars == <<calls, order, size, last>>

Init ==
    /\ calls = 0
    /\ order = <<>>
    /\ size = 0
    /\ last = [key |-> "", hit |-> FALSE]

Holds(k) == \E i \in DOMAIN order : order[i] = k

\* The order after k was asked for.
\* @type: Str => Seq(Str);
Asked(k) ==
    LET
        \* @type: Str => Bool;
        Other(x) == x /= k
        others == SelectSeq(order, Other)
    IN
    IF Holds(k)
    THEN IF FaultFifo THEN order ELSE <<k>> \o others
    ELSE <<k>> \o (IF size < Capacity THEN order ELSE SubSeq(order, 1, Capacity - 1))

Lookup(k) ==
    /\ calls < MaxCalls
    /\ calls' = calls + 1
    /\ order' = Asked(k)
    /\ size' = Len(order')
    /\ last' = [key |-> k, hit |-> Holds(k)]

Next == \E k \in Keys : Lookup(k)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

Bounded == size <= Capacity

\* What was asked for last is in the cache.
KeepsLast == last.key /= "" => Holds(last.key)
=============================================================================
