package sheets

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
)

// Status is the state of a queue row, and of a transaction whose rows agree.
type Status string

// The statuses.
const (
	StatusPending    Status = "pending"
	StatusProcessing Status = "processing"
	StatusDone       Status = "done"
	StatusFailed     Status = "failed"
)

func (s Status) terminal() bool { return s == StatusDone || s == StatusFailed }

// queueHeader is the format: 17 columns that other writers of the queue share, and two of this package.
var queueHeader = []string{
	"taskId", "transactionId", "transactionIndex", "sequence", "status", "operation", "sheetName", "keyHeader",
	"keyValue", "expectedVersion", "payloadJson", "attempts", "lastErrorCode", "lastErrorMessage", "createdAt",
	"updatedAt", "taskFingerprint", "transactionSize", "dependsOn",
}

// Facts of the queue header that are used alone.
const (
	columnTaskID = 0
	// legacyColumns is the width of a queue from before there were fingerprints.
	legacyColumns = 16
)

// redacted replaces the payload of a terminal row.
const redacted = `{"redacted":true}`

// stampCode marks rows as claimed by the commit whose number is their lastErrorMessage. Since applying and marking
// done are one batch, a row with this stamp is certainly not applied.
const stampCode = "claimed"

// queueRow is one row of the queue. It is not changed once it stands in a state: change a copy.
type queueRow struct {
	at          int // its row in the sheet, from 1
	task        Task
	transaction string
	index       int
	sequence    int64
	status      Status
	payload     string // as stored: the task's, or redacted
	attempts    int
	code        string
	message     string
	created     time.Time
	updated     time.Time
	fingerprint string
	size        int // of the transaction, 0 in rows of older writers
	dependsOn   string

	raw     []any  // the cells as read, nil for a new row
	problem string // why the row is malformed, "" if it is not
}

// newQueueRow makes the row of one task of a transaction that is enqueued.
func newQueueRow(t Transaction, index int, sequence int64, status Status, now time.Time) queueRow {
	task := t.Tasks[index]
	r := queueRow{
		task: task, transaction: t.ID, index: index, sequence: sequence, status: status, payload: task.Payload,
		created: now, updated: now, fingerprint: fingerprint(t.ID, index, task), size: len(t.Tasks), dependsOn: t.DependsOn,
	}
	return r
}

// values answers the cells of the row. Of a malformed row only what processing changes is written anew.
func (r queueRow) values() []any {
	cells := []any{
		r.task.ID, r.transaction, float64(r.index), float64(r.sequence), string(r.status), string(r.task.Operation),
		r.task.Sheet, r.task.KeyHeader, r.task.KeyValue, nil, r.payload, float64(r.attempts), r.code, r.message,
		isoTime(r.created), isoTime(r.updated), r.fingerprint, nil, r.dependsOn,
	}
	if r.task.ExpectedVersion != nil {
		cells[9] = *r.task.ExpectedVersion
	}
	if r.size > 0 {
		cells[17] = float64(r.size)
	}
	if r.problem != "" && r.raw != nil {
		kept := slices.Clone(r.raw)
		for i, v := range kept {
			if _, ok := ecma.String(v); !ok {
				kept[i] = nil // A formula's error cannot be written.
			}
		}
		for _, column := range []int{4, 12, 13, 15} {
			kept[column] = cells[column]
		}
		return kept
	}
	return cells
}

