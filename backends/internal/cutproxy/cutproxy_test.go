package cutproxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/backends/internal/cutproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers every line with the number of lines that it has seen.
type server struct {
	listener net.Listener
	seen     chan string
	working  sync.WaitGroup
}

func newServer(t *testing.T) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: listener, seen: make(chan string, 100)}
	s.working.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.working.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		s.working.Wait()
	})
	return s
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		s.seen <- lines.Text()
		fmt.Fprintln(conn, "seen", lines.Text())
	}
}

// through is a proxy before s and a connection through it, which has been used once.
func through(t *testing.T, s *server) (*cutproxy.Proxy, net.Conn) {
	t.Helper()
	p, err := cutproxy.New(s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if got, err := ask(conn, "warm"); got != "seen warm\n" || err != nil {
		t.Fatalf("got %q, %v through a proxy that passes", got, err)
	}
	<-s.seen
	return p, conn
}

func ask(conn net.Conn, line string) (string, error) {
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

func only(who cutproxy.From, verdict cutproxy.Verdict) func(cutproxy.From) cutproxy.Verdict {
	return func(from cutproxy.From) cutproxy.Verdict {
		if from == who {
			return verdict
		}
		return cutproxy.Pass
	}
}

func TestCutPieces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		who  cutproxy.From
		seen int
	}{
		{"a lost request is never seen", cutproxy.Client, 0},
		{"the request of a lost reply is seen", cutproxy.Server, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			p, conn := through(t, s)
			p.Judge(only(tt.who, cutproxy.Cut))
			if got, err := ask(conn, "lost"); err == nil || err == io.EOF {
				t.Errorf("got %q, %v, want a reset", got, err)
			}
			if got := len(s.seen); got != tt.seen {
				t.Errorf("seen: got %d, want %d", got, tt.seen)
			}
		})
	}
}

// TestDroppedPieces drops a request and a reply, and then cuts: until then nobody noticed.
func TestDroppedPieces(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p, conn := through(t, s)
	dropped := make(chan struct{}, 1)
	p.Judge(func(cutproxy.From) cutproxy.Verdict {
		dropped <- struct{}{}
		return cutproxy.Drop
	})
	fmt.Fprintln(conn, "dropped")
	<-dropped
	other, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	p.Judge(only(cutproxy.Server, cutproxy.Drop))
	fmt.Fprintln(other, "unanswered")
	if got := <-s.seen; got != "unanswered" {
		t.Errorf("seen: got %q, want only what was not dropped", got)
	}
	p.Cut()
	for _, conn := range []net.Conn{conn, other} {
		if n, err := conn.Read(make([]byte, 10)); n != 0 || err == nil {
			t.Errorf("got %d bytes, %v, want a reset", n, err)
		}
	}
	p.Judge(nil)
	again, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, err := ask(again, "again"); got != "seen again\n" || err != nil {
		t.Errorf("got %q, %v on a new connection, want its answer", got, err)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p, conn := through(t, s)
	conn.Close()
	s.listener.Close()
	gone, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if got, err := ask(gone, "hello"); err == nil {
		t.Errorf("got %q, want no answer", got)
	}
}
