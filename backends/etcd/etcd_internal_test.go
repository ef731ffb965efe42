package etcd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

// TestClasses: only what a server says before it does anything is a refusal. All errors are as clientv3 answers them.
func TestClasses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want error
	}{
		{rpctypes.ErrGRPCRequestTooLarge, backends.ErrRefused},
		{rpctypes.ErrGRPCTooManyOps, backends.ErrRefused},
		{rpctypes.ErrGRPCDuplicateKey, backends.ErrRefused},
		{rpctypes.ErrGRPCRequestTooManyRequests, backends.ErrRefused},
		{rpctypes.ErrGRPCPermissionDenied, backends.ErrRefused},
		{rpctypes.ErrGRPCInvalidAuthToken, backends.ErrRefused},
		{rpctypes.ErrGRPCAuthOldRevision, backends.ErrRefused},
		{rpctypes.ErrGRPCUserEmpty, backends.ErrRefused},
		{rpctypes.ErrGRPCNoSpace, backends.ErrUnknown},
		{rpctypes.ErrGRPCLeaderChanged, backends.ErrUnknown},
		{rpctypes.ErrGRPCNoLeader, backends.ErrUnknown},
		{rpctypes.ErrGRPCTimeout, backends.ErrUnknown},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, backends.ErrUnknown},
		{rpctypes.ErrGRPCTimeoutDueToConnectionLost, backends.ErrUnknown},
		{rpctypes.ErrGRPCStopped, backends.ErrUnknown},
		{rpctypes.ErrGRPCCorrupt, backends.ErrUnknown},
		{status.Error(codes.Unavailable, "error reading from server: EOF"), backends.ErrUnknown},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), backends.ErrUnknown},
		{status.Error(codes.Canceled, "grpc: the client connection is closing"), backends.ErrUnknown},
		{status.Error(codes.ResourceExhausted, "anything"), backends.ErrUnknown},
		{errors.New("anything"), backends.ErrUnknown},
	}
	for _, tt := range tests {
		err := new(DB).failure(t.Context(), t.Context(), "commit", "k", clientv3.ContextError(t.Context(), tt.err))
		if !errors.Is(err, tt.want) {
			t.Errorf("%v: got %v, want class %q", tt.err, err, tt.want)
		}
	}
}

// TestFailureOfAnEndedContext: an answer of the server wins, and then the caller's context over the DB's timeout.
func TestFailureOfAnEndedContext(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	tests := []struct {
		name         string
		ctx, limited context.Context
		err          error
		class, cause error
	}{
		{"the caller left", ended, ended, context.Canceled, backends.ErrUnknown, context.Canceled},
		{"the caller left, and the server refused", ended, ended, rpctypes.ErrTooManyRequests, backends.ErrRefused, rpctypes.ErrTooManyRequests},
		{"the timeout passed", t.Context(), late, context.DeadlineExceeded, backends.ErrUnknown, ErrTimeout},
	}
	for _, tt := range tests {
		err := new(DB).failure(tt.ctx, tt.limited, "commit", "k", tt.err)
		if !errors.Is(err, tt.class) || !errors.Is(err, tt.cause) {
			t.Errorf("%s: got %v, want class %q and cause %v", tt.name, err, tt.class, tt.cause)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	endpoints := []string{"127.0.0.1:1"}
	tests := []struct {
		client clientv3.Config
		config Config
		want   string
	}{
		{clientv3.Config{Endpoints: endpoints}, Config{Timeout: -1}, "etcd: open: Config.Timeout is negative: -1ns"},
		{clientv3.Config{Endpoints: endpoints}, Config{MaxTxnOps: 7}, "etcd: open: Config.MaxTxnOps is less than 8: 7"},
		{clientv3.Config{Endpoints: endpoints}, Config{MaxRequestBytes: -1}, "etcd: open: Config.MaxRequestBytes is negative: -1"},
		{clientv3.Config{Endpoints: endpoints, MaxUnaryRetries: 2}, Config{}, "MaxUnaryRetries is 2"},
		{clientv3.Config{Endpoints: endpoints, DialKeepAliveTime: time.Minute}, Config{}, "DialKeepAliveTime is 1m0s"},
		{clientv3.Config{Endpoints: endpoints, DialKeepAliveTime: -1}, Config{}, "DialKeepAliveTime is -1ns"},
		{clientv3.Config{Endpoints: endpoints, DialKeepAliveTimeout: -1}, Config{}, "DialKeepAliveTimeout is negative"},
		{clientv3.Config{}, Config{}, clientv3.ErrNoAvailableEndpoints.Error()},
	}
	for _, tt := range tests {
		db, err := Open(t.Context(), tt.client, tt.config)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
		if db != nil {
			t.Errorf("%q: got a DB", tt.want)
		}
	}
}

func TestClientDefaults(t *testing.T) {
	t.Parallel()
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	got, err := clientDefaults(clientv3.Config{}, config)
	if err != nil || got.MaxUnaryRetries != 1 || got.DialKeepAliveTime != keepAlive || got.DialKeepAliveTimeout != keepAliveTimeout || got.Logger == nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.MaxCallSendMsgSize <= config.MaxRequestBytes {
		t.Errorf("the client sends up to %d bytes, want more than %d, so that the server is asked", got.MaxCallSendMsgSize, config.MaxRequestBytes)
	}
	kept := clientv3.Config{MaxUnaryRetries: 1, DialKeepAliveTime: 7 * time.Second, DialKeepAliveTimeout: 3 * time.Second, DialTimeout: time.Minute}
	got, err = clientDefaults(kept, config)
	if err != nil || got.DialKeepAliveTime != kept.DialKeepAliveTime || got.DialKeepAliveTimeout != kept.DialKeepAliveTimeout || got.DialTimeout != kept.DialTimeout {
		t.Errorf("got %+v, %v, want what the user set", got, err)
	}
}

// TestNobodyThere: an Open without a server ends, and says so.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}, Config{Timeout: 50 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the timeout", err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{client: client}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("close: got %v", err)
		}
	}
	store := New[string](db, func(n int) int { return n })
	if _, err := store.Read(t.Context(), "k"); !errors.Is(err, ErrClosed) || !errors.Is(err, backends.ErrRefused) {
		t.Errorf("got %v, want it refused as closed", err)
	}
}

