package etcdtest_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/internal/proxy"
	"github.com/goferry/goferry/schedule"
)

var entry = storetest.Record{Body: storetest.Log{Entries: []storetest.Entry{{ID: "a", N: 1}}}, Behind: true}

// TestOutcomes loses what one commit sends or should receive, and checks the class of its answer against the truth.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		judge  func(proxy.From) proxy.Verdict
		landed bool
		cut    bool // The connection, once the truth is known.
		cause  error
	}{
		{"reply lost", proxy.Only(proxy.Server, proxy.Drop), true, true, nil},
		{"reply never comes", proxy.Only(proxy.Server, proxy.Drop), true, false, etcd.ErrTimeout},
		{"request lost", proxy.Only(proxy.Client, proxy.Cut), false, false, nil},
		{"request never arrives", proxy.Only(proxy.Client, proxy.Drop), false, false, etcd.ErrTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxies, addresses := through(t, common.Endpoints()[:1])
			prefix := newPrefix()
			o := outcomes{
				proxy:   proxies[0],
				store:   newRows(openWith(t, clientv3.Config{Endpoints: addresses}, etcd.Config{Prefix: prefix})),
				watcher: newRows(openAs(t, prefix, common.Endpoints()...)),
			}
			key, landed, err := "k", false, error(nil)
			for n := range 10 {
				key = fmt.Sprint("k", n)
				landed, err = o.commit(t, key, tt.judge, tt.landed, tt.cut)
				if landed == tt.landed || !tt.landed {
					break
				}
				// A server that has no leader, or no time, refuses a write, and that answer was lost: it proves nothing.
			}
			if landed != tt.landed {
				t.Errorf("landed: got %v, want %v", landed, tt.landed)
			}
			if !errors.Is(err, backends.ErrUnknown) {
				t.Errorf("got %v, want an unknown outcome", err)
			}
			if tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Errorf("got %v, want the cause %v", err, tt.cause)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v looks like the end of the caller's context", err)
			}
			settle(t, storetest.OfRowsBy(o.store, (*rowStore).ProjectRows), key)
		})
	}
}

type outcomes struct {
	proxy   *proxy.Proxy
	store   *rowStore // Behind the proxy.
	watcher *rowStore // It talks to the cluster itself.
}

// commit is a commit of a new record while the proxy judges. It answers the truth too.
func (o outcomes) commit(t *testing.T, key string, judge func(proxy.From) proxy.Verdict, lands, cut bool) (landed bool, err error) {
	t.Helper()
	fenceOf(t, o.store, key) // The connection is open then.
	o.proxy.Judge(judge)
	answer := make(chan error, 1)
	go func() {
		_, err := o.store.Commit(t.Context(), key, storetest.Record{}, entry)
		answer <- err
	}()
	if lands {
		storetest.Until(t, "a record or an answer", func() bool { return fenceOf(t, o.watcher, key) != 0 || len(answer) > 0 })
	}
	if cut {
		o.proxy.Cut()
	}
	err = storetest.Await(t, "an answer", answer)
	landed = fenceOf(t, o.watcher, key) != 0
	o.proxy.Judge(nil)
	o.proxy.Cut()
	return landed, err
}

// settle submits the entry again, as who got an unknown outcome does, and wants it there once.
func settle(t *testing.T, s storetest.Subject, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	retry := schedule.Spaced(time.Millisecond)
	if _, err := storetest.Pipeline(s, retry).Call(ctx, key, entry.Body.Entries); err != nil {
		t.Fatal(err)
	}
	record, err := s.Read(ctx, key)
	if !slices.Equal(record.Body.Entries, entry.Body.Entries) || record.Behind || err != nil {
		t.Errorf("got %v, behind %v, %v, want the entry once", record.Body.Entries, record.Behind, err)
	}
	if shown, err := s.Shown(ctx, key); !slices.Equal(shown, entry.Body.Entries) || err != nil {
		t.Errorf("got rows %v, %v, want the entry once", shown, err)
	}
}

// TestBlackHole has one of three servers swallow everything. A call that goes to it times out, and later ones go elsewhere.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	proxies, addresses := through(t, common.Endpoints())
	store := newRows(openWith(t, clientv3.Config{Endpoints: addresses}, etcd.Config{Prefix: newPrefix(), Timeout: time.Second}))
	for range 3 * len(addresses) { // So that every connection is in use.
		fenceOf(t, store, "k")
	}
	var swallowed atomic.Int64
	proxies[0].Judge(func(proxy.From) proxy.Verdict {
		swallowed.Add(1)
		return proxy.Drop
	})
	storetest.Until(t, "a call into the black hole", func() bool {
		_, err := store.Read(t.Context(), "k")
		if err != nil && !errors.Is(err, backends.ErrUnknown) {
			t.Fatal(err)
		}
		return errors.Is(err, etcd.ErrTimeout) && swallowed.Load() > 0
	})
	fenceOf(t, store, "k")
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

	store := newRows(openWith(t, config, etcd.Config{Prefix: newPrefix()}))
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
	key := newPrefix() + "plain"
	answer, err := client.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).Then(clientv3.OpPut(key, "")).Commit()
	if err != nil || answer.Succeeded || sent.Load() != 2 {
		t.Errorf("a client as it comes: got %v, %v after %d transactions, want its own write refused after 2", answer, err, sent.Load())
	}
}
