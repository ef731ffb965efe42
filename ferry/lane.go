package ferry

import (
	"time"
)

// lane is the queue of one key. It exists while anything of the key is waiting, queued or in flight.
type lane[K comparable, I, O any] struct {
	node    node[*lane[K, I, O]] // in ready or in linger
	key     K
	queue   list[*waiter[K, I, O]] // accepted, not yet handed to a call
	weight  int                    // of queue
	line    list[*waiter[K, I, O]] // wait for a place
	places  int                    // taken by the queue and by those that wait for room within a shared bound
	flushes int                    // flushes that wait for something in queue
	batch   *batch[K, I, O]        // in flight
	stage   stage
}

// stage is where a lane stands. Its zero value is a lane with nothing queued.
type stage int

const (
	empty     stage = iota
	lingering       // something is queued, but more may come
	ready           // waits for a slot
	busy            // a batch is in flight, so that nothing else of the key is
)

func (f *Ferry[K, I, O]) laneOf(key K) *lane[K, I, O] {
	l := f.lanes[key]
	if l == nil {
		if last := len(f.spare) - 1; last >= 0 {
			l, f.spare = f.spare[last], f.spare[:last]
		} else {
			l = &lane[K, I, O]{}
			l.node.value = l
		}
		l.key = key
		f.lanes[key] = l
		f.peak = max(f.peak, len(f.lanes))
	}
	return l
}

// shrinkAt is the number of lanes from which the map is worth making anew after a peak: Go maps do not shrink.
const shrinkAt = 1024

// place moves l to where it belongs, after anything about it has changed, and forgets it when nothing is left.
func (f *Ferry[K, I, O]) place(l *lane[K, I, O]) {
	switch {
	case l.stage == busy || l.stage == ready && l.queue.len > 0:
		return
	case l.queue.len == 0:
		f.unplace(l)
		if l.places == 0 && l.line.len == 0 {
			f.forget(l)
		}
	case f.mayLinger(l):
		if l.stage == empty {
			l.stage = lingering
			f.linger.push(&l.node, f.clock.now())
		}
	default:
		f.endLinger(l)
	}
}

// unplace takes l out of the list that its stage says.
func (f *Ferry[K, I, O]) unplace(l *lane[K, I, O]) {
	switch l.stage {
	case lingering:
		f.linger.remove(&l.node)
	case ready:
		f.ready.remove(&l.node)
	}
	l.stage = empty
}

// maxSpare bounds the lanes that are kept for later keys.
const maxSpare = 256

func (f *Ferry[K, I, O]) forget(l *lane[K, I, O]) {
	delete(f.lanes, l.key)
	if len(f.spare) < maxSpare {
		*l = lane[K, I, O]{}
		l.node.value = l
		f.spare = append(f.spare, l)
	}
	if f.peak >= shrinkAt && len(f.lanes) <= f.peak/8 {
		f.peak = len(f.lanes)
		lanes := make(map[K]*lane[K, I, O], f.peak)
		for key, l := range f.lanes {
			lanes[key] = l
		}
		f.lanes = lanes
	}
	f.checkDrained()
}

// mayLinger says whether l should wait for more. A bound that is reached ends the linger of everything it counts,
// since what it counts could not grow.
func (f *Ferry[K, I, O]) mayLinger(l *lane[K, I, O]) bool {
	return f.cfg.Linger > 0 && !f.closing && l.flushes == 0 &&
		l.queue.len < f.cfg.MaxBatch && l.weight < f.cfg.MaxWeight &&
		l.places < f.cfg.MaxQueuedPerKey && l.line.len == 0 && !f.isFull()
}

// isFull says whether a shared bound is reached.
func (f *Ferry[K, I, O]) isFull() bool {
	return f.line.len > 0 || f.queued >= f.cfg.MaxQueued || f.weight >= f.cfg.MaxQueuedWeight
}

// endLingers sends every lane that lingers on its way.
func (f *Ferry[K, I, O]) endLingers() {
	for l := range f.linger.all {
		f.endLinger(l)
	}
}

func (f *Ferry[K, I, O]) endLinger(l *lane[K, I, O]) {
	f.unplace(l)
	l.stage = ready
	f.ready.pushBack(&l.node)
	f.wake()
}

// arrive takes a new input in, lets it wait in a line, or answers why not.
func (f *Ferry[K, I, O]) arrive(w *waiter[K, I, O], key K) error {
	if f.closing {
		return ErrClosed
	}
	l := f.laneOf(key)
	w.lane = l
	err := f.takePlace(w)
	w.impatient = err == nil && w.state == waiting && f.cfg.Overflow > 0
	f.place(l)
	return err
}

