package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/goferry/goferry/backends"
)

// Config is how a DB uses its cluster. Its zero value is the default in every field.
type Config struct {
	// Prefix begins every key of the DB in etcd. Default "goferry/". No other program should write below it, and no
	// other DB's prefix should begin with it.
	Prefix string
	// Timeout bounds every call to the cluster, beside the caller's own deadline. A listing is one call per page. Default 3 s,
	// in which a cluster usually elects a new leader.
	Timeout time.Duration
	// MaxTxnOps is the servers' --max-txn-ops. Default 128, which is also theirs. At least 8.
	MaxTxnOps int
	// MaxRequestBytes is the servers' --max-request-bytes. Default 1.5 MiB, which is also theirs.
	MaxRequestBytes int

	_ struct{}
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Timeout < 0:
		return c, fmt.Errorf("Config.Timeout is negative: %v", c.Timeout)
	case c.MaxTxnOps != 0 && c.MaxTxnOps < 8:
		return c, fmt.Errorf("Config.MaxTxnOps is less than 8: %d", c.MaxTxnOps)
	case c.MaxRequestBytes < 0:
		return c, fmt.Errorf("Config.MaxRequestBytes is negative: %d", c.MaxRequestBytes)
	}
	c.Prefix = cmp.Or(c.Prefix, "goferry/")
	c.Timeout = cmp.Or(c.Timeout, 3*time.Second)
	c.MaxTxnOps = cmp.Or(c.MaxTxnOps, 128)
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, 3<<19)
	return c, nil
}

const (
	// keepAlive is the shortest time that grpc-go accepts: it raises what is shorter, and etcd's servers hang up on clients
	// that ask more than every 5 s.
	keepAlive        = 10 * time.Second
	keepAliveTimeout = time.Second
	// grpcOverhead is what etcd's servers allow a message beside the request.
	grpcOverhead = 512 << 10
)

// reconnect replaces gRPC's default, which waits for up to two minutes before it tries a server again.
var reconnect = grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	// How long one attempt may take at least.
	MinConnectTimeout: 2 * time.Second,
}

// clientDefaults fills what the user left open in a client's configuration, and refuses what would break a promise.
func clientDefaults(client clientv3.Config, config Config) (clientv3.Config, error) {
	switch {
	case client.MaxUnaryRetries > 1:
		return client, fmt.Errorf("%w: MaxUnaryRetries is %d: the client would send writes again", ErrUnsafe, client.MaxUnaryRetries)
	case client.DialKeepAliveTime < 0 || client.DialKeepAliveTime > keepAlive:
		return client, fmt.Errorf("%w: DialKeepAliveTime is %v: at most %v finds a dead connection in time", ErrUnsafe, client.DialKeepAliveTime, keepAlive)
	case client.DialKeepAliveTimeout < 0:
		return client, fmt.Errorf("%w: DialKeepAliveTimeout is negative: %v", ErrUnsafe, client.DialKeepAliveTimeout)
	}
	// One attempt: the client counts the first one too.
	client.MaxUnaryRetries = 1
	client.DialKeepAliveTime = cmp.Or(client.DialKeepAliveTime, keepAlive)
	client.DialKeepAliveTimeout = cmp.Or(client.DialKeepAliveTimeout, keepAliveTimeout)
	client.DialTimeout = cmp.Or(client.DialTimeout, config.Timeout)
	client.MaxCallSendMsgSize = cmp.Or(client.MaxCallSendMsgSize, config.MaxRequestBytes+grpcOverhead)
	client.DialOptions = append([]grpc.DialOption{grpc.WithConnectParams(reconnect)}, client.DialOptions...)
	if client.Logger == nil && client.LogConfig == nil {
		client.Logger = zap.NewNop()
	}
	return client, nil
}

// DB is a client of a cluster. Make one with [Open]. Its stores may be used by any number of goroutines, and any number
// of processes may have a DB with the same prefix.
type DB struct {
	client *clientv3.Client
	config Config
	closed atomic.Bool
}

