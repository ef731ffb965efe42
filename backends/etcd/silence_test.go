package etcd_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
)

// empty is a server that has nothing. It is as strict as etcd's about clients that ask too often whether it is there.
type empty struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedMaintenanceServer
}

func (empty) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Version: "3.7.3"}, nil
}

func (empty) Txn(context.Context, *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	nothing := &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{}}}
	return &etcdserverpb.TxnResponse{Succeeded: true, Responses: []*etcdserverpb.ResponseOp{nothing, nothing}}, nil
}

func serve(listener net.Listener) (stop func()) {
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}))
	etcdserverpb.RegisterKVServer(server, empty{})
	etcdserverpb.RegisterMaintenanceServer(server, empty{})
	go server.Serve(listener)
	return server.Stop
}

// muted is a connection that hears nothing while silent is true.
type muted struct {
	net.Conn
	silent *atomic.Bool
}

func (m muted) Read(b []byte) (int, error) {
	for {
		n, err := m.Conn.Read(b)
		if err != nil || !m.silent.Load() {
			return n, err
		}
	}
}

// TestDeadConnectionIsClosed has the only server swallow everything. The client finds out by its keepalive, and connects anew.
func TestDeadConnectionIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.Listen(64 << 10)
		stop := serve(listener)
		defer stop()
		var silent atomic.Bool
		var dials atomic.Int64
		dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			dials.Add(1)
			conn, err := listener.DialContext(ctx)
			return muted{conn, &silent}, err
		})
		client := clientv3.Config{Endpoints: []string{"127.0.0.1:1"}, DialOptions: []grpc.DialOption{dialer}}
		db, err := etcd.Open(t.Context(), client, etcd.Config{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		store := etcd.New[string](db, func(n int) int { return n })
		if _, err := store.Read(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}

		silent.Store(true)
		begun, before := time.Now(), dials.Load()
		for dials.Load() == before {
			if time.Since(begun) > time.Minute {
				t.Fatal("the connection is still open after a minute")
			}
			if _, err := store.Read(t.Context(), "k"); !errors.Is(err, backends.ErrUnknown) {
				t.Fatalf("got %v from the black hole, want an unknown outcome", err)
			}
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(begun); took > 12*time.Second {
			t.Errorf("connected anew after %v, want 10 s of silence, 1 s for an answer, and a call", took)
		}

		silent.Store(false)
		time.Sleep(5 * time.Second)
		if _, err := store.Read(t.Context(), "k"); err != nil {
			t.Errorf("got %v from the server that is back, want an answer", err)
		}
	})
}
