package memory_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/contract"
)

type record = contract.Record

// model is what a store must hold, as plain maps, and every record that it ever handed out.
type model struct {
	store interface {
		backends.Store[string, []string]
		Delete(context.Context, string, record) error
		Keys(context.Context) iter.Seq2[string, error]
	}
	held   map[string]record
	views  map[string][]string
	known  []record
	fences map[backends.Fence]bool
}

func (m *model) drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
}

// drawRead is the record that a write is made for: the newest of key, or any that was ever handed out.
func (m *model) drawRead(t *rapid.T, key string) record {
	if back := rapid.IntRange(0, len(m.known)).Draw(t, "stale"); back > 0 {
		return m.known[len(m.known)-back]
	}
	return m.held[key]
}

// took says whether a write should have been taken, having checked its answer. L32, L33.
func (m *model) took(t *rapid.T, key string, read record, mayCreate bool, err error) bool {
	held, exists := m.held[key]
	want := held.Fence == read.Fence && (exists || mayCreate)
	if want && err != nil || !want && !errors.Is(err, backends.ErrConflict) {
		t.Fatalf("%s: got %v for a write on fence %d while %d is held", key, err, read.Fence, held.Fence)
	}
	return want
}

func (m *model) hold(t *rapid.T, key string, got record) {
	if m.fences[got.Fence] {
		t.Fatalf("%s: fence %d came back", key, got.Fence)
	}
	m.fences[got.Fence] = true
	m.held[key] = got
	m.known = append(m.known, got)
}

func (m *model) commit(t *rapid.T) {
	key := m.drawKey(t)
	read := m.drawRead(t, key)
	next := record{Body: append(slices.Clone(read.Body), rapid.StringMatching("[x-z]").Draw(t, "entry"))}
	next.Behind = rapid.Bool().Draw(t, "behind")
	behind := next.Behind || m.held[key].Behind
	stored, err := m.store.Commit(t.Context(), key, read, next)
	if m.took(t, key, read, true, err) {
		if stored.Behind != behind || !slices.Equal(stored.Body, next.Body) {
			t.Fatalf("%s: got %v stored for %v on %v", key, stored, next, m.held[key])
		}
		m.hold(t, key, stored)
	}
}

func (m *model) delete(t *rapid.T) {
	key := m.drawKey(t)
	read := m.drawRead(t, key)
	if err := m.store.Delete(t.Context(), key, read); m.took(t, key, read, false, err) {
		delete(m.held, key)
		delete(m.views, key)
	}
}

// settle is a project or a clear of the store.
func (m *model) settle(t *rapid.T, do func(context.Context, string, record) error) (key string, read record, ok bool) {
	key = m.drawKey(t)
	read = m.drawRead(t, key)
	err := do(t.Context(), key, read)
	if !m.took(t, key, read, false, err) {
		return key, read, false
	}
	got, err := m.store.Read(t.Context(), key)
	if err != nil || got.Behind || !slices.Equal(got.Body, m.held[key].Body) {
		t.Fatalf("%s: got %v, %v after a settle of %v", key, got, err, m.held[key])
	}
	m.hold(t, key, got)
	return key, read, true
}

// check compares the whole store with the model.
func (m *model) check(t *rapid.T, view func(context.Context, string) ([]string, error)) {
	var behind []string
	for _, key := range []string{"a", "b"} {
		got, err := m.store.Read(t.Context(), key)
		want := m.held[key]
		if err != nil || got.Fence != want.Fence || got.Behind != want.Behind || !slices.Equal(got.Body, want.Body) {
			t.Fatalf("%s: got %v, %v, want %v", key, got, err, want)
		}
		if got, err := view(t.Context(), key); err != nil || !slices.Equal(got, m.views[key]) {
			t.Fatalf("%s: got view %v, %v, want %v", key, got, err, m.views[key])
		}
		if want.Behind {
			behind = append(behind, key)
		}
	}
	if got := listed(t, m.store.PendingKeys(t.Context())); !slices.Equal(got, behind) {
		t.Fatalf("got pending %v, want %v", got, behind)
	}
	if got, want := listed(t, m.store.Keys(t.Context())), slices.Sorted(maps.Keys(m.held)); !slices.Equal(got, want) {
		t.Fatalf("got keys %v, want %v", got, want)
	}
}

func listed(t *rapid.T, keys iter.Seq2[string, error]) []string {
	var all []string
	for key, err := range keys {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

func newModel() *model {
	return &model{
		held: map[string]record{}, views: map[string][]string{},
		known: []record{{}}, fences: map[backends.Fence]bool{0: true},
	}
}

func TestStoreIsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store, m := contract.NewView(), newModel()
		m.store = store
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"delete": m.delete,
			"project": func(t *rapid.T) {
				if key, read, ok := m.settle(t, store.Project); ok {
					m.views[key] = read.Body
				}
			},
			"": func(t *rapid.T) { m.check(t, contract.OfView(store).View) },
		})
	})
}

func TestRowStoreIsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store, m := contract.NewRows(), newModel()
		m.store = store
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"delete": m.delete,
			"clear":  func(t *rapid.T) { m.settle(t, store.Clear) },
			"missing": func(t *rapid.T) {
				key := m.drawKey(t)
				read := m.drawRead(t, key)
				want := slices.DeleteFunc(slices.Clone(read.Body), func(id string) bool { return slices.Contains(m.views[key], id) })
				if got, err := store.Missing(t.Context(), key, read); err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s: got missing %v, %v, want %v", key, got, err, want)
				}
			},
			"put": func(t *rapid.T) {
				key := m.drawKey(t)
				rows := rapid.SliceOfN(rapid.StringMatching("[x-z]"), 0, 4).Draw(t, "rows")
				if got := store.Put(t.Context(), key, rows); len(got) != len(rows) || errors.Join(got...) != nil {
					t.Fatalf("%s: got %v for %d rows", key, got, len(rows))
				}
				for _, row := range rows {
					if !slices.Contains(m.views[key], row) {
						m.views[key] = append(m.views[key], row)
					}
				}
			},
			"": func(t *rapid.T) { m.check(t, store.Rows) },
		})
	})
}
