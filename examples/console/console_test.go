package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/examples/internal/demo"
	"github.com/goferry/goferry/examples/internal/ledger"
	"github.com/goferry/goferry/ferry"
)

// wire is a network within a bubble.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.conns:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "wire"} }

func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case w.conns <- there:
		return here, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// site is a console at work in a bubble, which fails the test if the console leaves a goroutine behind.
type site struct {
	t      *testing.T
	disk   demo.ViewDisk
	client *http.Client
	stop   context.CancelFunc
	served chan error
	bodies []io.Closer // of the streams
}

func visit(t *testing.T, begin controls, test func(*site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		ctx, stop := context.WithCancel(context.Background())
		s := &site{
			t: t, stop: stop, served: make(chan error, 1),
			disk:   memory.New[string](ledger.Log.State),
			client: &http.Client{Transport: &http.Transport{DialContext: w.dial}},
		}
		go func() { s.served <- newConsole(s.disk, begin, ferry.Observer{}).serve(ctx, w) }()
		test(s)
		stop()
		if err := <-s.served; err != nil {
			t.Errorf("serve: got %v", err)
		}
		for _, body := range s.bodies {
			_ = body.Close()
		}
		s.client.CloseIdleConnections()
	})
}

func calm() controls {
	return controls{View: "up", Commits: "up", Load: "on", Clients: 16, Skew: 1}
}

// ask sends a request, and answers the status and the body.
func (s *site) ask(method, path, form string, header ...string) (status int, body string) {
	s.t.Helper()
	request, err := http.NewRequest(method, "http://console"+path, strings.NewReader(form))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (s *site) change(form string) {
	s.t.Helper()
	if status, body := s.ask("POST", "/controls", form); status != http.StatusOK {
		s.t.Fatalf("%s: got %d %s", form, status, body)
	}
}

// stream is a page's connection to the events.
type stream struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Reader
	id    string
}

func (s *site) listen(lastID string) *stream {
	s.t.Helper()
	request, err := http.NewRequest("GET", "http://console/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		s.t.Fatalf("events: got %d %s", response.StatusCode, got)
	}
	s.bodies = append(s.bodies, response.Body)
	return &stream{t: s.t, body: response.Body, lines: bufio.NewReader(response.Body)}
}

// next answers the samples of the next event.
func (e *stream) next() []sample {
	e.t.Helper()
	var samples []sample
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			e.t.Fatal(err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.id = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &samples); err != nil {
				e.t.Fatal(err)
			}
		}
		if line == "\n" {
			return samples
		}
	}
}

// until waits for a sample that is as ok says, for a minute of the bubble's time, and answers it.
func (e *stream) until(what string, ok func(sample) bool) sample {
	e.t.Helper()
	var last sample
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for _, last = range e.next() {
			if ok(last) {
				return last
			}
		}
	}
	e.t.Fatalf("%s: not within a minute, at last %+v", what, last)
	return last
}

func TestAnOutageOfTheViewAndItsRecovery(t *testing.T) {
	t.Parallel()
	visit(t, calm(), func(s *site) {
		events := s.listen("")
		events.until("projected", func(m sample) bool { return m.Projected > 0 && m.Committed == 0 && len(m.Hottest) > 0 && m.P50 > 0 })
		s.change("view=down")
		out := events.until("committed", func(m sample) bool {
			return m.Committed > 0 && m.Projected == 0 && len(m.Pending) > 0 && m.Pending[0].For > 2000
		})
		if out.Controls.View != "down" || out.Controls.Commits != "up" {
			t.Errorf("controls: got %+v, want the view down and commits up", out.Controls)
		}
		s.change("view=up")
		events.until("projected again", func(m sample) bool { return m.Projected > 0 && m.Committed == 0 })
		s.change("load=off")
		events.until("nothing pending", func(m sample) bool { return len(m.Pending) == 0 && m.Lanes == 0 })
		s.wantViewsWhole()
	})
}

// wantViewsWhole checks every view against its log.
func (s *site) wantViewsWhole() {
	s.t.Helper()
	seen := 0
	for account, err := range s.disk.Keys(s.t.Context()) {
		if err != nil {
			s.t.Fatal(err)
		}
		record, err := s.disk.Read(s.t.Context(), account)
		if err != nil {
			s.t.Fatal(err)
		}
		view, _, err := s.disk.View(s.t.Context(), account)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := record.Body.Check(view.IDs); err != nil {
			s.t.Errorf("%s: %v", account, err)
		}
		seen++
	}
	if seen == 0 {
		s.t.Error("no account was written")
	}
}

