----------------------------- MODULE ResumeState -----------------------------
(***************************************************************************)
(* The bounds and the variables of ResumeContract, for modules that add to *)
(* its machine: such a module extends this one, takes the machine as Plane *)
(* (an instance of ResumeContract), and defines each action anew as one of *)
(* Plane's and what is added, so that the action keeps its name.           *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Int;
    NTasks,
    \* @type: Int;
    IP,
    \* @type: Set(Str);
    Values,
    \* @type: Str;
    NoVal,
    \* @type: Int;
    MaxResumes,
    \* @type: Int;
    MaxCrashes,
    \* @type: Int;
    MaxExtraResumes

\* The assumptions of an instance are not checked, so they stand here again.
ASSUME /\ NTasks \in Nat /\ IP \in 2..NTasks
       /\ NoVal \notin Values
       /\ {MaxResumes, MaxCrashes, MaxExtraResumes} \subseteq Nat

VARIABLES
    \* @type: Int;
    pc,
    \* @type: Int -> Int;
    effects,
    \* @type: Seq({ task: Int, valid: Bool });
    ckpts,
    \* @type: Int;
    frontier,
    \* @type: Bool;
    waiting,
    \* @type: Str;
    consumedVal,
    \* @type: Seq(Str);
    forkVals,
    \* @type: Seq(Seq(Str));
    forkOuts,
    \* @type: Int;
    crashes,
    \* @type: Seq({ dur: Int, dec: Str });
    recHist,
    \* @type: Int;
    extraResumes,
    \* @type: Bool;
    pcRegress
=============================================================================
