package sim_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/gallery"
	"github.com/goferry/goferry/sim/simstore"
)

var (
	full      = flag.Bool("sim.full", false, "explore the larger instances as well")
	histories = flag.Int("sim.histories", 20_000, "how many random histories each simulation makes")
)

// perScenario is how many histories are made of one drawn scenario.
const perScenario = 10

// beChild makes this process what a test wants it to be, if one does. A file of tests that start others sets it.
var beChild = func() (isChild bool, err error) { return false, nil }

func TestMain(m *testing.M) {
	if isChild, err := beChild(); isChild {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	// rapid knows the number of checks by a flag only.
	if err := errors.Join(
		flag.Set("rapid.checks", strconv.Itoa((*histories+perScenario-1)/perScenario)),
		flag.Set("rapid.nofailfile", "true"),
	); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400) // Every history makes garbage, and little of it lives.
	code := m.Run()
	// A test that code which never ends is noticed leaves that code behind.
	abandoned := goleak.IgnoreAnyFunction("github.com/goferry/goferry/sim.(*process).abandon")
	if err := goleak.Find(abandoned); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func flags(layout sim.Layout) sim.Scenario {
	return sim.Scenario{Name: layout.String() + ", flag", Layout: layout}
}

func watermarks(layout sim.Layout) sim.Scenario {
	return sim.Scenario{Name: layout.String() + ", watermark", Layout: layout, Store: simstore.Rules{Marker: simstore.Watermark}}
}

// usual is what goes wrong in most explorations.
const usual = gallery.Usual

var writer, sweeper = gallery.Writer, gallery.Sweeper
