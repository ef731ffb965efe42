package ferry

import (
	"sync"
	"time"
)

// list is a doubly linked list whose nodes lie inside their values, so that neither joining it nor leaving it from
// the middle allocates or searches.
type list[T any] struct {
	head, tail *node[T]
	len        int
}

type node[T any] struct {
	prev, next *node[T]
	value      T
	since      time.Duration // when it joined by the clock of the ferry, where that matters
}

func (l *list[T]) pushBack(n *node[T]) {
	n.prev, n.next = l.tail, nil
	if l.tail == nil {
		l.head = n
	} else {
		l.tail.next = n
	}
	l.tail = n
	l.len++
}

func (l *list[T]) remove(n *node[T]) {
	if n.prev == nil {
		l.head = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		l.tail = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.prev, n.next = nil, nil
	l.len--
}

func (l *list[T]) popFront() T {
	n := l.head
	l.remove(n)
	return n.value
}

// all yields the values in order. The value just yielded may be removed meanwhile.
func (l *list[T]) all(yield func(T) bool) {
	for n := l.head; n != nil; {
		next := n.next
		if !yield(n.value) {
			return
		}
		n = next
	}
}

// clock counts from its beginning. Its readings are half as long as those of package time, and twice as quick.
type clock struct{ began time.Time }

func (c clock) now() time.Duration               { return time.Since(c.began) }
func (c clock) time(now time.Duration) time.Time { return c.began.Add(now) }

// timeline is a list whose values all stay for the same time at most: one timer, for the oldest, serves them all.
// It is not armed while the list is empty.
type timeline[T any] struct {
	list[T]
	mu    *sync.Mutex // guards the timeline
	clock clock
	stay  time.Duration // from joining until due
	due   func(T)       // takes a value whose time is over out of the list, with mu held; nil for never
	timer *time.Timer   // nil before the first value
	armed bool
}

func (t *timeline[T]) start(mu *sync.Mutex, c clock, stay time.Duration, due func(T)) {
	t.mu, t.clock, t.stay, t.due = mu, c, stay, due
}

func (t *timeline[T]) push(n *node[T], now time.Duration) {
	n.since = now
	t.pushBack(n)
	if t.due != nil && !t.armed {
		t.arm(t.stay)
	}
}

func (t *timeline[T]) arm(d time.Duration) {
	t.armed = true
	if t.timer == nil {
		t.timer = time.AfterFunc(d, t.fire)
	} else {
		t.timer.Reset(d)
	}
}

// fire handles what is due. Values that left early make it fire for nothing now and then, which is cheaper than
// stopping the timer for each.
func (t *timeline[T]) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = false
	now := t.clock.now()
	for t.len > 0 {
		if left := t.stay - (now - t.head.since); left > 0 {
			t.arm(left)
			return
		}
		t.due(t.head.value)
	}
}

// stop disarms an empty timeline for good.
func (t *timeline[T]) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
