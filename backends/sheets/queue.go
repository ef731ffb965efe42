package sheets

import (
	"sync"
	"time"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/ferry"
)

// Table is one table of the spreadsheet, for [Queue.Initialize].
type Table struct {
	// Name is the logical name, and the title of the visible sheet.
	Name string
	// Key is the header of the key column.
	Key string
	// Columns are the headers in their order, the key's included. _version is added at the end if it is missing.
	Columns []string
	_       struct{}
}

// Config says how a process works with a queue. The zero value is usable.
type Config struct {
	// Tables are those that Initialize sets up. A process that only submits or processes needs none.
	Tables []Table
	// MaxAttempts is how often a transaction is claimed before it fails. Default 3.
	MaxAttempts int
	// Lease is how long another process leaves a claimed or incomplete transaction alone. No safety rests on it.
	// Default 5 minutes.
	Lease time.Duration
	// Sync says who brings the visible sheets up to date. Default SyncOff.
	Sync Sync
	// Fence picks the service's operation that refuses a second writer. Every process of a spreadsheet must use
	// the same. Default MetadataFence.
	Fence FenceKind
	// Editors may edit the protected internal sheets, beside the owner. Default nobody else.
	Editors []string
	// WarnOnly protects the internal sheets by a warning only: for processes with several identities.
	WarnOnly bool
	// ShowInternal leaves the internal sheets visible when they are made. Default hidden.
	ShowInternal bool
	// Ferry bounds Submit. Its MaxWeight and BatchTimeout are the queue's own unless they are set.
	Ferry ferry.Config
	_     struct{}
}

// Sync says who brings the visible sheets up to date.
type Sync int

const (
	// SyncOff leaves it to calls of [Queue.SyncProjection].
	SyncOff Sync = iota
	// SyncSweeper makes [Queue.Run] do it, too.
	SyncSweeper
)

// FenceKind is a way to refuse a second writer; see the package documentation.
type FenceKind int

const (
	// MetadataFence uses the ids of developer metadata.
	MetadataFence FenceKind = iota
	// SwapFence uses the ids of sheets. Each write replaces a sheet.
	SwapFence
)

const (
	defaultMaxAttempts = 3
	defaultLease       = 5 * time.Minute
	// freshFor is how long an answer stands for a read. It bounds the window in which a person's edit of an
	// internal sheet is only detected, not waited for.
	freshFor = 2 * time.Second
)

// Queue is the write queue of one spreadsheet. Any number of goroutines and processes may use one each at once: the
// fence keeps them apart. Make one with [Open].
type Queue struct {
	id     string
	config Config
	client *grid.Client
	fence  *fence.Fence
	lanes  *ferry.Ferry[string, Transaction, submitted]

	mu      sync.Mutex
	last    *state             // guarded by mu: the newest that was seen, nil if the next read must be cold
	seen    int64              // guarded by mu: the highest commit number that was read or made
	rivals  int64              // guarded by mu: the highest that somebody's marker was seen for
	mine    map[int64][]string // guarded by mu: the tokens under which this process tried to claim, by commit number
	edited  int64              // guarded by mu: edits that were detected and are not yet counted in the fence
	edit    int64              // guarded by mu: the commit whose rows were found edited, and are taken as they are
	headers map[string]map[string]int
	// headers, guarded by mu: the columns of canonical sheets by title and header, a hint
}

// Open makes the queue of the spreadsheet id. It reads and writes nothing. It panics if a number in config is negative
// or the ferry's part is not valid, and names it.
func Open(service *sheetsv4.Service, id string, config Config) *Queue {
	switch {
	case service == nil:
		panic("sheets: Open: service is nil")
	case config.MaxAttempts < 0:
		panic("sheets: Config.MaxAttempts is negative")
	case config.Lease < 0:
		panic("sheets: Config.Lease is negative")
	}
	if config.MaxAttempts == 0 {
		config.MaxAttempts = defaultMaxAttempts
	}
	if config.Lease == 0 {
		config.Lease = defaultLease
	}
	kind := fence.Metadata()
	if config.Fence == SwapFence {
		kind = fence.Swap()
	}
	client := grid.NewClient(service, id)
	q := &Queue{
		id: id, config: config, client: client, mine: map[int64][]string{}, headers: map[string]map[string]int{},
		fence: fence.New(client, kind, grid.Protection{Editors: config.Editors, WarningOnly: config.WarnOnly}),
	}
	q.lanes = q.newLanes()
	return q
}
