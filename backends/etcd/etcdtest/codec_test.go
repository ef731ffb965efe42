package etcdtest_test

import (
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
	"github.com/goferry/goferry/backends/etcd"
)

// pair is a key that has no text by itself.
type pair struct{ a, b int }

var pairs = codec.Codec[pair, string]{
	Encode: func(p pair) (string, error) { return strconv.Itoa(p.a) + "/" + strconv.Itoa(p.b), nil },
	Decode: func(s string) (pair, error) {
		a, b, _ := strings.Cut(s, "/")
		first, errA := strconv.Atoi(a)
		second, errB := strconv.Atoi(b)
		return pair{first, second}, errors.Join(errA, errB)
	},
}

// hexed stores anything that is a string as hexadecimal digits.
var hexed = codec.Codec[string, []byte]{
	Encode: func(s string) ([]byte, error) { return []byte(hex.EncodeToString([]byte(s))), nil },
	Decode: func(stored []byte) (string, error) {
		s, err := hex.DecodeString(string(stored))
		return string(s), err
	},
}

func rawClient(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: common.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// wantRaw checks what a key of etcd holds.
func wantRaw(t *testing.T, client *clientv3.Client, key, want string) {
	t.Helper()
	got, err := client.Get(t.Context(), key)
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != want {
		t.Errorf("%s: got %v, %v, want %q", key, got.Kvs, err, want)
	}
}

func TestCodecs(t *testing.T) {
	t.Parallel()
	client := rawClient(t)
	key, next := pair{7, 8}, backends.Record[string]{Body: "ab", Behind: true}
	viewsPrefix, rowsPrefix := newPrefix(), newPrefix()

	views := etcd.New[pair](openAs(t, viewsPrefix, common.Endpoints()...), strings.ToUpper).WithKeys(pairs).WithBodies(hexed).WithViews(hexed)
	stored, err := views.Commit(t.Context(), key, backends.Record[string]{}, next)
	if err := errors.Join(err, views.Project(t.Context(), key, stored)); err != nil {
		t.Fatal(err)
	}
	wantRaw(t, client, viewsPrefix+"r/7%2F8", "6162")
	wantRaw(t, client, viewsPrefix+"v/7%2F8", "4142")
	if view, ok, err := views.View(t.Context(), key); view != "AB" || !ok || err != nil {
		t.Errorf("got view %q, %v, %v, want AB", view, ok, err)
	}

	letters := func(body string) iter.Seq2[pair, string] {
		return func(yield func(pair, string) bool) {
			for i, letter := range body {
				if !yield(pair{i, i}, strconv.Itoa(i)+string(letter)) {
					return
				}
			}
		}
	}
	place := func(row string) pair { return pair{int(row[0] - '0'), int(row[0] - '0')} }
	rows := etcd.NewRows[pair](openAs(t, rowsPrefix, common.Endpoints()...), letters, place).WithKeys(pairs).WithBodies(hexed).WithIDs(pairs).WithRows(hexed)
	stored, err = rows.Commit(t.Context(), key, backends.Record[string]{}, next)
	if err := errors.Join(append(rows.Put(t.Context(), key, []string{"0a"}), err)...); err != nil {
		t.Fatal(err)
	}
	if missing, err := rows.Missing(t.Context(), key, stored); !slices.Equal(missing, []pair{{1, 1}}) || err != nil {
		t.Errorf("got missing %v, %v, want [{1 1}]", missing, err)
	}
	if left, err := rows.ProjectRows(t.Context(), key, stored); len(left) > 0 || err != nil {
		t.Errorf("got %v, %v, want nothing left", left, err)
	}
	wantRaw(t, client, rowsPrefix+"r/7%2F8", "6162")
	wantRaw(t, client, rowsPrefix+"v/7%2F8/1%2F1", "\x013162")
	if got, err := rows.Rows(t.Context(), key); !slices.Equal(got, []string{"0a", "1b"}) || err != nil {
		t.Errorf("got rows %q, %v", got, err)
	}
}

// TestUndecodable has another program write below the prefix. Its keys are named and left alone, and the others go on.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	client := rawClient(t)
	prefix := newPrefix()
	db := openAs(t, prefix, common.Endpoints()...)
	store := etcd.New[int](db, func(n int) int { return n })
	rows := etcd.NewRows[int](db, func(int) iter.Seq2[int, int] { return func(func(int, int) bool) {} }, func(n int) int { return n })
	for key, value := range map[string]string{"r/1": "no number", "v/1": "{", "v/1/2": "\x00{", "v/3/4": "\xff", "p/x": "", "p/%30": ""} {
		if _, err := client.Put(t.Context(), prefix+key, value); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		call func() error
	}{
		{"read", func() error { _, err := store.Read(t.Context(), 1); return err }},
		{"view", func() error { _, _, err := store.View(t.Context(), 1); return err }},
		{"rows", func() error { _, err := rows.Rows(t.Context(), 1); return err }},
		{"rows without a place", func() error { _, err := rows.Rows(t.Context(), 3); return err }},
	}
	for _, tt := range tests {
		err := tt.call()
		if failed, ok := errors.AsType[*backends.Error](err); !ok || failed.Key == nil || !errors.Is(err, backends.ErrUndecodable) {
			t.Errorf("%s: got %v, want it undecodable, with its key", tt.name, err)
		}
	}
	if _, err := store.Commit(t.Context(), 2, backends.Record[int]{}, backends.Record[int]{Behind: true}); err != nil {
		t.Fatal(err)
	}
	var listed []int
	failed := 0
	for key, err := range store.PendingKeys(t.Context()) {
		if errors.Is(err, backends.ErrUndecodable) {
			failed++
			continue
		}
		listed = append(listed, key)
	}
	if failed != 2 || !slices.Equal(listed, []int{2}) {
		t.Errorf("got keys %v and %d failures, want [2] and 2", listed, failed)
	}
	wantRaw(t, client, prefix+"r/1", "no number")
}

