package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goferry/goferry/backends"
)

// Cancelled lets so many commits run, each under a context that ends at random about when it is done, and checks the class of
// every failure against what the store holds in the end: what was answered is there, and a definite failure is not.
func Cancelled(t *testing.T, s Subject, commits int) {
	const writers, keys = 8, 16 // Several keys for each writer, so that the logs stay short.
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	cancellers := make([]*canceller, writers)
	var all sync.WaitGroup
	for w := range cancellers {
		c := &canceller{s: s, longest: time.Millisecond, random: rand.New(rand.NewPCG(seed, uint64(w)))}
		cancellers[w] = c
		all.Go(func() {
			for n := range commits / writers {
				c.commit(t, fmt.Sprintf("cancelled-%d-%d", w, n%keys), fmt.Sprint(n))
			}
		})
	}
	all.Wait()
	unknown, landed := 0, 0
	for _, c := range cancellers {
		c.check(t, &unknown, &landed)
	}
	if unknown == 0 {
		t.Error("no commit was cancelled on its way: nothing was tested")
	}
	t.Logf("%d commits: %d unknown, of which %d landed", commits, unknown, landed)
}

type canceller struct {
	s       Subject
	random  *rand.Rand
	longest time.Duration
	answers []cancelled
}

type cancelled struct {
	key, id string
	err     error
}

func (c *canceller) commit(t *testing.T, key, id string) {
	record := read(t, c.s, key)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.random.Int64N(int64(c.longest))))
	defer cancel()
	_, err := c.s.Commit(ctx, key, record, entries(record.Body, Entry{ID: id}))
	c.answers = append(c.answers, cancelled{key, id, err})
	// Whatever the machine is doing, about half of the commits should be cut off.
	if err == nil {
		c.longest -= c.longest / 16
	} else {
		c.longest += c.longest / 16
	}
}

func (c *canceller) check(t *testing.T, unknown, landed *int) {
	logs := map[string][]Entry{}
	for _, a := range c.answers {
		if _, ok := logs[a.key]; !ok {
			logs[a.key] = read(t, c.s, a.key).Body.Entries
		}
		there := slices.ContainsFunc(logs[a.key], func(e Entry) bool { return e.ID == a.id })
		switch {
		case a.err == nil && !there:
			t.Errorf("%s: entry %s was answered and is not there", a.key, a.id)
		case errors.Is(a.err, backends.ErrUnknown):
			*unknown++
			if there {
				*landed++
			}
		case a.err != nil && there:
			t.Errorf("%s: entry %s is there, after %v", a.key, a.id, a.err)
		}
	}
}
