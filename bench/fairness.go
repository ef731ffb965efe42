package main

import (
	"fmt"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
	"github.com/goferry/goferry/bench/internal/report"
)

// The fairness section: hot keys, each with callers in a closed loop, beside cold keys with one caller each.
const (
	permits    = 4
	hotCallers = 64
	coldKeys   = 50
	callCost   = time.Millisecond
)

// mix is one workload of the fairness section.
type mix struct {
	hot   int
	think time.Duration
}

func (m mix) String() string {
	return fmt.Sprintf("hot keys: %d, think time %s", m.hot, report.Duration(m.think))
}

// share is one round of a mix.
type share struct {
	hot, cold load.Result
	served    float64
}

func hotPerSecond(s share) float64 { return s.hot.PerSecond }
func coldP99(s share) float64      { return float64(s.cold.P99) }

func fairness(r *report.Report, s scale) error {
	r.Section("c. Fairness",
		"At most 4 calls at once, of 1 ms each. Each hot key has 64 callers in a closed loop; 50 cold keys have one caller each, who thinks after\n"+
			"each answer. The peers have failsafe-go's bulkhead around their calls. The offered cold load is what the cold callers would submit if each of\n"+
			"their calls went out at once: 50 per think time and call. With a think time of 5 ms it is more than the 4 calls can take by itself, so that\n"+
			"nobody can serve all of it; it is judged with 50 ms.")
	for _, think := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond} {
		for _, hot := range []int{1, 4, 16} {
			m := mix{hot, think}
			got, err := load.Turns(s.rounds, len(peer.All), func(i int) (share, error) { return m.run(peer.All[i], s) })
			if err != nil {
				return fmt.Errorf("%v: %w", m, err)
			}
			m.report(r, got)
		}
	}
	return nil
}

func (m mix) run(p peer.Peer, s scale) (share, error) {
	store := &load.Store{Cost: callCost}
	carrier := p.Open(store.Call, permits)
	defer carrier.Close()
	keys := load.Keys(m.hot + coldKeys)
	results, total, err := load.Run(store.Count, carrier.Submit, s.longer(3).window,
		load.Group{Callers: m.hot * s.some(hotCallers), Key: load.One(keys[:m.hot])},
		load.Group{Callers: coldKeys, Key: load.One(keys[m.hot:]), Think: m.think})
	if err != nil {
		return share{}, err
	}
	hot, cold := results[0], results[1]
	offered := coldKeys / (cold.Think + total.Cost()).Seconds()
	return share{hot, cold, cold.PerSecond / offered}, nil
}

func (m mix) report(r *report.Report, got [][]share) {
	var rows [][]string
	for i, p := range peer.All {
		mine := got[i]
		cold := func(of func(load.Result) time.Duration) string {
			return report.Duration(load.Median(mine, func(s share) time.Duration { return of(s.cold) }))
		}
		rows = append(rows, []string{
			p.Name,
			report.Number(load.Median(mine, hotPerSecond)),
			report.Times(load.Ratio(mine, got[peer.Mutex], hotPerSecond)),
			report.Number(load.Median(mine, func(s share) float64 { return s.cold.PerSecond })),
			report.Number(100*load.Median(mine, func(s share) float64 { return s.served })) + " %",
			cold(func(r load.Result) time.Duration { return r.P50 }),
			cold(func(r load.Result) time.Duration { return r.P99 }),
			cold(func(r load.Result) time.Duration { return r.Max }),
		})
	}
	r.Table(fmt.Sprintf("**%v**", m), []string{"", "hot entries/s", "to mutex", "cold entries/s", "of offered", "cold p50", "cold p99", "cold max"}, rows)
	m.judge(r, got)
}

// judge compares goferry, where the bulkhead is saturated, to the bundlers, and everywhere to whoever has the best tail.
func (m mix) judge(r *report.Report, got [][]share) {
	goferry := got[peer.Goferry]
	if m.hot >= permits {
		r.AtLeast(fmt.Sprintf("Hot entries/s to bundler, delay 0: %v", m), load.Ratio(goferry, got[peer.Bundler], hotPerSecond), 1.8)
		r.Told(fmt.Sprintf("Hot entries/s to bundler, delay 1 ms: %v", m), load.Ratio(goferry, got[peer.BundlerLinger], hotPerSecond))
	}
	worst := 0.0
	for place, theirs := range got {
		if place != peer.Goferry {
			worst = max(worst, load.Ratio(goferry, theirs, coldP99))
		}
	}
	r.AtMost(fmt.Sprintf("Cold p99 to the best peer: %v", m), worst, 1.1)
	if m.think == 50*time.Millisecond {
		r.AtLeast(fmt.Sprintf("Share of the offered cold load: %v", m), load.Median(goferry, func(s share) float64 { return s.served }), 0.95)
	}
}
