package sim

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim/simstore"
)

// answered checks the answer of a batch.
func (w *world) answered(p *process, outs []Outcome, err error) {
	if p.dead {
		return
	}
	w.returned(p, func(r *Made) { r.Outcomes, r.Err = outs, err })
	defer w.checkCost(p) // Last: a lie is worse than a waste.
	c := &p.call
	switch {
	case err != nil:
		w.checkFailed(p, err)
	case len(outs) != len(c.Inputs):
		w.broke(Truth, "%s: %d answers for %d inputs", p.spec.Name, len(outs), len(c.Inputs))
	default:
		complete := w.s.Layout != LogOnly && !c.anyRowFailed() && !c.cancelled
		for i, in := range c.Inputs {
			w.checkOutcome(p, in, outs[i])
			complete = complete && outs[i].Status == projected.Projected
		}
		if complete && !c.cleared {
			w.broke(Evidence, "%s: answered projected, and does not know the marker to be cleared", p.spec.Name)
		}
		w.cover(c, outs)
	}
}

func (w *world) checkFailed(p *process, err error) {
	c := &p.call
	unknown := true
	if e, ok := errors.AsType[interface {
		error
		NotWritten() bool
	}](err); ok {
		unknown = !e.NotWritten()
	}
	w.coverage["answer failed"]++
	switch {
	case c.committed:
		w.broke(Acknowledged, "%s: failed after its commit was acknowledged", p.spec.Name)
	case w.gaveUpEarly(c, 0, w.s.Retries+1):
		w.broke(Succeeds, "%s: failed after %d disturbances with %d retries", p.spec.Name, w.disturbances(c), w.s.Retries)
	case c.panicked:
		return
	case unknown != c.unknown:
		w.broke(Truth, "%s: failed with outcome unknown = %v, and it is %v", p.spec.Name, unknown, c.unknown)
	case c.cancelled && !errors.Is(err, context.Canceled):
		w.broke(Truth, "%s: failed after its caller left without saying so", p.spec.Name)
	case c.cancelled:
	case !errors.Is(err, c.lastErr):
		w.broke(Truth, "%s: failed with another error than its last", p.spec.Name)
	default:
		w.coverage["retries exhausted"]++
	}
}

func (w *world) checkOutcome(p *process, in Input, out Outcome) {
	c, who := &p.call, p.spec.Name
	cell := w.store.Cell(c.Key)
	switch out.Status {
	case projected.Projected:
		w.checkProjected(p, in, out)
	case projected.Committed:
		w.checkCommitted(p, in, out)
	default:
		w.broke(Truth, "%s: %v answered with no status", who, in.ID)
	}
	at := slices.Index(cell.Record.Log, in.ID)
	switch {
	case at != out.Result:
		w.broke(Truth, "%s: %v answered to be at %d and is at %d", who, in.ID, out.Result, at)
	case !in.Reject && !c.known.has(in.ID):
		w.broke(Evidence, "%s: %v answered %v, which the call has never seen in the log", who, in.ID, out.Status)
	}
}

func (w *world) checkProjected(p *process, in Input, out Outcome) {
	c, who := &p.call, p.spec.Name
	cell := w.store.Cell(c.Key)
	switch {
	case out.Err != nil:
		w.broke(Truth, "%s: %v answered projected with a cause", who, in.ID)
	case in.Reject:
	case !slices.Contains(cell.View, in.ID):
		w.broke(Truth, "%s: %v answered projected, and the view is %v", who, in.ID, cell.View)
	case !c.shown.has(in.ID):
		w.broke(Evidence, "%s: %v answered projected, which the call does not know", who, in.ID)
	}
}

func (w *world) checkCommitted(p *process, in Input, out Outcome) {
	c, who := &p.call, p.spec.Name
	if w.s.Layout == LogOnly {
		return
	}
	own := c.rowErr(in.ID)
	switch {
	case c.cancelled || c.panicked:
	case own != nil:
		if !errors.Is(out.Err, own) {
			w.broke(Truth, "%s: %v answered committed with another cause than that of its row", who, in.ID)
		}
		return
	case w.gaveUpEarly(c, c.settledAt, w.s.Retries+2):
		w.broke(Succeeds, "%s: %v answered committed after %d disturbances with %d retries", who, in.ID, w.disturbances(c)-c.settledAt, w.s.Retries)
	case !errors.Is(out.Err, c.lastErr):
		w.broke(Truth, "%s: %v answered committed with another cause than the last error", who, in.ID)
	}
	if out.Err == nil {
		w.broke(Truth, "%s: %v answered committed without a cause", who, in.ID)
	}
}

func (w *world) cover(c *call, outs []Outcome) {
	var seen [3]bool
	for i, out := range outs {
		seen[out.Status] = true
		if out.Status == projected.Committed && w.s.Layout != LogOnly && !c.cancelled && !c.panicked && c.rowErr(c.Inputs[i].ID) == nil {
			w.coverage["projection exhausted"]++
		}
		switch {
		case c.Inputs[i].Reject:
			w.coverage["answer rejected"]++
		case out.Status == projected.Projected:
			w.coverage["answer projected"]++
		default:
			w.coverage["answer committed"]++
		}
	}
	if seen[projected.Projected] && seen[projected.Committed] {
		w.coverage["batch answered in part"]++
	}
}

// resumed checks the answer of a sweeper's visit.
func (w *world) resumed(p *process, left projected.Projection[simstore.ID], err error) {
	if p.dead {
		return
	}
	w.returned(p, func(r *Made) { r.Left, r.Err = left, err })
	defer w.checkCost(p)
	c, who := &p.call, p.spec.Name
	view := setOf(w.store.Cell(c.Key).View)
	switch {
	case err != nil:
		w.coverage["resume failed"]++
		if w.gaveUpEarly(c, 0, w.s.Retries+1) {
			w.broke(Succeeds, "%s: resume failed after %d disturbances with %d retries", who, w.disturbances(c), w.s.Retries)
		}
		return
	case !c.read:
		w.broke(Evidence, "%s: resume answered without having read", who)
	}
	done := c.last
	for _, id := range slices.Sorted(maps.Keys(left)) {
		cause, own := left[id], c.rowErr(id)
		switch {
		case c.cancelled:
		case own == nil:
			w.broke(Truth, "%s: resume left %v, whose row did not fail", who, id)
		case !errors.Is(cause, own):
			w.broke(Truth, "%s: resume left %v with another cause than that of its row", who, id)
		}
		done &^= 1 << id
	}
	switch {
	case !done.within(view):
		w.broke(Truth, "%s: resume answered complete, and the view is %v", who, w.store.Cell(c.Key).View)
	case !done.within(c.shown), len(left) == 0 && !c.cleared:
		w.broke(Evidence, "%s: resume answered complete, which it does not know", who)
	case len(left) > 0:
		w.coverage["resume left rows"]++
	}
}
