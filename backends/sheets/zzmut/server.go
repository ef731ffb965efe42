package sheetstest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/api/option"
	"google.golang.org/api/sheets/v4"
)

// Options configure a [Server]. The zero value is a strict server without
// quota or faults.
type Options struct {
	// Profile picks a reading of undocumented behaviour. Default P1.
	Profile Profile

	// TB, when set, is failed by a request of a kind that the server does not
	// model. A *testing.T, a *testing.B and a *rapid.T will do. Without it such
	// a request is only answered 400 and kept for [Server.Unsupported].
	TB interface {
		Errorf(format string, args ...any)
	}

	// MaxCells limits the cells of one spreadsheet, blank ones included.
	// Default 10,000,000.
	MaxCells int64

	// Quota allows 60 reads and 60 writes in a minute of package time and
	// answers the rest 429. Default off.
	Quota bool

	// Faults decides what goes wrong with a call; see [Server.SetFaults].
	Faults func(Call) Fault

	_ struct{}
}

// Server is an in-memory Google Sheets service. Create it with [New]. All its
// methods may be called at once from many goroutines.
type Server struct {
	traits   traits
	tb       interface{ Errorf(string, ...any) }
	maxCells int64
	quotaOn  bool
	ids      atomic.Uint32

	mu       sync.Mutex // Never held while a fault sleeps or a hook runs.
	faults   func(Call) Fault
	shelves  map[string]*shelf
	late     []change
	injected map[Op]map[int]Fault
	stats    map[Op]Stat
	calls    map[Op]int
	quota    quota
	unknown  []string
}

// New returns an empty server. It panics on an unknown profile.
func New(opts Options) *Server {
	s := &Server{
		traits:   opts.Profile.traits(),
		tb:       opts.TB,
		maxCells: opts.MaxCells,
		quotaOn:  opts.Quota,
		faults:   opts.Faults,
		shelves:  map[string]*shelf{},
		injected: map[Op]map[int]Fault{},
		stats:    map[Op]Stat{},
		calls:    map[Op]int{},
	}
	if s.maxCells == 0 {
		s.maxCells = defaultMaxCells
	}
	return s
}

// unsupported records a request that the service would do and this server
// cannot.
func (s *Server) unsupported(what string) {
	s.mu.Lock()
	s.unknown = append(s.unknown, what)
	s.mu.Unlock()
	if s.tb != nil {
		s.tb.Errorf("sheetstest: %s is not modelled", what)
	}
}

// Client returns an HTTP client whose requests reach the server without a
// socket or a goroutine, in the caller's goroutine and under its context.
func (s *Server) Client() *http.Client { return &http.Client{Transport: transport{s}} }

// Service returns the Google client on top of [Server.Client].
func (s *Server) Service(ctx context.Context) (*sheets.Service, error) {
	return sheets.NewService(ctx, option.WithHTTPClient(s.Client()))
}

// Listen serves on a free local port. The returned function closes the port
// and waits for the calls that are under way.
func (s *Server) Listen() (url string, shut func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("sheetstest: %w", err)
	}
	web := &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	web.Start()
	return web.URL, func() {
		web.CloseClientConnections() // Ends the contexts of hanging calls.
		web.Close()
	}, nil
}

// Create makes a spreadsheet with one tab, "Sheet1" with id 0, and returns its
// id.
func (s *Server) Create(title string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &book{id: s.nextBookID(), title: title, tabs: []*tab{newTab(0, "Sheet1")}}
	s.publish(b)
	return b.id
}

// Copy makes a copy of a spreadsheet, with its tabs, ids and metadata, as a
// person does in Drive, and returns the copy's id.
func (s *Server) Copy(spreadsheetID string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shelves[spreadsheetID]
	if sh == nil {
		return "", fmt.Errorf("sheetstest: copy %q: no such spreadsheet", spreadsheetID)
	}
	b := *sh.newest()
	b.id, b.title = s.nextBookID(), "Copy of "+b.title
	s.publish(&b)
	return b.id, nil
}

// random returns ids that look drawn and repeat from run to run.
func (s *Server) random() int64 { return int64(s.ids.Add(1)*2_654_435_761>>1 | 1) }

// Stat counts the calls of one operation.
type Stat struct {
	Calls int
	// Sent and Received are the bytes of the request and answer bodies.
	Sent, Received int64
}

// Stats returns the counts since the server was made or [Server.ResetStats]
// was called. Calls that failed count too.
func (s *Server) Stats() map[Op]Stat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.stats)
}

// ResetStats sets the counts of [Server.Stats] to zero.
func (s *Server) ResetStats() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stats)
}

// Unsupported lists the requests that the server refused because it does not
// model their kind.
func (s *Server) Unsupported() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unknown)
}
