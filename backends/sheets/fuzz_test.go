package sheets_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// FuzzValues submits one row with the given texts and reads it back: it comes back as it was, or it was refused.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"", "x", "=1+1", "'", "007", "\n", "日本😀", "\x1f", "\xff", "\x00", "#N/A", strings.Repeat("y", 60_000)} {
		f.Add("k", text, 1.5)
		f.Add(text, "v", math.Copysign(0, -1))
	}
	f.Fuzz(func(t *testing.T, key, name string, version float64) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, sheetstest.Options{TB: t}, sheets.MetadataFence)
			defer w.close()
			q := w.start()
			row := sheets.Row{"id": key, "name": name, "_version": version}
			tx := sheets.Transaction{ID: "t", Tasks: []sheets.Task{sheets.Insert("i", "Users", "id", row)}}
			receipts, err := q.EnqueueTasks(w.Context(), []sheets.Transaction{tx}, sheets.EnqueueOptions{Process: true})
			if err != nil {
				if utf8.ValidString(key+name) && len(key)+len(name) < 500 && !strings.ContainsFunc(key+name, func(r rune) bool { return r < ' ' }) && key != "" && version == version && version-version == 0 {
					t.Errorf("refused %q, %q, %v: %v", key, name, version, err)
				}
				return
			}
			if v := receipts[0].Verdict; v.Status != sheets.StatusDone {
				t.Fatalf("verdict: got %+v, want done", v)
			}
			rows, err := q.ReadCanonical(w.Context(), "Users")
			w.must(err)
			var want any = name
			if name == "" {
				want = nil // Blank and "" are one value.
			}
			if len(rows) != 1 || rows[0]["id"] != key || rows[0]["name"] != want || rows[0]["_version"] != version {
				t.Errorf("got %#v, want %q, %q, %v", rows, key, name, version)
			}
		})
	})
}

// FuzzTitles sets up a table with any name: it works, or the name is refused.
func FuzzTitles(f *testing.F) {
	for _, name := range []string{"Users", "it's", "a!b", "日本😀", "_typed_sheets_x", "", strings.Repeat("n", 100), strings.Repeat("😀", 50), "A1", "a\nb"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, sheetstest.Options{TB: t}, sheets.MetadataFence)
			defer w.close()
			q := w.process(func(c *sheets.Config) {
				c.Tables = []sheets.Table{{Name: name, Key: "id", Columns: []string{"id"}}}
			})
			if err := q.Initialize(w.Context()); err != nil {
				return
			}
			tx := sheets.Transaction{ID: "t", Tasks: []sheets.Task{sheets.Insert("i", name, "id", sheets.Row{"id": "k", "_version": 1})}}
			receipts, err := q.EnqueueTasks(w.Context(), []sheets.Transaction{tx}, sheets.EnqueueOptions{Process: true})
			w.must(err)
			if v := receipts[0].Verdict; v.Status != sheets.StatusDone {
				t.Errorf("%q: got %+v, want done", name, v)
			}
			w.must(q.SyncProjection(w.Context(), name))
		})
	})
}

// FuzzMangledRows puts any values into a row of the queue. Nothing panics, and other transactions go on.
func FuzzMangledRows(f *testing.F) {
	f.Add(4, "processing", 1.5, true)
	f.Add(0, "t2-1", -1.0, false)
	f.Add(1, "t2", 0.0, false)
	f.Add(10, `{"row":{}}`, 1e300, true)
	f.Add(17, "", 7.0, true)
	f.Add(2, "x", 3.0, false)
	f.Add(18, "t2", 1.0, true)
	f.Fuzz(func(t *testing.T, column int, text string, number float64, asNumber bool) {
		if column < 0 || column >= 19 || !utf8.ValidString(text) || len(text) > 1000 || strings.HasPrefix(text, "=") {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, sheetstest.Options{TB: t}, sheets.MetadataFence)
			defer w.close()
			w.enqueue(w.start(), insert("t1", "u1", "a"), insert("t2", "u2", "b"), insert("t3", "u3", "c"))
			var value any = text
			if asNumber && number == number && number-number == 0 {
				value = number
			}
			w.edit(func(e *sheetstest.Editor) { e.Tab(queueTitle).Set(1, column, value) })
			for range 3 {
				time.Sleep(10 * time.Minute)
				w.processAll(w.process())
			}
			if status := w.queueRows(colStatus)[2]; status != "done" {
				t.Errorf("t3: got %s, want done", status)
			}
			if status := w.queueRows(colStatus)[1]; status != "done" && (column > 1 || status != "failed") {
				t.Errorf("t2: got %s, want done", status)
			}
		})
	})
}
