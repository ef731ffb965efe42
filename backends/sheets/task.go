package sheets

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
)

// Operation is what a task does to one row of a canonical sheet.
type Operation string

// The operations.
const (
	OpInsert Operation = "insert"
	OpUpdate Operation = "update"
	OpDelete Operation = "delete"
)

// versionHeader is the column that fences a row.
const versionHeader = "_version"

// Row holds the modelled fields of a row: text, float64 or another number that a float64 holds exactly, bool, or nil.
// It includes the key and _version.
type Row = map[string]any

// Task changes one row of a table. Make one with [Insert], [Update] or [Delete], or fill in the queue's columns.
type Task struct {
	// ID is the idempotency key, unique in the spreadsheet. A retry uses the same one.
	ID        string
	Operation Operation
	// Sheet is the logical name of the table, KeyHeader its key column, KeyValue the row's key as text.
	Sheet, KeyHeader, KeyValue string
	// ExpectedVersion is the _version that an update or a delete requires; nil for an insert.
	ExpectedVersion *float64
	// Payload is the JSON text of the operation, kept byte by byte: {"row":{...}},
	// {"expectedVersion":1,"rowToWrite":{...}} or {"expectedVersion":1,"rowToDelete":{...}}.
	Payload string
}

// Transaction is a group of tasks that are applied together or not at all.
type Transaction struct {
	// ID is unique in the spreadsheet. A retry uses the same one, with the same tasks.
	ID    string
	Tasks []Task
	// DependsOn is the id of a transaction in the queue that must be done before; if it failed, so does this one. Empty: none.
	DependsOn string
}

func (t Transaction) id() string { return t.ID }

// Insert makes the task that adds row, which must not be there yet. A row that has no JSON form makes a task that
// is refused when it is enqueued.
func Insert(id, sheet, keyHeader string, row Row) Task {
	return newTask(id, OpInsert, sheet, keyHeader, row, nil, map[string]any{"row": row})
}

// Update makes the task that replaces the modelled fields of a row at version expected. The row's own _version is the new
// one.
func Update(id, sheet, keyHeader string, expected float64, row Row) Task {
	return newTask(id, OpUpdate, sheet, keyHeader, row, &expected,
		map[string]any{"expectedVersion": expected, "rowToWrite": row})
}

// Delete makes the task that removes a row at version expected. Row is the row as last seen: with all of its fields it
// is the evidence by which an interrupted delete is recovered.
func Delete(id, sheet, keyHeader string, expected float64, row Row) Task {
	return newTask(id, OpDelete, sheet, keyHeader, row, &expected,
		map[string]any{"expectedVersion": expected, "rowToDelete": row})
}

func newTask(id string, op Operation, sheet, keyHeader string, row Row, expected *float64, payload any) Task {
	text, err := json.Marshal(payload)
	for name, v := range row {
		s, _ := v.(string)
		if err != nil || !utf8.ValidString(name+s) { // Marshal would write another character.
			text = nil // Refused by name when it is enqueued.
		}
	}
	key, _ := ecma.String(number(row[keyHeader]))
	return Task{
		ID: id, Operation: op, Sheet: sheet, KeyHeader: keyHeader, KeyValue: key,
		ExpectedVersion: expected, Payload: string(text),
	}
}

// number answers Go's other number types as the float64 that JSON makes of them.
func number(v any) any {
	text, err := json.Marshal(v)
	var f float64
	if err != nil || json.Unmarshal(text, &f) != nil || v == nil {
		return v
	}
	return f
}

// payload is a decoded Task.Payload.
type payload struct {
	fields   Row
	expected *float64
}

// The limits of the service: characters of a cell, and those of the ids and names kept in titles, keys and errors.
const (
	maxCell = 50_000
	maxName = 1_000
	// maxRequest is the weight of a request: 10 % less than the 2 MB that the service advises.
	maxRequest = 1_800_000
)

var errPayload = errors.New("payload does not fit its operation")

