package ferry_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/ferry"
)

// model is what a ferry should do, in slices and maps. It counts nothing: what is bounded is looked up every time.
type model struct {
	cfg   ferry.Config // without zeros
	lanes map[string]*modelLane
	line  []*parcel // wait for shared room
	calls []*modelCall
	fls   []*modelFlush
	now   time.Time
	turn  int // numbers the lanes that begin to linger or become ready

	refused  map[ferry.Bound]uint64
	closing  bool
	aborted  bool
	graceEnd time.Time // once aborted
}

type modelLane struct {
	key       string
	queue     []*parcel
	line      []*parcel // wait for a place
	call      *modelCall
	lingering bool
	until     time.Time
	ready     bool
	since     int // the turn when it began to linger or became ready
}

type modelCall struct {
	trip    *voyage
	start   time.Time
	parcels []*parcel
	settled bool
}

type modelFlush struct{ parcels []*parcel }

// parcel is an input, with what the model knows and what its caller was told.
type parcel struct {
	id     int
	key    string
	weight int
	cancel context.CancelFunc
	got    atomic.Pointer[string]

	since  time.Time
	want   string // empty while it is not answered
	landed bool
}

// voyage is a call of the ferry.
type voyage struct {
	ctx  context.Context
	key  string
	ids  []int
	back chan func() ([]int, error)
}

func (m *model) lane(key string) *modelLane {
	if m.lanes[key] == nil {
		m.lanes[key] = &modelLane{key: key}
	}
	return m.lanes[key]
}

func weightOf(parcels []*parcel) (sum int) {
	for _, p := range parcels {
		sum += p.weight
	}
	return sum
}

func (m *model) queued() (n, weight int) {
	for _, l := range m.lanes {
		n += len(l.queue)
		weight += weightOf(l.queue)
	}
	return n, weight
}

func (m *model) places(l *modelLane) int {
	n := len(l.queue)
	for _, p := range m.line {
		if p.key == l.key {
			n++
		}
	}
	return n
}

func (m *model) out() (n int) {
	for _, l := range m.lanes {
		if l.call != nil {
			n++
		}
	}
	return n
}

func (m *model) full() bool {
	n, weight := m.queued()
	return len(m.line) > 0 || n >= m.cfg.MaxQueued || weight >= m.cfg.MaxQueuedWeight
}

func (m *model) fits(p *parcel) bool {
	n, weight := m.queued()
	return n < m.cfg.MaxQueued && weight+p.weight <= m.cfg.MaxQueuedWeight
}

func (m *model) flushing(l *modelLane) bool {
	return slices.ContainsFunc(m.fls, func(fl *modelFlush) bool {
		return slices.ContainsFunc(fl.parcels, func(p *parcel) bool { return slices.Contains(l.queue, p) })
	})
}

func (m *model) mayLinger(l *modelLane) bool {
	return m.cfg.Linger > 0 && !m.closing && !m.flushing(l) && len(l.queue) < m.cfg.MaxBatch && weightOf(l.queue) < m.cfg.MaxWeight &&
		m.places(l) < m.cfg.MaxQueuedPerKey && len(l.line) == 0 && !m.full()
}

func (m *model) place(l *modelLane) {
	switch {
	case l.call != nil || l.ready && len(l.queue) > 0:
	case len(l.queue) == 0:
		l.ready, l.lingering = false, false
		if m.places(l)+len(l.line) == 0 {
			delete(m.lanes, l.key)
		}
	case !m.mayLinger(l):
		m.makeReady(l)
	case !l.lingering:
		m.turn++
		l.lingering, l.until, l.since = true, m.now.Add(m.cfg.Linger), m.turn
	}
}

func (m *model) makeReady(l *modelLane) {
	m.turn++
	l.lingering, l.ready, l.since = false, true, m.turn
}

// endLingers ends those that are to end by now if due is set, otherwise all, in the order in which they began.
func (m *model) endLingers(due bool) {
	var lanes []*modelLane
	for _, l := range m.lanes {
		if l.lingering && !(due && l.until.After(m.now)) {
			lanes = append(lanes, l)
		}
	}
	slices.SortFunc(lanes, bySince)
	for _, l := range lanes {
		m.makeReady(l)
	}
}

func bySince(l, other *modelLane) int { return cmp.Compare(l.since, other.since) }

func (m *model) refuse(p *parcel, bound ferry.Bound) {
	m.refused[bound]++
	p.want = "not sent: " + string(bound)
}

func (m *model) sharedBound() ferry.Bound {
	if n, _ := m.queued(); n >= m.cfg.MaxQueued {
		return ferry.MaxQueued
	}
	return ferry.MaxQueuedWeight
}

