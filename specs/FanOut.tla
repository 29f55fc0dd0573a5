------------------------------- MODULE FanOut -------------------------------
(***************************************************************************)
(* A fan-out that is broken off: after task 1 a run goes on in two parallel*)
(* tasks, 2 and 3, which task 4 joins.  One of them completes, durably; the*)
(* other one is unlucky.  Either it fails, and the call comes back with its*)
(* error; then the run is retried in the same process, or the process dies.*)
(* Or the process dies while it runs.  Is what its sibling did done again? *)
(*                                                                         *)
(* With all switches FALSE it never is.                                    *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* what a retry does again beside the unlucky task: its sibling
    \* @type: Bool;
    FaultRetrySuperstep,
    \* everything
    \* @type: Bool;
    FaultRetryReplay,
    \* the same of a recovery after the death of the process
    \* @type: Bool;
    FaultCrashSuperstep,
    \* @type: Bool;
    FaultCrashReplay

ASSUME {FaultRetrySuperstep, FaultRetryReplay, FaultCrashSuperstep, FaultCrashReplay}
       \subseteq BOOLEAN

VARIABLES
    \* how often each task's effect fired
    \* @type: Int -> Int;
    effects,
    \* which completions are durable
    \* @type: Seq(Bool);
    durable,
    \* whether the last call came back with an error
    \* @type: Bool;
    refused,
    \* the task that was chosen to be unlucky, once a run began
    \* @type: Seq(Int);
    unlucky,
    \* @type: Int;
    failures,
    \* @type: Int;
    retries,
    \* @type: Int;
    crashes

vars == <<effects, durable, refused, unlucky, failures, retries, crashes>>

Tasks == 1..4
Parallel == {2, 3}
Sibling(task) == 5 - task

Init ==
    /\ effects = [t \in Tasks |-> 0]
    /\ durable = [t \in Tasks |-> FALSE]
    /\ refused = FALSE
    /\ unlucky = <<>>
    /\ failures = 0
    /\ retries = 0
    /\ crashes = 0

\* @type: (Set(Int), Set(Int)) => Bool;
Fire(tasks, again) ==
    effects' = [t \in Tasks |-> effects[t] + (IF t \in tasks \union again THEN 1 ELSE 0)]

\* The run goes up to the unlucky task, and its sibling completes.
Begin(task) ==
    /\ unlucky = <<>>
    /\ unlucky' = <<task>>
    /\ Fire({1, Sibling(task)}, {})
    /\ durable' = [t \in Tasks |-> t \in {1, Sibling(task)}]

RunFails(task) ==
    /\ Begin(task)
    /\ failures' = failures + 1
    /\ refused' = TRUE
    /\ UNCHANGED <<retries, crashes>>

RunHeld(task) ==
    /\ Begin(task)
    /\ refused' = FALSE
    /\ UNCHANGED <<failures, retries, crashes>>

\* The rest is done, and what is done again.
\* @type: Set(Int) => Bool;
Complete(again) ==
    /\ Fire({unlucky[1], 4}, again)
    /\ durable' = [t \in Tasks |-> TRUE]
    /\ refused' = FALSE

Broken == unlucky /= <<>> /\ ~durable[4]

\* It was only held, and goes on.
Proceed ==
    /\ Broken
    /\ failures = 0
    /\ Complete({})
    /\ UNCHANGED <<unlucky, failures, retries, crashes>>

\* @type: (Bool, Bool) => Set(Int);
Again(superstep, replay) ==
    CASE replay -> {1, Sibling(unlucky[1])}
      [] ~replay /\ superstep -> {Sibling(unlucky[1])}
      [] OTHER -> {}

Retry ==
    /\ Broken
    /\ failures > 0
    /\ retries' = retries + 1
    /\ Complete(Again(FaultRetrySuperstep, FaultRetryReplay))
    /\ UNCHANGED <<unlucky, failures, crashes>>

Crash ==
    /\ Broken
    /\ crashes' = crashes + 1
    /\ Complete(Again(FaultCrashSuperstep, FaultCrashReplay))
    /\ UNCHANGED <<unlucky, failures, retries>>

Next ==
    \/ \E t \in Parallel : RunFails(t)
    \/ \E t \in Parallel : RunHeld(t)
    \/ Proceed
    \/ Retry
    \/ Crash

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

EffectExactlyOnce == \A t \in DOMAIN effects : effects[t] <= 1

SiblingOnce == \A t \in Parallel : unlucky = <<t>> => effects[Sibling(t)] <= 1

SurvivesRetry == retries > 0 => SiblingOnce

SurvivesDeath == crashes > 0 => SiblingOnce
=============================================================================
