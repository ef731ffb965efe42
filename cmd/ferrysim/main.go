// Ferrysim runs goferry's code in a simulated world, prints what happened, and draws it.
//
//	ferrysim -list                               what there is to see
//	ferrysim -story "a crash between two rows"   a situation told by a script
//	ferrysim -off "the clear has no fence"       a rule switched off: the smallest history that shows it
//	ferrysim -world rows -faults 1 -crashes 1    every history of a small world
//	ferrysim -world rows -random 100000 -seed 7  that many histories made by chance
//	ferrysim -world rows -replay 0,0,1           one history, from its schedule
//
// With -html FILE the history, a broken law's or the one that was asked for, is drawn as a page. A name may be shortened
// to a part that no other has. The exit status is 1 if a law was broken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/gallery"
	"github.com/goferry/goferry/sim/simstore"
)

// errBroken ends the program with status 1. The history has been printed.
var errBroken = errors.New("a law was broken")

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil:
	case errors.Is(err, errBroken):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// options are the flags.
type options struct {
	list                            bool
	story, off, world, marker, html string
	replay                          string
	limits                          sim.Limits
	retries, random                 int
	seed                            uint64
	stdout, progress                io.Writer
}

func run(args []string, stdout, stderr io.Writer) error {
	o := options{stdout: stdout, progress: stderr, limits: sim.Limits{Kinds: gallery.Usual}}
	flags := flag.NewFlagSet("ferrysim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.list, "list", false, "list the stories, the rules to switch off and the worlds")
	flags.StringVar(&o.story, "story", "", "tell the story of this `name`")
	flags.StringVar(&o.off, "off", "", "switch off the rule of this `name` and find the smallest history that shows it")
	flags.StringVar(&o.world, "world", "whole", "explore this `world`: log, whole or rows")
	flags.StringVar(&o.marker, "marker", "flag", "the `marker` of the world's records: flag or watermark")
	flags.StringVar(&o.html, "html", "", "draw the history into this `file`")
	flags.StringVar(&o.replay, "replay", "", "make the one history of this `schedule`: numbers with commas")
	flags.IntVar(&o.limits.Faults, "faults", 1, "how many operations may meet a fault")
	flags.IntVar(&o.limits.Crashes, "crashes", 0, "how many times a process may die")
	flags.IntVar(&o.limits.Cancels, "cancels", 0, "how many callers may leave")
	flags.IntVar(&o.limits.Preemptions, "preemptions", 3, "how many times a process may have to wait in mid-call; -1 is any number")
	flags.IntVar(&o.retries, "retries", 1, "how often a call may try again")
	flags.IntVar(&o.random, "random", 0, "make so many random histories instead of every one")
	flags.Uint64Var(&o.seed, "seed", 1, "where the random histories start")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("arguments without a flag: %q", flags.Args())
	case o.list:
		return o.printList()
	case o.story != "":
		return o.tell()
	case o.off != "":
		return o.switchOff()
	}
	scenario, err := o.scenario()
	if err != nil {
		return err
	}
	switch {
	case o.replay != "":
		return o.again(scenario)
	case o.random > 0:
		return o.byChance(scenario)
	}
	return o.everything(scenario)
}

func (o options) printList() error {
	fmt.Fprintln(o.stdout, "stories (-story):")
	for _, s := range gallery.Stories() {
		fmt.Fprintln(o.stdout, "  "+s.Name)
	}
	fmt.Fprintln(o.stdout, "rules switched off (-off), and the law that notices:")
	for _, v := range gallery.Variants() {
		fmt.Fprintf(o.stdout, "  %s (%s)\n", v.Name, v.Law)
	}
	fmt.Fprintln(o.stdout, "worlds (-world): log, whole, rows, each with -marker flag or watermark:\n  two writers with two calls each, and a sweeper")
	return nil
}

func (o options) tell() error {
	story, err := pick(gallery.Stories(), o.story, func(s gallery.Story) string { return s.Name })
	if err != nil {
		return err
	}
	return o.show(sim.Run(story.Scenario(), sim.Script(story.Script...)))
}

