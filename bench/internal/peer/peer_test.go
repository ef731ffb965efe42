package peer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/bench/internal/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every adapter takes each entry to the store once, one call per key at a time, as many calls at once as its bound
// allows and not more, and answers it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const keys, callers, each = 8, 40, 5
	for _, p := range peer.All {
		for _, inFlight := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, in flight %d", p.Name, inFlight), func(t *testing.T) {
				t.Parallel()
				s := newStore(cmp.Or(inFlight, keys))
				carrier := p.Open(s.call, inFlight)
				var running sync.WaitGroup
				for id := range callers {
					running.Go(func() {
						for i := range each {
							in := peer.Entry{Key: fmt.Sprint(id % keys), Caller: id, N: i}
							if out, err := carrier.Submit(t.Context(), in); err != nil || out != in.Answer() {
								t.Errorf("got %+v, %v to %+v", out, err, in)
							}
						}
					})
				}
				running.Wait()
				carrier.Close()
				if s.entries != callers*each || s.excess > 0 {
					t.Errorf("got %d entries and %d calls too many at once, want %d and none", s.entries, s.excess, callers*each)
				}
			})
		}
	}
}

// store looks at who comes. Its calls do not return before so many are out at once, for the first time.
type store struct {
	atOnce int
	full   chan struct{}

	mu      sync.Mutex
	out     map[string]int // guarded by mu; the calls that are out, by key
	entries int            // guarded by mu
	excess  int            // guarded by mu
}

func newStore(atOnce int) *store {
	return &store{atOnce: atOnce, full: make(chan struct{}), out: map[string]int{}}
}

func (s *store) call(_ context.Context, key string, batch []peer.Entry) ([]peer.Entry, error) {
	s.enter(key, len(batch))
	<-s.full
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.out, key)
	for i := range batch {
		batch[i] = batch[i].Answer()
	}
	return batch, nil
}

func (s *store) enter(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out[key]++
	if s.out[key] > 1 || len(s.out) > s.atOnce {
		s.excess++
	}
	s.entries += n
	select {
	case <-s.full:
	default:
		if len(s.out) == s.atOnce {
			close(s.full)
		}
	}
}

// An error of the store reaches everybody in the batch, and the next batch is carried.
func TestFailures(t *testing.T) {
	t.Parallel()
	failure := errors.New("the store failed")
	for _, p := range peer.All {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			var down atomic.Bool
			down.Store(true)
			carrier := p.Open(func(_ context.Context, _ string, batch []peer.Entry) ([]peer.Entry, error) {
				if down.Load() {
					return nil, failure
				}
				batch[0] = batch[0].Answer()
				return batch, nil
			}, 0)
			defer carrier.Close()
			in := peer.Entry{Key: "k"}
			if _, err := carrier.Submit(t.Context(), in); !errors.Is(err, failure) {
				t.Errorf("got %v, want the store's error", err)
			}
			down.Store(false)
			if out, err := carrier.Submit(t.Context(), in); err != nil || out != in.Answer() {
				t.Errorf("got %+v, %v after the failure", out, err)
			}
		})
	}
}
