package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends/internal/storetest"
)

// childMode makes the test binary another process of a test: the value is the name of its part.
const childMode = "GOFERRY_POSTGRES_CHILD"

// children are the parts that other processes play.
var children = map[string]func(ctx context.Context, args []string) error{
	"write views":          childWrite,
	"serve and write rows": childServe,
}

// awaitSessionsEnd waits for the statements that the server runs on after their client was killed.
func awaitSessionsEnd(t *testing.T, pool *pgxpool.Pool, name string) {
	t.Helper()
	storetest.Until(t, "the end of its sessions", func() bool {
		var sessions int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, name).Scan(&sessions)
		if err != nil {
			t.Fatal(err)
		}
		return sessions == 0
	})
}