// takePlace is the first of two bounds: that of the key. Whoever waits here holds nothing that others share.
func (f *Ferry[K, I, O]) takePlace(w *waiter[K, I, O]) error {
	if w.lane.line.len > 0 || w.lane.places >= f.cfg.MaxQueuedPerKey {
		return f.overflow(w, &w.lane.line)
	}
	return f.takeRoom(w)
}

// takeRoom is the second: those of the whole ferry. Whoever waits here holds a place of its key.
func (f *Ferry[K, I, O]) takeRoom(w *waiter[K, I, O]) error {
	if f.line.len > 0 || !f.hasRoom(w) {
		f.endLingers()
		if err := f.overflow(w, &f.line); err != nil {
			return err
		}
		w.lane.places++
		return nil
	}
	w.lane.places++
	f.accept(w)
	return nil
}

func (f *Ferry[K, I, O]) hasRoom(w *waiter[K, I, O]) bool {
	return f.queued < f.cfg.MaxQueued && w.weight <= f.cfg.MaxQueuedWeight-f.weight
}

// overflow puts w at the end of line, or refuses it.
func (f *Ferry[K, I, O]) overflow(w *waiter[K, I, O], line *list[*waiter[K, I, O]]) error {
	w.state, w.line = waiting, line
	if f.cfg.Overflow == Reject {
		return f.refuse(f.boundOf(w))
	}
	line.pushBack(&w.node)
	return nil
}

// boundOf answers which bound w waits for.
func (f *Ferry[K, I, O]) boundOf(w *waiter[K, I, O]) Bound {
	switch {
	case w.line != &f.line:
		return MaxQueuedPerKey
	case f.queued >= f.cfg.MaxQueued:
		return MaxQueued
	}
	return MaxQueuedWeight
}

func (f *Ferry[K, I, O]) refuse(b Bound) error {
	f.refused[b]++
	return &BoundError{Bound: b}
}

// accept queues w, which has its place and its room.
func (f *Ferry[K, I, O]) accept(w *waiter[K, I, O]) {
	l := w.lane
	w.state = queued
	l.queue.pushBack(&w.node)
	l.weight += w.weight
	f.queued++
	f.weight += w.weight
	if f.isFull() {
		f.endLingers() // Of the others first, which began before that of l, if l was empty.
	}
	f.place(l)
}

// release takes w out of its lane's queue, with its place and its room.
func (f *Ferry[K, I, O]) release(w *waiter[K, I, O]) {
	l := w.lane
	l.queue.remove(&w.node)
	l.weight -= w.weight
	l.places--
	f.queued--
	f.weight -= w.weight
}

// admit gives what was released to those that wait for it, in their order: first to those that wait for shared room,
// then to those that wait for a place of l.
func (f *Ferry[K, I, O]) admit(l *lane[K, I, O]) {
	for f.line.len > 0 && f.hasRoom(f.line.head.value) {
		f.accept(f.line.popFront())
	}
	for l.line.len > 0 && l.places < f.cfg.MaxQueuedPerKey {
		// Overflow is not Reject, or nobody would stand in the line: this cannot fail.
		_ = f.takeRoom(l.line.popFront())
	}
}

// withdraw takes back an input that was accepted and not yet sent.
func (f *Ferry[K, I, O]) withdraw(w *waiter[K, I, O]) {
	l := w.lane
	passOn(w)
	f.release(w)
	f.admit(l)
	f.place(l)
}

// quitLine takes w out of the line that it waits in. Those behind it may fit where it did not.
func (f *Ferry[K, I, O]) quitLine(w *waiter[K, I, O]) {
	l := w.lane
	w.line.remove(&w.node)
	if w.line == &f.line {
		l.places--
	}
	f.admit(l)
	f.place(l)
}

// fill makes b the next batch of l, as large as it may be.
func (f *Ferry[K, I, O]) fill(b *batch[K, I, O], l *lane[K, I, O], now time.Duration) {
	n := 0
	for w := range l.queue.all {
		if n == f.cfg.MaxBatch || w.weight > f.cfg.MaxWeight-b.weight {
			break
		}
		n++
		b.weight += w.weight
	}
	first := l.queue.head.value
	b.lane, b.key, b.lanes = l, l.key, len(f.lanes)
	b.oldest = first.node.since
	b.context.batch, b.context.first, b.context.start = b, first.ctx, now
	b.ins = make([]I, 0, n)
	for range n {
		w := l.queue.head.value
		f.release(w)
		l.flushes -= len(w.flush)
		w.state = flying
		b.ins = append(b.ins, w.in)
		b.waiters.pushBack(&w.node)
	}
	l.stage, l.batch = busy, b
	f.sketch.add(l.key, n)
	f.flying.push(&b.node, now)
	f.admit(l)
}
