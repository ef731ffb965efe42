--------------------------- MODULE ProjectedWriter ---------------------------
(***************************************************************************)
(* Commit, then project: one record, whose view is one object written      *)
(* whole.                                                                  *)
(*                                                                         *)
(* Several processes serve one key. Each reads the record, appends its     *)
(* batch to the log with a fenced write (the commit), then brings the view *)
(* up to date and clears the marker with a second fenced write (the        *)
(* projection). A sweeper finishes what was left between the two. Answers  *)
(* get lost, writes land late, processes crash, clients ask twice and at   *)
(* any process. TLC tries every interleaving of a small instance.          *)
(*                                                                         *)
(* Reading TLA+: a VARIABLE is the whole world's state; x is its value     *)
(* before a step and x' after it. An action is a formula over both: the    *)
(* parts without primes say when the step may happen, the parts with       *)
(* primes what it does. /\ is "and", \/ "or", \E "for some" (a free        *)
(* choice, and TLC tries them all), \A "for all". [r EXCEPT !.f = v] is r  *)
(* with field f replaced; << >> is a sequence, \o joins two.               *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, Bags, TLC

(***************************************************************************)
(* The instance: who takes part, and how much may go wrong.                *)
(***************************************************************************)
CONSTANTS
    Processes,  \* processes that take batches from clients
    Sweepers,   \* processes that only finish pending records; {} for none
    Clients,    \* each client has one input, and is named by its id
    MaxBatch,   \* inputs in one batch
    Retries,    \* retries of the commit, and again of the projection
    \* Over the whole run, all clients and all processes together:
    Resubmits,  \* how often a client asks again, answered or not
    Faults,     \* writes whose answer is an error
    Crashes     \* crashes

(***************************************************************************)
(* The variant. The protocol as built is the first value of each line; a   *)
(* configuration that must fail switches one of them.                      *)
(***************************************************************************)
CONSTANTS
    Marker,            \* "flag": 1 = pending. "watermark": entries projected
    ProjectFence,      \* the parts of the record the projection compares:
                       \*   {"version", "marker"}, fewer, or {}
    CommitFence,       \* likewise for the commit: {"version"} is enough
    ProjectBumps,      \* TRUE: every stored write, the projection too, makes
                       \*   a new version. FALSE: only a commit does
    CommitKeepsMarker, \* TRUE: the commit leaves the marker as stored.
                       \*   FALSE: it writes back the watermark it read
    StepKnowsReplays,  \* TRUE: an id found in the log is not appended again
    AnswersEarly,      \* FALSE. TRUE: says Projected right after the commit
    Resume             \* TRUE. FALSE: nobody ever re-reads a pending record
                       \*   to finish it, neither the call nor the sweeper

ASSUME /\ Marker \in {"flag", "watermark"}
       /\ ProjectFence \subseteq {"version", "marker"}
       /\ CommitFence \subseteq {"version", "marker"}
       /\ {ProjectBumps, CommitKeepsMarker, StepKnowsReplays, AnswersEarly, Resume}
              \subseteq BOOLEAN

VARIABLES
    record,   \* what the store holds: [version, marker, log]
    view,     \* what queries read: a sequence of ids
    network,  \* writes sent and not landed yet (a bag: equal ones count)
    proc,     \* what each process and sweeper is doing; lost in a crash
    asks,     \* how often each client has asked
    told,     \* the answers each client has had, as a set: it may ask twice
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

\* A batch is a sequence: a lane may hand over <<b, a>> as well as <<a, b>>,
\* and <<a, a>> when a client asks twice at the same process.
Batches == UNION {[1..n -> Clients] : n \in 1..MaxBatch}

\* The log after the batch: step, folded over the inputs in their order.
RECURSIVE Fold(_, _)
Fold(log, batch) ==
    IF batch = <<>> THEN log
    ELSE LET id == Head(batch)
             replay == StepKnowsReplays /\ id \in Range(log)
         IN  Fold(IF replay THEN log ELSE Append(log, id), Tail(batch))

\* How many asks were not the client's first.
Resubmitted(a) == Cardinality({<<c, n>> \in Clients \X (2..Resubmits + 2) : n <= a[c]})

Nothing == [version |-> 0, marker |-> 0, log |-> <<>>]

\* A process at rest holds nothing. A crash brings it back here as well: the
\* library keeps nothing between calls, so a restarted process is a new one.
Idle == [at |-> "idle", batch |-> <<>>, held |-> Nothing, left |-> 0]

Tell(clients, answer) ==
    told' = [c \in Clients |-> IF c \in clients THEN told[c] \cup {answer} ELSE told[c]]

(***************************************************************************)
(* The two writes, as messages. The store compares the fence with what it  *)
(* holds when the message lands, whenever that is.                         *)
(***************************************************************************)
IsWriting(p) == proc[p].at \in {"commit", "project"}

WriteOf(p) ==
    [kind |-> proc[p].at,
     held |-> proc[p].held,
     log  |-> IF proc[p].at = "commit" THEN Fold(proc[p].held.log, proc[p].batch)
                                       ELSE proc[p].held.log]

Fits(w) ==
    \A part \in (IF w.kind = "commit" THEN CommitFence ELSE ProjectFence) :
        w.held[part] = record[part]

\* A commit stores the new log. With a flag it also raises it; a watermark
\* stays as stored, so the entries past it are what is pending.
StoreCommit(w) ==
    /\ record' = [version |-> record.version + 1,
                  marker  |-> IF Marker = "flag"      THEN 1
                              ELSE IF CommitKeepsMarker THEN record.marker
                                                        ELSE w.held.marker,
                  log     |-> w.log]
    /\ UNCHANGED view

\* With a flag the view is overwritten with the log that was read; with a
\* watermark the entries past it are appended. The log is not touched.
StoreProject(w) ==
    /\ record' = [version |-> IF ProjectBumps THEN record.version + 1 ELSE record.version,
                  marker  |-> IF Marker = "flag" THEN 0 ELSE Len(w.log),
                  log     |-> record.log]
    /\ view' = IF Marker = "flag" THEN w.log
               ELSE view \o SubSeq(w.log, w.held.marker + 1, Len(w.log))

Store(w) == IF w.kind = "commit" THEN StoreCommit(w) ELSE StoreProject(w)

(***************************************************************************)
(* A call.                                                                 *)
(*                                                                         *)
(*   idle -> read -> commit -> project -> idle                             *)
(*             ^        |         |  ^                                     *)
(*             +-failed-+  failed |  | still pending                       *)
(*                                v  |                                     *)
(*                               reread -> idle, nothing pending           *)
(***************************************************************************)

\* A process takes a batch. Any client may be sent to any process.
Begin(p) ==
    /\ proc[p].at = "idle"
    /\ \E batch \in Batches :
        /\ asks' = [c \in Clients |->
                      asks[c] + Cardinality({i \in DOMAIN batch : batch[i] = c})]
        /\ Resubmitted(asks') <= Resubmits
        /\ proc' = [proc EXCEPT ![p] = [Idle EXCEPT !.at = "read", !.batch = batch,
                                                    !.left = Retries]]
    /\ UNCHANGED <<record, view, network, told, faults, crashes>>

