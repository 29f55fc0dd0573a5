------------------------------ MODULE IndCheck ------------------------------
(***************************************************************************)
(* An inductive invariant of the reference machine of ResumeContract, from *)
(* which its six properties follow.  TLC takes every state that satisfies  *)
(* it, reachable or not, as an initial state, and checks every successor;  *)
(* as no state is left out, one step stands for runs of any length.        *)
(*                                                                         *)
(* The conjunct that carries the rest is FrontierTrails.  ExecTask alone   *)
(* sets pcRegress, and only where pc <= frontier.                          *)
(***************************************************************************)
EXTENDS ResumeContract

FrontierTrails == frontier = pc - 1

\* An effect fires with the durable completion of its task, and at no other time.
EffectsAreDurable == \A t \in Tasks : effects[t] = IF t <= frontier THEN 1 ELSE 0

\* The log holds the tasks up to the frontier, in order.
LogIsPrefix ==
    /\ Len(ckpts) = frontier
    /\ \A k \in DOMAIN ckpts : ckpts[k].task = k /\ ckpts[k].valid

ParkedAtGate == waiting => pc = IP

BranchesRouted == \A k \in DOMAIN forkVals : forkOuts[k] = Outcome(forkVals[k])

RecoveriesSkip == \A k \in DOMAIN recHist : recHist[k].dec = "skip"

NeverRegressed == ~pcRegress

IndInv ==
    /\ TypeOK
    /\ FrontierTrails
    /\ EffectsAreDurable
    /\ LogIsPrefix
    /\ ParkedAtGate
    /\ BranchesRouted
    /\ RecoveriesSkip
    /\ NeverRegressed

-----------------------------------------------------------------------------
(* The same for TLC to enumerate: what an equation gives is fixed first,   *)
(* the sequences are drawn last.                                           *)

SeqsOver(S, lengths) == UNION { [1..n -> S] : n \in lengths }

IndInit ==
    /\ pc \in 1..(NTasks + 1)
    /\ frontier = pc - 1
    /\ effects = [t \in Tasks |-> IF t < pc THEN 1 ELSE 0]
    /\ ckpts = [k \in 1..(pc - 1) |-> [task |-> k, valid |-> TRUE]]
    /\ pcRegress = FALSE
    /\ waiting \in (IF pc = IP THEN BOOLEAN ELSE {FALSE})
    /\ consumedVal \in Values \union {NoVal}
    /\ extraResumes \in 0..MaxExtraResumes
    /\ crashes \in 0..MaxCrashes
    /\ recHist \in SeqsOver([dur : 0..NTasks, dec : {"skip"}], {crashes})
    /\ forkVals \in SeqsOver(Values, 0..MaxResumes)
    /\ forkOuts = [k \in DOMAIN forkVals |-> Outcome(forkVals[k])]

\* The base case is among the initial states, too.
IndSpec == (Init \/ IndInit) /\ [][Next]_vars

-----------------------------------------------------------------------------
(* That IndInit leaves out no state of IndInv: the variables are drawn from*)
(* all that TypeOK allows (where it sets no bound, from more than can fit),*)
(* each conjunct of IndInv asked as soon as its variables are drawn.       *)

Drawn ==
    /\ pc \in 1..(NTasks + 1)
    /\ frontier \in 0..NTasks
    /\ FrontierTrails
    /\ pcRegress \in BOOLEAN
    /\ NeverRegressed
    /\ waiting \in BOOLEAN
    /\ ParkedAtGate
    /\ effects \in [Tasks -> 0..2]
    /\ EffectsAreDurable
    /\ ckpts \in SeqsOver([task : Tasks, valid : BOOLEAN], 0..(NTasks + 1))
    /\ LogIsPrefix
    /\ consumedVal \in Values \union {NoVal}
    /\ extraResumes \in 0..MaxExtraResumes
    /\ crashes \in 0..MaxCrashes
    /\ recHist \in SeqsOver([dur : 0..NTasks, dec : {"skip", "replay", "reexec", "prefixreplay"}],
                            {crashes})
    /\ RecoveriesSkip
    /\ forkVals \in SeqsOver(Values, 0..MaxResumes)
    /\ forkOuts \in SeqsOver({ Outcome(v) : v \in Values }, {Len(forkVals)})
    /\ BranchesRouted

DrawnSpec == Drawn /\ [][Next]_vars
=============================================================================
