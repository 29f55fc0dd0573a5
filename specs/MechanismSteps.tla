--------------------------- MODULE MechanismSteps ---------------------------
(***************************************************************************)
(* The steps of ResumeContract, and of its companions for races and for    *)
(* runs killed while parked, under the mechanisms of MechanismState.  With *)
(* all of them FALSE the steps are those of ResumeContract; where two act  *)
(* on one step, the one that comes first in the definition does.           *)
(***************************************************************************)
EXTENDS MechanismState

\* @type: (Int, Bool) => { task: Int, valid: Bool };
Completion(t, valid) == [task |-> t, valid |-> valid]

\* Completions of ascending tasks become durable, unless the log is out of reach.
Record(new) ==
    /\ ckpts' = ckpts \o new
    /\ frontier' = IF new = <<>> THEN frontier ELSE Plane!Max(frontier, new[Len(new)].task)

Unrecorded == UNCHANGED <<ckpts, frontier>>

\* An answer is taken by the call that starts the work before the gate.
AnswerStarts == FaultOneStep \/ FaultStartOver

\* The task that is entered next, 0 where none is.
Entered ==
    CASE waiting /\ AnswerStarts                 -> 1
      [] waiting /\ FaultSavedAtRest /\ Answered -> IP      \* asked again, answered the same
      [] waiting                                 -> 0
      [] pc = IP /\ mode = "rearmed"             -> 0
      [] pc = IP /\ ~Answered /\ ~FaultNoGate    -> 0
      [] pc \in Plane!Tasks                      -> pc
      [] OTHER                                   -> 0

\* A task whose completion is not durable by itself.
Volatile(t) == (FaultSavedAtRest /\ t < NTasks) \/ (FaultOneStep /\ t < IP)

ExecTask ==
    LET t == Entered
        done == Completion(t, ~(FaultInvalidPersist /\ t = NTasks))
        refused == FaultRefusedLate /\ t = NTasks
    IN  /\ ~dead
        /\ t > 0
        /\ effects' = IF FaultPrefixReplay /\ t = IP THEN effects ELSE [effects EXCEPT ![t] = @ + 1]
        /\ pcRegress' = (pcRegress \/ t <= frontier)
        /\ CASE mode = "unrecorded" -> Unrecorded /\ UNCHANGED unsaved
             [] mode = "merged"     -> Unrecorded /\ UNCHANGED unsaved
             [] mode \notin {"unrecorded", "merged"} /\ Volatile(t)
                                    -> Unrecorded /\ unsaved' = Append(unsaved, done)
             [] OTHER               -> Record(Append(unsaved, done)) /\ unsaved' = <<>>
        /\ pc' = IF refused THEN pc ELSE t + 1
        /\ dead' = refused
        /\ waiting' = FALSE
        \* A gate that asks again is answered the same; a log shows who wrote last.
        /\ consumedVal' = IF Answered /\ (t = IP \/ mode = "raced") THEN forkVals[1]
                          ELSE consumedVal
        /\ mode' = CASE waiting /\ AnswerStarts     -> "answering"
                     [] mode \in {"forked", "raced"} -> "plain"
                     [] OTHER                       -> mode
        /\ UNCHANGED <<forkVals, forkOuts, crashes, recHist, extraResumes, racer>>

EmitInterrupt ==
    /\ ~dead
    /\ ~FaultNoGate
    /\ pc = IP
    /\ ~waiting
    /\ \/ ~Answered /\ mode /= "answering"
       \/ mode = "rearmed"
    /\ waiting' = TRUE
    /\ Record(unsaved)
    /\ unsaved' = <<>>
    /\ mode' = IF mode = "rearmed" THEN "plain" ELSE mode
    /\ UNCHANGED <<pc, effects, consumedVal, forkVals, forkOuts, crashes, recHist,
                   extraResumes, pcRegress, dead, racer>>

\* A second consumer that has read is held before its effect: what it ran on the way counts.
\* @type: Set(Str);
Racers == IF (FaultBothFire \/ FaultBothRecorded \/ FaultFirstKept) /\ ~Answered
          THEN {"none", "read"} ELSE {racer}

\* @type: (Int -> Int, Str) => Int -> Int;
WithPrefixOf(counts, second) ==
    IF AnswerStarts /\ second = "read"
    THEN [t \in Plane!Tasks |-> IF t < IP THEN counts[t] + 1 ELSE counts[t]]
    ELSE counts

Consume(v) ==
    LET done == Append(unsaved, Completion(IP, TRUE))
    IN  /\ ~dead
        /\ IF AnswerStarts THEN pc = IP /\ mode = "answering" ELSE waiting
        /\ Len(forkVals) < MaxResumes
        /\ \E second \in Racers :
            /\ racer' = second
            /\ effects' = WithPrefixOf([effects EXCEPT ![IP] = @ + 1], second)
        /\ IF FaultSavedAtRest
           THEN Unrecorded /\ unsaved' = done
           ELSE Record(done) /\ unsaved' = <<>>
        /\ waiting' = FALSE
        /\ consumedVal' = v
        /\ pc' = IP + 1
        /\ forkVals' = Append(forkVals, v)
        /\ forkOuts' = Append(forkOuts, Plane!Outcome(v))
        /\ mode' = IF mode = "answering" THEN "plain" ELSE mode
        /\ UNCHANGED <<crashes, recHist, extraResumes, pcRegress, dead>>

\* What is left of a run from here to its end, as a fork that runs to its end completes it.
\* @type: Int => Seq({ task: Int, valid: Bool });
Rest(from) == [k \in 1..(NTasks + 1 - from) |-> Completion(from + k - 1, TRUE)]