func TestBrokenCommitsFailAndAreTriedAgain(t *testing.T) {
	t.Parallel()
	visit(t, calm(), func(s *site) {
		events := s.listen("")
		s.change("commits=down")
		events.until("failed", func(m sample) bool { return m.Failed > 0 && m.Projected == 0 && m.Committed == 0 && m.P50 == 0 })
		s.change("commits=up")
		events.until("projected", func(m sample) bool { return m.Projected > 0 && m.Failed == 0 })
	})
}

func TestTheSweeperAloneFinishesWhatIsPending(t *testing.T) {
	t.Parallel()
	visit(t, calm(), func(s *site) {
		events := s.listen("")
		s.change("view=down")
		events.until("committed", func(m sample) bool { return m.Committed > 0 })
		s.change("load=off")
		events.until("idle, and pending", func(m sample) bool { return m.Lanes == 0 && len(m.Pending) > 0 })
		s.change("view=up")
		events.until("nothing pending", func(m sample) bool { return len(m.Pending) == 0 })
		s.wantViewsWhole()
	})
}

func TestTheHotAccountIsRefusedAtItsBound(t *testing.T) {
	t.Parallel()
	visit(t, calm(), func(s *site) {
		events := s.listen("")
		s.change("clients=512&skew=3&view=down")
		m := events.until("refused", func(m sample) bool { return m.Refused[ferry.MaxQueuedPerKey] > 0 && m.Queued > 0 })
		if m.Controls.Clients != 512 || m.Controls.Skew != 3 {
			t.Errorf("controls: got %+v", m.Controls)
		}
		events.until("the hottest", func(m sample) bool { return m.Hottest[0].Account == "account-1" && m.Hottest[0].Share > 0.5 })
	})
}

func TestAStreamBeginsWithWhatIsRemembered(t *testing.T) {
	t.Parallel()
	idle := calm()
	idle.Load = "off"
	visit(t, idle, func(s *site) {
		time.Sleep(10 * time.Second)
		events := s.listen("")
		first := events.next()
		if len(first) < 20 {
			t.Errorf("first event: got %d samples, want those of ten seconds", len(first))
		}
		second := events.next()
		if len(second) != 1 || second[0].At <= first[len(first)-1].At {
			t.Errorf("second event: got %+v, want one sample, the next", second)
		}
		last := second[0].At
		if err := events.body.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		missed := s.listen(events.id).next()
		if len(missed) < 3 || missed[0].At <= last || missed[0].At > last+2*every.Milliseconds() {
			t.Errorf("a reader that comes back: got %+v, want what it has missed", missed)
		}
	})
}

func TestSamplesAreForgottenInTime(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for i := range remembered + 10 {
		h.add(sample{At: int64(i + 1)})
	}
	samples, more := h.after(0)
	if len(samples) != remembered || samples[0].At != 11 {
		t.Errorf("got %d samples from %d on, want %d from 11 on", len(samples), samples[0].At, remembered)
	}
	if samples, _ := h.after(remembered + 10); len(samples) != 0 {
		t.Errorf("after the last: got %v", samples)
	}
	h.add(sample{At: 1000})
	<-more
}

func TestShutdownEndsStreamsAndLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	visit(t, calm(), func(s *site) {
		events := s.listen("")
		s.change("commits=down&clients=512")
		events.until("failed", func(m sample) bool { return m.Failed > 0 })
		time.Sleep(every + every/2) // The stream is stuck with its next event, since nobody reads.
		began := time.Now()
		s.stop()
		if err := <-s.served; err != nil {
			t.Errorf("serve: got %v", err)
		}
		if took := time.Since(began); took >= patience-2*every {
			t.Errorf("got %v, want it not to wait for the reader", took)
		}
		s.served <- nil
	})
}

