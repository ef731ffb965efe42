package backends_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/goferry/goferry/backends"
)

// TestPendingOfTheZeroRecord is the second half of L28.
func TestPendingOfTheZeroRecord(t *testing.T) {
	t.Parallel()
	if (backends.Record[int]{}).Pending() {
		t.Error("L28: the zero record is pending")
	}
	if !(backends.Record[int]{Behind: true}).Pending() {
		t.Error("a record that is behind is not pending")
	}
}

func TestStep(t *testing.T) {
	t.Parallel()
	step := backends.Step(func(body, in int) (next, out int, changed bool) {
		return body + in, 10 * in, in > 0
	})
	type record = backends.Record[int]
	tests := []struct {
		name    string
		from    record
		in      int
		want    record
		out     int
		changed bool
	}{
		{"a change marks the view as behind", record{Body: 1, Fence: 7}, 2, record{Body: 3, Fence: 7, Behind: true}, 20, true},
		{"a change of the zero record", record{}, 2, record{Body: 2, Behind: true}, 20, true},
		{"no change keeps body and marker", record{Body: 1, Fence: 7}, -1, record{Body: 1, Fence: 7}, -10, false},
		{"L28: no change keeps a record behind", record{Body: 1, Fence: 7, Behind: true}, -1, record{Body: 1, Fence: 7, Behind: true}, -10, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, out, changed := step(tt.from, tt.in)
			if got != tt.want || out != tt.out || changed != tt.changed {
				t.Errorf("got %v, %v, %v, want %v, %v, %v", got, out, changed, tt.want, tt.out, tt.changed)
			}
		})
	}
}

// TestErrorClasses: each error is exactly one class, and only an unknown outcome may have been written. L33.
func TestErrorClasses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		class      error
		notWritten bool
	}{
		{backends.ErrConflict, true},
		{backends.ErrRefused, true},
		{backends.ErrUnknown, false},
	}
	for _, tt := range tests {
		err := fmt.Errorf("around: %w", &backends.Error{Op: "commit", Key: "k", Class: tt.class, Err: io.ErrUnexpectedEOF})
		for _, other := range tests {
			if got, want := errors.Is(err, other.class), other.class == tt.class; got != want {
				t.Errorf("%v is %v: got %v, want %v", err, other.class, got, want)
			}
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v hides its cause", err)
		}
		if e, ok := errors.AsType[interface {
			error
			NotWritten() bool
		}](err); !ok || e.NotWritten() != tt.notWritten {
			t.Errorf("%v: got not written %v, want %v", err, !tt.notWritten, tt.notWritten)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  backends.Error
		want string
	}{
		{backends.Error{Op: "commit", Key: "k", Class: backends.ErrUnknown, Err: io.ErrUnexpectedEOF}, "commit k: outcome unknown: unexpected EOF"},
		{backends.Error{Op: "put", Key: 7, Class: backends.ErrRefused}, "put 7: refused"},
		{backends.Error{Op: "list", Class: backends.ErrRefused, Err: io.ErrUnexpectedEOF}, "list: refused: unexpected EOF"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	without := &backends.Error{Class: backends.ErrRefused}
	if errs := without.Unwrap(); len(errs) != 1 {
		t.Errorf("got %v without a cause, want the class alone", errs)
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	if err := backends.Ended(t.Context(), "commit", "k"); err != nil {
		t.Errorf("got %v while the context goes on, want nil", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := backends.Ended(ctx, "commit", "k")
	if !errors.Is(err, backends.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("L33: got %v, want an unknown outcome with its cause", err)
	}
}
