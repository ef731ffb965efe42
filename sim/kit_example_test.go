package sim_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

// Guests is what this store keeps for an evening, and Door its view: who is let in.
type Guests struct {
	Version int
	Behind  bool
	Names   []string
}

func (g Guests) Pending() bool  { return g.Behind }
func (g Guests) List() []string { return g.Names }

// Full is this store's failure.
type Full struct{ error }

// Club is a store of one's own.
type Club struct {
	mu   sync.Mutex
	kept map[string]Guests
	door map[string][]string
}

func NewClub() *Club { return &Club{kept: map[string]Guests{}, door: map[string][]string{}} }

func (c *Club) Read(_ context.Context, evening string) (Guests, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[evening], nil
}

func (c *Club) Commit(_ context.Context, evening string, read, next Guests) (Guests, error) {
	next.Behind = true
	return c.replace(evening, read, next)
}

func (c *Club) Project(_ context.Context, evening string, read Guests) error {
	next := read
	next.Behind = false
	_, err := c.replace(evening, read, next)
	return err
}

// replace is every write: fenced, and with a new fence.
func (c *Club) replace(evening string, read, next Guests) (Guests, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[evening].Version != read.Version {
		return Guests{}, Full{errors.New("somebody was faster")}
	}
	next.Version++
	c.kept[evening] = next
	if !next.Behind {
		c.door[evening] = next.Names
	}
	return next, nil
}

func (c *Club) Door(_ context.Context, evening string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.door[evening], nil
}

func (c *Club) PendingKeys(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, evening := range c.pending() { // Not under the lock.
			if !yield(evening, nil) {
				return
			}
		}
	}
}

func (c *Club) pending() (evenings []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for evening, guests := range c.kept {
		if guests.Behind {
			evenings = append(evenings, evening)
		}
	}
	return evenings
}

func invite(g Guests, name string) (Guests, int, bool) {
	if at := slices.Index(g.Names, name); at >= 0 {
		return g, at, false
	}
	g.Names = append(slices.Clip(g.Names), name)
	return g, len(g.Names) - 1, true
}

var write = projected.WholeRecord(
	fold.New[Full](func(name string) string { return name }, (*Club).Read, invite, (*Club).Commit,
		schedule.Exponential(10*time.Millisecond).And(schedule.Recurs(5))),
	Guests.Pending, (*Club).Project)

// TestClub is all that a store of one's own needs to be tested.
func TestClub(t *testing.T) {
	t.Parallel()
	sim.TestStore(t, write,
		func(t *testing.T) *Club { return NewClub() },
		func() Full { return Full{errors.New("throttled")} },
		sim.AnyText,
		func(evening string, n int) string { return sim.AnyText(n) },
		Guests.List, (*Club).Door, (*Club).PendingKeys,
		sim.WithVirtualTime(), sim.WithHistories(1000))
}
