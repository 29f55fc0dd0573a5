------------------------ MODULE LangGraphForkObserved ------------------------
(***************************************************************************)
(* When the properties of LangGraphFork were provoked, from the events of  *)
(* an observed run: each invocation is one of kind "fork".                 *)
(***************************************************************************)
EXTENDS LangGraphFork

Forks(log) == SelectSeq(log, LAMBDA e : e.kind = "fork")

ProvokedFD(log) ==
    \E i, j \in DOMAIN Forks(log) : i < j /\ Forks(log)[i].value /= Forks(log)[j].value

ProvokedRI(log) ==
    \E j \in DOMAIN Forks(log) : j > 1 /\ Forks(log)[j].value = Forks(log)[1].value
=============================================================================