ForkResume(v) ==
    /\ Plane!Consumed
    /\ Len(forkVals) < MaxResumes
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts,
                          IF FaultForkIgnore \/ FaultForkMerged \/ mode = "addressed"
                          THEN forkOuts[1] ELSE Plane!Outcome(v))
    /\ IF FaultForkMerged THEN Record(Rest(pc)) ELSE Unrecorded
    /\ mode' = CASE FaultForkMerged                  -> "merged"
                 [] FaultForkHead \/ FaultForkRestart -> "forked"
                 [] OTHER                             -> mode
    /\ UNCHANGED <<pc, effects, waiting, consumedVal, crashes, recHist, extraResumes,
                   pcRegress, dead, unsaved, racer>>

\* What a recovery goes on with: `from` the task, `parked` at the gate, with the `answer`, in a
\* `mode`, or not at all (`stands`).  `dec` is what its record says, in the words of ResumeContract.
Skip == [dec |-> "skip", from |-> frontier + 1, parked |-> FALSE, answer |-> consumedVal,
         mode |-> IF mode \in {"forked", "answering", "raced"} THEN "plain" ELSE mode, stands |-> TRUE]

FromTheStart == [Skip EXCEPT !.dec = "replay", !.from = 1]

Anew == [FromTheStart EXCEPT !.answer = NoVal, !.mode = "plain"]

\* @type: Set({ dec: Str, from: Int, parked: Bool, answer: Str, mode: Str, stands: Bool });
Found ==
    CASE FaultDeadRecovery -> { [Skip EXCEPT !.dec = "dead", !.from = pc, !.stands = FALSE] }
      [] FaultRearm        -> { [FromTheStart EXCEPT !.mode = IF Answered THEN "rearmed" ELSE @] }
      [] FaultLostPending  -> { FromTheStart }
      [] FaultStartOver    -> { FromTheStart }
      [] FaultRestart      -> { Anew }
      [] FaultUnrecorded   -> { [FromTheStart EXCEPT !.mode = "unrecorded"] }
      [] FaultForkRestart /\ mode \in {"forked", "merged"}
                           -> { Anew }
      [] FaultForkHead /\ mode = "forked"
                           -> { [Skip EXCEPT !.from = NTasks + 1,
                                             !.answer = forkOuts[Len(forkOuts)][1]] }
      [] FaultSavedAtRest  -> { [Skip EXCEPT !.parked = (frontier = IP - 1), !.answer = NoVal] }
      [] FaultAddressedGate /\ ~Answered
                           -> { [Skip EXCEPT !.mode = "addressed"] }
      [] OTHER             -> { [Skip EXCEPT !.dec = d.dec, !.from = d.pc] : d \in Plane!Decisions }

\* The line of a run that goes on at the head of a fork: up to the gate its own.
ForkLine == SelectSeq(ckpts, LAMBDA c : c.task < IP) \o Rest(IP)

GoOnWith(found) ==
    /\ crashes' = crashes + 1
    /\ pc' = found.from
    /\ waiting' = found.parked
    /\ consumedVal' = found.answer
    /\ mode' = found.mode
    /\ dead' = ~found.stands
    /\ unsaved' = <<>>
    /\ recHist' = Append(recHist, [dur |-> frontier, dec |-> found.dec])
    /\ UNCHANGED <<effects, forkVals, forkOuts, extraResumes, pcRegress, racer>>

CrashRecover ==
    /\ ~dead
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ ~waiting
    /\ \E found \in Found :
        /\ GoOnWith(found)
        /\ IF FaultForkHead /\ found.from = NTasks + 1
           THEN ckpts' = ForkLine /\ frontier' = NTasks
           ELSE Unrecorded

\* As ResumeContractParked has it where parking is durable; what waits is found waiting.
CrashWhileParked ==
    /\ ~dead
    /\ crashes < MaxCrashes
    /\ pc \in 2..NTasks
    /\ waiting
    /\ \E d \in Plane!Decisions :
        GoOnWith([Skip EXCEPT !.dec = d.dec, !.from = d.pc, !.parked = TRUE])
    /\ Unrecorded

ExtraResume ==
    /\ ~dead
    /\ pc = NTasks + 1
    /\ extraResumes < MaxExtraResumes
    /\ extraResumes' = extraResumes + 1
    /\ effects' = IF FaultDoubleConsume THEN [effects EXCEPT ![IP] = @ + 1] ELSE effects
    /\ pc' = IF FaultRerunCompleted \/ FaultStartOver THEN 1 ELSE pc
    /\ UNCHANGED <<ckpts, frontier, waiting, consumedVal, forkVals, forkOuts, crashes, recHist,
                   pcRegress, dead, unsaved, mode, racer>>

\* The second consumer is let go, and consumes as well.
RaceConsume(v) ==
    /\ ~dead
    /\ racer = "read"
    /\ pc = IP + 1
    /\ Len(forkVals) < MaxResumes
    /\ racer' = "done"
    /\ forkVals' = Append(forkVals, v)
    /\ forkOuts' = Append(forkOuts, IF FaultFirstKept THEN forkOuts[1] ELSE Plane!Outcome(v))
    /\ effects' = [effects EXCEPT ![IP] = @ + 1]
    /\ IF FaultBothRecorded
       THEN Record(<<Completion(IP, TRUE)>>) /\ consumedVal' = v /\ mode' = "raced"
       ELSE Unrecorded /\ UNCHANGED <<consumedVal, mode>>
    /\ UNCHANGED <<pc, waiting, crashes, recHist, extraResumes, pcRegress, dead, unsaved>>
=============================================================================
