// Package grid talks to one spreadsheet: it reads ranges as typed values, sends atomic batches, and says of each
// answer only what it proves.
package grid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/api/googleapi"
	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/schedule"
)

// Kind is what a failed request proves.
type Kind int

const (
	// Unclear: a write may have happened, or may still. Everything that is not one of the others.
	Unclear Kind = iota
	// Refused: the server answered that the request is bad. Of the request that was sent this proves that it was
	// not applied, nothing of an identical one sent before.
	Refused
	// Denied: not the caller's spreadsheet, or it does not exist.
	Denied
	// Throttled: over the quota. A write counts as unclear all the same.
	Throttled
)

// Failure is the error of a request. It holds no text of the server's: that may quote cells.
type Failure struct {
	Kind Kind
	// Status is the HTTP status, 0 if no whole answer came.
	Status int
	// Err is the context's error if it had ended.
	Err error
}

// Error names the status.
func (f *Failure) Error() string {
	switch {
	case f.Err != nil:
		return "sheets request: " + f.Err.Error()
	case f.Status == 0:
		return "sheets request: no whole answer"
	}
	return fmt.Sprintf("sheets request: HTTP status %d", f.Status)
}

// Unwrap answers the context's error.
func (f *Failure) Unwrap() error { return f.Err }

func failureOf(ctx context.Context, err error) *Failure {
	if ctx.Err() != nil {
		return &Failure{Kind: Unclear, Err: ctx.Err()}
	}
	answer, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		return &Failure{Kind: Unclear}
	}
	f := &Failure{Kind: Unclear, Status: answer.Code}
	switch answer.Code {
	case http.StatusBadRequest:
		f.Kind = Refused
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		f.Kind = Denied
	case http.StatusTooManyRequests:
		f.Kind = Throttled
	}
	return f
}

// Client reads and writes one spreadsheet. Any number of goroutines may use it.
type Client struct {
	service *sheetsv4.Service
	id      string
}

// NewClient makes the client of the spreadsheet id.
func NewClient(service *sheetsv4.Service, id string) *Client {
	return &Client{service: service, id: id}
}

// ID is the spreadsheet's.
func (c *Client) ID() string { return c.id }

const (
	propertyFields = "spreadsheetId,sheets(properties(sheetId,title,hidden,gridProperties(rowCount,columnCount))"
	dataFields     = propertyFields + ",data(startRow,startColumn,rowData(values(effectiveValue))))"
	tabFields      = propertyFields + ",protectedRanges(requestingUserCanEdit,warningOnly))"
	batchFields    = "spreadsheetId,replies,updatedSpreadsheet(" + dataFields + ")"
)

// Patience is the schedule of a read: it spans the minute in which a quota is given.
func Patience() schedule.Schedule {
	return schedule.Exponential(time.Second).Capped(20 * time.Second).Jittered().UpTo(80 * time.Second)
}

// Read answers the given A1 ranges as one view. It waits out throttling and lost answers, for up to about two minutes.
func (c *Client) Read(ctx context.Context, ranges ...string) (*View, error) {
	return c.read(ctx, dataFields, ranges)
}

// Tabs answers every sheet without its cells.
func (c *Client) Tabs(ctx context.Context) (*View, error) {
	return c.read(ctx, tabFields, nil)
}

func (c *Client) read(ctx context.Context, fields googleapi.Field, ranges []string) (*View, error) {
	return retryRead(ctx, func(ctx context.Context) (*View, error) {
		call := c.service.Spreadsheets.Get(c.id).Context(ctx).Fields(fields)
		if len(ranges) > 0 {
			call = call.Ranges(ranges...)
		}
		got, err := call.Do()
		if err != nil {
			return nil, failureOf(ctx, err)
		}
		if got.SpreadsheetId != c.id {
			return nil, &Failure{Kind: Unclear}
		}
		return viewOf(got), nil
	})
}

func retryRead[T any](ctx context.Context, op func(context.Context) (T, error)) (T, error) {
	passing := schedule.WhileFailure(Patience(), func(f *Failure) bool { return f.Kind == Unclear || f.Kind == Throttled })
	return schedule.Retry(ctx, passing, op)
}

// Batch sends an atomic batch, once. A nil error proves that it was applied; the view shows the ranges as the batch
// left them. Any other error is a [*Failure].
func (c *Client) Batch(ctx context.Context, requests []*sheetsv4.Request, ranges ...string) (*View, error) {
	body := &sheetsv4.BatchUpdateSpreadsheetRequest{Requests: requests}
	if len(ranges) > 0 {
		body.IncludeSpreadsheetInResponse = true
		body.ResponseIncludeGridData = true
		body.ResponseRanges = ranges
	}
	got, err := c.service.Spreadsheets.BatchUpdate(c.id, body).Context(ctx).Fields(batchFields).Do()
	switch {
	case err != nil:
		return nil, failureOf(ctx, err)
	case got.SpreadsheetId != c.id || len(got.Replies) != len(requests):
		return nil, &Failure{Kind: Unclear, Status: got.HTTPStatusCode} // A proxy's page is not an answer.
	case got.UpdatedSpreadsheet == nil:
		return &View{ID: c.id, Tabs: map[string]*Tab{}}, nil
	}
	return viewOf(got.UpdatedSpreadsheet), nil
}

// A Mark is an entry of developer metadata.
type Mark struct {
	ID         int64
	Key, Value string
	SheetID    int64
	OnSheet    bool
}

// Mark answers the entry of developer metadata with an id, and false if none is visible.
func (c *Client) Mark(ctx context.Context, id int64) (Mark, bool, error) {
	got, err := retryRead(ctx, func(ctx context.Context) (*sheetsv4.DeveloperMetadata, error) {
		m, err := c.service.Spreadsheets.DeveloperMetadata.Get(c.id, id).Context(ctx).Do()
		if err != nil {
			return nil, failureOf(ctx, err)
		}
		return m, nil
	})
	if f, ok := errors.AsType[*Failure](err); ok && (f.Kind == Refused || f.Status == http.StatusNotFound) {
		return Mark{}, false, nil
	}
	if err != nil {
		return Mark{}, false, err
	}
	return markOf(got), true, nil
}

// Marks answers every entry of developer metadata that is visible.
func (c *Client) Marks(ctx context.Context) ([]Mark, error) {
	everything := &sheetsv4.SearchDeveloperMetadataRequest{DataFilters: []*sheetsv4.DataFilter{{
		DeveloperMetadataLookup: &sheetsv4.DeveloperMetadataLookup{Visibility: "DOCUMENT"},
	}}}
	return retryRead(ctx, func(ctx context.Context) ([]Mark, error) {
		got, err := c.service.Spreadsheets.DeveloperMetadata.Search(c.id, everything).Context(ctx).Do()
		if err != nil {
			return nil, failureOf(ctx, err)
		}
		var marks []Mark
		for _, m := range got.MatchedDeveloperMetadata {
			if m.DeveloperMetadata != nil {
				marks = append(marks, markOf(m.DeveloperMetadata))
			}
		}
		return marks, nil
	})
}

func markOf(m *sheetsv4.DeveloperMetadata) Mark {
	mark := Mark{ID: m.MetadataId, Key: m.MetadataKey, Value: m.MetadataValue}
	if m.Location != nil && m.Location.LocationType == "SHEET" {
		mark.SheetID, mark.OnSheet = m.Location.SheetId, true
	}
	return mark
}
