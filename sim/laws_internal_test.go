package sim

import (
	"context"
	"errors"
	"testing"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim/simstore"
)

// TestStateLaws has for each law of states a write that breaks it.
func TestStateLaws(t *testing.T) {
	t.Parallel()
	const a, b = simstore.ID(0), simstore.ID(1)
	ids := func(ids ...simstore.ID) []simstore.ID { return ids }
	cell := func(marker int, log, view []simstore.ID) simstore.Cell {
		return simstore.Cell{Record: simstore.Record{Marker: marker, Log: log}, View: view}
	}
	tests := []struct {
		name          string
		layout        Layout
		before, after simstore.Cell
		want          Law
	}{
		{"all is well", WholeRecord, cell(1, ids(a), nil), cell(0, ids(a), ids(a)), ""},
		{"rows in any order", Rows, cell(1, ids(a, b), ids(b)), cell(0, ids(a, b), ids(b, a)), ""},
		{"twice in the log", LogOnly, cell(1, ids(a), nil), cell(1, ids(a, a), nil), Once},
		{"twice in the view", Rows, cell(1, ids(a), ids(a)), cell(1, ids(a), ids(a, a)), Once},
		{"a log that shrinks", LogOnly, cell(1, ids(a, b), nil), cell(1, ids(a), nil), Grows},
		{"a view that shrinks", WholeRecord, cell(1, ids(a), ids(a)), cell(1, ids(a), nil), Grows},
		{"a view out of order", WholeRecord, cell(1, ids(a, b), nil), cell(1, ids(a, b), ids(b)), Follows},
		{"a row without an entry", Rows, cell(1, ids(a), nil), cell(1, ids(a), ids(b)), Follows},
		{"nothing pending and a view behind", WholeRecord, cell(1, ids(a), nil), cell(0, ids(a), nil), HonestMarker},
	}
	for _, test := range tests {
		w := &world{s: Scenario{Layout: test.layout}}
		w.checkState("k", test.before, test.after)
		if got := lawOf(w.violation); got != test.want {
			t.Errorf("%s: got law %q, want %q", test.name, got, test.want)
		}
	}
}

func lawOf(v *Violation) Law {
	if v == nil {
		return ""
	}
	return v.Law
}

