// Package proxy stands between a client and a server and loses what tests want lost.
//
// It knows no protocol: a request is the next bytes from the client, and a reply the next bytes from the server. Open
// the connections and prepare the statements before arming it, or the preparation is what is hit.
package proxy

import (
	"net"
	"sync"
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

// Proxy is a listener that passes everything on until it is armed. Make one with [New].
type Proxy struct {
	network, address string
	listener         net.Listener
	running          sync.WaitGroup

	mu    sync.Mutex
	down  bool           // guarded by mu
	links map[*link]bool // guarded by mu
	armed *arming        // guarded by mu
}

// arming is a fault that waits for its request.
type arming struct {
	fault Fault
	fired chan struct{}
}

// New starts a proxy on a free local port, in front of the server at address.
func New(network, address string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{network: network, address: address, listener: listener, links: map[*link]bool{}}
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

// BlackHole has every connection of now pass on nothing more, and stay open. Later ones are not touched.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mute()
	}
}

// Down resets every connection, and those to come, until it is called with false.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	if down {
		for l := range p.links {
			l.reset()
		}
	}
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

// link is one connection through the proxy.
type link struct {
	client, server net.Conn

	mu    sync.Mutex
	muted bool    // guarded by mu
	fault *arming // guarded by mu; what awaits the server's next bytes
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial(p.network, p.address)
	l := &link{client: client, server: server}
	p.mu.Lock()
	refused := err != nil || p.down
	if !refused {
		p.links[l] = true
	}
	p.mu.Unlock()
	if refused {
		l.reset()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pass(client, server, func() bool { return p.request(l) }) })
	both.Go(func() { l.pass(server, client, l.reply) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	if l.fault != nil && p.armed == nil {
		p.armed = l.fault // A farewell has no answer: the fault is for the next request.
	}
}

// pass copies until one side ends, which ends the other. hear says of each piece whether it is passed on.
func (l *link) pass(from, to net.Conn, hear func() bool) {
	defer l.reset()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !hear() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// request takes the armed fault for this link.
func (p *Proxy) request(l *link) bool {
	p.mu.Lock()
	armed := p.armed
	p.armed = nil
	p.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if armed == nil || l.muted {
		return !l.muted
	}
	if armed.fault == LoseRequest {
		close(armed.fired)
		l.close()
		return false
	}
	l.fault = armed
	return true
}

func (l *link) reply() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil || l.muted {
		return !l.muted
	}
	close(l.fault.fired)
	if l.fault.fault == LoseReply {
		l.close()
	}
	l.muted, l.fault = true, nil
	return false
}

func (l *link) mute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = true
}

func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
}

// close resets rather than ends: unread data is dropped and the other side sees it at once. l.mu is held.
func (l *link) close() {
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