func (m *model) submit(p *parcel) {
	switch {
	case p.weight > m.cfg.MaxWeight || p.weight > m.cfg.MaxQueuedWeight:
		p.want = "not sent: weight"
		return
	case m.closing:
		p.want = "not sent: closed"
		return
	}
	p.since = m.now
	l := m.lane(p.key)
	switch {
	case len(l.line) == 0 && m.places(l) < m.cfg.MaxQueuedPerKey:
		m.room(p)
	case m.cfg.Overflow == ferry.Reject:
		m.refuse(p, ferry.MaxQueuedPerKey)
	default:
		l.line = append(l.line, p)
	}
	m.place(l)
}

func (m *model) room(p *parcel) {
	if len(m.line) == 0 && m.fits(p) {
		m.accept(p)
		return
	}
	m.endLingers(false)
	if m.cfg.Overflow == ferry.Reject {
		m.refuse(p, m.sharedBound())
	} else {
		m.line = append(m.line, p)
	}
}

func (m *model) accept(p *parcel) {
	l := m.lane(p.key)
	l.queue = append(l.queue, p)
	if m.full() {
		m.endLingers(false)
	}
	m.place(l)
}

func (m *model) admit(l *modelLane) {
	for len(m.line) > 0 && m.fits(m.line[0]) {
		p := m.line[0]
		m.line = m.line[1:]
		m.accept(p)
	}
	for len(l.line) > 0 && m.places(l) < m.cfg.MaxQueuedPerKey {
		p := l.line[0]
		l.line = l.line[1:]
		m.room(p)
	}
}

// nextReady answers the key of the lane whose turn it is.
func (m *model) nextReady() (key string) {
	since := math.MaxInt
	for _, l := range m.lanes {
		if l.ready && l.since < since {
			key, since = l.key, l.since
		}
	}
	return key
}

// take follows a call that has started.
func (m *model) take(v *voyage) error {
	l := m.lanes[v.key]
	switch {
	case l == nil || v.key != m.nextReady():
		return fmt.Errorf("a call of key %s: it is the turn of %q", v.key, m.nextReady())
	case m.out() >= m.cfg.MaxInFlight:
		return fmt.Errorf("a call of key %s: no slot is free", v.key)
	}
	n, weight := 0, 0
	for n < len(l.queue) && n < m.cfg.MaxBatch && weight+l.queue[n].weight <= m.cfg.MaxWeight {
		weight += l.queue[n].weight
		n++
	}
	batch := slices.Clone(l.queue[:n])
	var want []int
	for _, p := range batch {
		want = append(want, p.id)
	}
	if !slices.Equal(v.ids, want) {
		return fmt.Errorf("a call of key %s: got %v, want %v", v.key, v.ids, want)
	}
	l.queue, l.ready = l.queue[n:], false
	l.call = &modelCall{trip: v, start: m.now, parcels: batch}
	m.calls = append(m.calls, l.call)
	m.admit(l)
	return nil
}

// settle answers what of c has no answer.
func (m *model) settle(c *modelCall, want string) {
	c.settled = true
	for _, p := range c.parcels {
		p.landed = true
		p.want = cmp.Or(p.want, want)
	}
}

func (m *model) returned(c *modelCall, want string) {
	if !c.settled {
		m.settle(c, want)
	}
	m.calls = slices.DeleteFunc(m.calls, func(other *modelCall) bool { return other == c })
	l := m.lanes[c.trip.key]
	l.call = nil
	m.place(l)
}

// leave takes p away from where it is.
func (m *model) leave(p *parcel) {
	l := m.lanes[p.key]
	is := func(other *parcel) bool { return other == p }
	switch {
	case slices.Contains(m.line, p):
		m.line = slices.DeleteFunc(m.line, is)
	case slices.Contains(l.line, p):
		l.line = slices.DeleteFunc(l.line, is)
	case slices.Contains(l.queue, p):
		l.queue = slices.DeleteFunc(l.queue, is)
		p.landed = true
	default:
		p.want = "unknown: canceled"
		return
	}
	p.want = cmp.Or(p.want, "not sent: canceled")
	m.admit(l)
	m.place(l)
}

func (m *model) runOutOfPatience(p *parcel) {
	if slices.Contains(m.line, p) {
		m.refuse(p, m.sharedBound())
	} else {
		m.refuse(p, ferry.MaxQueuedPerKey)
	}
	m.leave(p)
}

func (m *model) waiting() []*parcel {
	all := slices.Clone(m.line)
	for _, l := range m.lanes {
		all = append(all, l.line...)
	}
	return all
}