func (o options) switchOff() error {
	variant, err := pick(gallery.Variants(), o.off, func(v gallery.Variant) string { return v.Name })
	if err != nil {
		return err
	}
	variant.Scenario.Name = variant.Name
	report := sim.Deepen(variant.Scenario, 0)
	if report.Failure == nil {
		return fmt.Errorf("nothing noticed: %v", report)
	}
	return o.show(report.Failure)
}

// scenario is the world of the flags.
func (o options) scenario() (sim.Scenario, error) {
	s := sim.Scenario{
		Retries: o.retries, Limits: o.limits,
		Processes: []sim.Process{gallery.Writer("w1", "a", "b"), gallery.Writer("w2", "c", "d"), gallery.Sweeper("s", 1)},
	}
	switch o.world {
	case "log":
		s.Layout, s.Processes = sim.LogOnly, s.Processes[:2]
	case "whole":
		s.Layout = sim.WholeRecord
	case "rows":
		s.Layout = sim.Rows
	default:
		return s, fmt.Errorf("-world %s: want log, whole or rows", o.world)
	}
	switch o.marker {
	case "flag":
	case "watermark":
		s.Store.Marker = simstore.Watermark
	default:
		return s, fmt.Errorf("-marker %s: want flag or watermark", o.marker)
	}
	s.Name = fmt.Sprintf("%v, %s", s.Layout, o.marker)
	return s, nil
}

func (o options) again(s sim.Scenario) error {
	var schedule []int
	for _, number := range strings.Split(o.replay, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 0 {
			return fmt.Errorf("-replay: %q is not a choice", number)
		}
		schedule = append(schedule, n)
	}
	return o.show(sim.Run(s, sim.Replay(schedule)))
}

func (o options) byChance(s sim.Scenario) error {
	rng := rand.New(rand.NewPCG(o.seed, 0))
	c := sim.NewChecker(s)
	defer c.Close()
	every := o.everySecond()
	for n := range o.random {
		if c.Check(sim.ChooserFunc(rng.IntN)) != nil {
			fmt.Fprintf(o.stdout, "history %d from seed %d\n", n+1, o.seed)
			return o.show(c.Trace())
		}
		every(func() string { return fmt.Sprintf("%d of %d histories", n+1, o.random) })
	}
	fmt.Fprintf(o.stdout, "%s: %d random histories from seed %d, no law broken\n", s.Name, o.random, o.seed)
	if o.html != "" {
		return o.draw(c.Trace())
	}
	return nil
}

func (o options) everything(s sim.Scenario) error {
	every := o.everySecond()
	report := sim.Explore(s, sim.Search{OnRun: func(runs, states int) {
		every(func() string { return fmt.Sprintf("%d runs, %d states", runs, states) })
	}})
	fmt.Fprintln(o.stdout, report)
	if report.Failure != nil {
		return o.show(report.Failure)
	}
	if o.html != "" {
		return o.draw(sim.Run(s, sim.Replay(nil)))
	}
	return nil
}

// everySecond answers a function that prints a line of progress if a second has passed since the last.
func (o options) everySecond() func(line func() string) {
	last, calls := time.Now(), 0
	return func(line func() string) {
		if calls++; calls%64 == 0 && time.Since(last) > time.Second {
			last = time.Now()
			fmt.Fprintln(o.progress, line())
		}
	}
}

// show prints a history and draws it.
func (o options) show(trace *sim.Trace) error {
	if err := trace.Print(o.stdout); err != nil {
		return err
	}
	if o.html != "" {
		if err := o.draw(trace); err != nil {
			return err
		}
	}
	if trace.Violation != nil {
		return errBroken
	}
	return nil
}

func (o options) draw(trace *sim.Trace) error {
	file, err := os.Create(o.html)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := trace.Picture().HTML(file); err != nil {
		return err
	}
	return file.Close()
}

// pick answers the one whose name contains part.
func pick[T any](all []T, part string, name func(T) string) (T, error) {
	var none T
	found := slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !strings.Contains(name(v), part) })
	for _, v := range found {
		if name(v) == part {
			return v, nil
		}
	}
	switch len(found) {
	case 0:
		return none, fmt.Errorf("there is nothing with %q in its name: see -list", part)
	case 1:
		return found[0], nil
	}
	return none, fmt.Errorf("%d have %q in their names, %q and %q among them", len(found), part, name(found[0]), name(found[1]))
}
