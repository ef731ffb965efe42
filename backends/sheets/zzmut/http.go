package sheetstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
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
	a, err := route(r, body)
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
