package lanes_test

import (
	"errors"
	"flag"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var histories = flag.Int("sim.histories", 10_000, "how many random histories the simulation makes")

const ms = time.Millisecond

// perScenario is how many histories are made of one drawn scenario.
const perScenario = 10

func TestMain(m *testing.M) {
	flag.Parse()
	// rapid knows the number of checks by a flag only.
	if err := errors.Join(
		flag.Set("rapid.checks", strconv.Itoa((*histories+perScenario-1)/perScenario)),
		flag.Set("rapid.nofailfile", "true"),
	); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400) // Every history makes garbage, and little of it lives.
	goleak.VerifyTestMain(m)
}
