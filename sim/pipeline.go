package sim

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim/simstore"
)

// Rejected is the result of an input that step rejected. Other results are positions in the log.
const Rejected = -1

// Outcome is what a call answers to one input.
type Outcome = projected.Outcome[*backends.Error, int]

type (
	commit = fold.FoldWrite[*process, *backends.Error, string, Input, simstore.ID, simstore.Record, int]
	write  = projected.ProjectedWrite[*process, *backends.Error, string, Input, simstore.ID, simstore.Record, int]
)

// code is what a process runs: the library, provided with the process's handle on the world.
type code struct {
	call   func(context.Context, string, []Input) ([]Outcome, error)
	resume func(context.Context, string) (projected.Projection[simstore.ID], error)
}

func (s Scenario) code(p *process) code {
	commit := s.commit()
	if s.Layout == LogOnly {
		return code{call: outcomes(commit.Provide(p).Call)}
	}
	write := s.write(commit)
	provided := write.Provide(p)
	c := code{call: provided.Call, resume: provided.Resume}
	if s.Mistakes.AnswersEarly {
		write.Pending = func(simstore.Record) bool { return false }
		c.call = write.Provide(p).Call
	}
	return c
}

func (s Scenario) commit() commit {
	// Without delays: every operation is a point where others may go first, so a pause would add nothing.
	retry := schedule.Recurs(s.Retries)
	return fold.New[*backends.Error](Input.id, (*process).Read, s.step, (*process).Commit, retry)
}

func (s Scenario) write(commit commit) write {
	if s.Layout == WholeRecord {
		return projected.WholeRecord(commit, s.Store.Marker.Pending, (*process).Project)
	}
	project := projected.Rows(entries, (*process).Missing, (*process).Put, (*process).Clear)
	if s.Mistakes.ClearsEarly {
		project = clearEarly(project)
	}
	return projected.New(commit, s.Store.Marker.Pending, project)
}

func (in Input) id() simstore.ID { return in.ID }

// step appends an input to the log and answers its position there.
func (s Scenario) step(r simstore.Record, in Input) (simstore.Record, int, bool) {
	at := slices.Index(r.Log, in.ID)
	switch {
	case at >= 0 && !s.Mistakes.AppliesReplays:
		return r, at, false
	case in.Reject:
		return r, Rejected, false
	}
	at = len(r.Log)
	if !s.Mistakes.AppendsInPlace {
		r.Log = slices.Clip(r.Log)
	}
	r.Log = append(r.Log, in.ID)
	if s.Store.Marker == simstore.Flag {
		r.Marker = 1
	}
	return r, at, true
}

func entries(r simstore.Record) iter.Seq2[simstore.ID, simstore.ID] {
	return func(yield func(simstore.ID, simstore.ID) bool) {
		for _, id := range r.Log {
			if !yield(id, id) {
				return
			}
		}
	}
}

type project = func(*process, context.Context, string, simstore.Record) (projected.Projection[simstore.ID], error)

func clearEarly(project project) project {
	return func(p *process, ctx context.Context, key string, r simstore.Record) (projected.Projection[simstore.ID], error) {
		left, err := project(p, ctx, key, r)
		if err == nil && len(left) > 0 {
			err = p.Clear(ctx, key, r)
		}
		return left, err
	}
}

// outcomes makes the answers of a FoldWrite look like those of a ProjectedWrite: committed, without a cause.
func outcomes(call func(context.Context, string, []Input) ([]int, error)) func(context.Context, string, []Input) ([]Outcome, error) {
	return func(ctx context.Context, key string, inputs []Input) ([]Outcome, error) {
		results, err := call(ctx, key, inputs)
		outs := make([]Outcome, len(results))
		for i, r := range results {
			outs[i] = Outcome{Status: projected.Committed, Result: r}
		}
		return outs, err
	}
}

// Read and the five methods after it are the store as the pipeline sees it.
func (p *process) Read(ctx context.Context, key string) (simstore.Record, error) {
	a := p.do(simstore.Request{Op: simstore.Read, Key: key})
	return a.Record, a.Err
}

func (p *process) Commit(ctx context.Context, key string, read, next simstore.Record) (simstore.Record, error) {
	a := p.do(simstore.Request{Op: simstore.Commit, Key: key, Held: read, Log: next.Log})
	return a.Record, a.Err
}

func (p *process) Project(ctx context.Context, key string, held simstore.Record) error {
	return p.do(simstore.Request{Op: simstore.Project, Key: key, Held: held}).Err
}

func (p *process) Missing(ctx context.Context, key string, held simstore.Record) ([]simstore.ID, error) {
	a := p.do(simstore.Request{Op: simstore.Missing, Key: key, Held: held})
	return a.Rows, a.Err
}

// Put writes each row by an operation of its own, so that a process can die between two of them.
func (p *process) Put(ctx context.Context, key string, rows []simstore.ID) []error {
	errs := make([]error, len(rows))
	for i, row := range rows {
		if errs[i] = backends.Ended(ctx, "put", key); errs[i] == nil {
			errs[i] = p.do(simstore.Request{Op: simstore.Put, Key: key, Row: row}).Err
		}
	}
	return errs
}

func (p *process) Clear(ctx context.Context, key string, held simstore.Record) error {
	return p.do(simstore.Request{Op: simstore.Clear, Key: key, Held: held}).Err
}

// errInjected is the cause of every error that the world makes up.
var errInjected = errors.New("injected")

func injected(r simstore.Request, class error) error {
	return &backends.Error{Op: r.Op.String(), Key: r.Key, Class: class, Err: errInjected}
}
