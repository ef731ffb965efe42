package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/backends/postgres"
	"github.com/goferry/goferry/internal/pgserver"
	"github.com/goferry/goferry/internal/proxy"
)

// remote is a store that talks to its servers through proxies.
type remote struct {
	store
	proxies []*proxy.Proxy
	closers []func() error
}

func (r *remote) later(closer func() error) { r.closers = append(r.closers, closer) }

func (r *remote) close() (err error) {
	for _, closer := range slices.Backward(r.closers) {
		err = errors.Join(err, closer())
	}
	return err
}

// through puts a proxy before a server, and answers where clients find it.
func (r *remote) through(network, address string) (string, error) {
	p, err := proxy.New(network, address)
	if err != nil {
		return "", err
	}
	r.later(p.Close)
	r.proxies = append(r.proxies, p)
	return p.Addr().String(), nil
}

func remotePostgres(ctx context.Context, dir string, r *remote) error {
	private, err := pgserver.StartIn(dir)
	if err != nil {
		return err
	}
	r.later(private.Close)
	address, err := r.through("unix", private.Socket())
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable&pool_max_conns=16", address))
	if err != nil {
		return err
	}
	r.later(func() error {
		pool.Close()
		return nil
	})
	db, err := openPostgres(ctx, pool, postgres.Config{})
	if err != nil {
		return err
	}
	r.later(db.Close)
	r.store = onPostgres(db).store
	return nil
}

func remoteEtcd(ctx context.Context, dir string, r *remote) error {
	cluster, err := etcdtest.Start(filepath.Join(dir, "etcd"), etcdtest.Config{})
	if err != nil {
		return err
	}
	r.later(func() error {
		cluster.Close()
		return nil
	})
	var addresses []string
	for _, endpoint := range cluster.Endpoints() {
		address, err := r.through("tcp", endpoint)
		if err != nil {
			return err
		}
		addresses = append(addresses, address)
	}
	db, err := etcd.Open(ctx, clientv3.Config{Endpoints: addresses}, etcd.Config{})
	if err != nil {
		return err
	}
	r.later(db.Close)
	r.store = onEtcd(db)
	return nil
}

// underCuts has writers write, each to a key of its own, while their connections are cut: every 30 to 90 ms, in three of four cases
// after the server has answered. What they wrote is checked as that of a cell is.
func underCuts(ctx context.Context, parent string, connect func(context.Context, string, *remote) error, cuts int) (slowest time.Duration, f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cuts)*100*time.Millisecond+grace)
	defer cancel()
	dir, remove, err := folder(parent)
	if err != nil {
		return 0, figures{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var far remote
	defer func() { err = errors.Join(err, far.close()) }()
	if err := connect(ctx, dir, &far); err != nil {
		return 0, figures{}, err
	}
	r, _ := newRun(cell{name: "cuts", writers: slots, batch: 1, patient: true}, "cuts", target{store: far.store})
	writers := r.begin(ctx)
	cutErr := cut(ctx, far.proxies, cuts)
	r.over.Store(true)
	if err := errors.Join(cutErr, writers.Wait()); err != nil {
		return 0, figures{}, err
	}
	f.Entries, f.Commits, f.Refused = r.done.Load(), r.probe.commits.Load(), r.probe.refused.Load()
	f.Lost, f.Doubled, err = r.check(ctx)
	return slices.Max(r.slowest), f, err
}

func cut(ctx context.Context, proxies []*proxy.Proxy, cuts int) error {
	for n := range cuts {
		fault := proxy.LoseReply
		if n%4 == 0 {
			fault = proxy.LoseRequest
		}
		time.Sleep(30*time.Millisecond + rand.N(60*time.Millisecond))
		p := proxies[rand.IntN(len(proxies))]
		select {
		case <-p.Arm(fault):
		case <-ctx.Done():
			return fmt.Errorf("cut %d of %d: %w", n, cuts, ctx.Err())
		}
	}
	for _, p := range proxies {
		p.Calm()
	}
	return nil
}
