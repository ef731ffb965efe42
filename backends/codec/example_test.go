package codec_test

import (
	"fmt"
	"strings"

	"github.com/goferry/goferry/backends/codec"
)

// tenantKey is a key of two parts.
type tenantKey struct{ Tenant, Name string }

// A key of several parts needs a text of its own. Checked refuses the keys for which it is ambiguous.
func ExampleChecked() {
	keys := codec.Checked(codec.Codec[tenantKey, string]{
		Encode: func(k tenantKey) (string, error) { return k.Tenant + "/" + k.Name, nil },
		Decode: func(s string) (tenantKey, error) {
			tenant, name, found := strings.Cut(s, "/")
			if !found {
				return tenantKey{}, fmt.Errorf("no tenant")
			}
			return tenantKey{tenant, name}, nil
		},
	})
	fmt.Println(keys.Encode(tenantKey{"acme", "a/b"}))
	_, err := keys.Encode(tenantKey{"acme/a", "b"})
	fmt.Println(err)

	// Output:
	// acme/a/b <nil>
	// codec: a codec_test.tenantKey is stored as something else than itself
}

// A field that this release does not know is an error, not lost.
func ExampleJSON() {
	type account struct{ Balance int }
	accounts := codec.JSON[account]()
	fmt.Println(accounts.Decode([]byte(`{"Balance":7}`)))
	_, err := accounts.Decode([]byte(`{"Balance":7,"Currency":"EUR"}`))
	fmt.Println(err)

	// Output:
	// {7} <nil>
	// json: unknown field "Currency"
}
