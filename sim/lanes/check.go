package lanes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim"
)

// refuses answers why an arrival at l must be refused, nil if it must not. A ferry that lets callers wait refuses
// only when it closes.
func (p *process) refuses(l *lane) error {
	cfg := p.w.s.Config
	switch {
	case p.closing:
		return ferry.ErrClosed
	case cfg.Overflow == ferry.Reject && (len(l.queue) >= cfg.MaxQueuedPerKey || p.queued() >= cfg.MaxQueued):
		return ferry.ErrOverloaded
	}
	return nil
}

func (l *lane) join(c *caller) {
	l.queue = append(l.queue, c)
	if len(l.queue) == 1 {
		l.since = c.since
	}
}

// exact says whether what arrived is what is queued, so that the laws can tell to the input what a lane should do.
func (w *world) exact() bool { return w.s.Config.Overflow == ferry.Reject }

// look takes in what the last step has led to, in the order in which it can have happened, and checks it.
func (w *world) look() {
	w.hear()
	slices.SortFunc(w.parked, compareOperations)
	slices.SortFunc(w.begun, func(a, b *trip) int {
		return cmp.Or(cmp.Compare(a.p.index, b.p.index), a.start.Compare(b.start), cmp.Compare(a.key, b.key))
	})
	for _, t := range w.ended {
		l := t.p.lane(t.key)
		l.trip, l.since = nil, time.Now()
		w.coverage[coverageOfEnd[t.defect]]++
	}
	for _, c := range w.callers {
		if c.answered && ferry.NotSent(c.err) {
			c.lane.queue = slices.DeleteFunc(c.lane.queue, func(other *caller) bool { return other == c })
		}
	}
	for _, p := range w.processes {
		p.noteDue()
	}
	for _, t := range w.begun {
		w.checkCall(t)
	}
	w.begun, w.ended = w.begun[:0], w.ended[:0]
	for _, c := range w.callers {
		w.checkCaller(c)
	}
	for _, p := range w.processes {
		w.checkRest(p)
	}
}

// noteDue notes the lanes that have become ready.
func (p *process) noteDue() {
	for _, l := range p.lanes {
		if len(l.queue) == 0 {
			l.due = 0
		} else if reason := l.ready(); l.trip == nil && l.due == 0 && reason != "" {
			l.due = p.w.steps
			if p.w.s.Config.Linger > 0 && p.w.exact() {
				p.w.coverage["linger ended by "+reason]++
			}
		}
	}
}

// ready answers why l should wait no longer for more, empty if it should.
func (l *lane) ready() string {
	cfg := l.p.w.s.Config
	switch {
	case l.p.closing:
		return "close"
	case len(l.queue) >= cfg.MaxBatch:
		return "a full batch"
	case len(l.queue) >= cfg.MaxQueuedPerKey:
		return "the key's bound"
	case l.p.queued() >= cfg.MaxQueued:
		return "the shared bound"
	case time.Since(l.since) >= cfg.Linger:
		return "time"
	}
	return ""
}

// checkCall checks a call that began.
func (w *world) checkCall(t *trip) {
	p, l, cfg := t.p, t.p.lane(t.key), w.s.Config
	n := len(t.ins)
	switch {
	case l.trip != nil:
		w.broke(OneInFlight, "%s: a second call of %s", p.name, t.key)
	case n == 0:
		w.broke(Bounds, "%s: a call of %s without inputs", p.name, t.key)
	case n > cfg.MaxBatch:
		w.broke(Bounds, "%s: a call of %s with %d inputs, and the bound is %d", p.name, t.key, n, cfg.MaxBatch)
	case p.out() >= cfg.MaxInFlight:
		w.broke(Bounds, "%s: a call beside %d, and the bound is %d", p.name, p.out(), cfg.MaxInFlight)
	}
	for i, c := range t.ins {
		switch {
		case c.lane != l:
			w.broke(Apart, "%s: a call of %s carries the input of %v", p.name, t.key, c)
		case c.trip != nil || c.told:
			w.broke(SentOnce, "%s: the input of %v is sent again", p.name, c)
		case i >= len(l.queue) || l.queue[i] != c:
			w.broke(Order, "%s: a call of %s carries %v, and the lane has %v", p.name, t.key, t.ins, l.queue)
		}
		c.trip = t
	}
	if w.violation != nil {
		return
	}
	if w.exact() {
		w.checkTurn(l, n)
	}
	if n > 1 {
		w.coverage["batch of more than one"]++
	}
	l.queue, l.trip, l.due = slices.Delete(l.queue, 0, n), t, 0
	t.step = w.steps
}

