package sheets

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/schedule"
)

// What makes a read be tried again.
var (
	errBehind = errors.New("sheets: the read is older than what is known")
	errMoved  = errors.New("sheets: two reads belong to different commits")
)

// editedError says that rows differ from what the commit wrote, the last one.
type editedError struct{ commit int64 }

func (e *editedError) Error() string { return "sheets: rows differ from what the last commit wrote" }

var (
	// lagging bounds how long reads may be stale before the fence counts as gone back.
	lagging = schedule.Exponential(250 * time.Millisecond).Capped(5 * time.Second).UpTo(60 * time.Second)
	// doubting is how often something that looks edited is read again.
	doubting = schedule.Durations(500*time.Millisecond, time.Second, 2*time.Second)
	// moving bounds how often a read is repeated because of other writers.
	moving = schedule.Exponential(50 * time.Millisecond).Capped(time.Second).Jittered().And(schedule.Recurs(20))
)

// read answers the newest state: the one that the last answer showed if it is fresh, else what the spreadsheet shows.
func (q *Queue) read(ctx context.Context) (*state, error) {
	q.mu.Lock()
	last := q.last
	q.mu.Unlock()
	if last != nil && time.Since(last.taken) < freshFor {
		return last, nil
	}
	return q.load(ctx)
}

// load reads the state from the spreadsheet. Its error is an *Error.
func (q *Queue) load(ctx context.Context) (*state, error) {
	lag, doubt, move := lagging.Start(), doubting.Start(), moving.Start()
	for {
		st, err := q.loadOnce(ctx)
		if err == nil {
			q.keep(st)
			return st, nil
		}
		var wait *schedule.Run
		var final *Error
		edited, isEdited := errors.AsType[*editedError](err)
		switch {
		case errors.Is(err, errMoved):
			wait, final = move, &Error{Code: CodeConflict, Detail: "other writers change the queue faster than it can be read"}
		case errors.Is(err, errBehind):
			wait, final = lag, q.rewound()
		case isEdited:
			wait = doubt
		case fence.Unfit(err) && q.hasSeen():
			wait, final = lag, errorOf(err)
		case fence.Unfit(err):
			wait, final = doubt, errorOf(err)
		default:
			q.forget()
			return nil, errorOf(err)
		}
		delay, again := wait.Next(err)
		switch {
		case again:
		case isEdited:
			q.noteEdit(edited.commit)
			delay, doubt = 0, doubting.Start()
		default:
			q.forget()
			return nil, final
		}
		if schedule.Sleep(ctx, delay) != nil {
			return nil, errorOf(&grid.Failure{Err: ctx.Err()})
		}
	}
}

func (q *Queue) hasSeen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seen > 0
}

func (q *Queue) rewound() *Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rivals > q.seen {
		return &Error{Code: CodeFenceBroken, Sheet: fence.Title, Detail: "its row does not follow its markers; RepairFence lays a new one"}
	}
	return &Error{Code: CodeFenceRewound, Sheet: fence.Title, Detail: "its number went back; RepairFence lays a new one"}
}

// keep remembers a state unless a newer one is known.
func (q *Queue) keep(st *state) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if st.fence.Number >= q.seen {
		q.seen, q.last = st.fence.Number, st
	}
}

// forget makes the next read cold.
func (q *Queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = nil
}

// noteEdit counts an edit that was detected, which the next commit writes down. The next read is cold, and takes the rows of
// commit as they are, until another one writes a fresh checksum.
func (q *Queue) noteEdit(commit int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.edited++
	q.last, q.edit = nil, max(q.edit, commit)
}

// trust turns rows that are not intact into an error, unless that is known.
func (q *Queue) trust(f fence.State, intact bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if intact || q.edit == f.Number {
		return nil
	}
	return &editedError{f.Number}
}

func (q *Queue) loadOnce(ctx context.Context) (*state, error) {
	q.mu.Lock()
	last := q.last
	q.mu.Unlock()
	if last == nil {
		return q.loadCold(ctx)
	}
	st, err := q.loadWarm(ctx, last)
	if failure, ok := errors.AsType[*grid.Failure](err); ok && failure.Kind != grid.Denied && ctx.Err() == nil {
		q.forget() // A range is gone: the cold read says what is.
		return nil, errMoved
	}
	return st, err
}

// loadWarm reads the fence row, the meta sheet and the rows that may have changed since last.
func (q *Queue) loadWarm(ctx context.Context, last *state) (*state, error) {
	from := max(2, min(last.head(), last.tail))
	ranges := []string{fence.Range(), metaRange, grid.Rows(queueTitle, from, 0, len(queueHeader))}
	if f := last.fence; f.CheckedFrom > 0 && int(f.CheckedFrom) < from {
		ranges = append(ranges, grid.Rows(queueTitle, int(f.CheckedFrom), int(f.CheckedTo), len(queueHeader)))
	}
	view, err := q.client.Read(ctx, ranges...)
	if err != nil {
		return nil, err
	}
	st, err := q.stateOf(view)
	if err != nil {
		return nil, err
	}
	if st.fence.Layout != last.fence.Layout || st.fence.Epoch != last.fence.Epoch {
		q.forget()
		return nil, errMoved
	}
	tab := view.Tabs[queueTitle]
	st.index, st.from = last.index, from
	st.rows, st.tail = decodeRows(tab, from)
	if err := q.trust(st.fence, q.intact(st.fence, tab, from, last) && st.tail >= int(st.fence.Tail)); err != nil {
		return nil, err
	}
	st.index.learn(st.fence.Number, st.rows)
	st.finish()
	return st, nil
}

