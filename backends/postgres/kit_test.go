package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/internal/pgserver"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

type (
	record = backends.Record[[]string]
	views  = postgres.Store[string, []string, []string]
	rows   = postgres.RowStore[string, []string, string, string]
)

func nth(_ string, n int) string { return sim.AnyText(n) }

func view(s *views, ctx context.Context, key string) ([]string, error) {
	shown, _, err := s.View(ctx, key)
	return shown, err
}

// writeViews and writeRows are pipelines as users make them.
var (
	writeViews = projected.WholeRecord(
		fold.New[*backends.Error](storetest.Itself, (*views).Read, backends.Step(storetest.WithName), (*views).Commit, retry),
		record.Pending, (*views).Project)
	writeRows = projected.New(
		fold.New[*backends.Error](storetest.Itself, (*rows).Read, backends.Step(storetest.WithName), (*rows).Commit, retry),
		record.Pending, (*rows).ProjectRows)
	retry = schedule.Exponential(time.Millisecond).Capped(20 * time.Millisecond).And(schedule.Recurs(20))
)

func newViews(db *postgres.DB) *views { return postgres.New[string](db, slices.Clone[[]string]) }
func newLogRows(db *postgres.DB) *rows {
	return postgres.NewRows[string](db, storetest.EachName, storetest.Itself)
}

// TestKit is the public test of stores, with a schema for every law.
func TestKit(t *testing.T) {
	t.Parallel()
	t.Run("views", func(t *testing.T) {
		t.Parallel()
		k := kitOf[*views]{of: newViews, part: "write views", config: newSchema(t)}
		sim.TestStore(t, writeViews, k.open,
			storetest.Throttled, sim.AnyText, nth, storetest.Names, view, (*views).PendingKeys,
			append(k.powers(), sim.WithDelete((*views).Delete))...)
	})
	t.Run("rows at once", func(t *testing.T) {
		t.Parallel()
		k := kitOf[*rows]{of: newLogRows, part: "serve and write rows", config: newSchema(t)}
		sim.TestStore(t, writeRows, k.open,
			storetest.Throttled, sim.AnyText, nth, storetest.Names, (*rows).Rows, (*rows).PendingKeys,
			append(k.powers(), sim.WithDelete((*rows).Delete), sim.WithChild(k.startServer, k.leftServer), sim.WithPowerCuts())...)
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		k := kitOf[*rows]{of: newLogRows, config: newSchema(t)}
		sim.TestRowStore(t, writeRows.Fold,
			record.Pending, backends.RowsOf(storetest.EachName), (*rows).Missing, (*rows).Put, (*rows).Clear, k.open,
			storetest.Throttled, sim.AnyText, nth, storetest.Names, (*rows).Rows, (*rows).PendingKeys,
			sim.WithDelete((*rows).Delete), sim.WithDial(k.upstream, k.dial), sim.WithSecondHandle(k.again), sim.WithReopen(k.again))
	})
}

// kitOf is how the kit opens a kind of store, in one schema: no two of the kit's keys are the same.
type kitOf[R any] struct {
	of     func(*postgres.DB) R
	part   string // that a child plays
	config postgres.Config
}

func (k kitOf[R]) powers() []sim.Power {
	return []sim.Power{
		sim.WithSecondHandle(k.again), sim.WithReopen(k.again),
		sim.WithChild(k.start, k.left), sim.WithDial(k.upstream, k.dial), sim.WithServer(k.serve),
	}
}

func (k kitOf[R]) on(t *testing.T, connString string) R {
	t.Helper()
	return k.of(open(t, newPool(t, connString, nil), k.config))
}

func (k kitOf[R]) open(t *testing.T) R            { return k.on(t, server.ConnString("postgres")) }
func (k kitOf[R]) again(t *testing.T, _ R) R      { return k.open(t) }
func (k kitOf[R]) upstream(*testing.T) string     { return server.Socket() }
func (k kitOf[R]) dial(t *testing.T, at string) R { return k.on(t, connStringOf(at)) }

func connStringOf(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = filepath.Dir(address), "5432"
	}
	return fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres sslmode=disable", host, port)
}

// start is another process, whose sessions have its name.
func (k kitOf[R]) start(t *testing.T, _ string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], server.ConnString("postgres")+" application_name="+k.name(), k.config.Schema)
	cmd.Env = append(os.Environ(), childMode+"="+k.part)
	return cmd
}

func (k kitOf[R]) name() string { return strings.ReplaceAll(k.config.Schema+" "+k.part, " ", "-") }

func (k kitOf[R]) left(t *testing.T, _ string) R {
	t.Helper()
	awaitSessionsEnd(t, admin, k.name())
	return k.open(t)
}

// startServer is a process with a server of its own, and all of its data in dir.
func (k kitOf[R]) startServer(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	for path := dir; path != filepath.Clean(os.TempDir()); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil { // The server does not run as root.
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), childMode+"="+k.part)
	return cmd
}

// leftServer starts a server on what the one of a child has left.
func (k kitOf[R]) leftServer(t *testing.T, dir string) R {
	t.Helper()
	left, err := pgserver.In(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(left.Quit)
	return k.of(open(t, newPool(t, left.ConnString("postgres"), nil), postgres.Config{}))
}

// serve starts a server for this test alone.
func (k kitOf[R]) serve(t *testing.T) (store R, kill, restart func()) {
	t.Helper()
	own, err := pgserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	pool := newPool(t, own.ConnString("postgres"), nil)
	if err := postgres.Migrate(t.Context(), pool, postgres.Config{}); err != nil {
		t.Fatal(err)
	}
	return k.of(open(t, pool, postgres.Config{})), own.Kill, func() {
		if err := own.Run(); err != nil {
			t.Fatal(err)
		}
	}
}

// childWrite is killed in the middle of it. Its arguments are how to connect, and the schema.
func childWrite(ctx context.Context, args []string) error {
	pool, err := pgxpool.New(ctx, args[0])
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, pool, postgres.Config{Schema: args[1]})
	if err != nil {
		return err
	}
	return sim.WriteForever(writeViews, newViews(db), sim.AnyText, nth)
}

// childServe is killed together with its server. Its argument is the folder of the server.
func childServe(ctx context.Context, args []string) error {
	own, err := pgserver.In(args[0])
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, own.ConnString("postgres"))
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, pool, postgres.Config{}); err != nil {
		return err
	}
	db, err := postgres.Open(ctx, pool, postgres.Config{})
	if err != nil {
		return err
	}
	return sim.WriteForever(writeRows, newLogRows(db), sim.AnyText, nth)
}
