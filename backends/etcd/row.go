package etcd

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// row is a row as it is stored, under its name in etcd.
type row struct {
	name string
	body []byte

	// Only of a row that was read: the revision that it was written at, and its place in that transaction.
	created int64
	place   uint64
}

// rowOf reads what inserts wrote.
func rowOf(kv *mvccpb.KeyValue) (row, error) {
	place, n := binary.Uvarint(kv.Value)
	if n <= 0 {
		return row{}, errors.New("etcd: a row without a place")
	}
	return row{name: string(kv.Key), body: kv.Value[n:], created: kv.CreateRevision, place: place}, nil
}

// compare orders rows by their first insertion.
func (r row) compare(other row) int {
	return cmp.Or(cmp.Compare(r.created, other.created), cmp.Compare(r.place, other.place))
}

// size is at least what the row takes in a request: its name is in the comparison and in the put.
func (r row) size() int { return 2*len(r.name) + len(r.body) + 64 }

// inserts are the operations that write each row unless it is there. Each is a transaction of its own inside that of the
// caller, since the comparisons of one transaction hold for all of it. All rows of one revision were created at once, so
// each keeps its place.
func inserts(rows []row) []clientv3.Op {
	ops := make([]clientv3.Op, len(rows))
	for i, r := range rows {
		value := append(binary.AppendUvarint(nil, uint64(i)), r.body...)
		ops[i] = clientv3.OpTxn(
			[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(r.name), "=", 0)},
			[]clientv3.Op{clientv3.OpPut(r.name, string(value))}, nil)
	}
	return ops
}

// present answers which rows of these names there are. It asks for no others: a view may have any number of rows.
func (d *DB) present(ctx context.Context, op string, key any, names []string) (map[string]bool, error) {
	var asked []row
	for _, name := range names {
		if 2*len(name) <= d.config.MaxRequestBytes { // It is in the insert twice, so a row with a longer one was never written.
			asked = append(asked, row{name: name})
		}
	}
	present := map[string]bool{}
	for _, chunk := range d.chunks(asked) {
		gets := make([]clientv3.Op, len(chunk))
		for i, r := range chunk {
			gets[i] = clientv3.OpGet(r.name, clientv3.WithCountOnly())
		}
		answer, err := call(ctx, d, op, key, func(ctx context.Context, kv clientv3.KV) (*clientv3.TxnResponse, error) {
			return kv.Txn(ctx).Then(gets...).Commit()
		})
		if err != nil {
			return nil, err
		}
		for i, r := range chunk {
			present[r.name] = answer.Responses[i].GetResponseRange().Count > 0
		}
	}
	return present, nil
}

// chunks splits rows into as many as fit one transaction, each with room for a clear.
func (d *DB) chunks(rows []row) [][]row {
	// A server allows a nested transaction what the outer one leaves: one operation here, beside the two of the clear.
	most, room := d.config.MaxTxnOps-3, d.config.MaxRequestBytes*7/8
	var chunks [][]row
	var size int
	for _, r := range rows {
		if n := len(chunks); n == 0 || len(chunks[n-1]) == most || size+r.size() > room {
			chunks, size = append(chunks, nil), 0
		}
		last := &chunks[len(chunks)-1]
		*last = append(*last, r)
		size += r.size()
	}
	return chunks
}
