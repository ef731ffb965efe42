// Package etcd keeps records and their views in an etcd cluster: a store that outlives every machine it runs on.
//
// [Open] connects to the cluster, [New] makes its store with a view of one object per record, [NewRows] its store with a
// view of one row per entry. They keep the whole contract of the backends package, and have the methods of the memory and
// sqlite packages.
//
//	db, err := etcd.Open(ctx, clientv3.Config{Endpoints: endpoints}, etcd.Config{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	store := etcd.New[string](db, totals)
//
// # Fences
//
// The fence of a record is its ModRevision in etcd, 0 if it is absent. Every write is one transaction that compares it for equality
// and puts the record, so that each gives it a new one. Revisions of a cluster only grow: a key that is deleted and
// created again never meets an old fence. The marker is a key of its own, put and deleted in the same transactions: what
// [Store.PendingKeys] lists is the markers themselves and lags behind nothing.
//
// # Reads
//
// Every read and every page of a listing is linearizable: it sees what was answered before it began, through whichever
// server. Listings take 512 keys at a time and are never continued in a later call.
//
// # Durability
//
// A write that was answered is on the disks of a majority of the nodes, unless they run with --unsafe-no-fsync, which no
// client can see. The cluster goes on while a majority of its nodes runs.
//
// # Outcomes
//
// A write is refused, definitely, if the record, a view or a row is too large ([ErrTooLarge]), if a server answers that it has too many
// requests, that a transaction has too many operations or a name twice, that the user may not do it, or if the DB is
// closed. Everything else that is no conflict is unknown: a context that ended, a connection that broke, an election, and no
// answer within Config.Timeout ([ErrTimeout]). "Database space exceeded" is unknown too, since a server says it
// of the very write that crosses the quota, which it applies.
//
// A client that is made with etcd's defaults sends a write again if a server gave up on it, and then answers its caller with the
// refusal of its own second try. Open makes its own client, which sends every write once; it refuses a
// MaxUnaryRetries that says otherwise. Interceptors among the DialOptions are the user's: they must not repeat calls.
//
// # Connections
//
// What clientv3.Config leaves open, Open sets: keepalive after 10 s of silence, for 1 s; a second at most between attempts to reach a
// server that is gone, where gRPC would wait for up to two minutes; and no logger. It refuses a longer keepalive. A shorter one has
// no effect: gRPC raises it to 10 s, and etcd's servers hang up on clients that ask more than every 5 s.
//
// A connection that is silently dead is given up after a second if the network loses its packets (on Linux), and
// after 11 s if something still takes them. Until then the calls that go there end with Config.Timeout, and others go to
// other servers: name several endpoints, and let the retry schedule of the fold have a few attempts.
//
// # Transactions
//
// A commit is one transaction of up to three operations. A projection of a view is one. [RowStore.ProjectRows] is one for a record of
// up to 125 entries (Config.MaxTxnOps less three, and as many as fit Config.MaxRequestBytes), whatever the view holds already. For a
// larger record it asks first which rows are missing, 125 to a transaction, and writes those, with the clear in the last transaction.
// Rows are inserted if absent, each by a comparison of its own. There are no leases and no locks.
//
// Commits of different keys share no transaction. Sixty-four in one would be several times as many writes a second (the benchmarks
// of the etcdtest module have both); but one lost answer would leave the outcome of all those keys unknown, and they would all wait for
// the slowest server. The servers do share their syncs among the writes that are in flight.
//
// # Limits
//
// A record is read and written whole, and fits into one request: 1.5 MiB unless the servers say otherwise. etcd keeps every
// revision of every key until it is compacted, so run the servers with --auto-compaction-retention, and watch their quota
// (2 GiB by default, 8 GiB advised): a cluster that has reached it takes no writes until it is compacted, defragmented and
// its alarm disarmed. For more than a few GiB of records this is the wrong store.
//
// # Keys and bodies
//
// The keys in etcd are PREFIX/r/NAME for records, p/NAME for markers, v/NAME for views and v/NAME/ID for rows, where a
// name is the key's text, escaped as in a URL: no two keys share one, slashes or not. Keys are strings as they are, integers
// in decimal, others by [Store.WithKeys]. Bodies and views are JSON, or what WithBodies and WithViews say; a row is its
// place among the rows of its transaction, as an unsigned varint, and then JSON, or what WithRows says. What this build cannot decode is a
// [backends.ErrUndecodable] that names the key: it is left as it is, and the other keys go on.
//
// # Tests
//
// The tests that need a cluster are in the etcdtest module beside this one, which runs three nodes in a process: users of this
// package do not get etcd's server among their dependencies. They cut connections, kill leaders, and kill all nodes.
//
// Not verified there: a power cut (nodes in one process cannot lose what they wrote), lost packets in a real network, members
// that are added or removed, TLS, and users with passwords beyond the classes of their errors.
package etcd