// checkTurn checks that it is the turn of l, with n inputs.
func (w *world) checkTurn(l *lane, n int) {
	if want := min(len(l.queue), w.s.Config.MaxBatch); n < want {
		w.broke(Whole, "%s: a call of %s carries %d inputs, and %d could go", l.p.name, l.key, n, want)
	}
	if l.due == 0 {
		w.broke(Lingers, "%s: a call of %s before its linger has ended", l.p.name, l.key)
	}
	for _, other := range l.p.lanes {
		if other.due > 0 && other.due < l.due {
			w.broke(Turns, "%s: a call of %s, ready since step %d, before %s, ready since step %d", l.p.name, l.key, l.due, other.key, other.due)
		}
	}
}

// checkCaller checks the answer of a caller, or that it has none yet.
func (w *world) checkCaller(c *caller) {
	switch {
	case c.cancel == nil || c.told:
	case c.answered:
		c.told = true
		w.checkAnswer(c)
		w.noteTold(c)
	case c.refused != nil:
		w.broke(Bounds, "%v: not refused, want %v", c, c.refused)
	case c.cancelled:
		w.broke(Answered, "%v: left, and is not answered", c)
	case c.trip == nil && !c.lane.p.gaveUp.IsZero():
		w.broke(Answered, "%v: Close has given up, and it is not answered", c)
	case c.trip != nil && c.trip.ended:
		w.broke(Answered, "%v: its call has returned, and it is not answered", c)
	case c.trip != nil && c.trip.isStillOut():
		w.broke(Answered, "%v: its call is still out, and it is not answered", c)
	}
}

// isStillOut says whether a call should have returned.
func (t *trip) isStillOut() bool {
	cfg, gaveUp := t.p.w.s.Config, t.p.gaveUp
	if !gaveUp.IsZero() && time.Since(gaveUp) >= cfg.CancelGrace {
		return true
	}
	return time.Since(t.start) >= cfg.BatchTimeout+cfg.CancelGrace
}

func (w *world) checkAnswer(c *caller) {
	e, ok := errors.AsType[*ferry.Error](c.err)
	switch {
	case c.err == nil:
		w.checkOutcome(c)
	case !ok || e.Key != nil && e.Key != c.Key:
		w.broke(Truth, "%v: got error %v, which is not of its input", c, c.err)
	case ferry.NotSent(c.err) && c.trip != nil:
		w.broke(NotSent, "%v: got %v, and its input was sent", c, c.err)
	case !ferry.NotSent(c.err) && c.trip == nil:
		w.broke(NotSent, "%v: got %v, and its input was never sent", c, c.err)
	case c.trip == nil && !w.mayRefuse(c):
		w.broke(Bounds, "%v: refused without a reason: %v", c, c.err)
	case c.trip != nil && !c.mayBeUnknown():
		w.broke(Truth, "%v: got %v, and its call has %v", c, c.err, c.trip)
	}
}

// checkOutcome checks an answer against the store.
func (w *world) checkOutcome(c *caller) {
	cell := w.store.Cell(c.Key)
	at := c.out.Result
	switch {
	case c.trip == nil:
		w.broke(NotSent, "%v: an answer, and its input was never sent", c)
	case !c.trip.ended || c.trip.err != nil || c.trip.defect != NoFault:
		w.broke(Truth, "%v: an answer, and its call has %v", c, c.trip)
	case at < 0 || at >= len(cell.Record.Log) || cell.Record.Log[at] != c.ID:
		w.broke(Truth, "%v: answered position %d, and the log is %v", c, at, cell.Record.Log)
	case w.s.Layout == sim.WholeRecord && c.out.Status == projected.Projected && !slices.Contains(cell.View, c.ID):
		w.broke(Truth, "%v: answered projected, and the view is %v", c, cell.View)
	case w.defects(c.lane) > 0:
		w.coverage["an answer after a defect"]++
	}
}

// defects counts the calls of a lane that panicked or ended their goroutine.
func (w *world) defects(l *lane) (n int) {
	for _, c := range w.callers {
		if c.lane == l && c.trip != nil && c.trip.ended && c.trip.defect != NoFault {
			n++
		}
	}
	return n
}

// mayRefuse says whether c, whose input was not sent, was told a reason that there was.
func (w *world) mayRefuse(c *caller) bool {
	p, cfg := c.lane.p, w.s.Config
	switch {
	case c.refused != nil:
		if errors.Is(c.refused, ferry.ErrOverloaded) {
			w.coverage["overloaded"]++
		}
		return errors.Is(c.err, c.refused)
	case errors.Is(c.err, context.Canceled):
		w.coverage["withdrawn"]++
		return c.cancelled
	case errors.Is(c.err, ferry.ErrClosed):
		w.coverage["not sent at close"]++
		// Who waits for room is refused at once, who is queued only when Close gives up.
		return !p.gaveUp.IsZero() || p.closing && !w.exact()
	case errors.Is(c.err, ferry.ErrOverloaded):
		w.coverage["out of patience"]++
		return cfg.Overflow > 0 && time.Since(c.since) >= time.Duration(cfg.Overflow)
	}
	return false
}

