// Package ecma converts spreadsheet values to text as ECMAScript's String() does, so that keys and payload
// fields compare in Go as they do in the scripts that share the spreadsheet: 7 and "7" are one key, 1e-7 is
// written 1e-7, and a blank cell, null and the empty string are one value.
package ecma

import (
	"encoding/json"
	"math"
	"strconv"
)

// MaxSafeInteger is the largest integer that a cell and ECMAScript hold exactly, together with its neighbours.
const MaxSafeInteger = 1<<53 - 1

// Number answers what String(f) answers in ECMAScript.
func Number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0" // Negative zero, too.
	}
	text, err := json.Marshal(f) // Documented to follow ECMAScript's conversion.
	if err != nil {
		return strconv.FormatFloat(f, 'g', -1, 64) // Not reached: every finite number has a JSON form.
	}
	return string(text)
}

// String answers the text of a scalar: nil is the empty string. A value that is no scalar answers false.
func String(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return Number(v), true
	}
	return "", false
}

// Equal says whether two scalars are one value to the queue. Anything but a scalar equals nothing.
func Equal(a, b any) bool {
	x, ok := String(a)
	y, okToo := String(b)
	return ok && okToo && x == y
}

// Finite answers v as a number, and false unless it is one and finite. Text is not converted.
func Finite(v any) (float64, bool) {
	f, ok := v.(float64)
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}
