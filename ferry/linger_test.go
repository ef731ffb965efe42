package ferry_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

func TestL17WithoutLingerAnIdleLaneSendsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		start := time.Now()
		p.submit("a1")
		p.wantOut("a1")
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v, want 0", waited)
		}
		p.land("a")
	})
}

// pass lets d go by, less or more than a nanosecond.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestL17ALingerStartsWithTheFirstInput(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second})
		p.submit("a1")
		pass(900 * time.Millisecond)
		p.submit("a2", "b1")
		pass(100*time.Millisecond - 1)
		p.wantOut()
		pass(1)
		p.wantOut("a1 a2")
		pass(900*time.Millisecond - 1)
		p.wantOut("a1 a2")
		pass(1)
		p.wantOut("a1 a2", "b1")
		p.land("a", "b")
	})
}

func TestL17ALingerOfABatchFormedDuringACallStartsWhenTheCallEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second})
		p.submit("a1")
		pass(time.Second)
		p.submit("a2")
		pass(10 * time.Second)
		p.wantOut("a1")
		p.land("a")
		pass(time.Second - 1)
		p.submit("a3")
		p.wantOut()
		pass(1)
		p.wantOut("a2 a3")
		p.land("a")
	})
}

func TestL17AFullBatchEndsItsLinger(t *testing.T) {
	for name, ins := range map[string][]string{
		"count":                       {"a1", "a2", "a3"},
		"weight":                      {"a1*4", "a2*6"},
		"weight that does not fit in": {"a1*4", "a2*7"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := open(t, ferry.Config{Linger: time.Hour, MaxBatch: 3, MaxWeight: 10})
				start := time.Now()
				p.submit("b1")
				for _, in := range ins {
					p.wantOut()
					p.submit(in)
				}
				if len(p.keysOut()) != 1 || time.Since(start) != 0 {
					t.Fatalf("calls out after %v: got %v, want one at once", time.Since(start), p.keysOut())
				}
				p.landAll() // What did not fit lingers on its own.
				pass(time.Hour)
				p.landAll()
			})
		})
	}
}

func TestL17AReachedBoundEndsTheLingersOfWhatItCounts(t *testing.T) {
	tests := []struct {
		name string
		cfg  ferry.Config
		ins  []string // the last one reaches the bound, or does not fit
		out  []string
		late []string // sent by their own linger
	}{
		{"MaxQueued", ferry.Config{MaxQueued: 3, MaxQueuedPerKey: 3}, []string{"a1", "b1", "b2"}, []string{"a1", "b1 b2"}, nil},
		{"MaxQueuedWeight", ferry.Config{MaxQueuedWeight: 9}, []string{"a1*4", "b1*5"}, []string{"a1*4", "b1*5"}, nil},
		{"MaxQueuedWeight, does not fit", ferry.Config{MaxQueuedWeight: 9}, []string{"a1*4", "b1*6"}, []string{"a1*4"}, nil},
		{"MaxQueuedPerKey", ferry.Config{MaxQueuedPerKey: 2}, []string{"b1", "a1", "a2"}, []string{"a1 a2"}, []string{"b1"}},
	}
	for _, tt := range tests {
		for name, overflow := range map[string]ferry.Overflow{"Reject": ferry.Reject, "Wait": ferry.Wait} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					cfg := tt.cfg
					cfg.Linger, cfg.Overflow = time.Hour, overflow
					p := open(t, cfg)
					for _, in := range tt.ins {
						p.wantOut()
						p.submit(in)
					}
					p.wantSent(tt.out)
					for _, in := range tt.late {
						p.land(p.keysOut()...)
						pass(time.Hour)
						p.wantOut(in)
					}
					p.landAll()
					pass(time.Hour) // Of the one that did not fit, in a queue with room again.
					p.landAll()
				})
			})
		}
	}
}

// wantSent is wantOut for calls that started at the same time: they are in any order. One that waited for room may have
// been sent as well.
func (p *port) wantSent(want []string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	got := map[string]bool{}
	for _, tr := range p.out {
		got[tr.String()] = true
	}
	for _, out := range want {
		if !got[out] {
			p.t.Fatalf("calls out: got %v, want %q", got, want)
		}
	}
}

