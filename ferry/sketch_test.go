package ferry

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSketchFindsTheHotKeys(t *testing.T) {
	t.Parallel()
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	var s sketch[string]
	for range 100_000 {
		key := fmt.Sprint("cold ", random.IntN(10_000))
		switch random.IntN(10) {
		case 0, 1, 2:
			key = "hot"
		case 3, 4:
			key = "warm"
		}
		s.add(key, 1)
	}
	got := s.hottest(2)
	if got[0].Key != "hot" || got[1].Key != "warm" || got[0].Share < 0.25 || got[0].Share > 0.4 {
		t.Errorf("seed %d: got %v, want hot with 0.3 and warm with 0.2", seed, got)
	}
	for range 100_000 {
		s.add("new", 1)
	}
	if got := s.hottest(1)[0]; got.Key != "new" || got.Share < 0.9 {
		t.Errorf("got %v, want the new key: old heat fades", got)
	}
	if len(s.hot) > sketchSize {
		t.Errorf("got %d keys, want at most %d", len(s.hot), sketchSize)
	}
}

// Keys that take turns are seen alike, whatever their number.
func TestSketchOfKeysInTurn(t *testing.T) {
	t.Parallel()
	for _, keys := range []int{4, 8, 16} {
		var s sketch[int]
		for n := range 100_000 {
			s.add(n%keys, 1)
		}
		if got := len(s.hottest(keys)); got != keys {
			t.Errorf("got %d of %d keys", got, keys)
		}
	}
}

func TestSketchOfNothing(t *testing.T) {
	t.Parallel()
	var s sketch[int]
	if got := s.hottest(3); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
