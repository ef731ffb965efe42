package sheetstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/api/sheets/v4"
)

// Limits of the service.
const (
	maxRequests       = 100_000
	maxCellLength     = 50_000
	maxTitleLength    = 100
	maxMetadataLength = 30_000
	maxColumns        = 18_278
	defaultMaxCells   = 10_000_000
	maxID             = 1<<31 - 1 // Of a sheet, metadata or a protected range.
)

// step is one decoded request of a batch.
type step func(*draft) (*sheets.Response, error)

// kinds holds the request kinds that are modelled, by their name on the wire.
var kinds = map[string]func(json.RawMessage) (step, error){
	"addProtectedRange":       on(addProtectedRange),
	"addSheet":                on(addSheet),
	"appendCells":             on(appendCells),
	"appendDimension":         on(appendDimension),
	"createDeveloperMetadata": on(createDeveloperMetadata),
	"deleteDeveloperMetadata": on(deleteDeveloperMetadata),
	"deleteDimension":         on(deleteDimension),
	"deleteProtectedRange":    on(deleteProtectedRange),
	"deleteSheet":             on(deleteSheet),
	"insertDimension":         on(insertDimension),
	"updateCells":             on(updateCells),
	"updateSheetProperties":   on(updateSheetProperties),
}

func on[T any](apply func(*draft, *T) (*sheets.Response, error)) func(json.RawMessage) (step, error) {
	return func(raw json.RawMessage) (step, error) {
		req := new(T)
		if err := decode(raw, req); err != nil {
			return nil, err
		}
		return func(d *draft) (*sheets.Response, error) { return apply(d, req) }, nil
	}
}

// decode refuses unknown names, as the service does: a misspelt field must not
// pass for an absent one.
func decode(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return firmly("Invalid JSON payload received. %v", err)
	}
	return nil
}

// batchBody is the body of a batchUpdate with its requests still raw: what is
// absent and what is zero differ there.
type batchBody struct {
	sheets.BatchUpdateSpreadsheetRequest
	Requests []map[string]json.RawMessage `json:"requests"`
}

// decodeBatch decodes every request before any is applied.
func decodeBatch(raw []byte) (*batch, error) {
	var body batchBody
	if err := decode(raw, &body); err != nil {
		return nil, err
	}
	switch n := len(body.Requests); {
	case n == 0:
		return nil, firmly("Must specify at least one request.")
	case n > maxRequests:
		return nil, firmly("The batch holds %d requests, more than the maximum of %d.", n, maxRequests)
	}
	b := &batch{options: body.BatchUpdateSpreadsheetRequest}
	for i, req := range body.Requests {
		if err := b.add(i, req); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// batch is a decoded batchUpdate.
type batch struct {
	options sheets.BatchUpdateSpreadsheetRequest
	steps   []step
	places  []string
	fields  mask
}

func (b *batch) add(i int, req map[string]json.RawMessage) error {
	names := slices.Sorted(maps.Keys(req))
	if len(names) != 1 {
		return firmly("Invalid requests[%d]: exactly one kind of request must be set, got %d.", i, len(names))
	}
	kind, place := kinds[names[0]], fmt.Sprintf("requests[%d].%s", i, names[0])
	if kind == nil {
		return unmodelled("the request kind %q", names[0])
	}
	s, err := kind(req[names[0]])
	if err != nil {
		return within(place, err)
	}
	b.steps, b.places = append(b.steps, s), append(b.places, place)
	return nil
}

// apply runs the steps in list order. The draft is worthless after an error.
func (b *batch) apply(d *draft) (any, error) {
	res := &sheets.BatchUpdateSpreadsheetResponse{SpreadsheetId: d.id}
	for i, step := range b.steps {
		reply, err := step(d)
		if err != nil {
			return nil, within(b.places[i], err)
		}
		res.Replies = append(res.Replies, reply)
	}
	if !b.options.IncludeSpreadsheetInResponse {
		return res, nil
	}
	areas, err := d.parseRanges(b.options.ResponseRanges)
	if err != nil {
		return nil, err
	}
	v := view{areas: areas, grid: b.options.ResponseIncludeGridData}
	if b.fields != nil {
		v.grid = b.fields.wants("updatedSpreadsheet", "sheets", "data")
	}
	res.UpdatedSpreadsheet = d.render(v)
	return res, nil
}
