package ferry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

// wantRoom checks that exactly n inputs find room, by filling a ferry with one slot again: a credit that did not come
// back is a place too few, and one that came back twice is a place too many.
func (p *port) wantRoom(n int) {
	p.t.Helper()
	p.wantRest()
	p.submit("z0")
	p.wantOut("z0")
	keys := "abcdefghijklmnopqrstuvw"
	for i := range n {
		p.submit(keys[i : i+1])
	}
	p.wantStats(0, n, 1)
	over := p.submit("x")
	if over.done() {
		wantBound(p.t, over.err(), ferry.MaxQueued)
	} else {
		p.wantStats(1, n, 1)
	}
	p.landAll()
}

func TestL19RejectRefusesBeforeAnythingIsQueued(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 3, MaxQueuedPerKey: 2, MaxQueuedWeight: 10, MaxWeight: 8})
		p.submit("z*7")
		p.submit("a1*2", "a2*2")
		wantBound(t, p.submit("a3").err(), ferry.MaxQueuedPerKey)
		wantBound(t, p.submit("b1*7").err(), ferry.MaxQueuedWeight)
		p.submit("b2*6")
		wantBound(t, p.submit("b3").err(), ferry.MaxQueued)
		wantBound(t, p.submit("c1*1").err(), ferry.MaxQueued)
		wantBound(t, p.submit("a4").err(), ferry.MaxQueuedPerKey)
		p.wantStats(0, 3, 1)
		if got := p.Stats().QueuedWeight; got != 10 {
			t.Errorf("weight: got %d, want 10", got)
		}
		if got := p.Stats().Lanes; got != 3 {
			t.Errorf("lanes: got %d, want 3: a refused input leaves none", got)
		}
		p.landAll()
		p.wantLog("z*7", "a1*2 a2*2", "b2*6")
		refused := p.Stats().Refused
		if refused[ferry.MaxQueued] != 2 || refused[ferry.MaxQueuedWeight] != 1 || refused[ferry.MaxQueuedPerKey] != 2 {
			t.Errorf("refused: got %v", refused)
		}
		p.wantRoom(3)
	})
}

func TestL19WhatIsInFlightIsNotQueued(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxQueued: 1, MaxQueuedWeight: 5})
		p.submit("a1*5")
		p.submit("a2*5")
		p.submit("a3")
		p.wantStats(0, 1, 1)
		p.landAll()
		p.wantLog("a1*5", "a2*5")
	})
}

func TestL19WaitersAreAdmittedFirstComeFirstServed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 2, MaxBatch: 1, Overflow: ferry.Wait})
		p.submit("z0", "a1", "b1", "c1", "d1", "e1")
		p.wantStats(3, 2, 1)
		for _, want := range []string{"z0", "a1", "b1", "c1", "d1", "e1"} {
			p.wantOut(want)
			p.landAllOnce()
		}
		p.wantRoom(2)
	})
}

func TestL19ALightArrivalDoesNotOvertakeAHeavyWaiter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxBatch: 1, MaxQueuedWeight: 10, Overflow: ferry.Wait})
		p.submit("z*10")
		p.submit("a*6", "b*6", "c*1")
		p.wantStats(2, 1, 1)
		p.land("z")
		p.wantOut("a*6")
		p.wantStats(0, 2, 1)
		p.land("a")
		p.wantOut("b*6")
		p.landAll()
		p.wantLog("z*10", "a*6", "b*6", "c*1")
	})
}

func TestL19AWaiterHasTheKeysPlaceFirstAndThenTheSharedRoom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 4, MaxQueuedPerKey: 2, MaxBatch: 1, Overflow: ferry.Wait})
		p.submit("z0")
		// The hot key fills its places. Its waiters hold nothing shared, so two other inputs are accepted at once.
		hot := p.submit(many("h", 10)...)
		p.wantStats(8, 2, 1)
		p.submit("a1", "b1")
		p.wantStats(8, 4, 1)
		// The queue is full now. c waits for shared room and holds a place of its key.
		p.submit("c1", "c2", "c3", "d1")
		p.wantStats(12, 4, 1)
		p.land("z")
		p.wantOut("h1") // Its place goes to h3, which waits behind c1 and c2 for shared room; the room goes to c1.
		p.wantStats(11, 4, 1)
		for range 17 {
			p.landAllOnce()
		}
		p.wantOut()
		hot.wantAnswer(t)
		p.wantLog("z0", "h1", "a1", "b1", "c1", "h2", "d1", "c2", "h3", "c3", "h4", "h5", "h6", "h7", "h8", "h9", "h10")
	})
}

func TestL19TheKeysBoundRefusesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 2, MaxQueuedPerKey: 1, MaxBatch: 1, Overflow: ferry.WaitUpTo(time.Second)})
		p.submit("z0", "a1", "b1")
		byKey, shared := p.submit("a2"), p.submit("c1")
		pass(time.Second - 1)
		byKey.wantPending(t)
		pass(1)
		wantBound(t, byKey.err(), ferry.MaxQueuedPerKey)
		wantBound(t, shared.err(), ferry.MaxQueued)
		p.landAll()
		p.wantRoom(2)
	})
}

