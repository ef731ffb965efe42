package kit

import "fmt"

// Law is what a store owes, in one sentence, and what to do about one that does not keep it.
type Law struct{ Name, Fix string }

// The laws of operations.
var (
	Absent = Law{"an absent key is the zero record",
		"Read must answer the zero record and no error for a key that the store does not hold; Pending of it is false, and nothing lists it."}
	ReadBack = Law{"an answered write is read back",
		"Answer a write only when it is stored, answer the record as it is stored, with its new fence, and read from where you write: no replica, no cache."}
	StaleCommit = Law{"a stale commit is refused",
		"Write must compare the fence of the record that was read with that of the stored record, and write, in one atomic step (update ... where version = ?); an absent record has a fence as well."}
	StaleProjection = Law{"a stale projection is refused",
		"Project, or Clear, must compare the fence of its record with that of the stored record, and write, in one atomic step: otherwise it clears the marker of a newer commit."}
	NewFence = Law{"every write gives a new fence",
		"Give the record a new fence when its marker is cleared too, or compare the marker beside the fence: a record that was projected is no longer the record that was read."}
	Marker = Law{"a commit never moves the marker backwards",
		"A commit must leave its record pending, and leave what was projected as stored, or be fenced on the marker too: do not write back the marker that was read."}
	Definite = Law{"a definite refusal wrote nothing",
		"An error whose NotWritten method answers true must mean that nothing was written and nothing will be. If the store cannot tell (its context ended, an answer was lost, a driver sent it twice), leave NotWritten out or answer false."}
	Typed = Law{"a conflict is a typed failure",
		"The error of a refused write must be, or wrap, the failure type of the fold (its first type argument): any other error is a defect, which is never retried."}
	Accepted = Law{"an operation that nobody disturbs succeeds",
		"A write on the record that the store holds must succeed, and so must reading it: look for a fence that differs between Read, the answer of Write and the store."}
	Ended = Law{"a write under an ended context is answered honestly",
		"When the context has ended, fail without writing, or say with the error that the outcome is unknown (no NotWritten, or false)."}
	NewLife = Law{"a deleted key begins a new life",
		"Delete must be fenced, must take view and marker along, and a key that is created again must get fences it never had: draw them from one counter, or keep a tombstone."}
	Durable = Law{"what was answered is there after reopening",
		"Answer a write only when it is durable, its marker, its view and its place in the list of pending keys included."}
	Shared = Law{"every handle sees the same store",
		"Keep fences, markers and the list of pending keys in the store and not in the handle: other processes write too."}
)

// The laws of states.
var (
	Once = Law{"no entry is twice",
		"If it is twice in the log, step does not find a replay, or a write is not fenced. If it is twice in the view, rows must be written only if absent (insert ... on conflict do nothing), and a view from before must be replaced."}
	Grows = Law{"what was written stays",
		"No entry may vanish from the log or the view: look for a write that is not fenced, or for a projection that writes an older view over a newer one."}
	Follows = Law{"the view shows only what the log holds",
		"Build the view from the committed record alone, and write it only if the commit was."}
	Honest = Law{"a record that is not pending has a complete view",
		"Clear the marker in the same write as the view, or after every row is there, and fence it; let a commit set it."}
	Mangled = Law{"keys and identities are kept as they are",
		"Do not join, trim, fold the case of, or split keys and identities: keep them apart, byte by byte, in columns or with their lengths."}
)

// The laws of listings.
var (
	Listed = Law{"every pending key is listed",
		"The list of pending keys must be changed in the same write as the marker, and hold every key whose record is pending."}
	Strays = Law{"a listing has only pending keys",
		"Take a key out of the list in the write that clears its marker."}
	Cursor = Law{"a listing is a query and never a cursor",
		"List all pending keys each time, however often they were listed before, and let the caller stop early or use the store meanwhile."}
	HoldsUp = Law{"a listing holds nobody up",
		"Do not hold a lock, or the only connection, while a listing yields: copy the keys, or a page of them, first."}
)

// The laws of rows.
var (
	Absences = Law{"missing answers exactly the rows that are absent",
		"Missing must look at the rows of the key, and answer each entry of the record that has no row and no other."}
	PutAnswers = Law{"put answers one error per row",
		"Put must answer exactly one error for each row, in order, nil for a row that is now there."}
)

// The laws of the user's functions and of whole calls.
var (
	Pure = Law{"a step changes no record in place",
		"Records share memory, spare capacity included: step must make new slices and maps (append(slices.Clip(s), x), maps.Clone) and never write to those of the record."}
	Replay = Law{"a step finds what the record already holds",
		"Step must look for the identity of its input in the record and answer it, with changed false, instead of applying it again."}
	Truth = Law{"an answer is as it is in the store",
		"An input that was answered must be in the log, one answered projected in the view; inputs made for this test must be accepted by step, in any order."}
)

// The laws of what goes wrong outside of the store.
var (
	Whole = Law{"a write happens as a whole or not at all",
		"Write all that a commit, or a projection, consists of in one transaction, or one file that is renamed: a process may end between any two writes."}
	GoesOn = Law{"when a fault is over, calls succeed again",
		"Open a new connection when one has failed, give every call a deadline, send keepalives, and keep nothing of a failure."}
	Named = Law{"what is too large is refused by name",
		"Answer what exceeds a limit with an error that says so, and whose NotWritten is true: write nothing of it, and take the next call."}
)

// The laws of many at once.
var (
	AddUp = Law{"acknowledged increments add up",
		"Writers lost one another's entries, or wrote one twice: compare and write in one atomic step, not in a read and a write."}
	OneLands = Law{"one of many projections lands",
		"Of projections of one record at once exactly one may succeed: compare and clear in one atomic step."}
	Neighbours = Law{"keys do not disturb one another",
		"A write must not fail because of another key: if writes share a transaction, answer each on its own."}
	Linear = Law{"one order explains what everybody saw",
		"A commit must take effect at one moment between its call and its answer, and be seen by every read that begins later: look for reads of what is not committed yet, of replicas, and for a fence that is compared too early."}
	Backwards = Law{"a reader never sees the store go back",
		"Read and View must see everything that was seen before: no replica that lags, no cache."}
)

// Violation is a law that was broken, and how.
type Violation struct {
	Law  Law
	Text string
	// History shows it, if it takes more than one operation.
	History *History
}

func broke(law Law, format string, args ...any) *Violation {
	return &Violation{Law: law, Text: fmt.Sprintf(format, args...)}
}

// Error says what happened and what to do.
func (v *Violation) Error() string {
	return fmt.Sprintf("law %q broken: %s.\nTo fix: %s", v.Law.Name, v.Text, v.Law.Fix)
}
