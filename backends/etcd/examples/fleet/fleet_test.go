package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary a process of the fleet when it is started as one.
func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(child); ok {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestFleet(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // Its end kills the processes, and so ends every wait for them.
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, 600); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"killing the leading node", "killing process p2", "each once in log and view"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q in\n%s", want, out.String())
		}
	}
	t.Log(out.String())
}

func TestCompare(t *testing.T) {
	t.Parallel()
	a, b := entry{ID: "a"}, entry{ID: "b"}
	tests := []struct {
		log  ledger
		rows []entry
		want string
	}{
		{ledger{a, b}, []entry{b, a}, "<nil>"},
		{ledger{a, b}, []entry{a}, "x: the view has 1 rows of 2 entries"},
		{ledger{a, b, a}, []entry{a, b}, "x: 1 entries are booked twice"},
		{ledger{a}, []entry{a, a}, "x: the view has 2 rows of 1 entries"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(compare("x", tt.log, tt.rows)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