// TestCodeLaws has for each law of answers and of conduct code that breaks it, in place of the library.
func TestCodeLaws(t *testing.T) {
	t.Parallel()
	write := func(p *process) write {
		s := p.w.s
		return s.write(s.commit())
	}
	tests := []struct {
		name   string
		layout Layout
		limits Limits
		change func(p *process, c *code)
		want   Law
	}{
		{"the library", Rows, Limits{Faults: 1, Kinds: EveryFault, Crashes: 1, Cancels: 1}, func(*process, *code) {}, ""},
		{"an answer with another position", WholeRecord, Limits{}, func(p *process, c *code) {
			c.call = afterwards(c.call, func(outs []Outcome, err error) ([]Outcome, error) {
				outs[0].Result++
				return outs, err
			})
		}, Truth},
		{"an answer too many", WholeRecord, Limits{}, func(p *process, c *code) {
			c.call = afterwards(c.call, func(outs []Outcome, err error) ([]Outcome, error) { return append(outs, Outcome{}), err })
		}, Truth},
		{"committed without its cause", WholeRecord, Limits{Faults: 2, Kinds: Refuse}, func(p *process, c *code) {
			c.call = afterwards(c.call, func(outs []Outcome, err error) ([]Outcome, error) {
				for i := range outs {
					outs[i].Err = nil
				}
				return outs, err
			})
		}, Truth},
		{"an unknown commit called not written", WholeRecord, Limits{Faults: 1, Kinds: Delay}, func(p *process, c *code) {
			c.call = afterwards(c.call, func(outs []Outcome, err error) ([]Outcome, error) {
				if e, ok := errors.AsType[*fold.Error](err); ok {
					e.Unknown = false
				}
				return outs, err
			})
		}, Truth},
		{"complete without a look", WholeRecord, Limits{}, func(p *process, c *code) {
			c.resume = func(context.Context, string) (projected.Projection[simstore.ID], error) { return nil, nil }
		}, Evidence},
		{"a projection that failed answered projected", WholeRecord, Limits{Faults: 1, Kinds: Lose}, func(p *process, c *code) {
			w := write(p)
			w.Project = func(p *process, ctx context.Context, key string, r simstore.Record) (projected.Projection[simstore.ID], error) {
				_ = p.Project(ctx, key, r)
				return nil, nil
			}
			c.call = w.Provide(p).Call
		}, Evidence},
		{"a failed call after the commit", WholeRecord, Limits{Faults: 2, Kinds: Refuse}, func(p *process, c *code) {
			c.call = afterwards(c.call, func(outs []Outcome, err error) ([]Outcome, error) {
				if err == nil && outs[0].Err != nil {
					return nil, outs[0].Err
				}
				return outs, err
			})
		}, Acknowledged},
		{"no retry", WholeRecord, Limits{Faults: 1, Kinds: Refuse}, func(p *process, c *code) {
			p.w.s.Retries = 1
		}, Succeeds},
		{"a try too many", WholeRecord, Limits{Faults: 2, Kinds: Refuse}, func(p *process, c *code) {
			w := write(p)
			w.Fold.Retry = schedule.Once()
			c.call = w.Provide(p).Call
		}, Cost},
		{"a read too many", WholeRecord, Limits{}, func(p *process, c *code) {
			call := c.call
			c.call = func(ctx context.Context, key string, in []Input) ([]Outcome, error) {
				_, _ = p.Read(ctx, key)
				return call(ctx, key, in)
			}
		}, Cost},
		{"a commit that changes nothing", LogOnly, Limits{}, func(p *process, c *code) {
			c.call = func(ctx context.Context, key string, in []Input) ([]Outcome, error) {
				r, _ := p.Read(ctx, key)
				_, err := p.Commit(ctx, key, r, r)
				return nil, err
			}
		}, Cost},
		{"a projection of nothing", WholeRecord, Limits{}, func(p *process, c *code) {
			c.resume = func(ctx context.Context, key string) (projected.Projection[simstore.ID], error) {
				r, _ := p.Read(ctx, key)
				return nil, p.Project(ctx, key, r)
			}
		}, Cost},
		{"a row nobody asked for", Rows, Limits{}, func(p *process, c *code) {
			c.resume = func(ctx context.Context, key string) (projected.Projection[simstore.ID], error) {
				return nil, errors.Join(p.Put(ctx, key, []simstore.ID{0})...)
			}
		}, Cost},
		{"a commit for a record that was not read", LogOnly, Limits{}, func(p *process, c *code) {
			c.call = func(ctx context.Context, key string, in []Input) ([]Outcome, error) {
				_, err := p.Commit(ctx, key, simstore.Record{}, simstore.Record{Log: []simstore.ID{0}})
				return nil, err
			}
		}, Fresh},
		{"a batch in reverse", LogOnly, Limits{}, func(p *process, c *code) {
			c.call = func(ctx context.Context, key string, in []Input) ([]Outcome, error) {
				r, _ := p.Read(ctx, key)
				_, err := p.Commit(ctx, key, r, simstore.Record{Log: []simstore.ID{1, 0}})
				return nil, err
			}
		}, Order},
		{"on and on after the caller has left", WholeRecord, Limits{Cancels: 1}, func(p *process, c *code) {
			c.resume = func(_ context.Context, key string) (projected.Projection[simstore.ID], error) {
				return write(p).Provide(p).Resume(context.Background(), key)
			}
			call := c.call
			c.call = func(_ context.Context, key string, in []Input) ([]Outcome, error) {
				return call(context.Background(), key, in)
			}
		}, Cancelled},
		{"a panic that comes out", WholeRecord, Limits{Faults: 1, Kinds: Panic}, func(p *process, c *code) {
			c.call = afterwards(c.call, func(outs []Outcome, err error) ([]Outcome, error) {
				if p.call.panicked {
					panic("again")
				}
				return outs, err
			})
		}, Contained},
		{"on and on after the crash", WholeRecord, Limits{Crashes: 1}, func(p *process, c *code) {
			call := c.call
			c.call = func(_ context.Context, key string, in []Input) ([]Outcome, error) {
				for {
					if outs, err := call(context.Background(), key, in); err == nil {
						return outs, nil
					}
				}
			}
		}, Ends},
		{"on and on", WholeRecord, Limits{}, func(p *process, c *code) {
			c.call = func(ctx context.Context, key string, in []Input) ([]Outcome, error) {
				for {
					if _, err := p.Read(ctx, key); err != nil {
						return nil, err
					}
				}
			}
		}, Ends},
		{"a sweep that does nothing", WholeRecord, Limits{Crashes: 1}, func(p *process, c *code) {
			c.resume = func(ctx context.Context, key string) (projected.Projection[simstore.ID], error) {
				_, err := p.Read(ctx, key)
				return nil, err
			}
		}, Truth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := Scenario{
				Layout:    test.layout,
				Processes: []Process{{Name: "w", Calls: []Call{Submit("k", "ab")}}},
				Limits:    test.limits,
			}
			w := newWorld(s)
			defer w.close()
			for _, p := range append(w.processes, w.sweeper) {
				test.change(p, &p.code)
			}
			r := w.explore(Search{})
			var got *Violation
			if r.Failure != nil {
				got = r.Failure.Violation
			}
			if lawOf(got) != test.want {
				t.Errorf("got %v, want law %q\n%v", got, test.want, r.Failure)
			}
		})
	}
}

// afterwards changes the answers of call.
func afterwards(call batchCall, change func([]Outcome, error) ([]Outcome, error)) batchCall {
	return func(ctx context.Context, key string, in []Input) ([]Outcome, error) {
		return change(call(ctx, key, in))
	}
}

type batchCall = func(context.Context, string, []Input) ([]Outcome, error)