\* Reads and folds. A batch of replays writes nothing: its record is either
\* projected already, or pending, and then this call finishes it.
Read(p) ==
    /\ proc[p].at = "read"
    /\ LET replays == Fold(record.log, proc[p].batch) = record.log
       IN  IF ~replays THEN
               /\ proc' = [proc EXCEPT ![p].at = "commit", ![p].held = record]
               /\ UNCHANGED told
           ELSE IF Pending(record) THEN
               /\ proc' = [proc EXCEPT ![p].at = "project", ![p].held = record,
                                       ![p].left = Retries + 1]
               /\ UNCHANGED told
           ELSE
               /\ proc' = [proc EXCEPT ![p] = Idle]
               /\ Tell(Range(proc[p].batch), "Projected")
    /\ UNCHANGED <<record, view, network, asks, faults, crashes>>

\* What a process does when it knows that its write did not land, or does not
\* know that it did. A commit is tried again from a new read, or the call
\* fails, which tells the client nothing. After the commit nothing fails: the
\* projection is tried again from a new read, or the inputs are Committed.
GiveUpOrRetry(p) ==
    IF proc[p].at = "commit" THEN
        /\ proc' = [proc EXCEPT ![p] =
              IF proc[p].left = 0 THEN Idle
              ELSE [@ EXCEPT !.at = "read", !.held = Nothing, !.left = @ - 1]]
        /\ UNCHANGED told
    ELSE IF proc[p].left = 0 \/ ~Resume THEN
        /\ proc' = [proc EXCEPT ![p] = Idle]
        /\ Tell(Range(proc[p].batch), "Committed")
    ELSE
        /\ proc' = [proc EXCEPT ![p].at = "reread", ![p].held = Nothing,
                                ![p].left = @ - 1]
        /\ UNCHANGED told

