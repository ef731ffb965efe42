package kit

import "context"

// script is a session with two writers.
type script struct {
	*session
	ctx       context.Context
	law       Law
	w1, w2    *writer
	impatient <-chan struct{}
}

// writer is a process that does what the script says.
type writer struct {
	s     *script
	store *Store
	name  string
}

// held is a record and when it was seen.
type held struct {
	record any
	at     stamp
}

func (w *writer) at(at stamp) Do {
	return func(ctx context.Context, op Op) error { return w.s.perform(ctx, w.name, op, "", at) }
}

func (w *writer) read() held {
	record, _ := w.store.read(w.at(w.s.state.stamp), w.s.ctx, w.s.key)
	return held{record, w.s.state.stamp}
}

// next folds inputs into a record.
func (w *writer) next(record any, ns ...int) any {
	for _, n := range ns {
		if next, changed := w.store.Step(record, w.s.key, n); changed {
			record = next
		}
	}
	return record
}

// commit commits inputs on the record that was read, and answers what is held then: the same if it was refused.
func (w *writer) commit(read held, ns ...int) held {
	if w.s.broken != nil {
		return read
	}
	stored, err := w.store.write(w.at(read.at), w.s.ctx, w.s.key, read.record, w.next(read.record, ns...))
	if err != nil {
		return read
	}
	return held{stored, w.s.state.stamp}
}

func (w *writer) project(record held) {
	if w.s.broken == nil {
		w.store.Project(w.at(record.at), w.s.ctx, w.s.key, record.record)
	}
}

// settle is a project that does not look which rows are missing.
func (w *writer) settle(record held) {
	switch {
	case w.s.broken != nil:
	case w.store.Rows == nil:
		w.project(record)
	default:
		w.store.clear(w.at(record.at), w.s.ctx, w.s.key, record.record)
	}
}

// putRows puts every row of record, and leaves its marker.
func (w *writer) putRows(record held) {
	if w.s.broken == nil && w.store.Rows != nil {
		w.store.put(w.at(record.at), w.s.ctx, w.s.key, record.record, w.store.Want(record.record))
	}
}

func (w *writer) remove(record held) {
	if w.s.broken != nil {
		return
	}
	w.at(record.at)(w.s.ctx, w.store.deleteOp(w.s.key, record.record))
}

// blame says that whatever is broken is the doing of the script's law.
func (s *script) blame() {
	if s.broken != nil {
		s.broken.Law = s.law
	}
}

// listTwice lists again: if only the second listing is wrong, the first has moved something.
func (s *script) listTwice() {
	s.checkIndex(s.ctx)
	if s.broken != nil {
		return
	}
	if s.checkIndex(s.ctx); s.broken != nil {
		s.broken.Law = Cursor
	}
}

// other is a script on another key of the store.
func (s *script) other() *script {
	o := &script{session: newSession(s.store), ctx: s.ctx, law: s.law}
	o.w1, o.w2 = &writer{o, s.store, "w1"}, &writer{o, s.store, "w2"}
	return o
}

// adopt takes over what another script has found.
func (s *script) adopt(other *script) {
	if s.broken == nil {
		s.broken = other.broken
	}
}