func TestNilFunctionsPanic(t *testing.T) {
	t.Parallel()
	of := func(int) iter.Seq2[int, int] { return nil }
	tests := []struct {
		want string
		make func()
	}{
		{"etcd: New: view is nil", func() { New[string, int, int](nil, nil) }},
		{"etcd: NewRows: of is nil", func() { NewRows[string, int, int, int](nil, nil, nil) }},
		{"etcd: NewRows: id is nil", func() { NewRows[string](nil, of, nil) }},
	}
	for _, tt := range tests {
		func() {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %v", got, tt.want)
				}
			}()
			tt.make()
		}()
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		version string
		safe    bool
	}{
		{"3.5.4", false}, {"3.4.99", false}, {"", false}, {"new", false},
		{"3.5.5", true}, {"3.6.0-rc.1", true}, {"3.7.3", true}, {"4.0.0", true},
	}
	for _, tt := range tests {
		if got := versionNumber(tt.version) >= minVersion; got != tt.safe {
			t.Errorf("%q: got safe %v, want %v", tt.version, got, tt.safe)
		}
	}
}

// TestNames: every text has one name, which has no slash, and no other text has it.
func TestNames(t *testing.T) {
	t.Parallel()
	names := escaped(codec.Text[string]())
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.SampledFrom([]byte("a/%2F.\x00\xff +"))).Draw(t, "text"))
		name, err := names.Encode(text)
		if err != nil || strings.Contains(name, "/") {
			t.Fatalf("got %q, %v", name, err)
		}
		if back, err := names.Decode(name); back != text || err != nil {
			t.Fatalf("%q: got %q, %v back", name, back, err)
		}
	})
	for _, foreign := range []string{"%41", "a b", "%", "%zz", "%2f"} {
		if text, err := names.Decode(foreign); err == nil {
			t.Errorf("%q: got %q, want an error: no text has that name", foreign, text)
		}
	}
}

// TestChunks: all rows, in order, and no transaction with more than the servers take.
func TestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		db := &DB{config: Config{MaxTxnOps: rapid.IntRange(8, 20).Draw(t, "ops"), MaxRequestBytes: 1600}}
		var rows []row
		for i, size := range rapid.SliceOf(rapid.IntRange(0, 1200)).Draw(t, "sizes") {
			rows = append(rows, row{name: fmt.Sprint(i), body: make([]byte, size)})
		}
		next := 0
		for _, chunk := range db.chunks(rows) {
			size := 0
			for _, r := range chunk {
				if r.name != fmt.Sprint(next) {
					t.Fatalf("got row %s, want %d", r.name, next)
				}
				next++
				size += r.size()
			}
			if len(chunk) == 0 || len(chunk) > db.config.MaxTxnOps-3 || size > db.config.MaxRequestBytes {
				t.Fatalf("got a chunk of %d rows and %d bytes", len(chunk), size)
			}
		}
		if next != len(rows) {
			t.Fatalf("got %d rows of %d", next, len(rows))
		}
	})
}
