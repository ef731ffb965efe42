package lanes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// Caller submits one input to the lanes of one process.
type Caller struct {
	Process, Key string
	ID           simstore.ID
}

// Callers makes one caller of each text, such as "p k a": process, key, and the letter of the input. It panics if a
// text is anything else.
func Callers(texts ...string) (callers []Caller) {
	for _, text := range texts {
		f := strings.Fields(text)
		if len(f) != 3 || len(f[2]) != 1 || f[2] < "a" || f[2] > "z" {
			panic(fmt.Sprintf("lanes: Callers: %q is not a process, a key and a letter", text))
		}
		callers = append(callers, Caller{Process: f[0], Key: f[1], ID: simstore.ID(f[2][0] - 'a')})
	}
	return callers
}

// Faults is a set of kinds of fault. Each meets one operation of the store.
type Faults uint8

// The kinds of fault.
const (
	// Refuse answers a definite error, and nothing happens.
	Refuse Faults = 1 << iota
	// Lose answers unknown to a write, which happens.
	Lose
	// Panic makes the whole call panic, and nothing happens.
	Panic
	// Goexit ends the goroutine of the call, and nothing happens.
	Goexit

	// NoFault is the empty set.
	NoFault Faults = 0
	// EveryFault is the full set.
	EveryFault = Refuse | Lose | Panic | Goexit
)

var faultNames = map[Faults]string{NoFault: "", Refuse: "refused", Lose: "answer lost", Panic: "panics", Goexit: "ends its goroutine"}

// String answers the kinds in words.
func (f Faults) String() string {
	var names []string
	for kind := Refuse; kind <= Goexit; kind <<= 1 {
		if f&kind != 0 {
			names = append(names, faultNames[kind])
		}
	}
	return strings.Join(names, ", ")
}

// fit answers the kinds that can meet op.
func (f Faults) fit(op simstore.Op) Faults {
	if op.Writes() {
		return f
	}
	return f &^ Lose
}

// Limits bounds what may happen in one history besides arrivals and operations.
type Limits struct {
	// Faults is how many operations may meet one of Kinds.
	Faults int
	Kinds  Faults
	// Cancels is how many callers may leave before they are answered.
	Cancels int
	// Ticks is how often time may pass, by Scenario.Tick each.
	Ticks int
	// Closes is how many processes may be closed in the middle. Each Close may give up.
	Closes int
	// Preemptions is how many times a process with an operation on offer may have to wait for another, or
	// sim.Unbounded.
	Preemptions int
}

// Scenario is a world before anything has happened in it.
type Scenario struct {
	Name string
	// Layout is sim.WholeRecord or sim.LogOnly.
	Layout sim.Layout
	Store  simstore.Rules
	// Config is that of the ferry of each process. Inputs weigh nothing.
	Config  ferry.Config
	Callers []Caller
	// Retries is how often the schedule lets a call try again.
	Retries int
	// Tick is how much time passes at a time. Default 10 ms.
	Tick   time.Duration
	Limits Limits
}

// withDefaults resolves the defaults of the configuration, which the laws need as numbers.
func (s Scenario) withDefaults() Scenario {
	switch {
	case len(s.Callers) == 0:
		panic("lanes: Scenario.Callers is empty")
	case s.Layout == sim.Rows:
		panic("lanes: Scenario.Layout is neither whole record nor log only")
	}
	if s.Limits.Kinds == NoFault {
		s.Limits.Faults = 0
	}
	c := &s.Config
	c.MaxBatch = bound(c.MaxBatch, 256)
	c.MaxQueued = bound(c.MaxQueued, 16384)
	c.MaxQueuedPerKey = bound(c.MaxQueuedPerKey, max(c.MaxQueued/4, 1))
	c.MaxInFlight = bound(c.MaxInFlight, 64)
	c.BatchTimeout = cmp.Or(c.BatchTimeout, 30*time.Second)
	c.CancelGrace = cmp.Or(c.CancelGrace, time.Second)
	s.Tick = cmp.Or(s.Tick, 10*time.Millisecond)
	return s
}

func bound(n, byDefault int) int {
	if n = cmp.Or(n, byDefault); n < 0 {
		return math.MaxInt
	}
	return n
}

// names answers what of says of every caller, each once and in the order of first use.
func (s Scenario) names(of func(Caller) string) (names []string) {
	for _, c := range s.Callers {
		if name := of(c); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
