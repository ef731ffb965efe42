// Package cutproxy stands between a client and its server and loses what they send.
//
// Tests of outcomes need to know the truth: a request that was cut before the server saw it was not done, and one
// whose reply was cut may have been. [Proxy.Judge] decides for every piece of bytes, and [Proxy.Cut] ends the
// connections of this moment.
//
// A judge stays until the next one, so that it can lose the request of a connection which also talks by itself, as
// those of HTTP/2 do. The proxy package is for connections where the next piece is the request.
package cutproxy

import (
	"net"
	"sync"
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

// Proxy forwards connections to one server. Make one with [New].
type Proxy struct {
	target   string
	listener net.Listener
	working  sync.WaitGroup

	mu    sync.Mutex
	judge func(From) Verdict // guarded by mu, and called under it
	links map[*link]struct{} // guarded by mu
	over  bool               // guarded by mu
}

// link is one connection of a client and its connection to the server.
type link struct{ client, server *net.TCPConn }

// reset ends both connections without a goodbye: what was sent and not yet read is lost.
func (l *link) reset() {
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		conn.SetLinger(0)
		conn.Close()
	}
}

// New starts a proxy before the server at target. It passes everything. Close it in the end.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: listener, links: map[*link]struct{}{}}
	p.Judge(nil)
	p.working.Go(p.accept)
	return p, nil
}

// Addr is where clients find the server.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Judge has judge decide from now on, piece by piece and one at a time. A nil judge passes everything. A piece is
// what one read of a connection gives: at most a request or a reply that is sent alone, and never more than 64 KiB.
func (p *Proxy) Judge(judge func(From) Verdict) {
	if judge == nil {
		judge = func(From) Verdict { return Pass }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// Cut resets all connections that there are. New ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Close cuts everything, takes no new connections and waits until none is left.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.listener.Close()
	p.Cut()
	p.working.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.working.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve ends when both directions have. A server that is not there is one that closes at once.
func (p *Proxy) serve(client *net.TCPConn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn)}
	if !p.add(l) {
		return
	}
	defer p.remove(l)
	var both sync.WaitGroup
	both.Go(func() { p.forward(l, Client, l.client, l.server) })
	both.Go(func() { p.forward(l, Server, l.server, l.client) })
	both.Wait()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		l.reset()
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.reset()
	delete(p.links, l)
}

func (p *Proxy) forward(l *link, who From, from, to *net.TCPConn) {
	// One side that is gone takes the other along: no protocol here sends anything after a half-close.
	defer l.reset()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			switch p.verdict(who) {
			case Drop:
				continue
			case Cut:
				return
			}
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) verdict(who From) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.judge(who)
}
