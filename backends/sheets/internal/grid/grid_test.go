package grid_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/option"
	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// answering is a server that answers everything the same, and keeps the last request.
type answering struct {
	status int
	body   string
	sent   string
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		sent, _ := io.ReadAll(r.Body)
		a.sent = string(sent)
	}
	return &http.Response{
		StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

func (a *answering) client(t *testing.T) *grid.Client {
	t.Helper()
	service, err := sheetsv4.NewService(t.Context(), option.WithHTTPClient(&http.Client{Transport: a}))
	if err != nil {
		t.Fatal(err)
	}
	return grid.NewClient(service, "book")
}

// Only a whole answer about this spreadsheet proves a write; only a 400 proves that it was refused.
func TestWhatAnAnswerProves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		landed bool
		kind   grid.Kind
	}{
		{200, `{"spreadsheetId":"book","replies":[{}]}`, true, 0},
		{200, `{}`, false, grid.Unclear},
		{200, `{"spreadsheetId":"other","replies":[{}]}`, false, grid.Unclear},
		{200, `{"spreadsheetId":"book","replies":[]}`, false, grid.Unclear},
		{200, `{"spreadsheetId":"bo`, false, grid.Unclear},
		{200, `<html>`, false, grid.Unclear},
		{204, ``, false, grid.Unclear},
		{400, `{"error":{"code":400}}`, false, grid.Refused},
		{401, ``, false, grid.Denied}, {403, ``, false, grid.Denied}, {404, ``, false, grid.Denied},
		{409, ``, false, grid.Unclear}, {429, ``, false, grid.Throttled}, {500, ``, false, grid.Unclear}, {503, `<html>`, false, grid.Unclear},
	}
	for _, tt := range tests {
		client := (&answering{status: tt.status, body: tt.body}).client(t)
		_, err := client.Batch(t.Context(), []*sheetsv4.Request{grid.DeleteTab(1)})
		if (err == nil) != tt.landed {
			t.Errorf("%d %s: got %v, want landed %v", tt.status, tt.body, err, tt.landed)
		}
		failure, _ := errors.AsType[*grid.Failure](err)
		if !tt.landed && (failure == nil || failure.Kind != tt.kind) {
			t.Errorf("%d %s: got %+v, want kind %v", tt.status, tt.body, failure, tt.kind)
		}
	}
}

// Zero, false and an empty range end must not be left out on the wire.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	server := &answering{status: 200, body: `{"spreadsheetId":"book"}`}
	requests := []*sheetsv4.Request{grid.Write(5, 2, 0, [][]any{{0.0, false, "", nil, "=1+1"}}), grid.DeleteRows(5, 1, 3)}
	_, _ = server.client(t).Batch(context.Background(), requests)
	var compact map[string]any
	if err := json.Unmarshal([]byte(server.sent), &compact); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"userEnteredValue":{"numberValue":0}}`, `{"userEnteredValue":{"boolValue":false}}`,
		`{"userEnteredValue":{"stringValue":"=1+1"}}`, `"startIndex":0`, `"endIndex":3`,
	} {
		if !strings.Contains(server.sent, want) {
			t.Errorf("sent %s, want it to hold %s", server.sent, want)
		}
	}
	if strings.Contains(server.sent, "formulaValue") {
		t.Error("text was sent as a formula")
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{grid.Quote("it's"), "'it''s'"},
		{grid.Column(0), "A"}, {grid.Column(25), "Z"}, {grid.Column(26), "AA"}, {grid.Column(701), "ZZ"}, {grid.Column(702), "AAA"},
		{grid.Rows("Q", 2, 0, 19), "'Q'!A2:S"}, {grid.Rows("Q", 2, 5, 2), "'Q'!A2:B5"},
		{grid.ColumnRange("a!b", 2, 1, 0), "'a!b'!C1:C"}, {grid.ColumnRange("Q", 0, 3, 4), "'Q'!A3:A4"}, {grid.RowRange("Q", 1), "'Q'!1:1"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}
