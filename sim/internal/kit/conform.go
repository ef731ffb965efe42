package kit

import (
	"context"
	"slices"
)

// check is a script that leads a store to where a law may be broken. Most say nothing of what must happen: the session
// holds every operation to every law.
type check struct {
	law     Law
	applies func(Has) bool // nil for all stores
	run     func(*script)
}

func checks() []check {
	rows := func(h Has) bool { return h.Rows }
	deletes := func(h Has) bool { return h.Delete }
	reopens := func(h Has) bool { return h.Reopen }
	second := func(h Has) bool { return h.Second }
	return []check{
		{Absent, nil, (*script).absent},
		{ReadBack, nil, (*script).readBack},
		{StaleCommit, nil, (*script).staleCommit},
		{Replay, nil, (*script).replay},
		{Pure, nil, (*script).pure},
		{Absences, rows, (*script).rowByRow},
		{PutAnswers, rows, (*script).putAnswers},
		{Honest, nil, (*script).projection},
		{StaleProjection, nil, (*script).staleProjection},
		{NewFence, nil, (*script).newFence},
		{Marker, nil, (*script).marker},
		{Listed, nil, (*script).index},
		{Cursor, nil, (*script).listings},
		{Ended, nil, (*script).ended},
		{Mangled, nil, (*script).identities},
		{NewLife, deletes, (*script).newLife},
		{Durable, reopens, (*script).durable},
		{Shared, second, (*script).shared},
	}
}

// Conform runs one script per law.
func Conform(t T, has Has) {
	t.Helper()
	for _, c := range checks() {
		if c.applies != nil && !c.applies(has) {
			continue
		}
		t.Run(c.law.Name, func(t T, store *Store) {
			s := &script{session: newSession(store), ctx: t.Context(), law: c.law, impatient: t.Impatient()}
			s.w1, s.w2 = &writer{s, store, "w1"}, &writer{s, store, "w2"}
			c.run(s)
			if s.broken != nil {
				t.Broken(s.broken)
			}
		})
	}
}

func (s *script) absent() {
	s.look(s.ctx)
	if s.broken == nil && (len(s.state.Log)+len(s.state.View) > 0 || s.state.Pending) {
		s.broke(Absent, "of a key that was never written, the log is %q, the view %q, pending %v", s.state.Log, s.state.View, s.state.Pending)
	}
	s.checkIndex(s.ctx)
	s.blame()
}

func (s *script) readBack() {
	first := s.w1.commit(s.w1.read(), 0)
	s.w2.read()
	second := s.w1.commit(first, 1, 2) // On the record as it was answered, not read again.
	s.w2.read()
	s.w1.project(second)
	s.w1.commit(s.w2.read(), 3)
	s.w2.read()
}

func (s *script) staleCommit() {
	one, two := s.w1.read(), s.w2.read()
	s.w1.commit(one, 0)
	s.w2.commit(two, 1) // A second create.
	one, two = s.w1.read(), s.w2.read()
	s.w1.commit(one, 2)
	s.w2.commit(two, 3)
	s.w2.read()
}

func (s *script) replay() {
	first := s.w1.commit(s.w1.read(), 0, 1)
	for _, record := range []held{first, s.w1.read()} {
		for n := range 2 {
			if s.broken != nil {
				return
			}
			if next, changed := s.store.Step(record.record, s.key, n); changed {
				s.broke(Replay, "step applied input %d to %q, and answered %q", n, s.store.Log(record.record), s.store.Log(next))
			}
		}
	}
	s.w1.commit(first, 2, 2, 2)
}