// isoTime writes a time as ECMAScript's toISOString does; the zero time is blank.
func isoTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// parseTime takes a time it cannot read for one long ago: that costs at most a lease.
func parseTime(v any) time.Time {
	text, _ := ecma.String(v)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// decodeRow reads a row of the queue. It answers false for a blank row. What it cannot read makes the row's problem.
func decodeRow(at int, cells []any) (queueRow, bool) {
	if !slices.ContainsFunc(cells, func(v any) bool { return v != nil }) {
		return queueRow{}, false
	}
	d := &rowDecoder{cells: cells}
	r := queueRow{
		at: at, raw: cells,
		task: Task{
			ID: d.text(0), Operation: Operation(d.text(5)), Sheet: d.text(6), KeyHeader: d.text(7),
			KeyValue: d.text(8), ExpectedVersion: d.version(9), Payload: d.text(10),
		},
		transaction: d.text(1), index: d.count(2, 0, -1), sequence: d.sequence(3), status: Status(d.text(4)),
		payload: d.text(10), attempts: d.count(11, 0, 0), code: d.text(12), message: d.text(13),
		created: parseTime(cells[14]), updated: parseTime(cells[15]),
		fingerprint: d.text(16), size: d.count(17, 1, 0), dependsOn: d.text(18),
	}
	r.problem = d.problem
	if r.problem == "" {
		r.problem = r.findProblem()
	}
	return r, true
}

// rowDecoder keeps the first column that does not fit.
type rowDecoder struct {
	cells   []any
	problem string
}

func (d *rowDecoder) fail(column int) {
	if d.problem == "" {
		d.problem = queueHeader[column] + " is malformed"
	}
}

func (d *rowDecoder) text(column int) string {
	text, ok := ecma.String(d.cells[column])
	if !ok {
		d.fail(column)
	}
	return text
}

// count reads a whole number of at least low. Digits that somebody turned into text count. A blank is taken for the
// default, unless that is negative.
func (d *rowDecoder) count(column, low, blank int) int {
	v := d.cells[column]
	if v == nil && blank >= 0 {
		return blank
	}
	f, ok := ecma.Finite(v)
	if text, isText := v.(string); isText {
		n, err := strconv.ParseInt(text, 10, 53)
		f, ok = float64(n), err == nil
	}
	if !ok || f != math.Trunc(f) || f < float64(low) || f > ecma.MaxSafeInteger {
		d.fail(column)
		return max(blank, 0)
	}
	return int(f)
}

// sequence leaves room above: one that somebody made huge must not use up the rest.
func (d *rowDecoder) sequence(column int) int64 {
	n := d.count(column, 1, -1)
	if n > ecma.MaxSafeInteger/2 {
		d.fail(column)
		return 0
	}
	return int64(n)
}

func (d *rowDecoder) version(column int) *float64 {
	if d.cells[column] == nil {
		return nil
	}
	f, ok := ecma.Finite(d.cells[column])
	if !ok {
		d.fail(column)
		return nil
	}
	return &f
}

// findProblem says why a row whose cells could be read must not be applied. Nothing is refused for its characters,
// and nothing about a terminal row: it is never applied.
func (r queueRow) findProblem() string {
	switch {
	case r.task.ID == "":
		return "taskId is blank"
	case r.status.terminal():
		return ""
	case r.status != StatusPending && r.status != StatusProcessing:
		return "status is unknown"
	case r.payload == redacted:
		return "payload is redacted"
	case r.task.Sheet == "" || r.task.KeyHeader == "" || r.task.KeyValue == "":
		return "sheetName, keyHeader or keyValue is blank"
	case r.fingerprint != "" && r.fingerprint != fingerprint(r.transaction, r.index, r.task):
		return "does not match its fingerprint"
	}
	p, err := decodePayload(r.task.Operation, r.payload)
	if err != nil {
		return "payload does not fit the operation"
	}
	if problem := r.task.checkStored(p); problem != "" {
		return problem
	}
	return ""
}

// checkStored is the part of [Task.checkPayload] that a stored row of any writer must keep for it to be applied.
func (t Task) checkStored(p payload) string {
	key, _ := ecma.String(p.fields[t.KeyHeader])
	_, versioned := ecma.Finite(p.fields[versionHeader])
	switch {
	case key != t.KeyValue:
		return "keyValue is not the payload's"
	case t.Operation == OpInsert && t.ExpectedVersion != nil, t.Operation != OpInsert && t.ExpectedVersion == nil:
		return "expectedVersion does not fit the operation"
	case t.Operation != OpInsert && !sameVersion(t.ExpectedVersion, p.expected):
		return "expectedVersion is not the payload's"
	case t.Operation != OpDelete && !versioned:
		return "payload has no version"
	}
	return ""
}

// stamped says whether the row is claimed by a commit up to number, and by which.
func (r queueRow) stamped(number int64) (int64, bool) {
	n, err := strconv.ParseInt(r.message, 10, 64)
	return n, err == nil && r.status == StatusProcessing && r.code == stampCode && n > 0 && n <= number
}
