------------------------ MODULE ProjectedWriterPartial ------------------------
(***************************************************************************)
(* Commit, then project: one record, whose view is one row per entry.      *)
(*                                                                         *)
(* Read ProjectedWriter.tla first: the record, the commit, the faults and  *)
(* the way of reading TLA+ are explained there, and comments here are      *)
(* about what differs. A projection is now several writes: it asks which   *)
(* rows are missing, writes each of them by itself, unfenced, and clears   *)
(* the marker with a fenced write once every row is present. It can land   *)
(* for some entries and not for others, so each input is answered on its   *)
(* own.                                                                    *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, Bags, TLC

\* The instance.
CONSTANTS Processes, Sweepers, Clients, MaxBatch, Retries,
          Resubmits, Faults, Crashes

(***************************************************************************)
(* The variant. The protocol as built is the first value of each line.     *)
(***************************************************************************)
CONSTANTS
    Marker,           \* "flag": 1 = pending. "watermark": entries whose rows
                      \*   are known to be present
    RowsConditional,  \* TRUE: a row is written only if it is absent
    ClearWaits,       \* TRUE: the marker clears only when every row is there
    ClearFence,       \* the parts of the record the clear compares:
                      \*   {"version", "marker"}, fewer, or {}
    CommitFence,      \* likewise for the commit: {"version"} is enough
    ClearBumps,       \* TRUE: the clear makes a new version, as every fenced
                      \*   write does. FALSE: only a commit does
    StepKnowsReplays, \* TRUE: an id found in the log is not appended again
    AnswersEarly,     \* FALSE. TRUE: says Projected right after the commit
    Resume            \* TRUE. FALSE: nobody ever re-reads a pending record

ASSUME /\ Marker \in {"flag", "watermark"}
       /\ ClearFence \subseteq {"version", "marker"}
       /\ CommitFence \subseteq {"version", "marker"}
       /\ {RowsConditional, ClearWaits, ClearBumps, StepKnowsReplays, AnswersEarly, Resume}
              \subseteq BOOLEAN

VARIABLES
    record,   \* what the store holds: [version, marker, log]
    view,     \* for each id, how often its row was written into the view
    network,  \* writes sent and not landed yet (a bag)
    proc,     \* what each process and sweeper is doing; lost in a crash
    asks,     \* how often each client has asked
    told,     \* the answers each client has had, as a set
    faults,   \* faults still to come
    crashes   \* crashes still to come

vars == <<record, view, network, proc, asks, told, faults, crashes>>

(***************************************************************************)
(* Helpers.                                                                *)
(***************************************************************************)
All == Processes \cup Sweepers

Range(s) == {s[i] : i \in 1..Len(s)}

IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s

Pending(r) == IF Marker = "flag" THEN r.marker = 1 ELSE r.marker < Len(r.log)

\* The entries whose rows a projection of record r looks after: all of them
\* with a flag, those past the watermark with a watermark.
Unprojected(r) ==
    Range(SubSeq(r.log, IF Marker = "flag" THEN 1 ELSE r.marker + 1, Len(r.log)))

Batches == UNION {[1..n -> Clients] : n \in 1..MaxBatch}

RECURSIVE Fold(_, _)
Fold(log, batch) ==
    IF batch = <<>> THEN log
    ELSE LET id == Head(batch)
             replay == StepKnowsReplays /\ id \in Range(log)
         IN  Fold(IF replay THEN log ELSE Append(log, id), Tail(batch))

\* How many asks were not the client's first.
Resubmitted(a) == Cardinality({<<c, n>> \in Clients \X (2..Resubmits + 2) : n <= a[c]})

Nothing == [version |-> 0, marker |-> 0, log |-> <<>>]

\* todo: rows found missing and not tried yet. failed: rows whose write was
\* answered with an error, whatever became of it.
Idle == [at |-> "idle", batch |-> <<>>, held |-> Nothing, left |-> 0,
         todo |-> {}, failed |-> {}]

\* Answers a batch: Committed to those whose row failed, Projected to others.
Answer(batch, failed) ==
    told' = [c \in Clients |->
               IF c \notin Range(batch) THEN told[c]
               ELSE told[c] \cup {IF c \in failed THEN "Committed" ELSE "Projected"}]

