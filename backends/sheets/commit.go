package sheets

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// change is what one commit writes. All of it is one batch.
type change struct {
	rows   []queueRow        // rows of the queue that exist, rewritten
	added  []queueRow        // new rows; their place is the commit's
	tables []*table          // tables that groups were applied to
	meta   map[string]string // rows of the meta sheet
	// requests are further edits. They must not move rows of the queue, unless layout is set.
	requests []*sheetsv4.Request
	// layout says that rows of the queue move, or come back to life: every reader must start cold.
	layout bool
	// settle makes an outcome known for good, at the price of a probe: for batches that no caller sends again.
	settle bool
	edit   func(*fence.State)
	edits  int64 // edits that were detected before, filled in by commit
	// show names the tables that the answer should show as the commit left them.
	show []tableRef
}

// commit writes ch as the successor of st and answers the state after it, or nil if the layout changes. A row whose code
// is stampCode, without a message, is stamped with the number of the commit. Its error is an *Error.
func (q *Queue) commit(ctx context.Context, st *state, ch change) (*state, error) {
	if q.fence.Full(st.fence) {
		rolled, err := q.fence.Roll(ctx, st.fence)
		if err != nil {
			return nil, q.failed(st, err)
		}
		next := *st
		next.fence = rolled
		st = &next
	}
	next := st.fence.Next()
	q.mu.Lock()
	ch.edits = q.edited
	q.mu.Unlock()
	ch.place(st, next.Number)
	ch.advance(st, &next)
	meta, requests := st.meta.set(ch.metaTexts(st, next))
	requests = append(requests, ch.queueRequests(st)...)
	for _, t := range ch.tables {
		requests = append(requests, t.requests()...)
	}
	requests = append(requests, ch.requests...)
	q.sign(next, ch)
	view, err := q.fence.Commit(ctx, st.fence, next, requests, q.ranges(st, ch)...)
	if ch.settle && errors.Is(err, fence.ErrUnknown) && ctx.Err() == nil {
		err = q.fence.Resolve(ctx, st.fence, next.Token)
	}
	if err != nil {
		return nil, q.blame(ctx, ch, q.failed(st, err))
	}
	return q.committed(st, next, ch, meta, view), nil
}

// sign remembers under which token a claim is tried, before it is: it may land though its answer is lost.
func (q *Queue) sign(next fence.State, ch change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	claims := func(r queueRow) bool {
		stamp, ok := r.stamped(next.Number)
		return ok && stamp == next.Number
	}
	if slices.ContainsFunc(ch.rows, claims) || slices.ContainsFunc(ch.added, claims) {
		q.mine[next.Number] = append(q.mine[next.Number], next.Token)
	}
	maps.DeleteFunc(q.mine, func(number int64, _ []string) bool { return number < next.Number-100 })
}

// claimed says whether this process made the claims of a commit, as far as the fence remembers.
func (q *Queue) claimed(f fence.State, number int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.mine[number], func(token string) bool { return f.Holds(number, token) })
}

// failed notes what an error teaches: a conflict proves that the number is taken.
func (q *Queue) failed(st *state, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if errors.Is(err, fence.ErrConflict) || errors.Is(err, fence.ErrRefused) {
		q.rivals = max(q.rivals, st.fence.Number+1)
	}
	if q.last != nil && q.last.fence.Number <= st.fence.Number {
		stale := *q.last
		stale.taken = stale.taken.Add(-freshFor) // Still a base for a warm read, but no answer.
		q.last = &stale
	}
	return errorOf(err)
}

// blame finds out why the service refused a batch, as far as it concerns every batch.
func (q *Queue) blame(ctx context.Context, ch change, err error) error {
	if !errors.Is(err, fence.ErrRefused) {
		return err
	}
	q.hide(ch.show) // Perhaps the batch was fine, and what its answer should show is gone.
	view, readErr := q.client.Tabs(ctx)
	if readErr != nil {
		return err
	}
	for _, title := range []string{queueTitle, metaTitle, fence.Title} {
		if tab := view.Tabs[title]; tab != nil && tab.Protected {
			return &Error{Code: CodeSheetProtected, Sheet: title, Detail: "a range of the sheet is protected"}
		}
	}
	return err
}

