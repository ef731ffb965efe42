package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/goferry/goferry/internal/mishap"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim/internal/kit"
)

const (
	// firstKey is the environment variable by which a test tells its child the number of its first key.
	firstKey = "GOFERRY_SIM_FIRST_KEY"
	// ackPrefix begins the lines that a child prints for its test.
	ackPrefix = "sim: acknowledged "
)

// WriteForever is all that the other process of [WithChild] does: it writes through write, with several goroutines, and
// prints a line for every input that was acknowledged, until it is killed. It takes the functions that are given to
// [TestStore], and answers an error when nothing can be written any more.
func WriteForever[R any, E error, K comparable, I any, ID comparable, S, O any](
	write projected.ProjectedWrite[R, E, K, I, ID, S, O], env R, key func(n int) K, input func(key K, n int) I,
) error {
	first, err := strconv.Atoi(os.Getenv(firstKey))
	if err != nil {
		return fmt.Errorf("sim: WriteForever is for a process that a test with WithChild starts, and passes its environment on to: %w", err)
	}
	provided := write.Provide(env)
	call := func(n int, ns []int) ([]kit.Answer, error) {
		k := key(first + n)
		inputs := make([]I, len(ns))
		for i, n := range ns {
			inputs[i] = input(k, n)
		}
		outcomes, err := provided.Call(context.Background(), k, inputs)
		return kit.AnswersOf(outcomes), err
	}
	return kit.WriteForever(context.Background(), call, func(a kit.Ack) { fmt.Println(ackPrefix + a.String()) })
}

// child is what a test does to another process that writes.
type child struct {
	start  func(t *testing.T, dir string) *exec.Cmd
	open   func(t *testing.T, dir string) *kit.Store
	newKey func() (int, any)
	seed   uint64
}

// silence is how long a child may be without a word.
const silence = 30 * time.Second

// kills ends the child again and again, over the same data.
func (c child) kills(t *testing.T) error {
	const runs = 20
	random := rand.New(rand.NewPCG(c.seed, 1))
	dir, acks := t.TempDir(), 0
	var all []*kit.Witness
	for run := 0; run < runs && !t.Failed(); run++ {
		w := kit.NewWitness(c.newKey)
		p := c.begin(t, dir, w)
		c.await(t, p, 1+random.IntN(200))
		time.Sleep(time.Duration(random.IntN(5_000)) * time.Microsecond) // An acknowledgement is no random moment.
		c.end(t, p, w)
		c.look(t, fmt.Sprint("kill ", run+1), dir, w)
		acks += w.Acks()
		all = append(all, w)
	}
	c.look(t, "all together", dir, all...)
	t.Logf("sim: %d acknowledgements before %d kills, seed %d", acks, runs, c.seed)
	return nil
}

// powerCuts takes the child's disk away, each time another.
func (c child) powerCuts(t *testing.T) (err error) {
	const runs = 5
	random := rand.New(rand.NewPCG(c.seed, 2))
	acks := 0
	for run := 0; run < runs && err == nil && !t.Failed(); run++ {
		t.Run(fmt.Sprint("cut ", run+1), func(t *testing.T) {
			var n int
			n, err = c.powerCut(t, 100+random.IntN(500))
			acks += n
		})
	}
	if err == nil {
		t.Logf("sim: %d acknowledgements before power cuts, seed %d", acks, c.seed)
	}
	return err
}

func (c child) powerCut(t *testing.T, enough int) (acks int, err error) {
	disk, err := mishap.NewDisk(t.TempDir())
	if errors.Is(err, mishap.ErrUnable) {
		return 0, err
	}
	must(t, err)
	t.Cleanup(func() { must(t, disk.Unmount()) })
	w := kit.NewWitness(c.newKey)
	p := c.begin(t, disk.Dir, w)
	c.await(t, p, enough)
	heard := p.Printed() // A sync that is under way when the power is cut may answer anything; nobody would hear of it.
	must(t, disk.Cut())
	c.take(t, p.Kill()[:heard], w)
	must(t, errors.Join(disk.Unmount(), disk.Mount()))
	c.look(t, "after it", disk.Dir, w)
	return w.Acks(), nil
}

// slowSyncs makes every sync of the child take five milliseconds, as those of a slow disk do.
func (c child) slowSyncs(t *testing.T) error {
	w, dir := kit.NewWitness(c.newKey), t.TempDir()
	p := c.begin(t, dir, w)
	c.await(t, p, 10)
	syncs, err := p.HarmSyncs(mishap.Slow, filepath.Join(t.TempDir(), "syncs"))
	if err != nil {
		return err
	}
	before := p.Printed()
	c.await(t, p, 200)
	c.end(t, p, w)
	n, err := syncs.Count()
	must(t, err)
	acks := w.Acks() - before
	if n == 0 {
		fail(t, kit.Unsynced(acks))
		return nil
	}
	t.Logf("sim: %d acknowledgements with %d slow syncs: %.1f entries a sync", acks, n, float64(acks)/float64(n))
	c.look(t, "after it", dir, w)
	return nil
}

// failingSyncs has every sync fail from one moment on. Whatever is acknowledged after that is not on the disk.
func (c child) failingSyncs(t *testing.T) error {
	const inFlight = 300 // far more than that may have been synced before, and not printed
	w, dir := kit.NewWitness(c.newKey), t.TempDir()
	p := c.begin(t, dir, w)
	c.await(t, p, 50)
	if _, err := p.HarmSyncs(mishap.Fail, filepath.Join(t.TempDir(), "syncs")); err != nil {
		return err
	}
	stopped := p.Await(inFlight, 2*time.Second)
	c.end(t, p, w)
	if stopped == nil {
		fail(t, kit.Unsynced(inFlight))
		return nil
	}
	c.look(t, "after it", dir, w)
	return nil
}

func (c child) begin(t *testing.T, dir string, w *kit.Witness) *mishap.Process {
	t.Helper()
	cmd := c.start(t, dir)
	cmd.Env = append(cmd.Environ(), fmt.Sprint(firstKey, "=", w.First))
	p, err := mishap.Start(cmd, ackPrefix)
	must(t, err)
	t.Cleanup(func() { p.Kill() })
	return p
}

func (c child) await(t *testing.T, p *mishap.Process, acks int) {
	t.Helper()
	must(t, p.Await(acks, silence))
}

// end kills the child and takes down what it has printed.
func (c child) end(t *testing.T, p *mishap.Process, w *kit.Witness) {
	t.Helper()
	c.take(t, p.Kill(), w)
}

func (c child) take(t *testing.T, lines []string, w *kit.Witness) {
	t.Helper()
	for _, line := range lines {
		ack, err := kit.ParseAck(line)
		must(t, err)
		w.Acked(ack)
	}
}

// look opens what was left, in a subtest, at whose end it is closed.
func (c child) look(t *testing.T, name, dir string, witnesses ...*kit.Witness) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		store := c.open(t, dir)
		for _, w := range witnesses {
			if v := w.Check(t.Context(), store); v != nil {
				fail(t, v)
				return
			}
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("sim: %v", err)
	}
}
