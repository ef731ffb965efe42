package kit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim/internal/kit"
)

// record is what a stranger might keep for a key. Its marker is a watermark, and its version changes with commits alone:
// a projection compares both.
type record struct {
	Version int
	Shown   int
	Log     []string
}

func (r record) pending() bool { return r.Shown < len(r.Log) }

// failure is a stranger's typed failure.
type failure struct {
	what    string
	unknown bool
}

func (f *failure) Error() string    { return f.what }
func (f *failure) NotWritten() bool { return !f.unknown }

// rules are what is wrong with a stranger's store, nothing if all are false.
type rules struct {
	failsOnAbsent, readsOld, answersOldFence, acksOnly, ignoresFence, fenceInTwoSteps, plainConflict                                              bool
	hiddenRetry, refusesAfterWriting, rewinds, clearsMarker, poisonsOthers, viewBeforeFence                                                       bool
	appliesReplays, appendsInPlace, rejectsSecond, joinsIDs, foldsCase                                                                            bool
	unfencedProject, projectsTwice, projectInTwoSteps, noView, viewLags, panics                                                                   bool
	listsNothing, listsForEver, listsOnce                                                                                                         bool
	nothingMissing, allMissing, putAnswersOne, putsTwice, putsNothing                                                                             bool
	deleteIgnoresFence, deleteKeepsView, reusesFences, forgetsMarker, forgetsLog, cachesReads, takesTime, dirtyReads, listsLocked, unsureConflict bool
}

// cell is what the store has of a key.
type cell struct {
	record
	former   record // before the last write
	view     []string
	old      []string // the view before its last change
	versions int
}

// show adds to the view what it does not have.
func (c *cell) show(log []string) {
	for _, id := range log {
		if !slices.Contains(c.view, id) {
			c.view = append(slices.Clip(c.view), id)
		}
	}
}

// data is what several handles share.
type data struct {
	mu     sync.Mutex
	cells  map[string]*cell
	listed map[string]bool
	hurt   string // the key that was refused last
	looks  int
}

// store is a handle of a stranger's store.
type store struct {
	rules
	*data
	cache map[string]record
}

func open(r rules) *store {
	return &store{r, &data{cells: map[string]*cell{}, listed: map[string]bool{}}, map[string]record{}}
}

func (s *store) cell(key string) *cell {
	if s.foldsCase {
		key = strings.ToLower(key)
	}
	if s.cells[key] == nil {
		s.cells[key] = &cell{}
	}
	return s.cells[key]
}

// locked is one atomic step.
func (s *store) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *store) Read(_ context.Context, key string) (r record, err error) {
	s.locked(func() {
		c := s.cell(key)
		switch {
		case c.versions == 0 && s.failsOnAbsent:
			err = &failure{what: "no such key"}
		case s.readsOld:
			r = c.former
		case s.cachesReads && s.cache[key].Version > 0:
			r = s.cache[key]
		default:
			r = c.record
		}
		s.cache[key] = r
	})
	return r, err
}

func (s *store) conflict() error {
	if s.plainConflict {
		return errors.New("conflict")
	}
	return &failure{what: "somebody was faster", unknown: s.unsureConflict}
}

func (s *store) Write(ctx context.Context, key string, read, next record) (stored record, err error) {
	if ctx.Err() != nil && !s.refusesAfterWriting {
		return record{}, &failure{what: "ended", unknown: true}
	}
	if s.fenceInTwoSteps {
		if now, _ := s.Read(ctx, key); now.Version != read.Version {
			return record{}, s.conflict()
		}
		time.Sleep(time.Millisecond)
		s.locked(func() { read.Version = s.cell(key).Version })
	}
	if s.takesTime {
		time.Sleep(time.Millisecond)
	}
	if s.dirtyReads {
		var before record
		s.locked(func() { before, s.cell(key).Log = s.cell(key).record, next.Log })
		time.Sleep(time.Millisecond)
		s.locked(func() { s.cell(key).Log = before.Log })
	}
	s.locked(func() { stored, err = s.write(key, read, next) })
	if ctx.Err() != nil && err == nil {
		err = &failure{what: "ended"}
	}
	return stored, err
}

