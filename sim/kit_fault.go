package sim

import (
	"testing"

	"github.com/goferry/goferry/sim/internal/kit"
)

// faults are what goes wrong outside of a store: in its process, on its disk, in its network. A function whose power was
// not given is nil.
type faults struct {
	powers
	*untried
	newKey  func() (int, any)
	left    func(t *testing.T, dir string) *kit.Store
	through func(t *testing.T, addr string) *kit.Store
	served  func(t *testing.T) (store *kit.Store, kill, restart func())
}

// run tries what the powers allow, each in a subtest.
func (f faults) run(t *testing.T) {
	child := child{start: f.start, open: f.left, newKey: f.newKey, seed: f.seed, broken: fail}
	network := network{faults: f, broken: fail}
	for _, part := range []struct {
		name, power string
		given       bool
		try         func(*testing.T) error
	}{
		{"killed processes", "WithChild", f.left != nil, child.kills},
		{"power cuts", "WithChild and WithPowerCuts", f.left != nil && f.cuts, child.powerCuts},
		{"slow syncs", "WithChild and WithSyncFaults", f.left != nil && f.syncs, child.slowSyncs},
		{"failing syncs", "WithChild and WithSyncFaults", f.left != nil && f.syncs, child.failingSyncs},
		{"lost requests and replies", "WithDial", f.through != nil, network.losses},
		{"connections cut at random", "WithDial", f.through != nil, network.cuts},
		{"killed servers", "WithServer", f.served != nil, network.kills},
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