// pure lets two writers step from one record, at lengths at which slices have room to spare.
func (s *script) pure() {
	var last held
	for n := 0; n < 8 && s.broken == nil; n++ {
		record := s.w1.read()
		if n%2 == 1 {
			record = last // As it was answered.
		}
		before := s.store.Log(record.record)
		one := s.w1.next(record.record, n)
		log := s.store.Log(one)
		two := s.w2.next(record.record, n+1)
		switch {
		case s.broken != nil:
		case !same(before, s.store.Log(record.record)):
			s.broke(Pure, "a step changed the log of its record from %q to %q", before, s.store.Log(record.record))
		case !same(log, s.store.Log(one)):
			s.broke(Pure, "a step from %q made %q, and another step from there made that %q", before, log, s.store.Log(one))
		case !contains(s.store.Log(two), []any{s.store.ID(s.key, n+1)}):
			s.broke(Truth, "step did not take input %d for %q: its log is %q", n+1, s.key, s.store.Log(two))
		}
		last = s.w1.commit(record, n)
		s.w2.next(record.record, n+1)
		s.w2.read()
		before = s.state.Log
		if s.look(s.ctx); s.broken == nil && !same(before, s.state.Log) {
			s.broke(Pure, "a step changed the stored log from %q to %q", before, s.state.Log)
		}
	}
}

func (s *script) projection() {
	s.w1.project(s.w1.commit(s.w1.read(), 0, 1))
	s.w2.read()
	second := s.w2.commit(s.w2.read(), 2)
	s.w2.project(second)
	s.checkIndex(s.ctx)
}

func (s *script) staleProjection() {
	first := s.w1.commit(s.w1.read(), 0)
	s.w2.commit(s.w2.read(), 1)
	s.w1.project(first)
	s.w1.settle(first)
	s.w2.project(s.w2.read())
	s.checkIndex(s.ctx)
}

func (s *script) newFence() {
	first := s.w1.commit(s.w1.read(), 0)
	s.w1.project(first)
	s.w2.settle(first)
	s.w1.commit(s.w1.read(), 1)
	s.w2.settle(first)
	s.sweep(s.ctx)
}

// marker commits on a record from before its projection. A store may refuse that; if it does not, the commit must leave
// alone what the projection did.
func (s *script) marker() {
	first := s.w1.commit(s.w1.read(), 0)
	if s.broken != nil {
		return
	}
	defer s.blame()
	s.w1.project(first)
	s.w2.commit(first, 1)
	s.sweep(s.ctx)
}

func (s *script) index() {
	first := s.w1.commit(s.w1.read(), 0)
	s.listTwice()
	second := s.w1.commit(first, 1)
	s.listTwice()
	s.w1.project(second)
	s.listTwice()
	s.w1.commit(s.w1.read(), 2)
	s.listTwice()
}

// listings leaves a listing early and uses the store while another yields.
func (s *script) listings() {
	pending := map[any]*script{}
	for range 12 {
		other := s.other()
		other.w1.commit(other.w1.read(), 0)
		pending[other.key] = other
	}
	for range s.store.PendingKeys(s.ctx) {
		break
	}
	s.visit(pending)
	if s.broken != nil {
		return
	}
	for key := range pending {
		s.broke(Cursor, "%q is pending, and a listing did not list it, after one that was left early and during which the store was used", key)
	}
}

// visit projects what is listed, and takes it out of pending.
func (s *script) visit(pending map[any]*script) {
	for key, err := range s.store.PendingKeys(s.ctx) {
		other := pending[key]
		if err != nil {
			s.broke(Accepted, "the pending keys could not be listed: %v", err)
			return
		}
		if other == nil {
			continue
		}
		delete(pending, key)
		swept := make(chan struct{})
		go func() { defer close(swept); other.sweep(s.ctx) }()
		select {
		case <-swept:
			s.adopt(other)
		case <-s.impatient:
			s.broke(HoldsUp, "while a listing yielded, an operation on a listed key did not return")
			defer func() { <-swept }() // The listing ends first.
			return
		}
	}
}

func (s *script) ended() {
	first := s.w1.commit(s.w1.read(), 0)
	if s.broken != nil {
		return
	}
	defer s.blame()
	alive := s.ctx
	ended, cancel := context.WithCancel(alive)
	cancel()
	s.ctx = ended
	s.w1.commit(first, 1)
	s.ctx = alive
	s.w2.putRows(s.w2.read())
	second := s.w2.read()
	s.ctx = ended
	s.w2.settle(second)
	s.ctx = alive
	s.sweep(alive)
}

