package storetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// lanes is how many keys a run of WriteForever writes. Two writers share each.
const lanes = 4

// WriteForever writes to keys of its own run until the process is killed, or ctx ends. It prints a line for every
// acknowledgement, when it has it and not before.
func WriteForever(ctx context.Context, s Subject, run string, acks io.Writer) {
	retry := schedule.Exponential(100 * time.Microsecond).Capped(5 * time.Millisecond).Jittered()
	call := Pipeline(s, retry).Call
	var printing sync.Mutex
	var all sync.WaitGroup
	for w := range 2 * lanes {
		all.Go(func() {
			key := fmt.Sprintf("%s-%d", run, w%lanes)
			for n := 0; ctx.Err() == nil; n++ {
				batch := []Entry{{ID: fmt.Sprintf("%d-%d-a", w, n), N: n}, {ID: fmt.Sprintf("%d-%d-b", w, n), N: n}}
				// To its end, also when ctx ends: what is left in the network could land while the check looks.
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
				outcomes, err := call(last, key, batch)
				cancel()
				if err != nil {
					continue
				}
				printing.Lock()
				for i, o := range outcomes {
					fmt.Fprintln(acks, key, batch[i].ID, o.Status)
				}
				printing.Unlock()
			}
		})
	}
	all.Wait()
}

// Ack is one line of WriteForever.
type Ack struct{ Key, ID, Status string }

// CheckAcks checks what a killed process left of its run: every acknowledged entry once, no half projection, the
// index as the records say. Then it finishes what is pending and checks that too.
func CheckAcks(t *testing.T, s Subject, run string, acks []Ack) {
	t.Helper()
	for lane := range lanes {
		checkLane(t, s, fmt.Sprintf("%s-%d", run, lane), acks)
	}
}

func checkLane(t *testing.T, s Subject, key string, acks []Ack) {
	t.Helper()
	record := read(t, s, key)
	shown, err := s.Shown(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, e := range record.Body.Entries {
		if times[e.ID]++; times[e.ID] > 1 {
			t.Errorf("%s: entry %s is there twice", key, e.ID)
		}
	}
	// Logs only grow, so whatever was projected as a whole is the beginning of the log.
	if len(shown) > len(record.Body.Entries) || !slices.Equal(shown, record.Body.Entries[:len(shown)]) {
		t.Errorf("%s: the view is no beginning of the log:\n%v\n%v", key, shown, record.Body.Entries)
	}
	if !record.Behind && len(shown) != len(record.Body.Entries) {
		t.Errorf("%s: the marker is clear with %d of %d entries in the view", key, len(shown), len(record.Body.Entries))
	}
	if record.Behind != isPending(t, s, key) {
		t.Errorf("%s: behind is %v, and the index says otherwise", key, record.Behind)
	}
	for _, a := range acks {
		if a.Key != key {
			continue
		}
		if times[a.ID] == 0 {
			t.Errorf("%s: entry %s was acknowledged and is lost", key, a.ID)
		}
		if a.Status == projected.Projected.String() && !slices.ContainsFunc(shown, func(e Entry) bool { return e.ID == a.ID }) {
			t.Errorf("%s: entry %s was answered as projected and is not in the view", key, a.ID)
		}
	}
	if left, err := Pipeline(s, schedule.Stop()).Resume(t.Context(), key); err != nil || len(left) > 0 {
		t.Errorf("%s: resume: got %v, %v, want nothing left", key, left, err)
	}
	wantShown(t, s, key, record.Body.Entries...)
}
