package sheetstest

import "google.golang.org/api/sheets/v4"

// newest is the book without any staleness, or nil.
func (s *Server) newest(id string) *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.shelves[id]; sh != nil {
		return sh.newest()
	}
	return nil
}

// Rows returns the values of a tab as they are now: nil, string, float64, bool
// or [Formula]. Trailing blanks are left out. It returns nil when there is no
// such spreadsheet or tab, and an empty slice for an empty tab.
func (s *Server) Rows(spreadsheetID, title string) [][]any {
	b := s.newest(spreadsheetID)
	if b == nil || b.titled(title) == nil {
		return nil
	}
	t := b.titled(title)
	rows := make([][]any, t.lastRow())
	for r := range rows {
		for c, cell := range t.data[r] {
			if cell.value != nil {
				rows[r] = append(rows[r], make([]any, c-len(rows[r]))...)
				rows[r] = append(rows[r], cell.value)
			}
		}
	}
	return rows
}

// Tabs lists the properties of the tabs as they are now, in order.
func (s *Server) Tabs(spreadsheetID string) []*sheets.SheetProperties {
	b := s.newest(spreadsheetID)
	if b == nil {
		return nil
	}
	tabs := make([]*sheets.SheetProperties, len(b.tabs))
	for i := range tabs {
		tabs[i] = b.properties(i)
	}
	return tabs
}

// Metadata lists the developer metadata as it is now, oldest first.
func (s *Server) Metadata(spreadsheetID string) []*sheets.DeveloperMetadata {
	b := s.newest(spreadsheetID)
	if b == nil {
		return nil
	}
	list := make([]*sheets.DeveloperMetadata, len(b.metadata))
	for i, e := range b.metadata {
		list[i] = e.render()
	}
	return list
}
