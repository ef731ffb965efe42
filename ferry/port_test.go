package ferry_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/ferry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// port is a ferry whose calls stay out until the test says what they answer. Its inputs are strings: the first
// letter is the key, and what follows a star the weight, so that "b2*30" is of key b and weighs 30.
//
// It lives in a bubble, and each of its methods returns when everything has come to rest.
type port struct {
	*ferry.Ferry[string, string, string]
	t *testing.T

	mu  sync.Mutex
	out []*trip  // in the order of their start
	log []string // what every call carried, in the order of their start
}

// trip is one call.
type trip struct {
	ctx  context.Context
	key  string
	ins  []string
	back chan func() ([]string, error)
}

func (tr *trip) String() string { return strings.Join(tr.ins, " ") }

// ticket is one submitted input.
type ticket struct {
	in     string
	cancel context.CancelFunc
	reply  atomic.Pointer[reply]
}

type reply struct {
	out string
	err error
}

func (tk *ticket) done() bool { return tk.reply.Load() != nil }

// err answers the error of tk, nil also while there is no answer.
func (tk *ticket) err() error {
	if r := tk.reply.Load(); r != nil {
		return r.err
	}
	return nil
}

// out is like err.
func (tk *ticket) out() string {
	if r := tk.reply.Load(); r != nil {
		return r.out
	}
	return ""
}

// inBubble runs a test in a bubble of its own, beside other tests.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func keyOf(in string) string { return in[:1] }

func weigh(in string) int {
	_, weight, ok := strings.Cut(in, "*")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(weight)
	if err != nil {
		panic(err)
	}
	return n
}

// open makes a port that must be at rest, with all credit back, when the test ends.
func open(t *testing.T, cfg ferry.Config) *port {
	p := &port{t: t}
	p.Ferry = ferry.PerKeyWeighed(cfg, keyOf, weigh, p.call)
	t.Cleanup(func() {
		p.wantRest()
		if err := p.Close(context.Background()); err != nil && !t.Failed() {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return p
}

func (p *port) call(ctx context.Context, key string, ins []string) ([]string, error) {
	tr := &trip{ctx: ctx, key: key, ins: ins, back: make(chan func() ([]string, error))}
	p.mu.Lock()
	p.out = append(p.out, tr)
	p.log = append(p.log, tr.String())
	p.mu.Unlock()
	answer := <-tr.back
	p.mu.Lock()
	p.out = slices.DeleteFunc(p.out, func(other *trip) bool { return other == tr })
	p.mu.Unlock()
	return answer()
}

// submit hands inputs in, one after the other and each by a caller of its own, and answers the last one's ticket.
func (p *port) submit(ins ...string) *ticket {
	var tk *ticket
	for _, in := range ins {
		tk = p.submitWith(context.Background(), in)
	}
	return tk
}

func (p *port) submitWith(ctx context.Context, in string) *ticket {
	ctx, cancel := context.WithCancel(ctx)
	tk := &ticket{in: in}
	tk.cancel = func() {
		cancel()
		synctest.Wait()
	}
	go func() {
		defer cancel()
		out, err := p.Submit(ctx, in)
		tk.reply.Store(&reply{out, err})
	}()
	synctest.Wait()
	return tk
}

// trip answers the call of key that is out.
func (p *port) trip(key string) *trip {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tr := range p.out {
		if tr.key == key {
			return tr
		}
	}
	p.t.Fatalf("no call of key %q is out", key)
	return nil
}

// finish lets the call of key return what answer does.
func (p *port) finish(key string, answer func() ([]string, error)) {
	p.t.Helper()
	p.trip(key).back <- answer
	synctest.Wait()
}

// land lets the call of each key succeed.
func (p *port) land(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.finish(key, echo(p.trip(key).ins))
	}
}

// landAll lets calls succeed until none is out.
func (p *port) landAll() {
	p.t.Helper()
	for out := p.keysOut(); len(out) > 0; out = p.keysOut() {
		p.land(out[0])
	}
}

// echo answers each input as it is.
func echo(ins []string) func() ([]string, error) {
	return func() ([]string, error) { return ins, nil }
}

func (p *port) keysOut() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []string
	for _, tr := range p.out {
		keys = append(keys, tr.key)
	}
	return keys
}

// wantOut checks the calls that are out, each written as its inputs, in the order of their start.
func (p *port) wantOut(want ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var got []string
	for _, tr := range p.out {
		got = append(got, tr.String())
	}
	if !slices.Equal(got, want) {
		p.t.Fatalf("calls out: got %q, want %q", got, want)
	}
}

// wantLog checks all calls so far.
func (p *port) wantLog(want ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.log, want) {
		p.t.Fatalf("calls so far: got %q, want %q", p.log, want)
	}
}

