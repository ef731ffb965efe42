package sim_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net"
	"net/rpc"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

// Box is a record of a post office, with its view.
type Box struct {
	Version         int
	Behind          bool
	Letters, Listed []string
}

func (b Box) Pending() bool { return b.Behind }
func (b Box) Log() []string { return b.Letters }

// Returned is a failure of a post office.
type Returned struct {
	error
	unsure bool
}

func (r Returned) NotWritten() bool { return !r.unsure }
func (r Returned) Unwrap() error    { return r.error }

var (
	errMoved   = errors.New("the box is another by now")
	errTooLong = errors.New("longer than any letter may be")
)

const longest = 1000

// Counter is the server: what it keeps outlives its connections.
type Counter struct {
	mu    sync.Mutex
	boxes map[string]Box // guarded by mu
	was   map[string]Box // guarded by mu; before the last change
}

// Change is a request to replace a box.
type Change struct {
	Name       string
	Read, Next Box
}

func (c *Counter) Read(name string, box *Box) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*box = c.boxes[name]
	return nil
}

func (c *Counter) Replace(change Change, box *Box) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.boxes[change.Name]
	switch {
	case held.Version != change.Read.Version:
		return errMoved
	case slices.ContainsFunc(change.Next.Letters, func(letter string) bool { return len(letter) > longest }):
		return errTooLong
	}
	change.Next.Version++
	c.was[change.Name], c.boxes[change.Name] = held, change.Next
	*box = change.Next
	return nil
}

func (c *Counter) Waiting(_ string, names *[]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, box := range c.boxes {
		if box.Behind {
			*names = append(*names, name)
		}
	}
	return nil
}

// forget loses the last change of every box, as a server does that answers before it writes.
func (c *Counter) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.boxes, c.was)
}

// Office is a running server.
type Office struct {
	counter  *Counter
	address  string
	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn // guarded by mu
}

func newOffice(t *testing.T) *Office {
	o := &Office{counter: &Counter{boxes: map[string]Box{}, was: map[string]Box{}}, address: "127.0.0.1:0"}
	must(t, o.open())
	t.Cleanup(o.close)
	return o
}

func (o *Office) open() (err error) {
	if o.listener, err = net.Listen("tcp", o.address); err != nil {
		return err
	}
	o.address = o.listener.Addr().String()
	server := rpc.NewServer()
	if err := server.Register(o.counter); err != nil {
		return err
	}
	o.running.Go(func() {
		for {
			conn, err := o.listener.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns = append(o.conns, conn)
			o.mu.Unlock()
			o.running.Go(func() { server.ServeConn(conn) })
		}
	})
	return nil
}

func (o *Office) close() {
	o.listener.Close()
	o.mu.Lock()
	for _, conn := range o.conns {
		conn.Close()
	}
	o.mu.Unlock()
	o.running.Wait()
}

// Post is a client. What is wrong with it is for the tests of the kit.
type Post struct {
	address string
	spoiled string
	mu      sync.Mutex
	client  *rpc.Client // guarded by mu; nil if there is none
}

func newPost(t *testing.T, address string) *Post {
	p := &Post{address: address, spoiled: os.Getenv(spoiledPost)}
	t.Cleanup(func() { p.hangUp(p.client) })
	return p
}

func (p *Post) dial() (*rpc.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		return p.client, nil
	}
	client, err := rpc.Dial("tcp", p.address)
	if err == nil {
		p.client = client
	}
	return client, err
}

func (p *Post) hangUp(client *rpc.Client) {
	if client == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	client.Close()
	if p.client == client && p.spoiled != "clings" {
		p.client = nil
	}
}

// call answers what the server said of it, and is unsure of what it did not say.
func (p *Post) call(ctx context.Context, method string, args, reply any) error {
	if ctx.Err() != nil {
		return Returned{ctx.Err(), true}
	}
	client, err := p.dial()
	if err != nil {
		return Returned{err, false}
	}
	sent := client.Go("Counter."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-sent.Done:
		err = sent.Error
	case <-ctx.Done():
		return Returned{ctx.Err(), p.spoiled != "is sure"}
	}
	_, said := err.(rpc.ServerError)
	switch {
	case err == nil:
		return nil
	case p.spoiled == "clings" && err == rpc.ErrShutdown:
		return err
	case !said && p.spoiled == "sends again":
		p.hangUp(client)
		return p.call(ctx, method, args, reply)
	case !said:
		p.hangUp(client)
		return Returned{err, p.spoiled != "is sure"}
	case strings.Contains(err.Error(), errTooLong.Error()) && p.spoiled != "says little":
		err = errTooLong
	}
	return Returned{err, false}
}

