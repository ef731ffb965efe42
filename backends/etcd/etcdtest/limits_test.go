package etcdtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/backends/internal/storetest"
)

func logOf(n int, id string) storetest.Log {
	var log storetest.Log
	for i := range n {
		log.Entries = append(log.Entries, storetest.Entry{ID: fmt.Sprint(id, i), N: i})
	}
	return log
}

func mustCommit(t *testing.T, s storetest.Common, key string, read storetest.Record, log storetest.Log) storetest.Record {
	t.Helper()
	stored, err := s.Commit(t.Context(), key, read, storetest.Record{Body: log, Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// counted has a client count its requests.
func counted(endpoints []string, requests *atomic.Int64) clientv3.Config {
	count := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		requests.Add(1)
		return invoke(ctx, method, request, reply, conn, opts...)
	}
	return clientv3.Config{Endpoints: endpoints, DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(count)}}
}

// TestTransactions counts what reaches the servers: one transaction for a commit, and for a projection as many as its rows need. Only
// where one is not enough it is asked first which rows are missing, in as many requests.
func TestTransactions(t *testing.T) {
	t.Parallel()
	cluster := start(t, etcdtest.Config{Nodes: 1}) // Alone: the others' writes are not ours.
	var requests atomic.Int64
	store := newRows(openWith(t, counted(cluster.Endpoints(), &requests), etcd.Config{Timeout: 10 * time.Second}))
	views := etcd.New[string](open(t, cluster.Endpoints()...), storetest.Show)
	tests := []struct {
		rows           int
		writes, asking int64
	}{{0, 1, 0}, {1, 1, 0}, {100, 1, 0}, {125, 1, 0}, {126, 2, 2}, {250, 2, 2}, {1000, 8, 8}}
	for _, tt := range tests {
		key := fmt.Sprint(tt.rows)
		before := cluster.Writes()
		record := mustCommit(t, store, key, storetest.Record{}, logOf(tt.rows, ""))
		if got := cluster.Writes() - before; got != 1 {
			t.Errorf("commit: got %d transactions, want 1", got)
		}
		before = cluster.Writes()
		requests.Store(0)
		if left, err := store.ProjectRows(t.Context(), key, record); len(left) > 0 || err != nil {
			t.Fatalf("%d rows: got %v, %v, want nothing left", tt.rows, left, err)
		}
		if got, all := cluster.Writes()-before, requests.Load(); got != tt.writes || all != tt.writes+tt.asking {
			t.Errorf("projection of %d rows: got %d transactions in %d requests, want %d in %d", tt.rows, got, all, tt.writes, tt.writes+tt.asking)
		}
		if rows, err := store.Rows(t.Context(), key); !slices.Equal(rows, record.Body.Entries) || err != nil {
			t.Errorf("got %d rows, %v, want %d in order", len(rows), err, tt.rows)
		}
		if held, err := store.Read(t.Context(), key); held.Behind || err != nil {
			t.Errorf("%d rows: got behind %v, %v", tt.rows, held.Behind, err)
		}
	}
	record := mustCommit(t, views, "k", storetest.Record{}, logOf(3, ""))
	before := cluster.Writes()
	if err := views.Project(t.Context(), "k", record); err != nil || cluster.Writes() != before+1 {
		t.Errorf("projection of a view: got %v, %d transactions, want 1", err, cluster.Writes()-before)
	}
}

// TestStaleProjectionOfManyRows has a rival commit while chunks are written: the marker stays.
func TestStaleProjectionOfManyRows(t *testing.T) {
	t.Parallel()
	store := newRows(open(t, common.Endpoints()...))
	old := mustCommit(t, store, "k", storetest.Record{}, logOf(300, ""))
	mustCommit(t, store, "k", old, logOf(301, ""))
	if _, err := store.ProjectRows(t.Context(), "k", old); !errors.Is(err, backends.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	if rows, err := store.Rows(t.Context(), "k"); len(rows) > 0 || err != nil {
		t.Errorf("got %d rows, %v of a stale projection, want none", len(rows), err)
	}
	if held, err := store.Read(t.Context(), "k"); !held.Behind || err != nil {
		t.Errorf("got behind %v, %v, want true", held.Behind, err)
	}
}

// TestTooLarge: what no server takes is refused by name, and nothing else is.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	db := open(t, common.Endpoints()...)
	store, views := newRows(db), etcd.New[string](db, storetest.Show)
	big := func(size int) storetest.Log {
		return storetest.Log{Entries: []storetest.Entry{{ID: strings.Repeat("x", size)}}}
	}
	const limit = 3 << 19
	fits := mustCommit(t, store, "fits", storetest.Record{}, big(limit-1000))
	tests := []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"a record, found here", func(ctx context.Context) error {
			_, err := store.Commit(ctx, "a", storetest.Record{}, storetest.Record{Body: big(2 * limit)})
			return err
		}},
		{"a record, found by the server", func(ctx context.Context) error {
			_, err := store.Commit(ctx, "a", storetest.Record{}, storetest.Record{Body: big(limit - 60)})
			return err
		}},
		{"a row put", func(ctx context.Context) error {
			return store.Put(ctx, "b", big(limit).Entries)[0]
		}},
		{"a row of a projection", func(ctx context.Context) error {
			left, err := store.ProjectRows(ctx, "fits", fits)
			return errors.Join(err, left[fits.Body.Entries[0].ID])
		}},
		{"a view", func(ctx context.Context) error {
			tall := etcd.New[string](db, func(storetest.Log) string { return strings.Repeat("x", limit) })
			return tall.Project(ctx, "fits", fits)
		}},
	}
	for _, tt := range tests {
		if err := tt.call(t.Context()); !errors.Is(err, backends.ErrRefused) || !errors.Is(err, etcd.ErrTooLarge) {
			t.Errorf("%s: got %.200v, want it refused as too large", tt.name, err)
		}
	}
	if held, err := views.Read(t.Context(), "a"); held.Fence != 0 || err != nil {
		t.Errorf("got fence %d, %v of what was refused, want none", held.Fence, err)
	}
}

