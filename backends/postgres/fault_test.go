package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
	"github.com/goferry/goferry/internal/proxy"
)

func none() storetest.Record { return storetest.Record{} }

func logOf(id string) storetest.Record {
	return storetest.Record{Body: storetest.Log{Entries: []storetest.Entry{{ID: id}}}, Behind: true}
}

// behindProxy is a store that talks to the server through a proxy, all of it warm. A connection that hears nothing more
// holds its place in the pool for 15 seconds after it was given up, so there are more than one.
func behindProxy(t *testing.T) (*proxy.Proxy, storetest.Subject) {
	t.Helper()
	p, err := proxy.New("unix", server.Socket())
	if err != nil {
		t.Fatal(err)
	}
	connString := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", p.Addr().Port)
	config := newSchema(t)
	config.Writers = 1
	pool := newPool(t, connString, func(c *pgxpool.Config) {
		c.MaxConns = 8
		// The pool asks a connection that has been idle for a second whether it is alive: that would be what is hit.
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	})
	t.Cleanup(func() { p.Close() }) // Before the pool, which would wait for connections that hear nothing.
	s := kinds[0].Of(open(t, pool, config))
	warm(t, s)
	return p, s
}

// warm has every statement prepared.
func warm(t *testing.T, s storetest.Subject) {
	t.Helper()
	record, err := s.Commit(t.Context(), "warm", none(), logOf("warm"))
	if err == nil {
		record, err = s.Commit(t.Context(), "warm", record, record)
	}
	if err == nil {
		_, err = s.Project(t.Context(), "warm", record)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, s storetest.Subject, key string) storetest.Record {
	t.Helper()
	record, err := s.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestLostOnTheWay loses a request, or its reply, and has the server never answer. Whether it landed, the caller
// cannot know.
func TestLostOnTheWay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fault  proxy.Fault
		landed bool
	}{
		{"request lost", proxy.LoseRequest, false},
		{"reply lost", proxy.LoseReply, true},
		{"reply never comes", proxy.Silence, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, s := behindProxy(t)
			writes := []struct {
				op string
				do func(ctx context.Context, read storetest.Record) error
			}{
				{"create", func(ctx context.Context, _ storetest.Record) error {
					_, err := s.Commit(ctx, "k", none(), logOf("a"))
					return err
				}},
				{"commit", func(ctx context.Context, read storetest.Record) error {
					_, err := s.Commit(ctx, "k", read, logOf("b"))
					return err
				}},
				{"project", func(ctx context.Context, read storetest.Record) error {
					_, err := s.Project(ctx, "k", read)
					return err
				}},
				{"delete", func(ctx context.Context, read storetest.Record) error { return s.Delete(ctx, "k", read) }},
			}
			for _, w := range writes {
				if read := mustRead(t, s, "warm"); read.Fence == 0 {
					t.Fatal("the connection is not warm")
				}
				before := mustRead(t, s, "k")
				warm2(t, s, w.op)
				ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
				fired := p.Arm(tt.fault)
				if tt.fault == proxy.Silence {
					go func() {
						select {
						case <-fired:
							cancel()
						case <-ctx.Done():
						}
					}()
				}
				err := w.do(ctx, before)
				cancel()
				storetest.Await(t, "the fault", fired)
				if !errors.Is(err, backends.ErrUnknown) {
					t.Errorf("%s: got %v, want it unknown", w.op, err)
				}
				after := mustRead(t, s, "k") // The next call works.
				if landed := after.Fence != before.Fence; landed != tt.landed {
					t.Errorf("%s: landed: got %v, want %v", w.op, landed, tt.landed)
				}
				if !tt.landed {
					if err := w.do(t.Context(), before); err != nil {
						t.Errorf("%s, again: %v", w.op, err)
					}
				}
			}
		})
	}
}

// warm2 prepares the statement of one operation on the connection that is there now.
func warm2(t *testing.T, s storetest.Subject, op string) {
	t.Helper()
	stale := storetest.Record{Fence: 1 << 40}
	switch op {
	case "create":
		s.Commit(t.Context(), "warm", none(), none())
	case "commit":
		s.Commit(t.Context(), "warm", stale, none())
	case "project":
		s.Project(t.Context(), "warm", stale)
	case "delete":
		s.Delete(t.Context(), "warm", stale)
	}
}

// TestBlackHole has the connection pass nothing on any more. The caller leaves at its deadline, and the next call gets
// another connection.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	p, s := behindProxy(t)
	p.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Commit(ctx, "k", none(), logOf("a")); !errors.Is(err, backends.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want it unknown at the deadline", err)
	}
	if _, err := s.Commit(t.Context(), "k", none(), logOf("a")); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestServerIsDown: what was never sent is refused, and everything works again when the server is back.
