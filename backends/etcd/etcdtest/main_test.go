package etcdtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/backends/internal/contract"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/internal/proxy"
)

// common is the cluster of all tests that leave its nodes alone. Each has a prefix of its own.
var common *etcdtest.Cluster

// calm is for checks of single calls, which an election fails: on a busy machine a leader is silent for a second now and then.
var calm = etcdtest.Config{ElectionTimeout: 5 * time.Second}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	preset("rapid.checks", "10") // A step of a model is a dozen calls to a cluster.
	dir, err := os.MkdirTemp("", "etcdtest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if common, err = etcdtest.Start(dir, calm); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	common.Close()
	// The nodes leave idle connections between them to net/http.
	if err := goleak.Find(
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// preset sets a flag that the command line leaves alone.
func preset(name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

var prefixes atomic.Int64

// newPrefix is not the name of a test, which runs more than once with -count.
func newPrefix() string { return fmt.Sprintf("test%d/", prefixes.Add(1)) }

// open answers a new DB with data of its own on a cluster.
func open(t *testing.T, endpoints ...string) *etcd.DB {
	t.Helper()
	return openAs(t, newPrefix(), endpoints...)
}

func openAs(t *testing.T, prefix string, endpoints ...string) *etcd.DB {
	t.Helper()
	return openWith(t, clientv3.Config{Endpoints: endpoints}, etcd.Config{Prefix: prefix, Timeout: 10 * time.Second})
}

func openWith(t *testing.T, client clientv3.Config, config etcd.Config) *etcd.DB {
	t.Helper()
	db, err := etcd.Open(t.Context(), client, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// start is a cluster of the test's own.
func start(t *testing.T, config etcdtest.Config) *etcdtest.Cluster {
	t.Helper()
	cluster, err := etcdtest.Start(t.TempDir(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func leaderOf(t *testing.T, cluster *etcdtest.Cluster) (leader int) {
	t.Helper()
	storetest.Until(t, "a leader", func() bool {
		leader = cluster.Leader()
		return leader >= 0
	})
	return leader
}

// fenceOf reads until there is an answer: the cluster has a leader then, and a connection of the store is in use.
func fenceOf(t *testing.T, store *rowStore, key string) (fence backends.Fence) {
	t.Helper()
	storetest.Until(t, "an answer", func() bool {
		record, err := store.Read(t.Context(), key)
		if err != nil && !errors.Is(err, backends.ErrUnknown) {
			t.Fatal(err)
		}
		fence = record.Fence
		return err == nil
	})
	return fence
}

// through is a proxy before each endpoint, and where clients find them.
func through(t *testing.T, endpoints []string) (proxies []*proxy.Proxy, addresses []string) {
	t.Helper()
	for _, endpoint := range endpoints {
		p, err := proxy.New("tcp", endpoint)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		proxies, addresses = append(proxies, p), append(addresses, p.Addr().String())
	}
	return proxies, addresses
}

var kinds = storetest.Kinds(
	func(db *etcd.DB) storetest.Views { return etcd.New[string](db, storetest.Show) }, newRows)

type rowStore = etcd.RowStore[string, storetest.Log, string, storetest.Entry]

func newRows(db *etcd.DB) *rowStore {
	return etcd.NewRows[string](db, storetest.Of, storetest.Entry.Ident)
}

// contractSubjects are both kinds for the checks of single calls.
var contractSubjects = map[string]func(db *etcd.DB) contract.Subject{
	"views": func(db *etcd.DB) contract.Subject {
		s := etcd.New[string](db, slices.Clone[[]string])
		return contract.Subject{
			Store: s, Settle: s.Project, Delete: s.Delete,
			View: func(ctx context.Context, key string) ([]string, error) {
				view, _, err := s.View(ctx, key)
				return view, err
			},
		}
	},
	"rows": func(db *etcd.DB) contract.Subject {
		s := etcd.NewRows[string](db, contract.RowsOf, func(row string) string { return row })
		return contract.Subject{Store: s, Settle: s.Clear, Delete: s.Delete, View: s.Rows, Rows: s}
	},
}
