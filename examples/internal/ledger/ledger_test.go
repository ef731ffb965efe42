package ledger_test

import (
	"strings"
	"testing"

	"github.com/goferry/goferry/examples/internal/ledger"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	log := ledger.Log{Entries: []ledger.Entry{{ID: "1"}, {ID: "2"}}}
	tests := []struct {
		shown string
		want  string
	}{
		{"1 2", ""},
		{"2 1", ""},
		{"1", "entry 2 is in the view 0 times"},
		{"1 2 2", "entry 2 is in the view 2 times"},
		{"1 2 3", "entry 3 is in the view, but not in the log"},
	}
	for _, tt := range tests {
		got := ""
		if err := log.Check(strings.Fields(tt.shown)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.shown, got, tt.want)
		}
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	log, first, changed := ledger.Append(ledger.Log{}, ledger.Entry{ID: "1"})
	again, replay, changedAgain := ledger.Append(log, ledger.Entry{ID: "1"})
	if !changed || changedAgain || first != (ledger.Answer{Position: 0}) || replay != (ledger.Answer{Position: 0, Replay: true}) || len(again.Entries) != 1 {
		t.Errorf("got %v %v, then %v %v, want it booked once", first, changed, replay, changedAgain)
	}
}