// decodePayload reads a payload without judging its size. Its errors quote nothing.
func decodePayload(op Operation, text string) (payload, error) {
	var raw struct {
		Row             map[string]json.RawMessage `json:"row"`
		RowToWrite      map[string]json.RawMessage `json:"rowToWrite"`
		RowToDelete     map[string]json.RawMessage `json:"rowToDelete"`
		ExpectedVersion *float64                   `json:"expectedVersion"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&raw); err != nil {
		return payload{}, errPayload
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return payload{}, errPayload
	}
	fields := map[Operation]map[string]json.RawMessage{
		OpInsert: raw.Row, OpUpdate: raw.RowToWrite, OpDelete: raw.RowToDelete,
	}[op]
	if len(fields) == 0 {
		return payload{}, errPayload
	}
	p := payload{fields: make(Row, len(fields)), expected: raw.ExpectedVersion}
	for name, value := range fields {
		v, err := scalar(value)
		if err != nil {
			return payload{}, err
		}
		p.fields[name] = v
	}
	return p, nil
}

// scalar refuses lists and objects, and integers that a cell would change.
func scalar(raw json.RawMessage) (any, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, errPayload
	}
	switch v := v.(type) {
	case map[string]any, []any:
		return nil, errors.New("a field is neither text, number, bool nor null")
	case float64:
		integer := !bytes.ContainsAny(raw, ".eE")
		if integer && math.Abs(v) > ecma.MaxSafeInteger {
			return nil, errors.New("an integer is too large for a cell: send it as text")
		}
	}
	return v, nil
}

// check refuses a transaction that could not be stored or applied, naming the task.
func (t Transaction) check() *Error {
	refuse := func(code Code, task Task, detail string) *Error {
		return &Error{Code: code, Transaction: t.ID, Task: task.ID, Sheet: task.Sheet, Detail: detail}
	}
	switch {
	case nameProblem(t.ID) != "":
		return &Error{Code: CodeInvalidTask, Detail: "transaction id " + nameProblem(t.ID)}
	case t.DependsOn != "" && nameProblem(t.DependsOn) != "":
		return refuse(CodeInvalidTask, Task{}, "dependsOn "+nameProblem(t.DependsOn))
	case t.DependsOn == t.ID:
		return refuse(CodeInvalidTask, Task{}, "depends on itself")
	case len(t.Tasks) == 0:
		return refuse(CodeInvalidTask, Task{}, "has no tasks")
	}
	seen := map[string]bool{}
	for _, task := range t.Tasks {
		if problem := task.problem(); problem != nil {
			return refuse(problem.Code, task, problem.Detail)
		}
		if seen[task.ID] {
			return refuse(CodeInvalidTask, task, "its id is in the transaction twice")
		}
		seen[task.ID] = true
	}
	if t.weight()+overhead > maxRequest {
		return refuse(CodeTooLarge, Task{}, "does not fit one request")
	}
	return nil
}

// problem answers what is wrong with a task that is to be enqueued, nil for nothing.
func (t Task) problem() *Error {
	invalid := func(detail string) *Error { return &Error{Code: CodeInvalidTask, Detail: detail} }
	names := []struct{ what, text string }{{"task id", t.ID}, {"sheet name", t.Sheet}, {"key header", t.KeyHeader}, {"key value", t.KeyValue}}
	for _, name := range names {
		if problem := nameProblem(name.text); problem != "" {
			return invalid(name.what + " " + problem)
		}
	}
	switch {
	case strings.HasPrefix(t.Sheet, systemPrefix):
		return invalid("sheet name starts with " + systemPrefix)
	case t.KeyHeader == versionHeader:
		return invalid("key header is " + versionHeader)
	case length(t.Payload) > maxCell:
		return &Error{Code: CodeTooLarge, Detail: "payload is longer than a cell"}
	case !utf8.ValidString(t.Payload) || strings.ContainsAny(t.Payload, "\x00\x1f"):
		return invalid("payload holds a character that is not allowed")
	}
	p, err := decodePayload(t.Operation, t.Payload)
	if err != nil {
		return invalid(err.Error())
	}
	return t.checkPayload(p, invalid)
}

func (t Task) checkPayload(p payload, invalid func(string) *Error) *Error {
	version, hasVersion := ecma.Finite(p.fields[versionHeader])
	key, _ := ecma.String(p.fields[t.KeyHeader])
	update := t.Operation == OpUpdate
	switch {
	case key != t.KeyValue:
		return invalid("key value is not the payload's")
	case (t.Operation == OpInsert) != (t.ExpectedVersion == nil):
		return invalid("expected version: none for an insert, one for an update or a delete")
	case !sameVersion(t.ExpectedVersion, p.expected):
		return invalid("expected version is not the payload's")
	case t.Operation != OpDelete && !hasVersion:
		return invalid("payload has no " + versionHeader)
	case update && version <= *t.ExpectedVersion:
		return invalid("the new version is not above the expected one")
	case t.Operation == OpDelete && hasVersion && version != *t.ExpectedVersion:
		return invalid("the row to delete is not at the expected version")
	}
	for name, v := range p.fields {
		if text, _ := v.(string); name == "" || strings.ContainsAny(name+text, "\x00\x1f") {
			return invalid("a field's name or text is not allowed")
		}
	}
	return nil
}

func sameVersion(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b && !math.IsNaN(*a) && !math.IsInf(*a, 0)
}

// nameProblem answers why text cannot be an id, a key, or a name: "" if it can.
func nameProblem(text string) string {
	control := func(r rune) bool { return r <= 0x1f }
	switch {
	case text == "":
		return "is empty"
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsFunc(text, control):
		return "holds a control character"
	case length(text) > maxName:
		return "is too long"
	}
	return ""
}

// length counts UTF-16 units: the stricter of the two ways in which a character limit can be meant.
func length(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// weight is that of the rows that the transaction becomes.
func (t Transaction) weight() int {
	g := &group{id: t.ID}
	for i := range t.Tasks {
		g.rows = append(g.rows, newQueueRow(t, i, 1, StatusProcessing, time.Time{}))
	}
	return g.weight()
}

// overhead is the weight of the fence and of the meta rows in every commit.
const overhead = 8_000

// encodedSize bounds the bytes that cells take in a request.
func encodedSize(cells []any) int {
	size := 40
	for _, v := range cells {
		text, _ := json.Marshal(v)
		size += len(text) + len(`{"userEnteredValue":{"stringValue":}},`)
	}
	return size
}