// A waiter of a key that gives up while it waits for shared room gives its place back.
func TestL19APlaceHeldInTheSharedLineIsGivenBack(t *testing.T) {
	for name, leave := range map[string]func(*ticket){
		"cancelled":   func(tk *ticket) { tk.cancel() },
		"out of time": func(*ticket) { pass(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 1, MaxQueuedPerKey: 1, MaxBatch: 1, Overflow: ferry.WaitUpTo(time.Second)})
				p.submit("z0", "a1")
				gone := p.submit("b1")
				pass(time.Millisecond)
				behind := p.submit("b2") // waits for b1's place
				pass(time.Millisecond)
				leave(gone)
				if !gone.done() {
					t.Fatal("b1: got no answer")
				}
				pass(0)
				p.land("z")
				p.land("a")
				switch name {
				case "cancelled":
					p.land("b")
					behind.wantAnswer(t)
				default:
					wantBound(t, gone.err(), ferry.MaxQueued)
				}
				p.landAll()
				p.wantRoom(1)
			})
		})
	}
}

func TestL19ACancelledWaiterWakesThoseBehindIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueuedWeight: 10, Overflow: ferry.Wait})
		p.submit("z0")
		p.submit("a*6")
		heavy := p.submit("b*7")
		light := p.submit("c*3")
		middle := p.submit("d*2")
		p.wantStats(3, 1, 1)
		heavy.cancel()
		heavy.wantNotSent(t, context.Canceled)
		p.wantStats(1, 2, 1) // c fits, d does not.
		light.cancel()
		light.wantNotSent(t, context.Canceled)
		p.wantStats(0, 2, 1)
		p.landAll()
		middle.wantAnswer(t)
		p.wantLog("z0", "a*6", "d*2")
	})
}

func TestL19AWaiterThatRunsOutOfTimeWakesThoseBehindIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueuedWeight: 10, Overflow: ferry.WaitUpTo(time.Second)})
		p.submit("z0")
		p.submit("a*6")
		heavy := p.submit("b*7")
		pass(time.Millisecond)
		light := p.submit("c*3")
		pass(time.Second - time.Millisecond)
		wantBound(t, heavy.err(), ferry.MaxQueuedWeight)
		light.wantPending(t)
		p.wantStats(0, 2, 1)
		pass(time.Hour) // It has been accepted: it no longer runs out of time.
		light.wantPending(t)
		p.landAll()
		light.wantAnswer(t)
	})
}

func TestL19AWithdrawnInputMakesRoom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 2, MaxQueuedPerKey: 1, Overflow: ferry.Wait})
		p.submit("z0")
		a1 := p.submit("a1")
		a2, a3 := p.submit("a2"), p.submit("a3")
		p.submit("b1", "c1")
		p.wantStats(3, 2, 1)
		a1.cancel()
		p.wantStats(2, 2, 1) // c1 was first in the line for shared room, a2 takes the place and is next.
		a3.cancel()
		a2.cancel()
		p.wantStats(0, 2, 1)
		p.landAll()
		p.wantLog("z0", "b1", "c1")
		p.wantRoom(2)
	})
}

func TestL19WaitersAreRefusedAtClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 2, MaxQueuedPerKey: 1, Overflow: ferry.Wait})
		p.submit("z0")
		accepted := []*ticket{p.submit("a1"), p.submit("b1")}
		refused := []*ticket{p.submit("a2"), p.submit("c1"), p.submit("c2"), p.submit("d1")}
		closed := make(chan error, 1)
		go func() { closed <- p.Close(context.Background()) }()
		synctest.Wait()
		for _, tk := range refused {
			tk.wantNotSent(t, ferry.ErrClosed)
		}
		for _, tk := range accepted {
			tk.wantPending(t)
		}
		p.landAll()
		for _, tk := range accepted {
			tk.wantAnswer(t)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// A wait for room that ends in a batch is an ordinary one.
func TestL19AWaiterIsAnsweredLikeAnybody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxQueuedPerKey: 1, MaxBatch: 1, Overflow: ferry.Wait})
		tickets := []*ticket{p.submit("a1"), p.submit("a2"), p.submit("a3"), p.submit("a4")}
		for _, tk := range tickets {
			tk.wantPending(t)
			p.land("a")
			tk.wantAnswer(t)
		}
	})
}

func TestL19UnlimitedBoundsAreUnlimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxBatch: -1, MaxWeight: -1, MaxQueued: -1, MaxQueuedWeight: -1, MaxQueuedPerKey: -1, MaxInFlight: -1})
		p.submit("z0")
		heavy := "*9223372036854775807" // The largest weight there is: sums must not wrap around.
		p.submit("z1"+heavy, "z2*0")
		last := p.submit("z3*0")
		p.land("z")
		p.wantOut("z1" + heavy + " z2*0 z3*0")
		p.land("z")
		last.wantAnswer(t)
		for _, key := range "abcdefghijklmnopqrstuvwxy" {
			p.submit(string(key))
		}
		p.wantStats(0, 0, 25)
		p.landAll()
	})
}

func TestL19ADefaultPlaceForEachKeyIsAQuarterAndAtLeastOne(t *testing.T) {
	for queued, perKey := range map[int]int{1: 1, 3: 1, 8: 2} {
		inPlainBubble(t, func(t *testing.T) {
			p := open(t, ferry.Config{MaxQueued: queued})
			p.submit("a0")
			p.submit(many("a", perKey)...)
			p.wantStats(0, perKey, 1)
			wantBound(t, p.submit("ax").err(), ferry.MaxQueuedPerKey)
			p.landAll()
		})
	}
}

// inPlainBubble is for a bubble inside a test that has others.
func inPlainBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestL19SumsOfWeightsDoNotWrapAround(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const half = "*6000000000000000000"
		p := open(t, ferry.Config{})
		p.submit("z0")
		p.submit("a1"+half, "z1"+half)
		wantBound(t, p.submit("b1"+half).err(), ferry.MaxQueuedWeight)
		p.landAll()
	})
}
