package sheetstest

import (
	"slices"

	"google.golang.org/api/sheets/v4"
)

func addProtectedRange(d *draft, req *sheets.AddProtectedRangeRequest) (*sheets.Response, error) {
	if req.ProtectedRange == nil || req.ProtectedRange.Range == nil {
		return nil, invalid("A range must be specified.")
	}
	p := *req.ProtectedRange
	if _, err := d.area(p.Range); err != nil {
		return nil, err
	}
	t, err := d.writable(p.Range.SheetId)
	if err != nil {
		return nil, err
	}
	if p.ProtectedRangeId == 0 {
		p.ProtectedRangeId = d.random()
	} else if d.protectedBy(p.ProtectedRangeId) != nil {
		return nil, invalid("A protected range with id %d already exists.", p.ProtectedRangeId)
	}
	// Who protects a range may edit it.
	p.RequestingUserCanEdit = true
	t.protected = append(t.protected, &p)
	return &sheets.Response{AddProtectedRange: &sheets.AddProtectedRangeResponse{ProtectedRange: copyProtected(&p)}}, nil
}

func deleteProtectedRange(d *draft, req *sheets.DeleteProtectedRangeRequest) (*sheets.Response, error) {
	found := d.protectedBy(req.ProtectedRangeId)
	if found == nil {
		return nil, invalid("No protected range with id: %d", req.ProtectedRangeId)
	}
	t, err := d.writable(found.id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(t.protected, func(p *sheets.ProtectedRange) bool { return p.ProtectedRangeId == req.ProtectedRangeId })
	if !t.protected[i].RequestingUserCanEdit {
		return nil, errProtected
	}
	t.protected = slices.Delete(t.protected, i, i+1)
	return &sheets.Response{}, nil
}

// protectedBy returns the tab that holds the protected range.
func (b *book) protectedBy(id int64) *tab {
	for _, t := range b.tabs {
		if slices.ContainsFunc(t.protected, func(p *sheets.ProtectedRange) bool { return p.ProtectedRangeId == id }) {
			return t
		}
	}
	return nil
}

var errProtected = firmly("You are trying to edit a protected cell or object. " +
	"Please contact the spreadsheet owner to remove protection if you need to edit.")

// editable refuses an edit of an area that somebody else protected. A warning
// is for people and refuses nothing.
func (d *draft) editable(a area) error {
	if d.person {
		return nil
	}
	for _, p := range a.tab.protected {
		if !p.WarningOnly && !p.RequestingUserCanEdit && a.meets(a.tab.reach(p.Range)) {
			return errProtected
		}
	}
	return nil
}

// reach is the area of a protected range, whatever the grid has become.
func (t *tab) reach(r *sheets.GridRange) area {
	a := area{tab: t, row: int(r.StartRowIndex), col: int(r.StartColumnIndex), endRow: int(r.EndRowIndex), endCol: int(r.EndColumnIndex)}
	if a.endRow == 0 {
		a.endRow = maxID
	}
	if a.endCol == 0 {
		a.endCol = maxID
	}
	return a
}

// copyProtected makes a copy that an answer may prune.
func copyProtected(p *sheets.ProtectedRange) *sheets.ProtectedRange {
	c := *p
	r := *p.Range
	r.ForceSendFields = []string{"SheetId"}
	c.Range = &r
	if p.Editors != nil {
		e := *p.Editors
		c.Editors = &e
	}
	return &c
}