// identities writes many, in one batch and one by one, to several keys at once.
func (s *script) identities() {
	defer s.blame()
	var all []*script
	for n := range 40 {
		other := s.other()
		other.w1.commit(other.w1.read(), n, n+1)
		all = append(all, other)
	}
	for _, other := range all {
		other.w2.read()
		other.checkIndex(s.ctx)
		other.sweep(s.ctx)
		s.adopt(other)
	}
	batch := make([]int, 48)
	for n := range batch {
		batch[n] = n
	}
	record := s.w1.commit(s.w1.read(), batch...)
	s.w1.project(record)
	for n := len(batch); n < len(batch)+8; n++ {
		s.w1.commit(s.w1.read(), n)
	}
	s.sweep(s.ctx)
}

// rowByRow puts rows one by one, again, and beside another key that has the same.
func (s *script) rowByRow() {
	record := s.w1.commit(s.w1.read(), 0, 1, 2)
	other := s.other()
	other.w1.commit(other.w1.read(), 0, 1, 2)
	s.adopt(other)
	if s.broken != nil {
		return
	}
	missing := func() { s.store.missing(s.w1.at(record.at), s.ctx, s.key, record.record) }
	put := func(ids ...any) { s.store.put(s.w1.at(record.at), s.ctx, s.key, record.record, ids) }
	want := s.store.Want(record.record)
	missing()
	for i, id := range want {
		put(id)
		put(want[:i+1]...)
		missing()
	}
	s.store.clear(s.w1.at(record.at), s.ctx, s.key, record.record)
	other.w2.project(other.w2.read())
	s.adopt(other)
}

func (s *script) putAnswers() {
	record := s.w1.commit(s.w1.read(), 0, 1, 2)
	if s.broken != nil {
		return
	}
	want := s.store.Want(record.record)
	for _, ids := range [][]any{want[:min(1, len(want))], want, want} {
		op := s.store.putOp(s.key, record.record, ids)
		s.perform(s.ctx, "w1", op, "", record.at)
	}
	s.w1.settle(record)
}

func (s *script) newLife() {
	defer s.blame()
	first := s.w1.commit(s.w1.read(), 0)
	second := s.w1.commit(first, 1)
	s.w2.remove(first)
	s.w1.project(second)
	last := s.w1.read()
	s.w2.remove(last)
	s.checkIndex(s.ctx)
	s.w1.commit(s.w1.read(), 2)
	for _, former := range []held{first, second, last} {
		s.w2.commit(former, 3)
		s.w2.settle(former)
		s.w2.remove(former)
	}
	s.sweep(s.ctx)
}

func (s *script) durable() {
	s.w1.project(s.w1.commit(s.w1.read(), 0))
	s.w1.commit(s.w1.read(), 1)
	if s.broken != nil {
		return
	}
	defer s.blame()
	before := s.state
	s.store = s.store.Reopen()
	s.w1.store, s.w2.store = s.store, s.store
	s.history.Steps = append(s.history.Steps, Step{Event: "the store is closed and opened again", After: s.state})
	s.look(s.ctx)
	if s.broken == nil && (before.stamp != s.state.stamp || !slices.Equal(before.View, s.state.View)) {
		s.broke(Durable, "before reopening the log was %q, the view %q, pending %v, and after it %q, %q, %v",
			before.Log, before.View, before.Pending, s.state.Log, s.state.View, s.state.Pending)
	}
	s.checkIndex(s.ctx)
	s.w1.commit(s.w1.read(), 2)
	s.sweep(s.ctx)
}

// shared has the second writer on a handle of its own.
func (s *script) shared() {
	defer s.blame()
	s.w2.store = s.store.Second()
	s.w2.name = "w2 (second handle)"
	s.staleCommit()
	s.w1.project(s.w1.read())
	s.w2.commit(s.w2.read(), 4)
	s.w1.commit(s.w1.read(), 5)
	s.store = s.w2.store
	s.w1.read()
	s.checkIndex(s.ctx)
	record := s.w1.read()
	s.w2.commit(s.w2.read(), 6)
	s.w1.settle(record)
	s.sweep(s.ctx)
}
