package ferry

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// sketch finds the keys with the most inputs in a fixed space: the Space-Saving algorithm of Metwally, Agrawal and
// El Abbadi (2005), on a sample of the batches, with counts that are halved now and then so that old heat fades.
type sketch[K comparable] struct {
	total int // of the inputs counted
	hot   []hot[K]
}

type hot[K comparable] struct {
	key   K
	count int
}

const (
	sketchSize   = 32
	sketchSample = 8       // one batch of about so many is looked at
	sketchFade   = 1 << 12 // inputs counted before all counts are halved
)

// add counts a batch of n inputs of key.
func (s *sketch[K]) add(key K, n int) {
	if rand.IntN(sketchSample) != 0 {
		return // By chance: keys that take turns would fall in step with a count.
	}
	if s.total += n; s.total > sketchFade {
		s.fade()
	}
	least := 0
	for i := range s.hot {
		if s.hot[i].key == key {
			s.hot[i].count += n
			return
		}
		if s.hot[i].count < s.hot[least].count {
			least = i
		}
	}
	if len(s.hot) < sketchSize {
		s.hot = append(s.hot, hot[K]{key, n})
		return
	}
	// The newcomer takes the place of the coldest and its count: a key that is hot is never underestimated.
	s.hot[least] = hot[K]{key, s.hot[least].count + n}
}

func (s *sketch[K]) fade() {
	s.total /= 2
	for i := range s.hot {
		s.hot[i].count /= 2
	}
}

// hottest answers at most n keys, the hottest first, with their share of all inputs.
func (s *sketch[K]) hottest(n int) []HotKey[K] {
	sorted := slices.SortedFunc(slices.Values(s.hot), func(a, b hot[K]) int { return cmp.Compare(b.count, a.count) })
	var keys []HotKey[K]
	for _, h := range sorted[:min(n, len(sorted))] {
		keys = append(keys, HotKey[K]{Key: h.key, Share: float64(h.count) / float64(s.total)})
	}
	return keys
}
