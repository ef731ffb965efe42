package sheets

import (
	"math"
	"strings"
	"testing"
)

func ptr(f float64) *float64 { return &f }

func TestFingerprintVector(t *testing.T) {
	t.Parallel()
	task := Task{
		ID: "task-1", Operation: OpInsert, Sheet: "Users", KeyHeader: "id", KeyValue: "u1",
		Payload: `{"row":{"id":"u1","_version":1}}`,
	}
	const want = "a810a1c860cf427c1494a92151fc1b6e96e2578f15604af82f48f0232e4cbbcf"
	if got := fingerprint("tx-1", 0, task); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	task.ExpectedVersion = ptr(1e-7)
	byHand := task
	byHand.ExpectedVersion = nil
	byHand.KeyValue += "\x1f1e-7" // The separator is why it is refused in ids and keys.
	if fingerprint("tx-1", 0, task) == fingerprint("tx-1", 0, byHand) {
		t.Error("an expected version is not told from a longer key")
	}
}

func TestFingerprintDependsOnEveryField(t *testing.T) {
	t.Parallel()
	base := Update("task", "Users", "id", 1, Row{"id": "u", "_version": 2})
	seen := map[string]string{fingerprint("tx", 0, base): "base"}
	changed := map[string]func(*Task){
		"id":        func(t *Task) { t.ID = "other" },
		"operation": func(t *Task) { t.Operation = OpDelete },
		"sheet":     func(t *Task) { t.Sheet = "Orders" },
		"keyHeader": func(t *Task) { t.KeyHeader = "email" },
		"keyValue":  func(t *Task) { t.KeyValue = "v" },
		"expected":  func(t *Task) { t.ExpectedVersion = ptr(2) },
		"payload":   func(t *Task) { t.Payload += " " },
	}
	for name, change := range changed {
		task := base
		change(&task)
		sum := fingerprint("tx", 0, task)
		if twin := seen[sum]; twin != "" {
			t.Errorf("%s has the fingerprint of %s", name, twin)
		}
		seen[sum] = name
	}
	if seen[fingerprint("tx", 1, base)] != "" || seen[fingerprint("ty", 0, base)] != "" {
		t.Error("transaction or index is not in the fingerprint")
	}
}

