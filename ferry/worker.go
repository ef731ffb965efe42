package ferry

import (
	"slices"
	"sync"
	"time"
)

// Workers are the goroutines that make the calls. Each holds a slot while its call is out, gives it back with every
// batch, and takes the next lane in the queue of those that are ready, or parks when there is none. They serve all
// lanes in turn, so a lane costs no goroutine.
//
// While a worker is on its way no second one is woken: if there is more to do than the first can take, it wakes
// the next itself. This keeps quick calls on few goroutines and still fills all slots with slow ones.

// worker is one of them.
type worker[K comparable, I, O any] struct {
	wake  chan struct{}   // a message means work, closing means leave
	batch *batch[K, I, O] // the one under way, nil while there is none
	spare *batch[K, I, O] // for the next, made ready before the lock is taken
}

// work is the life of a worker. It begins with finishing done, if that is not nil.
func (f *Ferry[K, I, O]) work(done *batch[K, I, O]) {
	me := &worker[K, I, O]{wake: make(chan struct{}, 1), batch: done}
	defer func() {
		if me.batch != nil {
			go f.work(me.batch) // A call has ended this goroutine: another finishes its batch and takes its place.
		} else {
			f.workers.alive.Done()
		}
	}()
	for f.next(me) {
		if me.batch != nil {
			me.batch.run()
		} else if _, stay := <-me.wake; !stay {
			return
		}
	}
}

// next finishes the batch of me, if there is one, and gives it the next, or none after it has parked it. It answers
// false if me should leave.
func (f *Ferry[K, I, O]) next(me *worker[K, I, O]) (stay bool) {
	if me.spare == nil {
		me.spare = f.newBatch()
	}
	now := f.clock.now()
	var waiters list[*waiter[K, I, O]]
	done := me.batch
	f.mu.Lock()
	if done == nil {
		f.workers.waking = false
	} else {
		others := f.workers.waking
		f.workers.waking = true // This worker is about to look for more itself.
		waiters = f.finish(done)
		f.workers.waking = others
	}
	me.batch, stay = nil, true
	switch {
	case f.ready.len > 0 && f.inFlight < f.cfg.MaxInFlight:
		f.inFlight++
		me.batch, me.spare = me.spare, nil
		f.fill(me.batch, f.ready.popFront(), now)
		f.wake()
	case f.closing && (f.gaveUp || len(f.lanes) == 0):
		stay = false
	default:
		f.workers.park(me.wake)
	}
	f.mu.Unlock()
	if done != nil {
		done.answer(waiters, done.err)
		f.reuse(done)
	}
	return stay
}

// finish ends b in the ferry's books and answers the waiters that have no answer yet.
func (f *Ferry[K, I, O]) finish(b *batch[K, I, O]) list[*waiter[K, I, O]] {
	f.inFlight--
	waiters := f.settle(b)
	b.lane.stage, b.lane.batch = empty, nil
	f.place(b.lane)
	return waiters
}

// settle takes the waiters of b out of its books, to be answered. There are none if that was done before.
func (f *Ferry[K, I, O]) settle(b *batch[K, I, O]) list[*waiter[K, I, O]] {
	waiters := b.waiters
	if waiters.len == 0 {
		return waiters
	}
	b.waiters, b.context.batch = list[*waiter[K, I, O]]{}, nil
	f.flying.remove(&b.node)
	for w := range waiters.all {
		w.state = settled
		landed(w.flush)
	}
	landed(b.flush)
	return waiters
}

// abandon answers the callers of a batch whose call has not returned in time. Its lane and its slot stay held until
// it does.
func (f *Ferry[K, I, O]) abandon(b *batch[K, I, O]) {
	b.answer(f.settle(b), ErrStillOut)
}

// wake sees to it that a worker comes for the lanes that are ready, if there is a slot.
func (f *Ferry[K, I, O]) wake() {
	if f.ready.len == 0 || f.inFlight >= f.cfg.MaxInFlight || f.workers.waking {
		return
	}
	f.workers.waking = true
	if !f.workers.unpark() {
		f.workers.alive.Add(1)
		go f.work(nil)
	}
}

// workers are the goroutines of a ferry that have nothing to do. Those that nobody needed for a while leave.
type workers struct {
	mu     *sync.Mutex     // guards all but alive
	parked []chan struct{} // the one parked last on top; a message means work, closing means leave
	waking bool            // one is on its way
	spare  int             // the fewest parked since the timer was armed
	timer  *time.Timer
	armed  bool
	alive  sync.WaitGroup
}

const idleFor = 100 * time.Millisecond

func (ws *workers) park(me chan struct{}) {
	ws.parked = append(ws.parked, me)
	if !ws.armed {
		ws.arm()
	}
}

func (ws *workers) unpark() bool {
	last := len(ws.parked) - 1
	if last < 0 {
		return false
	}
	ws.parked[last] <- struct{}{}
	ws.parked[last] = nil
	ws.parked = ws.parked[:last]
	ws.spare = min(ws.spare, last)
	return true
}

func (ws *workers) arm() {
	ws.armed, ws.spare = true, len(ws.parked)
	if ws.timer == nil {
		ws.timer = time.AfterFunc(idleFor, ws.fire)
	} else {
		ws.timer.Reset(idleFor)
	}
}

func (ws *workers) fire() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.dismiss(ws.spare)
	ws.armed = false
	if len(ws.parked) > 0 {
		ws.arm()
	}
}

// dismiss lets the n workers leave that have been parked for longest.
func (ws *workers) dismiss(n int) {
	for _, me := range ws.parked[:n] {
		close(me)
	}
	ws.parked = slices.Delete(ws.parked, 0, n)
	ws.spare = min(ws.spare, len(ws.parked))
}

// stop disarms the timer. Nobody is parked.
func (ws *workers) stop() {
	if ws.timer != nil {
		ws.timer.Stop()
	}
}
