package durable_test

import (
	"context"
	"slices"
	"sync"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
)

// maps is the smallest engine: it keeps everything in memory, and one key a page.
type maps struct {
	mu      sync.Mutex
	fence   backends.Fence
	records map[string]durable.StoredRecord
	views   map[string][]byte
	rows    map[string][]durable.StoredRow

	fail error // What every method answers, if it is set.

}

var _ durable.Engine = (*maps)(nil)

func newMaps() *maps {
	return &maps{
		records: map[string]durable.StoredRecord{}, views: map[string][]byte{}, rows: map[string][]durable.StoredRow{},
	}
}

// locked runs do unless the engine fails or the record of key has another fence.
func (m *maps) locked(key string, fence backends.Fence, do func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.fail != nil:
		return m.fail
	case m.records[key].Fence != fence:
		return &backends.Error{Class: backends.ErrConflict}
	}
	do()
	return nil
}

func (m *maps) read(do func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	return m.fail
}

func (m *maps) Read(_ context.Context, key string) (record durable.StoredRecord, err error) {
	err = m.read(func() { record = m.records[key] })
	return record, err
}

func (m *maps) Commit(_ context.Context, key string, fence backends.Fence, next durable.StoredRecord) (durable.StoredRecord, error) {
	err := m.locked(key, fence, func() {
		m.fence++
		next.Fence = m.fence
		next.Behind = next.Behind || m.records[key].Behind
		m.records[key] = next
	})
	return next, err
}

func (m *maps) Settle(_ context.Context, key string, fence backends.Fence, view []byte, rows []durable.StoredRow) error {
	return m.locked(key, fence, func() {
		m.fence++
		m.records[key] = durable.StoredRecord{Fence: m.fence, Body: m.records[key].Body}
		if view != nil {
			m.views[key] = view
		}
		m.insert(key, rows)
	})
}

func (m *maps) Put(_ context.Context, key string, rows []durable.StoredRow) error {
	return m.read(func() { m.insert(key, rows) })
}

func (m *maps) insert(key string, rows []durable.StoredRow) {
	for _, r := range rows {
		if !slices.ContainsFunc(m.rows[key], func(held durable.StoredRow) bool { return held.ID == r.ID }) {
			m.rows[key] = append(m.rows[key], r)
		}
	}
}

func (m *maps) Delete(_ context.Context, key string, fence backends.Fence) error {
	return m.locked(key, fence, func() {
		delete(m.records, key)
		delete(m.views, key)
		delete(m.rows, key)
	})
}

func (m *maps) View(_ context.Context, key string) (view []byte, err error) {
	err = m.read(func() { view = m.views[key] })
	return view, err
}

func (m *maps) Present(_ context.Context, key string, ids []string) (present []string, err error) {
	err = m.read(func() {
		for _, r := range m.rows[key] {
			if slices.Contains(ids, r.ID) {
				present = append(present, r.ID)
			}
		}
	})
	return present, err
}

func (m *maps) Rows(_ context.Context, key string) (bodies [][]byte, err error) {
	err = m.read(func() {
		for _, r := range m.rows[key] {
			bodies = append(bodies, r.Body)
		}
	})
	return bodies, err
}

func (m *maps) List(_ context.Context, behind bool, from string) (keys []string, next string, err error) {
	err = m.read(func() {
		var all []string
		for key, r := range m.records {
			if key >= from && (r.Behind || !behind) {
				all = append(all, key)
			}
		}
		slices.Sort(all)
		if len(all) > 0 {
			keys, next = all[:1], all[0]+"\x00"
		}
	})
	return keys, next, err
}