// The bound stays reached while a waiter is in the line, so nothing lingers then.
func TestL17NothingLingersWhileOneWaitsForSharedRoom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Hour, MaxInFlight: 1, MaxQueuedWeight: 10, Overflow: ferry.Wait})
		p.submit("a1*10")
		p.wantOut("a1*10")
		p.submit("a2*8", "b1*3", "c1*1")
		p.wantStats(2, 1, 1)
		p.land("a")
		p.wantOut("a2*8") // It did not linger: b1 was waiting.
		p.wantStats(0, 2, 1)
		p.land("a")
		p.wantOut("b1*3") // Ended by c1, which was waiting behind it.
		p.land("b")
		p.wantOut()
		pass(time.Hour)
		p.wantOut("c1*1")
		p.land("c")
	})
}

func TestL17CloseEndsAllLingers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Hour, MaxBatch: 2})
		p.submit("a1", "b1", "c1", "c2", "c3", "c4", "c5")
		p.wantOut("c1 c2")
		closed := make(chan error, 1)
		go func() { closed <- p.Close(context.Background()) }()
		synctest.Wait()
		p.wantOut("c1 c2", "a1", "b1")
		p.land("c")
		p.wantOut("a1", "b1", "c3 c4") // And those that form afterwards.
		p.land("c")
		p.wantOut("a1", "b1", "c5")
		p.land("a", "b", "c")
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestL17InputsThatArriveWhileTheLaneWaitsForItsSlotJoinItsBatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second, MaxInFlight: 1})
		p.submit("z1")
		pass(time.Second)
		p.wantOut("z1")
		p.submit("a1")
		pass(time.Minute)
		p.submit("a2")
		p.wantOut("z1")
		p.land("z")
		p.wantOut("a1 a2")
		p.land("a")
	})
}

func TestL17AWithdrawnInputTakesItsLingerAlong(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second})
		alone := p.submit("a1")
		pass(900 * time.Millisecond)
		alone.cancel()
		alone.wantNotSent(t, context.Canceled)
		p.wantStats(0, 0, 0)
		p.submit("a2")
		pass(time.Second - 1)
		p.wantOut()
		pass(1)
		p.wantOut("a2")
		p.land("a")
		// One that leaves company behind does not prolong their linger.
		first := p.submit("b1")
		pass(600 * time.Millisecond)
		p.submit("b2")
		first.cancel()
		pass(400 * time.Millisecond)
		p.wantOut("b2")
		p.land("b")
	})
}

// A batch that was filled before its linger ended must not leave a timer that cuts the next linger short.
func TestL17AnEndedLingerDoesNotCutTheNextShort(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second, MaxBatch: 2})
		p.submit("a1")
		pass(700 * time.Millisecond)
		p.submit("a2")
		p.wantOut("a1 a2")
		p.land("a")
		p.submit("a3")
		pass(time.Second - 1)
		p.wantOut()
		pass(1)
		p.wantOut("a3")
		p.land("a")
	})
}

func TestL17LingersOfManyLanesEndEachAtItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second})
		for _, key := range []string{"a", "b", "c"} {
			p.submit(key + "1")
			pass(100 * time.Millisecond)
		}
		pass(700 * time.Millisecond)
		p.wantOut("a1")
		pass(100*time.Millisecond - 1)
		p.wantOut("a1")
		pass(1)
		p.wantOut("a1", "b1")
		pass(100 * time.Millisecond)
		p.wantOut("a1", "b1", "c1")
		p.landAll()
	})
}

// Lanes whose lingers end together are served in the order in which these began, the one that ended them last.
func TestL18LingersThatEndTogetherKeepTheirOrder(t *testing.T) {
	for name, end := range map[string]func(p *port){
		"bound":       func(p *port) { p.submit("g1*7") },
		"no room":     func(p *port) { p.submit("g1*9") },
		"flush":       func(p *port) { p.submit("g1*1"); flushing(p.Flush) },
		"close":       func(p *port) { p.submit("g1*1"); p.closing() },
		"at one time": func(p *port) { p.submit("g1*1"); pass(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := open(t, ferry.Config{Linger: time.Hour, MaxInFlight: 1, MaxQueuedWeight: 10, Overflow: ferry.Wait})
				p.submit("d1", "b1", "f1", "a1*3", "e1", "c1")
				end(p)
				var keys []string
				for out := p.keysOut(); len(out) > 0; out = p.keysOut() {
					keys = append(keys, out...)
					p.landAllOnce()
				}
				if got := strings.Join(keys, ""); got != "dbfaecg" && !(name == "no room" && got == "dbfaec") {
					t.Errorf("order: got %q, want dbfaec and then g", got)
				}
				pass(time.Hour) // The one that waited for room lingers on its own.
				p.landAll()
			})
		})
	}
}
