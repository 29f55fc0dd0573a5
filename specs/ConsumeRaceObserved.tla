------------------------ MODULE ConsumeRaceObserved ------------------------
(***************************************************************************)
(* What no system shows of ConsumeRace, computed from the events of an     *)
(* observed run, and when a property was provoked.  The events of a        *)
(* delivery, its number in `task`, are "read" (it is held past its read),  *)
(* "read refused", "late" (it came after another's consumption, and        *)
(* neither consumed nor was refused), "write" (it was let go, and          *)
(* consumed), "write refused" and "write inert" (let go, it did neither).  *)
(***************************************************************************)
EXTENDS ConsumeRace, Sequences

ThoseOf(log, kinds) == {log[i].task : i \in {j \in DOMAIN log : log[j].kind \in kinds}}

ConsumedOf(log) == ThoseOf(log, {"write"})

RefusedOf(log) == ThoseOf(log, {"read refused", "late", "write refused", "write inert"})

\* Two deliveries were under way at once, or one came after another's consumption.
ProvokedRace(log) ==
    /\ ConsumedOf(log) /= {}
    /\ Cardinality(ConsumedOf(log) \cup RefusedOf(log)) > 1

\* All of them are over.
ProvokedServed(log) == ConsumedOf(log) \cup RefusedOf(log) = Racers
=============================================================================
