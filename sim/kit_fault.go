package sim

import "testing"

// faults are what goes wrong outside of a store: in its process, on its disk, in its network.
type faults struct {
	powers
	*untried
	child child
}

// run tries what the powers allow, each in a subtest.
func (f faults) run(t *testing.T) {
	f.part(t, "killed processes", "WithChild", f.start != nil, func(t *testing.T) error { f.child.kills(t); return nil })
	f.part(t, "power cuts", "WithChild and WithPowerCuts", f.start != nil && f.cuts, f.child.powerCuts)
	f.part(t, "slow syncs", "WithChild and WithSyncFaults", f.start != nil && f.syncs, f.child.slowSyncs)
	f.part(t, "failing syncs", "WithChild and WithSyncFaults", f.start != nil && f.syncs, f.child.failingSyncs)
}

// part runs try if the power for it was given and nothing has failed before. Its error is why the machine cannot.
func (f faults) part(t *testing.T, name, power string, given bool, try func(*testing.T) error) {
	t.Helper()
	if !f.unless(given, name, power) {
		return
	}
	if t.Failed() {
		f.add(name, "not after a failure")
		return
	}
	t.Run(name, func(t *testing.T) {
		if err := try(t); err != nil {
			f.add(name, err.Error())
		}
	})
}
