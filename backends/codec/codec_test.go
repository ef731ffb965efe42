package codec_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends/codec"
)

type (
	name  string
	small int8
	body  struct {
		A int
		B []string `json:",omitempty"`
	}
)

func TestJSON(t *testing.T) {
	t.Parallel()
	c := codec.JSON[body]()
	stored, err := c.Encode(body{A: 1, B: []string{"x"}})
	if want := `{"A":1,"B":["x"]}`; string(stored) != want || err != nil {
		t.Errorf("got %s, %v, want %s", stored, err, want)
	}
	tests := []struct {
		stored string
		fine   bool
	}{
		{`{"A":1,"B":["x"]}`, true},
		{` {"A":1} `, true},
		{`null`, true},
		{``, false},
		{`{"A":1,"C":2}`, false},
		{`{"A":1}{"A":2}`, false},
		{`{"A":1} x`, false},
		{`{"A":"1"}`, false},
		{`{"A":1`, false},
	}
	for _, tt := range tests {
		if _, err := c.Decode([]byte(tt.stored)); (err == nil) != tt.fine {
			t.Errorf("%s: got %v, want it taken: %v", tt.stored, err, tt.fine)
		}
	}
	if _, err := codec.JSON[float64]().Encode(math.NaN()); err == nil {
		t.Error("NaN was encoded")
	}
}

// roundTrips checks that two keys have one text if and only if they are equal, and come back.
func roundTrips[K comparable](t *testing.T, keys *rapid.Generator[K]) {
	t.Helper()
	c := codec.Text[K]()
	rapid.Check(t, func(t *rapid.T) {
		k, other := keys.Draw(t, "k"), keys.Draw(t, "other")
		text, err := c.Encode(k)
		back, backErr := c.Decode(text)
		if err := errors.Join(err, backErr); err != nil || back != k {
			t.Fatalf("%v: got %v, %v by way of %q", k, back, err, text)
		}
		if otherText, _ := c.Encode(other); (otherText == text) != (other == k) {
			t.Fatalf("%v and %v are %q and %q", k, other, text, otherText)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	roundTrips(t, rapid.String())
	roundTrips(t, rapid.Map(rapid.String(), func(s string) name { return name(s) }))
	roundTrips(t, rapid.Int64())
	roundTrips(t, rapid.Uint64())
	roundTrips(t, rapid.Map(rapid.Int8(), func(n int8) small { return small(n) }))
	if text, _ := codec.Text[small]().Encode(-7); text != "-7" {
		t.Errorf("got %q, want -7", text)
	}
}

func TestTextDecodesOnlyWhatFits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "128", "-129", "1.0"} {
		if k, err := codec.Text[small]().Decode(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, k)
		}
	}
	for _, text := range []string{"", "-1", "18446744073709551616"} {
		if k, err := codec.Text[uint64]().Decode(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, k)
		}
	}
}

func refuses[K comparable](t *testing.T, k K) {
	t.Helper()
	c := codec.Text[K]()
	_, encodeErr := c.Encode(k)
	_, decodeErr := c.Decode("1")
	for _, err := range []error{encodeErr, decodeErr} {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%T", k)) {
			t.Errorf("%T: got %v, want an error naming the type", k, err)
		}
	}
}

func TestTextRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	refuses(t, 1.0)
	refuses(t, true)
	refuses(t, new(int))
	refuses(t, [2]int{})
	refuses(t, struct{ A string }{})
}

func TestChecked(t *testing.T) {
	t.Parallel()
	lossy := codec.Checked(codec.Codec[string, string]{
		Encode: func(s string) (string, error) { return strings.ToLower(s), nil },
		Decode: func(s string) (string, error) { return strings.ToLower(s), nil },
	})
	failing := codec.Codec[string, string]{
		Encode: func(string) (string, error) { return "", errors.New("encode") },
		Decode: func(string) (string, error) { return "", errors.New("decode") },
	}
	integers := codec.Checked(codec.Text[int]())
	_, failedEncode := codec.Checked(failing).Encode("a")
	_, failedDecode := codec.Checked(failing).Decode("a")
	_, folded := lossy.Encode("A")
	_, foldedText := lossy.Decode("A")
	_, padded := integers.Decode("007")
	for what, err := range map[string]error{
		"a key that comes back as another": folded, "a text that no key has": foldedText, "a padded number": padded,
		"a failing encode": failedEncode, "a failing decode": failedDecode,
	} {
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	if text, err := lossy.Encode("a"); text != "a" || err != nil {
		t.Errorf("got %q, %v, want a", text, err)
	}
	if k, err := integers.Decode("7"); k != 7 || err != nil {
		t.Errorf("got %v, %v, want 7", k, err)
	}
}
