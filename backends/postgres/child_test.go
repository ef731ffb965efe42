package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
)

// childMode makes the test binary another process of a test: the value is the name of its part.
const childMode = "GOFERRY_POSTGRES_CHILD"

// children are the parts that other processes play.
var children = map[string]func(ctx context.Context, args []string) error{
	"write": childWrite,
}

// childWrite is killed in the middle of it. Its arguments are how to connect, the schema, the kind of view and the
// name of its run.
func childWrite(ctx context.Context, args []string) error {
	pool, err := pgxpool.New(ctx, args[0]+" application_name="+args[3])
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, pool, postgres.Config{Schema: args[1]})
	if err != nil {
		return err
	}
	kind, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	storetest.WriteForever(ctx, kinds[kind].of(db), args[3], os.Stdout)
	return nil
}

// TestKill kills a writing process twenty times, anywhere, and looks at what it left.
func TestKill(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	config := newSchema(t)
	pool := newPool(t, server.ConnString("postgres"), nil)
	db := open(t, pool, config)
	acked := 0
	for run := range 20 {
		kind := []int{0, 2}[run%2] // Those that project in one transaction.
		name := fmt.Sprint("run", run)
		cmd := exec.CommandContext(t.Context(), self, server.ConnString("postgres"), config.Schema, fmt.Sprint(kind), name)
		cmd.Env = append(os.Environ(), childMode+"=write")
		acks := storetest.KillAfter(t, cmd, 1+random.IntN(200))
		acked += len(acks)
		awaitSessionsEnd(t, pool, name)
		storetest.CheckAcks(t, kinds[kind].of(db), name, acks)
	}
	t.Logf("%d acknowledged", acked)
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
