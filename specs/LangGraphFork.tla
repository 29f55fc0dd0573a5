---------------------------- MODULE LangGraphFork ----------------------------
(***************************************************************************)
(* A parked interrupt that is invoked again and again, each time with a    *)
(* value: which of them each invocation is served.  Where the plane has    *)
(* one slot for the interrupt, the first value is recorded in it and every *)
(* invocation is served from there; keyed by fork, each invocation has a   *)
(* slot of its own.                                                        *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Set(Str);
    Values,
    \* @type: Int;
    MaxInvokes,
    \* @type: Bool;
    ForkKeyed

ASSUME MaxInvokes \in Nat /\ ForkKeyed \in BOOLEAN

VARIABLES
    \* the values that were supplied, in order
    \* @type: Seq(Str);
    supplied,
    \* the outcome that each invocation saw
    \* @type: Seq(Seq(Str));
    served,
    \* what is recorded at the interrupt, a value a slot
    \* @type: Seq(Str);
    slots

vars == <<supplied, served, slots>>

\* Injective and not the identity, as in ResumeContract.
\* @type: Str => Seq(Str);
F(v) == <<v>>

Init ==
    /\ supplied = <<>>
    /\ served = <<>>
    /\ slots = <<>>

Invoke(v) ==
    /\ Len(supplied) < MaxInvokes
    /\ supplied' = Append(supplied, v)
    /\ slots' = IF ForkKeyed \/ slots = <<>> THEN Append(slots, v) ELSE slots
    /\ served' = Append(served, F(slots'[Len(slots')]))

Next == \E v \in Values : Invoke(v)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

TypeOK ==
    /\ \A k \in DOMAIN supplied : supplied[k] \in Values
    /\ \A k \in DOMAIN slots : slots[k] \in Values
    /\ Len(served) = Len(supplied)
    /\ Len(supplied) <= MaxInvokes

ForkDeterminism == \A k \in DOMAIN served : served[k] = F(supplied[k])

ReplayIdempotence ==
    \A k \in DOMAIN supplied : supplied[k] = supplied[1] => served[k] = served[1]
=============================================================================