func (m *model) close() {
	for _, p := range m.waiting() {
		p.want = "not sent: closed"
	}
	m.closing, m.line = true, nil
	m.endLingers(false)
	for _, l := range m.lanes {
		l.line = nil
		m.place(l)
	}
}

func (m *model) abort() {
	m.aborted, m.graceEnd = true, m.now.Add(m.cfg.CancelGrace)
	for _, l := range m.lanes {
		for _, p := range l.queue {
			p.want, p.landed = "not sent: closed", true
		}
		l.queue = nil
		m.place(l)
	}
}

// next answers when something happens by itself, up to limit, and what.
func (m *model) next(limit time.Time) (time.Time, func()) {
	at, do := limit, func() {}
	due := func(t time.Time, f func()) {
		if t.Before(at) || t.Equal(limit) && at.Equal(limit) {
			at, do = t, f
		}
	}
	for _, l := range m.lanes {
		if l.lingering {
			due(l.until, func() { m.endLingers(true) })
		}
	}
	if m.cfg.Overflow > 0 {
		for _, p := range m.waiting() {
			due(p.since.Add(time.Duration(m.cfg.Overflow)), func() { m.runOutOfPatience(p) })
		}
	}
	for _, c := range m.calls {
		if !c.settled {
			due(c.start.Add(m.cfg.BatchTimeout+m.cfg.CancelGrace), func() {
				for _, other := range m.calls {
					if !other.settled && other.start.Equal(c.start) {
						m.settle(other, "unknown: still out")
					}
				}
			})
			if m.aborted {
				due(m.graceEnd, func() {
					for _, other := range m.calls {
						if !other.settled {
							m.settle(other, "unknown: still out")
						}
					}
				})
			}
		}
	}
	return at, do
}

// drained is for a closing ferry: Close returns then, or when nothing is left that it would wait for.
func (m *model) drained() bool {
	return m.closing && (len(m.lanes) == 0 || m.aborted && !m.now.Before(m.graceEnd))
}

// machine drives a ferry and its model.
type machine struct {
	model
	f        *ferry.Ferry[string, *parcel, int]
	parcels  []*parcel
	flushes  []*flushed
	closed   *flushed
	released atomic.Bool

	mu      sync.Mutex
	started []*voyage // not yet seen by the model
	all     []*voyage
}

func (m *machine) call(ctx context.Context, key string, ins []*parcel) ([]int, error) {
	v := &voyage{ctx: ctx, key: key, back: make(chan func() ([]int, error), 1)}
	for _, p := range ins {
		v.ids = append(v.ids, p.id)
	}
	m.mu.Lock()
	m.started, m.all = append(m.started, v), append(m.all, v)
	m.mu.Unlock()
	if m.released.Load() {
		return v.ids, nil
	}
	return (<-v.back)()
}

// told says what a caller learnt, the way the model says it.
func told(p *parcel, out int, err error) string {
	if err == nil {
		if out != p.id {
			return fmt.Sprint("the answer of ", out)
		}
		return "ok"
	}
	fate := "unknown: "
	if ferry.NotSent(err) {
		fate = "not sent: "
	}
	if bound, ok := errors.AsType[*ferry.BoundError](err); ok {
		return fate + string(bound.Bound)
	}
	if _, ok := errors.AsType[*ferry.PanicError](err); ok {
		return fate + "panic"
	}
	if _, ok := errors.AsType[*ferry.CountError](err); ok {
		return fate + "count"
	}
	for reason, name := range map[error]string{
		context.Canceled: "canceled", ferry.ErrClosed: "closed", ferry.ErrStillOut: "still out",
		ferry.ErrGoexit: "goexit", ferry.ErrWeight: "weight", errBoom: "boom",
	} {
		if errors.Is(err, reason) {
			return fate + name
		}
	}
	return fate + err.Error()
}

func (m *machine) submit(t *rapid.T) {
	p := &parcel{
		id:     len(m.parcels) + 1,
		key:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
		weight: rapid.IntRange(0, 4).Draw(t, "weight"),
	}
	m.parcels = append(m.parcels, p)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		out, err := m.f.Submit(ctx, p)
		s := told(p, out, err)
		p.got.Store(&s)
	}()
	synctest.Wait()
	m.model.submit(p)
}

func (m *machine) leave(t *rapid.T) {
	var live []*parcel
	for _, p := range m.parcels {
		if p.want == "" {
			live = append(live, p)
		}
	}
	if len(live) == 0 {
		t.Skip("nobody waits")
	}
	p := rapid.SampledFrom(live).Draw(t, "parcel")
	p.cancel()
	synctest.Wait()
	m.model.leave(p)
}

