package sheets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/schedule"
)

// The ids that the internal sheets get when they are made. Only their titles are part of the format.
const (
	metaSheetID  = 1_600_000_001
	queueSheetID = 1_600_000_002
	dataSheetID  = 1_610_000_000 // and up
)

// header are the modelled headers of a table.
func (t Table) header() []string {
	if slices.Contains(t.Columns, versionHeader) {
		return t.Columns
	}
	return append(slices.Clone(t.Columns), versionHeader)
}

// check refuses a table that cannot be set up.
func (t Table) check() *Error {
	refuse := func(detail string) *Error { return &Error{Code: CodeConfiguration, Sheet: t.Name, Detail: detail} }
	switch {
	case nameProblem(t.Name) != "":
		return refuse("the table's name " + nameProblem(t.Name))
	case strings.HasPrefix(t.Name, systemPrefix):
		return refuse("the table's name starts with " + systemPrefix)
	case length(t.Name) > maxTitle:
		return refuse("the table's name is longer than a title")
	case !slices.Contains(t.Columns, t.Key) || t.Key == versionHeader:
		return refuse("Key is not one of the columns")
	}
	seen := map[string]bool{}
	for _, column := range t.header() {
		if seen[column] || nameProblem(column) != "" {
			return refuse("a column is there twice, or has no proper name")
		}
		seen[column] = true
	}
	return nil
}

