package lanes

import "github.com/goferry/goferry/sim/simstore"

// digest is a hash of a sequence.
type digest uint64

func (d *digest) add(x uint64) {
	h := (uint64(*d) ^ (x + 1)) * 0x9E3779B97F4A7C15
	*d = digest(h ^ h>>29)
}

func (d *digest) ids(ids []simstore.ID) {
	d.add(uint64(len(ids)))
	for _, id := range ids {
		d.add(uint64(id))
	}
}

func (d *digest) record(r simstore.Record) {
	d.add(uint64(r.Version)<<8 | uint64(r.Marker))
	d.ids(r.Log)
}

// observe adds an answer of the store to what has happened to p.
func (p *process) observe(r simstore.Request, a answer) {
	p.observed.add(event(serve, int(r.Op)))
	for _, b := range []byte(r.Key) {
		p.observed.add(uint64(b))
	}
	p.observed.add(uint64(a.defect))
	if a.Err != nil {
		p.observed.add(1)
	}
	p.observed.record(a.Record)
}

// identity is the same for two states from which the same can happen: what a process will do follows from what has
// happened to it, in its order. How the steps of two processes were interleaved does not matter but for the store.
func (w *world) identity() uint64 {
	var d digest
	for i, key := range w.store.Keys() {
		d.add(uint64(i))
		c := w.store.Cell(key)
		d.record(c.Record)
		d.ids(c.View)
	}
	for _, p := range w.processes {
		d.add(uint64(p.observed))
	}
	for _, n := range []int{w.left.Faults, w.left.Cancels, w.left.Ticks, w.left.Closes} {
		d.add(uint64(n))
	}
	if w.s.Limits.Preemptions >= 0 && w.last != nil {
		d.add(uint64(w.last.index)<<16 | uint64(w.preemptions))
	}
	return uint64(d)
}