func (m *machine) complete(t *rapid.T) {
	if len(m.calls) == 0 {
		t.Skip("no call is out")
	}
	c := m.calls[rapid.IntRange(0, len(m.calls)-1).Draw(t, "call")]
	how := rapid.SampledFrom([]string{"ok", "ok", "ok", "unknown: boom", "unknown: panic", "unknown: count", "unknown: goexit"}).Draw(t, "how")
	c.trip.back <- func() ([]int, error) {
		switch how {
		case "unknown: boom":
			return c.trip.ids, errBoom
		case "unknown: panic":
			panic(errBoom)
		case "unknown: count":
			return append(c.trip.ids, 0), nil
		case "unknown: goexit":
			runtime.Goexit()
		}
		return c.trip.ids, nil
	}
	synctest.Wait()
	m.returned(c, how)
}

func (m *machine) flush(t *rapid.T) {
	key := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
	m.flushes = append(m.flushes, flushing(func(ctx context.Context) error {
		if key == "" {
			return m.f.Flush(ctx)
		}
		return m.f.FlushKey(ctx, key)
	}))
	fl := &modelFlush{}
	for _, l := range m.lanes {
		if key == "" || key == l.key {
			fl.parcels = append(fl.parcels, l.queue...)
			if l.call != nil && !l.call.settled {
				fl.parcels = append(fl.parcels, l.call.parcels...)
			}
		}
	}
	m.fls = append(m.fls, fl)
	if key == "" {
		m.endLingers(false)
	} else if l := m.lanes[key]; l != nil && len(l.queue) > 0 {
		m.place(l)
	}
}

func (m *machine) close(t *rapid.T) {
	if m.closing || len(m.parcels) < 12 {
		t.Skip("not yet, or done")
	}
	m.closed = flushing(m.f.Close)
	m.model.close()
}

func (m *machine) abort(t *rapid.T) {
	if !m.closing || m.aborted || m.drained() {
		t.Skip("nothing to give up")
	}
	m.closed.cancel()
	m.model.abort()
}

// pass lets time go by, from one thing that happens to the next.
func (m *machine) pass(t *rapid.T, d time.Duration) {
	for limit := m.now.Add(d); m.now.Before(limit); {
		at, do := m.next(limit)
		time.Sleep(at.Sub(m.now))
		synctest.Wait()
		m.now = at
		do()
		m.check(t)
	}
}

// check compares all there is to see.
func (m *machine) check(t *rapid.T) {
	m.mu.Lock()
	started := m.started
	m.started = nil
	m.mu.Unlock()
	for len(started) > 0 {
		// Two that start at the same time may reach this record in any order.
		i := max(0, slices.IndexFunc(started, func(v *voyage) bool { return v.key == m.nextReady() }))
		if err := m.take(started[i]); err != nil {
			t.Fatal(err)
		}
		started = slices.Delete(started, i, i+1)
	}
	for _, l := range m.lanes {
		if l.ready && m.out() < m.cfg.MaxInFlight {
			t.Fatalf("key %s is ready and a slot is free, but there is no call", l.key)
		}
		if l.lingering && !m.mayLinger(l) {
			t.Fatalf("key %s lingers and should not", l.key)
		}
	}
	for _, p := range m.parcels {
		got := ""
		if s := p.got.Load(); s != nil {
			got = *s
		}
		if got != p.want {
			t.Fatalf("parcel %d of key %s: got %q, want %q", p.id, p.key, got, p.want)
		}
	}
	for i, fl := range m.fls {
		want := !slices.ContainsFunc(fl.parcels, func(p *parcel) bool { return !p.landed })
		if r := m.flushes[i].reply.Load(); (r != nil) != want || r != nil && r.err != nil {
			t.Fatalf("flush %d: got %+v, want returned: %v", i, r, want)
		}
	}
	m.checkClosed(t)
	m.checkContexts(t)
	m.checkStats(t)
}

func (m *machine) checkClosed(t *rapid.T) {
	if !m.closing {
		return
	}
	var want error
	if m.aborted {
		want = context.Canceled
	}
	if r := m.closed.reply.Load(); (r != nil) != m.drained() || r != nil && !errors.Is(r.err, want) {
		t.Fatalf("Close: got %+v, want returned: %v, with %v", r, m.drained(), want)
	}
}