(***************************************************************************)
(* The three writes. Only the commit and the clear are fenced: a row is a  *)
(* function of its committed entry, so the same row from an older record   *)
(* does no harm, provided it is not written over one that is there.        *)
(***************************************************************************)
CommitOf(p) == [kind |-> "commit", held |-> proc[p].held,
                log  |-> Fold(proc[p].held.log, proc[p].batch)]

ClearOf(p) == [kind |-> "clear", held |-> proc[p].held]

RowOf(id) == [kind |-> "row", id |-> id]

\* The writes a process may send next: a commit, a clear, or any row to do.
WritesOf(p) ==
    CASE proc[p].at = "commit" -> {CommitOf(p)}
      [] proc[p].at = "clear"  -> {ClearOf(p)}
      [] proc[p].at = "rows"   -> {RowOf(id) : id \in proc[p].todo}
      [] OTHER                 -> {}

Fits(w) ==
    \A part \in CASE w.kind = "commit" -> CommitFence
                  [] w.kind = "clear"  -> ClearFence
                  [] w.kind = "row"    -> {} :
        w.held[part] = record[part]

StoreCommit(w) ==
    /\ record' = [version |-> record.version + 1,
                  marker  |-> IF Marker = "flag" THEN 1 ELSE record.marker,
                  log     |-> w.log]
    /\ UNCHANGED view

StoreRow(w) ==
    /\ view' = [view EXCEPT ![w.id] = IF RowsConditional THEN 1 ELSE @ + 1]
    /\ UNCHANGED record

StoreClear(w) ==
    /\ record' = [version |-> IF ClearBumps THEN record.version + 1 ELSE record.version,
                  marker  |-> IF Marker = "flag" THEN 0 ELSE Len(w.held.log),
                  log     |-> record.log]
    /\ UNCHANGED view

Store(w) ==
    CASE w.kind = "commit" -> StoreCommit(w)
      [] w.kind = "row"    -> StoreRow(w)
      [] w.kind = "clear"  -> StoreClear(w)

(***************************************************************************)
(* A call.                                                                 *)
(*                                                                         *)
(*   idle -> read -> commit -> look -> rows -> clear -> idle               *)
(*             ^        |       ^        |       |                         *)
(*             +-failed-+       |        |    refused                      *)
(*                              |        |       v                         *)
(*                              |        |     reread -> idle, if nothing  *)
(*                              |        |       |             is pending  *)
(*                              +--------|-------+                         *)
(*                                       v                                 *)
(*                         idle, if a row failed: a verdict, not retried   *)
(***************************************************************************)
Begin(p) ==
    /\ proc[p].at = "idle"
    /\ \E batch \in Batches :
        /\ asks' = [c \in Clients |->
                      asks[c] + Cardinality({i \in DOMAIN batch : batch[i] = c})]
        /\ Resubmitted(asks') <= Resubmits
        /\ proc' = [proc EXCEPT ![p] = [Idle EXCEPT !.at = "read", !.batch = batch,
                                                    !.left = Retries]]
    /\ UNCHANGED <<record, view, network, told, faults, crashes>>

Read(p) ==
    /\ proc[p].at = "read"
    /\ LET replays == Fold(record.log, proc[p].batch) = record.log
       IN  IF ~replays THEN
               /\ proc' = [proc EXCEPT ![p].at = "commit", ![p].held = record]
               /\ UNCHANGED told
           ELSE IF Pending(record) THEN
               /\ proc' = [proc EXCEPT ![p].at = "look", ![p].held = record,
                                       ![p].left = Retries + 1]
               /\ UNCHANGED told
           ELSE
               /\ proc' = [proc EXCEPT ![p] = Idle]
               /\ Answer(proc[p].batch, {})
    /\ UNCHANGED <<record, view, network, asks, faults, crashes>>

\* A failed commit is tried again from a new read, or the call fails. A failed
\* clear is too, or every input is Committed.
GiveUpOrRetry(p) ==
    IF proc[p].at = "commit" THEN
        /\ proc' = [proc EXCEPT ![p] =
              IF proc[p].left = 0 THEN Idle
              ELSE [@ EXCEPT !.at = "read", !.held = Nothing, !.left = @ - 1]]
        /\ UNCHANGED told
    ELSE IF proc[p].left = 0 \/ ~Resume THEN
        /\ proc' = [proc EXCEPT ![p] = Idle]
        /\ Answer(proc[p].batch, Clients)
    ELSE
        /\ proc' = [proc EXCEPT ![p] = [@ EXCEPT !.at = "reread", !.held = Nothing,
                                                 !.left = @ - 1, !.failed = {}]]
        /\ UNCHANGED told