// place gives the new rows their places and the claims their stamps, and brings everything in order.
func (ch *change) place(st *state, number int64) {
	ch.rows, ch.added = slices.Clone(ch.rows), slices.Clone(ch.added)
	for i := range ch.added {
		ch.added[i].at = st.tail + 1 + i
	}
	for _, rows := range [][]queueRow{ch.rows, ch.added} {
		for i := range rows {
			if rows[i].code == stampCode && rows[i].message == "" {
				rows[i].message = strconv.FormatInt(number, 10)
			}
		}
	}
	slices.SortFunc(ch.rows, func(a, b queueRow) int { return cmp.Compare(a.at, b.at) })
	// Sheets are written in byte order of their names: one history, one sequence of edits.
	slices.SortFunc(ch.tables, func(a, b *table) int { return cmp.Compare(a.name, b.name) })
}

// advance fills in the fence row: where the queue stands after the commit, and the checksum of its last rows.
func (ch change) advance(st *state, next *fence.State) {
	next.Tail = int64(st.tail + len(ch.added))
	next.Counter = st.counter
	before := map[int]Status{}
	for _, r := range st.rows {
		before[r.at] = r.status
		if int64(r.at) > st.fence.Tail {
			count(next, r.status, 1) // Adopted.
		}
	}
	for _, r := range ch.rows {
		if _, held := before[r.at]; !held {
			fact, _ := st.index.task(r.task.ID)
			before[r.at] = fact.status
		}
		count(next, before[r.at], -1)
		count(next, r.status, 1)
	}
	for _, r := range ch.added {
		count(next, r.status, 1)
		next.Counter = max(next.Counter, r.sequence)
	}
	next.Head = int64(headAfter(st, ch))
	if ch.layout {
		next.Layout++
	}
	next.Tampered += ch.edits
	if ch.edit != nil {
		ch.edit(next)
	}
	*next = next.Sealed(nil)
	if cells, from, to := ch.lastCells(); !ch.layout && len(cells) > 0 {
		next.CheckedFrom, next.CheckedTo = int64(from), int64(to)
		*next = next.Sealed(cells)
	}
}

// count changes the number of rows with a status. People's edits can make the counts wrong: they never go below 0.
func count(s *fence.State, status Status, by int64) {
	if i := slices.Index([]Status{StatusPending, StatusProcessing, StatusDone, StatusFailed}, status); i >= 0 {
		s.Counts[i] = max(0, s.Counts[i]+by)
	}
}

// headAfter is the first row of the first transaction that is open after the commit.
func headAfter(st *state, ch change) int {
	rows := map[int]queueRow{}
	for _, r := range slices.Concat(st.rows, ch.rows, ch.added) {
		rows[r.at] = r
	}
	open := map[string]bool{}
	for _, r := range rows {
		open[r.transaction] = open[r.transaction] || !r.status.terminal()
	}
	head := st.tail + len(ch.added) + 1
	for at, r := range rows {
		if r.transaction != "" && open[r.transaction] {
			head = min(head, at)
		}
	}
	return head
}

// lastCells are the cells of the last neighbouring rows, at most 64, that the change writes: as a reader will see them.
func (ch change) lastCells() (cells [][]any, from, to int) {
	rows := slices.Concat(ch.rows, ch.added)
	for i := len(rows) - 1; i >= 0 && len(cells) < 64; i-- {
		if len(cells) > 0 && rows[i].at != from-1 {
			break
		}
		if len(cells) == 0 {
			to = rows[i].at
		}
		from = rows[i].at
		cells = append(cells, shown(rows[i].values()))
	}
	slices.Reverse(cells)
	return cells, from, to
}

// shown is what a reader sees of cells: no empty text.
func shown(cells []any) []any {
	seen := slices.Clone(cells)
	for i, v := range seen {
		if v == "" {
			seen[i] = nil
		}
	}
	return seen
}

