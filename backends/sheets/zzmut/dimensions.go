package sheetstest

import (
	"slices"

	"google.golang.org/api/sheets/v4"
)

func appendDimension(d *draft, req *sheets.AppendDimensionRequest) (*sheets.Response, error) {
	t, err := d.editable(req.SheetId)
	if err != nil {
		return nil, err
	}
	if err := checkDimension(req.Dimension); err != nil {
		return nil, err
	}
	if req.Length < 1 {
		return nil, invalid("length must be greater than 0, got %d", req.Length)
	}
	return &sheets.Response{}, d.insert(t, req.Dimension, t.size(req.Dimension), int(req.Length))
}

func insertDimension(d *draft, req *sheets.InsertDimensionRequest) (*sheets.Response, error) {
	t, r, err := d.dimension(req.Range)
	if err != nil {
		return nil, err
	}
	switch {
	case req.Range.EndIndex == 0:
		return nil, invalid("range.endIndex must be bounded")
	case req.InheritFromBefore && r.from == 0:
		return nil, invalid("inheritFromBefore cannot be true when inserting at 0")
	case r.from > t.size(r.dimension):
		return nil, invalid("range.startIndex[%d] is beyond the grid", r.from)
	}
	return &sheets.Response{}, d.insert(t, r.dimension, r.from, r.to-r.from)
}

func deleteDimension(d *draft, req *sheets.DeleteDimensionRequest) (*sheets.Response, error) {
	t, r, err := d.dimension(req.Range)
	if err != nil {
		return nil, err
	}
	size := t.size(r.dimension)
	switch {
	case r.to > size:
		return nil, invalid("Cannot delete a row or column that doesn't exist. Tried to delete index %d but there are only %d.", r.to-1, size)
	case r.from == 0 && r.to == size:
		return nil, invalid("You can't delete all the rows or columns on the sheet.")
	}
	t.remove(r)
	return &sheets.Response{}, nil
}

// stretch is a run of rows or columns.
type stretch struct {
	dimension string
	from, to  int
}

func checkDimension(dimension string) error {
	if dimension != "ROWS" && dimension != "COLUMNS" {
		return invalid("Invalid dimension: %q", dimension)
	}
	return nil
}

// dimension resolves a range of rows or columns; an end of zero is unbounded.
func (d *draft) dimension(r *sheets.DimensionRange) (*tab, stretch, error) {
	if r == nil {
		return nil, stretch{}, invalid("A range must be specified.")
	}
	t, err := d.editable(r.SheetId)
	if err != nil {
		return nil, stretch{}, err
	}
	if err := checkDimension(r.Dimension); err != nil {
		return nil, stretch{}, err
	}
	s := stretch{dimension: r.Dimension, from: int(r.StartIndex), to: int(r.EndIndex)}
	if s.to == 0 {
		s.to = t.size(s.dimension)
	}
	if s.from < 0 || s.from >= s.to {
		return nil, stretch{}, invalid("range [%d, %d) is empty", s.from, s.to)
	}
	return t, s, nil
}

func (t *tab) size(dimension string) int {
	if dimension == "ROWS" {
		return t.rows
	}
	return t.cols
}

// insert puts n blank rows or columns at the index. What lies behind moves.
func (d *draft) insert(t *tab, dimension string, at, n int) error {
	size := &t.rows
	if dimension == "COLUMNS" {
		size = &t.cols
	}
	*size += n
	if err := t.checkSize(); err != nil {
		return err
	}
	if err := d.fits(); err != nil {
		return err
	}
	if dimension == "ROWS" && at < len(t.data) {
		t.data = slices.Insert(t.data, at, make([][]cell, n)...)
	}
	for r, cells := range t.data {
		if dimension == "COLUMNS" && at < len(cells) {
			t.data[r] = slices.Insert(slices.Clone(cells), at, make([]cell, n)...)
		}
	}
	return nil
}

// remove deletes a stretch of rows or columns.
func (t *tab) remove(s stretch) {
	if s.dimension == "ROWS" {
		t.data = slices.Delete(t.data, min(s.from, len(t.data)), min(s.to, len(t.data)))
		t.rows -= s.to - s.from
	} else {
		for r, cells := range t.data {
			t.data[r] = slices.Delete(slices.Clone(cells), min(s.from, len(cells)), min(s.to, len(cells)))
		}
		t.cols -= s.to - s.from
	}
}
