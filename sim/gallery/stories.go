package gallery

import "github.com/goferry/goferry/sim"

// Story is a situation that the two writes are there for, told by a script.
type Story struct {
	Name      string
	Layout    sim.Layout
	Retries   int
	Processes []sim.Process
	Script    []string
	// Want has what the calls answer, in the order in which they begin, and then the view.
	Want []string
}

// Scenario is the world of the story, in which anything may happen.
func (s Story) Scenario() sim.Scenario {
	return sim.Scenario{
		Name: s.Name, Layout: s.Layout, Retries: s.Retries, Processes: s.Processes,
		Limits: sim.Limits{Faults: 9, Kinds: sim.EveryFault, Crashes: 9, Preemptions: sim.Unbounded},
	}
}

// Stories are all of them.
func Stories() []Story {
	return []Story{
		{
			Name:      "a sweeper finishes a refused projection, and a late second one is refused",
			Processes: []sim.Process{Writer("w1", "a"), Sweeper("s", 1)},
			Script:    []string{"w1 project delayed", "w1 project refused", "s read", "s project"},
			Want:      []string{"w1: a committed", "s: nothing pending", "[a]"},
		},
		{
			Name:      "a late projection lands before the sweeper's",
			Processes: []sim.Process{Writer("w1", "a"), Sweeper("s", 1)},
			Script:    []string{"w1 project delayed", "s read", "w1's project lands", "s project", "w1 read"},
			Want:      []string{"w1: a projected", "s: resume failed: projected: resume k: project k: conflict: the record is not the one that was read", "[a]"},
		},
		{
			Name:      "a commit whose answer is lost is found by the retry",
			Retries:   1,
			Processes: []sim.Process{Writer("w1", "a")},
			Script:    []string{"w1 commit answer lost", "w1 read", "w1 project"},
			Want:      []string{"w1: a projected", "[a]"},
		},
		{
			Name:      "a late commit makes the retry conflict, and is found by the next",
			Retries:   2,
			Processes: []sim.Process{Writer("w1", "a")},
			Script:    []string{"w1 commit delayed", "w1 read", "w1's commit lands", "w1 commit", "w1 read", "w1 project"},
			Want:      []string{"w1: a projected", "[a]"},
		},
		{
			Name:      "a throttled commit fails the call, and the client asks again",
			Processes: []sim.Process{Writer("w1", "a", "a")},
			Script:    []string{"w1 commit refused"},
			Want: []string{
				"w1: failed: fold: write k (attempts: 1): commit k: refused: injected", "w1: a projected", "[a]",
			},
		},
		{
			Name:      "a crash between the writes, and the client's retry finishes the projection",
			Processes: []sim.Process{Writer("w1", "a", "a")},
			Script:    []string{"w1 commit", "w1 crashes", "w1 read", "w1 project"},
			Want:      []string{"w1: nothing", "w1: a projected", "[a]"},
		},
		{
			Name:      "a crash between the writes, and the key's next batch finishes the projection",
			Processes: []sim.Process{Writer("w1", "a"), Writer("w2", "b")},
			Script:    []string{"w1 commit", "w1 crashes", "w2 project"},
			Want:      []string{"w1: nothing", "w2: b projected", "[a b]"},
		},
		{
			Name:      "views go down for a while, and the sweeper finishes what was committed meanwhile",
			Processes: []sim.Process{Writer("w1", "a", "b"), Sweeper("s", 1)},
			Script:    []string{"w1 project outage begins", "w1 project", "w1 commit", "w1 project", "w1 project", "outages end", "s read"},
			Want:      []string{"w1: a committed", "w1: b committed", "s: nothing pending", "[a b]"},
		},
		{
			Name:      "misrouted clients meet at one key",
			Retries:   1,
			Processes: []sim.Process{Writer("w1", "a"), Writer("w2", "b")},
			Script:    []string{"w1 read", "w2 read", "w2 commit", "w2 project", "w1 commit", "w1 read"},
			Want:      []string{"w1: a projected", "w2: b projected", "[b a]"},
		},
		{
			Name:      "a throttled row is answered on its own, the sweeper writes it alone, and a late one is present",
			Layout:    sim.Rows,
			Processes: []sim.Process{Writer("w1", "abc"), Sweeper("s", 1)},
			Script:    []string{"w1 put b delayed", "w1 put c", "s read", "s put b", "s clear"},
			Want:      []string{"w1: a projected, b committed, c projected", "s: nothing pending", "[a c b]"},
		},
		{
			Name:      "a row that the sweeper wrote first is not written again",
			Layout:    sim.Rows,
			Processes: []sim.Process{Writer("w1", "a"), Sweeper("s", 1)},
			Script:    []string{"w1 commit", "s read", "s missing", "s put a", "w1 missing", "s clear", "w1 clear", "w1 read"},
			Want:      []string{"w1: a projected", "s: nothing pending", "[a]"},
		},
		{
			Name:      "a crash between two rows",
			Layout:    sim.Rows,
			Processes: []sim.Process{Writer("w1", "abc"), Sweeper("s", 1)},
			Script:    []string{"w1 put a", "w1 crashes", "s put b", "s put c", "s clear"},
			Want:      []string{"w1: nothing", "s: nothing pending", "[a b c]"},
		},
		{
			Name:      "a stale clear is refused, and the newer batch clears",
			Layout:    sim.Rows,
			Processes: []sim.Process{Writer("w1", "a"), Writer("w2", "b")},
			Script:    []string{"w1 put a", "w2 read", "w2 commit", "w1 clear", "w2 missing", "w2 put b", "w2 clear", "w1 read"},
			Want:      []string{"w1: a projected", "w2: b projected", "[a b]"},
		},
		{
			Name:      "one row is down for a while",
			Layout:    sim.Rows,
			Processes: []sim.Process{Writer("w1", "ab"), Sweeper("s", 2)},
			Script:    []string{"w1 put a outage begins", "s read", "s put a", "outages end", "s read"},
			Want:      []string{"w1: a committed, b projected", "s: still pending: map[a:put k: refused: injected]", "s: nothing pending", "[b a]"},
		},
	}
}
