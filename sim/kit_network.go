package sim

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goferry/goferry/internal/proxy"
	"github.com/goferry/goferry/sim/internal/kit"
)

// network is what a test does to the connections of a store, and to its server.
type network struct{ faults }

// wire opens the store twice: through a proxy, and beside it.
func (n network) wire(t *testing.T) *kit.Wire {
	t.Helper()
	addr, kind := n.p.upstream(t), "tcp"
	if strings.HasPrefix(addr, "/") {
		kind = "unix"
	}
	p, err := proxy.New(kind, addr)
	must(t, err)
	w := &kit.Wire{Proxy: p, Near: n.through(t, addr), Far: n.through(t, p.Addr().String())}
	t.Cleanup(func() { p.Close() }) // Before the stores, which might wait for what they have sent.
	return w
}

func (n network) losses(t *testing.T) error {
	w := n.wire(t)
	if v := w.Harm(t.Context()); v != nil {
		fail(t, v)
		return nil
	}
	t.Logf("sim: of %d calls that met a fault, %d failed with an unknown outcome, %d were refused for certain, and %d had landed",
		w.Faults, w.Unknown, w.Definite, w.Landed)
	if w.Unknown+w.Definite == 0 {
		return errors.New("no fault was noticed: does the store use the address that it is given?")
	}
	return nil
}

func (n network) cuts(t *testing.T) error {
	w, witness := n.wire(t), kit.NewWitness(n.newKey)
	if v := w.Cut(t.Context(), witness, rand.New(rand.NewPCG(n.p.seed, 3))); v != nil {
		fail(t, v)
	}
	t.Logf("sim: %d acknowledgements under cuts, seed %d", witness.Acks(), n.p.seed)
	return nil
}

func (n network) kills(t *testing.T) error {
	store, kill, restart := n.served(t)
	witness := kit.NewWitness(n.newKey)
	if v := kit.Kills(t.Context(), store, witness, kill, restart); v != nil {
		fail(t, v)
	}
	t.Logf("sim: %d acknowledgements over 3 kills of the server", witness.Acks())
	return nil
}