Commit(p) ==
    /\ proc[p].at = "commit"
    /\ IF Fits(CommitOf(p)) THEN
           /\ Store(CommitOf(p))
           /\ proc' = [proc EXCEPT ![p].at = "look", ![p].held = record',
                                   ![p].left = Retries + 1]
           /\ IF AnswersEarly THEN Answer(proc[p].batch, {}) ELSE UNCHANGED told
       ELSE GiveUpOrRetry(p) /\ UNCHANGED <<record, view>>
    /\ UNCHANGED <<network, asks, faults, crashes>>

\* Asks the view which rows are missing. What it learns is old at once.
Look(p) ==
    /\ proc[p].at = "look"
    /\ LET missing == {id \in Unprojected(proc[p].held) : view[id] = 0}
       IN  proc' = [proc EXCEPT ![p].at = IF missing = {} THEN "clear" ELSE "rows",
                                ![p].todo = missing]
    /\ UNCHANGED <<record, view, network, asks, told, faults, crashes>>

\* One row was answered, well or with an error. After the last one: clear if
\* none failed; otherwise the projection lists what failed and the call answers
\* from it at once, leaving the marker to the sweeper.
AfterRow(p, id, failed) ==
    LET todo == proc[p].todo \ {id}
    IN  IF todo # {} THEN
            /\ proc' = [proc EXCEPT ![p].todo = todo, ![p].failed = failed]
            /\ UNCHANGED told
        ELSE IF failed = {} \/ ~ClearWaits THEN
            /\ proc' = [proc EXCEPT ![p].at = "clear", ![p].todo = {}, ![p].failed = failed]
            /\ UNCHANGED told
        ELSE
            /\ proc' = [proc EXCEPT ![p] = Idle]
            /\ Answer(proc[p].batch, failed)

PutRow(p) ==
    /\ proc[p].at = "rows"
    /\ \E id \in proc[p].todo :
        /\ Store(RowOf(id))
        /\ AfterRow(p, id, proc[p].failed)
    /\ UNCHANGED <<network, asks, faults, crashes>>

Clear(p) ==
    /\ proc[p].at = "clear"
    /\ IF Fits(ClearOf(p)) THEN
           /\ Store(ClearOf(p))
           /\ proc' = [proc EXCEPT ![p] = Idle]
           /\ Answer(proc[p].batch, proc[p].failed)
       ELSE GiveUpOrRetry(p) /\ UNCHANGED <<record, view>>
    /\ UNCHANGED <<network, asks, faults, crashes>>

Reread(p) ==
    /\ proc[p].at = "reread"
    /\ IF Pending(record) THEN
           /\ proc' = [proc EXCEPT ![p].at = "look", ![p].held = record]
           /\ UNCHANGED told
       ELSE
           /\ proc' = [proc EXCEPT ![p] = Idle]
           /\ Answer(proc[p].batch, {})
    /\ UNCHANGED <<record, view, network, asks, faults, crashes>>

Sweep(s) ==
    /\ Resume
    /\ proc[s].at = "idle"
    /\ Pending(record)
    /\ proc' = [proc EXCEPT ![s] = [Idle EXCEPT !.at = "look", !.held = record]]
    /\ UNCHANGED <<record, view, network, asks, told, faults, crashes>>

(***************************************************************************)
(* What goes wrong.                                                        *)
(***************************************************************************)
Sent(w) == network' \in {network, network (+) SetToBag({w})}

Fault(p) ==
    /\ faults > 0
    /\ faults' = faults - 1
    /\ \E w \in WritesOf(p) :
        /\ Sent(w)
        /\ IF w.kind = "row" THEN AfterRow(p, w.id, proc[p].failed \cup {w.id})
                             ELSE GiveUpOrRetry(p)
    /\ UNCHANGED <<record, view, asks, crashes>>

\* Between two rows as well, with the next one on the network or not.
Crash(p) ==
    /\ crashes > 0
    /\ proc[p].at # "idle"
    /\ crashes' = crashes - 1
    /\ UNCHANGED network \/ \E w \in WritesOf(p) : Sent(w)
    /\ proc' = [proc EXCEPT ![p] = Idle]
    /\ UNCHANGED <<record, view, asks, told, faults>>

