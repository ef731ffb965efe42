package sheetstest

import (
	"slices"

	"google.golang.org/api/sheets/v4"
)

// addProtectedRange protects a whole sheet: the range must be unbounded.
func addProtectedRange(d *draft, req *sheets.AddProtectedRangeRequest) (*sheets.Response, error) {
	if req.ProtectedRange == nil || req.ProtectedRange.Range == nil {
		return nil, invalid("A range must be specified.")
	}
	p := *req.ProtectedRange
	if r := p.Range; r.StartRowIndex != 0 || r.EndRowIndex != 0 || r.StartColumnIndex != 0 || r.EndColumnIndex != 0 {
		return nil, unmodelled("the protection of a part of a sheet")
	}
	t, err := d.writable(p.Range.SheetId)
	if err != nil {
		return nil, err
	}
	if p.ProtectedRangeId == 0 {
		p.ProtectedRangeId = d.unusedProtection()
	} else if d.protectedBy(p.ProtectedRangeId) != nil {
		return nil, invalid("A protected range with id %d already exists.", p.ProtectedRangeId)
	}
	p.RequestingUserCanEdit = true // Who protects a range may edit it.
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

func (d *draft) unusedProtection() int64 {
	return d.unused(func(id int64) bool { return d.protectedBy(id) != nil })
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

// editable returns the tab for writing, unless somebody else protected it.
func (d *draft) editable(id int64) (*tab, error) {
	t, err := d.writable(id)
	if err != nil {
		return nil, err
	}
	if !d.person && slices.ContainsFunc(t.protected, func(p *sheets.ProtectedRange) bool { return !p.RequestingUserCanEdit }) {
		return nil, errProtected
	}
	return t, nil
}

// copyProtected makes a copy that an answer may prune.
func copyProtected(p *sheets.ProtectedRange) *sheets.ProtectedRange {
	c := *p
	c.Range = &sheets.GridRange{SheetId: p.Range.SheetId, ForceSendFields: []string{"SheetId"}}
	if p.Editors != nil {
		e := *p.Editors
		c.Editors = &e
	}
	return &c
}