func (s *store) write(key string, read, next record) (record, error) {
	c := s.cell(key)
	if s.poisonsOthers && s.hurt != "" && s.hurt != key {
		s.hurt = ""
		return record{}, s.conflict()
	}
	if s.viewBeforeFence {
		c.show(next.Log)
	}
	if c.Version != read.Version && !s.ignoresFence {
		s.hurt = key
		return record{}, s.conflict()
	}
	if s.acksOnly {
		return next, nil
	}
	c.former = c.record
	c.versions++
	shown := c.Shown
	if s.rewinds {
		shown = read.Shown
	}
	if s.clearsMarker {
		shown = len(next.Log)
	}
	c.record = record{Version: c.versions, Shown: shown, Log: next.Log}
	if s.joinsIDs {
		c.Log = strings.Split(strings.Join(next.Log, ","), ",")
	}
	if s.reusesFences {
		c.Version = len(c.Log)
	}
	s.listed[key] = true
	stored := c.record
	s.cache[key] = stored
	if s.answersOldFence {
		stored.Version = read.Version
	}
	if s.hiddenRetry && c.versions%2 == 0 {
		return record{}, s.conflict()
	}
	return stored, nil
}

// finish compares and clears.
func (s *store) finish(c *cell, key string, r record) error {
	fresh := c.Version == r.Version && (c.Shown == r.Shown || s.projectsTwice)
	if !fresh && !s.unfencedProject {
		return s.conflict()
	}
	c.Shown = len(r.Log)
	if s.listsForEver {
		return nil
	}
	delete(s.listed, key)
	return nil
}

func (s *store) Project(ctx context.Context, key string, r record) (err error) {
	if s.panics {
		panic("not written yet")
	}
	if s.projectInTwoSteps {
		now, _ := s.Read(ctx, key)
		if now.Version != r.Version || now.Shown != r.Shown {
			return s.conflict()
		}
		time.Sleep(time.Millisecond)
	}
	s.locked(func() {
		c := s.cell(key)
		if s.projectInTwoSteps {
			r.Shown = c.Shown
		}
		if err = s.finish(c, key, r); err == nil && !s.noView {
			c.old = c.view
			if c.view = append(slices.Clip(c.view), r.Log[r.Shown:]...); s.viewBeforeFence {
				c.view = c.old
			}
		}
	})
	return err
}

func (s *store) Missing(_ context.Context, key string, r record) (missing []string, err error) {
	s.locked(func() {
		c := s.cell(key)
		for _, id := range r.Log {
			if (!slices.Contains(c.view, id) || s.allMissing) && !s.nothingMissing {
				missing = append(missing, id)
			}
		}
	})
	return missing, nil
}

func (s *store) Put(_ context.Context, key string, rows []string) []error {
	s.locked(func() {
		c := s.cell(key)
		for _, row := range rows {
			switch {
			case s.putsNothing:
			case s.putsTwice:
				c.view = append(slices.Clip(c.view), row)
			default:
				c.show([]string{row})
			}
		}
	})
	if s.putAnswersOne {
		return []error{nil}
	}
	return make([]error, len(rows))
}

func (s *store) Clear(_ context.Context, key string, r record) (err error) {
	s.locked(func() { err = s.finish(s.cell(key), key, r) })
	return err
}

func (s *store) View(_ context.Context, key string) (view []string, err error) {
	s.locked(func() {
		s.looks++
		if view = s.cell(key).view; s.viewLags && s.looks%2 == 0 {
			view = s.cell(key).old
		}
	})
	return view, nil
}

