package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/backends/sqlite"
	"github.com/goferry/goferry/examples/internal/ledger"
)

// ViewDisk is a store of statements.
type ViewDisk interface {
	backends.ViewStore[string, ledger.Log]
	Disk
	View(ctx context.Context, account string) (ledger.Statement, bool, error)
}

// RowDisk is a store of rows.
type RowDisk interface {
	backends.RowStore[string, ledger.Log, string, ledger.Entry]
	Disk
	Rows(ctx context.Context, account string) ([]ledger.Entry, error)
}

// OpenView opens what the flag -store names. A file stays open until the program ends.
func OpenView(ctx context.Context, name string) (ViewDisk, error) {
	if name == "memory" {
		return memory.New[string](ledger.Log.State), nil
	}
	db, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	return sqlite.New[string](db, ledger.Log.State), nil
}

// OpenRows opens what the flag -store names. A file stays open until the program ends.
func OpenRows(ctx context.Context, name string) (RowDisk, error) {
	if name == "memory" {
		return memory.NewRows[string](ledger.Log.Rows, ledger.Entry.Ident), nil
	}
	db, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	return sqlite.NewRows[string](db, ledger.Log.Rows, ledger.Entry.Ident), nil
}

func openFile(ctx context.Context, name string) (*sqlite.DB, error) {
	path, ok := strings.CutPrefix(name, "sqlite:")
	if !ok || path == "" {
		return nil, fmt.Errorf("-store %s: want memory or sqlite:FILE", name)
	}
	return sqlite.Open(ctx, path, sqlite.Config{})
}
