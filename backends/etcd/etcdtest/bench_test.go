package etcdtest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/internal/storetest"
)

// body is about 1 KiB of recent identities and what one write adds.
type body struct {
	Recent []int
	Added  [][]byte
}

type benchStore = etcd.Store[string, body, int]

func openBench(b *testing.B) *benchStore {
	b.Helper()
	db, err := etcd.Open(b.Context(), clientv3.Config{Endpoints: common.Endpoints()}, etcd.Config{Prefix: fmt.Sprintf("bench%d/", prefixes.Add(1))})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return etcd.New[string](db, func(body) int { return 0 })
}

// add is one round trip: a read and a fenced write of so many entries of 100 bytes.
func add(ctx context.Context, store *benchStore, key string, entries int) error {
	read, err := store.Read(ctx, key)
	if err != nil {
		return err
	}
	next := backends.Record[body]{Body: body{Recent: make([]int, 512)}, Behind: true}
	for range entries {
		next.Body.Added = append(next.Body.Added, make([]byte, 75)) // 100 in base64.
	}
	_, err = store.Commit(ctx, key, read, next)
	return err
}

// BenchmarkBatch is one writer on one key. Their ratio in entries is what a lane buys.
func BenchmarkBatch(b *testing.B) {
	for _, entries := range []int{1, 64} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			store := openBench(b)
			n := 0
			for b.Loop() {
				if err := add(b.Context(), store, "k", entries); err != nil {
					b.Fatal(err)
				}
				n += entries
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkKeys is 64 writers, each on a key of its own.
func BenchmarkKeys(b *testing.B) {
	store := openBench(b)
	var n atomic.Int64
	for b.Loop() {
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				if err := add(b.Context(), store, fmt.Sprint(w), 1); err != nil {
					b.Error(err)
				}
				n.Add(1)
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkKeysInOneTransaction is what 64 keys in one transaction would buy, with a nested one for each: the client as it is,
// since the store does not do it.
func BenchmarkKeysInOneTransaction(b *testing.B) {
	client, err := clientv3.New(clientv3.Config{Endpoints: common.Endpoints()})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	value := string(make([]byte, 1200))
	writes := 0
	for b.Loop() {
		var reads, ops []clientv3.Op
		for w := range 64 {
			reads = append(reads, clientv3.OpGet(fmt.Sprint("bench/", w)))
		}
		read, err := client.Txn(b.Context()).Then(reads...).Commit()
		if err != nil {
			b.Fatal(err)
		}
		for w, response := range read.Responses {
			var fence int64
			if kvs := response.GetResponseRange().Kvs; len(kvs) > 0 {
				fence = kvs[0].ModRevision
			}
			key := fmt.Sprint("bench/", w)
			ops = append(ops, clientv3.OpTxn(
				[]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", fence)},
				[]clientv3.Op{clientv3.OpPut(key, value)}, nil))
		}
		if _, err := client.Txn(b.Context()).Then(ops...).Commit(); err != nil {
			b.Fatal(err)
		}
		writes += len(ops)
	}
	b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkProjection is a commit of 64 entries and the projection of their rows.
func BenchmarkProjection(b *testing.B) {
	db, err := etcd.Open(b.Context(), clientv3.Config{Endpoints: common.Endpoints()}, etcd.Config{Prefix: fmt.Sprintf("bench%d/", prefixes.Add(1))})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	store := newRows(db)
	n := 0
	for b.Loop() {
		key := fmt.Sprint(n)
		record, err := store.Commit(b.Context(), key, storetest.Record{}, storetest.Record{Body: logOf(64, key), Behind: true})
		if err == nil {
			_, err = store.ProjectRows(b.Context(), key, record)
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(64*n)/b.Elapsed().Seconds(), "rows/s")
}