// metaTexts are the rows of the meta sheet: the change's own, the mirror of the fence, and which tables changed.
func (ch change) metaTexts(st *state, next fence.State) map[string]string {
	texts := maps.Clone(ch.meta)
	if texts == nil {
		texts = map[string]string{}
	}
	texts[fenceKey] = jsonText(mirrorOf(next))
	for _, t := range ch.tables {
		var p projectionState
		_, _ = st.meta.load(stateKey+t.name, &p) // One that cannot be read starts anew: everything is behind.
		p.Changed = next.Number
		texts[stateKey+t.name] = jsonText(p)
	}
	return texts
}

// queueRequests write whole rows, by explicit place. New rows get room of their own: whatever stands below the tail moves down.
func (ch change) queueRequests(st *state) []*sheetsv4.Request {
	requests := writeRuns(st.queueID, ch.rows)
	requests = append(requests, grid.Room(st.queueID, st.tail+1, len(ch.added), st.gridRows)...)
	return append(requests, writeRuns(st.queueID, ch.added)...)
}

// writeRuns writes rows, one request for each run of neighbours.
func writeRuns(sheetID int64, rows []queueRow) []*sheetsv4.Request {
	var requests []*sheetsv4.Request
	for i := 0; i < len(rows); {
		first := rows[i].at
		var cells [][]any
		for ; i < len(rows) && rows[i].at == first+len(cells); i++ {
			cells = append(cells, rows[i].values())
		}
		requests = append(requests, grid.Write(sheetID, first, 0, cells))
	}
	return requests
}

// ranges are what the answer shows: the ids of the rows written and of their neighbours, and the tables asked for.
func (q *Queue) ranges(st *state, ch change) []string {
	var ranges []string
	if _, from, to := ch.lastCells(); from > 0 && !ch.layout {
		below := min(to+1, grownBy(st.gridRows, st.tail+1, len(ch.added)))
		ranges = append(ranges, grid.ColumnRange(queueTitle, columnTaskID, from-1, below))
	}
	for _, t := range ch.tables {
		if from, to, _ := t.aftermath(); from > 0 {
			ranges = append(ranges, grid.ColumnRange(t.tab.Title, t.columns[t.keyHeader], from, to))
		}
	}
	for _, ref := range ch.show {
		if q.knows(ref) {
			ranges = append(ranges, q.tableRanges(ref)...)
		}
	}
	return ranges
}

// committed is the state after a commit, with what its answer shows.
func (q *Queue) committed(st *state, next fence.State, ch change, meta *metaSheet, view *grid.View) *state {
	q.mu.Lock()
	q.edited -= ch.edits
	q.seen = max(q.seen, next.Number)
	q.mu.Unlock()
	if ch.layout {
		q.forget()
		return nil
	}
	after := st.with(next, ch.rows, ch.added, meta)
	if view != nil {
		after.tables = q.tablesOf(view, ch.show)
	}
	q.keep(after)
	if view != nil && !(undisturbed(view.Tabs[queueTitle], st, ch) && ch.tablesUndisturbed(view)) {
		q.noteEdit(0)
	}
	return after
}

func (ch change) tablesUndisturbed(view *grid.View) bool {
	for _, t := range ch.tables {
		from, to, keys := t.aftermath()
		tab := view.Tabs[t.tab.Title]
		for at := from; tab != nil && at > 0 && at <= to; at++ {
			want, known := keys[at]
			if got, _ := ecma.String(tab.At(at, t.columns[t.keyHeader])); known && got != want {
				return false
			}
		}
	}
	return true
}

// undisturbed says whether the neighbours of the rows that were written are the ones that stood there when they were
// read. Rows that a person moved in between show up as neighbours with other ids, or with ours.
func undisturbed(tab *grid.Tab, st *state, ch change) bool {
	_, from, to := ch.lastCells()
	if tab == nil || from == 0 {
		return true
	}
	ids := map[int]string{1: queueHeader[columnTaskID], st.tail + len(ch.added) + 1: ""}
	for _, r := range st.rows {
		ids[r.at] = r.task.ID
	}
	ours := map[string]bool{}
	for _, r := range slices.Concat(ch.rows, ch.added) {
		ids[r.at] = r.task.ID
		ours[r.task.ID] = true
	}
	for _, at := range []int{from - 1, to + 1} {
		got, _ := ecma.String(tab.At(at, columnTaskID))
		want, known := ids[at]
		if known && got != want || !known && ours[got] {
			return false
		}
	}
	return true
}
