package sheets

import (
	"slices"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
)

// effect is what a table shows of tasks that may have been applied.
type effect int

const (
	ambiguous effect = iota
	notApplied
	applied
)

// target names a row of a table.
type target struct{ sheet, keyHeader, key string }

func (r queueRow) target() target {
	return target{r.task.Sheet, r.task.KeyHeader, r.task.KeyValue}
}

// reconcile judges a transaction that another kind of writer, or a person, left half way. Rows is the state of the tables.
func (g *group) reconcile(rows func(target) (Row, bool)) effect {
	chains := map[target][]queueRow{}
	for _, r := range g.rows {
		chains[r.target()] = append(chains[r.target()], r)
	}
	var seen []effect
	for at, chain := range chains {
		row, present := rows(at)
		seen = append(seen, reconcileChain(chain, row, present))
	}
	for _, one := range []effect{applied, notApplied} {
		if !slices.ContainsFunc(seen, func(e effect) bool { return e != one }) {
			return one
		}
	}
	return ambiguous
}

// reconcileChain judges the tasks of one row of a table, in the order of their transaction.
func reconcileChain(chain []queueRow, row Row, present bool) effect {
	first, last := chain[0], chain[len(chain)-1]
	switch {
	case slices.ContainsFunc(chain, func(r queueRow) bool { return r.status == StatusFailed }):
		return ambiguous
	case last.status == StatusDone:
		return applied
	case initial(first, row, present):
		// Absence before the first task cannot be told from absence after the last.
		if !present && last.task.Operation == OpDelete {
			return ambiguous
		}
		return notApplied
	case last.task.Operation != OpDelete && present && shows(last, row):
		return applied
	}
	return ambiguous
}

// initial says whether the row is as it was before the task.
func initial(r queueRow, row Row, present bool) bool {
	switch r.task.Operation {
	case OpInsert:
		return !present
	case OpUpdate:
		return present && atVersion(row, r.task.ExpectedVersion)
	case OpDelete:
		return present && atVersion(row, r.task.ExpectedVersion) && shows(r, row)
	}
	return false
}

func atVersion(row Row, version *float64) bool {
	f, ok := ecma.Finite(row[versionHeader])
	return ok && version != nil && f == *version
}

// shows says whether the row has all fields of the task's payload. A redacted payload shows nothing.
func shows(r queueRow, row Row) bool {
	p, err := decodePayload(r.task.Operation, r.payload)
	if err != nil {
		return false
	}
	for name, v := range p.fields {
		if !ecma.Equal(v, row[name]) {
			return false
		}
	}
	return true
}