// intact checks that the rows of last are where they were, and those that the last commit wrote, as far as the view
// shows them: after somebody else's commit it shows those from the row from on.
func (q *Queue) intact(f fence.State, tab *grid.Tab, from int, last *state) bool {
	for _, r := range last.rows {
		// Rows do not move while the layout stands.
		if id, _ := ecma.String(tab.At(r.at, columnTaskID)); r.at >= from && id != r.task.ID {
			return false
		}
	}
	shown := int(f.CheckedFrom) >= from || f.CheckedFrom == last.fence.CheckedFrom && f.CheckedTo == last.fence.CheckedTo
	if f.CheckedFrom > 0 && !shown {
		return true
	}
	return f.Intact(checkedCells(f, tab))
}

func checkedCells(f fence.State, tab *grid.Tab) [][]any {
	var cells [][]any
	for at := f.CheckedFrom; at > 0 && at <= f.CheckedTo; at++ {
		cells = append(cells, tab.Row(int(at), len(queueHeader)))
	}
	return cells
}

const metaRange = "'" + metaTitle + "'!A1:B"

// loadCold reads everything but the payloads of ended transactions.
func (q *Queue) loadCold(ctx context.Context) (*state, error) {
	if err := q.checkTabs(ctx); err != nil {
		return nil, err
	}
	view, err := q.client.Read(ctx, append(idRanges(len(queueHeader)), fence.Range(), metaRange)...)
	if err != nil {
		return nil, err
	}
	st, err := q.stateOf(view)
	if err != nil {
		return nil, err
	}
	tab := view.Tabs[queueTitle]
	if !slices.Equal(tab.Row(1, len(queueHeader)), anyTexts(queueHeader)) {
		return nil, &Error{Code: CodeSchemaDrift, Sheet: queueTitle, Row: 1, Detail: "the header is not the queue's"}
	}
	all, tail := decodeRows(tab, 2)
	st.index = newIndex(st.fence.Number, st.fence.Layout)
	st.index.learn(st.fence.Number, all)
	st.rows, st.tail, st.from = all, tail, 2
	st.regroup()
	return q.loadWindow(ctx, st)
}

// loadWindow reads the rows from the head of st on whole.
func (q *Queue) loadWindow(ctx context.Context, st *state) (*state, error) {
	st.trim()
	ranges := []string{fence.Range(), grid.Rows(queueTitle, st.from, 0, len(queueHeader))}
	f := st.fence
	if f.CheckedFrom > 0 && int(f.CheckedFrom) < st.from {
		ranges = append(ranges, grid.Rows(queueTitle, int(f.CheckedFrom), int(f.CheckedTo), len(queueHeader)))
	}
	view, err := q.client.Read(ctx, ranges...)
	if err != nil {
		return nil, err
	}
	again, err := q.fence.Decode(view)
	if err != nil {
		return nil, err
	}
	tab := view.Tabs[queueTitle]
	rows, tail := decodeRows(tab, st.from)
	if again.Number != f.Number || tail != st.tail {
		return nil, errMoved
	}
	if err := q.trust(f, f.Intact(checkedCells(f, tab)) && tail >= int(f.Tail)); err != nil {
		return nil, err
	}
	st.rows = rows
	st.finish()
	return st, nil
}

// finish works out what follows from the rows.
func (s *state) finish() {
	s.counter = max(s.fence.Counter, s.index.lastSequence())
	s.regroup()
}

// stateOf reads the fence row, the meta sheet and the queue's grid out of a view, and refuses what is behind.
func (q *Queue) stateOf(view *grid.View) (*state, error) {
	f, err := q.fence.Decode(view)
	if err != nil {
		return nil, err
	}
	meta, queue := view.Tabs[metaTitle], view.Tabs[queueTitle]
	if meta == nil || queue == nil {
		return nil, errMoved
	}
	st := &state{fence: f, taken: time.Now(), meta: decodeMeta(meta), queueID: queue.ID, gridRows: queue.Rows}
	var m mirror
	q.mu.Lock()
	behind := f.Number < max(q.seen, q.rivals)
	q.mu.Unlock()
	if ok, _ := st.meta.load(fenceKey, &m); behind || ok && (m.Number > f.Number || m.Epoch > f.Epoch) {
		return nil, errBehind
	}
	return st, nil
}

// checkTabs says which internal sheet is missing.
func (q *Queue) checkTabs(ctx context.Context) error {
	view, err := q.client.Tabs(ctx)
	if err != nil {
		return err
	}
	missing := func(title string) bool { return view.Tabs[title] == nil }
	switch {
	case missing(fence.Title) && missing(metaTitle) && missing(queueTitle) && !q.hasSeen():
		return &Error{Code: CodeConfiguration, Detail: "the spreadsheet is not initialised"}
	case missing(fence.Title):
		return fence.ErrMissing
	case missing(metaTitle):
		return &Error{Code: CodeSheetNotFound, Sheet: metaTitle, Detail: "the sheet is gone; restore it from the version history"}
	case missing(queueTitle):
		return &Error{Code: CodeSheetNotFound, Sheet: queueTitle, Detail: "the sheet is gone; restore it from the version history"}
	case view.Tabs[queueTitle].Cols < len(queueHeader):
		return &Error{Code: CodeConfiguration, Sheet: queueTitle, Detail: "the queue lacks columns; Initialize adds them"}
	}
	return nil
}

// tabs answers the sheets of the spreadsheet. If one of titles is not there it looks again for a while: a read may be stale.
func (q *Queue) tabs(ctx context.Context, titles ...string) (*grid.View, error) {
	waits := doubting.Start()
	for {
		view, err := q.client.Tabs(ctx)
		if err != nil {
			return nil, err
		}
		missing := slices.ContainsFunc(titles, func(title string) bool { return view.Tabs[title] == nil })
		delay, again := waits.Next(nil)
		if !missing || !again {
			return view, nil
		}
		if err := schedule.Sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

func anyTexts(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}
