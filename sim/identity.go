package sim

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/goferry/goferry/sim/simstore"
)

// identity is the same for two states from which the same can happen. What a process will do follows from what its
// call has observed, and the network is a set.
func (w *world) identity() uint64 {
	b := w.buf[:0]
	for _, key := range w.store.Keys() {
		c := w.store.Cell(key)
		b = append(b, byte(c.Record.Version), byte(c.Record.Marker), byte(c.Stored))
		b = appendIDs(b, c.Record.Log)
		b = appendIDs(b, c.View)
	}
	for _, p := range w.processes {
		if !p.parked {
			b = append(b, 255)
			continue
		}
		b = append(b, byte(p.at))
		b = binary.LittleEndian.AppendUint64(b, uint64(p.call.observed))
	}
	b = append(b, byte(w.left.Faults), byte(w.left.Crashes), byte(w.left.Cancels))
	b = w.appendTrouble(b)
	if w.s.Limits.Preemptions != Unbounded {
		b = append(b, byte(w.last), byte(w.preemptions))
	}
	w.buf = b
	return maphash.Bytes(w.seed, b)
}

func appendIDs(b []byte, ids []simstore.ID) []byte {
	b = append(b, byte(len(ids)))
	for _, id := range ids {
		b = append(b, byte(id))
	}
	return b
}

// appendTrouble adds the network and the outages, in which no order counts.
func (w *world) appendTrouble(b []byte) []byte {
	var network, outages uint64
	for _, l := range w.network {
		network += uint64(l.digest)
	}
	for _, o := range w.outages {
		outages |= 1 << (uint(o.Op)*8 + uint(o.Row)%8)
	}
	b = binary.LittleEndian.AppendUint64(b, network)
	return binary.LittleEndian.AppendUint64(b, outages)
}

// digest is a hash of a sequence.
type digest uint64

func (d *digest) add(x uint64) {
	h := (uint64(*d) ^ (x + 1)) * 0x9E3779B97F4A7C15
	*d = digest(h ^ h>>29)
}

func (d *digest) record(r simstore.Record) {
	d.add(uint64(r.Version)<<8 | uint64(r.Marker))
	d.ids(r.Log)
}

func (d *digest) ids(ids []simstore.ID) {
	d.add(uint64(len(ids)))
	for _, id := range ids {
		d.add(uint64(id))
	}
}

func digestOf(r simstore.Request) (d digest) {
	d.add(uint64(r.Op))
	for _, b := range []byte(r.Key) {
		d.add(uint64(b))
	}
	d.add(uint64(r.Row))
	d.record(r.Held)
	d.ids(r.Log)
	return d
}