// wantStats checks the numbers that are bounded.
func (p *port) wantStats(waiting, queued, inFlight int) {
	p.t.Helper()
	got := p.Stats()
	if got.Waiting != waiting || got.Queued != queued || got.InFlight != inFlight {
		p.t.Fatalf("waiting, queued, in flight: got %d, %d, %d, want %d, %d, %d",
			got.Waiting, got.Queued, got.InFlight, waiting, queued, inFlight)
	}
}

// wantRest checks that every exit has given its credit back.
func (p *port) wantRest() {
	p.t.Helper()
	if p.t.Failed() {
		p.release()
		return
	}
	p.wantStats(0, 0, 0)
	if s := p.Stats(); s.Lanes != 0 || s.QueuedWeight != 0 || s.OldestWait != 0 {
		p.t.Fatalf("at rest: got %+v, want no lane, no weight, no wait", s)
	}
}

// release ends what a failed test has left out, so that its failure is what is reported.
func (p *port) release() {
	for {
		p.mu.Lock()
		out := slices.Clone(p.out)
		p.mu.Unlock()
		if len(out) == 0 {
			return
		}
		for _, tr := range out {
			tr.back <- echo(tr.ins)
		}
		synctest.Wait()
	}
}

func (tk *ticket) wantPending(t *testing.T) {
	t.Helper()
	if tk.done() {
		t.Fatalf("%s: got answer %q, %v, want none yet", tk.in, tk.out(), tk.err())
	}
}

// wantAnswer checks that tk has the answer of its own input.
func (tk *ticket) wantAnswer(t *testing.T) {
	t.Helper()
	if !tk.done() || tk.err() != nil || tk.out() != tk.in {
		t.Fatalf("%s: got %q, %v (answered: %v), want its own answer", tk.in, tk.out(), tk.err(), tk.done())
	}
}

// wantNotSent and wantUnknown check that tk failed for reason, and what it says about the input's fate.
func (tk *ticket) wantNotSent(t *testing.T, reason error) {
	t.Helper()
	tk.wantError(t, reason, false)
}

func (tk *ticket) wantUnknown(t *testing.T, reason error) {
	t.Helper()
	tk.wantError(t, reason, true)
}

func (tk *ticket) wantError(t *testing.T, reason error, sent bool) {
	t.Helper()
	if !tk.done() {
		t.Fatalf("%s: got no answer, want %v", tk.in, reason)
	}
	wantError(t, tk.in, tk.err(), reason, sent)
}

func wantError(t *testing.T, what string, err, reason error, sent bool) {
	t.Helper()
	e, ok := errors.AsType[*ferry.Error](err)
	if !ok || !errors.Is(err, reason) {
		t.Fatalf("%s: got error %v, want a *ferry.Error of %v", what, err, reason)
	}
	if e.Sent != sent || ferry.NotSent(err) == sent {
		t.Fatalf("%s: got sent %v, NotSent %v, want sent %v (%v)", what, e.Sent, ferry.NotSent(err), sent, err)
	}
}

// wantBound checks that err is the refusal of bound.
func wantBound(t *testing.T, err error, bound ferry.Bound) {
	t.Helper()
	wantError(t, string(bound), err, ferry.ErrOverloaded, false)
	if got, ok := errors.AsType[*ferry.BoundError](err); !ok || got.Bound != bound {
		t.Fatalf("got %v, want the bound %s", err, bound)
	}
}

// ended answers a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func many(prefix string, n int) []string {
	ins := make([]string, n)
	for i := range ins {
		ins[i] = fmt.Sprint(prefix, i+1)
	}
	return ins
}

// goroutines counts those whose stack names what, such as a function or what started them. Tests that use it are not
// parallel.
func goroutines(what string) int {
	buf := make([]byte, 1<<20)
	n := 0
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, what) {
			n++
		}
	}
	return n
}

const (
	aWorker         = "/ferry.(*Ferry[...]).work("
	aContextWatcher = "created by context.(*cancelCtx).propagateCancel"
)
