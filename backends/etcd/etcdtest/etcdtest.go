// Package etcdtest runs an etcd cluster inside the process, for tests and demonstrations.
//
//	cluster, err := etcdtest.Start(dir, etcdtest.Config{})
//	if err != nil {
//		return err
//	}
//	defer cluster.Close()
//	db, err := etcd.Open(ctx, clientv3.Config{Endpoints: cluster.Endpoints()}, etcd.Config{})
//
// The nodes are real: each has a log that it syncs, and they elect a leader and replicate. They share the process, so that
// [Cluster.Kill] ends a node without the coordination of a shutdown, but takes nothing from it that was written.
//
// It is a module of its own, so that programs which use the store do not get etcd's server among their dependencies. The
// tests of the store that need a cluster are here for the same reason.
package etcdtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Config is what a cluster is made of. Its zero value is the default in every field.
type Config struct {
	// Nodes is how many there are. Default 3.
	Nodes int
	// QuotaBytes bounds the data of each node. Default etcd's: 2 GiB.
	QuotaBytes int64
	// ElectionTimeout is how long the others wait for a silent leader before they elect a new one, in whole milliseconds. Default
	// etcd's: 1 s. On a busy machine that is little.
	ElectionTimeout time.Duration

	_ struct{}
}

// Cluster is nodes that run. Make one with [Start]. Its methods may be called by any number of goroutines.
type Cluster struct {
	config Config
	dir    string
	peers  []url.URL
	client []url.URL
	writes atomic.Int64

	mu       sync.Mutex
	nodes    []*embed.Etcd  // guarded by mu; nil for one that does not run
	reserved []func() error // guarded by mu; gives the ports back
}

// patience is how long a cluster may take to start.
const patience = time.Minute

// Start starts a cluster that keeps its data below dir, and blocks until it has a leader. Close it in the end.
func Start(dir string, config Config) (*Cluster, error) {
	config.Nodes = cmp.Or(config.Nodes, 3)
	c := &Cluster{config: config, dir: dir, nodes: make([]*embed.Etcd, config.Nodes)}
	for range config.Nodes {
		peer, peerErr := c.reserve()
		client, clientErr := c.reserve()
		if err := errors.Join(peerErr, clientErr); err != nil {
			c.Close()
			return nil, fmt.Errorf("etcdtest: start: %w", err)
		}
		c.peers, c.client = append(c.peers, peer), append(c.client, client)
	}
	// A node alone never gets ready: they have to start together.
	errs := make([]error, config.Nodes)
	var all sync.WaitGroup
	for n := range config.Nodes {
		all.Go(func() { errs[n] = c.Restart(n) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// reserve takes an address until the cluster is closed.
func (c *Cluster) reserve() (url.URL, error) {
	address, release, err := reserve()
	if err == nil {
		c.reserved = append(c.reserved, release)
	}
	return address, err
}

// Endpoints are the addresses of all nodes, for clients.
func (c *Cluster) Endpoints() []string {
	endpoints := make([]string, len(c.client))
	for n, u := range c.client {
		endpoints[n] = u.Host
	}
	return endpoints
}

// Restart starts a node that does not run, on the data that it had, and blocks until it has joined the others.
func (c *Cluster) Restart(node int) error {
	if err := c.restart(node); err != nil {
		return fmt.Errorf("etcdtest: start node %d: %w", node, err)
	}
	return nil
}

func (c *Cluster) restart(node int) error {
	etcd, err := embed.StartEtcd(c.nodeConfig(node))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-etcd.Server.ReadyNotify():
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		etcd.Close()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[node] = etcd
	return nil
}

func (c *Cluster) nodeConfig(node int) *embed.Config {
	config := embed.NewConfig()
	config.Name = nodeName(node)
	config.Dir = filepath.Join(c.dir, config.Name)
	config.ListenPeerUrls, config.AdvertisePeerUrls = c.peers[node:node+1], c.peers[node:node+1]
	config.ListenClientUrls, config.AdvertiseClientUrls = c.client[node:node+1], c.client[node:node+1]
	var members []string
	for n, peer := range c.peers {
		members = append(members, nodeName(n)+"="+peer.String())
	}
	config.InitialCluster = strings.Join(members, ",")
	config.SocketOpts.ReusePort = shared
	config.QuotaBackendBytes = c.config.QuotaBytes
	if c.config.ElectionTimeout > 0 {
		config.ElectionMs = uint(c.config.ElectionTimeout.Milliseconds())
	}
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	config.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(c.count)}
	return config
}

func nodeName(node int) string { return fmt.Sprint("node", node) }

func (c *Cluster) count(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if txn, ok := request.(*pb.TxnRequest); ok && writes(txn) {
		c.writes.Add(1)
	}
	return handle(ctx, request)
}

func writes(txn *pb.TxnRequest) bool {
	for _, op := range txn.Success {
		if op.GetRequestRange() == nil {
			return true
		}
	}
	return false
}

// Writes counts the transactions that reached a node to write, whatever became of them.
func (c *Cluster) Writes() int64 { return c.writes.Load() }

// Leader answers which node leads, -1 if none does at the moment.
func (c *Cluster) Leader() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, etcd := range c.nodes {
		if etcd != nil && etcd.Server.Leader() == etcd.Server.MemberID() {
			return n
		}
	}
	return -1
}

// Kill ends a node at once: it hands nothing over. A node that does not run stays so.
func (c *Cluster) Kill(node int) {
	c.mu.Lock()
	etcd := c.nodes[node]
	c.nodes[node] = nil
	c.mu.Unlock()
	if etcd != nil {
		etcd.Server.HardStop()
		etcd.Close()
	}
}

// KillAll kills all nodes at once.
func (c *Cluster) KillAll() {
	var all sync.WaitGroup
	for n := range c.nodes {
		all.Go(func() { c.Kill(n) })
	}
	all.Wait()
}

// Close ends all nodes and gives their ports back: a cluster that is closed does not start again. Closing twice is fine.
func (c *Cluster) Close() {
	c.KillAll()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, release := range c.reserved {
		release()
	}
	c.reserved = nil
}
