//go:build !race

package projected_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// An undisturbed call costs the two slices of answers, whatever the number of inputs.
func TestAllocations(t *testing.T) {
	read := func(struct{}, context.Context, string) (int, error) { return 1, nil }
	commit := func(_ struct{}, _ context.Context, _ string, _, next int) (int, error) { return next, nil }
	step := func(sum, in int) (int, int, bool) { return sum + in, sum, true }
	project := func(struct{}, context.Context, string, int) error { return nil }
	f := fold.New[error](func(in int) int { return in }, read, step, commit, schedule.Recurs(3))
	w := projected.WholeRecord(f, func(sum int) bool { return sum > 0 }, project).Provide(struct{}{})
	for _, n := range []int{1, 8, 128} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inputs := make([]int, n)
			got := testing.AllocsPerRun(100, func() {
				if _, err := w.Call(context.Background(), "key", inputs); err != nil {
					t.Fatal(err)
				}
			})
			if got > 2 {
				t.Errorf("got %v allocations for %d inputs, want 2", got, n)
			}
		})
	}
}
