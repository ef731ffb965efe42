package projected_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

type failure struct{ what string }

func (f *failure) Error() string { return f.what }

// lost says that an operation was done and its answer lost; everything else a script answers is done instead of it.
var (
	lost     = &failure{"lost"}
	refused  = &failure{"refused"}
	conflict = &failure{"conflict"}
)

// record has both kinds of marker: done is the watermark of a whole-record view, and behind the flag of a view of rows.
type record struct {
	version int
	log     []string
	done    int
	behind  bool
}

func (r record) pending() bool { return r.behind }

func step(r record, in string) (record, string, bool) {
	if at := slices.Index(r.log, in); at >= 0 {
		return r, fmt.Sprint(at), false
	}
	if in == "bad" {
		return r, "rejected", false
	}
	r.log, r.behind = append(slices.Clip(r.log), in), true
	return r, fmt.Sprint(len(r.log) - 1), true
}

func ident(in string) string { return in }

// rules are the store's, to be switched off one by one.
type rules struct {
	unfencedProject   bool
	unconditionalRows bool
	unfencedClear     bool
}

// store holds records with views of both kinds. on is asked before each operation, with how many of its kind there
// have been, and may be nil; it may itself use the store, as a rival would.
type store struct {
	rules
	on func(op string, n int) error

	mu      sync.Mutex
	records map[string]record
	views   map[string][]string // of whole records: appended to
	rows    map[string][]string // of rows: appended to
	ops     []string
	counts  map[string]int
}

func newStore() *store {
	return &store{
		records: map[string]record{}, views: map[string][]string{}, rows: map[string][]string{}, counts: map[string]int{},
	}
}

// do runs apply as the operation op, as the script has it.
func (s *store) do(op string, apply func() error) error {
	s.mu.Lock()
	s.counts[op]++
	n := s.counts[op]
	s.ops = append(s.ops, op)
	s.mu.Unlock()
	var err error
	if s.on != nil {
		if err = s.on(op, n); err != nil && err != lost {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if applied := apply(); applied != nil {
		return applied
	}
	return err
}

func (s *store) Read(_ context.Context, key string) (r record, err error) {
	err = s.do("read", func() error { r = s.records[key]; return nil })
	return r, err
}

func (s *store) holds(key string, r record) bool {
	held := s.records[key]
	return held.version == r.version && held.behind == r.behind
}

func (s *store) put(key string, r record) record {
	r.version++
	s.records[key] = r
	return r
}

func (s *store) Commit(_ context.Context, key string, read, next record) (stored record, err error) {
	err = s.do("commit", func() error {
		if !s.holds(key, read) {
			return conflict
		}
		stored = s.put(key, next)
		return nil
	})
	return stored, err
}

func (s *store) Project(_ context.Context, key string, r record) error {
	return s.do("project", func() error {
		if !s.unfencedProject && !s.holds(key, r) {
			return conflict
		}
		s.views[key] = append(s.views[key], r.log[r.done:]...)
		if r.version == s.records[key].version {
			r.done, r.behind = len(r.log), false
			s.put(key, r)
		}
		return nil
	})
}

func (s *store) Missing(_ context.Context, key string, r record) (ids []string, err error) {
	err = s.do("missing", func() error {
		for _, id := range r.log {
			if !slices.Contains(s.rows[key], id) {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

func (s *store) Put(_ context.Context, key string, rows []string) []error {
	errs := make([]error, len(rows))
	for i, row := range rows {
		errs[i] = s.do("put "+row, func() error {
			if s.unconditionalRows || !slices.Contains(s.rows[key], row) {
				s.rows[key] = append(s.rows[key], row)
			}
			return nil
		})
	}
	return errs
}

func (s *store) Clear(_ context.Context, key string, r record) error {
	return s.do("clear", func() error {
		if !s.unfencedClear && !s.holds(key, r) {
			return conflict
		}
		r = s.records[key]
		r.behind = false
		s.put(key, r)
		return nil
	})
}

func (s *store) PendingKeys(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var keys []string
		err := s.do("list", func() error {
			for key, r := range maps.All(s.records) {
				if r.behind {
					keys = append(keys, key)
				}
			}
			slices.Sort(keys)
			return nil
		})
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

func (s *store) take() (ops []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ops, s.ops = s.ops, nil
	return ops
}

// add is another writer's commit.
func (s *store) add(key string, entries ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[key]
	r.log, r.behind = append(slices.Clip(r.log), entries...), true
	s.put(key, r)
}

type (
	write   = projected.ProjectedWrite[*store, *failure, string, string, string, record, string]
	outcome = projected.Outcome[*failure, string]
)

func commit(retries int) fold.FoldWrite[*store, *failure, string, string, string, record, string] {
	return fold.New[*failure](ident, (*store).Read, step, (*store).Commit, schedule.Recurs(retries))
}

func whole(retries int) write {
	return projected.WholeRecord(commit(retries), record.pending, (*store).Project)
}

func rowOf(r record) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, id := range r.log {
			if !yield(id, id) {
				return
			}
		}
	}
}

func perRow(retries int) write {
	return projected.New(commit(retries), record.pending,
		projected.Rows(rowOf, (*store).Missing, (*store).Put, (*store).Clear))
}
