package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/projected"
)

// Model drives a store and the memory store side by side, with whatever rapid draws, and wants the same answers: the
// class of every error, what is stored, pending, listed and shown. Fences only have to be new. newMemory makes an
// empty store with the same kind of view, such as [MemoryViews].
func Model(t *testing.T, s Subject, newMemory func() Subject) {
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		m := model{
			s: s, memory: newMemory(), key: fmt.Sprintf("model-%d-", run),
			pairs: map[string][]pair{}, fences: map[string]map[backends.Fence]bool{},
		}
		defer m.deleteAll(t) // Else every run would list the keys of those before it.
		t.Repeat(map[string]func(*rapid.T){
			"commit":  m.commit,
			"project": m.project,
			"delete":  m.delete,
			"":        m.check,
		})
		for _, suffix := range suffixes {
			m.touched = m.key + suffix
			m.check(t)
		}
		m.sameList(t, "keys", m.s.Keys, m.memory.Keys)
	})
}

// MemoryViews is the memory store with one object per record.
func MemoryViews() Subject { return OfViews(memory.New[string](Show)) }

// MemoryRows is the memory store with one row per entry, projected row by row.
func MemoryRows() Subject { return OfRows(memory.NewRows[string](Of, Entry.Ident)) }

// MemoryRowsAtOnce is MemoryRows with a projection that writes no row for a stale record.
func MemoryRowsAtOnce() Subject {
	s := MemoryRows()
	byRow := s.Project
	s.Project = func(ctx context.Context, key string, record Record) (projected.Projection[string], error) {
		if held, err := s.Read(ctx, key); err != nil || held.Fence != record.Fence {
			return nil, &backends.Error{Op: "project", Key: key, Class: backends.ErrConflict, Err: err}
		}
		return byRow(ctx, key, record)
	}
	return s
}

// pair is one record as the store under test and the model have it. Only their fences differ.
type pair struct{ real, model Record }

var suffixes = []string{"a", "b", "c"}

type model struct {
	s, memory Subject
	key       string
	entries   int
	touched   string            // The key of the last action.
	pairs     map[string][]pair // Every record that was ever read, by key: stale ones too.
	fences    map[string]map[backends.Fence]bool
}

func (m *model) draw(t *rapid.T) (string, pair) {
	key := m.key + rapid.SampledFrom(suffixes).Draw(t, "key")
	m.touched = key
	known := append([]pair{{}}, m.pairs[key]...)
	age := rapid.IntRange(0, min(3, len(known)-1)).Draw(t, "age")
	return key, known[len(known)-1-age]
}

func (m *model) commit(t *rapid.T) {
	key, read := m.draw(t)
	m.entries++
	body := read.real.Body
	if rapid.Bool().Draw(t, "adds") {
		body, _, _ = With(body, Entry{ID: fmt.Sprint(m.entries), N: m.entries})
	}
	next := Record{Body: body, Behind: rapid.Bool().Draw(t, "behind")}
	stored, err := m.s.Commit(t.Context(), key, read.real, next)
	modelled, want := m.memory.Commit(t.Context(), key, read.model, next)
	m.same(t, err, want)
	if err == nil {
		m.note(t, key, pair{stored, modelled})
	}
}

func (m *model) project(t *rapid.T) {
	key, read := m.draw(t)
	_, err := m.s.Project(t.Context(), key, read.real)
	_, want := m.memory.Project(t.Context(), key, read.model)
	m.same(t, err, want)
	m.reread(t, key)
}

func (m *model) delete(t *rapid.T) {
	key, read := m.draw(t)
	m.same(t, m.s.Delete(t.Context(), key, read.real), m.memory.Delete(t.Context(), key, read.model))
	m.reread(t, key)
}

func (m *model) deleteAll(t *rapid.T) {
	for key := range m.pairs {
		if record, err := m.s.Read(t.Context(), key); err == nil && record.Fence != 0 {
			m.same(t, m.s.Delete(t.Context(), key, record), nil)
		}
	}
}

func (m *model) reread(t *rapid.T, key string) {
	got, err := m.s.Read(t.Context(), key)
	want, _ := m.memory.Read(t.Context(), key)
	m.same(t, err, nil)
	if known := m.pairs[key]; len(known) == 0 || known[len(known)-1].real.Fence != got.Fence {
		m.note(t, key, pair{got, want})
	}
}

func (m *model) note(t *rapid.T, key string, p pair) {
	if p.real.Fence != 0 {
		if m.fences[key] == nil {
			m.fences[key] = map[backends.Fence]bool{}
		}
		if m.fences[key][p.real.Fence] {
			t.Fatalf("%s: fence %d came back", key, p.real.Fence)
		}
		m.fences[key][p.real.Fence] = true
	}
	m.pairs[key] = append(m.pairs[key], p)
}

func (m *model) same(t *rapid.T, got, want error) {
	if class(got) != class(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func class(err error) error {
	if e, ok := errors.AsType[*backends.Error](err); ok {
		return e.Class
	}
	return err
}

// check compares what was touched last, and the index.
func (m *model) check(t *rapid.T) {
	key := m.touched
	got, err := m.s.Read(t.Context(), key)
	want, _ := m.memory.Read(t.Context(), key)
	if err != nil || got.Behind != want.Behind || (got.Fence == 0) != (want.Fence == 0) || !slices.Equal(got.Body.Entries, want.Body.Entries) {
		t.Fatalf("%s: got %+v, %v, want %+v", key, got, err, want)
	}
	shown, err := m.s.Shown(t.Context(), key)
	wantShown, _ := m.memory.Shown(t.Context(), key)
	if err != nil || !slices.Equal(shown, wantShown) {
		t.Fatalf("%s: got view %v, %v, want %v", key, shown, err, wantShown)
	}
	m.sameList(t, "pending", m.s.PendingKeys, m.memory.PendingKeys)
}

func (m *model) sameList(t *rapid.T, name string, real, model func(context.Context) iter.Seq2[string, error]) {
	if got, want := m.own(t, real), m.own(t, model); !maps.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", name, got, want)
	}
}

// own answers the listed keys of this run.
func (m *model) own(t *rapid.T, list func(context.Context) iter.Seq2[string, error]) map[string]bool {
	own := map[string]bool{}
	for key, err := range list(t.Context()) {
		switch {
		case err != nil:
			t.Fatal(err)
		case len(key) > len(m.key) && key[:len(m.key)] == m.key:
			own[key] = true
		}
	}
	return own
}
