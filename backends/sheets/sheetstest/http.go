package sheetstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// transport calls the server in the goroutine of the request.
type transport struct{ server *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := t.server.serve(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)), StatusCode: a.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {a.contentType()}},
		ContentLength: int64(len(a.body)),
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		Request:       r,
	}, nil
}

// ServeHTTP serves the REST interface over a socket; see [Server.Listen].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := s.serve(r)
	if err != nil {
		panic(http.ErrAbortHandler) // Drops the connection.
	}
	w.Header().Set("Content-Type", a.contentType())
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // A client that went away is its own business.
}

// errCut is what a client sees of a connection that ends before the answer.
var errCut = fmt.Errorf("sheetstest: connection dropped: %w", io.ErrUnexpectedEOF)

// answer is an HTTP answer.
type answer struct {
	code int
	body []byte
	html bool
}

func (a answer) contentType() string {
	if a.html {
		return "text/html; charset=UTF-8"
	}
	return "application/json; charset=UTF-8"
}

func (e *apiError) answer() answer { return answer{code: e.code, body: e.body()} }

// serve does one call from its request to its answer, or to the error that
// ends the connection.
func (s *Server) serve(r *http.Request) (answer, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return answer{}, err
		}
	}
	a, err := s.route(r, body)
	if err != nil {
		return s.refuse(err, false), nil
	}
	call := s.count(a, body)
	ans, err := s.perform(r.Context(), a, s.fault(call))
	s.received(a.op, len(ans.body))
	return ans, err
}

// count numbers the call.
func (s *Server) count(a *action, body []byte) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[a.op]++
	st := s.stats[a.op]
	st.Calls++
	st.Sent += int64(len(body))
	s.stats[a.op] = st
	return Call{Op: a.op, N: s.calls[a.op], SpreadsheetID: a.book, Write: a.write, Body: body}
}

func (s *Server) received(op Op, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats[op]
	st.Received += int64(n)
	s.stats[op] = st
}

// execute does the call and encodes what came of it.
func (s *Server) execute(a *action, c change, stale int) answer {
	res, err := s.result(a, c, stale)
	if err != nil {
		return s.refuse(err, a.write)
	}
	if a.fields != nil {
		prune(reflect.ValueOf(res), a.fields)
	}
	body, err := json.Marshal(res)
	if err != nil {
		return s.refuse(err, a.write)
	}
	return answer{code: http.StatusOK, body: body}
}

func (s *Server) result(a *action, c change, stale int) (any, error) {
	if a.bad != nil {
		return nil, a.bad
	}
	if a.write {
		return s.commit(c)
	}
	b := s.view(a.book, stale)
	if b == nil {
		return nil, errNotFound
	}
	return a.read(b)
}

// refuse answers an error. Where the status of a bad batch is not known, the
// profile decides it.
func (s *Server) refuse(err error, write bool) answer {
	e, ok := errors.AsType[*apiError](err)
	if ok && e.unmodelled != "" {
		s.unsupported(e.unmodelled)
	}
	if !ok || write && !e.firm && s.traits.badRequestIs500 {
		return refusals[Internal]
	}
	return e.answer()
}

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
func (s *Server) route(r *http.Request, body []byte) (*action, error) {
	path, found := strings.CutPrefix(r.URL.EscapedPath(), "/v4/spreadsheets")
	parts := strings.Split(path, "/")[1:]
	e, ok := endpoints[pathKey(r.Method, parts)]
	if !found || !ok {
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
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part // As in "50%": nothing was escaped.
}

// pathKey is the shape of a path: its method, fixed words and verb. It cuts
// the verb off the last part.
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

var endpoints = map[string]endpoint{
	"POST":                            {OpCreate, true, reflect.TypeFor[sheets.Spreadsheet](), decodeCreate},
	"GET/*":                           {OpGet, false, reflect.TypeFor[sheets.Spreadsheet](), decodeGet},
	"POST/*:getByDataFilter":          {OpGetByDataFilter, false, reflect.TypeFor[sheets.Spreadsheet](), decodeGetByDataFilter},
	"POST/*:batchUpdate":              {OpBatchUpdate, true, batchAnswer, decodeBatchUpdate},
	"GET/*/values/*":                  {OpValuesGet, false, reflect.TypeFor[sheets.ValueRange](), decodeValuesGet},
	"GET/*/values:batchGet":           {OpValuesBatchGet, false, reflect.TypeFor[sheets.BatchGetValuesResponse](), decodeValuesBatchGet},
	"POST/*/values/*:append":          {OpValuesAppend, true, reflect.TypeFor[sheets.AppendValuesResponse](), decodeValuesAppend},
	"GET/*/developerMetadata/*":       {OpMetadataGet, false, reflect.TypeFor[sheets.DeveloperMetadata](), decodeMetadataGet},
	"POST/*/developerMetadata:search": {OpMetadataSearch, false, reflect.TypeFor[sheets.SearchDeveloperMetadataResponse](), decodeMetadataSearch},
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
