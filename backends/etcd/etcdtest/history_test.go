package etcdtest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/internal/proxy"
)

// A history is of one key. Its state is the newest entry's identity, "" before the first.
type (
	input struct {
		commit         bool
		expect, become string
	}
	output struct {
		newest  string // Of a read.
		outcome error  // Of a commit: nil or its class.
	}
)

var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		held, call, answer := state.(string), in.(input), out.(output)
		holds := held == call.expect
		switch {
		case !call.commit:
			return answer.newest == held, held
		case answer.outcome == nil:
			return holds, call.become
		case answer.outcome == backends.ErrUnknown && holds:
			return true, call.become // Or never: then it is the last of all.
		}
		return answer.outcome == backends.ErrUnknown || !holds, held
	},
}

// TestHistory records what clients with different servers see of one key each, while their connections are cut, and wants one
// order that explains it: no read is old, no commit goes over another, no conflict is without a rival.
func TestHistory(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for run := range 4 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			t.Parallel()
			prefix := newPrefix()
			var cuts atomic.Int64
			h := history{began: time.Now()}
			var clients sync.WaitGroup
			for c, endpoint := range common.Endpoints() {
				proxies, addresses := through(t, []string{endpoint})
				store := newRows(openAs(t, prefix, addresses...))
				proxies[0].Judge(proxy.Cutter(rand.New(rand.NewPCG(seed, uint64(10*run+c))), 100, &cuts))
				clients.Go(func() { h.client(t, store, c) })
			}
			clients.Wait()
			if got := porcupine.CheckOperationsTimeout(register, h.calls, storetest.Patience); got != porcupine.Ok {
				t.Errorf("%d calls: got %v, want a history that one order explains", len(h.calls), got)
			}
			t.Logf("%d calls, %d of unknown outcome, %d cuts", len(h.calls), h.unknown, cuts.Load())
		})
	}
}

type history struct {
	began time.Time

	mu      sync.Mutex
	calls   []porcupine.Operation // guarded by mu
	unknown int                   // guarded by mu
}

func (h *history) client(t *testing.T, store *rowStore, client int) {
	for n := range 40 {
		called := time.Since(h.began)
		record, err := store.Read(t.Context(), "k")
		if err != nil {
			continue // It says nothing.
		}
		newest := ""
		if held := record.Body.Entries; len(held) > 0 {
			newest = held[len(held)-1].ID
		}
		h.add(client, called, input{}, output{newest: newest})

		id := fmt.Sprintf("%d-%d", client, n)
		next, _, _ := storetest.With(record.Body, storetest.Entry{ID: id})
		called = time.Since(h.began)
		_, err = store.Commit(t.Context(), "k", record, storetest.Record{Body: next, Behind: true})
		var class error
		if failed, ok := errors.AsType[*backends.Error](err); ok {
			class = failed.Class
		}
		h.add(client, called, input{commit: true, expect: newest, become: id}, output{outcome: class})
	}
}

func (h *history) add(client int, called time.Duration, in input, out output) {
	h.mu.Lock()
	defer h.mu.Unlock()
	returned := int64(time.Since(h.began))
	if out.outcome == backends.ErrUnknown {
		returned = math.MaxInt64 // It may still happen.
		h.unknown++
	}
	h.calls = append(h.calls, porcupine.Operation{ClientId: client, Input: in, Call: int64(called), Output: out, Return: returned})
}

// TestHistoryThatIsNotLinearizable: the model finds a stale read and a lost update.
func TestHistoryThatIsNotLinearizable(t *testing.T) {
	t.Parallel()
	commit := func(at int64, expect, become string, outcome error) porcupine.Operation {
		return porcupine.Operation{Input: input{commit: true, expect: expect, become: become}, Call: at, Output: output{outcome: outcome}, Return: at + 1}
	}
	read := func(at int64, newest string) porcupine.Operation {
		return porcupine.Operation{Input: input{}, Call: at, Output: output{newest: newest}, Return: at + 1}
	}
	unknown := commit(10, "a", "b", backends.ErrUnknown)
	unknown.Return = math.MaxInt64
	tests := []struct {
		name  string
		calls []porcupine.Operation
		want  bool
	}{
		{"a stale read", []porcupine.Operation{commit(0, "", "a", nil), read(10, "")}, false},
		{"a lost update", []porcupine.Operation{commit(0, "", "a", nil), commit(10, "", "b", nil)}, false},
		{"a conflict with nobody", []porcupine.Operation{commit(0, "", "a", backends.ErrConflict)}, false},
		{"an unknown one that landed late", []porcupine.Operation{commit(0, "", "a", nil), unknown, read(20, "a"), read(30, "b")}, true},
		{"an unknown one that never landed", []porcupine.Operation{commit(0, "", "a", nil), unknown, read(20, "a"), commit(30, "a", "c", nil)}, true},
		{"an unknown one that went away", []porcupine.Operation{commit(0, "", "a", nil), unknown, read(20, "b"), read(30, "a")}, false},
	}
	for _, tt := range tests {
		if got := porcupine.CheckOperations(register, tt.calls); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