// TestUnencodable: a key, a row or a body that has no stored form is refused, and a row alone.
func TestUnencodable(t *testing.T) {
	t.Parallel()
	none := codec.Codec[string, []byte]{
		Encode: func(s string) ([]byte, error) {
			if s == "bad" {
				return nil, errors.New("it is bad")
			}
			return []byte(s), nil
		},
		Decode: func(stored []byte) (string, error) { return string(stored), nil },
	}
	words := func(body string) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			for _, word := range strings.Fields(body) {
				if !yield(word, word) {
					return
				}
			}
		}
	}
	store := etcd.NewRows[string](open(t, common.Endpoints()...), words, func(word string) string { return word }).WithBodies(none).WithRows(none)
	if _, err := store.Commit(t.Context(), "k", backends.Record[string]{}, backends.Record[string]{Body: "bad"}); !errors.Is(err, backends.ErrRefused) {
		t.Errorf("body: got %v, want it refused", err)
	}
	stored, err := store.Commit(t.Context(), "k", backends.Record[string]{}, backends.Record[string]{Body: "a bad b", Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	errs := store.Put(t.Context(), "k", []string{"a", "bad", "a"})
	if errs[0] != nil || !errors.Is(errs[1], backends.ErrRefused) || errs[2] != nil {
		t.Errorf("put: got %v, want only the second refused", errs)
	}
	left, err := store.ProjectRows(t.Context(), "k", stored)
	if len(left) != 1 || !errors.Is(left["bad"], backends.ErrRefused) || err != nil {
		t.Errorf("projection: got %v, %v, want only the bad one left", left, err)
	}
	if rows, err := store.Rows(t.Context(), "k"); !slices.Equal(rows, []string{"a", "b"}) || err != nil {
		t.Errorf("got rows %v, %v, want [a b]", rows, err)
	}
	if held, err := store.Read(t.Context(), "k"); !held.Behind || err != nil {
		t.Errorf("got behind %v, %v with a row left, want true", held.Behind, err)
	}
	odd := etcd.New[pair](open(t, common.Endpoints()...), func(n int) int { return n })
	if _, err := odd.Read(t.Context(), pair{}); !errors.Is(err, backends.ErrRefused) {
		t.Errorf("key without a text: got %v, want it refused", err)
	}
}
