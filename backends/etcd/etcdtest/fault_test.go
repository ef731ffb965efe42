package etcdtest_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/internal/proxy"
)

// load is writers that write until they are stopped, and what they were acknowledged.
type load struct {
	subject storetest.Subject
	name    string
	stop    context.CancelFunc
	writing sync.WaitGroup

	mu   sync.Mutex
	acks []storetest.Ack // guarded by mu
}

var _ io.Writer = (*load)(nil)

func newLoad(t *testing.T, s storetest.Subject, name string) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{subject: s, name: name, stop: stop}
	l.writing.Go(func() { storetest.WriteForever(ctx, s, name, l) })
	t.Cleanup(func() {
		stop()
		l.writing.Wait()
	})
	return l
}

// Write takes one line of an acknowledgement.
func (l *load) Write(line []byte) (int, error) {
	var a storetest.Ack
	if _, err := fmt.Sscan(string(line), &a.Key, &a.ID, &a.Status); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, a)
	return len(line), nil
}

func (l *load) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acks)
}

// more returns when so many more inputs have been acknowledged.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	want := l.acknowledged() + n
	storetest.Until(t, "acknowledgements", func() bool { return l.acknowledged() >= want })
}

// check stops the writers and wants every acknowledged entry once in the log and in the view.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.stop()
	l.writing.Wait()
	committed := 0
	for _, a := range l.acks {
		if strings.HasPrefix(a.Status, "committed") {
			committed++
		}
	}
	storetest.CheckAcks(t, l.subject, l.name, l.acks)
	t.Logf("%d acknowledged, of which %d committed and not projected", len(l.acks), committed)
}

// TestLeaderKilled kills the leader under load twice, and brings it back. Two of three go on.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	cluster := start(t, etcdtest.Config{})
	var loads []*load
	for _, kind := range kinds {
		loads = append(loads, newLoad(t, kind.Of(open(t, cluster.Endpoints()...)), kind.Name[:4]))
	}
	everybody := func(n int) {
		for _, l := range loads {
			l.more(t, n)
		}
	}
	for range 2 {
		everybody(40)
		leader := leaderOf(t, cluster)
		began := time.Now()
		cluster.Kill(leader)
		loads[0].more(t, 1)
		t.Logf("acknowledged again %v after node %d was killed", time.Since(began), leader)
		everybody(40)
		if err := cluster.Restart(leader); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range loads {
		l.check(t)
	}
}

// TestCuts cuts the connections of writers again and again, at any piece of any request or reply. They do what FoldWrite and
// ProjectedWrite do, and nothing else.
func TestCuts(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			proxies, addresses := through(t, common.Endpoints())
			l := newLoad(t, kind.Of(open(t, addresses...)), "cuts")
			l.more(t, 10)
			var cuts atomic.Int64
			for n, p := range proxies {
				p.Judge(proxy.Cutter(rand.New(rand.NewPCG(seed, uint64(10*i+n))), 100, &cuts))
			}
			storetest.Until(t, "cuts", func() bool { return cuts.Load() >= 60 })
			for _, p := range proxies {
				p.Judge(nil)
			}
			l.more(t, 20)
			l.check(t)
			t.Logf("%d cuts", cuts.Load())
		})
	}
}
