package sheets

import (
	"strings"
	"testing"
)

// TestReconcileTable is the table of the contract, cell by cell. A, B, C are a row at versions 1, 2, 3; X is at
// version 1 and D at version 2 with other fields; Y is at another version.
func TestReconcileTable(t *testing.T) {
	t.Parallel()
	states := map[string]Row{
		"A": {"id": "k", "name": "a", "_version": 1.0},
		"B": {"id": "k", "name": "b", "_version": 2.0},
		"C": {"id": "k", "name": "c", "_version": 3.0},
		"X": {"id": "k", "name": "x", "_version": 1.0},
		"D": {"id": "k", "name": "d", "_version": 2.0},
		"Y": {"id": "k", "name": "y", "_version": 9.0},
	}
	columns := strings.Fields("absent A B C X D Y")
	tests := []struct{ chain, want string }{
		{"+A", "N + ? ? ? ? ?"},
		{"AB", "? N + ? N ? ?"},
		{"-A", "? N ? ? ? ? ?"},
		{"+A AB", "N ? + ? ? ? ?"},
		{"+A -A", "? ? ? ? ? ? ?"},
		{"+A AB -B", "? ? ? ? ? ? ?"},
		{"AB BC", "? N ? + N ? ?"},
		{"AB -B", "? N ? ? N ? ?"},
		{"-A +A", "? N ? ? ? ? ?"},
		{"-A +B", "? N + ? ? ? ?"},
		{"-B +A AB", "? ? N ? ? ? ?"},
	}
	names := map[effect]string{notApplied: "N", applied: "+", ambiguous: "?"}
	for _, tt := range tests {
		tx := Transaction{ID: "tx"}
		for i, step := range strings.Fields(tt.chain) {
			id := string(rune('a' + i))
			row := states[step[1:2]]
			switch version, _ := row["_version"].(float64); step[0] {
			case '+':
				tx.Tasks = append(tx.Tasks, Insert(id, "S", "id", row))
			case '-':
				tx.Tasks = append(tx.Tasks, Delete(id, "S", "id", version, row))
			default:
				tx.Tasks = append(tx.Tasks, Update(id, "S", "id", version-1, row))
			}
		}
		for i, want := range strings.Fields(tt.want) {
			row, present := states[columns[i]]
			got := names[reconcileChain(rowsOf(tx, 2, 1, StatusProcessing), row, present)]
			if got != want {
				t.Errorf("%s seen as %s: got %s, want %s", tt.chain, columns[i], got, want)
			}
		}
	}
}

// S6: the group is judged as one. Two chains that disagree, a failed member, a done one.
func TestReconcileGroups(t *testing.T) {
	t.Parallel()
	tx := Transaction{ID: "tx", Tasks: []Task{
		Insert("a", "S", "id", Row{"id": "k1", "_version": 1}),
		Insert("b", "T", "id", Row{"id": "k2", "_version": 1}),
	}}
	row := Row{"_version": 1.0}
	tests := []struct {
		name           string
		first, second  bool // present
		status0, last1 Status
		want           effect
	}{
		{"none", false, false, StatusProcessing, StatusProcessing, notApplied},
		{"all", true, true, StatusProcessing, StatusProcessing, applied},
		{"half", true, false, StatusProcessing, StatusProcessing, ambiguous},
		{"one marked done, other not applied", true, false, StatusDone, StatusProcessing, ambiguous},
		{"one marked done, other applied", true, true, StatusDone, StatusProcessing, applied},
		{"one failed", false, false, StatusProcessing, StatusFailed, ambiguous},
	}
	for _, tt := range tests {
		rows := rowsOf(tx, 2, 1, StatusProcessing)
		rows[0].status, rows[1].status = tt.status0, tt.last1
		got := (&group{rows: rows}).reconcile(func(at target) (Row, bool) {
			full := Row{"id": at.key, "_version": row["_version"]}
			return full, at.key == "k1" && tt.first || at.key == "k2" && tt.second
		})
		if got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Equality is ECMAScript's, and blank, null and "" are one.
func TestReconcileComparesAsECMAScript(t *testing.T) {
	t.Parallel()
	tx := Transaction{ID: "tx", Tasks: []Task{Insert("a", "S", "id", Row{"id": 7, "note": nil, "ok": true, "_version": 1})}}
	rows := rowsOf(tx, 2, 1, StatusProcessing)
	seen := Row{"id": "7", "ok": "true", "_version": "1", "extra": "kept"}
	if got := reconcileChain(rows, seen, true); got != applied {
		t.Errorf("got %v, want applied", got)
	}
	seen["note"] = "0"
	if got := reconcileChain(rows, seen, true); got != ambiguous {
		t.Errorf("got %v, want ambiguous", got)
	}
}
