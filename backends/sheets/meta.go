package sheets

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// The keys of the meta sheet, the last three followed by a logical name. Rows with other keys are kept.
const (
	fenceKey     = "fence"
	mappingKey   = "sheetMapping:"
	migrationKey = "projectionMigration:"
	stateKey     = "projectionState:"
)

// metaSheet is the meta sheet: rows of a key and a JSON text.
type metaSheet struct {
	id       int64
	gridRows int
	last     int
	rows     map[string]metaRow
}

type metaRow struct {
	at   int
	text string
}

func decodeMeta(tab *grid.Tab) *metaSheet {
	m := &metaSheet{id: tab.ID, gridRows: tab.Rows, last: max(1, tab.Last()), rows: map[string]metaRow{}}
	for at := 1; at <= m.last; at++ {
		key, _ := tab.At(at, 0).(string)
		text, _ := tab.At(at, 1).(string)
		if _, twice := m.rows[key]; key != "" && !twice {
			m.rows[key] = metaRow{at, text}
		}
	}
	return m
}

// set answers the sheet with rows written, and the requests that write them.
func (m *metaSheet) set(texts map[string]string) (*metaSheet, []*sheetsv4.Request) {
	next := *m
	next.rows = maps.Clone(m.rows)
	var requests []*sheetsv4.Request
	var fresh []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		row, known := m.rows[key]
		if !known {
			fresh = append(fresh, key)
			continue
		}
		next.rows[key] = metaRow{row.at, texts[key]}
		requests = append(requests, grid.Write(m.id, row.at, 0, [][]any{{key, texts[key]}}))
	}
	requests = append(requests, grid.Room(m.id, m.last+1, len(fresh), m.gridRows)...)
	for _, key := range fresh {
		next.last++
		next.rows[key] = metaRow{next.last, texts[key]}
		requests = append(requests, grid.Write(m.id, next.last, 0, [][]any{{key, texts[key]}}))
	}
	next.gridRows = grownBy(m.gridRows, m.last+1, len(fresh))
	return &next, requests
}

// grownBy is the size of a grid after grid.Room.
func grownBy(gridRows, at, n int) int {
	if n == 0 {
		return gridRows
	}
	return max(gridRows, at-1) + n
}

// sheetMapping is the row that says which sheets belong to a table. What it says is never worked out anew.
type sheetMapping struct {
	Logical    string `json:"logicalSheetName"`
	Canonical  string `json:"canonicalSheetName"`
	Projection string `json:"projectionSheetName"`
	// Key is the header of the key column. Other writers do not know it.
	Key string `json:"keyHeader,omitempty"`
}

// migration is the row that says how far the import of a visible table is.
type migration struct {
	sheetMapping
	Status  string `json:"status"`            // importing or completed
	NextRow int    `json:"nextRow,omitempty"` // the next row to import
	// Versions counts rows whose blank version became 1, Skipped those with a blank key.
	Versions int `json:"blankVersions,omitempty"`
	Skipped  int `json:"blankKeys,omitempty"`
}

const (
	importing = "importing"
	completed = "completed"
)

// projectionState says which commit changed a table last, and up to which its visible sheet is synced.
type projectionState struct {
	Changed int64 `json:"changed"`
	Synced  int64 `json:"synced"`
}

// mirror is what the fence row must agree with.
type mirror struct {
	Number  int64  `json:"number"`
	Token   string `json:"token"`
	Epoch   int64  `json:"epoch"`
	Counter int64  `json:"counter"`
}

func mirrorOf(s fence.State) mirror { return mirror{s.Number, s.Token, s.Epoch, s.Counter} }

// load decodes the row of key into v. It answers false if there is none.
func (m *metaSheet) load(key string, v any) (bool, *Error) {
	row, ok := m.rows[key]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal([]byte(row.text), v); err != nil {
		return false, &Error{Code: CodeInvalidMeta, Sheet: metaTitle, Row: row.at, Detail: "the row is not the JSON it should be"}
	}
	return true, nil
}

// mapping answers the sheets of a table that is set up, nil if it is not. A row that does not fit is an error.
func (m *metaSheet) mapping(logical string) (*sheetMapping, *Error) {
	var got sheetMapping
	ok, err := m.load(mappingKey+logical, &got)
	switch {
	case err != nil || !ok:
		return nil, err
	case got.Logical != logical || got.Canonical == "" || got.Projection == "":
		return nil, &Error{
			Code: CodeInvalidMeta, Sheet: metaTitle, Row: m.rows[mappingKey+logical].at,
			Detail: "the mapping does not fit its table",
		}
	}
	return &got, nil
}

// ready answers the mapping of a table that can be written.
func (m *metaSheet) ready(logical string) (*sheetMapping, *Error) {
	sheets, err := m.mapping(logical)
	if err != nil {
		return nil, err
	}
	if sheets == nil {
		return nil, &Error{Code: CodeSheetNotFound, Sheet: logical, Detail: "the table is not set up"}
	}
	var import_ migration
	ok, err := m.load(migrationKey+logical, &import_)
	if err == nil && ok && import_.Status != completed {
		err = &Error{Code: CodeSheetNotFound, Sheet: logical, Detail: "the table is still being imported"}
	}
	return sheets, err
}

// logicals lists the tables that are set up.
func (m *metaSheet) logicals() []string {
	var names []string
	for key := range m.rows {
		if name, ok := strings.CutPrefix(key, mappingKey); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func jsonText(v any) string {
	text, _ := json.Marshal(v) // Structs of text and numbers.
	return string(text)
}
