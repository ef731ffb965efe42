package sheets

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// state is the record of the spreadsheet: what the fence row says, the rows of the queue from a window's start on, and
// what is known of the others. It is of one commit, and not changed once it is made.
type state struct {
	fence fence.State
	taken time.Time // when the answer came that shows it
	meta  *metaSheet
	index *index

	queueID  int64
	gridRows int
	from     int        // the first row that is held
	rows     []queueRow // the rows held that are not blank, from the top
	tail     int        // the last row that is not blank, the header's if there is none
	counter  int64      // the last sequence

	groups []*group   // the open transactions, by sequence
	twins  []queueRow // open rows whose task is done in another row

	tables map[string]*table // those that the answer showed, too

	added []enqueued // by step: what the next commit appends
}

// enqueued is a transaction that step accepted.
type enqueued struct {
	tx       Transaction
	sequence int64
}

// pending says whether a transaction is open.
func (s *state) pending() bool { return s != nil && len(s.groups)+len(s.twins) > 0 }

// head is the first row that matters to the next reader.
func (s *state) head() int {
	head := s.tail + 1
	for _, g := range s.groups {
		head = min(head, g.firstRow())
	}
	for _, r := range s.twins {
		head = min(head, r.at)
	}
	return head
}

// regroup works out the groups from the rows.
func (s *state) regroup() {
	s.twins = nil
	var own []queueRow
	for _, r := range s.rows {
		fact, known := s.index.task(r.task.ID)
		switch twin := known && fact.at != r.at; {
		case twin && !r.status.terminal() && fact.status == StatusDone:
			s.twins = append(s.twins, r)
		default:
			own = append(own, r)
		}
	}
	groups, _ := groupRows(own)
	s.groups = slices.DeleteFunc(groups, func(g *group) bool { return !g.open() })
	for _, g := range s.groups {
		s.judge(g)
	}
}

// judge fails a group that clashes with other rows of the queue.
func (s *state) judge(g *group) {
	for _, r := range g.rows {
		if fact, known := s.index.task(r.task.ID); known && fact.at != r.at && fact.transaction != g.id {
			g.failWith(CodeDuplicateTask, "its task id is in the queue twice")
			for _, other := range s.groups {
				if other.id == fact.transaction {
					other.failWith(CodeDuplicateTask, "its task id is in the queue twice")
				}
			}
		}
	}
	for _, fact := range s.index.transaction(g.id) {
		if fact.at < s.from {
			g.fail("joins a transaction that has ended")
		}
	}
}

// with answers the state after a commit of its own: next is its fence, changed and added are the rows it wrote.
func (s *state) with(next fence.State, changed, added []queueRow, meta *metaSheet) *state {
	after := *s
	after.fence, after.meta, after.taken = next, meta, time.Now()
	after.added, after.tables = nil, nil
	byRow := map[int]queueRow{}
	for _, r := range s.rows {
		byRow[r.at] = r
	}
	for _, r := range slices.Concat(changed, added) {
		byRow[r.at] = r
	}
	after.rows = slices.SortedFunc(maps.Values(byRow), func(a, b queueRow) int { return cmp.Compare(a.at, b.at) })
	after.tail = s.tail + len(added)
	after.gridRows = grownBy(s.gridRows, s.tail+1, len(added))
	after.counter = next.Counter
	after.index.learn(next.Number, slices.Concat(changed, added))
	after.regroup()
	after.trim()
	return &after
}

// trim forgets the rows above the head: whoever reads next need not see them.
func (s *state) trim() {
	s.from = max(2, min(s.head(), s.tail))
	s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r queueRow) bool { return r.at < s.from })
}

// decodeRows reads the rows of the queue that a view shows, from the given one on.
func decodeRows(tab *grid.Tab, from int) (rows []queueRow, tail int) {
	tail = max(from-1, 1)
	last := tab.Last()
	for at := from; at <= last; at++ {
		if r, ok := decodeRow(at, tab.Row(at, len(queueHeader))); ok {
			rows = append(rows, r)
			tail = at
		}
	}
	return rows, tail
}
