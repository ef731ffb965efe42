package sheetstest

import "time"

// Op is a method of the service.
type Op string

// The methods that are modelled.
const (
	OpCreate          Op = "spreadsheets.create"
	OpGet             Op = "spreadsheets.get"
	OpGetByDataFilter Op = "spreadsheets.getByDataFilter"
	OpBatchUpdate     Op = "spreadsheets.batchUpdate"
	OpValuesGet       Op = "spreadsheets.values.get"
	OpValuesBatchGet  Op = "spreadsheets.values.batchGet"
	OpValuesAppend    Op = "spreadsheets.values.append"
	OpMetadataGet     Op = "spreadsheets.developerMetadata.get"
	OpMetadataSearch  Op = "spreadsheets.developerMetadata.search"
)

// Call describes a call to the function that decides its fault.
type Call struct {
	Op            Op
	N             int    // The Nth call of this Op since [New], from 1.
	SpreadsheetID string // Empty for OpCreate.
	Write         bool
	Body          []byte // The JSON body, not to be changed. Empty for a GET.
	_             struct{}
}

// Fault says what goes wrong with one call. The zero value is no fault. The
// parts happen in this order: Delay, Before, Kind.
type Fault struct {
	// Kind is the failure.
	Kind Kind

	// Delay passes before anything else, in package time.
	Delay time.Duration

	// Before runs when the request has arrived and nothing is applied yet: the
	// place for people's edits between a read and a write. It may call the
	// server.
	Before func()

	// Stale answers a read from that many commits ago, or from the oldest of
	// the last 64 versions. An append looks there for the row to write to.
	Stale int

	_ struct{}
}

// Kind is a way for a call to fail.
type Kind string

const (
	// None is no failure.
	None Kind = ""
	// TooManyRequests answers 429. Under [P2] a write was applied all the same.
	TooManyRequests Kind = "too many requests"
	// Internal answers 500 and applies nothing.
	Internal Kind = "internal"
	// Unavailable answers 503 and applies nothing.
	Unavailable Kind = "unavailable"
	// BadGateway answers 502 with an HTML page and applies nothing.
	BadGateway Kind = "bad gateway"
	// Unauthenticated answers 401 and applies nothing.
	Unauthenticated Kind = "unauthenticated"
	// Forbidden answers 403 and applies nothing.
	Forbidden Kind = "forbidden"
	// Late answers 503; the write is applied just before the next one that
	// reaches the spreadsheet, or by [Server.DeliverLate]. On a read it is
	// Unavailable.
	Late Kind = "late"
	// CutAnswer does the call and drops the connection instead of answering.
	CutAnswer Kind = "cut answer"
	// TruncatedAnswer does the call and sends the first half of the answer.
	TruncatedAnswer Kind = "truncated answer"
	// JunkAnswer does the call and answers 200 with an HTML page.
	JunkAnswer Kind = "junk answer"
	// HangUnapplied never answers: the call ends with its context. Nothing is
	// applied.
	HangUnapplied Kind = "hang unapplied"
	// HangApplied does the call, then ends with the call's context.
	HangApplied Kind = "hang applied"
)

// Kinds lists every kind, None first, for tests that draw one.
func Kinds() []Kind {
	return []Kind{
		None, TooManyRequests, Internal, Unavailable, BadGateway, Unauthenticated, Forbidden, Late,
		CutAnswer, TruncatedAnswer, JunkAnswer, HangUnapplied, HangApplied,
	}
}

// SetFaults makes f decide the fault of every call that no [Server.Inject] is
// meant for; nil means no faults. It replaces Options.Faults. The server holds
// no lock while f runs, and concurrent calls run it concurrently.
func (s *Server) SetFaults(f func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Inject puts a fault on one call: the nth call of op from now on, where 1 is
// the next.
func (s *Server) Inject(op Op, nth int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.injected[op] == nil {
		s.injected[op] = map[int]Fault{}
	}
	s.injected[op][s.calls[op]+nth] = f
}

// fault decides what happens to a call.
func (s *Server) fault(c Call) Fault {
	s.mu.Lock()
	f, ok := s.injected[c.Op][c.N]
	delete(s.injected[c.Op], c.N)
	decide := s.faults
	s.mu.Unlock()
	if ok || decide == nil {
		return f
	}
	return decide(c)
}

// DeliverLate applies every late write now, in the order in which they came,
// and returns how many of them took effect.
func (s *Server) DeliverLate() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deliver(func(change) bool { return true })
}

// deliver applies the late writes that are due. The mutex is held.
func (s *Server) deliver(due func(change) bool) int {
	applied := 0
	var rest []change
	for _, c := range s.late {
		if !due(c) {
			rest = append(rest, c)
		} else if _, err := s.apply(c); err == nil {
			applied++
		}
	}
	s.late = rest
	return applied
}
