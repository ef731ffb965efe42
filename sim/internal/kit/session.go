package kit

import (
	"context"
	"errors"
	"slices"

	"github.com/goferry/goferry/fold"
)

// session performs operations on one key, one at a time, and holds each to the laws. The first one that is broken
// stays; after it the session does nothing more.
type session struct {
	store   *Store
	key     any
	state   State
	history *History
	broken  *Violation
	// held is the record of state, and former the one before, nil if there is none.
	held, former *stamped
}

// stamped is a record, and when it was seen.
type stamped struct {
	record any
	at     stamp
}

func newSession(store *Store) *session {
	key := store.NewKey()
	return &session{store: store, key: key, history: newHistory(store, key)}
}

// broke notes the first violation. The history is what led to it.
func (s *session) broke(law Law, format string, args ...any) {
	if s.broken == nil {
		s.broken = broke(law, format, args...)
		s.broken.History = s.history
	}
}

// errStopped is the answer of a session in which a law is broken.
var errStopped = errors.New("the history is over")

// perform is an operation by who, on the record that the store held at seen.
func (s *session) perform(ctx context.Context, who string, op Op, event string, seen stamp) error {
	if s.broken != nil {
		return errStopped
	}
	before := s.state
	err := run(ctx, op)
	if op.Kind.writes() {
		s.look(context.WithoutCancel(ctx))
	}
	if op.Kind == Delete && err == nil {
		before.Log, before.View = nil, nil
	}
	step := Step{Who: who, Op: string(op.Kind), IDs: op.IDs, Event: event, After: s.state}
	step.Answer, step.Answered = answerOf(op, err)
	s.history.Steps = append(s.history.Steps, step)
	if s.broken == nil {
		s.checkAnswer(ctx, who, op, seen, before, err)
	}
	if s.broken == nil {
		s.checkState(before)
	}
	return err
}

// run is the operation. A panic of the store is its error.
func run(ctx context.Context, op Op) (err error) {
	defer fold.Recover(&err)
	return op.Run(ctx)
}

// look reads record and view. A state that cannot be read is not an empty one.
func (s *session) look(ctx context.Context) {
	record, view, err := s.peek(ctx)
	for range 2 {
		if err != nil { // A server may be busy for once. The reads of the scripts are not repeated.
			record, view, err = s.peek(ctx)
		}
	}
	if err != nil {
		s.broke(Accepted, "record and view could not be read between two operations: %v", err)
		return
	}
	before := s.state
	s.state.Log, s.state.View = s.store.Log(record), view
	s.state.Pending, s.state.want = s.store.Pending(record), s.store.Want(record)
	if !same(before.Log, s.state.Log) {
		s.state.logs++
	} else if before.Pending != s.state.Pending {
		s.state.marks++
	}
	if s.held == nil || s.held.at != s.state.stamp {
		s.former, s.held = s.held, &stamped{record, s.state.stamp}
	}
}

func (s *session) peek(ctx context.Context) (record any, view []any, err error) {
	record, err = s.store.Read(ctx, s.key)
	view, viewErr := s.store.View(ctx, s.key)
	return record, view, errors.Join(err, viewErr)
}

func answerOf(op Op, err error) (text string, ids []any) {
	switch {
	case err != nil && notWritten(err):
		return "not written: " + firstLine(err), nil
	case err != nil:
		return firstLine(err), nil
	case op.Answered == nil:
		return "done", nil
	}
	ids, pending := op.Answered()
	if pending {
		text = "pending"
	}
	return text, ids
}

func notWritten(err error) bool {
	e, ok := errors.AsType[interface {
		error
		NotWritten() bool
	}](err)
	return ok && e.NotWritten()
}

// checkAnswer holds the answer of an operation against the store before and after.
func (s *session) checkAnswer(ctx context.Context, who string, op Op, seen stamp, before State, err error) {
	changed := before.stamp != s.state.stamp || len(before.View) != len(s.state.View)
	switch {
	case err == nil:
		s.checkSuccess(who, op, seen, before)
	case op.Kind.writes() && changed && notWritten(err):
		s.broke(Definite, "the %s of %s answered that nothing was written (%s), and it was", op.Kind, who, firstLine(err))
	case errors.As(err, new(*countError)):
		s.broke(PutAnswers, "%s got %s", who, err)
	case ctx.Err() != nil:
	case op.Kind == Put, !op.Kind.writes(), seen == before.stamp:
		s.broke(Accepted, "the %s of %s failed though nothing was wrong: %s", op.Kind, who, firstLine(err))
	case !s.store.Typed(err):
		s.broke(Typed, "the refused %s of %s answered a %T, which is not one: %s", op.Kind, who, err, firstLine(err))
	}
}

