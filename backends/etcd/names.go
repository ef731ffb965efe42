package etcd

import (
	"fmt"
	"net/url"

	"github.com/goferry/goferry/backends/codec"
)

// The keys of a DB in etcd, below its prefix. Names are escaped, so that none holds a slash: two keys never
// share a name, and no key's rows lie among those of another.
//
//	r/NAME     the body of a record; its ModRevision is the fence
//	p/NAME     the marker: there while the record is behind
//	v/NAME     the view, if it is one object
//	v/NAME/ID  a row, if the view has rows

func (d *DB) record(name string) string { return d.config.Prefix + "r/" + name }
func (d *DB) marker(name string) string { return d.config.Prefix + "p/" + name }
func (d *DB) view(name string) string   { return d.config.Prefix + "v/" + name }
func (d *DB) rows(name string) string   { return d.view(name) + "/" }

// escaped is c with every byte escaped that is not plain text, slashes above all.
func escaped[T comparable](c codec.Codec[T, string]) codec.Codec[T, string] {
	c = codec.Checked(c)
	return codec.Codec[T, string]{
		Encode: func(v T) (string, error) {
			text, err := c.Encode(v)
			return url.PathEscape(text), err
		},
		Decode: func(name string) (T, error) {
			text, err := url.PathUnescape(name)
			if err == nil && url.PathEscape(text) != name {
				err = fmt.Errorf("etcd: the name %q is not the one that it stands for", name)
			}
			if err != nil {
				var none T
				return none, err
			}
			return c.Decode(text)
		},
	}
}
