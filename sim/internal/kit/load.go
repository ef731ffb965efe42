package kit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A load is writers that write on and on: two to a key, so that they meet, and two entries to a call, so that half a write
// can be told from a whole one.
const (
	loadKeys = 4
	sharing  = 2
	perCall  = 2
)

// Ack is the acknowledgement of an input: its key's number in the load, its own, and whether it was answered projected.
type Ack struct {
	Key, N    int
	Projected bool
}

// String is a line for another process, which ParseAck reads.
func (a Ack) String() string { return fmt.Sprint(a.Key, a.N, a.Projected) }

// ParseAck reads what String has written.
func ParseAck(line string) (a Ack, err error) {
	if _, err = fmt.Sscan(line, &a.Key, &a.N, &a.Projected); err != nil {
		err = fmt.Errorf("%q is no acknowledgement: %w", line, err)
	}
	return a, err
}

// WriteForever calls until ctx ends, and tells each acknowledgement when it has it and not before. It gives up, with the last
// error, when no call succeeds any more.
func WriteForever(ctx context.Context, call func(key int, ns []int) ([]Answer, error), acked func(Ack)) error {
	const enough = 200
	var failed atomic.Int64 // in a row
	var telling sync.Mutex
	errs := make([]error, loadKeys*sharing)
	together(len(errs), func(w int) {
		key, first := w%loadKeys, w/loadKeys*perCall
		for n := first; ctx.Err() == nil && failed.Load() < enough; n += sharing * perCall {
			answers, err := call(key, []int{n, n + 1})
			if errs[w] = err; err != nil {
				failed.Add(1)
				continue
			}
			failed.Store(0)
			telling.Lock()
			for i, a := range answers {
				acked(Ack{key, n + i, a.Projected})
			}
			telling.Unlock()
		}
	})
	if failed.Load() < enough {
		return nil
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("gave up when %d calls in a row had failed: %w", enough, err)
		}
	}
	return nil
}

// Witness is what is known of the keys of a load.
type Witness struct {
	keys []any
	acks []Ack
	// first is the number of the first key among the user's.
	First int
}

// NewWitness is a witness of keys that the store has never held.
func NewWitness(newKey func() (n int, key any)) *Witness {
	w := &Witness{}
	for i := range loadKeys {
		n, key := newKey()
		if i == 0 {
			w.First = n
		}
		w.keys = append(w.keys, key)
	}
	return w
}

// Acked takes down acknowledgements.
func (w *Witness) Acked(acks ...Ack) { w.acks = append(w.acks, acks...) }

// Acks is how many there are.
func (w *Witness) Acks() int { return len(w.acks) }

// Check holds what a store has of the keys against what was acknowledged, finishes what is pending, and checks that too.
// Nobody else may use them meanwhile.
func (w *Witness) Check(ctx context.Context, store *Store) *Violation {
	for number, key := range w.keys {
		if v := w.check(ctx, store, number, key); v != nil {
			v.History = nil // There is no order of steps to show.
			return v
		}
	}
	return nil
}

func (w *Witness) check(ctx context.Context, store *Store, number int, key any) *Violation {
	s := &session{store: store, key: key, history: &History{}}
	s.look(ctx)
	if s.broken != nil {
		return s.broken
	}
	s.checkState(State{})
	s.checkIndex(ctx)
	s.checkWhole(w.checkAcks(s, number) + 100)
	s.sweep(ctx)
	return s.broken
}

// checkAcks answers the number of the last input that was acknowledged.
func (w *Witness) checkAcks(s *session, number int) (last int) {
	log, view, want := setOf(s.state.Log), setOf(s.state.View), setOf(s.state.want)
	for _, a := range w.acks {
		if a.Key != number {
			continue
		}
		last = max(last, a.N)
		id := s.store.ID(s.key, a.N)
		switch {
		case !log[id]:
			s.broke(Durable, "input %d for %q, of identity %q, was acknowledged, and the log of %d entries does not hold it", a.N, s.key, id, len(log))
		case a.Projected && want[id] && !view[id]:
			s.broke(Durable, "input %d for %q, of identity %q, was answered as projected, and the view of %d entries does not show it", a.N, s.key, id, len(view))
		}
	}
	return last
}

// checkWhole looks for one of the two entries of a call, among the inputs below a number.
func (s *session) checkWhole(below int) {
	lists := [][]any{s.state.Log}
	if s.store.Rows == nil {
		lists = append(lists, s.state.View)
	}
	for _, list := range lists {
		held := setOf(list)
		for n := 0; n < below; n += perCall {
			one, two := s.store.ID(s.key, n), s.store.ID(s.key, n+1)
			if held[one] != held[two] {
				s.broke(Whole, "inputs %d and %d for %q were one call, and of %q and %q only one is in %q", n, n+1, s.key, one, two, list)
			}
		}
	}
}

func setOf(ids []any) map[any]bool {
	set := make(map[any]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// Unsynced says that so many acknowledgements were given without a sync.
func Unsynced(acks int) *Violation {
	return broke(Durable, "%d inputs were acknowledged, and the process has not synced once meanwhile with success", acks)
}

// load is a load of goroutines. Make one with newLoad, and end it.
type load struct {
	stop, abandon context.CancelFunc
	ended         chan struct{}
	err           error // written before ended is closed

	mu    sync.Mutex
	grown chan struct{} // guarded by mu; closed with the next acknowledgement
	acks  []Ack         // guarded by mu
}

// newLoad starts to write to the keys of a witness.
func newLoad(ctx context.Context, store *Store, w *Witness) *load {
	calls, abandon := context.WithCancel(ctx)
	writing, stop := context.WithCancel(ctx)
	l := &load{stop: stop, abandon: abandon, ended: make(chan struct{}), grown: make(chan struct{})}
	go func() {
		defer close(l.ended)
		// A call goes on to its end: what is left in the network could land while the witness looks.
		l.err = WriteForever(writing, func(key int, ns []int) ([]Answer, error) {
			return store.Call(Direct, patient, calls, w.keys[key], ns)
		}, l.acked)
	}()
	return l
}

func (l *load) acked(a Ack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, a)
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *load) seen() (acks int, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acks), l.grown
}

// await returns when so many inputs more have been acknowledged. Its violation says that none was for as long as limit.
func (l *load) await(more int) *Violation {
	until, _ := l.seen()
	for until += more; ; {
		acks, grown := l.seen()
		if acks >= until {
			return nil
		}
		select {
		case <-grown:
		case <-l.ended:
			return broke(GoesOn, "the writers ended: %v", l.err)
		case <-time.After(limit):
			return broke(GoesOn, "writers that retry have had no answer for %v", limit)
		}
	}
}

// end stops the writers, waits for the calls that are under way, and answers what was acknowledged. After limit it ends
// their contexts; its violation says that even that did not help.
func (l *load) end() (acks []Ack, v *Violation) {
	for _, stop := range []func(){l.stop, l.abandon} {
		stop()
		select {
		case <-l.ended:
			return l.acks, nil
		case <-time.After(limit):
		}
	}
	return nil, broke(GoesOn, "a call has not returned for %v after its context has ended", limit)
}
