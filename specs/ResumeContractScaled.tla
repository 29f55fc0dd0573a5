------------------------ MODULE ResumeContractScaled ------------------------
(***************************************************************************)
(* ResumeContract for bounds at which a fault's state space is too large   *)
(* to be explored value by value.  No action and no property tells one     *)
(* resume value from another, so two states that differ only in which      *)
(* value is which are one: with n values a space shrinks up to n! times.   *)
(* The values are model values here, which TLC can permute.  A verdict and *)
(* the length of a shortest counterexample stay what they are; the numbers *)
(* of states do not.                                                       *)
(***************************************************************************)
EXTENDS ResumeContract, TLC

AnyOrder == Permutations(Values)
=============================================================================
