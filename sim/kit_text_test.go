package sim_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goferry/goferry/sim"
)

func TestAnyStringsAreDifferent(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(int) string{"AnyText": sim.AnyText, "AnyBytes": sim.AnyBytes} {
		seen := map[string]int{}
		for n := range 10_000 {
			s := of(n)
			if before, ok := seen[s]; ok {
				t.Fatalf("%s: %d and %d are both %q", name, before, n, s)
			}
			seen[s] = n
		}
	}
}

func TestAnyTextIsText(t *testing.T) {
	t.Parallel()
	for n := range 10_000 {
		if s := sim.AnyText(n); !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("%d: %q is no text", n, s)
		}
	}
}