func (s *store) PendingKeys(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var keys []string
		if s.listsLocked {
			s.mu.Lock()
			defer s.mu.Unlock()
			keys = s.pending()
		} else {
			s.locked(func() { keys = s.pending() })
		}
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// pending is one atomic step.
func (s *store) pending() (keys []string) {
	if !s.listsNothing {
		keys = slices.Collect(maps.Keys(s.listed))
	}
	if s.listsOnce {
		clear(s.listed)
	}
	return keys
}

func (s *store) Delete(_ context.Context, key string, r record) (err error) {
	s.locked(func() {
		c := s.cell(key)
		if (c.Version != r.Version || c.Shown != r.Shown || len(c.Log) == 0) && !s.deleteIgnoresFence {
			err = s.conflict()
			return
		}
		c.record, c.former = record{}, record{}
		if !s.deleteKeepsView {
			c.view = nil
		}
		delete(s.listed, key)
	})
	return err
}

func (s *store) reopen() *store {
	again := &store{s.rules, s.data, map[string]record{}}
	for _, c := range s.cells {
		if s.forgetsMarker {
			c.Shown = len(c.Log)
		}
		if s.forgetsLog && len(c.Log) > 0 {
			c.Log = c.Log[:len(c.Log)-1]
		}
	}
	return again
}

func (s *store) step(r record, in string) (record, int, bool) {
	if at := slices.Index(r.Log, in); at >= 0 && !s.appliesReplays {
		return r, at, false
	}
	if s.rejectsSecond && len(r.Log) == 1 {
		return r, -1, false
	}
	if s.appendsInPlace {
		r.Log = append(r.Log, in)
	} else {
		r.Log = append(slices.Clip(r.Log), in)
	}
	return r, len(r.Log) - 1, true
}

// recorder is a test that only takes down what is broken.
type recorder struct {
	ctx    context.Context
	open   func() *kit.Store
	failed bool
	all    map[string][]*kit.Violation // by subtest
	name   string
	logs   *strings.Builder
	hasty  chan struct{} // never ready, or at once
}

func (r *recorder) Helper()                         {}
func (r *recorder) Context() context.Context        { return r.ctx }
func (r *recorder) Failed() bool                    { return r.failed }
func (r *recorder) Impatient() <-chan struct{}      { return r.hasty }
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(r.logs, format+"\n", args...) }

func (r *recorder) Broken(v *kit.Violation) {
	r.failed = true
	r.all[r.name] = append(r.all[r.name], v)
}

func (r *recorder) Run(name string, check func(kit.T, *kit.Store)) {
	sub := *r
	sub.name, sub.failed = name, false
	check(&sub, r.open())
	r.failed = r.failed || sub.failed
}

func (r *recorder) laws() (names []string) {
	for _, vs := range r.all {
		for _, v := range vs {
			names = append(names, v.Law.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type subject = kit.Subject[*store, *failure, string, string, string, record, int]

// record takes down what the kit says of a stranger's store.
func takeDown(ctx context.Context, r rules, rows bool, part func(kit.T, kit.Has)) *recorder {
	bad := open(r) // For the step, which needs its rules alone.
	s := subject{
		Fold:    fold.New[*failure](func(in string) string { return in }, (*store).Read, bad.step, (*store).Write, schedule.Stop()),
		Pending: record.pending,
		Failure: func() *failure { return &failure{what: "throttled"} },
		Key:     func(n int) string { return []string{"key-", "Key-"}[n%2] + fmt.Sprint(n/2) },
		Input:   func(_ string, n int) string { return inputs[n%len(inputs)] + strings.Repeat("'", n/len(inputs)) },
		Log:     func(r record) []string { return r.Log },
		View:    (*store).View, Keys: (*store).PendingKeys, Delete: (*store).Delete,
	}
	has := kit.Has{Rows: rows, Delete: true, Reopen: true, Second: true}
	if rows {
		s.Of, s.Put = kit.RowsOf(record.rows, (*store).Put)
		s.Missing, s.Clear = (*store).Missing, (*store).Clear
	} else {
		s.Project = func(env *store, ctx context.Context, key string, r record) (projected.Projection[string], error) {
			return nil, env.Project(ctx, key, r)
		}
	}
	if err := s.Prepare(); err != nil {
		panic(err)
	}
	rec := &recorder{ctx: ctx, all: map[string][]*kit.Violation{}, logs: &strings.Builder{}}
	if r.listsLocked {
		rec.hasty = make(chan struct{})
		close(rec.hasty)
	}
	rec.open = func() *kit.Store {
		env := open(r)
		opened := s.Open(env)
		opened.Reopen = func() *kit.Store { return s.Open(env.reopen()) }
		opened.Second = func() *kit.Store { return s.Open(env.second()) }
		return opened
	}
	part(rec, has)
	return rec
}

func (s *store) second() *store { return &store{s.rules, s.data, map[string]record{}} }

// rows yields the row of each entry: its identity.
func (r record) rows() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, id := range r.Log {
			if !yield(id, id) {
				return
			}
		}
	}
}

// inputs are identities, of which the first are plain.
var inputs = []string{"a", "b", "c", "d", "e", "f", "g", "h", "a,b", "", "A", ",", " a", "\x00", "\xff"}
