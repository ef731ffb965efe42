package sheetstest

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// action is a routed and decoded call.
type action struct {
	op     Op
	book   string
	write  bool
	fields mask
	bad    error // The request does not decode.
	read   func(*book) (any, error)
	apply  func(*draft) (any, error)
}

// route finds the endpoint of a request and decodes its parameters.
func route(r *http.Request, body []byte) (*action, error) {
	path, found := strings.CutPrefix(r.URL.EscapedPath(), "/v4/spreadsheets")
	parts := strings.Split(path, "/")[1:]
	e, ok := endpoints[pathKey(r.Method, parts)]
	if !ok || !found || path != "" && path[0] != '/' {
		return nil, unmodelled("%s %s", r.Method, r.URL.Path)
	}
	in := &input{query: r.URL.Query(), body: body}
	if len(parts) > 0 {
		in.book, in.argument = unescape(parts[0]), unescape(parts[len(parts)-1])
	}
	a := &action{op: e.op, book: in.book, write: e.write}
	a.fields, a.bad = parseMask(in.query.Get("fields"), e.answer)
	in.fields = a.fields
	if a.bad == nil {
		a.bad = e.decode(in, a)
	}
	return a, nil
}

func unescape(part string) string {
	text, _ := url.PathUnescape(part) // An escaped path always unescapes.
	return text
}

// pathKey is the shape of a call, as "POST/*/values/*:append". It cuts the verb
// off the last part, which may itself hold colons.
func pathKey(method string, parts []string) string {
	key := method
	verb := ""
	if last := len(parts) - 1; last >= 0 && (method == http.MethodPost || last == 1) {
		if i := strings.LastIndex(parts[last], ":"); i >= 0 {
			parts[last], verb = parts[last][:i], parts[last][i:]
		}
	}
	for i, part := range parts {
		if i != 1 {
			part = "*"
		}
		key += "/" + part
	}
	return key + verb
}

// input is what a request brings.
type input struct {
	book, argument string
	query          url.Values
	body           []byte
	fields         mask
}

// grid reports whether the answer, with its sheets under the path, is to hold
// cells. A mask overrides the flag.
func (in *input) grid(flag bool) bool {
	if in.fields != nil {
		return in.fields.wants("sheets", "data")
	}
	return flag
}

// endpoint is one method of the service.
type endpoint struct {
	op     Op
	write  bool
	answer reflect.Type
	decode func(*input, *action) error
}

func reads[Answer any](op Op, decode func(*input, *action) error) endpoint {
	return endpoint{op: op, answer: reflect.TypeFor[Answer](), decode: decode}
}

func writes[Answer any](op Op, decode func(*input, *action) error) endpoint {
	return endpoint{op: op, write: true, answer: reflect.TypeFor[Answer](), decode: decode}
}

// endpoints holds the methods that are modelled, by their [pathKey].
var endpoints = map[string]endpoint{
	"POST":                            writes[sheets.Spreadsheet](OpCreate, decodeCreate),
	"POST/*:batchUpdate":              writes[sheets.BatchUpdateSpreadsheetResponse](OpBatchUpdate, decodeBatchUpdate),
	"POST/*/values/*:append":          writes[sheets.AppendValuesResponse](OpValuesAppend, decodeValuesAppend),
	"GET/*":                           reads[sheets.Spreadsheet](OpGet, decodeGet),
	"POST/*:getByDataFilter":          reads[sheets.Spreadsheet](OpGetByDataFilter, decodeGetByDataFilter),
	"GET/*/values/*":                  reads[sheets.ValueRange](OpValuesGet, decodeValuesGet),
	"GET/*/values:batchGet":           reads[sheets.BatchGetValuesResponse](OpValuesBatchGet, decodeValuesBatchGet),
	"GET/*/developerMetadata/*":       reads[sheets.DeveloperMetadata](OpMetadataGet, decodeMetadataGet),
	"POST/*/developerMetadata:search": reads[sheets.SearchDeveloperMetadataResponse](OpMetadataSearch, decodeMetadataSearch),
}

func decodeGet(in *input, a *action) error {
	grid := in.grid(in.query.Get("includeGridData") == "true")
	a.read = func(b *book) (any, error) { return b.get(in.query["ranges"], grid) }
	return nil
}

func decodeGetByDataFilter(in *input, a *action) error {
	var req sheets.GetSpreadsheetByDataFilterRequest
	a.read = func(b *book) (any, error) { return b.getByDataFilter(&req, in.grid(req.IncludeGridData)) }
	return decode(in.body, &req)
}

func decodeBatchUpdate(in *input, a *action) error {
	b, err := decodeBatch(in.body)
	if err != nil {
		return err
	}
	b.fields = in.fields
	a.apply = b.apply
	return nil
}

func decodeValuesGet(in *input, a *action) error {
	o, err := parseValueOptions(in.query)
	a.read = func(b *book) (any, error) { return b.values(in.argument, o) }
	return err
}

func decodeValuesBatchGet(in *input, a *action) error {
	o, err := parseValueOptions(in.query)
	a.read = func(b *book) (any, error) { return b.batchGet(in.query["ranges"], o) }
	return err
}

func decodeValuesAppend(in *input, a *action) error {
	var req sheets.ValueRange
	a.apply = func(d *draft) (any, error) {
		return d.appendValues(in.argument, in.query.Get("valueInputOption"), &req)
	}
	return decode(in.body, &req)
}

func decodeMetadataGet(in *input, a *action) error {
	id, err := strconv.ParseInt(in.argument, 10, 32)
	if err != nil {
		return firmly("Invalid value at 'metadata_id': %q", in.argument)
	}
	a.read = func(b *book) (any, error) { return b.metadataByID(id) }
	return nil
}

func decodeMetadataSearch(in *input, a *action) error {
	var req sheets.SearchDeveloperMetadataRequest
	a.read = func(b *book) (any, error) { return b.searchMetadata(&req) }
	return decode(in.body, &req)
}

// createBody is a spreadsheet to create, its sheets as addSheet has them.
type createBody struct {
	sheets.Spreadsheet
	Sheets []*addSheetRequest `json:"sheets"`
}

func decodeCreate(in *input, a *action) error {
	var req createBody
	a.apply = func(d *draft) (any, error) { return d.create(&req) }
	return decode(in.body, &req)
}

func (d *draft) create(req *createBody) (any, error) {
	d.title = "Untitled spreadsheet"
	if req.Properties != nil && req.Properties.Title != "" {
		d.title = req.Properties.Title
	}
	if len(req.Sheets) == 0 {
		d.tabs = []*tab{newTab(0, "Sheet1")}
	}
	for i, sheet := range req.Sheets {
		if _, err := addSheet(d, sheet); err != nil {
			return nil, within(fmt.Sprintf("sheets[%d]", i), err)
		}
	}
	return d.render(view{}), nil
}