// ask is call for an answer, which may still be written to when the call has failed.
func ask[T any](p *Post, ctx context.Context, method string, args any) (answer T, err error) {
	reply := new(T)
	if err := p.call(ctx, method, args, reply); err != nil {
		return answer, err
	}
	return *reply, nil
}

func (p *Post) Read(ctx context.Context, name string) (Box, error) {
	return ask[Box](p, ctx, "Read", name)
}

func (p *Post) Commit(ctx context.Context, name string, read, next Box) (Box, error) {
	next.Behind = true
	return ask[Box](p, ctx, "Replace", Change{name, read, next})
}

func (p *Post) Project(ctx context.Context, name string, read Box) error {
	next := read
	next.Behind, next.Listed = false, read.Letters
	_, err := ask[Box](p, ctx, "Replace", Change{name, read, next})
	return err
}

func (p *Post) Listed(ctx context.Context, name string) ([]string, error) {
	box, err := p.Read(ctx, name)
	return box.Listed, err
}

func (p *Post) Waiting(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := ask[[]string](p, ctx, "Waiting", "")
		if err != nil {
			yield("", err)
		}
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

func drop(b Box, letter string) (Box, int, bool) {
	if at := slices.Index(b.Letters, letter); at >= 0 {
		return b, at, false
	}
	b.Letters = append(slices.Clip(b.Letters), letter)
	return b, len(b.Letters) - 1, true
}

// spoiledPost is the environment variable that says what is wrong with the clients of TestPost.
const spoiledPost = "GOFERRY_SIM_SPOILED_POST"

// TestPost gives the kit all that it takes to test a store with a server.
func TestPost(t *testing.T) {
	t.Parallel()
	office := newOffice(t)
	letter := func(length int) func(string) []string {
		return func(string) []string { return []string{strings.Repeat("x", length)} }
	}
	sim.TestStore(t,
		projected.WholeRecord(
			fold.New[Returned](func(letter string) string { return letter }, (*Post).Read, drop, (*Post).Commit, schedule.Stop()),
			Box.Pending, (*Post).Project),
		func(t *testing.T) *Post { return newPost(t, office.address) },
		func() Returned { return Returned{errMoved, false} },
		sim.AnyText, func(_ string, n int) string { return sim.AnyText(n) },
		Box.Log, (*Post).Listed, (*Post).Waiting,
		sim.WithHistories(200),
		sim.WithSecondHandle(func(t *testing.T, _ *Post) *Post { return newPost(t, office.address) }),
		sim.WithLimit(errTooLong, letter(longest), letter(longest+1)),
		sim.WithDial(func(*testing.T) string { return office.address }, newPost),
		sim.WithServer(func(t *testing.T) (_ *Post, kill, restart func()) {
			own := newOffice(t)
			kill = func() {
				own.close()
				if os.Getenv(spoiledPost) == "forgets" {
					own.counter.forget()
				}
			}
			return newPost(t, own.address), kill, func() { must(t, own.open()) }
		}))
}

// TestSpoiledPosts runs parts of TestPost in another process, with clients of which something is wrong. They must go red.
func TestSpoiledPosts(t *testing.T) {
	t.Parallel()
	tests := []struct{ spoiled, part, law string }{
		{"is sure", "lost_requests_and_replies", "a definite refusal wrote nothing"},
		{"sends again", "lost_requests_and_replies", "a definite refusal wrote nothing"},
		{"clings", "lost_requests_and_replies", "when a fault is over, calls succeed again"},
		{"forgets", "killed_servers", "what was answered is there after reopening"},
		{"says little", "limits", "what is too large is refused by name"},
	}
	for _, tt := range tests {
		t.Run(tt.spoiled, func(t *testing.T) {
			t.Parallel()
			mustGoRed(t, "TestPost", tt.part, tt.law, spoiledPost+"="+tt.spoiled)
		})
	}
}
