package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goferry/goferry/backends"
)

// Cancelled lets so many commits run, each under a context that ends at random about when it is done, and checks the class of
// every failure against what the store holds in the end: what was answered is there, and a definite failure is not.
func Cancelled(t *testing.T, s Subject, commits int) {
	const writers = 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var unknown, landed atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			c := canceller{
				s: s, key: fmt.Sprintf("cancelled-%d", w), answers: map[string]error{}, longest: time.Millisecond,
				random: rand.New(rand.NewPCG(seed, uint64(w))),
			}
			for n := range commits / writers {
				c.commit(t, fmt.Sprint(n))
			}
			held := read(t, s, c.key).Body.Entries
			for id, err := range c.answers {
				there := slices.ContainsFunc(held, func(e Entry) bool { return e.ID == id })
				switch {
				case err == nil && !there:
					t.Errorf("%s: entry %s was answered and is not there", c.key, id)
				case errors.Is(err, backends.ErrUnknown):
					unknown.Add(1)
					if there {
						landed.Add(1)
					}
				case err != nil && there:
					t.Errorf("%s: entry %s is there, after %v", c.key, id, err)
				}
			}
		})
	}
	all.Wait()
	if unknown.Load() == 0 {
		t.Error("no commit was cancelled on its way: nothing was tested")
	}
	t.Logf("%d commits: %d unknown, of which %d landed", commits, unknown.Load(), landed.Load())
}

type canceller struct {
	s       Subject
	key     string
	random  *rand.Rand
	answers map[string]error
	longest time.Duration
}

func (c *canceller) commit(t *testing.T, id string) {
	record := read(t, c.s, c.key)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.random.Int64N(int64(c.longest))))
	defer cancel()
	_, err := c.s.Commit(ctx, c.key, record, entries(record.Body, Entry{ID: id}))
	c.answers[id] = err
	// Whatever the machine is doing, about half of the commits should be cut off.
	if err == nil {
		c.longest -= c.longest / 16
	} else {
		c.longest += c.longest / 16
	}
}
