------------------------------- MODULE Leases -------------------------------
(***************************************************************************)
(* One lease, kept in a table, and clients that want it.  Time passes only *)
(* when it is told to.  A client that was granted the lease believes that  *)
(* it holds it until its term is over; whoever gets it next has a greater  *)
(* token.  The clients live on one machine, which may crash; the table     *)
(* outlives them.                                                          *)
(*                                                                         *)
(* With all switches FALSE that is how it is.  Each switch is a mistake.   *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    \* @type: Set(Str);
    Clients,
    \* how long a lease lasts
    \* @type: Int;
    Term,
    \* @type: Int;
    MaxTime,
    \* a renewal does not look whose the lease is
    \* @type: Bool;
    FaultAnyOwner,
    \* a renewal does not look whether the lease is over
    \* @type: Bool;
    FaultAnyTime,
    \* what the table was told is gone with those who told it
    \* @type: Bool;
    FaultNoCommit

VARIABLES
    \* @type: Int;
    now,
    \* what the table says; the lease is over when `expires` has come
    \* @type: { owner: Str, token: Int, expires: Int };
    row,
    \* until when each client believes that it holds the lease
    \* @type: Str -> Int;
    until,
    \* whom the table answered last, and with which token; 0 is a refusal
    \* @type: { to: Str, token: Int };
    reply

vars == <<now, row, until, reply>>

NoLease == [owner |-> "nobody", token |-> 0, expires |-> 0]
NoBelief == [c \in Clients |-> 0]
NoReply == [to |-> "nobody", token |-> 0]

Init ==
    /\ now = 0
    /\ row = NoLease
    /\ until = NoBelief
    /\ reply = NoReply

Live == row.expires > now
Believes(c) == until[c] > now

\* If it grants what c asks for, the table's row becomes r; c believes what it is told.
\* @type: (Str, Bool, { owner: Str, token: Int, expires: Int }) => Bool;
Answer(c, grant, r) ==
    /\ row' = IF grant THEN r ELSE row
    /\ until' = [until EXCEPT ![c] = IF grant THEN r.expires ELSE 0]
    /\ reply' = [to |-> c, token |-> IF grant THEN r.token ELSE 0]

Acquire(c) ==
    /\ Answer(c, ~Live, [owner |-> c, token |-> row.token + 1, expires |-> now + Term])
    /\ UNCHANGED now

Renew(c) ==
    /\ Answer(c, (row.owner = c \/ FaultAnyOwner) /\ (Live \/ FaultAnyTime),
              [row EXCEPT !.expires = now + Term])
    /\ UNCHANGED now

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ reply' = NoReply
    /\ UNCHANGED <<row, until>>

Crash ==
    /\ row' = IF FaultNoCommit THEN NoLease ELSE row
    /\ until' = NoBelief
    /\ reply' = NoReply
    /\ UNCHANGED now

Next ==
    \/ \E c \in Clients : Acquire(c)
    \/ \E c \in Clients : Renew(c)
    \/ Tick
    \/ Crash

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

MutualExclusion == \A c, d \in Clients : Believes(c) /\ Believes(d) => c = d

\* What a client believes, the table says.
Backed == \A c \in Clients : Believes(c) => row.owner = c /\ until[c] <= row.expires

TokensGrow == [][row'.token >= row.token]_vars
=============================================================================
