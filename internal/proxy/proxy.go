// Package proxy stands between a client and a server and loses what tests want lost.
//
// It knows no protocol: it hears pieces, which are what one read of a connection gives: at most a request or a reply that
// is sent alone, and never more than 64 KiB. [Proxy.Arm] has one request meet a fault; it is for connections on which the
// next piece is the request: open them and prepare the statements first, or the preparation is what is hit.
// [Proxy.Judge] decides for every piece until the next judge. It is for connections that also talk by themselves, as
// those of HTTP/2 do.
package proxy

import (
	"net"
	"sync"
	"time"
)

// From says who sent a piece.
type From int

const (
	// Client sends requests.
	Client From = iota
	// Server sends replies.
	Server
)

// Verdict says what becomes of a piece.
type Verdict int

const (
	// Pass forwards it.
	Pass Verdict = iota
	// Drop loses it, and its connection stays open: whoever waits for what was in it waits for ever.
	Drop
	// Cut loses it and resets its connection on both sides.
	Cut
)

// Fault is what happens to one request.
type Fault int

const (
	// LoseRequest: the request never reaches the server, and both ends see their connection reset.
	LoseRequest Fault = iota + 1
	// LoseReply: the server has answered, and both ends see their connection reset in place of the answer.
	LoseReply
	// Silence: the server has answered, and the client never hears of it, or of anything else on that connection.
	Silence
)

// Proxy is a listener that passes everything on until it is told otherwise. Make one with [New].
type Proxy struct {
	network, address string
	listener         net.Listener
	running          sync.WaitGroup

	mu    sync.Mutex
	down  bool               // guarded by mu
	delay time.Duration      // guarded by mu
	judge func(From) Verdict // guarded by mu, and called under it
	armed *arming            // guarded by mu
	links map[*link]bool     // guarded by mu
}

// arming is a fault that waits for its request.
type arming struct {
	fault Fault
	fired chan struct{}
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	muted          bool    // guarded by the proxy's mu
	fault          *arming // guarded by the proxy's mu; what awaits the server's next piece
}

// New starts a proxy on a free local port, in front of the server at address. It passes everything. Close it in the end.
func New(network, address string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{network: network, address: address, listener: listener, links: map[*link]bool{}}
	p.Judge(nil)
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() *net.TCPAddr { return p.listener.Addr().(*net.TCPAddr) }

// Arm has the next request meet fault. The channel is closed when it has: for LoseReply and Silence that is when the
// server has answered; a request that is never answered leaves the fault to the next. One fault is armed at a time, the
// last.
func (p *Proxy) Arm(fault Fault) (fired <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = &arming{fault: fault, fired: make(chan struct{})}
	return p.armed.fired
}

// Judge has judge decide from now on, piece by piece and one at a time. A nil judge passes everything.
func (p *Proxy) Judge(judge func(From) Verdict) {
	if judge == nil {
		judge = func(From) Verdict { return Pass }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// Slow has every piece take so much longer.
func (p *Proxy) Slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// BlackHole has every connection of now pass on nothing more, and stay open. Later ones are not touched.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.muted = true
	}
}

// Cut resets every connection of now. Later ones are not touched.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Down resets every connection, and those to come, until it is called with false.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.Cut()
	}
}

// Calm ends all that Arm, Judge, Slow, BlackHole and Down have begun, and cuts what came out of step by it.
func (p *Proxy) Calm() {
	p.mu.Lock()
	p.armed, p.down, p.delay = nil, false, 0
	p.mu.Unlock()
	p.Judge(nil)
	p.Cut()
}

// Close resets every connection and waits until nothing of the proxy runs.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Down(true)
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve ends when both directions have. A server that is not there is one that resets at once.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial(p.network, p.address)
	l := &link{client: client, server: server}
	if err != nil || !p.add(l) {
		l.reset()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.forward(l, Client, client, server) })
	both.Go(func() { p.forward(l, Server, server, client) })
	both.Wait()
	p.remove(l)
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return false
	}
	p.links[l] = true
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	if l.fault != nil && p.armed == nil {
		p.armed = l.fault // A farewell has no answer: the fault is for the next request.
	}
}

// forward copies until one side ends, which ends the other: nothing here speaks a protocol with half-closes.
func (p *Proxy) forward(l *link, who From, from, to net.Conn) {
	defer l.reset()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if err != nil {
			return
		}
		verdict, delay := p.hear(l, who)
		time.Sleep(delay)
		switch verdict {
		case Drop:
			continue
		case Cut:
			return
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) hear(l *link, who From) (Verdict, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.muted {
		return Drop, 0
	}
	verdict := p.judge(who)
	if verdict == Pass {
		verdict = p.meet(l, who)
	}
	if verdict == Cut {
		l.reset() // Now: whoever hears that a fault has fired may go on.
	}
	return verdict, p.delay
}

// meet is for the armed fault. p.mu is held.
func (p *Proxy) meet(l *link, who From) Verdict {
	switch {
	case who == Client && p.armed != nil:
		l.fault, p.armed = p.armed, nil
		if l.fault.fault != LoseRequest {
			return Pass
		}
	case who == Client || l.fault == nil:
		return Pass
	}
	fault := l.fault
	l.fault = nil
	defer close(fault.fired)
	if fault.fault == Silence {
		l.muted = true
		return Drop
	}
	l.reset()
	return Cut
}

// reset ends both connections without a goodbye: unread data is dropped and the other side sees it at once.
func (l *link) reset() {
	for _, conn := range []net.Conn{l.client, l.server} {
		if conn == nil {
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		conn.Close() // Twice, often: the error says nothing.
	}
}