func (s *session) checkSuccess(who string, op Op, seen stamp, before State) {
	after := s.state
	switch op.Kind {
	case Read:
		s.checkRead(who, op)
	case Missing:
		if got, _ := op.Answered(); !same(got, without(op.IDs, after.View)) {
			s.broke(Absences, "missing answered %q to %s, of %q, and the view has %q", got, who, op.IDs, after.View)
		}
	case Put:
		if !contains(after.View, op.IDs) {
			s.broke(ReadBack, "the put of %s was answered, of %q, and the view is %q", who, op.IDs, after.View)
		}
	case Commit:
		answered, pending := op.Answered()
		switch {
		case seen.logs != before.logs:
			s.broke(StaleCommit, "%s committed on a record that had been changed since it was read, and was not refused", who)
		case !same(after.Log, op.IDs):
			s.broke(ReadBack, "the commit of %s was answered, of %q, and what is read afterwards is %q", who, op.IDs, after.Log)
		case !same(answered, op.IDs):
			s.broke(ReadBack, "the commit of %s answered %q, and it was of %q", who, answered, op.IDs)
		case !after.Pending || !pending:
			s.broke(Marker, "the commit of %s left no pending record", who)
		}
	case Delete:
		switch {
		case seen != before.stamp:
			s.broke(NewLife, "%s deleted a record that had been changed since it was read, and was not refused", who)
		case len(after.Log)+len(after.View) > 0 || after.Pending:
			s.broke(NewLife, "%s deleted the record, the log is %q and the view %q", who, after.Log, after.View)
		}
	case Project, Clear:
		switch {
		case seen.logs != before.logs:
			s.broke(StaleProjection, "the %s of %s was for a record that has been changed since, and was not refused", op.Kind, who)
		case seen.marks != before.marks:
			s.broke(NewFence, "the %s of %s was for a record whose marker has been cleared since, and was not refused", op.Kind, who)
		case after.Pending:
			s.broke(ReadBack, "the %s of %s was answered, and the record is still pending", op.Kind, who)
		}
	}
}

func (s *session) checkRead(who string, op Op) {
	if got, pending := op.Answered(); !same(got, s.state.Log) || pending != s.state.Pending {
		s.broke(ReadBack, "%s read %q (pending: %v), and the store had %q (pending: %v)", who, got, pending, s.state.Log, s.state.Pending)
	}
}

// checkState holds the store to the laws of states.
func (s *session) checkState(before State) {
	now := s.state
	switch {
	case repeats(now.Log):
		s.broke(Once, "the log is %q", now.Log)
	case repeats(now.View):
		s.broke(Once, "the view is %q", now.View)
	case !contains(now.Log, before.Log):
		s.broke(Grows, "the log was %q and is %q", before.Log, now.Log)
	case !contains(now.View, before.View):
		s.broke(Grows, "the view was %q and is %q", before.View, now.View)
	case !contains(now.Log, now.View):
		s.broke(Follows, "the view is %q and the log %q", now.View, now.Log)
	case !now.Pending && !contains(now.View, now.want):
		s.broke(Honest, "nothing is pending, the view is %q and the log %q", now.View, now.Log)
	}
}

// checkIndex lists the pending keys.
func (s *session) checkIndex(ctx context.Context) {
	if s.broken != nil {
		return
	}
	listed := 0
	for key, err := range s.store.PendingKeys(ctx) {
		if err != nil {
			s.broke(Accepted, "the pending keys could not be listed: %v", err)
			return
		}
		if key == s.key {
			listed++
		}
	}
	switch {
	case listed == 0 && s.state.Pending:
		s.broke(Listed, "the record of %q is pending, and the key is not listed", s.key)
	case listed > 0 && !s.state.Pending:
		s.broke(Strays, "nothing is pending for %q, and the key is listed", s.key)
	case listed > 1:
		s.broke(Strays, "%q is listed %d times", s.key, listed)
	}
}

// sweep finishes the record as a sweeper does that nobody disturbs.
func (s *session) sweep(ctx context.Context) {
	if s.broken != nil {
		return
	}
	who := handle{s: s, name: "last sweeper"}
	left, err := s.store.Resume(who.do, never, ctx, s.key)
	if s.broken == nil && (err != nil || len(left) > 0) {
		s.broke(Accepted, "a sweep that nobody disturbed left %d entries pending: %v", len(left), err)
	}
	s.checkIndex(ctx)
}

// handle is somebody who uses the store in a session, and what they saw last.
type handle struct {
	s    *session
	name string
	seen stamp
}

// do performs an operation on the record that was seen last.
func (h *handle) do(ctx context.Context, op Op) error {
	err := h.s.perform(ctx, h.name, op, "", h.seen)
	if err == nil && (op.Kind == Read || op.Kind == Commit) {
		h.seen = h.s.state.stamp
	}
	return err
}

func contains(all, some []any) bool { return len(without(some, all)) == 0 }

// same says whether two lists have the same ids, in whatever order.
func same(a, b []any) bool {
	return slices.Equal(a, b) || len(a) == len(b) && contains(a, b) && contains(b, a)
}

// without answers those of ids that are not among others.
func without(ids, others []any) (rest []any) {
	for _, id := range ids {
		if !slices.Contains(others, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

func repeats(ids []any) bool {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return true
		}
	}
	return false
}