func (m *machine) checkContexts(t *rapid.T) {
	for _, c := range m.calls {
		var want error
		switch deadline := c.start.Add(m.cfg.BatchTimeout); {
		case m.aborted && deadline.After(m.graceEnd.Add(-m.cfg.CancelGrace)):
			want = context.Canceled
		case !m.now.Before(deadline):
			want = context.DeadlineExceeded
		}
		if got := c.trip.ctx.Err(); got != want {
			t.Fatalf("context of a call of key %s: got %v, want %v", c.trip.key, got, want)
		}
	}
}

func (m *machine) checkStats(t *rapid.T) {
	got := m.f.Stats()
	queued, weight := m.queued()
	var oldest time.Duration
	for _, l := range m.lanes {
		if len(l.queue) > 0 {
			oldest = max(oldest, m.now.Sub(l.queue[0].since))
		}
	}
	want := ferry.Stats[string]{Lanes: len(m.lanes), Waiting: len(m.waiting()), Queued: queued, QueuedWeight: weight,
		InFlight: m.out(), OldestWait: oldest, Refused: m.refused}
	if !maps.Equal(got.Refused, want.Refused) {
		t.Fatalf("refused: got %v, want %v", got.Refused, want.Refused)
	}
	got.Refused, want.Refused, got.Hottest = nil, nil, nil // The hottest keys are estimated.
	got.Hottest = nil                                      // An estimate: sketch_test.go.
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("stats: got %+v, want %+v", got, want)
	}
}

// release ends all that is out, so that the bubble can end whatever happened.
func (m *machine) release() {
	m.released.Store(true)
	m.mu.Lock()
	for _, v := range m.all {
		select {
		case v.back <- func() ([]int, error) { return v.ids, nil }:
		default: // It has returned.
		}
	}
	m.mu.Unlock()
	for _, p := range m.parcels {
		p.cancel()
	}
	_ = m.f.Close(context.Background())
	for _, fl := range m.flushes {
		fl.cancel()
	}
	if m.closed != nil {
		m.closed.cancel()
	}
	synctest.Wait()
}

// The odd nanoseconds keep things of different kinds from happening at the same instant, whose order is not promised.
func drawConfig(t *rapid.T) ferry.Config {
	small := func(name string, unlimited int) int {
		return rapid.SampledFrom([]int{1, 2, 3, 5, unlimited}).Draw(t, name)
	}
	return ferry.Config{
		MaxBatch:        small("MaxBatch", 256),
		MaxWeight:       rapid.SampledFrom([]int{3, 6, math.MaxInt}).Draw(t, "MaxWeight"),
		MaxQueued:       small("MaxQueued", 256),
		MaxQueuedWeight: rapid.SampledFrom([]int{4, 8, math.MaxInt}).Draw(t, "MaxQueuedWeight"),
		MaxQueuedPerKey: small("MaxQueuedPerKey", 256),
		MaxInFlight:     rapid.IntRange(1, 3).Draw(t, "MaxInFlight"),
		Linger:          rapid.SampledFrom([]time.Duration{0, 3*time.Millisecond + 17}).Draw(t, "Linger"),
		Overflow:        rapid.SampledFrom([]ferry.Overflow{ferry.Reject, ferry.Wait, ferry.WaitUpTo(5*time.Millisecond + 131)}).Draw(t, "Overflow"),
		BatchTimeout:    rapid.SampledFrom([]time.Duration{8*time.Millisecond + 241, time.Hour}).Draw(t, "BatchTimeout"),
		CancelGrace:     2*time.Millisecond + 142,
	}
}

// The laws that one ferry can show in one history: L16 to L22 and L24, with the bookkeeping behind them.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		rapid.SyncTest(t, func(t *rapid.T) {
			m := &machine{model: model{cfg: cfg, lanes: map[string]*modelLane{}, refused: map[ferry.Bound]uint64{}, now: time.Now()}}
			m.f = ferry.PerKeyWeighed(cfg, func(p *parcel) string { return p.key }, func(p *parcel) int { return p.weight }, m.call)
			defer m.release()
			actions := map[string]func(*rapid.T){
				"": func(t *rapid.T) {
					m.check(t)
					m.pass(t, time.Microsecond) // No two actions happen at the same instant.
				},
				"leave": m.leave, "flush": m.flush, "close": m.close, "abort": m.abort,
				"pass": func(t *rapid.T) {
					m.pass(t, time.Duration(rapid.IntRange(1, 6).Draw(t, "ms"))*time.Millisecond)
				},
			}
			for i := range 3 { // Equally likely each, so what should happen more often is there more often.
				actions[fmt.Sprint("submit", i)] = m.submit
				actions[fmt.Sprint("complete", i)] = m.complete
			}
			t.Repeat(actions)
		})
	})
}