// mayBeUnknown says whether c, whose input was sent, was told a reason that there is.
func (c *caller) mayBeUnknown() bool {
	t, seen := c.trip, c.lane.p.w.coverage
	panicked, isPanic := errors.AsType[*ferry.PanicError](c.err)
	switch {
	case t.ended && t.defect == Panic:
		return isPanic && panicked.Value == errInjected
	case t.ended && t.defect == Goexit:
		return errors.Is(c.err, ferry.ErrGoexit)
	case t.ended:
		return t.err != nil && errors.Is(c.err, t.err)
	case errors.Is(c.err, context.Canceled):
		seen["unknown after leaving in flight"]++
		return c.cancelled
	case errors.Is(c.err, ferry.ErrStillOut):
		seen["still out"]++
		return t.isStillOut()
	}
	return false
}

// String says how far the call is.
func (t *trip) String() string {
	switch {
	case !t.ended:
		return "not returned"
	case t.defect != NoFault:
		return "ended: it " + t.defect.String()
	case t.err != nil:
		return "failed: " + t.err.Error()
	}
	return "succeeded"
}

// checkRest checks a process that has come to rest.
func (w *world) checkRest(p *process) {
	w.checkBooks(p)
	w.checkClose(p)
	cfg := w.s.Config
	for _, l := range p.lanes {
		if l.trip != nil {
			ends := !p.gaveUp.IsZero() || time.Since(l.trip.start) >= cfg.BatchTimeout
			if err := l.trip.ctx.Err(); (err != nil) != ends {
				w.broke(OwnTime, "%s: the context of the call of %s has %v, and it should have ended: %v", p.name, l.key, err, ends)
			}
		}
	}
}

func (w *world) checkBooks(p *process) {
	cfg, s, lanes := w.s.Config, p.ferry.Stats(), 0
	var held *lane
	for _, l := range p.lanes {
		if l.trip != nil || len(l.queue) > 0 {
			lanes++
		}
		if l.trip == nil && l.due > 0 && (w.exact() || cfg.Linger == 0) { // Else its linger began at an unknown time.
			held = l
		}
	}
	switch {
	case s.Queued > cfg.MaxQueued:
		w.broke(Bounds, "%s: %d are queued, and the bound is %d", p.name, s.Queued, cfg.MaxQueued)
	case s.InFlight != p.out() || s.Lanes != lanes || s.Queued+s.Waiting != p.queued() || w.exact() && s.Waiting > 0:
		w.broke(Books, "%s: %d calls out, %d lanes, %d queued, %d waiting by its own count, want %d, %d, and %d queued or waiting",
			p.name, s.InFlight, s.Lanes, s.Queued, s.Waiting, p.out(), lanes, p.queued())
	case held != nil && s.Waiting == 0 && s.InFlight < cfg.MaxInFlight, s.Waiting > 0 && s.InFlight == 0:
		w.broke(Prompt, "%s: %d calls out, %d inputs queued and %d waiting, and nothing is on its way", p.name, s.InFlight, s.Queued, s.Waiting)
	case s.Waiting > 0 && p.closing:
		w.broke(Closes, "%s: %d wait for room after Close", p.name, s.Waiting)
	case s.Waiting > 0 && !p.isFull(s.Queued):
		w.broke(Prompt, "%s: %d wait for room, and there is some", p.name, s.Waiting)
	}
	if s.Waiting > 0 {
		w.coverage["waited for room"]++
	}
}

// isFull says whether a bound is reached.
func (p *process) isFull(queued int) bool {
	cfg := p.w.s.Config
	return queued >= cfg.MaxQueued ||
		slices.ContainsFunc(p.lanes, func(l *lane) bool { return len(l.queue) > cfg.MaxQueuedPerKey })
}

func (w *world) checkClose(p *process) {
	left := p.out() + p.queued()
	overdue := !p.gaveUp.IsZero() && time.Since(p.gaveUp) >= w.s.Config.CancelGrace
	switch {
	case p.closed && p.closeErr == nil && left > 0, p.closed && left > 0 && !overdue:
		w.broke(Closes, "%s: Close has returned, and %d calls are out and %d inputs are queued", p.name, p.out(), p.queued())
	case p.closed && p.closeErr != nil && p.gaveUp.IsZero():
		w.broke(Closes, "%s: Close has answered %v without a reason", p.name, p.closeErr)
	case p.closing && !p.closed && (left == 0 || overdue):
		w.broke(Closes, "%s: Close has not returned", p.name)
	}
}
