package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/internal/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that counts the lines it gets and sends them back.
type echo struct {
	listener net.Listener
	mu       sync.Mutex
	heard    []string
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{listener: listener}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { e.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return e
}

func (e *echo) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		e.mu.Lock()
		e.heard = append(e.heard, lines.Text())
		e.mu.Unlock()
		fmt.Fprintln(conn, lines.Text())
	}
}

func (e *echo) log() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint(e.heard)
}

// client asks one question after the other.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, p *proxy.Proxy) *client {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn, bufio.NewReader(conn)}
}

func (c *client) ask(question string) (string, error) {
	if _, err := fmt.Fprintln(c, question); err != nil {
		return "", err
	}
	return c.answers.ReadString('\n')
}

func newProxy(t *testing.T) (*proxy.Proxy, *echo) {
	t.Helper()
	e := newEcho(t)
	p, err := proxy.New("tcp", e.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, e
}

func wantAnswer(t *testing.T, c *client, question string) {
	t.Helper()
	if got, err := c.ask(question); got != question+"\n" || err != nil {
		t.Errorf("%s: got %q, %v, want it back", question, got, err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault proxy.Fault
		heard string
	}{
		{"lose request", proxy.LoseRequest, "[before again]"},
		{"lose reply", proxy.LoseReply, "[before lost again]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, e := newProxy(t)
			c := dial(t, p)
			wantAnswer(t, c, "before")
			fired := p.Arm(tt.fault)
			if got, err := c.ask("lost"); err == nil {
				t.Errorf("got %q, want the connection reset", got)
			}
			<-fired
			wantAnswer(t, dial(t, p), "again")
			if got := e.log(); got != tt.heard {
				t.Errorf("the server heard %s, want %s", got, tt.heard)
			}
		})
	}
}

// A client that says something and goes, without waiting for an answer, leaves the fault to the next.
func TestFarewell(t *testing.T) {
	t.Parallel()
	p, e := newProxy(t)
	c := dial(t, p)
	wantAnswer(t, c, "before")
	fired := p.Arm(proxy.LoseReply)
	fmt.Fprint(c, "no line, so no answer")
	c.Close()
	for asked := false; !asked; {
		select {
		case <-fired:
			asked = true
		default:
			dial(t, p).ask("next")
		}
	}
	if got := e.log(); len(got) < len("[before next]") {
		t.Errorf("the server heard %s, want the next request too", got)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	p, e := newProxy(t)
	c := dial(t, p)
	fired := p.Arm(proxy.Silence)
	fmt.Fprintln(c, "lost")
	<-fired
	c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if got, err := c.answers.ReadString('\n'); !isTimeout(err) {
		t.Errorf("got %q, %v, want silence", got, err)
	}
	wantAnswer(t, dial(t, p), "again")
	if got, want := e.log(), "[lost again]"; got != want {
		t.Errorf("the server heard %s, want %s", got, want)
	}
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	p, e := newProxy(t)
	c := dial(t, p)
	wantAnswer(t, c, "before")
	p.BlackHole()
	c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if got, err := c.ask("lost"); !isTimeout(err) {
		t.Errorf("got %q, %v, want silence", got, err)
	}
	wantAnswer(t, dial(t, p), "again")
	if got, want := e.log(), "[before again]"; got != want {
		t.Errorf("the server heard %s, want %s", got, want)
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	p, _ := newProxy(t)
	c := dial(t, p)
	wantAnswer(t, c, "before")
	p.Down(true)
	if got, err := c.ask("lost"); err == nil {
		t.Errorf("got %q, want the connection reset", got)
	}
	wantNobody(t, p)
	p.Down(false)
	wantAnswer(t, dial(t, p), "again")
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

func TestJudgeCuts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		who   proxy.From
		heard string
	}{
		{"a lost request is never heard", proxy.Client, "[before again]"},
		{"the request of a lost reply is heard", proxy.Server, "[before lost again]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, e := newProxy(t)
			c := dial(t, p)
			wantAnswer(t, c, "before")
			p.Judge(proxy.Only(tt.who, proxy.Cut))
			if got, err := c.ask("lost"); err == nil || err == io.EOF {
				t.Errorf("got %q, %v, want a reset", got, err)
			}
			p.Judge(nil)
			wantAnswer(t, dial(t, p), "again")
			if got := e.log(); got != tt.heard {
				t.Errorf("the server heard %s, want %s", got, tt.heard)
			}
		})
	}
}

// TestJudgeDrops drops a request and a reply, and then cuts: until then nobody noticed.
func TestJudgeDrops(t *testing.T) {
	t.Parallel()
	p, e := newProxy(t)
	c, other := dial(t, p), dial(t, p)
	dropped := make(chan struct{})
	p.Judge(func(from proxy.From) proxy.Verdict {
		dropped <- struct{}{}
		return proxy.Drop
	})
	fmt.Fprintln(c, "dropped")
	<-dropped
	p.Judge(func(from proxy.From) proxy.Verdict {
		if from == proxy.Client {
			return proxy.Pass
		}
		dropped <- struct{}{}
		return proxy.Drop
	})
	fmt.Fprintln(other, "unanswered")
	<-dropped
	p.Cut()
	for _, conn := range []*client{c, other} {
		if got, err := conn.answers.ReadString('\n'); err == nil || err == io.EOF {
			t.Errorf("got %q, %v, want a reset", got, err)
		}
	}
	p.Judge(nil)
	wantAnswer(t, dial(t, p), "again")
	if got, want := e.log(), "[unanswered again]"; got != want {
		t.Errorf("the server heard %s, want %s", got, want)
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	p, _ := newProxy(t)
	p.Slow(time.Millisecond)
	began := time.Now()
	wantAnswer(t, dial(t, p), "slow")
	if took := time.Since(began); took < 2*time.Millisecond {
		t.Errorf("a request and its reply took %v, want two delays of a millisecond at least", took)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	p, e := newProxy(t)
	e.listener.Close()
	wantNobody(t, p)
}

// wantNobody connects, and may be reset as early as that.
func wantNobody(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		return
	}
	defer conn.Close()
	c := &client{conn, bufio.NewReader(conn)}
	if got, err := c.ask("anybody?"); err == nil {
		t.Errorf("got %q, want the connection reset", got)
	}
}
