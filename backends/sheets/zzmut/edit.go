package sheetstest

import (
	"errors"
	"fmt"

	"google.golang.org/api/sheets/v4"
)

// Edit makes the edits of a person, all at once: no call sees half of them.
// Late writes stay late. The server holds no lock while edit runs; when a
// write came in between, edit runs again on top of it. Edit returns the first
// error of its edits and then changes nothing. It is also the quick way to fill
// a large tab.
func (s *Server) Edit(spreadsheetID string, edit func(*Editor)) error {
	for {
		base := s.newest(spreadsheetID)
		if base == nil {
			return fmt.Errorf("sheetstest: edit %q: no such spreadsheet", spreadsheetID)
		}
		e := &Editor{draft: s.draft(base)}
		e.draft.person = true
		edit(e)
		if e.err != nil {
			return e.err
		}
		if s.replace(base, &e.draft.book) {
			return nil
		}
	}
}

// replace publishes a book on top of base, unless another one came first.
func (s *Server) replace(base, b *book) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shelves[b.id].newest() == nil {
		return false
	}
	s.publish(b)
	return true
}

// Editor makes edits as a person does. After an error its methods do nothing.
type Editor struct {
	draft *draft
	err   error
}

func (e *Editor) do(what, title string, f func() error) {
	if e.err != nil {
		return
	}
	if err := f(); err != nil {
		e.err = fmt.Errorf("sheetstest: %s %q: %w", what, title, err)
	}
}

// AddTab adds an empty tab at the end.
func (e *Editor) AddTab(title string) *TabEditor {
	req := &addSheetRequest{}
	req.Properties.Title = title
	e.do("add tab", title, func() error {
		_, err := addSheet(e.draft, req)
		return err
	})
	return e.Tab(title)
}

// Tab finds a tab by its title.
func (e *Editor) Tab(title string) *TabEditor {
	te := &TabEditor{editor: e, title: title}
	e.do("edit tab", title, func() error {
		t := e.draft.titled(title)
		if t == nil {
			return errors.New("no such tab")
		}
		var err error
		te.tab, err = e.draft.writable(t.id)
		return err
	})
	return te
}

// TabEditor edits one tab. Rows and columns count from 0.
type TabEditor struct {
	editor *Editor
	title  string
	tab    *tab
}

func (t *TabEditor) do(what string, f func() error) { t.editor.do(what, t.title, f) }

// Set puts a value into a cell: nil, string, float64, int, bool or [Formula].
// The grid grows where it has to.
func (t *TabEditor) Set(row, col int, value any) { t.SetRow(row, col, value) }

// SetRow puts values into a row from a column on.
func (t *TabEditor) SetRow(row, col int, values ...any) {
	t.do("set", func() error {
		cells := make([]any, len(values))
		for i, v := range values {
			if n, ok := v.(int); ok {
				v = float64(n)
			}
			var err error
			if cells[i], err = t.editor.draft.entered(v); err != nil {
				return err
			}
		}
		t.tab.rows, t.tab.cols = max(t.tab.rows, row+1), max(t.tab.cols, col+len(values))
		t.tab.update(row, col, len(values), func(i int, old cell) cell {
			old.value = cells[i]
			return old
		})
		return t.editor.draft.fits()
	})
}

// InsertRows inserts blank rows above a row.
func (t *TabEditor) InsertRows(at, n int) {
	t.do("insert rows", func() error { return t.editor.draft.insert(t.tab, "ROWS", at, n) })
}

// DeleteRows deletes rows from a row on.
func (t *TabEditor) DeleteRows(at, n int) {
	t.do("delete rows", func() error {
		req := &sheets.DeleteDimensionRequest{Range: &sheets.DimensionRange{
			SheetId: t.tab.id, Dimension: "ROWS", StartIndex: int64(at), EndIndex: int64(at + n),
		}}
		_, err := deleteDimension(t.editor.draft, req)
		return err
	})
}

// Rename gives the tab another title.
func (t *TabEditor) Rename(title string) {
	t.do("rename", func() error { return t.editor.draft.rename(t.tab, title) })
	t.title = title
}

// Delete deletes the tab with everything on it.
func (t *TabEditor) Delete() {
	t.do("delete", func() error {
		_, err := deleteSheet(t.editor.draft, &sheets.DeleteSheetRequest{SheetId: t.tab.id})
		return err
	})
}

// Protect protects the tab so that the client of the server may not edit it.
func (t *TabEditor) Protect() {
	t.do("protect", func() error {
		t.tab.protected = append(t.tab.protected, &sheets.ProtectedRange{
			ProtectedRangeId: t.editor.draft.unusedProtection(), Range: &sheets.GridRange{SheetId: t.tab.id},
		})
		return nil
	})
}

// Unprotect removes every protection of the tab.
func (t *TabEditor) Unprotect() {
	t.do("unprotect", func() error {
		t.tab.protected = nil
		return nil
	})
}