// Open connects to the cluster that client names, asks its servers for their version, and makes a DB with a client of its own.
//
// It needs one endpoint that answers, and fails if one that does is older than 3.5.5 or if a setting of client would break
// a promise ([ErrUnsafe]). What client leaves open, it sets: see the package documentation. It blocks for up to
// config.Timeout, and for a moment only if some endpoint answers. Close the DB in the end.
func Open(ctx context.Context, client clientv3.Config, config Config) (*DB, error) {
	d, err := open(ctx, client, config)
	if err != nil {
		return nil, fmt.Errorf("etcd: open: %w", err)
	}
	return d, nil
}

func open(ctx context.Context, client clientv3.Config, config Config) (*DB, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err = clientDefaults(client, config)
	if err != nil {
		return nil, err
	}
	c, err := clientv3.New(client)
	if err != nil {
		return nil, err
	}
	d := &DB{client: c, config: config}
	if err := d.verify(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// grace is how long verify waits for the others when one endpoint has answered.
const grace = 200 * time.Millisecond

// verify asks every endpoint for its version. Those that do not answer are not known, and one that does is enough: a
// cluster goes on without a minority, and the client would wait for it.
func (d *DB) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.config.Timeout)
	defer cancel()
	endpoints := d.client.Endpoints()
	unsafe, silent := make([]error, len(endpoints)), make([]error, len(endpoints))
	var all sync.WaitGroup
	hurry := sync.OnceFunc(func() { time.AfterFunc(grace, cancel) })
	for i, endpoint := range endpoints {
		all.Go(func() {
			switch status, err := d.client.Status(ctx, endpoint); {
			case err != nil:
				silent[i] = err
			case versionNumber(status.Version) < minVersion:
				unsafe[i] = fmt.Errorf("%w: %s has version %q, before 3.5.5", ErrUnsafe, endpoint, status.Version)
			default:
				hurry()
			}
		})
	}
	all.Wait()
	if err := errors.Join(unsafe...); err != nil {
		return err
	}
	for _, err := range silent {
		if err == nil {
			return nil
		}
	}
	return errors.Join(silent...)
}

// minVersion is the first etcd 3.5 without the crashes after which members disagreed or had lost writes.
const minVersion = 3_005_005

// versionNumber answers 3005005 for "3.5.5", 0 for what it cannot read.
func versionNumber(version string) int {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return 0
	}
	return major*1_000_000 + minor*1000 + patch
}

// Close closes the client. It waits for nothing: the outcome of writes that are out is unknown. Closing twice is fine.
func (d *DB) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	// The client answers the end of its own context, which is what was asked for.
	if err := d.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcd: close: %w", err)
	}
	return nil
}

// call gives do a context that ends in time, and answers failures with their class.
func call[T any](ctx context.Context, d *DB, op string, key any, do func(ctx context.Context, kv clientv3.KV) (T, error)) (T, error) {
	var none T
	if d.closed.Load() {
		return none, refused(op, key, ErrClosed)
	}
	if err := backends.Ended(ctx, op, key); err != nil {
		return none, err
	}
	// A server without a leader says so at once instead of keeping the call: the next goes to another server.
	limited, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), d.config.Timeout)
	defer cancel()
	answer, err := do(limited, d.client.KV)
	if err != nil {
		return none, d.failure(ctx, limited, op, key, err)
	}
	return answer, nil
}

// fenced is every fenced write: one transaction, which does then if the record has the fence. Fence 0 is that of an
// absent record.
func (d *DB) fenced(ctx context.Context, op string, key any, record string, fence backends.Fence, then ...clientv3.Op) (*clientv3.TxnResponse, error) {
	answer, err := call(ctx, d, op, key, func(ctx context.Context, kv clientv3.KV) (*clientv3.TxnResponse, error) {
		held := clientv3.Compare(clientv3.ModRevision(record), "=", int64(fence))
		return kv.Txn(ctx).If(held).Then(then...).Commit()
	})
	if err == nil && !answer.Succeeded {
		return nil, conflict(op, key)
	}
	return answer, err
}

// refenced is fenced for a record that exists. It gives the record a new fence, and its value stays.
func (d *DB) refenced(ctx context.Context, op string, key any, record string, fence backends.Fence, then ...clientv3.Op) error {
	if fence == 0 {
		return conflict(op, key)
	}
	then = append(then, clientv3.OpPut(record, "", clientv3.WithIgnoreValue()))
	_, err := d.fenced(ctx, op, key, record, fence, then...)
	return err
}
