package sheets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// usersTable is a table of the given keys, each at version 1, from row 2 on.
func usersTable(keys ...string) *table {
	t := &table{
		name: "Users", keyHeader: "id", tab: &grid.Tab{ID: 5, Rows: len(keys) + 2, Cols: 3},
		columns: map[string]int{"id": 0, "name": 1, "_version": 2}, rows: map[string]*tableRow{}, last: len(keys) + 1,
	}
	for i, key := range keys {
		t.addExisting(&tableRow{at: i + 2, key: key, version: 1.0})
	}
	return t
}

// in makes the group of one transaction.
func in(tasks ...Task) *group {
	groups, _ := groupRows(rowsOf(Transaction{ID: "tx", Tasks: tasks}, 2, 1, StatusProcessing))
	return groups[0]
}

func put(id, key string) Task { return Insert(id, "Users", "id", Row{"id": key, "_version": 1}) }
func set(id, key string, expected float64) Task {
	return Update(id, "Users", "id", expected, Row{"id": key, "name": id, "_version": expected + 1})
}
func del(id, key string, expected float64) Task {
	return Delete(id, "Users", "id", expected, Row{"id": key, "_version": expected})
}

func TestApplyGroup(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		tasks []Task
		code  Code   // "" if it applies
		want  string // the requests, see shorthand
	}{
		{"insert", []Task{put("1", "d")}, "", "room 5+1, write 5:0"},
		{"insert what is there", []Task{put("1", "a")}, CodeConflict, ""},
		{"update", []Task{set("1", "b", 1)}, "", "write 3:0"},
		{"update at another version", []Task{set("1", "b", 2)}, CodeConflict, ""},
		{"update what is not there", []Task{set("1", "x", 1)}, CodeConflict, ""},
		{"delete", []Task{del("1", "b", 1)}, "", "delete 3-3"},
		{"delete at another version", []Task{del("1", "b", 2)}, CodeConflict, ""},
		{"deletes go bottom up, in runs", []Task{del("1", "a", 1), del("2", "c", 1)}, "", "delete 4-4, delete 2-2"},
		{"neighbours are one run", []Task{del("1", "b", 1), del("2", "a", 1)}, "", "delete 2-3"},
		{"an insert comes after what deletes leave", []Task{del("1", "a", 1), put("2", "d")}, "", "delete 2-2, room 4+1, write 4:0"},
		{"updates come first", []Task{del("1", "a", 1), set("2", "c", 1)}, "", "write 4:0, delete 2-2"},
		{"later tasks see earlier ones", []Task{put("1", "d"), set("2", "d", 1), set("3", "d", 2)}, "", "room 5+1, write 5:0"},
		{"insert and delete cancel out", []Task{put("1", "d"), del("2", "d", 1)}, "", ""},
		{"delete and insert moves the row", []Task{del("1", "a", 1), put("2", "a")}, "", "delete 2-2, room 4+1, write 4:0"},
		{"nothing of a group that fails", []Task{put("1", "d"), set("2", "a", 1), del("3", "b", 1), set("4", "c", 9)}, CodeConflict, ""},
		{"another key column", []Task{Insert("1", "Users", "name", Row{"name": "x", "_version": 1})}, CodeSchemaDrift, ""},
		{"a field without a column", []Task{Insert("1", "Users", "id", Row{"id": "x", "age": 1, "_version": 1})}, CodeSchemaDrift, ""},
		{"another table", []Task{Insert("1", "Orders", "id", Row{"id": "x", "_version": 1})}, CodeSheetNotFound, ""},
	}
	for _, tt := range tests {
		users := usersTable("a", "b", "c")
		err := applyGroup(map[string]*table{"Users": users}, in(tt.tasks...))
		if got := codeOf(err); got != tt.code {
			t.Errorf("%s: code: got %q, want %q", tt.name, got, tt.code)
		}
		if got := shorthand(users.requests()); got != tt.want {
			t.Errorf("%s: requests: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func codeOf(err *Error) Code {
	if err == nil {
		return ""
	}
	return err.Code
}

// shorthand writes requests as "write row:column", "delete first-last" and "room at+n".
func shorthand(requests []*sheetsv4.Request) string {
	var parts []string
	for _, r := range requests {
		switch {
		case r.UpdateCells != nil:
			parts = append(parts, fmt.Sprintf("write %d:%d", r.UpdateCells.Start.RowIndex+1, r.UpdateCells.Start.ColumnIndex))
		case r.DeleteDimension != nil:
			parts = append(parts, fmt.Sprintf("delete %d-%d", r.DeleteDimension.Range.StartIndex+1, r.DeleteDimension.Range.EndIndex))
		case r.InsertDimension != nil:
			span := r.InsertDimension.Range
			parts = append(parts, fmt.Sprintf("room %d+%d", span.StartIndex+1, span.EndIndex-span.StartIndex))
		case r.AppendDimension != nil:
			parts = append(parts, fmt.Sprintf("grow %d", r.AppendDimension.Length))
		}
	}
	return strings.Join(parts, ", ")
}

// What a group undoes leaves the table as it was, also for later groups.
func TestAFailedGroupLeavesNoTrace(t *testing.T) {
	t.Parallel()
	users := usersTable("a", "b")
	tables := map[string]*table{"Users": users}
	if err := applyGroup(tables, in(put("1", "d"), del("2", "a", 1), set("3", "b", 1), put("4", "b"))); err == nil {
		t.Fatal("a group with a conflict applied")
	}
	if err := applyGroup(tables, in(put("5", "d"), del("6", "a", 1), set("7", "b", 1))); err != nil {
		t.Fatalf("got %v, want no error", err)
	}
	if got, want := shorthand(users.requests()), "write 3:0, delete 2-2, room 3+1, write 3:0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A write touches the cells of its fields and no other: unmodelled columns between them stay.
func TestWritesSkipUnmodelledColumns(t *testing.T) {
	t.Parallel()
	users := usersTable("a")
	users.columns = map[string]int{"id": 0, "note": 1, "name": 2, "_version": 3}
	if err := applyGroup(map[string]*table{"Users": users}, in(set("1", "a", 1))); err != nil {
		t.Fatal(err)
	}
	if got, want := shorthand(users.requests()), "write 2:0, write 2:2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	from, to, keys := users.aftermath()
	if from != 1 || to != 3 || keys[2] != "a" {
		t.Errorf("aftermath: got %d, %d, %v, want rows 1 to 3 with a in 2", from, to, keys)
	}
}

func TestTablesAreClonedDeeply(t *testing.T) {
	t.Parallel()
	shared := usersTable("a", "b")
	mine := shared.clone()
	if err := applyGroup(map[string]*table{"Users": mine}, in(set("1", "a", 1), del("2", "b", 1), put("3", "c"))); err != nil {
		t.Fatal(err)
	}
	if got := shared.requests(); len(got) != 0 || len(shared.rows) != 2 {
		t.Errorf("the table that was cloned changed: %q", shorthand(got))
	}
	if slices.Contains(shared.order, mine.order[0]) {
		t.Error("rows are shared")
	}
}