func TestServerIsDown(t *testing.T) {
	t.Parallel()
	p, s := behindProxy(t)
	p.Down(true)
	s.Read(t.Context(), "k") // The connection that was open is found dead.
	if _, err := s.Commit(t.Context(), "k", none(), logOf("a")); !errors.Is(err, backends.ErrRefused) {
		t.Errorf("got %v, want it refused", err)
	}
	p.Down(false)
	if _, err := s.Commit(t.Context(), "k", none(), logOf("a")); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

// TestStandby has a pool that meets a standby, at first or later. What a standby says may be old.
func TestStandby(t *testing.T) {
	t.Parallel()
	config := newSchema(t)
	standby, err := server.Standby()
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	var failedOver atomic.Bool
	pool := newPool(t, server.ConnString("postgres"), func(c *pgxpool.Config) {
		c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
			if failedOver.Load() {
				c.Host = filepath.Dir(standby.Socket())
			}
			return nil
		}
	})
	defer pool.Close()
	db := open(t, pool, config)
	defer db.Close()
	s := kinds[0].Of(db)
	if _, err := s.Commit(t.Context(), "k", none(), logOf("a")); err != nil {
		t.Fatal(err)
	}
	failedOver.Store(true)
	pool.Reset()
	for _, key := range []string{"k", "absent"} {
		if record, err := s.Read(t.Context(), key); !errors.Is(err, backends.ErrRefused) || !errors.Is(err, postgres.ErrStandby) {
			t.Errorf("read %s: got %v, %v, want ErrStandby", key, record, err)
		}
	}
	if _, err := s.Commit(t.Context(), "other", none(), logOf("a")); !errors.Is(err, backends.ErrRefused) {
		t.Errorf("commit: got %v, want it refused", err)
	}
	if _, err := postgres.Open(t.Context(), pool, config); !errors.Is(err, postgres.ErrUnsafe) {
		t.Errorf("open: got %v, want ErrUnsafe", err)
	}
}

// TestSessionEnds has an administrator end the session of a write under way: he might have come after the COMMIT.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	config := newSchema(t)
	s := kinds[0].Of(open(t, pool, config))
	record, err := s.Commit(t.Context(), "k", none(), logOf("a"))
	if err != nil {
		t.Fatal(err)
	}
	held := lock(t, pool, config, "k")
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.Commit(t.Context(), "k", record, logOf("b")); !errors.Is(err, backends.ErrUnknown) || !strings.Contains(err.Error(), "57P01") {
			t.Errorf("got %v, want it unknown for 57P01", err)
		}
	})
	pid := awaitLockWait(t, pool, config)
	if _, err := pool.Exec(t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
		t.Error(err)
	}
	all.Wait()
	if err := held.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if got := mustRead(t, s, "k"); got.Fence != record.Fence {
		t.Errorf("fence: got %d, want %d", got.Fence, record.Fence)
	}
}

// TestNeighbours has one key of a group locked for longer than the session waits: the group fails, and all but that
// key are written on their own.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	config := newSchema(t)
	pool := newPool(t, server.ConnString("postgres"), func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["lock_timeout"] = "20ms"
	})
	db := open(t, pool, config)
	for _, err := range db.CommitTogether(t.Context(), []string{"a", "b", "c", "b"}, nil) {
		if err != nil && !errors.Is(err, backends.ErrConflict) {
			t.Fatal(err)
		}
	}
	s := kinds[0].Of(db)
	keys := []string{"c", "b", "a"}
	fences := fencesOf(t, s, keys)
	lock(t, pool, config, "b")
	errs := db.CommitTogether(t.Context(), append(keys, "nobody"), append(fences, 1))
	want := []error{nil, backends.ErrRefused, nil, backends.ErrConflict}
	for i, err := range errs {
		if !errors.Is(err, want[i]) {
			t.Errorf("write %d: got %v, want %v", i, err, want[i])
		}
	}
}

// TestTwiceInAGroup has two writes for one key in one statement: one of them is done, and knows it.
func TestTwiceInAGroup(t *testing.T) {
	t.Parallel()
	db := newDB(t, nil)
	s := kinds[0].Of(db)
	wantOne := func(errs []error) {
		t.Helper()
		var conflicts int
		for _, err := range errs {
			if errors.Is(err, backends.ErrConflict) {
				conflicts++
			} else if err != nil {
				t.Error(err)
			}
		}
		if conflicts != len(errs)-1 {
			t.Errorf("got %v, want one done and the others conflicts", errs)
		}
	}
	wantOne(db.CommitTogether(t.Context(), []string{"k", "k", "k"}, nil))
	wantOne(db.CommitTogether(t.Context(), []string{"k", "k", "k"}, fencesOf(t, s, []string{"k", "k", "k"})))
}

func fencesOf(t *testing.T, s storetest.Subject, keys []string) []backends.Fence {
	t.Helper()
	fences := make([]backends.Fence, len(keys))
	for i, key := range keys {
		fences[i] = mustRead(t, s, key).Fence
	}
	return fences
}

