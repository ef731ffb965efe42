package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goferry/goferry/sim"
)

// TestScenarios has the situations that the two writes are there for, each by a script.
func TestScenarios(t *testing.T) {
	t.Parallel()
	anything := sim.Limits{Faults: 9, Kinds: sim.EveryFault, Crashes: 9, Preemptions: sim.Unbounded}
	tests := []struct {
		name      string
		layout    sim.Layout
		retries   int
		processes []sim.Process
		script    []string
		// want has what the calls answered, in the order in which they began, and then the view.
		want []string
	}{
		{
			name:      "a sweeper finishes a refused projection, and a late second one is refused",
			processes: []sim.Process{writer("w1", "a"), sweeper("s", 1)},
			script:    []string{"w1 project delayed", "w1 project refused", "s read", "s project"},
			want:      []string{"w1: a committed", "s: nothing pending", "[a]"},
		},
		{
			name:      "a late projection lands before the sweeper's",
			processes: []sim.Process{writer("w1", "a"), sweeper("s", 1)},
			script:    []string{"w1 project delayed", "s read", "w1's project lands", "s project", "w1 read"},
			want:      []string{"w1: a projected", "s: resume failed: projected: resume k: project k: conflict: the record is not the one that was read", "[a]"},
		},
		{
			name:      "a commit whose answer is lost is found by the retry",
			retries:   1,
			processes: []sim.Process{writer("w1", "a")},
			script:    []string{"w1 commit answer lost", "w1 read", "w1 project"},
			want:      []string{"w1: a projected", "[a]"},
		},
		{
			name:      "a late commit makes the retry conflict, and is found by the next",
			retries:   2,
			processes: []sim.Process{writer("w1", "a")},
			script:    []string{"w1 commit delayed", "w1 read", "w1's commit lands", "w1 commit", "w1 read", "w1 project"},
			want:      []string{"w1: a projected", "[a]"},
		},
		{
			name:      "a throttled commit fails the call, and the client asks again",
			processes: []sim.Process{writer("w1", "a", "a")},
			script:    []string{"w1 commit refused"},
			want: []string{
				"w1: failed: fold: write k (attempts: 1): commit k: refused: injected", "w1: a projected", "[a]",
			},
		},
		{
			name:      "a crash between the writes, and the client's retry finishes the projection",
			processes: []sim.Process{writer("w1", "a", "a")},
			script:    []string{"w1 commit", "w1 crashes", "w1 read", "w1 project"},
			want:      []string{"w1: nothing", "w1: a projected", "[a]"},
		},
		{
			name:      "a crash between the writes, and the key's next batch finishes the projection",
			processes: []sim.Process{writer("w1", "a"), writer("w2", "b")},
			script:    []string{"w1 commit", "w1 crashes", "w2 project"},
			want:      []string{"w1: nothing", "w2: b projected", "[a b]"},
		},
		{
			name:      "views go down for a while, and the sweeper finishes what was committed meanwhile",
			processes: []sim.Process{writer("w1", "a", "b"), sweeper("s", 1)},
			script:    []string{"w1 project outage begins", "w1 project", "w1 commit", "w1 project", "w1 project", "outages end", "s read"},
			want:      []string{"w1: a committed", "w1: b committed", "s: nothing pending", "[a b]"},
		},
		{
			name:      "misrouted clients meet at one key",
			retries:   1,
			processes: []sim.Process{writer("w1", "a"), writer("w2", "b")},
			script:    []string{"w1 read", "w2 read", "w2 commit", "w2 project", "w1 commit", "w1 read"},
			want:      []string{"w1: a projected", "w2: b projected", "[b a]"},
		},
		{
			name:      "a throttled row is answered on its own, the sweeper writes it alone, and a late one is present",
			layout:    sim.Rows,
			processes: []sim.Process{writer("w1", "abc"), sweeper("s", 1)},
			script:    []string{"w1 put b delayed", "w1 put c", "s read", "s put b", "s clear"},
			want:      []string{"w1: a projected, b committed, c projected", "s: nothing pending", "[a c b]"},
		},
		{
			name:      "a row that the sweeper wrote first is not written again",
			layout:    sim.Rows,
			processes: []sim.Process{writer("w1", "a"), sweeper("s", 1)},
			script:    []string{"w1 commit", "s read", "s missing", "s put a", "w1 missing", "s clear", "w1 clear", "w1 read"},
			want:      []string{"w1: a projected", "s: nothing pending", "[a]"},
		},
		{
			name:      "a crash between two rows",
			layout:    sim.Rows,
			processes: []sim.Process{writer("w1", "abc"), sweeper("s", 1)},
			script:    []string{"w1 put a", "w1 crashes", "s put b", "s put c", "s clear"},
			want:      []string{"w1: nothing", "s: nothing pending", "[a b c]"},
		},
		{
			name:      "a stale clear is refused, and the newer batch clears",
			layout:    sim.Rows,
			processes: []sim.Process{writer("w1", "a"), writer("w2", "b")},
			script:    []string{"w1 put a", "w2 read", "w2 commit", "w1 clear", "w2 missing", "w2 put b", "w2 clear", "w1 read"},
			want:      []string{"w1: a projected", "w2: b projected", "[a b]"},
		},
		{
			name:      "one row is down for a while",
			layout:    sim.Rows,
			processes: []sim.Process{writer("w1", "ab"), sweeper("s", 2)},
			script:    []string{"w1 put a outage begins", "s read", "s put a", "outages end", "s read"},
			want:      []string{"w1: a committed, b projected", "s: still pending: map[a:put k: refused: injected]", "s: nothing pending", "[b a]"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			script := sim.Script(test.script...)
			trace := sim.Run(sim.Scenario{
				Layout: test.layout, Retries: test.retries, Processes: test.processes, Limits: anything,
			}, script)
			if trace.Violation != nil || len(script.Left()) > 0 {
				t.Fatalf("got %v, not on offer: %q\n%v", trace.Violation, script.Left(), trace)
			}
			if got := summary(trace); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q\n%v", got, test.want, trace)
			}
		})
	}
}

// summary has what the calls of the processes answered, and the view at the end.
func summary(trace *sim.Trace) (lines []string) {
	for _, c := range trace.Calls {
		if slices.ContainsFunc(trace.Scenario.Processes, func(p sim.Process) bool { return p.Name == c.Process }) {
			lines = append(lines, c.Process+": "+c.String())
		}
	}
	last := trace.Steps[len(trace.Steps)-1]
	return append(lines, fmt.Sprint(last.After[0].Cell.View))
}
