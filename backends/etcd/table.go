package etcd

import (
	"context"
	"iter"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

// page is how many keys a listing takes at a time.
const page = 512

// table is the records of a store: all of it but the view.
type table[K comparable, B any] struct {
	db     *DB
	names  codec.Codec[K, string]
	bodies codec.Codec[B, []byte]
}

func newTable[K comparable, B any](db *DB) table[K, B] {
	return table[K, B]{db: db, names: escaped(codec.Text[K]()), bodies: codec.JSON[B]()}
}

// Read answers the record of key, the zero record if there is none. It is linearizable: it sees every write that was
// answered before it began, through whichever server.
func (t *table[K, B]) Read(ctx context.Context, key K) (backends.Record[B], error) {
	var none backends.Record[B]
	name, err := t.names.Encode(key)
	if err != nil {
		return none, refused("read", key, err)
	}
	answer, err := call(ctx, t.db, "read", key, func(ctx context.Context, kv clientv3.KV) (*clientv3.TxnResponse, error) {
		return kv.Txn(ctx).Then(
			clientv3.OpGet(t.db.record(name)),
			clientv3.OpGet(t.db.marker(name), clientv3.WithCountOnly()),
		).Commit()
	})
	if err != nil {
		return none, err
	}
	record, marker := answer.Responses[0].GetResponseRange(), answer.Responses[1].GetResponseRange()
	if len(record.Kvs) == 0 {
		return none, nil
	}
	body, err := t.bodies.Decode(record.Kvs[0].Value)
	if err != nil {
		return none, undecodable("read", key, err)
	}
	return backends.Record[B]{Body: body, Fence: backends.Fence(record.Kvs[0].ModRevision), Behind: marker.Count > 0}, nil
}

// Commit stores next's body if the store still holds the record that was read, and answers the record as stored,
// with a new fence. It is behind if next is, or if the record that was read is: a commit clears no marker.
func (t *table[K, B]) Commit(ctx context.Context, key K, read, next backends.Record[B]) (backends.Record[B], error) {
	var none backends.Record[B]
	name, err := t.names.Encode(key)
	if err != nil {
		return none, refused("commit", key, err)
	}
	body, err := t.bodies.Encode(next.Body)
	if err != nil {
		return none, refused("commit", key, err)
	}
	record, marker := t.db.record(name), t.db.marker(name)
	if err := t.db.fits(2*len(record) + len(body) + 2*len(marker)); err != nil {
		return none, refused("commit", key, err)
	}
	then := []clientv3.Op{clientv3.OpPut(record, string(body))}
	if next.Behind {
		then = append(then, clientv3.OpPut(marker, ""))
	}
	then = append(then, clientv3.OpGet(marker, clientv3.WithCountOnly()))
	answer, err := t.db.fenced(ctx, "commit", key, record, read.Fence, then...)
	if err != nil {
		return none, err
	}
	behind := answer.Responses[len(answer.Responses)-1].GetResponseRange().Count > 0
	// The revision of a transaction that wrote a key is that key's ModRevision.
	return backends.Record[B]{Body: next.Body, Fence: backends.Fence(answer.Header.Revision), Behind: behind}, nil
}

// PendingKeys lists the keys whose record is behind, page by page: what it lists is in the cluster when its page is read.
func (t *table[K, B]) PendingKeys(ctx context.Context) iter.Seq2[K, error] {
	return t.list(ctx, t.db.marker(""))
}

// Keys lists the keys that the store holds, page by page: what it lists is in the cluster when its page is read.
func (t *table[K, B]) Keys(ctx context.Context) iter.Seq2[K, error] {
	return t.list(ctx, t.db.record(""))
}

// list yields an error for a key that it cannot decode and goes on. A page that it cannot read is the last.
func (t *table[K, B]) list(ctx context.Context, prefix string) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		var none K
		for kv, err := range t.db.scan(ctx, "list", nil, prefix, clientv3.WithKeysOnly()) {
			if err != nil {
				yield(none, err)
				return
			}
			name := strings.TrimPrefix(string(kv.Key), prefix)
			key, err := t.names.Decode(name)
			if err != nil {
				key, err = none, undecodable("list", name, err)
			}
			if !yield(key, err) {
				return
			}
		}
	}
}

// scan yields what lies below prefix in the order of the keys. Each page is read on its own, so that no revision of a
// long listing can be compacted away.
func (d *DB) scan(ctx context.Context, op string, key any, prefix string, opts ...clientv3.OpOption) iter.Seq2[*mvccpb.KeyValue, error] {
	opts = append(opts, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(page))
	return func(yield func(*mvccpb.KeyValue, error) bool) {
		for from := prefix; ; {
			answer, err := call(ctx, d, op, key, func(ctx context.Context, kv clientv3.KV) (*clientv3.GetResponse, error) {
				return kv.Get(ctx, from, opts...)
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, kv := range answer.Kvs {
				if !yield(kv, nil) {
					return
				}
			}
			if !answer.More {
				return
			}
			from = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
		}
	}
}

// remove is Delete. A record that is created again has a new fence: revisions only grow.
func (t *table[K, B]) remove(ctx context.Context, key K, read backends.Record[B]) error {
	name, err := t.names.Encode(key)
	if err != nil {
		return refused("delete", key, err)
	}
	if read.Fence == 0 {
		return conflict("delete", key)
	}
	record := t.db.record(name)
	_, err = t.db.fenced(ctx, "delete", key, record, read.Fence,
		clientv3.OpDelete(record),
		clientv3.OpDelete(t.db.marker(name)),
		clientv3.OpDelete(t.db.view(name)),
		clientv3.OpDelete(t.db.rows(name), clientv3.WithPrefix()))
	return err
}