Deliver ==
    \E w \in BagToSet(network) :
        /\ network' = network (-) SetToBag({w})
        /\ IF Fits(w) THEN Store(w) ELSE UNCHANGED <<record, view>>
        /\ UNCHANGED <<proc, asks, told, faults, crashes>>

(***************************************************************************)
(* The whole.                                                              *)
(***************************************************************************)
Init ==
    /\ record = Nothing
    /\ view = [c \in Clients |-> 0]
    /\ network = EmptyBag
    /\ proc = [p \in All |-> Idle]
    /\ asks = [c \in Clients |-> 0]
    /\ told = [c \in Clients |-> {}]
    /\ faults = Faults
    /\ crashes = Crashes

Step(p) == Read(p) \/ Commit(p) \/ Look(p) \/ PutRow(p) \/ Clear(p) \/ Reread(p)

Next ==
    \/ \E p \in Processes : Begin(p)
    \/ \E s \in Sweepers : Sweep(s)
    \/ \E p \in All : Step(p) \/ Fault(p) \/ Crash(p)
    \/ Deliver

Spec == Init /\ [][Next]_vars

FairSpec ==
    /\ Spec
    /\ \A p \in Processes : WF_vars(Step(p))
    /\ \A s \in Sweepers : WF_vars(Sweep(s) \/ Step(s))
    /\ WF_vars(Deliver)

SameProcesses == Permutations(Processes)

Symmetry == SameProcesses \cup Permutations(Clients)

(***************************************************************************)
(* What must hold.                                                         *)
(***************************************************************************)
TypeOK ==
    /\ record.version \in Nat
    /\ record.marker \in Nat
    /\ record.log \in Seq(Clients)
    /\ view \in [Clients -> Nat]
    /\ \A p \in All :
        /\ proc[p].at \in {"idle", "read", "commit", "look", "rows", "clear", "reread"}
        /\ proc[p].at = "rows" <=> proc[p].todo # {}
    /\ asks \in [Clients -> 0..Resubmits + 1]
    /\ told \in [Clients -> SUBSET {"Projected", "Committed"}]
    /\ faults \in 0..Faults
    /\ crashes \in 0..Crashes

InView == {c \in Clients : view[c] > 0}

ViewIsLog == InView = Range(record.log)

OnceInLog == Cardinality(Range(record.log)) = Len(record.log)

OnceInView == \A c \in Clients : view[c] <= 1

\* No row without its entry.
ViewFollowsLog == InView \subseteq Range(record.log)

MarkerHonest == ~Pending(record) => ViewIsLog

Truthful ==
    \A c \in Clients :
        /\ "Projected" \in told[c] => c \in InView
        /\ "Committed" \in told[c] => c \in Range(record.log)

Quiet ==
    /\ \A p \in All : proc[p].at = "idle"
    /\ network = EmptyBag
    /\ ~\E s \in Sweepers : Resume /\ Pending(record)

Finished == Quiet => ViewIsLog

LogGrows == [][IsPrefix(record.log, record'.log)]_vars

Converges == <>[](ViewIsLog /\ OnceInView)

(***************************************************************************)
(* Claims that are false, each to be refuted: the situation does arise.    *)
(***************************************************************************)

\* One batch, two answers: one input Projected, the other Committed.
NoMixedAnswer ==
    [][~\E c, d \in Clients : /\ told'[c] = told[c] \cup {"Projected"} /\ told'[c] # told[c]
                              /\ told'[d] = told[d] \cup {"Committed"} /\ told'[d] # told[d]]_vars

NobodyHearsBoth == \A c \in Clients : told[c] # {"Committed", "Projected"}

\* A row that a process found missing was written meanwhile by somebody else.
NoRowFoundPresent ==
    [][~\E p \in All, id \in Clients :
          /\ proc[p].at = "rows" /\ id \in proc[p].todo /\ id \notin proc'[p].todo
          /\ view[id] = 1 /\ view' = view /\ faults' = faults /\ crashes' = crashes]_vars

NoLateRowLands ==
    [][Deliver => view' = view]_vars

NoClearRefused ==
    [][~\E p \in All : Clear(p) /\ record' = record]_vars
=============================================================================
