---------------------------- MODULE ConsumeRace ----------------------------
(***************************************************************************)
(* K deliveries to one parked interrupt.  Each reads the flag that says    *)
(* that the run waits, and lowers it later, in a step of its own: what it  *)
(* read may have been overtaken by then.  With a compare-and-swap on the   *)
(* store one of those that are under way goes through and the others are   *)
(* refused.  Which one that is depends on when the swap is made (a claim   *)
(* that is staked at the read is one too), so the module leaves it open.   *)
(* Without a compare-and-swap each of them consumes.  The gated effect is  *)
(* of the second step, in which a delivery goes on with what it read.      *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    \* how many deliveries there are
    \* @type: Int;
    K,
    \* how many tasks the run has
    \* @type: Int;
    NTasks,
    \* the one that is gated
    \* @type: Int;
    IP,
    \* the flag is lowered by one delivery alone
    \* @type: Bool;
    CompareAndSwap

ASSUME /\ K \in Nat /\ NTasks \in Nat /\ IP \in 1..NTasks
       /\ CompareAndSwap \in BOOLEAN

VARIABLES
    \* the run waits for an answer
    \* @type: Bool;
    waiting,
    \* what each delivery read of that
    \* @type: Int -> Str;
    saw,
    \* the deliveries that consumed the interrupt
    \* @type: Set(Int);
    consumed,
    \* those that were turned away, at either step
    \* @type: Set(Int);
    refused,
    \* those that had read before the first one wrote
    \* @type: Set(Int);
    early,
    \* how often each task's effect fired
    \* @type: Int -> Int;
    effects,
    \* the delivery that took the last step, 0 at the beginning
    \* @type: Int;
    last

vars == <<waiting, saw, consumed, refused, early, effects, last>>

Racers == 1..K

Over(r) == r \in consumed \cup refused

UnderWay(r) == saw[r] = "waiting" /\ ~Over(r)

\* The run parked: every task before the gated one is done.
Init ==
    /\ waiting = TRUE
    /\ saw = [r \in Racers |-> "nothing"]
    /\ consumed = {}
    /\ refused = {}
    /\ early = {}
    /\ effects = [t \in 1..NTasks |-> IF t < IP THEN 1 ELSE 0]
    /\ last = 0

Read(r) ==
    /\ saw[r] = "nothing"
    /\ saw' = [saw EXCEPT ![r] = IF waiting THEN "waiting" ELSE "answered"]
    /\ refused' = IF waiting THEN refused ELSE refused \cup {r}
    /\ last' = r
    /\ UNCHANGED <<waiting, consumed, early, effects>>

Consume(r) ==
    /\ CompareAndSwap => waiting
    /\ waiting' = FALSE
    /\ consumed' = consumed \cup {r}
    /\ effects' = [effects EXCEPT ![IP] = @ + 1]
    /\ UNCHANGED refused

\* The swap was another's, or is going to be.
BeRefused(r) ==
    /\ CompareAndSwap
    /\ waiting => {s \in Racers \ {r} : UnderWay(s)} /= {}
    /\ refused' = refused \cup {r}
    /\ UNCHANGED <<waiting, consumed, effects>>

\* A conjunction, so that TLC labels the step with the name here.
Write(r) ==
    /\ UnderWay(r)
    /\ (Consume(r) \/ BeRefused(r))
    /\ early' = IF \E s \in Racers : saw[s] = "waiting" /\ Over(s)
                THEN early ELSE {s \in Racers : saw[s] /= "nothing"}
    /\ last' = r
    /\ UNCHANGED saw

Next ==
    \/ \E r \in Racers : Read(r)
    \/ \E r \in Racers : Write(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

TypeOK ==
    /\ waiting \in BOOLEAN
    /\ saw \in [Racers -> {"nothing", "waiting", "answered"}]
    /\ consumed \subseteq Racers /\ refused \subseteq Racers /\ early \subseteq Racers
    /\ consumed \cap refused = {}
    /\ effects \in [1..NTasks -> 0..K]
    /\ last \in 0..K

\* CO-c
ConsumeOnceCount == Cardinality(consumed) <= 1

\* CO-e
ConsumeOnceEffect == effects[IP] <= 1

\* Once every delivery is over, one of them was taken.
Served == (\A r \in Racers : Over(r)) => consumed /= {}

\* What it comes to without a compare-and-swap: those consume that had read before the first one
\* wrote, each of them and nobody else.
EarlyConsume ==
    /\ consumed \subseteq early
    /\ (\A r \in Racers : Over(r)) => Cardinality(consumed) = Cardinality(early)
=============================================================================