// Initialize sets up what is missing: the internal sheets, the fence, and the tables of the configuration with what their
// visible sheets hold. It may be called any time, by several processes at once, and after it was interrupted. A
// visible table is imported once: rows that are deleted later do not come back. A queue of older writers is taken over:
// its columns are completed, and its fingerprints filled in.
//
// It never lays a fence over a queue that had one: that is [Queue.RepairFence].
func (q *Queue) Initialize(ctx context.Context) error {
	for _, t := range q.config.Tables {
		if err := t.check(); err != nil {
			return err
		}
	}
	steps := []func(context.Context) error{q.layFirstFence, q.fillFingerprints}
	for _, t := range q.config.Tables {
		steps = append(steps, func(ctx context.Context) error { return q.setUp(ctx, t) })
	}
	for _, step := range steps {
		_, err := schedule.Retry(ctx, retrying, func(ctx context.Context) (struct{}, error) {
			if err := step(ctx); err != nil {
				return struct{}{}, errorOf(err)
			}
			return struct{}{}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// layFirstFence makes the internal sheets and the first fence in one batch: there is no time at which a queue has no fence.
func (q *Queue) layFirstFence(ctx context.Context) error {
	view, err := q.client.Tabs(ctx)
	if err != nil {
		return err
	}
	if tab := view.Tabs[fence.Title]; tab != nil {
		if !q.fence.Ours(tab.ID) {
			return fence.ErrForeign
		}
		return nil
	}
	remains, meta, requests, err := q.remains(ctx, view)
	if err != nil {
		return err
	}
	if _, fenced := meta.rows[fenceKey]; fenced {
		return fence.ErrMissing
	}
	s, err := q.fence.First(ctx, 0, 0)
	if err != nil {
		return err
	}
	remains.RemovedSequence = remains.Counter // What is missing below, nobody here has lost.
	return q.lay(ctx, s, remains, meta, nil, requests)
}

// lay lays the fence s over the queue that remains describes.
func (q *Queue) lay(ctx context.Context, s, remains fence.State, meta *metaSheet, old []int64, requests []*sheetsv4.Request) error {
	s.Head, s.Tail, s.Counter, s.Counts = remains.Head, remains.Tail, remains.Counter, remains.Counts
	s.Layout, s.Tampered = remains.Layout+1, remains.Tampered
	s.RemovedSequence, s.RemovedAt = remains.RemovedSequence, remains.RemovedAt
	s = s.Sealed(nil)
	_, mirrored := meta.set(map[string]string{fenceKey: jsonText(mirrorOf(s))})
	q.forget()
	if err := q.fence.Lay(ctx, s, old, append(requests, mirrored...)); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = s.Number
	return nil
}

// remains describes the queue as its rows show it, and answers the requests that complete its internal sheets. It may
// only be used where no fence stands.
func (q *Queue) remains(ctx context.Context, view *grid.View) (fence.State, *metaSheet, []*sheetsv4.Request, error) {
	s := fence.State{Head: 2, Tail: 1}
	protect := grid.Protection{Editors: q.config.Editors, WarningOnly: q.config.WarnOnly}
	hidden := !q.config.ShowInternal
	meta := &metaSheet{id: metaSheetID, gridRows: 2, last: 1, rows: map[string]metaRow{}}
	var requests []*sheetsv4.Request
	if tab := view.Tabs[metaTitle]; tab == nil {
		requests = append(requests, grid.AddTab(metaSheetID, metaTitle, 2, 2, hidden), protect.Protect(metaSheetID),
			grid.Write(metaSheetID, 1, 0, [][]any{{"key", "value"}}))
	} else {
		shown, err := q.client.Read(ctx, metaRange)
		if err != nil {
			return s, nil, nil, err
		}
		meta = decodeMeta(shown.Tabs[metaTitle])
	}
	tab := view.Tabs[queueTitle]
	if tab == nil {
		return s, meta, append(requests, grid.AddTab(queueSheetID, queueTitle, 2, len(queueHeader), hidden),
			protect.Protect(queueSheetID), grid.Write(queueSheetID, 1, 0, [][]any{anyTexts(queueHeader)})), nil
	}
	if tab.Cols < legacyColumns {
		return s, nil, nil, &Error{Code: CodeSchemaDrift, Sheet: queueTitle, Row: 1, Detail: "the header is not the queue's"}
	}
	shown, err := q.client.Read(ctx, idRanges(min(tab.Cols, len(queueHeader)))...)
	if err != nil {
		return s, nil, nil, err
	}
	tab = shown.Tabs[queueTitle]
	width := tab.Width(1)
	if width != 0 && width < legacyColumns || !slices.Equal(tab.Row(1, width), anyTexts(queueHeader[:min(width, len(queueHeader))])) {
		return s, nil, nil, &Error{Code: CodeSchemaDrift, Sheet: queueTitle, Row: 1, Detail: "the header is not the queue's"}
	}
	if tab.Cols < len(queueHeader) {
		requests = append(requests, grid.AddColumns(tab.ID, len(queueHeader)-tab.Cols))
	}
	requests = append(requests, grid.Room(tab.ID, tab.Rows+1, max(0, 2-tab.Rows), tab.Rows)...)
	requests = append(requests, grid.Write(tab.ID, 1, 0, [][]any{anyTexts(queueHeader)}))
	rows, tail := decodeRows(tab, 2)
	describe(&s, rows, tail)
	return s, meta, requests, nil
}

// idRanges are all columns of the queue but the payloads, of which they show the header.
func idRanges(width int) []string {
	title := grid.Quote(queueTitle)
	return []string{title + "!A1:J", title + "!K1:K1", fmt.Sprintf("%s!L1:%s", title, grid.Column(width-1))}
}

// describe fills in what the fence row says of rows.
func describe(s *fence.State, rows []queueRow, tail int) {
	s.Head, s.Tail = int64(tail+1), int64(tail)
	groups, _ := groupRows(rows)
	for _, g := range groups {
		if g.open() {
			s.Head = min(s.Head, int64(g.firstRow()))
		}
	}
	for _, r := range rows {
		s.Counter = max(s.Counter, r.sequence)
		count(s, r.status, 1)
	}
}

// fillFingerprints completes the rows of older writers: what can be computed is, and a done row whose payload is gone
// gets a marker by which a replay of its id is answered.
func (q *Queue) fillFingerprints(ctx context.Context) error {
	st, err := q.load(ctx)
	if err != nil || !st.index.unprinted() {
		return err
	}
	st, rows, err := q.allRows(ctx)
	if err != nil {
		return err
	}
	var ch change
	weight := overhead
	commit := func() error {
		if len(ch.rows) > 0 {
			st, err = q.commit(ctx, st, ch)
		}
		ch.rows, weight = nil, overhead
		return err
	}
	for _, r := range rows {
		switch {
		case r.fingerprint != "" || r.problem != "" || r.task.ID == "":
			continue
		case r.payload != redacted:
			r.fingerprint = fingerprint(r.transaction, r.index, r.task)
		case r.status == StatusDone:
			r.fingerprint = legacyMarker + r.task.ID
		default:
			continue
		}
		if weight += encodedSize(r.values()); weight > maxRequest {
			if err := commit(); err != nil {
				return err
			}
			weight += encodedSize(r.values())
		}
		ch.rows = append(ch.rows, r)
	}
	return commit()
}

// allRows reads every row of the queue, payloads included.
func (q *Queue) allRows(ctx context.Context) (*state, []queueRow, error) {
	st, err := q.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	view, err := q.readAt(ctx, st, []string{grid.Rows(queueTitle, 1, 0, len(queueHeader))})
	if err != nil {
		return nil, nil, err
	}
	rows, _ := decodeRows(view.Tabs[queueTitle], 2)
	return st, rows, nil
}

// setUp makes the canonical sheet of a table and imports the visible one.
func (q *Queue) setUp(ctx context.Context, t Table) error {
	for {
		st, err := q.load(ctx)
		if err != nil {
			return err
		}
		sheets, invalid := st.meta.mapping(t.Name)
		if invalid != nil {
			return invalid
		}
		if sheets == nil {
			if err := q.addTable(ctx, st, t); err != nil {
				return err
			}
			continue
		}
		var m migration
		marked, invalid := st.meta.load(migrationKey+t.Name, &m)
		switch {
		case invalid != nil:
			return invalid
		case !marked || m.Status == completed:
			return q.checkTable(ctx, t, *sheets)
		}
		if err := q.importChunk(ctx, st, t, m); err != nil {
			return err
		}
	}
}

// addTable makes the canonical sheet, and the visible one if there is none, and writes down which they are.
func (q *Queue) addTable(ctx context.Context, st *state, t Table) error {
	view, err := q.client.Tabs(ctx)
	if err != nil {
		return err
	}
	title, err := freeTitle(view, t.Name)
	if err != nil {
		return err
	}
	header := [][]any{anyTexts(t.header())}
	id := freeID(view, dataSheetID)
	protect := grid.Protection{Editors: q.config.Editors, WarningOnly: q.config.WarnOnly}
	requests := []*sheetsv4.Request{
		grid.AddTab(id, title, 2, len(t.header()), !q.config.ShowInternal), protect.Protect(id), grid.Write(id, 1, 0, header),
	}
	m := migration{sheetMapping: sheetMapping{t.Name, title, t.Name, t.Key}, Status: completed}
	if tab := view.Tabs[t.Name]; tab == nil {
		visible := freeID(view, id+1)
		requests = append(requests, grid.AddTab(visible, t.Name, 2, len(t.header()), false), grid.Write(visible, 1, 0, header))
	} else {
		m.Status, m.NextRow = importing, 2
		if err := q.checkHeader(ctx, t, t.Name); err != nil {
			return err
		}
	}
	_, err = q.commit(ctx, st, change{requests: requests, meta: map[string]string{
		mappingKey + t.Name: jsonText(m.sheetMapping), migrationKey + t.Name: jsonText(m), stateKey + t.Name: jsonText(projectionState{}),
	}})
	return err
}

// freeTitle never adopts a sheet that exists.
func freeTitle(view *grid.View, logical string) (string, error) {
	taken := map[string]bool{}
	for title := range view.Tabs {
		taken[strings.ToLower(title)] = true
	}
	for n := range 100 {
		if title := canonicalTitle(logical, n); !taken[strings.ToLower(title)] {
			return title, nil
		}
	}
	return "", &Error{Code: CodeSystemSheetNameCollision, Sheet: logical, Detail: "every title for its canonical sheet is taken"}
}

func freeID(view *grid.View, id int64) int64 {
	taken := map[int64]bool{}
	for _, tab := range view.Tabs {
		taken[tab.ID] = true
	}
	for taken[id] {
		id++
	}
	return id
}

// checkTable refuses a table whose canonical sheet is gone or has another header. It is never made anew.
func (q *Queue) checkTable(ctx context.Context, t Table, sheets sheetMapping) error {
	view, err := q.tabs(ctx, sheets.Canonical)
	if err != nil {
		return err
	}
	if view.Tabs[sheets.Canonical] == nil {
		return &Error{Code: CodeSheetNotFound, Sheet: sheets.Canonical, Detail: "the canonical sheet is gone; restore it from the version history"}
	}
	return q.checkHeader(ctx, t, sheets.Canonical)
}

// checkHeader accepts a blank sheet, and extra columns behind the modelled ones.
func (q *Queue) checkHeader(ctx context.Context, t Table, title string) error {
	view, err := q.client.Read(ctx, grid.RowRange(title, 1))
	if err != nil {
		return err
	}
	tab := view.Tabs[title]
	_, header, drift := headerOf(tab)
	want := t.header()
	switch {
	case drift != "":
		return &Error{Code: CodeSchemaDrift, Sheet: title, Row: 1, Detail: drift}
	case len(header) > 0 && (len(header) < len(want) || !slices.Equal(header[:len(want)], want)):
		return &Error{Code: CodeSchemaDrift, Sheet: title, Row: 1, Detail: "the header does not start with the table's columns"}
	}
	return nil
}

// importRows is how many rows of a visible table are imported in one commit, if they fit.
const importRows = 1000

// importChunk copies the next rows of a visible table. What was copied before is found by its key, so that rows which
// move meanwhile are neither lost nor doubled.
func (q *Queue) importChunk(ctx context.Context, st *state, t Table, m migration) error {
	refs := []tableRef{{t.Name, m.Canonical, t.Key}, {t.Name + " (visible)", m.Projection, t.Key}}
	tables, err := q.wholeTables(ctx, st, refs)
	if err != nil {
		return err
	}
	to, from := tables[refs[0].name], tables[refs[1].name]
	switch {
	case to == nil:
		return &Error{Code: CodeSheetNotFound, Sheet: m.Canonical, Detail: "the canonical sheet is gone before the import was completed"}
	case from == nil:
		return &Error{Code: CodeSheetNotFound, Sheet: m.Projection, Detail: "the visible sheet is gone before the import was completed"}
	case from.tab.Width(1) == 0: // A blank sheet: it gets the header.
		m.Status = completed
		return q.importCommit(ctx, st, m, nil, grid.Write(from.tab.ID, 1, 0, [][]any{anyTexts(t.header())}))
	case from.drift != "":
		return &Error{Code: CodeSchemaDrift, Sheet: m.Projection, Detail: from.drift}
	case to.drift != "":
		return &Error{Code: CodeSchemaDrift, Sheet: m.Canonical, Detail: to.drift}
	}
	if err := copyRows(&m, t, from, to); err != nil {
		return err
	}
	return q.importCommit(ctx, st, m, to)
}

func (q *Queue) importCommit(ctx context.Context, st *state, m migration, to *table, requests ...*sheetsv4.Request) error {
	ch := change{requests: requests, meta: map[string]string{migrationKey + m.Logical: jsonText(m)}}
	if to != nil {
		ch.tables = []*table{to}
	}
	_, err := q.commit(ctx, st, ch)
	return err
}

// copyRows copies from row m.NextRow on as much as fits one commit, and moves m forward.
func copyRows(m *migration, t Table, from, to *table) error {
	last, weight := from.tab.Last(), overhead
	for end := m.NextRow + importRows; m.NextRow <= last && m.NextRow < end; m.NextRow++ {
		fields := Row{}
		for _, name := range t.header() {
			v := from.tab.At(m.NextRow, from.columns[name])
			if _, ok := ecma.String(v); !ok {
				return &Error{Code: CodeSchemaDrift, Sheet: m.Projection, Row: m.NextRow, Detail: "a cell holds an error"}
			}
			fields[name] = v
		}
		key, _ := ecma.String(fields[t.Key])
		_, versioned := ecma.Finite(fields[versionHeader])
		switch {
		case key == "":
			m.Skipped++
			continue
		case fields[versionHeader] == nil:
			fields[versionHeader] = 1.0
			m.Versions++
		case !versioned:
			return &Error{Code: CodeSchemaDrift, Sheet: m.Projection, Row: m.NextRow, Detail: versionHeader + " is not a number"}
		}
		if weight += encodedSize(slices.Collect(maps.Values(fields))) + 400; weight > maxRequest {
			return nil
		}
		if to.rows[key] == nil {
			to.insert(key, fields)
		}
	}
	if m.NextRow > last {
		m.Status, m.NextRow = completed, 0
	}
	return nil
}

// RepairFence lays a new fence over a queue whose fence is gone, was edited, went back, or belongs to the spreadsheet that
// this one is a copy of. Stop every other writer first if you can: their batches under way are refused, since
// the sheets that they name are deleted. Sequences go on where they were.
func (q *Queue) RepairFence(ctx context.Context) error {
	view, err := q.client.Tabs(ctx)
	if err != nil {
		return errorOf(err)
	}
	old, before, err := q.fenceRemains(ctx, view)
	if err != nil {
		return errorOf(err)
	}
	if view.Tabs[metaTitle] == nil || view.Tabs[queueTitle] == nil {
		return &Error{Code: CodeConfiguration, Detail: "there is no queue to lay a fence over"}
	}
	remains, meta, requests, err := q.remains(ctx, view)
	if err != nil {
		return errorOf(err)
	}
	var m mirror
	_, _ = meta.load(fenceKey, &m) // A mirror that cannot be read says nothing.
	marks, err := q.fence.Marks(ctx)
	if err != nil {
		return errorOf(err)
	}
	q.mu.Lock()
	number := max(m.Number, before.Number, q.seen, q.rivals) + marks + 1000
	q.mu.Unlock()
	s, err := q.fence.First(ctx, number-1, max(m.Epoch, before.Epoch)+1)
	if err != nil {
		return errorOf(err)
	}
	remains.Counter = max(remains.Counter, m.Counter, before.Counter)
	remains.Layout, remains.Tampered = before.Layout, before.Tampered
	remains.RemovedSequence, remains.RemovedAt = before.RemovedSequence, before.RemovedAt
	if err := q.lay(ctx, s, remains, meta, old, requests); err != nil {
		return errorOf(err)
	}
	return nil
}

// fenceRemains answers the fence sheets that are to go, and what their row still tells.
func (q *Queue) fenceRemains(ctx context.Context, view *grid.View) (old []int64, s fence.State, err error) {
	for _, title := range []string{fence.Title, fence.PrevTitle} {
		tab := view.Tabs[title]
		if tab == nil {
			continue
		}
		if !q.fence.Ours(tab.ID) {
			return nil, s, &Error{Code: CodeSystemSheetNameCollision, Sheet: title, Detail: "the sheet is not one of the fence's: rename it"}
		}
		old = append(old, tab.ID)
	}
	if view.Tabs[fence.Title] == nil {
		return old, s, nil
	}
	shown, err := q.client.Read(ctx, fence.Range())
	if failure, ok := errors.AsType[*grid.Failure](err); ok && failure.Kind == grid.Refused {
		return old, s, nil // Its grid was cut: it tells nothing.
	}
	if err != nil {
		return nil, s, fmt.Errorf("reading the fence: %w", err)
	}
	return old, q.fence.Remains(shown), nil
}
