//go:build !race

package fold_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/schedule"
)

// An undisturbed call costs the slice of answers, whatever the number of inputs.
func TestAllocations(t *testing.T) {
	read := func(struct{}, context.Context, string) (int, error) { return 1, nil }
	write := func(_ struct{}, _ context.Context, _ string, _, next int) (int, error) { return next, nil }
	step := func(sum, in int) (int, int, bool) { return sum + in, sum, true }
	w := fold.New[error](func(in int) int { return in }, read, step, write, schedule.Recurs(3)).Provide(struct{}{})
	for _, n := range []int{1, 8, 128} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inputs := make([]int, n)
			got := testing.AllocsPerRun(100, func() {
				if _, err := w.Call(context.Background(), "key", inputs); err != nil {
					t.Fatal(err)
				}
			})
			if got > 1 {
				t.Errorf("got %v allocations for %d inputs, want 1", got, n)
			}
		})
	}
}