\* The store answers a commit with the record as stored, which is projected
\* next without another read. If that fails there are 1 + Retries attempts to
\* read and project what is still pending.
Commit(p) ==
    /\ proc[p].at = "commit"
    /\ IF Fits(WriteOf(p)) THEN
           /\ Store(WriteOf(p))
           /\ proc' = [proc EXCEPT ![p].at = "project", ![p].held = record',
                                   ![p].left = Retries + 1]
           /\ IF AnswersEarly THEN Tell(Range(proc[p].batch), "Projected")
                              ELSE UNCHANGED told
       ELSE GiveUpOrRetry(p) /\ UNCHANGED <<record, view>>
    /\ UNCHANGED <<network, asks, faults, crashes>>

Project(p) ==
    /\ proc[p].at = "project"
    /\ IF Fits(WriteOf(p)) THEN
           /\ Store(WriteOf(p))
           /\ proc' = [proc EXCEPT ![p] = Idle]
           /\ Tell(Range(proc[p].batch), "Projected")
       ELSE GiveUpOrRetry(p) /\ UNCHANGED <<record, view>>
    /\ UNCHANGED <<network, asks, faults, crashes>>

\* Resume inside a call: read, and project what is still pending.
Reread(p) ==
    /\ proc[p].at = "reread"
    /\ IF Pending(record) THEN
           /\ proc' = [proc EXCEPT ![p].at = "project", ![p].held = record]
           /\ UNCHANGED told
       ELSE
           /\ proc' = [proc EXCEPT ![p] = Idle]
           /\ Tell(Range(proc[p].batch), "Projected")
    /\ UNCHANGED <<record, view, network, asks, faults, crashes>>

\* A visit of the sweeper is one attempt of resume: the call's last part with
\* no inputs and no retries. It comes back for as long as there is something
\* pending. Its listing and its read are one step: a visit to a record that is
\* pending no longer does nothing.
Sweep(s) ==
    /\ Resume
    /\ proc[s].at = "idle"
    /\ Pending(record)
    /\ proc' = [proc EXCEPT ![s] = [Idle EXCEPT !.at = "project", !.held = record]]
    /\ UNCHANGED <<record, view, network, asks, told, faults, crashes>>

(***************************************************************************)
(* What goes wrong.                                                        *)
(***************************************************************************)

\* A write leaves the process and is either refused, or on the network, where
\* it lands when it likes: at once (a lost answer) or later (a late write).
Sent(w) == network' \in {network, network (+) SetToBag({w})}

Fault(p) ==
    /\ faults > 0
    /\ IsWriting(p)
    /\ faults' = faults - 1
    /\ Sent(WriteOf(p))
    /\ GiveUpOrRetry(p)
    /\ UNCHANGED <<record, view, asks, crashes>>