func TestControls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		form   string
		status int
		want   string
	}{
		{"view=down", 200, `{"view":"down","commits":"up","load":"on","clients":16,"skew":1}`},
		{"commits=down&load=off", 200, `{"view":"up","commits":"down","load":"off","clients":16,"skew":1}`},
		{"clients=1&skew=2.5", 200, `{"view":"up","commits":"up","load":"on","clients":1,"skew":2.5}`},
		{"", 400, "nothing to change: send a form with view, commits, load, clients or skew"},
		{"view=sideways", 400, "view must be up or down"},
		{"commits=", 400, "commits must be up or down"},
		{"load=some", 400, "load must be on or off"},
		{"clients=many", 400, "clients must be a whole number"},
		{"clients=0", 400, "clients must be between 1 and 512"},
		{"clients=513", 400, "clients must be between 1 and 512"},
		{"skew=steep", 400, "skew must be a number"},
		{"skew=-1", 400, "skew must be between 0 and 3"},
		{"skew=NaN", 400, "skew must be between 0 and 3"},
		{"view=down&colour=red", 400, `there is no field "colour"`},
		{"view=down&view=up", 400, "view is given more than once"},
		{"view=%zz", 400, "the form cannot be read: "},
		{"view=" + strings.Repeat("x", 1<<13), 400, "the form cannot be read: "},
	}
	for _, tt := range tests {
		visit(t, calm(), func(s *site) {
			status, body := s.ask("POST", "/controls", tt.form)
			if status != tt.status || !strings.HasPrefix(body, tt.want) {
				t.Errorf("%.40s: got %d %s, want %d %s", tt.form, status, body, tt.status, tt.want)
			}
			now := s.listen("").until("the change", func(m sample) bool { return tt.status == 200 && m.Controls != calm() || tt.status != 200 }).Controls
			if tt.status != 200 && now != calm() {
				t.Errorf("%.40s: was refused, and set %+v", tt.form, now)
			}
		})
	}
}

func TestOnlyAPostOfThisSiteChangesAnything(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, path string
		header       []string
		status       int
	}{
		{"GET", "/controls?view=down", nil, 405},
		{"PUT", "/controls", nil, 405},
		{"POST", "/", nil, 405},
		{"POST", "/events", nil, 405},
		{"GET", "/nothing", nil, 404},
		{"GET", "/index.html", nil, 404},
		{"POST", "/controls", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/controls", []string{"Origin", "http://elsewhere"}, 403},
		{"GET", "/events", []string{"Last-Event-ID", "yesterday"}, 400},
	}
	visit(t, calm(), func(s *site) {
		for _, tt := range tests {
			form := ""
			if tt.method != "GET" {
				form = "view=down"
			}
			if status, body := s.ask(tt.method, tt.path, form, tt.header...); status != tt.status {
				t.Errorf("%s %s %v: got %d %s, want %d", tt.method, tt.path, tt.header, status, body, tt.status)
			}
		}
		s.change(url.Values{"clients": {"2"}}.Encode()) // A change to wait for.
		s.listen("").until("clients", func(m sample) bool {
			if m.Controls.View != "up" {
				t.Errorf("controls: got %+v, want the view up", m.Controls)
			}
			return m.Controls.Clients == 2
		})
	})
}

func TestBookKeepsTheNewestEntries(t *testing.T) {
	t.Parallel()
	var log ledger.Log
	for i := range kept + 5 {
		next, _, changed := book(log, ledger.Entry{ID: fmt.Sprint(i)})
		if again, answer, changedAgain := book(next, ledger.Entry{ID: fmt.Sprint(i)}); changedAgain || !answer.Replay || len(again.Entries) != len(next.Entries) {
			t.Fatalf("entry %d again: got %+v, want a replay", i, answer)
		}
		if !changed {
			t.Fatalf("entry %d: was not booked", i)
		}
		log = next
	}
	if len(log.Entries) != kept || log.Entries[0].ID != "5" {
		t.Errorf("got %d entries from %s on, want %d from 5 on", len(log.Entries), log.Entries[0].ID, kept)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	var got sizes
	for _, size := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 1000} {
		got.add(size)
	}
	if want := (sizes{1, 1, 2, 2, 2, 2, 2, 2, 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var m meter
	if _, recent := m.next(); recent.percentile(50) != 0 {
		t.Errorf("of nothing: got %v, want 0", recent.percentile(50))
	}
	for i := range 101 {
		m.answered("a", 0, time.Duration(100-i)*time.Millisecond)
	}
	ended, recent := m.next()
	for p, want := range map[int]float64{0: 0, 50: 50, 99: 99, 100: 100} {
		if got := recent.percentile(p); got != want {
			t.Errorf("%d percent: got %v, want %v", p, got, want)
		}
	}
	for range recentTicks {
		ended, recent = m.next()
	}
	if ended.committed != 0 || len(recent.took) != 0 {
		t.Errorf("later: got %+v and %+v, want nothing", ended, recent)
	}
}
