package sim

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/goferry/goferry/sim/internal/kit"
)

// givenLimit is a kit.Limit whose functions cannot be checked before the store is known.
type givenLimit struct {
	err        error
	fits, over any
}

// Power is something more that [TestStore] and [TestRowStore] may use, or how they go about it.
type Power func(*powers)

type powers struct {
	delete, reopen, second any
	start                  func(t *testing.T, dir string) *exec.Cmd
	left                   any // opens what start's process has left
	upstream               func(t *testing.T) (addr string)
	dial, server           any
	limits                 []givenLimit
	cuts, syncs            bool
	virtual, seeded        bool
	seed                   uint64
	histories              int
}

// WithDelete says how the store removes a record with its view: only if it still holds the record that was read.
func WithDelete[R any, K comparable, S any](remove func(env R, ctx context.Context, key K, read S) error) Power {
	return func(p *powers) { p.delete = remove }
}

// WithReopen says how to end a store, as a crash or a restart does, and open what it has left behind.
func WithReopen[R any](reopen func(t *testing.T, env R) R) Power {
	return func(p *powers) { p.reopen = reopen }
}

// WithSecondHandle says how to open the data of a store once more, as another process does.
func WithSecondHandle[R any](second func(t *testing.T, env R) R) Power {
	return func(p *powers) { p.second = second }
}

// WithChild says how to start another process that does [WriteForever] on a store with its data in dir, and how to open
// what it has left there. The process is killed, at random moments, twenty times over the same data; what it had
// acknowledged must be there, each entry once, no call by half, and a sweep must finish the rest. start usually answers the
// test's own binary, and TestMain makes the process of it:
//
//	start := func(t *testing.T, dir string) *exec.Cmd {
//		cmd := exec.Command(os.Args[0])
//		cmd.Env = append(os.Environ(), "WRITE_FOREVER_IN="+dir)
//		return cmd
//	}
//
//	func TestMain(m *testing.M) {
//		if dir, ok := os.LookupEnv("WRITE_FOREVER_IN"); ok {
//			log.Fatal(sim.WriteForever(write, openStore(dir), key, input))
//		}
//		os.Exit(m.Run())
//	}
//
// What the process has sent to a server must have been done, or be out of the way, when open returns. What open leaves
// open is to be closed by t.Cleanup.
func WithChild[R any](start func(t *testing.T, dir string) *exec.Cmd, open func(t *testing.T, dir string) R) Power {
	return func(p *powers) { p.start, p.left = start, open }
}

// WithPowerCuts has the child of [WithChild] write to a disk of its own, an ext4 in a file, whose power is cut five times:
// what has not been synced is lost. It takes Linux, root, loop devices and mkfs.ext4, and is not tried elsewhere.
func WithPowerCuts() Power { return func(p *powers) { p.cuts = true } }

// WithSyncFaults says that the child of [WithChild] syncs what it writes itself, as an embedded store does and the client
// of a server does not: it is the process itself that is watched. Its syncs are made slow, and then to fail, after which it
// must acknowledge nothing. It takes strace, and is not tried elsewhere.
func WithSyncFaults() Power { return func(p *powers) { p.syncs = true } }

// WithDial says where the server is, and how to open a store on it. upstream answers host:port or the path of a socket;
// open, the same data each time, through another address. A proxy there loses requests and replies, goes silent, slow
// and down, and cuts the connections of writers at random; what each call answered must be true. An error whose NotWritten
// method answers true says that nothing was written, one of the backends package if it is ErrConflict or ErrRefused.
func WithDial[R any](upstream func(t *testing.T) (addr string), open func(t *testing.T, addr string) R) Power {
	return func(p *powers) { p.upstream, p.dial = upstream, open }
}

// WithServer says how to start a server and a store that talks to it, how to kill that server, and how to start it again
// on what it has left. restart returns when the server takes connections. Neither may be used by other tests.
func WithServer[R any](start func(t *testing.T) (env R, kill, restart func())) Power {
	return func(p *powers) { p.server = start }
}

// WithLimit says what the store refuses as too large: fits makes the inputs of a call, on a new key, that is just within a
// limit, over those of one that exceeds it, be it as a record, as a row or a view, or in the number of rows. The error must
// be tooLarge, by errors.Is, and its NotWritten answer true. It may be given for each of several limits.
func WithLimit[K comparable, I any](tooLarge error, fits, over func(key K) []I) Power {
	return func(p *powers) { p.limits = append(p.limits, givenLimit{tooLarge, fits, over}) }
}

// WithVirtualTime runs every subtest in a synctest bubble: for stores without sockets, files or goroutines that outlive
// them, which then wait for nothing. Its number of histories does not depend on the machine.
func WithVirtualTime() Power { return func(p *powers) { p.virtual = true } }

// WithHistories is how many histories the simulation makes. Without it, as many as the store makes in two seconds.
func WithHistories(n int) Power { return func(p *powers) { p.histories = n } }

// WithSeed makes the random histories those of another test: its log has the seed.
func WithSeed(seed uint64) Power { return func(p *powers) { p.seed, p.seeded = seed, true } }

func given(all []Power) (p powers) {
	for _, power := range all {
		power(&p)
	}
	return p
}

// typedPowers are the functions that were given, nil for those that were not.
type typedPowers[R any, K comparable, I, S any] struct {
	delete         func(R, context.Context, K, S) error
	reopen, second func(*testing.T, R) R
	left, dial     func(*testing.T, string) R
	server         func(*testing.T) (env R, kill, restart func())
	limits         []kit.Limit
}

// typed looks whether the functions that were given are for this store.
func typed[R any, K comparable, I, S any](p powers) (with typedPowers[R, K, I, S], err error) {
	err = errors.Join(
		fit(&with.delete, "WithDelete", p.delete),
		fit(&with.reopen, "WithReopen", p.reopen),
		fit(&with.second, "WithSecondHandle", p.second),
		fit(&with.left, "WithChild", p.left),
		fit(&with.dial, "WithDial", p.dial),
		fit(&with.server, "WithServer", p.server))
	for _, given := range p.limits {
		var fits, over func(K) []I
		err = errors.Join(err, fit(&fits, "WithLimit", given.fits), fit(&over, "WithLimit", given.over))
		with.limits = append(with.limits, kit.Limit{
			Err: given.err, Fits: func(key any) any { return fits(key.(K)) }, Over: func(key any) any { return over(key.(K)) },
		})
	}
	return with, err
}

func fit[F any](to *F, name string, given any) (err error) {
	if given == nil {
		return nil
	}
	f, ok := given.(F)
	if *to = f; !ok {
		return fmt.Errorf("%s was given a %T, and this store needs a %T", name, given, f)
	}
	return nil
}

// untried is what a green test has not shown, and why.
type untried []string

func (u *untried) add(what, why string) { *u = append(*u, what+"\t"+why) }

// unless notes what a missing power leaves out.
func (u *untried) unless(given bool, what, power string) bool {
	if !given {
		u.add(what, "needs "+power)
	}
	return given
}

// log ends the log with a table.
func (u *untried) log(t *testing.T) {
	t.Helper()
	if len(*u) == 0 {
		return
	}
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range *u {
		fmt.Fprintf(tw, "\n  %s", line)
	}
	tw.Flush() // To a Builder, which never fails.
	t.Logf("sim: not tried:%s", b.String())
}
