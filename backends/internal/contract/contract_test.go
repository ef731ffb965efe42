package contract_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/contract"
)

// TestMutantsAreFound switches one rule of a store off at a time: the check of that rule must fail.
func TestMutantsAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mutant string
		found  string // by the check of this name
		mutate func(contract.Subject) contract.Subject
	}{
		{"fence ignored", "L33 stale writes are conflicts and write nothing", ignoreFence},
		{"fence ignored", "contended increments", ignoreFence},
		{"fence not on the clear", "L32 stale clear after a re-mark", unfencedClear},
		{"fence not on the clear", "one of many projections lands", unfencedClear},
		{"clear keeps the fence", "L32 every write has a new fence", clearKeepsFence},
		{"fence is the body's", "L32 stale clear after a re-mark", fenceOfBody},
		{"fence is the body's", "L32 every write has a new fence", fenceOfBody},
		{"delete and create give the old fence", "L32 deleted and created again", fencePerKey},
		{"commit clears the marker", "L28 commit keeps the marker", commitClears},
		{"unknown reported as refused", "L33 ended context is unknown", unknownAsRefused},
		{"index never drops", "index lists what is behind", neverDrops},
		{"index lags for ever", "index lists what is behind", emptyIndex},
		{"stale read", "committed record is read back", staleRead},
		{"ack before store", "committed record is read back", ackOnly},
		{"absent key has a fence", "absent key is the zero record", absentFence},
		{"view not written", "view shows the settled record", noView},
		{"rows unconditional", "rows are put once and answered one by one", rowsTwice},
		{"one answer for all rows", "rows are put once and answered one by one", oneAnswer},
	}
	for _, tt := range tests {
		t.Run(tt.mutant+"/"+tt.found, func(t *testing.T) {
			t.Parallel()
			for _, check := range contract.Checks() {
				if check.Name != tt.found {
					continue
				}
				if err := check.Run(t.Context(), tt.mutate(contract.OfRows(contract.NewRows()))); err == nil {
					t.Error("the check passes")
				}
				return
			}
			t.Error("there is no such check")
		})
	}
}

// mutant is a store of which single methods are replaced.
type mutant struct {
	backends.RowStore[string, []string, string, string]
	read    func(context.Context, string) (contract.Record, error)
	commit  func(context.Context, string, contract.Record, contract.Record) (contract.Record, error)
	pending func(context.Context) iter.Seq2[string, error]
	put     func(context.Context, string, []string) []error
}

func (m mutant) Read(ctx context.Context, key string) (contract.Record, error) {
	return m.read(ctx, key)
}

func (m mutant) Commit(ctx context.Context, key string, read, next contract.Record) (contract.Record, error) {
	return m.commit(ctx, key, read, next)
}

func (m mutant) PendingKeys(ctx context.Context) iter.Seq2[string, error] { return m.pending(ctx) }

func (m mutant) Put(ctx context.Context, key string, rows []string) []error {
	return m.put(ctx, key, rows)
}

func replace(s contract.Subject, change func(*mutant)) contract.Subject {
	m := mutant{RowStore: s.Rows, read: s.Rows.Read, commit: s.Rows.Commit, pending: s.Rows.PendingKeys, put: s.Rows.Put}
	change(&m)
	s.Store, s.Rows = m, m
	return s
}

func ignoreFence(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		inner := m.RowStore
		m.commit = func(ctx context.Context, key string, read, next contract.Record) (contract.Record, error) {
			for {
				held, err := inner.Read(ctx, key)
				if err != nil {
					return held, err
				}
				stored, err := inner.Commit(ctx, key, held, next)
				if !errors.Is(err, backends.ErrConflict) {
					return stored, err
				}
			}
		}
	})
}

func unfencedClear(s contract.Subject) contract.Subject {
	clear := s.Settle
	s.Settle = func(ctx context.Context, key string, _ contract.Record) error {
		for {
			held, err := s.Store.Read(ctx, key)
			if err != nil {
				return err
			}
			if err := clear(ctx, key, held); !errors.Is(err, backends.ErrConflict) {
				return err
			}
		}
	}
	return s
}

