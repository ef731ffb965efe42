package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goferry/goferry/bench/internal/report"
)

func Example() {
	r := &report.Report{}
	r.Section("Speed", "How fast it is.")
	r.Table("**Entries**", []string{"", "time"}, [][]string{{"ours", "1.2 µs"}, {"theirs", "12 ns"}})
	r.AtLeast("entries", 2, 1.5)
	r.AtMost("allocations", 2, 1)
	r.Told("calls", 1234567)
	fmt.Print(r.Document("# Figures\n"))
	// Output:
	// # Figures
	//
	// ## Goals
	//
	// | Figure      |    Goal | Measured |    Verdict |
	// |-------------|--------:|---------:|-----------:|
	// | entries     | >= 1.50 |     2.00 |        met |
	// | allocations | <= 1.00 |     2.00 | **missed** |
	// | calls       |         |   1.23 M |            |
	//
	// ## Speed
	//
	// How fast it is.
	//
	// **Entries**
	//
	// |        |   time |
	// |--------|-------:|
	// | ours   | 1.2 µs |
	// | theirs |  12 ns |
}

func TestShowsAsItComes(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	r := &report.Report{Show: &shown}
	r.Section("Speed", "How fast it is.")
	if !strings.Contains(shown.String(), "How fast") {
		t.Errorf("got %q shown", shown.String())
	}
}

// A figure that is none misses its goal.
func TestNoFigure(t *testing.T) {
	t.Parallel()
	r := &report.Report{}
	r.AtLeast("at least", math.NaN(), 1)
	r.AtMost("at most", math.NaN(), 1)
	if got := strings.Count(r.Goals(), "missed"); got != 2 {
		t.Errorf("got %d goals missed, want 2:\n%s", got, r.Goals())
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{report.Number(0), "0.00"},
		{report.Number(1.234), "1.23"},
		{report.Number(12.34), "12.3"},
		{report.Number(1234.5), "1234"},
		{report.Number(math.Inf(1)), "-"},
		{report.Times(0.5), "0.50x"},
		{report.Duration(999), "999 ns"},
		{report.Duration(1500), "1.50 µs"},
		{report.Duration(25 * time.Millisecond), "25.0 ms"},
		{report.Duration(time.Minute), "60.0 s"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
