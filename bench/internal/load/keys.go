package load

import (
	"math/rand/v2"
	"strconv"
)

// Keys answers n keys.
func Keys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = "key-" + strconv.Itoa(i)
	}
	return keys
}

// Draws is a sequence of keys, the same in every run. Callers each begin somewhere else in it.
type Draws []string

// draws is how long the sequence is: long enough that each of 10,000 keys is in it.
const draws = 1 << 17

// Uniform draws from keys evenly.
func Uniform(keys []string) Draws {
	r := rand.New(rand.NewPCG(1, 1))
	return draw(keys, func() uint64 { return r.Uint64N(uint64(len(keys))) })
}

// Zipf draws the n-th of keys with a probability of n to the power of -1.2.
func Zipf(keys []string) Draws {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, uint64(len(keys)-1))
	return draw(keys, z.Uint64)
}

func draw(keys []string, index func() uint64) Draws {
	d := make(Draws, draws)
	for i := range d {
		d[i] = keys[index()]
	}
	return d
}

// At answers the n-th draw of a caller.
func (d Draws) At(caller, n int) string {
	const apart = 40503 // Odd, so that callers who started together do not march together.
	return d[(caller*apart+n)%len(d)]
}

// One answers the key of a caller that only has one.
func One(keys []string) func(caller, n int) string {
	return func(caller, _ int) string { return keys[caller%len(keys)] }
}
