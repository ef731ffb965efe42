package load

import (
	"cmp"
	"slices"
)

// Turns lets n contenders take turns, rounds times, and answers what each was given in each round. Whoever begins
// changes, so that a machine that is slower for a while is slower for all of them.
func Turns[T any](rounds, n int, play func(contender int) (T, error)) ([][]T, error) {
	got := make([][]T, n)
	for round := range rounds {
		for i := range n {
			contender := (round + i) % n
			t, err := play(contender)
			if err != nil {
				return nil, err
			}
			got[contender] = append(got[contender], t)
		}
	}
	return got, nil
}

// Median answers the median of what is measured of each.
func Median[T any, V cmp.Ordered](all []T, measure func(T) V) V {
	values := make([]V, len(all))
	for i, t := range all {
		values[i] = measure(t)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Ratio answers the median of the ratios of a to b, each of the same round.
func Ratio[T any](a, b []T, measure func(T) float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = measure(a[i]) / measure(b[i])
	}
	return Median(ratios, func(r float64) float64 { return r })
}
