package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/group"
)

var (
	// ErrClosed is the cause of a write that is refused since its DB is closed.
	ErrClosed = errors.New("postgres: closed")
	// ErrStandby is the cause of a read that is refused since a standby answered it: what it has may be old.
	ErrStandby = errors.New("postgres: a standby answered")
)

// failure is err with its class. The definite refusals are what the server said of the statement, and what was never
// sent; everything else is unknown.
func failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*backends.Error](err); done {
		return err
	}
	if errors.Is(err, group.ErrClosed) {
		err = ErrClosed
	}
	class := backends.ErrUnknown
	if ctx.Err() == nil && isRefusal(err) {
		class = backends.ErrRefused
	}
	return &backends.Error{Class: class, Err: err}
}

func isRefusal(err error) bool {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrStandby) || errors.Is(err, errText) || pgconn.SafeToRetry(err) {
		return true
	}
	if _, unsent := errors.AsType[*notSentError](err); unsent {
		return true
	}
	said, ok := errors.AsType[*pgconn.PgError](err)
	return ok && isDefinite(said)
}

// isDefinite says that the server has undone the statement. A session that it ends may have ended after the COMMIT.
func isDefinite(said *pgconn.PgError) bool {
	switch {
	case said.Severity == "FATAL", said.Severity == "PANIC":
		return false
	case strings.HasPrefix(said.Code, "08"): // Connections.
		return false
	}
	switch said.Code {
	case "40003", // Statement completion unknown, said by CockroachDB.
		"57P01", "57P02", "57P03": // Shutdown and crash.
		return false
	}
	return true
}
