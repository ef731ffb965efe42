package etcdtest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

type (
	record = backends.Record[[]string]
	views  = etcd.Store[string, []string, []string]
	rows   = etcd.RowStore[string, []string, string, string]
)

func nth(_ string, n int) string { return sim.AnyText(n) }

func view(s *views, ctx context.Context, key string) ([]string, error) {
	shown, _, err := s.View(ctx, key)
	return shown, err
}

// TestKit is the public test of stores, with a prefix for each kind of view: no two of the kit's keys are the same.
func TestKit(t *testing.T) {
	t.Parallel()
	t.Run("views", func(t *testing.T) {
		t.Parallel()
		k := kitOf[*views]{func(db *etcd.DB) *views { return etcd.New[string](db, slices.Clone[[]string]) }, newPrefix()}
		sim.TestStore(t,
			projected.WholeRecord(
				fold.New[*backends.Error](storetest.Itself, (*views).Read, backends.Step(storetest.WithName), (*views).Commit, schedule.Stop()),
				record.Pending, (*views).Project),
			k.open, storetest.Throttled, sim.AnyBytes, nth, storetest.Names, view, (*views).PendingKeys,
			append(k.powers(), sim.WithDelete((*views).Delete))...)
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		k := kitOf[*rows]{func(db *etcd.DB) *rows { return etcd.NewRows[string](db, storetest.EachName, storetest.Itself) }, newPrefix()}
		sim.TestRowStore(t,
			fold.New[*backends.Error](storetest.Itself, (*rows).Read, backends.Step(storetest.WithName), (*rows).Commit, schedule.Stop()),
			record.Pending, backends.RowsOf(storetest.EachName), (*rows).Missing, (*rows).Put, (*rows).Clear,
			k.open, storetest.Throttled, sim.AnyBytes, nth, storetest.Names, (*rows).Rows, (*rows).PendingKeys,
			append(k.powers(), sim.WithDelete((*rows).Delete),
				sim.WithLimit(etcd.ErrTooLarge, entryOf(256<<10), entryOf(700<<10)))...) // As a row, which has its identity twice more.
	})
}

// kitOf is how the kit opens a kind of store, below one prefix.
type kitOf[R any] struct {
	of     func(*etcd.DB) R
	prefix string
}

func (k kitOf[R]) powers() []sim.Power {
	return []sim.Power{
		sim.WithReopen(k.again), sim.WithSecondHandle(k.again), sim.WithDial(k.upstream, k.dial), sim.WithServer(k.serve),
		sim.WithLimit(etcd.ErrTooLarge, entryOf(256<<10), entryOf(2<<20)),
	}
}

func (k kitOf[R]) on(t *testing.T, endpoints ...string) R {
	return k.of(openAs(t, k.prefix, endpoints...))
}
func (k kitOf[R]) open(t *testing.T) R                 { return k.on(t, common.Endpoints()...) }
func (k kitOf[R]) again(t *testing.T, _ R) R           { return k.open(t) }
func (k kitOf[R]) upstream(*testing.T) string          { return common.Endpoints()[0] }
func (k kitOf[R]) dial(t *testing.T, address string) R { return k.on(t, address) }

// entryOf makes one entry of so many bytes.
func entryOf(size int) func(key string) []string {
	return func(string) []string { return []string{strings.Repeat("x", size)} }
}

// serve starts a cluster of which all nodes are killed at once, and start again on what they had.
func (k kitOf[R]) serve(t *testing.T) (store R, kill, restart func()) {
	cluster := start(t, etcdtest.Config{})
	return k.on(t, cluster.Endpoints()...), cluster.KillAll, func() {
		var all sync.WaitGroup
		for n := range cluster.Endpoints() {
			all.Go(func() {
				if err := cluster.Restart(n); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
