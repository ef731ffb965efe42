package sheetstest

import (
	"slices"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// Formula is a cell's formula, with its leading "=". Formulas are kept, never
// computed: their effective value is the error #NAME?.
type Formula string

// cell is one cell's content. Its value is nil, a string, a float64, a bool or
// a [Formula].
type cell struct {
	value any
	note  string
}

// book is a spreadsheet at one moment. A published book never changes, so
// readers, stale reads and the next batch share it without a lock.
type book struct {
	id, title string
	tabs      []*tab
	metadata  []*entry
}

func (b *book) tab(id int64) *tab {
	for _, t := range b.tabs {
		if t.id == id {
			return t
		}
	}
	return nil
}

// titled finds a tab by its title, exactly as written.
func (b *book) titled(title string) *tab {
	for _, t := range b.tabs {
		if t.title == title {
			return t
		}
	}
	return nil
}

func (b *book) cells() int64 {
	var n int64
	for _, t := range b.tabs {
		n += int64(t.rows) * int64(t.cols)
	}
	return n
}

// tab is one sheet of a book: a grid of rows by cols of which data holds the
// part that was ever written. Missing rows and cells are blank.
type tab struct {
	id         int64
	title      string
	hidden     bool
	rows, cols int
	data       [][]cell
	protected  []*sheets.ProtectedRange
}

func newTab(id int64, title string) *tab { return &tab{id: id, title: title, rows: 1000, cols: 26} }

func (t *tab) at(row, col int) cell {
	if row >= len(t.data) || col >= len(t.data[row]) {
		return cell{}
	}
	return t.data[row][col]
}

// update rewrites n cells of a row. It copies the row first: published books
// share rows with drafts.
func (t *tab) update(row, col, n int, f func(i int, old cell) cell) {
	for len(t.data) <= row {
		t.data = append(t.data, nil)
	}
	cells := slices.Clone(t.data[row])
	for len(cells) < col+n {
		cells = append(cells, cell{})
	}
	for i := range n {
		cells[col+i] = f(i, cells[col+i])
	}
	t.data[row] = cells
}

// lastRow returns the number of rows up to the last one with a value.
func (t *tab) lastRow() int {
	for r := len(t.data) - 1; r >= 0; r-- {
		if slices.ContainsFunc(t.data[r], func(c cell) bool { return c.value != nil }) {
			return r + 1
		}
	}
	return 0
}

// draft is the copy of a book that one batch writes to. It is published when
// every request of the batch was applied, and dropped otherwise.
type draft struct {
	book
	traits traits
	limit  int64
	random func() int64
	base   *book
	// arrival is the book that the service saw when the batch came in: where
	// appends look for the end of their table.
	arrival *book
	// appended counts the rows that this batch appended, by tab.
	appended map[int64]int
	// owned holds the tabs that are copies already.
	owned map[*tab]bool
	// person marks the edits of somebody whom protection does not stop.
	person bool
}

// writable returns the tab, copied once for this draft.
func (d *draft) writable(id int64) (*tab, error) {
	i := slices.IndexFunc(d.tabs, func(t *tab) bool { return t.id == id })
	if i < 0 {
		return nil, invalid("No grid with id: %d", id)
	}
	if d.owned[d.tabs[i]] {
		return d.tabs[i], nil
	}
	t := *d.tabs[i]
	t.data = slices.Clone(t.data)
	t.protected = slices.Clone(t.protected)
	d.owned[&t] = true
	d.tabs[i] = &t
	return &t, nil
}

// unused draws an id that is not in use.
func (d *draft) unused(inUse func(int64) bool) int64 {
	for {
		if id := d.random(); !inUse(id) {
			return id
		}
	}
}

// fits refuses growth beyond the limit of cells in a spreadsheet.
func (d *draft) fits() error {
	if d.cells() > d.limit {
		return invalid("This action would increase the number of cells in the workbook above the limit of %d cells.", d.limit)
	}
	return nil
}

// text checks a text before it goes into a cell.
func (d *draft) text(s string) error {
	switch {
	case d.traits.refuseNUL && strings.ContainsRune(s, 0):
		return invalid("The text holds a character that is not allowed.")
	case d.traits.length(s) > maxCellLength:
		return invalid("Your input contains more than the maximum of %d characters in a single cell.", maxCellLength)
	}
	return nil
}
