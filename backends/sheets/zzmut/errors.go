package sheetstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error as the service words it: HTTP code, canonical status,
// message.
type apiError struct {
	code    int
	status  string
	message string
	// firm errors keep their code under every profile.
	firm bool
	// unmodelled names what this server cannot do, unlike the service.
	unmodelled string
}

func (e *apiError) Error() string { return e.message }

func (e *apiError) body() []byte {
	inner := map[string]any{"code": e.code, "message": e.message, "status": e.status}
	b, err := json.Marshal(map[string]any{"error": inner})
	if err != nil {
		panic(err) // Strings and an int always encode.
	}
	return b
}

// invalid is a refusal whose status the service does not document.
func invalid(format string, args ...any) *apiError {
	return &apiError{code: http.StatusBadRequest, status: "INVALID_ARGUMENT", message: fmt.Sprintf(format, args...)}
}

// firmly is a refusal that is known to be a 400.
func firmly(format string, args ...any) *apiError {
	err := invalid(format, args...)
	err.firm = true
	return err
}

// unmodelled is a refusal of what the service would do.
func unmodelled(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	err := firmly("sheetstest does not model %s.", what)
	err.unmodelled = what
	return err
}

var errNoFields = invalid("At least one field must be listed in 'fields'. (Use '*' to indicate all fields.)")

var errNotFound = &apiError{code: http.StatusNotFound, status: "NOT_FOUND", message: "Requested entity was not found.", firm: true}

// within puts the place of the failure in front of an error's message, as
// "Invalid requests[0].addSheet: ...".
func within(place string, err error) error {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return err
	}
	in := *e
	in.message = fmt.Sprintf("Invalid %s: %s", place, e.message)
	return &in
}
