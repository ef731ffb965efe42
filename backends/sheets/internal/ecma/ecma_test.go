package ecma_test

import (
	"math"
	"testing"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
)

func TestStringIsECMAScripts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   any
		want string
	}{
		{nil, ""}, {"", ""}, {"007", "007"}, {true, "true"}, {false, "false"},
		{7.0, "7"}, {0.0, "0"}, {math.Copysign(0, -1), "0"}, {-1.5, "-1.5"}, {0.1, "0.1"},
		{1e-6, "0.000001"}, {1e-7, "1e-7"}, {1.5e-9, "1.5e-9"}, {123456789012345680000.0, "123456789012345680000"},
		{1e21, "1e+21"}, {1.7976931348623157e308, "1.7976931348623157e+308"}, {5e-324, "5e-324"},
		{math.NaN(), "NaN"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"},
		{9007199254740991.0, "9007199254740991"},
	}
	for _, tt := range tests {
		if got, ok := ecma.String(tt.in); !ok || got != tt.want {
			t.Errorf("String(%#v): got %q, %v, want %q", tt.in, got, ok, tt.want)
		}
	}
	if _, ok := ecma.String([]any{1.0}); ok {
		t.Error("a list was taken for a scalar")
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b any
		want bool
	}{
		{7.0, "7", true}, {nil, "", true}, {true, "true", true}, {0.0, "", false}, {false, "", false},
		{0.0, nil, false}, {"7", "07", false}, {1.0, true, false}, {map[string]any{}, map[string]any{}, false},
	}
	for _, tt := range tests {
		if got := ecma.Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("Equal(%#v, %#v): got %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := ecma.Equal(tt.b, tt.a); got != tt.want {
			t.Errorf("Equal(%#v, %#v): got %v, want %v", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestFinite(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, "1", true, math.NaN(), math.Inf(1)} {
		if _, ok := ecma.Finite(v); ok {
			t.Errorf("Finite(%#v): got true, want false", v)
		}
	}
	if f, ok := ecma.Finite(0.0); !ok || f != 0 {
		t.Errorf("Finite(0): got %v, %v, want 0, true", f, ok)
	}
}