// good is a transaction that the bad-input table spoils.
func good() Transaction {
	return Transaction{ID: "tx", Tasks: []Task{
		Insert("a", "Users", "id", Row{"id": "u1", "name": "Ann", "age": 30, "_version": 1}),
		Update("b", "Users", "id", 1, Row{"id": "u2", "_version": 2}),
		Delete("c", "Users", "id", 2, Row{"id": "u3", "_version": 2}),
	}}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	tx := good()
	if err := tx.check(); err != nil {
		t.Fatalf("got %v, want no error", err)
	}
	tests := []Task{
		Insert("a", "S", "id", Row{"id": 7, "_version": 0.5}),
		Insert("a", "S", "id", Row{"id": true, "_version": -1}),
		Insert("a", "Straße 'ü' 😀!", "id", Row{"id": "=1+1", "x": nil, "y": "line\nbreak", "_version": 1}),
		Insert("a", "S", "id", Row{"id": "9007199254740993", "big": 9007199254740991, "_version": 1}),
		Delete("a", "S", "id", 1, Row{"id": "x"}),
	}
	for _, task := range tests {
		if err := (Transaction{ID: "t", Tasks: []Task{task}}).check(); err != nil {
			t.Errorf("%s: got %v, want no error", task.Payload, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	second := func(change func(*Task)) func(*Transaction) {
		return func(tx *Transaction) { change(&tx.Tasks[1]) }
	}
	payload := func(text string) func(*Transaction) {
		return second(func(t *Task) { t.Payload = text })
	}
	tests := []struct {
		name  string
		spoil func(*Transaction)
		code  Code
		task  string
	}{
		{"no transaction id", func(tx *Transaction) { tx.ID = "" }, CodeInvalidTask, ""},
		{"control in transaction id", func(tx *Transaction) { tx.ID = "a\tb" }, CodeInvalidTask, ""},
		{"bad UTF-8 in transaction id", func(tx *Transaction) { tx.ID = "\xff" }, CodeInvalidTask, ""},
		{"no tasks", func(tx *Transaction) { tx.Tasks = nil }, CodeInvalidTask, ""},
		{"depends on itself", func(tx *Transaction) { tx.DependsOn = "tx" }, CodeInvalidTask, ""},
		{"depends on a bad id", func(tx *Transaction) { tx.DependsOn = "\x00" }, CodeInvalidTask, ""},
		{"task id twice", second(func(t *Task) { t.ID = "a" }), CodeInvalidTask, "a"},
		{"no task id", second(func(t *Task) { t.ID = "" }), CodeInvalidTask, ""},
		{"long task id", second(func(t *Task) { t.ID = strings.Repeat("x", maxName+1) }), CodeInvalidTask, strings.Repeat("x", maxName+1)},
		{"unit separator in key", second(func(t *Task) { t.KeyValue = "u\x1f2" }), CodeInvalidTask, "b"},
		{"no sheet", second(func(t *Task) { t.Sheet = "" }), CodeInvalidTask, "b"},
		{"system sheet", second(func(t *Task) { t.Sheet = "_typed_sheets_meta" }), CodeInvalidTask, "b"},
		{"key is the version", second(func(t *Task) { t.KeyHeader = "_version" }), CodeInvalidTask, "b"},
		{"unknown operation", second(func(t *Task) { t.Operation = "upsert" }), CodeInvalidTask, "b"},
		{"no payload", payload(""), CodeInvalidTask, "b"},
		{"payload is not JSON", payload("{"), CodeInvalidTask, "b"},
		{"payload has a tail", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","_version":2}} x`), CodeInvalidTask, "b"},
		{"payload of an insert", payload(`{"row":{"id":"u2","_version":2}}`), CodeInvalidTask, "b"},
		{"payload redacted", payload(redacted), CodeInvalidTask, "b"},
		{"inner version differs", payload(`{"expectedVersion":3,"rowToWrite":{"id":"u2","_version":4}}`), CodeInvalidTask, "b"},
		{"version goes back", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","_version":1}}`), CodeInvalidTask, "b"},
		{"no new version", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2"}}`), CodeInvalidTask, "b"},
		{"version is text", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","_version":"2"}}`), CodeInvalidTask, "b"},
		{"other key inside", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u9","_version":2}}`), CodeInvalidTask, "b"},
		{"list in a field", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","x":[1],"_version":2}}`), CodeInvalidTask, "b"},
		{"object in a field", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","x":{},"_version":2}}`), CodeInvalidTask, "b"},
		{"integer beyond 2^53", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","x":9007199254740993,"_version":2}}`), CodeInvalidTask, "b"},
		{"number out of range", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","x":1e999,"_version":2}}`), CodeInvalidTask, "b"},
		{"NUL in a field", payload(`{"expectedVersion":1,"rowToWrite":{"id":"u2","x":"\u0000","_version":2}}`), CodeInvalidTask, "b"},
		{"bad UTF-8 in payload", payload("{\"expectedVersion\":1,\"rowToWrite\":{\"id\":\"u2\",\"x\":\"\xff\",\"_version\":2}}"), CodeInvalidTask, "b"},
		{"payload longer than a cell", payload(`{"rowToWrite":{"id":"` + strings.Repeat("x", maxCell) + `"}}`), CodeTooLarge, "b"},
		{"no expected version", second(func(t *Task) { t.ExpectedVersion = nil }), CodeInvalidTask, "b"},
		{"expected version is NaN", second(func(t *Task) { t.ExpectedVersion = ptr(math.NaN()) }), CodeInvalidTask, "b"},
		{"insert with a version", func(tx *Transaction) { tx.Tasks[0].ExpectedVersion = ptr(1) }, CodeInvalidTask, "a"},
		{"delete of another version", func(tx *Transaction) {
			tx.Tasks[2] = Delete("c", "Users", "id", 3, Row{"id": "u3", "_version": 2})
		}, CodeInvalidTask, "c"},
		{"row without a JSON form", func(tx *Transaction) {
			tx.Tasks[2] = Insert("c", "Users", "id", Row{"id": "u3", "x": math.Inf(1)})
		}, CodeInvalidTask, "c"},
		{"larger than a request", func(tx *Transaction) {
			for i := range 60 {
				tx.Tasks = append(tx.Tasks, Insert(strings.Repeat("i", i+10), "Users", "id",
					Row{"id": i, "x": strings.Repeat("x", 49_000), "_version": 1}))
			}
		}, CodeTooLarge, ""},
	}
	for _, tt := range tests {
		tx := good()
		tt.spoil(&tx)
		err := tx.check()
		if err == nil {
			t.Errorf("%s: accepted", tt.name)
			continue
		}
		if err.Code != tt.code || err.Task != tt.task {
			t.Errorf("%s: got %s for task %q, want %s for %q", tt.name, err.Code, err.Task, tt.code, tt.task)
		}
		if strings.Contains(err.Error(), "u2") || strings.Contains(err.Error(), "u9") {
			t.Errorf("%s: the error quotes a key: %v", tt.name, err)
		}
	}
}

func TestCanonicalTitle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		logical string
		n       int
		want    string
	}{
		{"Users", 0, "_typed_sheets_data_Users_6b0cc904d081"},
		{"Users", 3, "_typed_sheets_data_Users_6b0cc904d081_3"},
		{" a  _b! ", 0, "_typed_sheets_data_a_b_"},
		{"日本", 0, "_typed_sheets_data_sheet_"},
		{"a-b_C9", 0, "_typed_sheets_data_a-b_C9_"},
	}
	for _, tt := range tests {
		if got := canonicalTitle(tt.logical, tt.n); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: got %q, want prefix %q", tt.logical, got, tt.want)
		}
	}
	long := strings.Repeat("n", 300)
	for _, n := range []int{0, 7, 99} {
		if got := canonicalTitle(long, n); length(got) != maxTitle || got == canonicalTitle(long+"x", n) {
			t.Errorf("%d: got %q (%d characters), want %d and told apart", n, got, length(got), maxTitle)
		}
	}
}
