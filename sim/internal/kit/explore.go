package kit

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goferry/goferry/schedule"
)

// never is the schedule of a sweep that nothing disturbs.
var never = schedule.Stop()

// small are searched in order, large at random.
var (
	w1, w2, sweeper = actor{"w1", []call{{0}}}, actor{"w2", []call{{1}}}, actor{"sweeper", []call{{}}}

	small = []scenario{
		of(w1), of(w1, sweeper), of(w1, w2), of(w1, w2, sweeper),
	}
	large = scenario{
		actors: []actor{
			{"w1", []call{{0}, {1, 2}, {0}}},
			{"w2", []call{{3, 4}, {1}}},
			{"sweeper", []call{{}, {}}},
		},
		retries: 1,
		kinds:   []fault{fail, lose, late, refuse},
	}
	// lagging is a large one with reads and listings that answer what was: the fence must make up for it.
	lagging = scenario{actors: large.actors, retries: 2, kinds: []fault{stale, lose, late}, lists: true}
)

func of(actors ...actor) scenario {
	return scenario{actors: actors, retries: 1, kinds: []fault{fail, lose, late}}
}

// level is a scenario and what may go wrong in it.
type level struct {
	scenario
	limits
}

// levels are in the order of what goes wrong, of preemptions, and of how many take part, so that what is found first
// is small.
func levels() (all []level) {
	for trouble := range 3 {
		for preemptions := range 3 {
			for _, sc := range small {
				all = append(all, level{sc, limits{faults: trouble, preemptions: preemptions}})
				if trouble > 0 {
					all = append(all, level{sc, limits{faults: trouble - 1, crashes: 1, preemptions: preemptions}})
				}
			}
		}
	}
	return all
}

// Simulate searches the small scenario in order, then makes random histories of the large one.
func Simulate(t T, effort Effort) {
	t.Helper()
	t.Run("simulation", func(t T, store *Store) {
		s := &search{ctx: t.Context(), store: store, left: effort.Histories, random: rand.New(rand.NewPCG(effort.Seed, 0))}
		if s.left == 0 {
			s.left = affordable(s, effort.Virtual)
		}
		searched := s.inOrder(s.left / 2)
		drawn := s.atRandom()
		t.Logf("sim: %d histories in order, %d at random from seed %d, %d of them with old answers", searched, drawn, effort.Seed, s.misled)
		if s.found != nil {
			t.Broken(s.found)
		}
	})
}

// affordable answers how many histories the store makes in about two seconds.
func affordable(s *search, virtual bool) int {
	const most, rehearsal = 10_000, 50
	if virtual {
		return most / 2
	}
	began := time.Now()
	for range rehearsal {
		small[len(small)-1].run(s.ctx, s.store, limits{}, func(int) int { return 0 })
	}
	each := time.Since(began) / rehearsal
	return min(max(int(2*time.Second/max(each, 1)), 200), most)
}

// search makes histories until one breaks a law or none is left.
type search struct {
	ctx    context.Context
	store  *Store
	random *rand.Rand
	left   int
	misled int // histories
	found  *Violation
}

// inOrder goes through the histories of each level depth first, and answers how many it made.
func (s *search) inOrder(most int) int {
	made := 0
	for _, l := range levels() {
		if s.found != nil {
			break
		}
		made += s.level(l, (most-made)/4) // Most levels leave much of it, and the first matter most.
	}
	s.left -= made
	return made
}

// level keeps the shortest of the histories that break the law that is broken first.
func (s *search) level(l level, most int) (made int) {
	for p := (path{}); made < most; {
		p.begin()
		v := l.run(s.ctx, s.store, l.limits, p.choose).broken
		made++
		if s.found == nil || v != nil && v.Law == s.found.Law && len(v.History.Steps) < len(s.found.History.Steps) {
			s.found = v
		}
		if !p.backtrack() {
			break
		}
	}
	return made
}

// path is a way through the tree of choices.
type path struct {
	nodes []node
	depth int
}

type node struct{ choice, options int }

func (p *path) begin() { p.depth = 0 }

// choose follows the path and then takes first options. A store that answers otherwise than before, as real ones may,
// makes another tree: the path goes on there.
func (p *path) choose(options int) int {
	if p.depth < len(p.nodes) && p.nodes[p.depth].options != options {
		p.nodes = p.nodes[:p.depth]
	}
	if p.depth == len(p.nodes) {
		p.nodes = append(p.nodes, node{options: options})
	}
	p.depth++
	return p.nodes[p.depth-1].choice
}

// backtrack moves on to the next history and answers whether there is one.
func (p *path) backtrack() bool {
	p.nodes = p.nodes[:p.depth]
	for len(p.nodes) > 0 {
		n := &p.nodes[len(p.nodes)-1]
		if n.choice++; n.choice < n.options {
			return true
		}
		p.nodes = p.nodes[:len(p.nodes)-1]
	}
	return false
}

var troubles = limits{faults: 3, crashes: 1, preemptions: 1000}

// atRandom makes random histories, of which the duller options are the likelier, and answers how many.
func (s *search) atRandom() int {
	made := 0
	for ; s.found == nil && made < s.left; made++ {
		var choices []int
		sc := []scenario{large, lagging}[made%2]
		w := sc.run(s.ctx, s.store, troubles, func(options int) int {
			choice := 0
			if s.random.IntN(3) == 0 {
				choice = s.random.IntN(options)
			}
			choices = append(choices, choice)
			return choice
		})
		if w.misled {
			s.misled++
		}
		if w.broken != nil {
			s.found = s.shrink(sc, choices, w.broken)
		}
	}
	return made
}

// shrink makes choices dull, one after the other, as long as the same law is broken in no more steps.
func (s *search) shrink(sc scenario, choices []int, found *Violation) *Violation {
	for again := true; again; {
		again = false
		for i, choice := range choices {
			if choice == 0 {
				continue
			}
			duller := slices.Clone(choices)
			duller[i] = 0
			v := s.replay(sc, duller)
			if v != nil && v.Law == found.Law && len(v.History.Steps) <= len(found.History.Steps) {
				choices, found, again = duller, v, true
			}
		}
	}
	return found
}

func (s *search) replay(sc scenario, choices []int) *Violation {
	return sc.run(s.ctx, s.store, troubles, func(options int) int {
		if len(choices) == 0 {
			return 0
		}
		choice := min(choices[0], options-1)
		choices = choices[1:]
		return choice
	}).broken
}
