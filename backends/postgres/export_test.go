package postgres

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
)

// CommitTogether runs commits as one group, as the group's goroutine does: creates, unless there are fences.
func (d *DB) CommitTogether(ctx context.Context, keys []string, fences []backends.Fence) []error {
	var ops []*commitOp
	for _, key := range keys {
		ops = append(ops, &commitOp{key: key, record: durable.StoredRecord{Body: []byte("{}")}})
	}
	if fences == nil {
		return d.create(ctx, ops)
	}
	for i, fence := range fences {
		ops[i].fence = int64(fence)
	}
	return d.update(ctx, ops)
}

// MigrateFiles is Migrate with other files.
func MigrateFiles(ctx context.Context, pool *pgxpool.Pool, schema string, files fs.FS) error {
	return migrate(ctx, pool, schema, files)
}

// ReadSQL answers the statements that a sweeper and a fold run all the time.
func (d *DB) ReadSQL() map[string]string {
	return map[string]string{"read": d.sql.read, "behind": d.sql.behind, "keys": d.sql.keys, "present": d.sql.present}
}
