package sim

import (
	"fmt"
	"testing"

	"github.com/goferry/goferry/sim/internal/kit"
)

// faults are what goes wrong outside of a store: in its process, on its disk, in its network. A function is not to be
// called if its power was not given.
type faults struct {
	*untried
	p       powers
	newKey  func() (int, any)
	limits  []kit.Limit
	open    func(t *testing.T) *kit.Store
	left    func(t *testing.T, dir string) *kit.Store
	through func(t *testing.T, addr string) *kit.Store
	served  func(t *testing.T) (store *kit.Store, kill, restart func())
}

// run tries what the powers allow, each in a subtest.
func (f faults) run(t *testing.T) {
	child := child{start: f.p.start, open: f.left, newKey: f.newKey, seed: f.p.seed}
	network := network{f}
	for _, part := range []struct {
		name, power string
		given       bool
		try         func(*testing.T) error
	}{
		{"limits", "WithLimit", len(f.limits) > 0, f.checkLimits},
		{"killed processes", "WithChild", f.p.left != nil, child.kills},
		{"power cuts", "WithChild and WithPowerCuts", f.p.left != nil && f.p.cuts, child.powerCuts},
		{"slow syncs", "WithChild and WithSyncFaults", f.p.left != nil && f.p.syncs, child.slowSyncs},
		{"failing syncs", "WithChild and WithSyncFaults", f.p.left != nil && f.p.syncs, child.failingSyncs},
		{"lost requests and replies", "WithDial", f.p.dial != nil, network.losses},
		{"connections cut at random", "WithDial", f.p.dial != nil, network.cuts},
		{"killed servers", "WithServer", f.p.server != nil, network.kills},
	} {
		switch {
		case !f.unless(part.given, part.name, part.power):
		case t.Failed():
			f.add(part.name, "not after a failure")
		default:
			t.Run(part.name, func(t *testing.T) {
				if err := part.try(t); err != nil {
					f.add(part.name, err.Error())
				}
			})
		}
	}
}

func (f faults) checkLimits(t *testing.T) error {
	for n, l := range f.limits {
		t.Run(fmt.Sprintf("%d %v", n+1, l.Err), func(t *testing.T) {
			if v := l.Check(t.Context(), f.open(t)); v != nil {
				fail(t, v)
			}
		})
	}
	return nil
}