Crash(p) ==
    /\ crashes > 0
    /\ proc[p].at # "idle"
    /\ crashes' = crashes - 1
    /\ IF IsWriting(p) THEN Sent(WriteOf(p)) ELSE UNCHANGED network
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
    /\ view = <<>>
    /\ network = EmptyBag
    /\ proc = [p \in All |-> Idle]
    /\ asks = [c \in Clients |-> 0]
    /\ told = [c \in Clients |-> {}]
    /\ faults = Faults
    /\ crashes = Crashes

\* What a running process does by itself, sooner or later.
Step(p) == Read(p) \/ Commit(p) \/ Project(p) \/ Reread(p)

Next ==
    \/ \E p \in Processes : Begin(p)
    \/ \E s \in Sweepers : Sweep(s)
    \/ \E p \in All : Step(p) \/ Fault(p) \/ Crash(p)
    \/ Deliver

Spec == Init /\ [][Next]_vars

\* For liveness: running processes go on, the sweeper comes back, the network
\* delivers. Clients need not ask, and nothing has to go wrong.
FairSpec ==
    /\ Spec
    /\ \A p \in Processes : WF_vars(Step(p))
    /\ \A s \in Sweepers : WF_vars(Sweep(s) \/ Step(s))
    /\ WF_vars(Deliver)

\* Processes are interchangeable, and so are clients: TLC need look at one of
\* each group of states that differ in names only. Not valid for liveness.
SameProcesses == Permutations(Processes)

Symmetry == SameProcesses \cup Permutations(Clients)

(***************************************************************************)
(* What must hold.                                                         *)
(***************************************************************************)
TypeOK ==
    /\ record.version \in Nat
    /\ record.marker \in Nat
    /\ record.log \in Seq(Clients)
    /\ view \in Seq(Clients)
    /\ \A p \in All : proc[p].at \in {"idle", "read", "commit", "project", "reread"}
    /\ asks \in [Clients -> 0..Resubmits + 1]
    /\ told \in [Clients -> SUBSET {"Projected", "Committed"}]
    /\ faults \in 0..Faults
    /\ crashes \in 0..Crashes

OnceInLog == Cardinality(Range(record.log)) = Len(record.log)

OnceInView == Cardinality(Range(view)) = Len(view)

ViewFollowsLog == IsPrefix(view, record.log)

\* The heart of it: a record that does not say "pending" has a complete view.
\* Safety at every state, and it catches nearly all that liveness would.
MarkerHonest == ~Pending(record) => view = record.log

\* Nobody is told what is not so. Checked at every state, not only when the
\* answer is given: it stays true.
Truthful ==
    \A c \in Clients :
        /\ "Projected" \in told[c] => c \in Range(view)
        /\ "Committed" \in told[c] => c \in Range(record.log)

\* Nothing is left to do: no process runs, nothing is under way, and no
\* sweeper would take anything up. Clients may still ask, but need not.
Quiet ==
    /\ \A p \in All : proc[p].at = "idle"
    /\ network = EmptyBag
    /\ ~\E s \in Sweepers : Resume /\ Pending(record)

Finished == Quiet => view = record.log

LogGrows == [][IsPrefix(record.log, record'.log)]_vars

ViewGrows == [][IsPrefix(view, view')]_vars

Converges == <>[](view = record.log)

(***************************************************************************)
(* Claims that are false, so that a pass above is worth something: each    *)
(* must be refuted, which shows that the situation does arise.             *)
(***************************************************************************)
NobodyHearsBoth == \A c \in Clients : told[c] # {"Committed", "Projected"}

NoBatchOfTwo == [][Len(record'.log) < Len(record.log) + 2]_vars

NoReplayFoundPending ==
    [][~\E p \in Processes : proc[p].at = "read" /\ proc'[p].at = "project"]_vars

NoLateWriteLands == [][Deliver => record' = record]_vars

NoLateWriteRefused == [][Deliver => record' # record]_vars
=============================================================================
