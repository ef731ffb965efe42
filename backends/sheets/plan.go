package sheets

import (
	"fmt"
	"time"
)

// WaitingError says why an acknowledged transaction has no verdict yet. It is no failure: the next pass goes on.
type WaitingError struct {
	// Transaction waits for Why.
	Transaction string
	Why         Why
	// Behind is the earlier transaction that holds it back, for WaitingBehind.
	Behind string
	// Until is when the claim ends, or when an incomplete transaction fails.
	Until time.Time
	// Attempt counts its attempts so far.
	Attempt int
	// Have and Want count the rows of an incomplete transaction; Want is 0 if no row tells.
	Have, Want int

	_ struct{}
}

// Why is a reason to wait.
type Why string

// The reasons to wait.
const (
	// WaitingBudget: the pass had no time or no room left.
	WaitingBudget Why = "budget"
	// WaitingBehind: an earlier transaction has to end first.
	WaitingBehind Why = "behind"
	// WaitingIncomplete: some of its rows are missing.
	WaitingIncomplete Why = "incomplete"
	// WaitingRetry: its last attempt failed, and another follows in a later pass.
	WaitingRetry Why = "retry"
	// WaitingClaimed: another process has claimed it.
	WaitingClaimed Why = "claimed"
)

// Error says it in a sentence.
func (e *WaitingError) Error() string {
	text := fmt.Sprintf("sheets: transaction %q waits: ", e.Transaction)
	switch e.Why {
	case WaitingBudget:
		return text + "the pass ended before it"
	case WaitingBehind:
		return text + fmt.Sprintf("held back by transaction %q", e.Behind)
	case WaitingIncomplete:
		return text + fmt.Sprintf("incomplete, %d of %d rows, until %s", e.Have, e.Want, isoTime(e.Until))
	case WaitingRetry:
		return text + fmt.Sprintf("retried later, attempt %d", e.Attempt)
	}
	return text + "claimed until " + isoTime(e.Until)
}

// plan is what a pass does next with each open transaction. Everything but run is written before anything is run.
type plan struct {
	fails     []failing
	reconcile []*group
	claims    []*group
	run       []*group
	weight    int // of claims and run
	waiting   map[string]error
}

// failing is a group that ends without being applied.
type failing struct {
	g    *group
	code Code
	why  string
}

func (p *plan) settles() bool { return len(p.fails)+len(p.reconcile)+len(p.claims) > 0 }

// planner decides by the state, the clock and what the pass has done so far. It changes nothing.
type planner struct {
	now         time.Time
	lease       time.Duration
	maxAttempts int
	mine        func(commit int64) bool // claimed by this process
	later       map[string]bool         // transactions that this pass has given back
	closed      bool                    // nothing more may be claimed
	room        int                     // how many transactions may be claimed or run
	weight      int                     // how much one batch holds
}

// plan goes through the open transactions by sequence. The first that is still to end, and is not run now, holds back
// every later one; failed ones hold back nobody.
func (d planner) plan(st *state) plan {
	p := plan{waiting: map[string]error{}}
	behind := ""
	for _, g := range st.groups {
		if why := d.decide(&p, st, g, behind); why != nil {
			p.waiting[g.id] = why
			if behind == "" {
				behind = g.id
			}
		}
	}
	return p
}

// decide puts g where it belongs in p, or answers why it waits.
func (d planner) decide(p *plan, st *state, g *group, behind string) *WaitingError {
	expires := g.touched().Add(d.lease)
	fresh := d.now.Before(expires) && d.now.Add(d.lease).After(g.touched()) // A time far ahead is a mistake.
	dependency := d.dependency(st, g)
	stamp := g.stampedBy(st.fence.Number)
	switch {
	case g.problem != "":
		return p.fail(g, g.code, g.problem)
	case !g.complete() && fresh:
		return &WaitingError{Transaction: g.id, Why: WaitingIncomplete, Have: len(g.rows), Want: g.want(), Until: expires}
	case !g.complete():
		return p.fail(g, CodeInvalidTask, g.haveWant())
	case !g.all(StatusPending) && stamp == 0 && fresh, stamp != 0 && !d.mine(stamp) && fresh:
		return &WaitingError{Transaction: g.id, Why: WaitingClaimed, Until: expires}
	case !g.all(StatusPending) && stamp == 0:
		p.reconcile = append(p.reconcile, g)
		return nil
	case behind != "":
		return &WaitingError{Transaction: g.id, Why: WaitingBehind, Behind: behind}
	case dependency != "":
		return p.fail(g, CodeDependencyFailed, dependency)
	}
	return d.take(p, g, stamp)
}

func (p *plan) fail(g *group, code Code, why string) *WaitingError {
	p.fails = append(p.fails, failing{g, code, why})
	return nil
}

// take lets a transaction run whose turn it is: at once if this process claimed it, else after a claim.
func (d planner) take(p *plan, g *group, stamp int64) *WaitingError {
	mine := stamp != 0 && d.mine(stamp)
	taken, weight := len(p.claims)+len(p.run), g.weight()
	switch {
	case d.later[g.id] && g.attempts() < d.maxAttempts:
		return &WaitingError{Transaction: g.id, Why: WaitingRetry, Attempt: g.attempts()}
	case !mine && g.attempts() >= d.maxAttempts:
		return p.fail(g, CodeRetryLimitExceeded, fmt.Sprintf("%d attempts", g.attempts()))
	case taken >= d.room, taken > 0 && p.weight+weight > d.weight, !mine && d.closed:
		return &WaitingError{Transaction: g.id, Why: WaitingBudget}
	case mine:
		p.run = append(p.run, g)
	default:
		p.claims = append(p.claims, g)
	}
	p.weight += weight
	return nil
}

// dependency answers why the transaction that g depends on lets it fail, "" if it does not.
func (d planner) dependency(st *state, g *group) string {
	on := g.rows[0].dependsOn
	if on == "" {
		return ""
	}
	facts := st.index.transaction(on)
	switch {
	case len(facts) == 0:
		return "the transaction it depends on is not in the queue"
	case verdictOf(facts).Status == StatusFailed:
		return "the transaction it depends on failed"
	case verdictOf(facts).Status != StatusDone && facts[0].sequence >= g.sequence():
		return "the transaction it depends on comes later"
	}
	return ""
}