// TestManyLargeRows has rows that fit only a few to a request.
func TestManyLargeRows(t *testing.T) {
	t.Parallel()
	store := etcd.NewRows[string](open(t, common.Endpoints()...), storetest.Of, storetest.Entry.Ident)
	var rows []storetest.Entry
	for i := range 12 {
		rows = append(rows, storetest.Entry{ID: fmt.Sprint(i, "-", strings.Repeat("x", 100<<10)), N: i})
	}
	if err := errors.Join(store.Put(t.Context(), "k", rows)...); err != nil {
		t.Error(err)
	}
	if got, err := store.Rows(t.Context(), "k"); !slices.Equal(got, rows) || err != nil {
		t.Errorf("got %d rows, %v, want %d in order", len(got), err, len(rows))
	}
}

// TestNoSpace crosses the quota of a server with several writes at once. It answers those that are in flight then with a
// refusal, and applies them: so their outcome has to be unknown.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	cluster := start(t, etcdtest.Config{Nodes: 1, QuotaBytes: 16 << 20})
	store := newRows(open(t, cluster.Endpoints()...))
	body := storetest.Log{Entries: []storetest.Entry{{ID: strings.Repeat("x", 256<<10)}}}
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	last := make([]string, 16) // What each writer wrote when the server was full.
	var all sync.WaitGroup
	for w := range last {
		all.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprint(w, "-", n)
				_, err := store.Commit(ctx, key, storetest.Record{}, storetest.Record{Body: body})
				switch {
				case err != nil && strings.Contains(err.Error(), "space exceeded"):
					last[w] = key
					if !errors.Is(err, backends.ErrUnknown) {
						t.Errorf("got %v, want an unknown outcome", err)
					}
					return
				case err != nil && ctx.Err() != nil:
					t.Errorf("the server never was full: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	landed := 0
	for _, key := range last {
		if fenceOf(t, store, key) != 0 {
			landed++
		}
	}
	t.Logf("%d of %d writes that were answered with too little space had landed", landed, len(last))
}

func TestKeysWithSlashes(t *testing.T) {
	t.Parallel()
	store := newRows(open(t, common.Endpoints()...))
	keys := []string{"", "/", "a", "a/", "a/b", "a/b/", "a%2Fb", "a\x00", "\xff", "a b", ".."}
	for i, key := range keys {
		record := mustCommit(t, store, key, storetest.Record{}, logOf(2, fmt.Sprint(key, i, "/")))
		if left, err := store.ProjectRows(t.Context(), key, record); len(left) > 0 || err != nil {
			t.Fatalf("key %q: got %v, %v", key, left, err)
		}
	}
	for i, key := range keys {
		rows, err := store.Rows(t.Context(), key)
		if want := logOf(2, fmt.Sprint(key, i, "/")).Entries; len(rows) != len(want) || err != nil {
			t.Errorf("key %q: got rows %v, %v, want %v", key, rows, err, want)
		}
	}
	var listed []string
	for key, err := range store.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, key)
	}
	slices.Sort(listed)
	if want := slices.Sorted(slices.Values(keys)); !slices.Equal(listed, want) {
		t.Errorf("got keys %q, want %q", listed, want)
	}
	held, err := store.Read(t.Context(), "a")
	if err := errors.Join(err, store.Delete(t.Context(), "a", held)); err != nil {
		t.Fatal(err)
	}
	if rows, err := store.Rows(t.Context(), "a/b"); len(rows) != 2 || err != nil {
		t.Errorf("after the delete of a: got rows %v, %v of a/b, want both", rows, err)
	}
}
