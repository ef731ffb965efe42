package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/group"
)

func TestClasses(t *testing.T) {
	t.Parallel()
	said := func(code string) error { return &pgconn.PgError{Severity: "ERROR", Code: code} }
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"serialization failure", said("40001"), backends.ErrRefused},
		{"deadlock", said("40P01"), backends.ErrRefused},
		{"lock not available", said("55P03"), backends.ErrRefused},
		{"statement timeout", said("57014"), backends.ErrRefused},
		{"disk full", said("53100"), backends.ErrRefused},
		{"too large", said("54000"), backends.ErrRefused},
		{"no such table", said("42P01"), backends.ErrRefused},
		{"read only", said("25006"), backends.ErrRefused},
		{"wrapped", fmt.Errorf("around: %w", said("40P01")), backends.ErrRefused},
		{"completion unknown", said("40003"), backends.ErrUnknown},
		{"connection exception", said("08000"), backends.ErrUnknown},
		{"connection failure", said("08006"), backends.ErrUnknown},
		{"transaction resolution unknown", said("08007"), backends.ErrUnknown},
		{"protocol violation", said("08P01"), backends.ErrUnknown},
		{"admin shutdown", said("57P01"), backends.ErrUnknown},
		{"crash shutdown", said("57P02"), backends.ErrUnknown},
		{"cannot connect now", said("57P03"), backends.ErrUnknown},
		{"any other end of the session", &pgconn.PgError{Severity: "FATAL", Code: "57P05"}, backends.ErrUnknown},
		{"panic", &pgconn.PgError{Severity: "PANIC", Code: "XX000"}, backends.ErrUnknown},
		{"end of the stream", io.ErrUnexpectedEOF, backends.ErrUnknown},
		{"deadline", context.DeadlineExceeded, backends.ErrUnknown},
		{"anything", errors.New("anything"), backends.ErrUnknown},
		{"no connection", &notSentError{io.ErrUnexpectedEOF}, backends.ErrRefused},
		{"closed", group.ErrClosed, backends.ErrRefused},
		{"standby", ErrStandby, backends.ErrRefused},
		{"classed", &backends.Error{Class: backends.ErrConflict}, backends.ErrConflict},
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range tests {
		if e, ok := errors.AsType[*backends.Error](failure(t.Context(), tt.err)); !ok || e.Class != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, e, tt.want)
		}
		want := backends.ErrUnknown // An ended context explains everything that has no class yet.
		if tt.want == backends.ErrConflict {
			want = backends.ErrConflict
		}
		if e, ok := errors.AsType[*backends.Error](failure(ended, tt.err)); !ok || e.Class != want {
			t.Errorf("%s, ended: got %v, want %v", tt.name, e, want)
		}
	}
	if err := failure(t.Context(), nil); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
