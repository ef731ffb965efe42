// Package codec turns keys and bodies into what a durable store keeps, and back.
//
// # Keys
//
// Two keys that are equal have one text and two that differ have two: [Text] only takes types for which that is
// evident, and [Checked] refuses, key by key, what a user's own codec does not bring back.
//
// # Bodies
//
// [JSON] refuses a stored body with a field that the type does not have. To ignore it would be to drop it with the next
// write: a process of the last release would erase what one of the next release wrote.
package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// Codec turns a T into what is stored, and back. Both functions are needed. They are pure and called by any number of
// goroutines.
type Codec[T, Stored any] struct {
	Encode func(T) (Stored, error)
	Decode func(Stored) (T, error)
}

// JSON stores a T as encoding/json writes it. What encoding/json leaves out is not stored: unexported fields, and
// bytes of a string that are no UTF-8. A stored body with unknown fields, or with anything behind it, is an error.
func JSON[T any]() Codec[T, []byte] {
	return Codec[T, []byte]{
		Encode: func(v T) ([]byte, error) { return json.Marshal(v) },
		Decode: func(stored []byte) (T, error) {
			var v T
			d := json.NewDecoder(bytes.NewReader(stored))
			d.DisallowUnknownFields()
			if err := d.Decode(&v); err != nil {
				return v, err
			}
			if _, err := d.Token(); err != io.EOF {
				return v, fmt.Errorf("codec: more than one JSON value")
			}
			return v, nil
		},
	}
}

// Text stores a string as it is and an integer in decimal; named types are taken as the type that they are made of.
// Every other type is refused with an error at each call: for floats, pointers and interfaces equality and text can
// differ, and for the rest only the user knows a text that will still be the right one in the next release.
func Text[K comparable]() Codec[K, string] {
	switch kind := reflect.TypeFor[K]().Kind(); {
	case kind == reflect.String:
		return Codec[K, string]{
			Encode: func(k K) (string, error) { return reflect.ValueOf(k).String(), nil },
			Decode: func(s string) (k K, err error) {
				reflect.ValueOf(&k).Elem().SetString(s)
				return k, nil
			},
		}
	case kind >= reflect.Int && kind <= reflect.Int64:
		return Codec[K, string]{
			Encode: func(k K) (string, error) { return strconv.FormatInt(reflect.ValueOf(k).Int(), 10), nil },
			Decode: func(s string) (k K, err error) {
				v := reflect.ValueOf(&k).Elem()
				n, err := strconv.ParseInt(s, 10, v.Type().Bits())
				v.SetInt(n)
				return k, err
			},
		}
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return Codec[K, string]{
			Encode: func(k K) (string, error) { return strconv.FormatUint(reflect.ValueOf(k).Uint(), 10), nil },
			Decode: func(s string) (k K, err error) {
				v := reflect.ValueOf(&k).Elem()
				n, err := strconv.ParseUint(s, 10, v.Type().Bits())
				v.SetUint(n)
				return k, err
			},
		}
	}
	err := fmt.Errorf("codec: %v has no text by itself: the store needs a codec for it", reflect.TypeFor[K]())
	return Codec[K, string]{
		Encode: func(K) (string, error) { return "", err },
		Decode: func(string) (k K, _ error) { return k, err },
	}
}

// Checked is c for keys: its Encode refuses a key that Decode does not bring back, since it would share a record with
// another key, or be listed as one. Its Decode refuses a text that Encode would write otherwise, such as "007".
func Checked[K, Stored comparable](c Codec[K, Stored]) Codec[K, Stored] {
	return Codec[K, Stored]{
		Encode: func(k K) (Stored, error) {
			stored, err := c.Encode(k)
			if err != nil {
				return stored, err
			}
			if back, err := c.Decode(stored); err != nil || back != k {
				return stored, fmt.Errorf("codec: a %T is stored as something else than itself", k)
			}
			return stored, nil
		},
		Decode: func(stored Stored) (K, error) {
			k, err := c.Decode(stored)
			if err != nil {
				return k, err
			}
			if back, err := c.Encode(k); err != nil || back != stored {
				return k, fmt.Errorf("codec: the stored text of a %T is not the one it has", k)
			}
			return k, nil
		},
	}
}
