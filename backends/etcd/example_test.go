package etcd_test

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends/etcd"
)

// A client that sends a write again could answer with the refusal of its own second try, so Open takes none. The etcdtest
// module has an example with a cluster.
func ExampleOpen() {
	client := clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}, MaxUnaryRetries: 5}

	_, err := etcd.Open(context.Background(), client, etcd.Config{})
	fmt.Println(err)
	fmt.Println(errors.Is(err, etcd.ErrUnsafe))
	// Output:
	// etcd: open: the connection would lose or repeat writes: MaxUnaryRetries is 5: the client would send writes again
	// true
}