// TestGroupsDoNotDeadlock has the groups of two processes write the same keys, each in another order. A deadlock
// would be seen as a refusal.
func TestGroupsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	config := newSchema(t)
	var keys []string
	for n := range 50 {
		keys = append(keys, fmt.Sprint(n))
	}
	first := open(t, newPool(t, server.ConnString("postgres"), nil), config)
	for _, err := range first.CommitTogether(t.Context(), keys, nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	second := open(t, newPool(t, server.ConnString("postgres"), nil), config)
	var all sync.WaitGroup
	for i, db := range []*postgres.DB{first, second, first, second} {
		order := append(slices.Clone(keys[i*12:]), keys[:i*12]...)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		s := kinds[0].Of(db)
		all.Go(func() {
			for range 20 {
				for _, err := range db.CommitTogether(t.Context(), order, fencesOf(t, s, order)) {
					if err != nil && !errors.Is(err, backends.ErrConflict) {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if got := first.Stats().Transactions + second.Stats().Transactions; got != 1+4*20 {
		t.Errorf("transactions: got %d, want %d: no statement was refused and run again", got, 1+4*20)
	}
}

func TestGroupCommit(t *testing.T) {
	t.Parallel()
	const writers, each = 64, 20
	db := newDB(t, nil)
	s := kinds[0].Of(db)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			var record storetest.Record
			for range each {
				var err error
				if record, err = s.Commit(t.Context(), fmt.Sprint(w), record, record); err != nil {
					t.Errorf("commit: %v", err)
				}
			}
		})
	}
	all.Wait()
	got := db.Stats()
	if got.Operations != writers*each || got.Transactions > writers*each/3 {
		t.Errorf("got %+v, want %d operations in far fewer transactions", got, writers*each)
	}
	t.Logf("%.3f transactions a commit", float64(got.Transactions)/float64(got.Operations))
}

// statements counts what a pool sends: round trips, and statements other than BEGIN and COMMIT.
type statements struct{ trips, statements atomic.Int64 }

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.trips.Add(1)
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if !strings.HasPrefix(data.SQL, "BEGIN") && data.SQL != "COMMIT" {
		s.statements.Add(1)
	}
}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.trips.Add(1)
	s.statements.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestStatements counts what single calls cost: a commit is one statement in one round trip, and so is a projection, of
// however many rows.
func TestStatements(t *testing.T) {
	t.Parallel()
	var sent statements
	config := newSchema(t)
	db := open(t, newPool(t, server.ConnString("postgres"), func(c *pgxpool.Config) { c.ConnConfig.Tracer = &sent }), config)
	sent.trips.Store(0)
	sent.statements.Store(0)
	s := newRows(db)
	want := func(what string, err error, n int64) {
		t.Helper()
		if got, trips := sent.statements.Swap(0), sent.trips.Swap(0); err != nil || got != n || trips != n {
			t.Errorf("%s: got %d statements in %d round trips, %v, want %d", what, got, trips, err, n)
		}
	}
	record, err := s.Commit(t.Context(), "k", none(), none())
	want("create", err, 1)
	many := storetest.Record{Behind: true}
	for n := range 100 {
		many.Body.Entries = append(many.Body.Entries, storetest.Entry{ID: fmt.Sprint(n), N: n})
	}
	record, err = s.Commit(t.Context(), "k", record, many)
	want("commit", err, 1)
	_, err = s.ProjectRows(t.Context(), "k", record)
	want("project", err, 1)
	_, err = s.Missing(t.Context(), "k", record)
	want("missing", err, 1)
	_, err = s.Read(t.Context(), "k")
	want("read", err, 1)
}

func TestManyRows(t *testing.T) {
	t.Parallel()
	db := newDB(t, nil)
	storetest.ManyRows(t, kinds[2].Of(db), func() uint64 { return db.Stats().Transactions })
}

// TestNoText has keys and identities that PostgreSQL takes for no text. They never get into a group.
func TestNoText(t *testing.T) {
	t.Parallel()
	db := newDB(t, nil)
	s := newRows(db)
	for _, text := range []string{"a\x00b", "\xff", "\xc3"} {
		_, readErr := s.Read(t.Context(), text)
		_, commitErr := s.Commit(t.Context(), text, none(), none())
		_, rowsErr := s.Rows(t.Context(), text)
		putErr := s.Put(t.Context(), "k", []storetest.Entry{{ID: text}})[0]
		for _, err := range []error{readErr, commitErr, rowsErr, putErr, s.Delete(t.Context(), text, storetest.Record{Fence: 1})} {
			if !errors.Is(err, backends.ErrRefused) {
				t.Errorf("%q: got %v, want it refused", text, err)
			}
		}
	}
	if got := db.Stats().Operations; got != 0 {
		t.Errorf("operations: got %d, want none", got)
	}
}