// refence makes the fences of a store those that next gives, in the place of the store's own.
func refence(s contract.Subject, next func(op string, former backends.Fence, body []string) backends.Fence) contract.Subject {
	var mu sync.Mutex
	fences := map[string]backends.Fence{}
	inner := s
	real := func(ctx context.Context, key string, r contract.Record) (contract.Record, error) {
		held, err := inner.Store.Read(ctx, key)
		if r.Fence != fences[key] {
			return held, &backends.Error{Op: "write", Key: key, Class: backends.ErrConflict}
		}
		r.Fence = held.Fence
		return r, err
	}
	clear := func(op string, do func(context.Context, string, contract.Record) error) func(context.Context, string, contract.Record) error {
		return func(ctx context.Context, key string, record contract.Record) error {
			mu.Lock()
			defer mu.Unlock()
			record, err := real(ctx, key, record)
			if err == nil {
				err = do(ctx, key, record)
			}
			if err == nil {
				fences[key] = next(op, fences[key], record.Body)
			}
			return err
		}
	}
	s.Settle, s.Delete = clear("clear", inner.Settle), clear("delete", inner.Delete)
	return replace(s, func(m *mutant) {
		m.read = func(ctx context.Context, key string) (contract.Record, error) {
			mu.Lock()
			defer mu.Unlock()
			held, err := inner.Store.Read(ctx, key)
			held.Fence = fences[key]
			return held, err
		}
		m.commit = func(ctx context.Context, key string, read, to contract.Record) (contract.Record, error) {
			mu.Lock()
			defer mu.Unlock()
			read, err := real(ctx, key, read)
			if err != nil {
				return read, err
			}
			stored, err := inner.Store.Commit(ctx, key, read, to)
			if err == nil {
				fences[key] = next("commit", fences[key], to.Body)
				stored.Fence = fences[key]
			}
			return stored, err
		}
	})
}

func clearKeepsFence(s contract.Subject) contract.Subject {
	return refence(s, func(op string, former backends.Fence, _ []string) backends.Fence {
		if op == "clear" {
			return former
		}
		return former + 1
	})
}

func fenceOfBody(s contract.Subject) contract.Subject {
	return refence(s, func(_ string, _ backends.Fence, body []string) backends.Fence {
		return backends.Fence(len(body))
	})
}

func fencePerKey(s contract.Subject) contract.Subject {
	return refence(s, func(op string, former backends.Fence, _ []string) backends.Fence {
		if op == "delete" {
			return 0
		}
		return former + 1
	})
}

func commitClears(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.commit = func(ctx context.Context, key string, read, next contract.Record) (contract.Record, error) {
			stored, err := m.RowStore.Commit(ctx, key, read, next)
			if err == nil && !next.Behind && stored.Behind {
				err = m.RowStore.Clear(ctx, key, stored)
			}
			if err != nil {
				return stored, err
			}
			return m.RowStore.Read(ctx, key)
		}
	})
}

func unknownAsRefused(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.commit = func(ctx context.Context, key string, read, next contract.Record) (contract.Record, error) {
			stored, err := m.RowStore.Commit(ctx, key, read, next)
			if e, ok := errors.AsType[*backends.Error](err); ok && e.Class == backends.ErrUnknown {
				e.Class = backends.ErrRefused
			}
			return stored, err
		}
	})
}

func neverDrops(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.pending = func(context.Context) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				_ = yield("k", nil) && yield("other", nil)
			}
		}
	})
}

func emptyIndex(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.pending = func(context.Context) iter.Seq2[string, error] { return func(func(string, error) bool) {} }
	})
}

func staleRead(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.read = func(context.Context, string) (contract.Record, error) { return contract.Record{}, nil }
	})
}

func ackOnly(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.commit = func(_ context.Context, _ string, _, next contract.Record) (contract.Record, error) {
			next.Fence = 1
			return next, nil
		}
	})
}

func absentFence(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.read = func(ctx context.Context, key string) (contract.Record, error) {
			record, err := m.RowStore.Read(ctx, key)
			record.Fence++
			return record, err
		}
	})
}

func noView(s contract.Subject) contract.Subject {
	s.View = func(context.Context, string) ([]string, error) { return nil, nil }
	return s
}

func rowsTwice(s contract.Subject) contract.Subject {
	inner := s.View
	s.View = func(ctx context.Context, key string) ([]string, error) {
		rows, err := inner(ctx, key)
		return append(rows, rows...), err
	}
	return s
}

func oneAnswer(s contract.Subject) contract.Subject {
	return replace(s, func(m *mutant) {
		m.put = func(ctx context.Context, key string, rows []string) []error {
			return m.RowStore.Put(ctx, key, rows)[:min(1, len(rows))]
		}
	})
}
