package etcdtest_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/internal/cutproxy"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/schedule"
)

var entry = storetest.Record{Body: storetest.Log{Entries: []storetest.Entry{{ID: "a", N: 1}}}, Behind: true}

func lose(who cutproxy.From, verdict cutproxy.Verdict) func(cutproxy.From) cutproxy.Verdict {
	return func(from cutproxy.From) cutproxy.Verdict {
		if from == who {
			return verdict
		}
		return cutproxy.Pass
	}
}

// TestOutcomes loses what one commit sends or should receive, and checks the class of its answer against the truth.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		judge  func(cutproxy.From) cutproxy.Verdict
		landed bool
		cut    bool // The connection, once the truth is known.
		cause  error
	}{
		{"reply lost", lose(cutproxy.Server, cutproxy.Drop), true, true, nil},
		{"reply never comes", lose(cutproxy.Server, cutproxy.Drop), true, false, etcd.ErrTimeout},
		{"request lost", lose(cutproxy.Client, cutproxy.Cut), false, false, nil},
		{"request never arrives", lose(cutproxy.Client, cutproxy.Drop), false, false, etcd.ErrTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxies, addresses := through(t, common.Endpoints()[:1])
			prefix := t.Name() + "/"
			watcher := newRows(openAs(t, prefix, common.Endpoints()...))
			db := openWith(t, clientv3.Config{Endpoints: addresses}, etcd.Config{Prefix: prefix})
			store := newRows(db)
			awaitAnswer(t, store)

			before := countOf(t, watcher)
			proxies[0].Judge(tt.judge)
			answer := make(chan error, 1)
			go func() {
				_, err := store.Commit(t.Context(), "k", storetest.Record{}, entry)
				answer <- err
			}()
			if tt.landed {
				before++
				for countOf(t, watcher) < before { // The watcher reads the cluster itself: no time passes unused.
				}
			}
			if tt.cut {
				proxies[0].Cut()
			}
			err := <-answer
			if !errors.Is(err, backends.ErrUnknown) {
				t.Errorf("got %v, want an unknown outcome", err)
			}
			if tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Errorf("got %v, want the cause %v", err, tt.cause)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v looks like the end of the caller's context", err)
			}
			if got := countOf(t, watcher); got != before {
				t.Errorf("records: got %d, want %d", got, before)
			}

			proxies[0].Judge(nil)
			proxies[0].Cut()
			settle(t, storetest.OfRowsBy(store, (*rowStore).ProjectRows))
		})
	}
}

func countOf(t *testing.T, store *rowStore) (n int) {
	t.Helper()
	for _, err := range store.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// settle submits the entry again, as who got an unknown outcome does, and wants it there once.
func settle(t *testing.T, s storetest.Subject) {
	t.Helper()
	retry := schedule.Spaced(time.Millisecond).And(schedule.Recurs(1000))
	if _, err := storetest.Pipeline(s, retry).Call(t.Context(), "k", entry.Body.Entries); err != nil {
		t.Fatal(err)
	}
	record, err := s.Read(t.Context(), "k")
	if !slices.Equal(record.Body.Entries, entry.Body.Entries) || record.Behind || err != nil {
		t.Errorf("got %v, behind %v, %v, want the entry once", record.Body.Entries, record.Behind, err)
	}
	if shown, err := s.Shown(t.Context(), "k"); !slices.Equal(shown, entry.Body.Entries) || err != nil {
		t.Errorf("got rows %v, %v, want the entry once", shown, err)
	}
}

// TestBlackHole has one of three servers swallow everything. A call that goes to it times out, and the next goes elsewhere.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	proxies, addresses := through(t, common.Endpoints())
	store := newRows(openWith(t, clientv3.Config{Endpoints: addresses}, etcd.Config{Prefix: t.Name() + "/"}))
	read := func() error {
		_, err := store.Read(t.Context(), "k")
		return err
	}
	for range 3 * len(addresses) { // So that every connection is in use.
		awaitAnswer(t, store)
	}
	proxies[0].Judge(func(cutproxy.From) cutproxy.Verdict { return cutproxy.Drop })
	err := read()
	for err == nil {
		err = read()
	}
	if !errors.Is(err, etcd.ErrTimeout) {
		t.Errorf("got %v from the black hole, want a timeout", err)
	}
	if err := read(); err != nil {
		t.Errorf("the next call: got %v, want success", err)
	}
}

// TestDeadConnectionIsClosed has the only server swallow everything. The client finds out by its keepalive, and connects anew. This
// takes 11 seconds: etcd's servers and gRPC allow no shorter ones.
func TestDeadConnectionIsClosed(t *testing.T) {
	t.Parallel()
	proxies, addresses := through(t, common.Endpoints()[:1])
	var dials atomic.Int64
	dialer := grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	})
	client := clientv3.Config{Endpoints: addresses, DialOptions: []grpc.DialOption{dialer}}
	store := newRows(openWith(t, client, etcd.Config{Prefix: t.Name() + "/", Timeout: time.Second}))
	awaitAnswer(t, store)
	before := dials.Load()
	proxies[0].Judge(func(cutproxy.From) cutproxy.Verdict { return cutproxy.Drop })
	began := time.Now()
	for dials.Load() == before {
		if _, err := store.Read(t.Context(), "k"); !errors.Is(err, backends.ErrUnknown) {
			t.Fatalf("got %v from the black hole, want an unknown outcome", err)
		}
	}
	t.Logf("connected anew after %v", time.Since(began))
	proxies[0].Judge(nil)
	proxies[0].Cut()
	settle(t, storetest.OfRows(store))
}

// TestNoWriteIsSentTwice has the client believe that a server gave up on a write that landed. A client as etcd makes it sends the
// write again, and answers the caller with the refusal of its own second try.
func TestNoWriteIsSentTwice(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	gaveUp := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, opts...)
		if method == "/etcdserverpb.KV/Txn" && err == nil && sent.Add(1) == 1 {
			return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
		}
		return err
	})
	config := clientv3.Config{Endpoints: common.Endpoints(), DialOptions: []grpc.DialOption{gaveUp}, Logger: zap.NewNop()}

	store := newRows(openWith(t, config, etcd.Config{Prefix: t.Name()}))
	_, err := store.Commit(t.Context(), "k", storetest.Record{}, entry)
	if !errors.Is(err, backends.ErrUnknown) || sent.Load() != 1 {
		t.Errorf("got %v after %d transactions, want an unknown outcome after 1", err, sent.Load())
	}

	sent.Store(0)
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	key := t.Name() + "/plain"
	answer, err := client.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).Then(clientv3.OpPut(key, "")).Commit()
	if err != nil || answer.Succeeded || sent.Load() != 2 {
		t.Errorf("a client as it comes: got %v, %v after %d transactions, want its own write refused after 2", answer, err, sent.Load())
	}
}
